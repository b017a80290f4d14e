//! Checks that `docs/options.md` is the text that the rows make.

use std::fmt::Write;
use std::path::Path;

use base::option::{Component, Mutability, Row};
use engine::options::{
    CompactRangeOptions, CompactionOptions, CompactionOptionsFifo, CompactionOptionsUniversal,
    CompressionOptions, DbOptions, FIELD_HINTS, FamilyOptions, FileTemperatureAge, FlushOptions,
    FlushWalOptions, HINTS, HashLinkListOptions, HashSkipListOptions, ImportColumnFamilyOptions,
    IngestExternalFileOptions, ReadOptions, SizeApproximationOptions, TABLE_HINTS, WaitForCompactOptions,
    WriteOptions,
};
use ironstone::{
    OptimisticTransactionDbOptions, OptimisticTransactionOptions, TransactionDbOptions,
    TransactionDbWriteOptimizations, TransactionOptions,
};
use table::options::{CUCKOO_OPTIONS, LruCacheOptions, MetadataCacheOptions, OPTIONS, PLAIN_OPTIONS};

const HEAD: &str = "# Options

`cargo xtask options` writes this file from the rows of the options. Do not edit the file. The rows are in the crates `options` and `compress`, in
`table::options`, in `engine::options` and in `ironstone::txn`.

- *live*: the option may change while the database is open. *fixed*: the option is set at open.
- *since*: the first release of RocksDB whose OPTIONS files hold the option. 5.18 stands for older releases too. With the
  option `compat`, OPTIONS files hold only the options of the named release.
- *since* of an option of a call: the first release of RocksDB that has the option, as the release notes say. If the notes do not name
  the option, the release is the first of 5.18, 6.1, 6.2, 6.7, 6.11, 6.17, 6.20, 6.28, 7.4, 7.9, 8.1, 8.10, 9.9, 10.4 and 11.8 that has
  the option in its headers.
- *range*: the valid numbers. If commas separate several ranges, a number in any of them is valid. A field of
  `compression_opts`, `bottommost_compression_opts`, `blob_compression_opts`, `compaction_options_universal` or
  `compaction_options_fifo` may have a value out of its range: the open continues, and the info log names the field, the value and the
  range. There is one exception: with universal compaction, `max_read_amp` below -1 fails the open. If any other option is out of its
  range, the open fails or corrects the value, as in RocksDB.
- A size may have the suffix K, M, G or T, for powers of 1024.
";

fn cell(text: &str) -> String {
    text.trim().replace('|', "\\|")
}

/// Returns the cell of a default value.
fn default_cell<T: Default>(row: &Row<T>) -> String {
    match row.default_text().as_str() {
        "" => "empty".to_string(),
        "nullptr" if row.mutability == Mutability::Call => "absent".to_string(),
        text => format!("`{}`", cell(text)),
    }
}

fn range_cell<T>(row: &Row<T>) -> String {
    if row.range.is_empty() { String::new() } else { format!("`{}`", cell(row.range)) }
}

/// Adds the rows of a struct of options. `title` is a heading.
fn rows<T: Default>(out: &mut String, title: &str, rows: &[Row<T>]) {
    let _ = write!(
        out,
        "\n{title}\n\n| option | default | unit | range | | since | effect |\n|---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        let live = if row.is_mutable() { "live" } else { "fixed" };
        let since = if row.written { row.since.to_string() } else { String::new() };
        let (default, range, unit) = (default_cell(row), range_cell(row), cell(row.unit));
        let doc = cell(row.doc);
        let _ = writeln!(out, "| `{}` | {default} | {unit} | {range} | {live} | {since} | {doc} |", row.name);
    }
}

/// Adds the options of a call. The components are the last rows.
fn call<T: Default>(out: &mut String, title: &str, rows: &[Row<T>], components: &[Component]) {
    let _ = write!(
        out,
        "\n### {title}\n\n| option | default | unit | range | since | effect |\n|---|---|---|---|---|---|\n"
    );
    for row in rows {
        assert_eq!(row.mutability, Mutability::Call, "{}", row.name);
        let (default, range, unit) = (default_cell(row), range_cell(row), cell(row.unit));
        let doc = cell(row.doc);
        let _ = writeln!(out, "| `{}` | {default} | {unit} | {range} | {} | {doc} |", row.name, row.since);
    }
    for component in components {
        let _ = writeln!(
            out,
            "| `{}` | absent | | | {} | {} |",
            component.name,
            component.since,
            cell(component.doc)
        );
    }
}

macro_rules! calls {
    ($each:ident, $out:expr; $($title:literal $options:ident;)*) => {
        $($each!($out, $title, $options);)*
    };
}

macro_rules! call_table {
    ($out:expr, $title:literal, $options:ident) => {
        call($out, $title, $options::ROWS, $options::COMPONENTS)
    };
}

/// Adds the options without effect of one call.
macro_rules! call_hints {
    ($out:expr, $title:literal, $options:ident) => {
        for row in $options::ROWS {
            if let Some(why) = row.doc.trim().strip_prefix("Has no effect:") {
                let _ = writeln!($out, "| `{}::{}` | {} |", stringify!($options), row.name, cell(why));
            }
        }
    };
}

