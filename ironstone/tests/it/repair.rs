//! A repair restores every row outside of damaged blocks, and names the ranges that are lost.

use std::collections::BTreeMap;
use std::path::Path;

use env::Env;
use ironstone::{
    Db, FamilyDescriptor, IngestExternalFileOptions, Options, Report, SstFileWriter, Weight, fsck, repair,
};

pub(crate) const DIR: &str = "/db";

pub(crate) type Files = BTreeMap<String, Vec<u8>>;
pub(crate) type Rows = BTreeMap<(String, Vec<u8>), Vec<u8>>;

pub(crate) fn options(env: &Env) -> Options {
    let mut options = Options::default();
    options
        .update("create_if_missing=true;disable_auto_compactions=true;compression=kNoCompression")
        .unwrap();
    options.update("block_based_table_factory={block_size=256;filter_policy=bloomfilter:10:false}").unwrap();
    options.db.env = env.clone();
    options
}

pub(crate) fn key(i: usize) -> Vec<u8> {
    format!("key{i:04}").into_bytes()
}

/// Makes a database with two column families, SST files on two levels, range tombstones and a WAL that is not
/// flushed. Returns its files after a clean close, and its rows.
pub(crate) fn built() -> (Files, Rows) {
    let env = Env::memory(3);
    let db = Db::open(DIR, options(&env)).unwrap();
    let more = db.create_family(FamilyDescriptor::new("more", options(&env).family)).unwrap();
    for i in 0..120 {
        db.put(&key(i), format!("first {i}").repeat(3).as_bytes()).unwrap();
    }
    db.delete_range(&key(10), &key(20)).unwrap();
    db.compact_range(None, None, &Default::default()).unwrap();
    for i in (0..120).step_by(3) {
        db.put(&key(i), format!("second {i}").as_bytes()).unwrap();
        more.put(&key(i), b"of more").unwrap();
    }
    db.delete_range(&key(90), &key(100)).unwrap();
    db.flush().unwrap();
    more.flush().unwrap();
    for i in 0..40 {
        db.put(&key(200 + i), b"in the log").unwrap();
        more.delete(&key(i)).unwrap();
    }
    let rows = rows(&db);
    drop(more);
    db.close().unwrap();
    (files(&env), rows)
}

pub(crate) fn rows(db: &Db) -> Rows {
    let mut out = Rows::new();
    for name in ["default", "more"] {
        let Ok(family) = db.family(name) else { continue };
        for entry in family.range::<&[u8], _>(..) {
            let (key, value) = entry.unwrap();
            // A get searches by levels, and an iterator orders by sequence numbers. Both must agree.
            assert_eq!(
                family.get(&key).unwrap().as_deref(),
                Some(&value[..]),
                "{:?}",
                key.escape_ascii().to_string()
            );
            out.insert((name.to_string(), key.to_vec()), value.to_vec());
        }
    }
    out
}

pub(crate) fn files(env: &Env) -> Files {
    let names = env.fs.list(Path::new(DIR)).unwrap();
    let kept = names.into_iter().filter(|n| !n.starts_with("LOG") && n != "LOCK" && n != "lost");
    kept.map(|n| (n.clone(), env.fs.read_all(&Path::new(DIR).join(n), 1 << 30).unwrap())).collect()
}

pub(crate) fn placed(files: &Files) -> Env {
    let env = Env::memory(4);
    env.fs.create_dir_all(Path::new(DIR)).unwrap();
    for (name, bytes) in files {
        env.fs.write_all(&Path::new(DIR).join(name), bytes, true).unwrap();
    }
    env
}

/// Checks, repairs and checks again. Returns the report and the rows after the repair.
#[track_caller]
pub(crate) fn repaired(what: &str, files: &Files) -> (Report, Rows) {
    let env = placed(files);
    let found = fsck(DIR, options(&env), Vec::new()).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!(&self::files(&env), files, "{what}: looking changed something");
    let report = repair(DIR, options(&env), Vec::new())
        .unwrap_or_else(|e| panic!("{what}: {e}\n{:#?}", found.problems));
    assert_eq!(report.problems, found.problems, "{what}");
    let after = fsck(DIR, options(&env), Vec::new()).unwrap();
    assert!(after.is_sound(), "{what}: {:#?} after {:#?}", after.problems, report.actions);
    let db = Db::open(DIR, options(&env)).unwrap();
    let rows = rows(&db);
    db.close().unwrap();
    (report, rows)
}

