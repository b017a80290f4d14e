//! The loss of durable data is reported. The loss of data that a crash may take is not.

use std::path::Path;
use std::sync::Arc;

use base::{FileNumber, Kind};
use env::executor::Executor;
use env::memory::Survivors;
use format::proof::{PROOF, Proof};
use format::wal::{Framing, Item, Mark, Marks, Reader, ReaderOptions, Writer, marks_of, put_marks};
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::event::{Event, Listener};
use ironstone_engine::options::file::{ReadConfig, load_latest};
use ironstone_engine::options::{DbOptions, FamilyOptions, FlushOptions, WalRecoveryMode, WriteOptions};
use ironstone_engine::properties::LOST_BYTES;
use parking_lot::Mutex;
use testkit::machine::Machine;

use crate::basic::{get, put};

/// The databases on a machine, in the directory `/db`.
pub trait Databases {
    /// Returns a request that creates or opens the database.
    fn request(&self) -> OpenRequest;

    fn open(&self) -> base::Result<Db> {
        Db::open(self.request())
    }

    /// Returns the path of the last file whose name has this beginning and this end.
    fn file(&self, begin: &str, end: &str) -> String;

    /// Stops the machine while the database is open.
    fn crash_with(&self, db: Db, survivors: Survivors);
}

impl Databases for Machine {
    fn request(&self) -> OpenRequest {
        let options = DbOptions { create_if_missing: true, env: self.env.clone(), ..DbOptions::default() };
        let family = FamilyOptions { disable_auto_compactions: true, ..FamilyOptions::default() };
        OpenRequest::new("/db", options, family)
    }

    fn file(&self, begin: &str, end: &str) -> String {
        let mut names = self.env.fs.list(Path::new("/db")).unwrap();
        names.retain(|n| n.starts_with(begin) && n.ends_with(end));
        names.sort();
        format!("/db/{}", names.pop().unwrap_or_else(|| panic!("no {begin}*{end}")))
    }

    fn crash_with(&self, db: Db, survivors: Survivors) {
        self.crash(survivors);
        drop(db);
    }
}

pub fn synced(db: &Db, key: &str, value: &str) {
    let family = db.default_family().unwrap();
    let sync = WriteOptions { sync: true, ..WriteOptions::default() };
    db.put(&family, key.as_bytes(), value.as_bytes(), &sync).unwrap();
}

/// Creates and closes a database with three synced writes in its WAL.
fn closed() -> Machine {
    let world = Machine::new(1);
    let db = world.open().unwrap();
    ["a", "b", "c"].into_iter().for_each(|key| synced(&db, key, key));
    db.close().unwrap();
    world
}

#[derive(Default)]
struct Heard(Mutex<Vec<u64>>);

impl Listener for Heard {
    fn on_event(&self, event: &Event) {
        if let Event::WritesLost { bytes, .. } = event {
            self.0.lock().push(*bytes);
        }
    }
}

#[test]
fn a_wal_cut_anywhere_after_a_clean_close_fails_the_open_with_file_offset_and_loss() {
    let world = closed();
    let (wal, whole) = (world.file("", ".log"), world.bytes(&world.file("", ".log")));
    for len in 0..whole.len() {
        world.damage(&wal, |bytes| bytes.truncate(len));
        let error = world.open().err().unwrap_or_else(|| panic!("cut to {len}"));
        assert_eq!(error.kind(), Kind::Corruption, "{error}");
        assert!(error.data_loss(), "{error}");
        assert_eq!(error.path(), Some(Path::new(&wal)));
        assert!(error.offset().unwrap() <= len as u64, "{error}");
        world.damage(&wal, |bytes| bytes.clone_from(&whole));
    }
    let db = world.open().unwrap();
    assert_eq!(get(&db, "c").as_deref(), Some("c"));
    assert_eq!(db.properties().text(&db.default_family().unwrap(), LOST_BYTES).as_deref(), Some("0"));
}

/// The records of the MANIFEST are valid records of a WAL, but they are not batches. The framing of the file has no
/// fault.
#[test]
fn another_file_of_complete_records_under_the_name_of_a_wal_fails_the_open() {
    let world = closed();
    let (wal, manifest) = (world.file("", ".log"), world.bytes(&world.file("MANIFEST", "")));
    world.damage(&wal, |bytes| *bytes = manifest);
    let error = world.open().err().unwrap();
    assert!(error.data_loss(), "{error}");
    assert_eq!((error.path(), error.offset()), (Some(Path::new(&wal)), Some(0)), "{error}");
}

