//! Tiering by age in databases that go between Ironstone and RocksDB: the SST files of one engine tell the other engine the times of
//! their sequence numbers.
//!
//! RocksDB's clock is the clock of the machine. Ironstone gets a clock that is a day before or after it.
//! `IRONSTONE_PEER` names RocksDB's library; without the variable each test prints that it was skipped.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a rig")]

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use env::Env;
use env::clock::ManualClock;
use ironstone::{BottommostLevelCompaction, CompactRangeOptions, Db, Options};
use peer::{Compaction, Library, Reading, VARIABLE, Writing};

const DAY_S: i64 = 24 * 60 * 60;
const STYLES: [&str; 2] = ["kCompactionStyleLevel", "kCompactionStyleUniversal"];
/// An hour. The levels are 0 to 4.
const TIERED: &str = "num_levels=5;disable_auto_compactions=true;preclude_last_level_data_seconds=3600";

fn their_db(library: &Library, path: &Path, style: &str) -> (peer::Db, peer::Family) {
    let family = [("default".to_string(), format!("{TIERED};compaction_style={style}"))];
    let (db, mut families) = peer::Db::open(library, path, "create_if_missing=true", &family, false).unwrap();
    (db, families.remove(0))
}

/// Opens a database of Ironstone whose clock is `shift_s` seconds after the clock of the machine.
fn our_db(path: &Path, style: &str, shift_s: i64) -> Db {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as u64;
    let clock = Arc::new(ManualClock::new(now.saturating_add_signed(shift_s * 1_000_000)));
    let mut options = Options::default();
    options.update(&format!("create_if_missing=true;{TIERED};compaction_style={style}")).unwrap();
    options.db.env = Env { clock, ..Env::posix() };
    Db::open(path, options).unwrap()
}

fn compact(db: &Db) {
    let how = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::Force,
        ..CompactRangeOptions::default()
    };
    db.compact_range(None, None, &how).unwrap();
}

/// Returns the number of files on level 3 and on level 4, the last level.
fn our_files(db: &Db) -> [String; 2] {
    [3, 4].map(|level| db.property(&format!("rocksdb.num-files-at-level{level}")).unwrap())
}

fn their_files(db: &peer::Db, family: &peer::Family) -> [String; 2] {
    [3, 4].map(|level| db.property(family, &format!("rocksdb.num-files-at-level{level}")).unwrap())
}

fn files(above: &str, last: &str) -> [String; 2] {
    [above.to_string(), last.to_string()]
}

#[test]
fn rocksdb_knows_the_age_of_our_entries() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    for style in STYLES {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("db");
        let ours = our_db(&path, style, -DAY_S);
        (0..100u32).for_each(|i| ours.put(&i.to_be_bytes(), b"ours").unwrap());
        ours.flush().unwrap();
        compact(&ours);
        assert_eq!(our_files(&ours), files("1", "0"), "{style}: young for us");
        ours.close().unwrap();
        drop(ours);
        let (theirs, family) = their_db(&library, &path, style);
        theirs.put(&family, b"young", b"theirs", Writing::default()).unwrap();
        theirs.flush(std::slice::from_ref(&family)).unwrap();
        theirs.compact(&family, None, None, Compaction { bottommost: 2, ..Compaction::default() });
        assert_eq!(their_files(&theirs, &family), files("1", "1"), "{style}: a day old for RocksDB");
        theirs.verify_checksum().unwrap();
        for i in 0..100u32 {
            let found = theirs.get(&family, &i.to_be_bytes(), &Reading::default()).unwrap();
            assert_eq!(found.as_deref(), Some(&b"ours"[..]));
        }
    }
}

#[test]
fn we_know_the_age_of_the_entries_of_rocksdb() {
    let Some(library) = Library::for_test(std::env::var_os(VARIABLE)) else { return };
    for style in STYLES {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("db");
        let (theirs, family) = their_db(&library, &path, style);
        for i in 0..100u32 {
            theirs.put(&family, &i.to_be_bytes(), b"theirs", Writing::default()).unwrap();
        }
        theirs.flush(std::slice::from_ref(&family)).unwrap();
        theirs.compact(&family, None, None, Compaction { bottommost: 2, ..Compaction::default() });
        assert_eq!(their_files(&theirs, &family), files("1", "0"), "{style}: young for RocksDB");
        assert_eq!(theirs.latest_sequence(), 200, "100 entries after the times before the creation");
        drop((theirs, family));
        let ours = our_db(&path, style, 0);
        compact(&ours);
        assert_eq!(our_files(&ours), files("1", "0"), "{style}: young for us");
        drop(ours);
        let ours = our_db(&path, style, DAY_S);
        // As in RocksDB, the first entry after the last old sample goes to the last level too.
        [b"first", b"young"].iter().for_each(|key| ours.put(*key, b"ours").unwrap());
        ours.flush().unwrap();
        compact(&ours);
        assert_eq!(our_files(&ours), files("1", "1"), "{style}: a day old for us");
        assert_eq!(ours.range::<[u8], _>(..).count(), 102);
    }
}
