//! A repair without a readable MANIFEST: it restores the entries of all SST files and WALs, and reports the facts
//! that are lost.

use std::cmp::Ordering;
use std::path::Path;

use base::order::Comparator;
use base::{FamilyId, Order};
use env::Env;
use env::fault::FaultFs;
use format::edit::{FamilyEdit, VersionEdit};
use format::wal::{Framing, Writer};
use ironstone::{
    BottommostLevelCompaction, CompactRangeOptions, CompactionOptions, Db, Family, FamilyDescriptor,
    IngestExternalFileOptions, Kind, Options, Problem, Report, SstFileWriter, Weight, fsck, repair,
};

use testkit::chance::Chance;

use crate::repair::{
    DIR, Files, Rows, built, differs_only_where_named, files, key, options, placed, repaired, rows, tables,
};

fn manifest(files: &Files) -> String {
    files.keys().find(|name| name.starts_with("MANIFEST")).unwrap().clone()
}

fn without_manifest(files: &Files) -> Files {
    let mut left = files.clone();
    left.remove(&manifest(files));
    left
}

fn says(report: &Report, words: &str) -> bool {
    report.problems.iter().any(|p| p.what.contains(words))
}

#[test]
fn a_repair_needs_only_sst_files_and_wals_if_the_manifest_is_unreadable() {
    let (files, expected) = built();
    let name = manifest(&files);
    let mut cases = vec![("gone", without_manifest(&files))];
    for (what, bytes) in
        [("empty", Vec::new()), ("zeros", vec![0; files[&name].len()]), ("noise", vec![0x5a; 300])]
    {
        let mut damaged = files.clone();
        damaged.insert(name.clone(), bytes);
        cases.push((what, damaged));
    }
    for (what, mut damaged) in cases {
        for current in [
            Some(files["CURRENT"].clone()),
            Some(b"MANIFEST-000077\n".to_vec()),
            Some(b"noise".to_vec()),
            None,
        ] {
            match current {
                Some(bytes) => damaged.insert("CURRENT".to_string(), bytes),
                None => damaged.remove("CURRENT"),
            };
            let (report, rows) = repaired(what, &damaged);
            assert_eq!(rows, expected, "{what}: {report:#?}");
            assert_eq!(report.weight(), Some(Weight::Loss));
            assert!(
                says(&report, "entries that were deleted or overwritten may be back"),
                "{what}: {report:#?}"
            );
        }
    }
}

/// CURRENT is damaged, but the MANIFEST is complete. The repair uses the MANIFEST, and takes no other facts from SST
/// files.
#[test]
fn a_whole_manifest_is_used_whatever_has_become_of_current() {
    let (files, expected) = built();
    let number: u64 = manifest(&files).trim_start_matches("MANIFEST-").parse().unwrap();
    let other = |number: u64| Some(format!("MANIFEST-{number:06}\n").into_bytes());
    for current in [None, Some(b"noise".to_vec()), other(number - 1), other(number + 1)] {
        let mut damaged = files.clone();
        match &current {
            Some(bytes) => damaged.insert("CURRENT".to_string(), bytes.clone()),
            None => damaged.remove("CURRENT"),
        };
        let (report, rows) = repaired("CURRENT", &damaged);
        assert_eq!(rows, expected);
        assert_eq!(report.weight(), Some(Weight::Mendable), "{report:#?}");
        assert!(!says(&report, "added to the database"), "{report:#?}");
    }
}

/// A MANIFEST that was never finished has the highest number. The repair must not use it.
#[test]
fn an_unfinished_manifest_is_not_the_newest_manifest() {
    let (mut files, expected) = built();
    let whole = files[&manifest(&files)].clone();
    files.insert("MANIFEST-000900".to_string(), whole[..60].to_vec());
    files.remove("CURRENT");
    let (report, rows) = repaired("unfinished", &files);
    assert_eq!(rows, expected, "{report:#?}");
}

