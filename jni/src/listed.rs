//! Compares the setters of the options of calls with the rows of the options: each setter changes only the row of its name.
//!
//! Java has no setter for the options that RocksDB's Java classes do not have. Not here: the options of databases, column families
//! and tables.

use std::collections::BTreeSet;

use base::option::Row;

/// One setter of a handle `T`, for tests.
pub struct Setter<T: 'static> {
    pub name: &'static str,
    pub store: fn(&mut T, i8) -> bool,
}

/// A handle of options of a call whose setters are listed.
pub trait Listed: Sized + 'static {
    type Options: Default + 'static;
    const SETTERS: &'static [Setter<Self>];

    fn options(&self) -> &Self::Options;
}

/// A number or a boolean of Java.
pub trait Number {
    fn of(number: i8) -> Self;
}

macro_rules! numbers {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            fn of(number: i8) -> Self {
                number.into()
            }
        }
    )*};
}
numbers!(i8, i32, i64, f64);

impl Number for bool {
    fn of(number: i8) -> Self {
        number != 0
    }
}

/// Numbers of which at least one differs from the default of each option.
const NUMBERS: [i8; 4] = [0, 1, 2, 4];

/// Checks a handle that `make` makes. `stored` names the setters that have no row: their values are only stored.
fn check<T: Listed>(rows: &[Row<T::Options>], make: fn() -> T, stored: &[&str]) {
    let default = T::Options::default();
    for setter in T::SETTERS.iter().filter(|setter| setter.name != "_") {
        let mut changed = BTreeSet::new();
        for number in NUMBERS {
            let mut handle = make();
            if (setter.store)(&mut handle, number) {
                changed.extend(
                    rows.iter().filter(|row| row.differs(handle.options(), &default)).map(|row| row.name),
                );
            }
        }
        let expected = rows.iter().filter(|row| is_setter_of(setter.name, row.name)).map(|row| row.name);
        let expected: BTreeSet<&str> = expected.collect();
        assert_eq!(expected.is_empty(), stored.contains(&setter.name), "{}", setter.name);
        assert_eq!(changed, expected, "{}", setter.name);
    }
}

/// Returns true if the setter has the name of the row, in the spelling of Java.
fn is_setter_of(setter: &str, row: &str) -> bool {
    let name = setter.trim_start_matches("set").to_lowercase();
    match name.as_str() {
        "waitforflush" => row == "wait",
        "_" => false,
        "" => row.starts_with("set"),
        _ => [name.clone(), format!("set{name}")].contains(&row.replace('_', "").to_lowercase()),
    }
}

#[test]
fn each_setter_of_the_options_of_calls_changes_the_row_of_its_name() {
    use crate::call_options::ReadObject;
    use crate::settings::CompactRange;
    use engine::options::*;
    use ironstone::{OptimisticTransactionOptions, TransactionDbOptions, TransactionOptions};

    check::<ReadObject>(ReadOptions::ROWS, ReadObject::default, &["setManaged"]);
    check::<WriteOptions>(WriteOptions::ROWS, WriteOptions::default, &[]);
    check::<FlushOptions>(FlushOptions::ROWS, FlushOptions::default, &[]);
    check::<CompactionOptions>(CompactionOptions::ROWS, CompactionOptions::default, &[]);
    check::<CompactRange>(CompactRangeOptions::ROWS, CompactRange::default, &[]);
    check::<IngestExternalFileOptions>(
        IngestExternalFileOptions::ROWS,
        IngestExternalFileOptions::default,
        &[],
    );
    check::<ImportColumnFamilyOptions>(
        ImportColumnFamilyOptions::ROWS,
        ImportColumnFamilyOptions::default,
        &[],
    );
    check::<TransactionDbOptions>(TransactionDbOptions::ROWS, TransactionDbOptions::default, &[]);
    check::<TransactionOptions>(TransactionOptions::ROWS, TransactionOptions::default, &[]);
    check::<OptimisticTransactionOptions>(OptimisticTransactionOptions::ROWS, Default::default, &[]);
}
