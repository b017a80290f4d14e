//! A repair after the MANIFEST lost the record of a flush, while WALs still have entries of the SST file.

use env::Env;
use ironstone::{
    Db, Family, FamilyDescriptor, Options, ReadOptions, Report, Weight, WriteBatch, WriteOptions, fsck,
    repair,
};

use crate::repair::{DIR, Files, Rows, files, options, placed, rows};

/// A database with the column family `more`, whose writes keep the WALs, and `other`, whose flushes start new WALs.
struct KeptWals {
    env: Env,
    options: Options,
    db: Db,
    more: Family,
    other: Family,
}

impl KeptWals {
    fn new() -> KeptWals {
        let env = Env::memory(23);
        let mut options = options(&env);
        options.update("merge_operator=stringappend;avoid_flush_during_shutdown=true").unwrap();
        let db = Db::open(DIR, options.clone()).unwrap();
        let more = db.create_family(FamilyDescriptor::new("more", options.family.clone())).unwrap();
        let other = db.create_family(FamilyDescriptor::new("other", options.family.clone())).unwrap();
        more.put(b"keeps", b"the WALs").unwrap();
        KeptWals { env, options, db, more, other }
    }

    fn merge(&self, operand: &str, disable_wal: bool) {
        let mut batch = WriteBatch::new();
        batch.merge(b"list", operand.as_bytes());
        self.db
            .write_with(batch, &WriteOptions { disableWAL: disable_wal, ..WriteOptions::default() })
            .unwrap();
    }

    /// Starts a new WAL. The memtable of the default column family stays.
    fn roll(&self) {
        self.other.put(b"o", b"1").unwrap();
        self.other.flush().unwrap();
    }

    fn manifest(&self) -> (String, usize) {
        let files = files(&self.env);
        let (name, bytes) = files.iter().find(|(name, _)| name.starts_with("MANIFEST")).unwrap();
        (name.clone(), bytes.len())
    }

    /// Runs `flushes`, whose records the MANIFEST then loses. Returns the files and the rows.
    fn lose(self, flushes: impl FnOnce(&KeptWals)) -> (Files, Rows, Options) {
        let (name, before) = self.manifest();
        flushes(&self);
        let (now, after) = self.manifest();
        assert!(now == name && after > before);
        drop(self.db.create_family(FamilyDescriptor::new("after", self.options.family.clone())).unwrap());
        let rows = rows(&self.db);
        let KeptWals { env, options, db, more, other } = self;
        drop((more, other));
        db.close().unwrap();
        let mut damaged = files(&env);
        damaged.get_mut(&name).unwrap()[before + 8..after].fill(0xff);
        (damaged, rows, options)
    }
}

/// Repairs twice: with the files as they are, and again after the first repair. Returns the first report and the rows.
fn repaired(files: &Files, options: &Options) -> (Report, Rows) {
    let mut options = options.clone();
    options.db.env = placed(files);
    let families = || {
        let names = ["more", "other", "after"];
        names.iter().map(|name| FamilyDescriptor::new(*name, options.family.clone())).collect::<Vec<_>>()
    };
    let report = repair(DIR, options.clone(), families()).unwrap();
    let after = fsck(DIR, options.clone(), families()).unwrap();
    assert!(after.is_sound(), "{after:#?}");
    for _ in 0..2 {
        let db = Db::open_with_families(DIR, options.clone(), families()).unwrap();
        let found = rows(&db);
        db.close().unwrap();
        drop(db);
        let db = Db::open_with_families(DIR, options.clone(), families()).unwrap();
        assert_eq!(rows(&db), found);
        assert_eq!(
            db.family("more").unwrap().get_with(b"keeps", &ReadOptions::default()).unwrap().as_deref(),
            Some(&b"the WALs"[..])
        );
    }
    let db = Db::open_with_families(DIR, options.clone(), families()).unwrap();
    (report, rows(&db))
}

fn list(rows: &Rows) -> String {
    String::from_utf8_lossy(&rows[&("default".to_string(), b"list".to_vec())]).into_owned()
}

fn says(report: &Report, words: &str) -> bool {
    report.problems.iter().any(|p| p.what.contains(words))
}

#[test]
fn an_sst_file_with_entries_that_the_wal_lacks_is_added_and_no_merge_counts_twice() {
    let world = KeptWals::new();
    world.merge("a", false);
    world.merge("b", true);
    world.merge("c", false);
    let (damaged, expected, options) = world.lose(|world| world.db.flush().unwrap());
    assert_eq!(list(&expected), "a,b,c");
    let (report, rows) = repaired(&damaged, &options);
    assert_eq!(rows, expected, "{report:#?}");
    assert!(!says(&report, "merge operands may be applied twice"), "{report:#?}");
}

#[test]
fn writes_after_the_flush_are_replayed_over_the_added_sst_file() {
    let world = KeptWals::new();
    world.merge("a", false);
    world.merge("b", true);
    world.merge("c", false);
    let (damaged, expected, options) = world.lose(|world| {
        world.db.flush().unwrap();
        world.merge("d", false);
        world.more.put(b"m", b"1").unwrap();
    });
    assert_eq!(list(&expected), "a,b,c,d");
    let (report, rows) = repaired(&damaged, &options);
    assert_eq!(rows, expected, "{report:#?}");
}

#[test]
fn an_sst_file_with_entries_of_two_replayed_wals_is_left_out_and_no_merge_counts_twice() {
    let world = KeptWals::new();
    world.merge("a", false);
    world.roll();
    world.merge("b", false);
    let (damaged, expected, options) = world.lose(|world| world.db.flush().unwrap());
    assert!(damaged.keys().filter(|name| name.ends_with(".log")).count() >= 2);
    assert_eq!(list(&expected), "a,b");
    let (report, rows) = repaired(&damaged, &options);
    assert_eq!(rows, expected, "{report:#?}");
    assert!(says(&report, "its entries are still in WALs"), "{report:#?}");
}

/// Replay has the entries of the first SST file, so the WAL of the second SST file cannot be skipped.
#[test]
fn a_report_says_that_merges_may_count_twice_if_a_wal_is_needed_beside_an_added_sst_file() {
    let world = KeptWals::new();
    world.merge("a", false);
    let (damaged, expected, options) = world.lose(|world| {
        world.db.flush().unwrap();
        world.merge("b", false);
        world.merge("c", true);
        world.merge("d", false);
        world.db.flush().unwrap();
    });
    assert_eq!(list(&expected), "a,b,c,d");
    let (report, rows) = repaired(&damaged, &options);
    assert!(list(&rows).contains("a") && list(&rows).contains("b,c,d"), "{report:#?}");
    let found =
        report.problems.iter().find(|p| p.what.contains("merge operands may be applied twice")).unwrap();
    assert_eq!((found.weight, found.family.as_deref()), (Weight::Loss, Some("default")));
    assert!(found.file.extension().is_some_and(|extension| extension == "sst"));
}