#[test]
fn a_repair_without_a_manifest_names_the_lost_ranges_of_a_damaged_table() {
    let (files, expected) = built();
    let files = without_manifest(&files);
    for name in tables(&files) {
        for at in (0..files[&name].len()).step_by(1511) {
            let mut damaged = files.clone();
            let bytes = damaged.get_mut(&name).unwrap();
            let end = (at + 200).min(bytes.len());
            bytes[at..end].iter_mut().enumerate().for_each(|(i, b)| *b = (i * 89 + 11) as u8);
            let what = format!("{name}, sector at {at}");
            let (report, rows) = repaired(&what, &damaged);
            // The column family of an SST file is in its properties. Without properties, repair cannot choose between two families.
            let unknown = report
                .problems
                .iter()
                .any(|p| p.file.ends_with(&name) && p.what.contains("its column family is unknown"));
            if !unknown {
                differs_only_where_named(&what, &report, &rows, &expected);
            }
            let lost =
                report.problems.iter().any(|p| p.file.ends_with(&name) && p.weight >= Weight::Mendable);
            assert!(lost, "{what}: {report:#?}");
        }
    }
}

/// Seven levels with overwritten and deleted keys. Some entries of both kinds are still in several SST files.
#[test]
fn a_compacted_tree_is_rebuilt_entry_by_entry() {
    let env = Env::memory(7);
    let mut options = options(&env);
    options
        .update("disable_auto_compactions=false;write_buffer_size=65536;max_bytes_for_level_base=30000;target_file_size_base=8000")
        .unwrap();
    options.update("level0_file_num_compaction_trigger=2;max_bytes_for_level_multiplier=2").unwrap();
    let db = Db::open(DIR, options.clone()).unwrap();
    for round in 0..6usize {
        for i in 0..900 {
            let k = key((i * 7 + round * 131) % 1500);
            match (i + round) % 5 {
                0 => db.delete(&k).unwrap(),
                _ => db.put(&k, format!("{round} {i} ").repeat(6).as_bytes()).unwrap(),
            }
        }
        db.flush().unwrap();
    }
    db.wait_for_compact().unwrap();
    db.put(&key(3), b"in the log").unwrap();
    db.delete(&key(5)).unwrap();
    let expected = rows(&db);
    db.close().unwrap();
    let files = without_manifest(&files(&env));
    assert!(tables(&files).len() > 5);
    let (report, rows) = repaired("levels", &files);
    assert_eq!(rows, expected, "{report:#?}");
}

/// Opens a database with a merge of `list` in its WAL. The column family `more` has an SST file, and keeps the WAL for a row.
fn one_merge(env: &Env) -> (Options, Db, Family) {
    let mut options = options(env);
    options.family.update("merge_operator=stringappend").unwrap();
    let db = Db::open(DIR, options.clone()).unwrap();
    let more = db.create_family(FamilyDescriptor::new("more", options.family.clone())).unwrap();
    more.put(b"table", b"1").unwrap();
    more.flush().unwrap();
    db.merge(b"list", b"a").unwrap();
    more.put(b"kept", b"for this row").unwrap();
    (options, db, more)
}

/// A WAL is kept for another column family, and holds merge operands that are in an SST file already.
#[test]
fn a_merge_is_applied_once_although_another_family_keeps_its_wal() {
    let env = Env::memory(8);
    let (mut options, db, more) = one_merge(&env);
    db.merge(b"list", b"b").unwrap();
    db.flush().unwrap();
    db.merge(b"list", b"c").unwrap();
    let expected = rows(&db);
    assert_eq!(expected[&("default".to_string(), b"list".to_vec())], b"a,b,c");
    drop(more);
    db.close().unwrap();
    let left = without_manifest(&files(&env));
    let env = placed(&left);
    options.db.env = env.clone();
    let more = || vec![FamilyDescriptor::new("more", options.family.clone())];
    let report = repair(DIR, options.clone(), more()).unwrap();
    let db = Db::open_with_families(DIR, options.clone(), more()).unwrap();
    assert_eq!(rows(&db), expected, "{report:#?}");
}

