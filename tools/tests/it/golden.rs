//! `ldb` on every golden database: exactly the rows that RocksDB read, or an error that names the feature. A read
//! changes nothing on disk.

use testkit::golden::{self, Family, Golden, Row};
use testkit::hex::upper as hex;

use crate::support::{copy_of, files, ldb_on, oracle, theirs};

/// The golden databases that this release cannot read, and the text in the error.
const REFUSED: &[(&str, &str)] = &[
    // No file records the directories of its SST files, so only the caller of the open can name them, and `ldb` has
    // no option for them.
    ("multi-path", "000016.sst"),
];

fn has_timestamps(family: &Family) -> bool {
    family.comparator.ends_with(".u64ts")
}

fn scan(family: &Family, args: &mut Vec<String>) {
    args.push(format!("--column_family={}", family.name));
    args.extend(["scan", "--hex"].map(String::from));
    if has_timestamps(family) {
        args.push(format!("--read_timestamp={}", u64::MAX));
    }
}

/// Formats a row as `scan --hex` prints it.
fn line(row: &Row) -> String {
    let shown = |bytes: &[u8]| format!("0x{}", hex(bytes));
    let part = |bytes: &[u8]| if bytes.is_empty() { String::new() } else { shown(bytes) };
    let mut line = shown(&row.key);
    if let Some(ts) = &row.timestamp {
        line.push_str(&format!("|timestamp:{}", u64::from_le_bytes(ts[..].try_into().expect("eight bytes"))));
    }
    line.push_str(" ==> ");
    match row.columns.as_deref() {
        Some(columns) if !columns.is_empty() && !matches!(columns, [(name, _)] if name.is_empty()) => {
            let columns: Vec<_> = columns.iter().map(|(n, v)| format!("{}:{}", part(n), part(v))).collect();
            line.push_str(&columns.join(" "));
        }
        _ => line.push_str(&shown(&row.value)),
    }
    line + "\n"
}

fn databases() -> impl Iterator<Item = Golden> {
    let whole = |g: &Golden| !matches!(g.meta["closed"].as_str(), Some("backup" | "export"));
    golden::all().into_iter().filter(whole)
}

#[test]
fn every_golden_database_scans_to_its_rows_or_is_refused_by_name() {
    let (mut wrong, mut scanned) = (Vec::new(), 0);
    for golden in databases() {
        let (scratch, dir) = copy_of(&golden.name);
        let before = files(scratch.path());
        let refusal = REFUSED.iter().find(|(name, _)| *name == golden.name).map(|(_, words)| words);
        for family in &golden.families {
            let mut args = Vec::new();
            scan(family, &mut args);
            let ran = ldb_on(&dir, &args.iter().map(String::as_str).collect::<Vec<_>>());
            let expected: String = golden.rows_of(&family.name).into_iter().map(line).collect();
            let right = match refusal {
                Some(words) => {
                    ran.status == 1 && expected.starts_with(&ran.text()) && ran.err.contains(*words)
                }
                None => ran.status == 0 && ran.err.is_empty() && ran.text() == expected,
            };
            if !right {
                wrong.push(format!("{} {}: {} {}", golden.name, family.name, ran.status, ran.err));
            }
            scanned += 1;
        }
        if files(scratch.path()) != before {
            wrong.push(format!("{}: reading changed the directory", golden.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(scanned > 100, "only {scanned} families were there");
}

#[test]
fn a_key_put_into_a_golden_database_is_there_for_rocksdb_too() {
    let theirs_ldb = oracle("ldb");
    if theirs_ldb.is_none() {
        eprintln!("SKIPPED half of a_key_put: set IRONSTONE_ORACLE to the folder of RocksDB's tools");
    }
    let (mut wrong, mut written) = (Vec::new(), 0);
    for golden in databases() {
        if REFUSED.iter().any(|(name, _)| *name == golden.name) || has_timestamps(&golden.families[0]) {
            continue;
        }
        let (_scratch, dir) = copy_of(&golden.name);
        // Every comparator gives this key one place among the golden keys.
        let put = ldb_on(&dir, &["put", "--hex", "0xF0E0D0C0B0A09080", "0x6E6577"]);
        if put.status == 1 && put.err.starts_with("Failed: Not implemented: option ") {
            continue;
        }
        if (put.status, put.text().as_str()) != (0, "OK\n") {
            wrong.push(format!("{}: {}", golden.name, put.err));
            continue;
        }
        written += 1;
        for family in &golden.families {
            let mut args = Vec::new();
            scan(family, &mut args);
            let ours = ldb_on(&dir, &args.iter().map(String::as_str).collect::<Vec<_>>());
            let mut expected: Vec<_> = golden.rows_of(&family.name).into_iter().map(line).collect();
            if family.name == "default" {
                expected.push("0xF0E0D0C0B0A09080 ==> 0x6E6577\n".to_string());
                expected.sort();
            }
            let mut got: Vec<_> = ours.text().split_inclusive('\n').map(String::from).collect();
            if family.name == "default" {
                got.sort();
            }
            if got != expected {
                wrong.push(format!("{} {}: we read other rows back: {}", golden.name, family.name, ours.err));
            }
            let uses_uint64 = golden.families.iter().any(|f| f.comparator == "rocksdb.Uint64Comparator");
            if let Some(ldb) = theirs_ldb.as_ref().filter(|_| !uses_uint64) {
                args.insert(0, format!("--db={}", dir.display()));
                let read = theirs(ldb, &args);
                if read.out != ours.out {
                    wrong.push(format!(
                        "{} {}: RocksDB reads other rows: {}",
                        golden.name, family.name, read.err
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(written > 60, "only {written} databases took a key");
}