#[test]
fn a_sound_database_is_left_alone() {
    let (files, expected) = built();
    let env = placed(&files);
    let report = repair(DIR, options(&env), Vec::new()).unwrap();
    assert!(report.is_sound() && report.actions.is_empty(), "{report:#?}");
    assert!(report.num_rows > 200);
    assert_eq!(rows(&Db::open(DIR, options(&env)).unwrap()), expected);
}

#[test]
fn one_flipped_bit_in_any_file_loses_no_entry() {
    let (files, expected) = built();
    for (name, bytes) in &files {
        let step = if name.ends_with(".sst") { 509 } else { 101 };
        for at in (0..bytes.len()).step_by(step) {
            let mut damaged = files.clone();
            damaged.get_mut(name).unwrap()[at] ^= 1 << (at % 8);
            let (report, rows) = repaired(&format!("{name}, byte {at}"), &damaged);
            assert_eq!(rows, expected, "{name}, byte {at}: {report:#?}");
        }
    }
}

/// The entries of an ingested file have the sequence number 0 in the file. The MANIFEST has their sequence number.
#[test]
fn an_ingested_file_without_properties_hides_the_older_entries() {
    let env = Env::memory(5);
    let options = options(&env);
    let db = Db::open(DIR, options.clone()).unwrap();
    for i in 0..30 {
        db.put(&key(i), b"old").unwrap();
    }
    db.flush().unwrap();
    let path = Path::new(DIR).join("external");
    let mut file = SstFileWriter::create(&path, &options.db, &options.family).unwrap();
    for i in (0..30).step_by(3) {
        file.put(&key(i), b"ingested").unwrap();
        file.delete(&key(i + 1)).unwrap();
    }
    file.finish().unwrap();
    db.ingest_external_files([&path], &IngestExternalFileOptions::default()).unwrap();
    let ingested = format!("{:06}.sst", db.default_family().live_files()[0].number);
    let expected = rows(&db);
    db.close().unwrap();
    let files = files(&env);
    let bytes = &files[&ingested];
    let properties = bytes.windows(8).position(|bytes| bytes == b"rocksdb.").unwrap();
    for (what, range) in [
        ("properties", properties..properties + 12),
        ("footer", bytes.len() - 40..bytes.len()),
        ("metaindex and footer", bytes.len() - 120..bytes.len()),
    ] {
        let mut damaged = files.clone();
        damaged.get_mut(&ingested).unwrap()[range].iter_mut().for_each(|byte| *byte ^= 0x5A);
        let (report, rows) = repaired(what, &damaged);
        assert!(!report.is_sound(), "{what}");
        assert_eq!(rows, expected, "{what}: {report:#?}");
    }
}

#[test]
fn a_bad_sector_loses_only_entries_of_named_ranges() {
    let (files, expected) = built();
    for (name, bytes) in files.iter().filter(|(n, _)| n.ends_with(".sst")) {
        for at in (0..bytes.len()).step_by(907) {
            let mut damaged = files.clone();
            let bytes = damaged.get_mut(name).unwrap();
            let end = (at + 200).min(bytes.len());
            bytes[at..end].iter_mut().enumerate().for_each(|(i, b)| *b = (i * 89 + 11) as u8);
            let what = format!("{name}, sector at {at}");
            let (report, rows) = repaired(&what, &damaged);
            assert!(!report.is_sound(), "{what}");
            let named = |family: &str, key: &[u8]| {
                report.problems.iter().any(|p| {
                    p.family.as_deref() == Some(family)
                        && p.range.as_ref().is_some_and(|(after, until)| {
                            after.as_deref().is_none_or(|a| a <= key)
                                && until.as_deref().is_none_or(|u| key <= u)
                        })
                })
            };
            for ((family, key), value) in &expected {
                let same = rows.get(&(family.clone(), key.clone())) == Some(value);
                assert!(
                    same || named(family, key),
                    "{what}: {key:?} changed and no range names it: {report:#?}"
                );
            }
            for (family, key) in rows.keys().filter(|k| !expected.contains_key(*k)) {
                assert!(named(family, key), "{what}: {key:?} is back and no range names it: {report:#?}");
            }
            assert!(rows.len() + 40 >= expected.len(), "{what}: {} of {} rows", rows.len(), expected.len());
        }
    }
}