/// An edit that is lost with its seal looks like an edit that was never synced. A mark in a later record of the WAL
/// shows that the edit was durable.
#[test]
fn a_lost_edit_and_seal_are_reported_if_a_later_record_of_the_wal_has_a_mark() {
    let flushed = |db: &Db| db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    let dropped = |db: &Db| db.admin().drop_family(&db.family("more").unwrap()).unwrap();
    for edit in [flushed, dropped] as [fn(&Db); 2] {
        for garbage in [0x5a, 0x00] {
            let world = Machine::new(1);
            let db = world.open().unwrap();
            db.admin().create_family(FamilyDescriptor::new("more", FamilyOptions::default())).unwrap();
            synced(&db, "a", "1");
            let manifest = world.file("MANIFEST", "");
            let before = world.bytes(&manifest).len();
            edit(&db);
            synced(&db, "b", "2");
            world.crash_with(db, Survivors::Everything);
            world.damage(&manifest, |bytes| bytes[before..].fill(garbage));
            let request = || {
                let mut request = world.request();
                request.families.push(FamilyDescriptor::new("more", FamilyOptions::default()));
                request
            };
            let error = Db::open(request()).map(drop).expect_err("edits are gone");
            assert!(error.data_loss(), "{error}");
            assert_eq!(
                (error.path(), error.offset()),
                (Some(Path::new(&manifest)), Some(before as u64)),
                "{error}"
            );
            let mut request = request();
            request.options.open_despite_lost_writes = true;
            let heard = Arc::new(Heard::default());
            request.components.listeners = vec![heard.clone()];
            let db = Db::open(request).unwrap();
            assert_eq!(heard.0.lock().len(), 1);
            assert_eq!(get(&db, "b").as_deref(), Some("2"));
        }
    }
}

/// A copy of a database has each file as it was at another time. The WALs may have marks about a later MANIFEST.
#[test]
fn a_copy_whose_manifest_is_older_than_its_wals_opens() {
    let world = Machine::new(1);
    let db = world.open().unwrap();
    let more = db.admin().create_family(FamilyDescriptor::new("more", FamilyOptions::default())).unwrap();
    synced(&db, "a", "1");
    let manifest = world.file("MANIFEST", "");
    let before = world.bytes(&manifest).len();
    db.admin().drop_family(&more).unwrap();
    drop(more);
    synced(&db, "b", "2");
    world.crash_with(db, Survivors::Everything);
    world.damage(&manifest, |bytes| bytes.truncate(before));
    let mut request = world.request();
    request.families.push(FamilyDescriptor::new("more", FamilyOptions::default()));
    let db = Db::open(request).unwrap();
    assert_eq!((get(&db, "a").as_deref(), get(&db, "b").as_deref()), (Some("1"), Some("2")));
}

#[test]
fn open_despite_lost_writes_reports_the_lost_writes() {
    let world = closed();
    let wal = world.file("", ".log");
    let size = world.bytes(&wal).len() as u64;
    let keep = 50;
    world.damage(&wal, |bytes| bytes.truncate(keep as usize));
    let heard = Arc::new(Heard::default());
    let mut request = world.request();
    request.options.open_despite_lost_writes = true;
    request.components.listeners.push(heard.clone());
    let db = Db::open(request).unwrap();
    assert_eq!((get(&db, "a").as_deref(), get(&db, "c")), (Some("a"), None));
    let lost = heard.0.lock().clone();
    assert_eq!(lost.len(), 1);
    assert!(lost[0] >= size - keep && lost[0] <= size, "{lost:?} of {size}");
    let family = db.default_family().unwrap();
    assert_eq!(db.properties().text(&family, LOST_BYTES), Some(lost[0].to_string()));
    // The next open does not report the accepted loss again.
    db.close().unwrap();
    world.open().unwrap();
}

#[test]
fn the_error_names_a_missing_wal() {
    let world = closed();
    let wal = world.file("", ".log");
    world.env.fs.unlink(Path::new(&wal)).unwrap();
    for read_only in [false, true] {
        let opened = if read_only { Db::open_read_only(world.request()) } else { world.open() };
        let error = opened.err().unwrap();
        assert!(error.is_corruption() && error.path() == Some(Path::new(&wal)), "{error}");
    }
}