/// A compaction to the last level sets the sequence numbers of merged operands to 0. So no entry proves that the WAL is in the
/// SST files.
#[test]
fn a_report_says_that_merges_may_count_twice_if_a_compaction_removed_the_sequence_numbers() {
    let env = Env::memory(9);
    let (mut options, db, more) = one_merge(&env);
    db.flush().unwrap();
    let forced = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    db.compact_range(None, None, &forced).unwrap();
    let numbers: Vec<_> = db.live_files().into_iter().map(|file| file.largest_sequence.get()).collect();
    assert_eq!(numbers, [0]);
    drop(more);
    db.close().unwrap();
    options.db.env = placed(&without_manifest(&files(&env)));
    let more = FamilyDescriptor::new("more", options.family.clone());
    let report = repair(DIR, options, vec![more]).unwrap();
    let is_named = |p: &Problem| p.what.contains("merge operands may be applied twice");
    let named: Vec<_> = report.problems.iter().filter(|p| is_named(p)).map(|p| p.family.as_deref()).collect();
    assert_eq!(named, [Some("default")], "{report:#?}");
}

/// The record is whole, so it is no damage. A repair without the record would drop the column family.
#[test]
fn a_repair_refuses_a_manifest_with_a_column_family_that_the_engine_cannot_name() {
    let (mut files, _) = built();
    let edit = VersionEdit {
        family: FamilyEdit { id: FamilyId::new(9), add: Some("zz".to_string()), ..FamilyEdit::default() },
        comparator: Some("leveldb.BytewiseComparator".to_string()),
        ..VersionEdit::default()
    };
    let mut record = Vec::new();
    edit.encode(0, &mut record).unwrap();
    let at = record.windows(2).position(|bytes| bytes == b"zz").unwrap();
    record[at..at + 2].copy_from_slice(b"\xff\xfe");
    let name = manifest(&files);
    let bytes = files.get_mut(&name).unwrap();
    Writer::resume(Framing::Classic, bytes.len() as u64).append(bytes, &record).unwrap();
    let env = placed(&files);
    for outcome in [fsck(DIR, options(&env), Vec::new()), repair(DIR, options(&env), Vec::new())] {
        assert_eq!(outcome.unwrap_err().kind(), Kind::NotSupported);
    }
    assert_eq!(self::files(&env), files);
}

struct ByLength;

impl Comparator for ByLength {
    fn name(&self) -> &str {
        "test.ByLength"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.len().cmp(&b.len()).then_with(|| a.cmp(b))
    }
}

/// Makes column families with three comparators. The column family `log only` has no SST file.
fn three_orders(env: &Env) -> (Options, Vec<FamilyDescriptor>) {
    let options = options(env);
    let family = |name: &str, order: Order| {
        let mut own = options.family.clone();
        own.comparator = order;
        FamilyDescriptor::new(name, own)
    };
    let families = vec![
        family("reverse", Order::Reverse),
        family("by length", Order::custom(ByLength)),
        family("log only", Order::Reverse),
    ];
    (options, families)
}