/// Checks that each row is unchanged or inside of a range that the report names, and that no row is new outside of
/// these ranges.
#[track_caller]
pub(crate) fn differs_only_where_named(what: &str, report: &Report, rows: &Rows, expected: &Rows) {
    let named = |family: &str, key: &[u8]| {
        report
            .problems
            .iter()
            .filter(|p| p.weight == Weight::Loss && p.family.as_deref() == Some(family))
            .any(|p| {
                p.range.as_ref().is_some_and(|(after, until)| {
                    after.as_deref().is_none_or(|a| a <= key) && until.as_deref().is_none_or(|u| key <= u)
                })
            })
    };
    for ((family, key), value) in expected {
        let same = rows.get(&(family.clone(), key.clone())) == Some(value);
        assert!(same || named(family, key), "{what}: {key:?} changed and no range names it: {report:#?}");
    }
    for (family, key) in rows.keys().filter(|k| !expected.contains_key(*k)) {
        assert!(named(family, key), "{what}: {key:?} is there and no range names it: {report:#?}");
    }
}

pub(crate) fn tables(files: &Files) -> Vec<String> {
    files.keys().filter(|name| name.ends_with(".sst")).cloned().collect()
}

#[test]
fn another_sst_file_under_the_name_of_an_sst_file_is_reported_and_kept_out() {
    let (files, expected) = built();
    for name in tables(&files) {
        for other in tables(&files).iter().filter(|other| **other != name) {
            let mut damaged = files.clone();
            damaged.insert(name.clone(), files[other].clone());
            let what = format!("{other} at {name}");
            let (report, rows) = repaired(&what, &damaged);
            let told = |p: &ironstone::Problem| {
                p.file.ends_with(&name) && p.weight == Weight::Loss && p.range.is_some()
            };
            assert!(report.problems.iter().any(told), "{what}: {report:#?}");
            differs_only_where_named(&what, &report, &rows, &expected);
            let own = |rows: &Rows| {
                rows.iter()
                    .filter(|((family, _), _)| family == "more")
                    .map(|(_, v)| v.clone())
                    .collect::<Vec<_>>()
            };
            assert!(own(&rows).iter().all(|v| v == b"of more"), "{what}");
        }
    }
}

#[test]
fn swapped_sst_files_lose_no_entry() {
    let (files, expected) = built();
    let names = tables(&files);
    for (a, b) in names.iter().flat_map(|a| names.iter().map(move |b| (a, b))).filter(|(a, b)| a < b) {
        let mut damaged = files.clone();
        damaged.insert(a.clone(), files[b].clone());
        damaged.insert(b.clone(), files[a].clone());
        let (report, rows) = repaired(&format!("{a} and {b}"), &damaged);
        assert_eq!(rows, expected, "{a} and {b}: {report:#?}");
    }
}

#[test]
fn the_lost_range_of_a_truncated_table_is_named() {
    let (files, expected) = built();
    for name in tables(&files) {
        for len in (0..files[&name].len()).step_by(211) {
            let mut damaged = files.clone();
            damaged.get_mut(&name).unwrap().truncate(len);
            let what = format!("{name} cut to {len}");
            let (report, rows) = repaired(&what, &damaged);
            differs_only_where_named(&what, &report, &rows, &expected);
        }
    }
}

/// The rows of an unreadable WAL record are unknown, but the sequence numbers of the record are known.
#[test]
fn a_damaged_wal_reports_the_sequence_numbers_that_are_lost() {
    let (mut files, expected) = built();
    let name = files.keys().find(|name| name.ends_with(".log")).unwrap().clone();
    let bytes = files.get_mut(&name).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle..middle + 40].fill(0x5a);
    let (report, rows) = repaired("log", &files);
    let lost = expected.keys().filter(|key| !rows.contains_key(*key)).count();
    let words =
        &report.problems.iter().find(|p| p.file.ends_with(&name) && p.weight == Weight::Loss).unwrap().what;
    let (_, numbers) = words.split_once("the writes with sequence numbers ").expect(words);
    let (first, last) = numbers.split_once(" are gone").unwrap().0.split_once(" to ").unwrap();
    let count = last.parse::<usize>().unwrap() - first.parse::<usize>().unwrap() + 1;
    // Half of the records are deletions in the other column family.
    assert!(lost > 0 && count >= lost && count <= 2 * lost + 1, "{words}: {lost} rows");
}