#[test]
fn a_manifest_cut_anywhere_after_a_clean_close_fails_the_open_and_nothing_is_deleted() {
    let world = Machine::new(1);
    let db = world.open().unwrap();
    for key in ["a", "b"] {
        put(&db, key, key);
        db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    }
    db.close().unwrap();
    let manifest = world.file("MANIFEST", "");
    let whole = world.bytes(&manifest);
    let names = || {
        let mut names = world.env.fs.list(Path::new("/db")).unwrap();
        names.retain(|n| !n.starts_with("LOG"));
        names.sort();
        names
    };
    let before = names();
    for len in 0..whole.len() {
        world.damage(&manifest, |bytes| bytes.truncate(len));
        let error = world.open().err().unwrap_or_else(|| panic!("cut to {len}"));
        assert!(error.is_corruption() && error.offset().is_some(), "{error}");
        assert_eq!(names(), before, "cut to {len}");
        world.damage(&manifest, |bytes| bytes.clone_from(&whole));
    }
    world.open().unwrap();
}

#[test]
fn marks_alone_separate_damage_below_the_last_sync_from_a_torn_end() {
    let world = Machine::new(1);
    let db = world.open().unwrap();
    ["a", "b", "c"].into_iter().for_each(|key| synced(&db, key, &key.repeat(40)));
    world.crash_with(db, Survivors::Synced);
    let wal = world.file("", ".log");
    let whole = world.bytes(&wal);
    // The first record gets a wrong header: more than one bit differs, and its length may exceed the file.
    for noise in [0x00, 0x5a, 0xff] {
        world.damage(&wal, |bytes| bytes[..12].fill(noise));
        let error = world.open().err().unwrap_or_else(|| panic!("{noise:x}"));
        assert!(error.is_corruption() && error.offset() == Some(0), "{error}");
        world.damage(&wal, |bytes| bytes.clone_from(&whole));
    }
    // No proof or mark covers the last record, so recovery takes it for a torn record.
    world.damage(&wal, |bytes| bytes.truncate(whole.len() - 30));
    let db = world.open().unwrap();
    assert!(get(&db, "b").is_some() && get(&db, "c").is_none());
}

#[test]
fn only_the_first_batch_after_a_sync_has_a_mark() {
    let world = Machine::new(1);
    let db = world.open().unwrap();
    for (key, sync) in [("a", false), ("b", true), ("c", false), ("d", false), ("e", true), ("f", true)] {
        if sync { synced(&db, key, key) } else { put(&db, key, key) }
    }
    let wal = world.bytes(&world.file("", ".log"));
    let mut reader = Reader::new(&wal[..], ReaderOptions::default());
    let mut marked = Vec::new();
    while let Item::Record { bytes, offset, .. } = reader.next().unwrap() {
        let marks = marks_of(bytes);
        marked.push(marks.is_some());
        assert!(
            marks
                .unwrap_or_default()
                .durable
                .iter()
                .all(|m| m.file_number == FileNumber::default() && m.bytes == offset)
        );
    }
    // The first batch of an open has a mark about the MANIFEST of this open.
    assert_eq!(marked, [true, false, true, false, false, true]);
}

/// Another thread appends a record during the sync. The mark is then one record after the offset that it states.
#[test]
fn a_mark_states_the_offset_at_the_start_of_its_sync() {
    let world = Machine::new(1);
    let db = world.open().unwrap();
    synced(&db, "a", "1");
    let seq = db.latest_sequence();
    world.crash_with(db, Survivors::Synced);
    let (mut wal, mut writer) = (Vec::new(), Writer::new(Framing::Classic));
    let mut mark = None;
    for (i, key) in ["a", "b", "c"].into_iter().enumerate() {
        let mut batch = Vec::new();
        format::batch::begin(&mut batch);
        format::batch::put(&mut batch, base::FamilyId::DEFAULT, key.as_bytes(), &[], b"1");
        if let Some(mark) = mark.filter(|_| i == 2) {
            put_marks(&mut batch, &Marks { durable: vec![mark], ..Marks::default() });
        }
        format::batch::set_sequence(&mut batch, seq + i as u64);
        format::batch::set_count(&mut batch, 1);
        writer.append(&mut wal, &batch).unwrap();
        mark.get_or_insert(Mark {
            file_number: FileNumber::default(),
            bytes: writer.offset(),
            digest: writer.digest().unwrap(),
        });
    }
    world.damage(&world.file("", ".log"), |bytes| *bytes = wal);
    let db = world.open().unwrap();
    assert!(["a", "b", "c"].iter().all(|key| get(&db, key).is_some()));
}

#[test]
fn a_crash_may_lose_unsynced_writes() {
    for survivors in
        [Survivors::Synced, Survivors::NamesWithoutData, Survivors::ZerosForData, Survivors::Random(3)]
    {
        let world = Machine::new(1);
        let db = world.open().unwrap();
        synced(&db, "a", "a");
        put(&db, "b", "b");
        put(&db, "c", "c");
        world.crash_with(db, survivors);
        let db = world.open().unwrap_or_else(|e| panic!("{survivors:?}: {e}"));
        assert_eq!(get(&db, "a").as_deref(), Some("a"), "{survivors:?}");
    }
}