#[test]
fn every_family_is_rebuilt_with_its_comparator() {
    let env = Env::memory(9);
    let (options, families) = three_orders(&env);
    let db = Db::open(DIR, options).unwrap();
    for descriptor in families {
        let (name, family) = (descriptor.name.clone(), db.create_family(descriptor).unwrap());
        for i in 0..300usize {
            family.put(&i.to_string().into_bytes(), name.as_bytes()).unwrap();
        }
        if name != "log only" {
            family.flush().unwrap();
        }
        family.delete(b"7").unwrap();
    }
    db.put(b"default", b"too").unwrap();
    db.close().unwrap();
    let left = without_manifest(&files(&env));

    let env = placed(&left);
    let (options, mut families) = three_orders(&env);
    // Only the caller knows the comparator "by length". A wrong comparator gives a wrong order.
    let unnamed = repair(DIR, options.clone(), Vec::new()).unwrap_err();
    assert!(
        unnamed.kind() == Kind::InvalidArgument && unnamed.to_string().contains("test.ByLength"),
        "{unnamed}"
    );
    families[1].options.comparator = Order::Bytewise;
    let wrong = repair(DIR, options, families).unwrap_err();
    assert!(wrong.kind() == Kind::InvalidArgument && wrong.to_string().contains("test.ByLength"), "{wrong}");
    assert_eq!(files(&env), left, "a repair that is refused changes nothing");

    let (options, families) = three_orders(&env);
    let report = repair(DIR, options, families).unwrap();
    assert!(says(&report, "from the order of names"), "{report:#?}");
    let (options, families) = three_orders(&env);
    let db = Db::open_with_families(DIR, options, families).unwrap();
    for (name, first) in [("reverse", &b"99"[..]), ("by length", b"0"), ("log only", b"99")] {
        let found: Vec<_> =
            db.family(name).unwrap().range::<&[u8], _>(..).map(|row| row.unwrap().0).collect();
        assert_eq!((found.len(), &found[0][..]), (299, first), "{name}: {report:#?}");
    }
    assert_eq!(db.get(b"default").unwrap().as_deref(), Some(&b"too"[..]));
}

/// A WAL has rows of a column family without an SST file and without an OPTIONS file. The name of the column family
/// is then unknown.
#[test]
fn writes_of_a_family_without_a_name_stay_in_a_kept_wal() {
    let env = Env::memory(10);
    let db = Db::open(DIR, options(&env)).unwrap();
    db.put(b"a", b"1").unwrap();
    db.flush().unwrap();
    let more = db.create_family(FamilyDescriptor::new("more", options(&env).family)).unwrap();
    more.put(b"nameless", b"2").unwrap();
    db.put(b"b", b"3").unwrap();
    drop(more);
    db.close().unwrap();
    let mut left = without_manifest(&files(&env));
    left.retain(|name, _| !name.starts_with("OPTIONS"));
    let env = placed(&left);
    let report = repair(DIR, options(&env), Vec::new()).unwrap();
    assert!(says(&report, "1 writes of column family 1, whose name is unknown"), "{report:#?}");
    let db = Db::open(DIR, options(&env)).unwrap();
    assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&b"1"[..]));
    assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&b"3"[..]));
    let lost = Path::new(DIR).join("lost");
    let held = env.fs.list(&lost).unwrap().into_iter().any(|name| {
        let bytes = env.fs.read_all(&lost.join(&name), 1 << 30).unwrap();
        name.ends_with(".log") && bytes.windows(8).any(|w| w == b"nameless")
    });
    assert!(held);
}

/// The SST file of a dropped column family was not deleted yet. The repair restores the column family, and reports
/// it.
#[test]
fn a_family_that_options_do_not_name_is_reported() {
    let (files, expected) = built();
    let mut left = without_manifest(&files);
    let newest = left.keys().filter(|name| name.starts_with("OPTIONS")).max().unwrap().clone();
    left.retain(|name, _| !name.starts_with("OPTIONS") || *name == newest);
    let text = String::from_utf8(left[&newest].clone()).unwrap();
    let at = text.find("[CFOptions \"more\"]").unwrap();
    left.insert(newest, text.as_bytes()[..at].to_vec());
    let (report, rows) = repaired("dropped", &left);
    assert!(says(&report, "which may have been dropped and is back"), "{report:#?}");
    assert_eq!(rows, expected);
}