/// Calls a macro for the options of each call.
macro_rules! all_calls {
    ($each:ident, $out:expr) => {
        calls! { $each, $out;
            "Reads: `ReadOptions`" ReadOptions;
            "Writes: `WriteOptions`" WriteOptions;
            "Flushes: `FlushOptions`" FlushOptions;
            "WAL flushes: `FlushWalOptions`" FlushWalOptions;
            "Compactions of a key range: `CompactRangeOptions`" CompactRangeOptions;
            "Compactions of named files: `CompactionOptions`" CompactionOptions;
            "Waits for background jobs: `WaitForCompactOptions`" WaitForCompactOptions;
            "Ingestions: `IngestExternalFileOptions`" IngestExternalFileOptions;
            "Imports: `ImportColumnFamilyOptions`" ImportColumnFamilyOptions;
            "Size estimates: `SizeApproximationOptions`" SizeApproximationOptions;
            "Transactional databases: `TransactionDbOptions`" TransactionDbOptions;
            "Transactions: `TransactionOptions`" TransactionOptions;
            "Writes beside transactions: `TransactionDbWriteOptimizations`" TransactionDbWriteOptimizations;
            "Optimistic transactional databases: `OptimisticTransactionDbOptions`" OptimisticTransactionDbOptions;
            "Optimistic transactions: `OptimisticTransactionOptions`" OptimisticTransactionOptions;
        }
    };
}

fn hints<T>(out: &mut String, rows: &[Row<T>], names: &[&str]) {
    for row in rows.iter().filter(|row| names.contains(&row.name)) {
        let why = row.doc.trim().trim_start_matches("Has no effect:").trim();
        let _ = writeln!(out, "| `{}` | {} |", row.name, cell(why));
    }
}

fn text() -> String {
    let mut out = HEAD.to_string();
    rows(&mut out, "## Database", DbOptions::ROWS);
    rows(&mut out, "## Column family", FamilyOptions::ROWS);
    rows(&mut out, "## Block-based table", OPTIONS);
    rows(&mut out, "## Plain table", PLAIN_OPTIONS);
    rows(&mut out, "## Cuckoo table", CUCKOO_OPTIONS);
    out.push_str(
        "\n## Nested options\n\nThe value of such an option has fields: `{name=value;...}`. Fields that the text does not name keep \
         their values.\n",
    );
    rows(
        &mut out,
        "### Compression: `compression_opts`, `bottommost_compression_opts`, `blob_compression_opts`",
        CompressionOptions::ROWS,
    );
    rows(
        &mut out,
        "### Universal compaction: `compaction_options_universal`",
        CompactionOptionsUniversal::ROWS,
    );
    rows(&mut out, "### FIFO compaction: `compaction_options_fifo`", CompactionOptionsFifo::ROWS);
    rows(
        &mut out,
        "### Temperatures: the elements of `compaction_options_fifo.file_temperature_age_thresholds`",
        FileTemperatureAge::ROWS,
    );
    rows(
        &mut out,
        "### Memtables: `memtable_factory={id=HashSkipListRepFactory;...}`",
        HashSkipListOptions::ROWS,
    );
    rows(
        &mut out,
        "### Memtables: `memtable_factory={id=HashLinkListRepFactory;...}`",
        HashLinkListOptions::ROWS,
    );
    rows(&mut out, "### Pinned metadata: `metadata_cache_options`", MetadataCacheOptions::ROWS);
    rows(&mut out, "### Block cache: `block_cache`", LruCacheOptions::ROWS);
    out.push_str(
        "\n## Calls\n\nThe program passes these options with a call. OPTIONS files do not hold them.\n",
    );
    all_calls!(call_table, &mut out);
    out.push_str(
        "\n## Options without effect\n\nThese options are accepted and have no effect. They change speed or housekeeping in \
         RocksDB, and never results. One\nline of the info log names the options of this table that are not at their \
         defaults.\n\n| option | reason |\n|---|---|\n",
    );
    hints(&mut out, DbOptions::ROWS, HINTS);
    hints(&mut out, FamilyOptions::ROWS, HINTS);
    hints(&mut out, OPTIONS, TABLE_HINTS);
    hints(&mut out, PLAIN_OPTIONS, TABLE_HINTS);
    out.push_str("\nFields of nested options:\n\n| field | reason |\n|---|---|\n");
    for (option, field, reason) in FIELD_HINTS {
        out.push_str(&format!("| `{option}.{field}` | {reason}. |\n"));
    }
    out.push_str("\nFields of the options of calls:\n\n| field | reason |\n|---|---|\n");
    all_calls!(call_hints, out);
    out
}

/// Checks that the default of each option is in the range of the row, and that each range of numbers can be read.
#[test]
fn the_default_of_each_option_is_in_its_range() {
    fn check<T: Default>(rows: &[Row<T>]) {
        for row in rows {
            assert!(row.accepts(&T::default()), "{} in {:?}", row.name, row.range);
        }
    }
    macro_rules! check_call {
        ($out:expr, $title:literal, $options:ident) => {
            check($options::ROWS)
        };
    }
    check(DbOptions::ROWS);
    check(FamilyOptions::ROWS);
    check(OPTIONS);
    check(PLAIN_OPTIONS);
    check(CUCKOO_OPTIONS);
    check(CompressionOptions::ROWS);
    check(CompactionOptionsUniversal::ROWS);
    check(CompactionOptionsFifo::ROWS);
    check(MetadataCacheOptions::ROWS);
    check(LruCacheOptions::ROWS);
    all_calls!(check_call, &mut ());
}

/// If the environment variable `IRONSTONE_WRITE_OPTIONS` is set, the test writes the file.
#[test]
fn docs_hold_every_option() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/options.md");
    let expected = text();
    if std::env::var_os("IRONSTONE_WRITE_OPTIONS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = expected.lines().zip(found.lines()).find(|(a, b)| a != b);
    assert!(found == expected, "docs/options.md differs, run `cargo xtask options`: {differs:?}");
}
