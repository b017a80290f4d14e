//! Secondary instances of a writer that flushes, compacts and deletes.

use std::path::Path;
use std::sync::Arc;

use env::fault::{FaultFs, Op, Outcome, Rule, Which};
use env::meter::{FileKind, MeterFs};
use ironstone::env::Executor;
use ironstone::event::FileOperation;
use ironstone::stats::{Statistics, Ticker};
use ironstone::{Db, FamilyDescriptor, Follower, Kind, Listener, Options, Secondary};

fn options() -> Options {
    let mut options = Options::default();
    options.update("create_if_missing=true;write_buffer_size=65536;compression=kNoCompression").unwrap();
    options
}

fn count(db: &Db) -> usize {
    db.range::<[u8], _>(..).inspect(|row| assert!(row.is_ok(), "{row:?}")).count()
}

#[test]
fn a_view_stays_as_it_was_while_the_writer_deletes_its_files() {
    let scratch = tempfile::tempdir().unwrap();
    let writer = Db::open(scratch.path(), options()).unwrap();
    for i in 0..1000u32 {
        writer.put(&i.to_be_bytes(), &[b'x'; 100]).unwrap();
    }
    writer.flush().unwrap();
    let secondary = Secondary::open(scratch.path(), options()).unwrap();
    let old = secondary.view();
    for i in 0..1000u32 {
        writer.delete(&i.to_be_bytes()).unwrap();
    }
    writer.put(b"new", b"y").unwrap();
    writer.compact_range(None, None, &Default::default()).unwrap();
    writer.put(b"in the WAL", b"z").unwrap();
    assert_eq!((count(&old), count(&secondary.view())), (1000, 1000));
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!((count(&old), count(&secondary.view())), (1000, 2));
    assert!(secondary.view().put(b"k", b"").is_err());
}

#[test]
fn families_that_appear_and_vanish_are_followed() {
    let scratch = tempfile::tempdir().unwrap();
    let writer = Db::open(scratch.path(), options()).unwrap();
    let secondary = Secondary::open(scratch.path(), options()).unwrap();
    let other = writer.create_family(FamilyDescriptor::new("other", options().family)).unwrap();
    other.put(b"k", b"v").unwrap();
    assert!(secondary.view().family("other").is_err());
    secondary.try_catch_up_with_primary().unwrap();
    let seen = secondary.view().family("other").unwrap();
    writer.drop_family(&other).unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    assert!(secondary.view().family("other").is_err());
    assert!(seen.get(b"k").unwrap().is_some());
}

#[test]
fn a_drop_of_a_named_family_does_not_stop_catch_ups() {
    let scratch = tempfile::tempdir().unwrap();
    let writer = Db::open(scratch.path(), options()).unwrap();
    let two = FamilyDescriptor::new("two", options().family);
    let family = writer.create_family(two.clone()).unwrap();
    family.put(b"in a file", b"old").unwrap();
    family.flush().unwrap();
    family.put(b"in the WAL", b"old").unwrap();
    let open = || Secondary::open_with_families(scratch.path(), options(), vec![two.clone()]);
    let secondary = open().unwrap();
    writer.drop_family(&family).unwrap();
    drop(family);
    let catch_up = |value: &[u8], flush: bool| {
        writer.put(b"k", value).unwrap();
        if flush {
            writer.flush().unwrap();
        }
        secondary.try_catch_up_with_primary().unwrap();
        let view = secondary.view();
        assert_eq!(view.get(b"k").unwrap().as_deref(), Some(value));
        let kept = view.family("two").unwrap();
        assert_eq!(kept.get(b"in a file").unwrap().as_deref(), Some(&b"old"[..]));
        assert_eq!(kept.get(b"in the WAL").unwrap().as_deref(), Some(&b"old"[..]));
        assert_eq!(kept.range::<[u8], _>(..).inspect(|row| assert!(row.is_ok(), "{row:?}")).count(), 2);
    };
    catch_up(b"1", false);
    catch_up(b"2", true);
    catch_up(b"3", false);
    // Another column family of the same name is not the column family that the secondary instance opened.
    let again = writer.create_family(two.clone()).unwrap();
    again.put(b"in a file", b"new").unwrap();
    catch_up(b"4", true);
    assert_eq!(
        open().unwrap().view().family("two").unwrap().get(b"in a file").unwrap().as_deref(),
        Some(&b"new"[..])
    );
    writer.drop_family(&again).unwrap();
    catch_up(b"5", true);
    let error = open().unwrap_err();
    assert_eq!(error.message(), "Column family not found: two");
}