/// An obsolete SST file was not deleted yet. Its older entries must not hide newer entries.
#[test]
fn an_obsolete_table_hides_no_newer_entry() {
    let env = Env::memory(11);
    let db = Db::open(DIR, options(&env)).unwrap();
    for i in 0..50 {
        db.put(&key(i), b"old").unwrap();
    }
    db.flush().unwrap();
    let before = files(&env);
    for i in 0..50 {
        db.put(&key(i), b"new").unwrap();
    }
    db.flush().unwrap();
    let expected = rows(&db);
    db.close().unwrap();
    let mut left = without_manifest(&files(&env));
    for name in tables(&before) {
        left.insert(name.clone(), before[&name].clone());
    }
    let (report, rows) = repaired("obsolete", &left);
    assert_eq!(rows, expected, "{report:#?}");
}

/// A compaction that runs after an ingestion writes older entries into a file with a higher number.
#[test]
fn a_compaction_of_older_entries_hides_no_entry_of_an_ingested_file() {
    let env = Env::memory(17);
    let options = options(&env);
    let db = Db::open(DIR, options.clone()).unwrap();
    let family = db.default_family();
    let settle = |from: u8, to: u8| {
        let files = family.live_files().into_iter().filter(|f| f.level.get() == from);
        let numbers: Vec<_> = files.map(|f| f.number).collect();
        assert_eq!(numbers.len(), 1);
        family
            .compact_files(&numbers, ironstone::Level::new(to), None, &CompactionOptions::default())
            .unwrap();
    };
    // The snapshot keeps the sequence numbers of the entries in the first compaction.
    let snapshot = db.snapshot();
    for i in 0..3 {
        db.put(&key(i), b"old").unwrap();
    }
    db.flush().unwrap();
    settle(0, 4);
    let path = Path::new(DIR).join("external");
    let mut file = SstFileWriter::create(&path, &options.db, &options.family).unwrap();
    file.put(&key(1), b"ingested").unwrap();
    file.finish().unwrap();
    db.ingest_external_files([&path], &IngestExternalFileOptions::default()).unwrap();
    drop(snapshot);
    settle(4, 6);
    let levels: Vec<_> =
        family.live_files().iter().map(|f| (f.level, f.number, f.largest_sequence)).collect();
    let (ingested, compacted) = (levels[0], levels[1]);
    assert!(ingested.0 < compacted.0 && ingested.1 < compacted.1, "{levels:?}");
    assert!(ingested.2 > compacted.2, "{levels:?}");
    let expected = rows(&db);
    assert!(expected.values().any(|value| value == b"ingested"));
    drop(family);
    db.close().unwrap();
    let (report, rows) = repaired("ingested", &without_manifest(&files(&env)));
    assert_eq!(rows, expected, "{report:#?}");
}

/// A repair can be interrupted before any call that changes the disk. The next repair must restore the same rows, and
/// must not apply a merge operand twice.
#[test]
fn a_repair_that_was_interrupted_is_done_again() {
    let env = Env::memory(12);
    let merging = |env: &Env| {
        let mut options = options(env);
        options.family.update("merge_operator=stringappend").unwrap();
        options
    };
    let db = Db::open(DIR, merging(&env)).unwrap();
    for i in 0..60 {
        db.merge(&key(i % 20), format!("{i}").as_bytes()).unwrap();
    }
    db.flush().unwrap();
    for i in 0..20 {
        db.merge(&key(i), b"log").unwrap();
    }
    db.close().unwrap();
    let mut left = without_manifest(&files(&env));
    let table = tables(&left)[0].clone();
    left.get_mut(&table).unwrap()[10] ^= 0x55;
    let whole = {
        let env = placed(&left);
        repair(DIR, merging(&env), Vec::new()).unwrap();
        rows(&Db::open(DIR, merging(&env)).unwrap())
    };
    assert!(whole.len() >= 15);
    let mut at = 1;
    loop {
        let disk = placed(&left);
        let faults = FaultFs::wrap(disk.fs.clone());
        faults.hook().set_plan(&format!("write * #{at} crash")).unwrap();
        let mut failing = disk.clone();
        failing.fs = faults.clone();
        let first = repair(DIR, merging(&failing), Vec::new());
        faults.hook().set_plan("").unwrap();
        faults.hook().revive();
        drop(failing);
        let second = repair(DIR, merging(&disk), Vec::new()).unwrap_or_else(|e| panic!("call {at}: {e}"));
        let found: Rows = rows(&Db::open(DIR, merging(&disk)).unwrap());
        assert_eq!(found, whole, "call {at}: {second:#?}");
        if first.is_ok() {
            assert!(at > 20);
            return;
        }
        at += 1;
    }
}