#[test]
fn a_missing_file_is_named_and_the_rest_stays() {
    let (files, expected) = built();
    for name in files.keys() {
        let mut damaged = files.clone();
        damaged.remove(name);
        let env = placed(&damaged);
        let report = repair(DIR, options(&env), Vec::new()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let rows = rows(&Db::open(DIR, options(&env)).unwrap());
        if name.ends_with(".sst") {
            assert!(
                report.problems.iter().any(|p| p.file.ends_with(name) && p.weight == Weight::Loss),
                "{name}"
            );
            assert!(rows.len() < expected.len() + 20, "{name}");
        } else if !name.ends_with(".log") {
            assert_eq!(rows, expected, "{name}: {report:#?}");
        }
    }
}

/// The MANIFEST loses the record of a compaction. The inputs of the compaction are gone. A WAL still has all entries of
/// the output, but the column family does not need this WAL: only the other column family replays it.
#[test]
fn an_sst_file_is_added_if_its_family_does_not_replay_the_wal_with_its_entries() {
    let env = Env::memory(22);
    let db = Db::open(DIR, options(&env)).unwrap();
    let more = db.create_family(FamilyDescriptor::new("more", options(&env).family)).unwrap();
    // The snapshot keeps the sequence numbers of the entries in the compaction.
    let snapshot = db.snapshot();
    for i in 0..20 {
        db.put(&key(i), b"of default").unwrap();
        more.put(&key(i), b"of more").unwrap();
    }
    db.flush().unwrap();
    let manifest = || {
        let files = files(&env);
        let (name, bytes) = files.iter().find(|(name, _)| name.starts_with("MANIFEST")).unwrap();
        (name.clone(), bytes.len())
    };
    let (name, before) = manifest();
    let family = db.default_family();
    let numbers: Vec<_> = family.live_files().iter().map(|file| file.number).collect();
    family.compact_files(&numbers, ironstone::Level::new(6), None, &Default::default()).unwrap();
    assert_eq!(manifest().0, name);
    drop(db.create_family(FamilyDescriptor::new("after", options(&env).family)).unwrap());
    let expected = rows(&db);
    assert_eq!(expected.len(), 40);
    drop((snapshot, more));
    db.close().unwrap();
    let mut damaged = files(&env);
    assert!(damaged.keys().any(|name| name.ends_with(".log")));
    damaged.get_mut(&name).unwrap()[before + 20..before + 30].fill(0xff);
    let (report, rows) = repaired("a lost compaction", &damaged);
    assert_eq!(rows, expected, "{report:#?}");
}

#[test]
fn a_wal_or_manifest_that_was_cut_off_differs_from_a_torn_end() {
    let (files, expected) = built();
    for (name, bytes) in files.iter().filter(|(n, _)| n.ends_with(".log") || n.starts_with("MANIFEST")) {
        for len in (0..bytes.len()).step_by(97) {
            let mut damaged = files.clone();
            damaged.get_mut(name).unwrap().truncate(len);
            let env = placed(&damaged);
            let what = format!("{name} cut to {len}");
            let report = repair(DIR, options(&env), Vec::new()).unwrap_or_else(|e| panic!("{what}: {e}"));
            assert!(
                report.problems.iter().any(|p| p.file.ends_with(name) && p.weight == Weight::Loss),
                "{what}"
            );
            let db = Db::open(DIR, options(&env)).unwrap();
            let rows = rows(&db);
            let from_tables = expected.iter().filter(|(_, v)| *v != b"in the log").count();
            assert!(rows.len() >= from_tables, "{what}: {}", rows.len());
            db.close().unwrap();
        }
    }
}

#[test]
fn an_iterator_with_an_error_stays_invalid_until_its_refresh() {
    let (mut files, _) = built();
    let largest = tables(&files).into_iter().max_by_key(|name| files[name].len()).unwrap();
    files.get_mut(&largest).unwrap()[1000..1020].fill(0xa5);
    let env = placed(&files);
    let db = Db::open(DIR, options(&env)).unwrap();
    let mut iter = db.iter().unwrap();
    iter.seek_to_first();
    let mut rows = 0;
    while iter.valid() {
        rows += 1;
        iter.next();
    }
    let error = iter.status().unwrap_err();
    assert!(rows > 0 && error.kind() == ironstone::Kind::Corruption && error.offset().is_some(), "{error}");
    let moves: [fn(&mut ironstone::Iter); 5] =
        [|i| i.seek_to_first(), |i| i.seek_to_last(), |i| i.next(), |i| i.prev(), |i| i.seek(&key(230))];
    for go_on in moves {
        go_on(&mut iter);
        assert!(!iter.valid());
        assert_eq!(iter.status().unwrap_err().to_string(), error.to_string());
    }
    iter.refresh().unwrap();
    iter.seek(&key(230));
    assert!(iter.valid() && iter.status().is_ok());
}