#[test]
fn a_reader_reports_that_the_system_refuses_to_open_a_file() {
    let options = Options::in_memory();
    let writer = Db::open("/db", options.clone()).unwrap();
    writer.put(b"k", b"1").unwrap();
    writer.flush().unwrap();
    let faults = FaultFs::wrap(options.db.env.fs.clone());
    let mut seen = options.clone();
    seen.db.env.fs = faults.clone();
    let secondary = Secondary::open("/db", seen.clone()).unwrap();
    writer.put(b"k", b"2").unwrap();
    writer.flush().unwrap();
    faults.hook().set_plan("open *.sst * EMFILE").unwrap();
    // Neither call may show an older state as the newest state.
    let errors = [secondary.try_catch_up_with_primary().err(), Secondary::open("/db", seen).err()];
    assert_eq!(errors.map(|error| error.map(|error| error.kind())), [Some(Kind::IoError); 2]);
    faults.hook().set_plan("").unwrap();
    assert_eq!(secondary.view().get(b"k").unwrap().as_deref(), Some(&b"1"[..]));
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(secondary.view().get(b"k").unwrap().as_deref(), Some(&b"2"[..]));
}

/// The first open shows an older state if an SST file is damaged. The writer writes nothing after the file is whole again.
#[test]
fn a_reader_of_an_older_state_sees_the_newest_state_after_its_file_is_whole_again() {
    let options = Options::in_memory();
    let writer = Db::open("/db", options.clone()).unwrap();
    for value in [b"1", b"2"] {
        writer.put(b"k", value).unwrap();
        writer.flush().unwrap();
    }
    let newest = writer.live_files().into_iter().max_by_key(|file| file.number).unwrap().path;
    let faults = FaultFs::wrap(options.db.env.fs.clone());
    let mut seen = options.clone();
    seen.db.env.fs = faults.clone();
    let name = newest.file_name().unwrap().to_string_lossy().into_owned();
    faults.hook().set_plan(&format!("read {name} * short 10")).unwrap();
    let secondary = Secondary::open("/db", seen).unwrap();
    assert_eq!(secondary.view().get(b"k").unwrap().as_deref(), Some(&b"1"[..]));
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(secondary.view().get(b"k").unwrap().as_deref(), Some(&b"1"[..]));
    faults.hook().set_plan("").unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(secondary.view().get(b"k").unwrap().as_deref(), Some(&b"2"[..]));
}

#[test]
fn catching_up_works_while_the_writer_writes() {
    let scratch = tempfile::tempdir().unwrap();
    let writer = Db::open(scratch.path(), options()).unwrap();
    let secondary = Secondary::open(scratch.path(), options()).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (writer, stop) = (&writer, &stop);
        scope.spawn(move || {
            let mut n = 0u64;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                writer.put(b"counter", &n.to_be_bytes()).unwrap();
                writer.put(&(n % 500).to_be_bytes(), &[b'x'; 200]).unwrap();
                n += 1;
            }
        });
        let mut last = 0;
        for _ in 0..20 {
            match secondary.try_catch_up_with_primary() {
                Ok(()) => {}
                Err(error) => assert_eq!(error.kind(), Kind::TryAgain, "{error}"),
            }
            let Some(now) = secondary.view().get(b"counter").unwrap() else { continue };
            let now = u64::from_be_bytes(now[..].try_into().unwrap());
            assert!(now >= last, "{now} after {last}");
            last = now;
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(count(&secondary.view()), count(&writer));
}

#[test]
fn a_secondary_that_cannot_keep_its_files_open_is_rejected() {
    let scratch = tempfile::tempdir().unwrap();
    drop(Db::open(scratch.path(), options()).unwrap());
    let mut few = options();
    few.update("max_open_files=100").unwrap();
    assert_eq!(Secondary::open(scratch.path(), few).unwrap_err().kind(), Kind::InvalidArgument);
}