/// Names with the largest number, files of another kind under a name, random bytes and cut ends, several at a time.
/// The repair succeeds or returns an error. A repaired database opens.
#[test]
fn any_bytes_under_any_name_are_repaired_or_refused() {
    let (files, _) = built();
    let names: Vec<_> = files.keys().cloned().collect();
    for seed in 0..50 {
        let chance = &mut Chance::new(seed);
        let mut pick = |n: usize| chance.below(n as u64) as usize;
        let mut damaged = without_manifest(&files);
        for _ in 0..1 + pick(4) {
            let (from, to) = (names[pick(names.len())].clone(), names[pick(names.len())].clone());
            let mut bytes = files[&from].clone();
            match pick(5) {
                0 => bytes.truncate(pick(bytes.len())),
                1 => (0..20).for_each(|_| {
                    let at = pick(bytes.len());
                    bytes[at] = pick(256) as u8;
                }),
                2 => {
                    let kinds = [
                        "MANIFEST-18446744073709551615",
                        "18446744073709551615.log",
                        "18446744073709551614.sst",
                        "000099.ldb",
                    ];
                    damaged.insert(kinds[pick(4)].to_string(), bytes);
                    continue;
                }
                3 => bytes.extend_from_slice(&files[&to]),
                _ => {}
            }
            damaged.insert(to, bytes);
        }
        let env = placed(&damaged);
        let found = fsck(DIR, options(&env), Vec::new());
        match repair(DIR, options(&env), Vec::new()) {
            Ok(report) => {
                assert_eq!(report.problems, found.unwrap().problems, "seed {seed}");
                Db::open(DIR, options(&env)).unwrap_or_else(|e| panic!("seed {seed}: {e}: {report:#?}"));
            }
            Err(error) => {
                let expected =
                    matches!(error.kind(), Kind::Corruption | Kind::InvalidArgument | Kind::NotSupported);
                assert!(expected && found.is_err(), "seed {seed}: {error}");
                assert_eq!(self::files(&env), damaged, "seed {seed}: {error}");
            }
        }
    }
}

#[test]
fn a_repair_does_not_turn_other_directories_into_databases() {
    let env = Env::memory(13);
    env.fs.create_dir_all(Path::new(DIR)).unwrap();
    env.fs.write_all(&Path::new(DIR).join("letter.txt"), b"dear", true).unwrap();
    for result in [fsck(DIR, options(&env), Vec::new()), repair(DIR, options(&env), Vec::new())] {
        assert_eq!(result.unwrap_err().kind(), Kind::InvalidArgument);
    }
    assert_eq!(env.fs.list(Path::new(DIR)).unwrap(), ["letter.txt"]);
}