#[test]
fn an_idle_database_is_proved_by_the_clock_and_killed_without_loss() {
    let world = Machine::new(1);
    let db = world.open().unwrap();
    put(&db, "a", "a");
    for _ in 0..3 {
        world.clock.advance(3_000_000);
        while world.executor.help() {}
    }
    let proof = Proof::decode(&world.bytes(&format!("/db/{PROOF}"))).unwrap();
    assert!(!proof.closed && proof.wals.iter().any(|wal| wal.bytes > 0), "{proof:?}");
    world.crash_with(db, Survivors::Synced);
    let wal = world.file("", ".log");
    let whole = world.bytes(&wal);
    world.damage(&wal, |bytes| bytes.clear());
    assert!(world.open().is_err());
    world.damage(&wal, |bytes| *bytes = whole);
    assert_eq!(get(&world.open().unwrap(), "a").as_deref(), Some("a"));
}

#[test]
fn a_damaged_old_missing_or_foreign_proof_does_not_fail_the_open() {
    let other = closed().bytes(&format!("/db/{PROOF}"));
    let world = closed();
    let path = format!("/db/{PROOF}");
    let own = world.bytes(&path);
    let mut foreign = Proof::decode(&other).unwrap();
    foreign.db_id = "another".to_string();
    foreign.manifest.bytes += 1000;
    let damaged: Vec<u8> = own.iter().map(|b| b ^ 1).collect();
    for content in [Vec::new(), damaged, foreign.encode(), own] {
        // Each open starts a new MANIFEST, so the proof is for an older MANIFEST.
        world.damage(&path, |bytes| bytes.clone_from(&content));
        let db = world.open().unwrap();
        synced(&db, "d", "d");
        db.close().unwrap();
    }
    world.env.fs.unlink(Path::new(&path)).unwrap();
    assert_eq!(get(&world.open().unwrap(), "d").as_deref(), Some("d"));
}

#[test]
fn old_records_after_the_proved_end_of_a_recycled_wal_are_no_fault() {
    let world = Machine::new(1);
    let mut request = world.request();
    request.options.recycle_log_file_num = 2;
    let db = Db::open(request).unwrap();
    for _ in 0..4 {
        synced(&db, "large", &"x".repeat(5000));
        db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    }
    synced(&db, "small", "y");
    db.close().unwrap();
    // Like the end of a recycled WAL that the close did not cut.
    world.damage(&world.file("", ".log"), |bytes| bytes.extend([0x5a; 40]));
    let absolute = || {
        let mut request = world.request();
        request.options.wal_recovery_mode = WalRecoveryMode::AbsoluteConsistency;
        Db::open(request)
    };
    let (path, proof) = (format!("/db/{PROOF}"), world.bytes(&format!("/db/{PROOF}")));
    world.env.fs.unlink(Path::new(&path)).unwrap();
    assert_eq!(absolute().err().map(|e| e.kind()), Some(Kind::Corruption), "there are remains");
    let idle = Proof { closed: false, ..Proof::decode(&proof).unwrap() }.encode();
    for (content, opens) in [(idle, false), (proof, true)] {
        world
            .env
            .fs
            .create(Path::new(&path), &env::AppendHints::default())
            .unwrap()
            .append(&content)
            .unwrap();
        let db = absolute();
        assert_eq!(db.is_ok(), opens, "{:?}", db.err());
        if let Ok(db) = db {
            assert_eq!(get(&db, "small").as_deref(), Some("y"));
        }
    }
}

#[test]
fn a_recycled_wal_larger_than_its_predecessor_record_states_is_complete_if_it_was_read_to_that_size() {
    let world = Machine::new(1);
    let request = || {
        let mut request = world.request();
        request.options.track_and_verify_wals = true;
        request.options.avoid_flush_during_shutdown = true;
        request
    };
    let mut recycling = request();
    recycling.options.recycle_log_file_num = 2;
    let db = Db::open(recycling).unwrap();
    let family = db.default_family().unwrap();
    let other = db.admin().create_family(FamilyDescriptor::new("other", FamilyOptions::default())).unwrap();
    for _ in 0..4 {
        synced(&db, "large", &"x".repeat(5000));
        db.flush(std::slice::from_ref(&family), &FlushOptions::default()).unwrap();
    }
    // This entry of the other column family keeps the WAL that the next flush closes.
    db.put(&other, b"kept", b"y", &WriteOptions::default()).unwrap();
    put(&db, "small", "y");
    db.flush(&[family], &FlushOptions::default()).unwrap();
    synced(&db, "newest", "z");
    drop(other);
    db.close().unwrap();
    for mode in [WalRecoveryMode::AbsoluteConsistency, WalRecoveryMode::PointInTimeRecovery] {
        let mut request = request();
        request.options.wal_recovery_mode = mode;
        request.options.avoid_flush_during_recovery = true;
        request.families.push(FamilyDescriptor::new("other", FamilyOptions::default()));
        let db = Db::open(request).unwrap();
        assert_eq!(get(&db, "newest").as_deref(), Some("z"));
        db.close().unwrap();
    }
}

