//! Compares the accessors of the options of calls with the rows of the options.
//!
//! Each row has a setter in the C interface, and each setter changes only the row of its name. Not here: the options of databases,
//! column families and tables.

use std::collections::BTreeSet;

use base::option::Row;

/// One setter of a handle `T`, for tests. `store` is the work of the setter.
pub struct Accessor<T: 'static> {
    pub name: &'static str,
    pub store: fn(&mut T, f64) -> bool,
}

/// A handle of options of a call whose accessors are listed.
pub trait Listed: Default + 'static {
    type Options: Default + 'static;
    /// The start of the names of the C functions.
    const PREFIX: &'static str;
    const ACCESSORS: &'static [Accessor<Self>];

    fn options(&self) -> &Self::Options;
}

/// The header that programs include.
const HEADER: &str = include_str!("../../include/rocksdb/c.h");

/// Numbers of which at least one differs from the default of each option.
const NUMBERS: [f64; 4] = [0.0, 1.0, 2.0, 4.0];

/// Returns the rows that the accessor changes.
fn changed<T: Listed>(accessor: &Accessor<T>, rows: &[Row<T::Options>]) -> BTreeSet<&'static str> {
    let default = T::Options::default();
    let mut found = BTreeSet::new();
    for number in NUMBERS {
        let mut handle = T::default();
        if (accessor.store)(&mut handle, number) {
            found.extend(
                rows.iter().filter(|row| row.differs(handle.options(), &default)).map(|row| row.name),
            );
        }
    }
    found
}

/// Checks a handle. `stored` names the accessors that have no row: their values are only stored. Other accessors have the name
/// of their row. The upper case of `disable_WAL` differs.
fn check<T: Listed>(rows: &[Row<T::Options>], stored: &[&str]) {
    let mut seen = BTreeSet::new();
    for accessor in T::ACCESSORS {
        let name = if accessor.name == "disable_WAL" { "disableWAL" } else { accessor.name };
        let expected = if stored.contains(&name) { BTreeSet::new() } else { BTreeSet::from([name]) };
        assert_eq!(changed(accessor, rows), expected, "{}{name}", T::PREFIX);
        seen.insert(name);
    }
    for row in rows.iter().filter(|row| !seen.contains(row.name)) {
        let setter = format!("{}set_{}(", T::PREFIX, row.name);
        assert!(HEADER.contains(&setter), "the row {} has no setter {setter}", row.name);
    }
}

#[test]
fn each_accessor_of_the_options_of_calls_changes_the_row_of_its_name() {
    use crate::compaction_options::*;
    use crate::read_options::*;
    use crate::transaction_options::*;
    use crate::write_options::*;
    use engine::options::*;
    use ironstone::{
        OptimisticTransactionDbOptions, OptimisticTransactionOptions, TransactionDbOptions,
        TransactionOptions,
    };

    check::<rocksdb_readoptions_t>(ReadOptions::ROWS, &["io_activity"]);
    check::<rocksdb_writeoptions_t>(WriteOptions::ROWS, &["io_activity"]);
    check::<rocksdb_flushoptions_t>(FlushOptions::ROWS, &[]);
    check::<rocksdb_flushwaloptions_t>(FlushWalOptions::ROWS, &[]);
    check::<rocksdb_size_approximation_options_t>(SizeApproximationOptions::ROWS, &[]);
    check::<rocksdb_ingestexternalfileoptions_t>(IngestExternalFileOptions::ROWS, &[]);
    check::<rocksdb_import_column_family_options_t>(ImportColumnFamilyOptions::ROWS, &[]);
    check::<rocksdb_compactoptions_t>(CompactRangeOptions::ROWS, &[]);
    check::<rocksdb_compaction_options_t>(CompactionOptions::ROWS, &[]);
    check::<rocksdb_wait_for_compact_options_t>(WaitForCompactOptions::ROWS, &[]);
    check::<rocksdb_transactiondb_options_t>(
        TransactionDbOptions::ROWS,
        &["txn_commit_bypass_memtable_threshold"],
    );
    check::<rocksdb_transaction_options_t>(TransactionOptions::ROWS, &[]);
    check::<rocksdb_optimistictransactiondb_options_t>(OptimisticTransactionDbOptions::ROWS, &[]);
    check::<rocksdb_optimistictransaction_options_t>(OptimisticTransactionOptions::ROWS, &[]);
}