/// A range deletion lies in several SST files of one level. A compaction moves one of these files to the bottom level, with
/// newer rows, and sets the sequence numbers of the rows to 0. The rest of the range deletion must not delete these rows.
#[test]
fn a_truncated_range_deletion_deletes_no_newer_entry() {
    let env = Env::memory(14);
    let mut options = options(&env);
    options.update("target_file_size_base=4000;num_levels=7").unwrap();
    let db = Db::open(DIR, options).unwrap();
    let family = db.default_family();
    let settle = |level: u8, to: u8, take: usize| {
        let mut files: Vec<_> = family.live_files().into_iter().filter(|f| f.level.get() == level).collect();
        files.sort_by(|a, b| a.smallest_key.cmp(&b.smallest_key));
        let numbers: Vec<_> = files.iter().rev().take(take).map(|f| f.number).collect();
        let limited = CompactionOptions { output_file_size_limit: 4000, ..Default::default() };
        family.compact_files(&numbers, ironstone::Level::new(to), None, &limited).unwrap();
    };
    for i in 0..200 {
        db.put(&key(i), b"old").unwrap();
    }
    db.flush().unwrap();
    settle(0, 6, 9);
    db.delete_range(&key(0), &key(300)).unwrap();
    for i in (0..200).step_by(2) {
        db.put(&key(i), &[b'n'; 100]).unwrap();
    }
    db.flush().unwrap();
    settle(0, 3, 9);
    settle(3, 6, 2);
    let expected = rows(&db);
    assert_eq!(expected.len(), 100);
    db.close().unwrap();
    let (report, rows) = repaired("cut off", &without_manifest(&files(&env)));
    for (row, value) in &expected {
        assert_eq!(rows.get(row), Some(value), "{:?}: {report:#?}", row.1.escape_ascii().to_string());
    }
    assert!(says(&report, "the bounds of its range tombstones are unknown"), "{report:#?}");
    differs_only_where_named("cut off", &report, &rows, &expected);
}

/// Makes two SST files, and below them the files of `first`. The lower of the two SST files has the newest entry of all,
/// and an older entry of another key. If the files were ordered by their newest entries alone, the lower file would be
/// the newer file, and a read would find the older entry.
fn neither_is_newer(env: &Env, options: Options, first: &[&[u8]]) -> (Files, Rows) {
    let db = Db::open(DIR, options).unwrap();
    let family = db.default_family();
    // The snapshot keeps the sequence numbers of the entries in compactions.
    let snapshot = db.snapshot();
    let settle = |levels: &[u8], to: u8| {
        let files = family.live_files().into_iter().filter(|f| levels.contains(&f.level.get()));
        let numbers: Vec<_> = files.map(|f| f.number).collect();
        family.compact_files(&numbers, ironstone::Level::new(to), None, &Default::default()).unwrap();
    };
    let flushed = |key: &[u8], value: &[u8], to: u8| {
        db.put(key, value).unwrap();
        db.flush().unwrap();
        settle(&[0], to);
    };
    first.iter().for_each(|key| flushed(key, b"first", 6));
    flushed(b"a", b"older", 4);
    flushed(b"a", b"newer", 2);
    flushed(b"b", b"newest", 3);
    settle(&[3, 4], 4);
    let expected = rows(&db);
    assert_eq!(expected.values().map(Vec::as_slice).collect::<Vec<_>>(), [&b"newer"[..], b"newest"]);
    drop(snapshot);
    db.close().unwrap();
    (files(env), expected)
}

const MERGED: &str = "overlap in keys and sequence numbers";

#[test]
fn of_two_tables_neither_is_the_newer_one() {
    let env = Env::memory(15);
    let (files, expected) = neither_is_newer(&env, options(&env), &[b"a", b"b"]);
    let (report, rows) = repaired("two levels", &without_manifest(&files));
    assert_eq!(rows, expected, "{report:#?}");
    assert!(report.actions.iter().any(|a| a.contains(MERGED)), "{report:#?}");
}

#[test]
fn a_merged_sst_file_keeps_the_blob_files_of_its_members() {
    let env = Env::memory(16);
    let mut with_blobs = options(&env);
    with_blobs.update("enable_blob_files=true;min_blob_size=0").unwrap();
    let (files, expected) = neither_is_newer(&env, with_blobs, &[]);
    let (report, rows) = repaired("two levels with blob files", &without_manifest(&files));
    assert!(report.actions.iter().any(|a| a.contains(MERGED)), "{report:#?}");
    assert_eq!(rows, expected, "{report:#?}");
}