#[test]
fn a_view_keeps_the_blob_files_that_the_writer_deletes() {
    let scratch = tempfile::tempdir().unwrap();
    let mut blobs = options();
    let text = "enable_blob_files=true;min_blob_size=10;enable_blob_garbage_collection=true;\
                blob_garbage_collection_age_cutoff=1;disable_auto_compactions=true";
    blobs.update(text).unwrap();
    let writer = Db::open(scratch.path(), blobs).unwrap();
    for i in 0..100u32 {
        writer.put(&i.to_be_bytes(), &[i as u8; 100]).unwrap();
    }
    writer.flush().unwrap();
    let secondary = Secondary::open(scratch.path(), options()).unwrap();
    let names = || std::fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let blob_files = || names().filter(|name| name.to_string_lossy().ends_with(".blob")).collect::<Vec<_>>();
    let before = blob_files();
    writer.put(&50u32.to_be_bytes(), b"short").unwrap();
    writer.flush().unwrap();
    writer.compact_range(None, None, &Default::default()).unwrap();
    writer.close().unwrap();
    assert!(before.iter().all(|name| !blob_files().contains(name)), "{before:?} {:?}", blob_files());
    for i in 0..100u32 {
        assert_eq!(secondary.view().get(&i.to_be_bytes()).unwrap().as_deref(), Some(&[i as u8; 100][..]));
    }
}

#[test]
fn a_catch_up_opens_only_the_files_that_are_new() {
    let scratch = tempfile::tempdir().unwrap();
    let mut writing = options();
    writing.update("disable_auto_compactions=true;enable_blob_files=true;min_blob_size=50").unwrap();
    let writer = Db::open(scratch.path(), writing.clone()).unwrap();
    let fill = |round: u32| {
        for i in 0..10u32 {
            writer.put(&(round * 10 + i).to_be_bytes(), &[b'x'; 100]).unwrap();
        }
        writer.flush().unwrap();
    };
    (0..20).for_each(fill);
    let statistics = Arc::new(Statistics::default());
    writing.db.statistics = Some(statistics.clone());
    let secondary = Secondary::open(scratch.path(), writing).unwrap();
    let opens = || statistics.ticker(Ticker::NoFileOpens);
    assert_eq!(opens(), 20);
    fill(20);
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(opens(), 21);
    assert_eq!(count(&secondary.view()), 210);
    writer.put(b"in the WAL", b"").unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!((opens(), count(&secondary.view())), (21, 211));
}

#[test]
fn a_catch_up_after_no_write_keeps_the_view() {
    let scratch = tempfile::tempdir().unwrap();
    let mut writing = options();
    writing.update("recycle_log_file_num=0").unwrap();
    let writer = Db::open(scratch.path(), writing).unwrap();
    writer.put(b"a", b"1").unwrap();
    let secondary = Secondary::open(scratch.path(), options()).unwrap();
    let session = || secondary.view().engine().session_id().to_string();
    let first = session();
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(session(), first);
    for step in 0..3 {
        match step {
            0 => writer.put(b"b", b"2").unwrap(),
            1 => writer.flush().unwrap(),
            _ => drop(writer.create_family(FamilyDescriptor::new("other", options().family)).unwrap()),
        }
        let before = session();
        secondary.try_catch_up_with_primary().unwrap();
        // A view that only adds new WAL records keeps the session id.
        assert_eq!(session() == before, step == 0, "step {step}");
    }
    assert_eq!(count(&secondary.view()), 2);
}

/// Counts the bytes of all reads.
#[derive(Default)]
struct ReadBytes(std::sync::atomic::AtomicU64);

impl Listener for ReadBytes {
    fn on_event(&self, _: &ironstone::Event) {}

    fn watches_file_io(&self) -> bool {
        true
    }