#[test]
fn orphan_files_are_moved_aside_unless_the_end_of_the_manifest_is_proved() {
    let world = closed();
    let stray = |name: &str| world.env.fs.write_all(Path::new(&format!("/db/{name}")), b"x", true).unwrap();
    let lost = || world.env.fs.list(Path::new("/db/lost")).unwrap_or_default();
    stray("000002.sst");
    let db = world.open().unwrap();
    assert!(!world.env.fs.exists(Path::new("/db/000002.sst")).unwrap() && lost().is_empty());
    // After a crash, an open cannot know whether an orphan file holds the only copy of an entry.
    world.crash_with(db, Survivors::Everything);
    stray("000003.sst");
    let db = world.open().unwrap();
    assert!(lost().iter().any(|name| name.ends_with("-000003.sst")), "{:?}", lost());
    db.close().unwrap();
    world.open().unwrap().close().unwrap();
    assert!(!lost().is_empty(), "not a day old");
    world.clock.advance(25 * 60 * 60 * 1_000_000);
    world.open().unwrap().close().unwrap();
    assert!(lost().is_empty(), "{:?}", lost());
}

#[test]
fn the_error_of_a_changed_options_file_has_its_offset_and_the_file_is_read_only_on_request() {
    let world = closed();
    let options = world.file("OPTIONS", "");
    let text = String::from_utf8(world.bytes(&options)).unwrap();
    let at = text.find("max_background_jobs=2").unwrap() + "max_background_jobs=".len();
    world.damage(&options, |bytes| bytes[at] = b'6');
    let load = |config: &ReadConfig| load_latest(&world.env, Path::new("/db"), config);
    let error = load(&ReadConfig::default()).err().unwrap();
    assert!(error.is_corruption() && error.offset() == Some(at as u64), "{error}");
    let edited = load(&ReadConfig { accept_changed: true, ..ReadConfig::default() }).unwrap().1;
    assert_eq!(edited.db.max_background_jobs, 6);
    world.env.fs.unlink(Path::new(&options)).unwrap();
    let error = load(&ReadConfig::default()).err().unwrap();
    assert!(error.is_corruption() && error.path() == Some(Path::new(&options)), "{error}");
    // An open does not need the OPTIONS file, and writes a new one.
    world.open().unwrap().close().unwrap();
    load(&ReadConfig::default()).unwrap();
}

#[test]
fn a_wal_with_repeated_last_records_fails_the_open_in_every_mode() {
    let modes = [
        WalRecoveryMode::TolerateCorruptedTailRecords,
        WalRecoveryMode::AbsoluteConsistency,
        WalRecoveryMode::PointInTimeRecovery,
        WalRecoveryMode::SkipAnyCorruptedRecords,
    ];
    let cases = [(false, 1), (false, 3), (true, 1), (true, 3)];
    for (mode, (recycled, repeated)) in modes.into_iter().flat_map(|mode| cases.map(|case| (mode, case))) {
        let world = Machine::new(1);
        let mut request = world.request();
        request.options.recycle_log_file_num = usize::from(recycled);
        let db = Db::open(request).unwrap();
        let wal = world.file("", ".log");
        let mut ends = Vec::new();
        for key in ["a", "b", "c", "d"] {
            ends.push(world.bytes(&wal).len());
            synced(&db, key, key);
        }
        world.crash_with(db, Survivors::Synced);
        let from = ends[ends.len() - repeated];
        world.damage(&wal, |bytes| {
            let copy = bytes[from..].to_vec();
            bytes.extend(copy);
        });
        let mut request = world.request();
        request.options.wal_recovery_mode = mode;
        let error = Db::open(request).err().unwrap_or_else(|| panic!("{mode:?} {recycled} {repeated}"));
        assert_eq!(error.kind(), Kind::Corruption, "{mode:?}: {error}");
        assert!(error.message().contains("sequence numbers go backwards"), "{mode:?}: {error}");
        assert_eq!((error.path(), error.offset().is_some()), (Some(Path::new(&wal)), true));
    }
}