    fn on_file_io(&self, operation: &FileOperation<'_>) {
        if operation.op == ironstone::env::Op::Read {
            self.0.fetch_add(operation.bytes as u64, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

#[test]
fn a_catch_up_between_flushes_reads_only_the_new_records() {
    let scratch = tempfile::tempdir().unwrap();
    let mut writing = options();
    writing.update("write_buffer_size=67108864").unwrap();
    let writer = Db::open(scratch.path(), writing.clone()).unwrap();
    for i in 0..20_000u32 {
        writer.put(&i.to_be_bytes(), &[b'x'; 100]).unwrap();
    }
    let bytes = Arc::new(ReadBytes::default());
    writing.listeners = vec![bytes.clone()];
    let secondary = Secondary::open(scratch.path(), writing).unwrap();
    let read = || bytes.0.swap(0, std::sync::atomic::Ordering::Relaxed);
    assert!(read() > 2_000_000);
    for round in 0..10u32 {
        writer.put(&(20_000 + round).to_be_bytes(), &[b'y'; 100]).unwrap();
        secondary.try_catch_up_with_primary().unwrap();
        assert!(secondary.view().get(&(20_000 + round).to_be_bytes()).unwrap().is_some());
        let bytes = read();
        assert!(bytes < 70_000, "{bytes} bytes for one record");
    }
    assert_eq!(count(&secondary.view()), 20_010);
}

/// Counts the bytes that are read of MANIFESTs.
#[derive(Default)]
struct ManifestBytes(std::sync::atomic::AtomicU64);

impl Listener for ManifestBytes {
    fn on_event(&self, _: &ironstone::Event) {}

    fn watches_file_io(&self) -> bool {
        true
    }

    fn on_file_io(&self, operation: &FileOperation<'_>) {
        let name = operation.path.file_name().unwrap_or_default().to_string_lossy();
        if operation.op == ironstone::env::Op::Read && name.starts_with("MANIFEST") {
            self.0.fetch_add(operation.bytes as u64, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

/// The size of the MANIFEST that CURRENT names.
fn manifest_size(dir: &Path) -> u64 {
    let current = std::fs::read_to_string(dir.join("CURRENT")).unwrap();
    std::fs::metadata(dir.join(current.trim())).unwrap().len()
}

#[test]
fn a_catch_up_after_a_flush_reads_only_the_new_edits() {
    let scratch = tempfile::tempdir().unwrap();
    let mut writing = options();
    writing.update("disable_auto_compactions=true").unwrap();
    let writer = Db::open(scratch.path(), writing.clone()).unwrap();
    let fill = |round: u32| {
        writer.put(&round.to_be_bytes(), &[b'x'; 100]).unwrap();
        writer.flush().unwrap();
    };
    (0..100).for_each(fill);
    let bytes = Arc::new(ManifestBytes::default());
    writing.listeners = vec![bytes.clone()];
    let secondary = Secondary::open(scratch.path(), writing).unwrap();
    let read = || bytes.0.swap(0, std::sync::atomic::Ordering::Relaxed);
    let mut size = manifest_size(scratch.path());
    assert!(read() >= size && size > 10_000, "{size} bytes");
    for round in 100..110 {
        fill(round);
        secondary.try_catch_up_with_primary().unwrap();
        let (before, now) = (size, manifest_size(scratch.path()));
        size = now;
        assert_eq!(read(), now - before);
        assert_eq!(count(&secondary.view()), round as usize + 1);
    }
    // A compaction, a new column family and a roll of the MANIFEST.
    writer.compact_range(None, None, &Default::default()).unwrap();
    writer.create_family(FamilyDescriptor::new("other", options().family)).unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    assert!(read() < size, "less than the whole MANIFEST");
    assert_eq!(count(&secondary.view()), 110);
    drop(writer);
    let writer = Db::open(scratch.path(), options()).unwrap();
    writer.put(b"new", b"1").unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(read(), manifest_size(scratch.path()), "the new MANIFEST is read from its start");
    assert_eq!(count(&secondary.view()), 111);
}

/// What a catch-up to one new SST file costs: calls to the file system, by kind, and allocations.
struct Cost {
    calls: Vec<(Op, u64)>,
    allocations: u64,
}

/// Measures a catch-up to one new SST file in a database of `files` SST files.
fn cost_of_a_new_file(files: u32) -> Cost {
    let scratch = tempfile::tempdir().unwrap();
    let mut writing = options();
    writing.update("disable_auto_compactions=true").unwrap();
    let writer = Db::open(scratch.path(), writing.clone()).unwrap();
    let fill = |at: u32| {
        writer.put(&at.to_be_bytes(), b"v").unwrap();
        writer.flush().unwrap();
    };
    (0..files).for_each(fill);
    let meter = MeterFs::wrap(writing.db.env.fs.clone());
    writing.db.env.fs = meter.clone();
    let secondary = Secondary::open(scratch.path(), writing).unwrap();
    fill(files);
    secondary.try_catch_up_with_primary().unwrap();
    fill(files + 1);
    meter.hook().reset();
    let made = allocation_counter::measure(|| secondary.try_catch_up_with_primary().unwrap());
    let calls =
        [Op::Open, Op::Read, Op::List, Op::Status].map(|op| (op, meter.hook().total(op).calls)).to_vec();
    assert_eq!(meter.hook().count(FileKind::Table, Op::Open).calls, 1, "the new SST file");
    assert_eq!(count(&secondary.view()), files as usize + 2);
    Cost { calls, allocations: made.count_total }
}

#[test]
fn a_catch_up_costs_what_changed_and_not_what_is_there() {
    let (few, many) = (cost_of_a_new_file(10), cost_of_a_new_file(110));
    assert_eq!(few.calls, many.calls);
    assert!(few.calls.contains(&(Op::List, 1)), "the WALs are listed once: {:?}", few.calls);
    // A file that did not change costs its metadata only.
    let each = many.allocations.saturating_sub(few.allocations) / 100;
    assert!(each <= 7, "{} allocations with 10 files, {} with 110", few.allocations, many.allocations);
}

/// The writer can delete a WAL after the catch-up listed the directory, and before it reads the size of the WAL.
#[test]
fn a_wal_that_disappears_after_the_listing_does_not_fail_a_catch_up() {
    let scratch = tempfile::tempdir().unwrap();
    let writer = Db::open(scratch.path(), options()).unwrap();
    let mut reading = options();
    let faults = FaultFs::wrap(reading.db.env.fs.clone());
    reading.db.env.fs = faults.clone();
    let secondary = Secondary::open(scratch.path(), reading).unwrap();
    writer.put(b"k", b"v").unwrap();
    const ENOENT: i32 = 2;
    faults.hook().add(Rule {
        op: Some(Op::Status),
        writes: false,
        file: "*.log".to_string(),
        which: Which::Nth(1),
        outcome: Outcome::Errno(ENOENT),
    });
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!((faults.hook().fired(), count(&secondary.view())), (1, 1));
}

#[test]
fn each_view_keeps_its_entries_while_catch_ups_change_the_memtables() {
    for seed in 0..6 {
        let mut chance = testkit::chance::Chance::new(seed);
        let scratch = tempfile::tempdir().unwrap();
        let mut writing = options();
        let recycle = if chance.percent(30) { 2 } else { 0 };
        let text = format!(
            "merge_operator=stringappend;recycle_log_file_num={recycle};max_write_buffer_number=4;\
             track_and_verify_wals={}",
            chance.percent(30)
        );
        writing.update(&text).unwrap();
        let writer = Db::open(scratch.path(), writing.clone()).unwrap();
        let secondary = Secondary::open(scratch.path(), writing.clone()).unwrap();
        let rows = |db: &Db| db.range::<[u8], _>(..).map(Result::unwrap).collect::<Vec<_>>();
        let mut views: Vec<(Db, _)> = Vec::new();
        for _ in 0..150 {
            for _ in 0..chance.below(30) {
                let key = chance.below(200).to_be_bytes();
                let value = vec![b'v'; chance.below(300) as usize];
                match chance.below(10) {
                    0 => writer.delete(&key).unwrap(),
                    1 => writer.delete_range(&key, &(u64::from_be_bytes(key) + 9).to_be_bytes()).unwrap(),
                    2 | 3 => writer.merge(&key, &value[..value.len().min(9)]).unwrap(),
                    _ => writer.put(&key, &value).unwrap(),
                }
            }
            if chance.percent(4) {
                writer.flush().unwrap();
            }
            secondary.try_catch_up_with_primary().unwrap();
            let view = secondary.view();
            assert_eq!(rows(&view), rows(&writer), "seed {seed}");
            if views.len() == 4 {
                let at = chance.below(4) as usize;
                views.swap_remove(at);
            }
            views.push((view, rows(&writer)));
            for (view, expected) in &views {
                assert_eq!(&rows(view), expected, "seed {seed}");
            }
        }
    }
}

/// Returns the path of the newest SST file.
fn newest_table(dir: &Path) -> std::path::PathBuf {
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|end| end == "sst")).max().unwrap()
}

fn keys(db: &Db) -> Vec<String> {
    db.rows().map(|row| String::from_utf8(row.unwrap().0).unwrap()).collect()
}

#[test]
fn a_secondary_shows_the_newest_complete_state_while_an_sst_file_is_missing() {
    let scratch = tempfile::tempdir().unwrap();
    let writer = Db::open(scratch.path(), options()).unwrap();
    for key in ["a", "b", "c"] {
        writer.put(key.as_bytes(), b"1").unwrap();
        writer.flush().unwrap();
    }
    writer.put(b"d", b"1").unwrap();
    let (newest, away) = (newest_table(scratch.path()), scratch.path().join("away"));
    std::fs::rename(&newest, &away).unwrap();
    assert!(Db::open_read_only(scratch.path(), options()).is_err());
    let secondary = Secondary::open(scratch.path(), options()).unwrap();
    assert_eq!(keys(&secondary.view()), ["a", "b", "d"]);

    writer.put(b"e", b"1").unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(keys(&secondary.view()), ["a", "b", "d", "e"]);
    writer.flush().unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(keys(&secondary.view()), ["a", "b", "d", "e"], "the view goes back");

    std::fs::rename(&away, &newest).unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(keys(&secondary.view()), ["a", "b", "c", "d", "e"]);
}

#[test]
fn a_secondary_shows_the_newest_complete_state_while_an_sst_file_is_damaged() {
    let scratch = tempfile::tempdir().unwrap();
    let writer = Db::open(scratch.path(), options()).unwrap();
    writer.put(b"a", b"1").unwrap();
    writer.flush().unwrap();
    let secondary = Secondary::open(scratch.path(), options()).unwrap();
    writer.put(b"b", b"1").unwrap();
    writer.flush().unwrap();
    std::fs::write(newest_table(scratch.path()), b"no table").unwrap();
    secondary.try_catch_up_with_primary().unwrap();
    assert_eq!(keys(&secondary.view()), ["a"]);
    assert_eq!(keys(&Secondary::open(scratch.path(), options()).unwrap().view()), ["a"]);
}

#[test]
fn a_follower_deletes_old_info_logs_above_64_mib() {
    let options = Options::in_memory();
    drop(Db::open("leader", options.clone()).unwrap());
    let fs = options.db.env.fs.clone();
    let path = std::path::Path::new("follower");
    fs.create_dir_all(path).unwrap();
    for (name, bytes) in [("LOG.old.1", 40 << 20), ("LOG.old.2", 40 << 20)] {
        let mut file = fs.create(&path.join(name), &Default::default()).unwrap();
        file.append(&vec![b'x'; bytes]).unwrap();
        file.close().unwrap();
    }
    drop(Follower::open("follower", "leader", options).unwrap());
    let mut names = fs.list(path).unwrap();
    names.retain(|name| name.starts_with("LOG"));
    names.sort();
    assert_eq!(names, ["LOG", "LOG.old.2"]);
}

#[test]
fn a_follower_shows_flushed_writes_of_the_leader_and_catches_up_by_itself() {
    let mut options = Options::in_memory();
    let machine = testkit::machine::Machine::new(1);
    options.db.env = machine.env.clone();
    options.db.follower_refresh_catchup_period_ms = 1000;
    let leader = Db::open("leader", options.clone()).unwrap();
    leader.put(b"a", b"1").unwrap();
    leader.flush().unwrap();
    leader.put(b"b", b"2").unwrap();
    let mut missing = options.clone();
    missing.db.create_if_missing = false;
    assert_eq!(Follower::open("follower", "leader", missing).err().unwrap().kind(), Kind::IoError);
    let follower = Follower::open("follower", "leader", options.clone()).unwrap();
    assert_eq!(count(&follower.view()), 1);
    follower.try_catch_up_with_leader().unwrap();
    assert_eq!(count(&follower.view()), 1);
    leader.flush().unwrap();
    let mut turns = 0;
    while count(&follower.view()) < 2 {
        assert!(machine.executor.help() || machine.executor.pass_time());
        turns += 1;
        assert!(turns < 1000);
    }
    assert!(follower.last_error().is_none());
    assert_eq!(follower.view().get(b"b").unwrap().as_deref(), Some(&b"2"[..]));
    let view = follower.view();
    drop(follower);
    leader.delete(b"a").unwrap();
    leader.flush().unwrap();
    leader.compact_range(None, None, &Default::default()).unwrap();
    assert_eq!(count(&view), 2);
    assert!(options.db.env.fs.list(std::path::Path::new("follower")).unwrap().contains(&"LOG".to_string()));
}
