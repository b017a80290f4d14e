//! Sound files are never reported as lost.

use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};

use base::{Error, FamilyId, FileNumber, Kind, SequenceNumber, WalNumber};
use env::Env;
use env::fault::FaultFs;
use env::hook::{Call, Hook, Hooked, Op, Verdict};
use env::memory::Survivors;
use format::edit::VersionEdit;
use format::wal::{Item, Mark, Marks, Reader, ReaderOptions, marks_of, put_marks};
use ironstone_engine::batch::WriteBatch;
use ironstone_engine::commit::Committer;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::family::FamilySet;
use ironstone_engine::files::{Numbers, Obsolete};
use ironstone_engine::manifest::{Manifest, ManifestSettings};
use ironstone_engine::options::{DbOptions, FamilyOptions, FlushOptions, WriteOptions};
use ironstone_engine::sequence::LastSequence;
use ironstone_engine::wal::{WalSet, WalSettings};
use parking_lot::Mutex;
use testkit::machine::Machine;

use crate::basic::{get, put};
use crate::durable::{Databases, synced};

/// The proof ends after the record of the compression type. A read returns this record and the first batch in one
/// step.
#[cfg(feature = "zstd")]
#[test]
fn a_proof_of_a_wal_with_only_the_compression_record_holds_after_later_appends() {
    use env::executor::Executor;
    use ironstone_engine::options::CompressionType;

    let world = Machine::new(1);
    let request = || {
        let mut request = world.request();
        request.options.wal_compression = CompressionType::ZSTD;
        request
    };
    let db = Db::open(request()).unwrap();
    for _ in 0..3 {
        world.clock.advance(3_000_000);
        while world.executor.help() {}
    }
    let proof = world.bytes(&format!("/db/{}", format::proof::PROOF));
    let proof = format::proof::Proof::decode(&proof).unwrap();
    let claim = *proof.wals.last().unwrap();
    assert!(
        !proof.closed && claim.bytes > 0 && claim.bytes == world.bytes(&world.file("", ".log")).len() as u64
    );
    put(&db, "a", "1");
    world.crash_with(db, Survivors::Everything);
    let wal = world.file("", ".log");
    // If this record is removed, the open reports the loss.
    let whole = world.bytes(&wal);
    world.damage(&wal, |bytes| bytes.drain(..claim.bytes as usize).for_each(drop));
    assert!(Db::open(request()).is_err());
    world.damage(&wal, |bytes| *bytes = whole);
    assert_eq!(get(&Db::open(request()).unwrap(), "a").as_deref(), Some("1"));
}

/// Returns the batches of the newest WAL.
fn batches(world: &Machine) -> Vec<Vec<u8>> {
    let wal = world.bytes(&world.file("", ".log"));
    let mut reader = Reader::new(&wal[..], ReaderOptions::default());
    let mut batches = Vec::new();
    while let Item::Record { bytes, .. } = reader.next().unwrap() {
        batches.push(bytes.to_vec());
    }
    batches
}

#[test]
fn a_batch_copied_from_another_wal_does_not_bring_its_marks() {
    let source = Machine::new(1);
    let db = source.open().unwrap();
    ["a", "b"].into_iter().for_each(|key| synced(&db, key, "1"));
    let marked = batches(&source).pop().unwrap();
    assert!(marks_of(&marked).is_some());

    let world = Machine::new(1);
    let db = world.open().unwrap();
    // This batch is as long as the first batch of the source, and differs. So the offset of the mark fits, and its
    // digest does not.
    put(&db, "a", "2");
    db.write(&mut WriteBatch::from_bytes(&marked).unwrap(), &WriteOptions::default()).unwrap();
    let marks = batches(&world).iter().filter_map(|batch| marks_of(batch)).collect::<Vec<_>>();
    assert!(marks.iter().all(|marks| marks.durable.is_empty() && marks.written.is_empty()), "{marks:?}");
    world.crash_with(db, Survivors::Everything);
    let db = world.open().unwrap();
    assert_eq!((get(&db, "a").as_deref(), get(&db, "b").as_deref()), (Some("2"), Some("1")));
}

#[test]
fn log_data_that_looks_like_a_mark_belongs_to_the_user() {
    let mut record = Vec::new();
    put_marks(
        &mut record,
        &Marks {
            durable: vec![Mark { file_number: FileNumber::new(9999), bytes: 100, digest: 1 }],
            ..Marks::default()
        },
    );
    let world = Machine::new(1);
    let db = world.open().unwrap();
    for sync in [false, true, false] {
        let mut batch = WriteBatch::new();
        batch.put_log_data(&record[2..]);
        db.write(&mut batch, &WriteOptions { sync, ..WriteOptions::default() }).unwrap();
        put(&db, "a", "1");
    }
    // The open reads the mark of the WAL, which is after the log data of the user.
    let own: Vec<_> =
        batches(&world).iter().filter_map(|batch| marks_of(batch)).flat_map(|marks| marks.durable).collect();
    assert!(own.len() == 1 && own[0].file_number == FileNumber::ZERO, "{own:?}");
    world.crash_with(db, Survivors::Everything);
    assert_eq!(get(&world.open().unwrap(), "a").as_deref(), Some("1"));
}

/// A second flush runs before the names of the WALs are made durable for the first time.
#[derive(Debug, Default)]
struct TwoFlushes {
    wals: OnceLock<Weak<WalSet>>,
    began: OnceLock<()>,
    names_durable: OnceLock<()>,
    /// True if the names were durable when the second flush continued.
    second: OnceLock<bool>,
}

impl Hook for TwoFlushes {
    fn name(&self) -> &'static str {
        "two flushes"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        if call.op == Op::SyncDir
            && let Some(wals) = self.wals.get().and_then(Weak::upgrade)
            && self.began.set(()).is_ok()
        {
            assert!(wals.sync_closed().unwrap().is_empty(), "the first has synced the files");
            self.second.set(self.names_durable.get().is_some()).unwrap();
        }
        Verdict::Go
    }

    fn after(&self, call: &Call<'_>, error: Option<&Error>) {
        if call.op == Op::SyncDir && error.is_none() {
            let _ = self.names_durable.set(());
        }
    }
}

#[test]
fn a_flush_after_a_sync_of_the_wals_syncs_the_wal_directory() {
    let hook = Arc::new(TwoFlushes::default());
    let memory = Env::memory(1);
    memory.fs.create_dir_all(Path::new("/db")).unwrap();
    let env = Env { fs: Arc::new(Hooked::new(memory.fs.clone(), hook.clone())), ..memory };
    let wals = Arc::new(WalSet::new(env, WalSettings::plain("/db".into())));
    hook.wals.set(Arc::downgrade(&wals)).unwrap();
    [4, 5].into_iter().for_each(|number| wals.roll(WalNumber::new(number), None, 0).unwrap());
    assert_eq!(wals.sync_closed().unwrap(), [(WalNumber::new(4), 0)]);
    assert_eq!(hook.second.get(), Some(&true));
}

/// The first read of a WAL returns only this many bytes, as if the writer were in the middle of an append.
#[derive(Debug)]
struct Early(Mutex<Option<usize>>);

impl Hook for Early {
    fn name(&self) -> &'static str {
        "early"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        if call.op == Op::Read && call.path.extension().is_some_and(|end| end == "log") {
            return self.0.lock().take().map_or(Verdict::Go, |bytes| Verdict::Part(bytes, None));
        }
        Verdict::Go
    }
}

#[test]
fn a_reader_concurrent_with_a_writer_takes_a_half_written_record_for_the_end() {
    let world = Machine::new(1);
    let db = world.open().unwrap();
    ["a", "b", "c"].into_iter().for_each(|key| synced(&db, key, key));
    let wal = world.file("", ".log");
    let whole = world.bytes(&wal);
    let read = |seen: Option<usize>| {
        let hook = Arc::new(Early(Mutex::new(seen)));
        let mut request = world.request();
        request.options.env.fs = Arc::new(Hooked::new(world.env.fs.clone(), hook));
        Db::open_read_only(request)
    };
    let mut ends = vec![0];
    let mut reader = Reader::new(&whole[..], ReaderOptions::default());
    while let Item::Record { end, .. } = reader.next().unwrap() {
        ends.push(end as usize);
    }
    for seen in ends[1] + 1..ends[2] {
        let reader = read(Some(seen)).unwrap_or_else(|e| panic!("{seen}: {e}"));
        assert_eq!((get(&reader, "a").as_deref(), get(&reader, "c")), (Some("a"), None), "{seen}");
    }
    assert_eq!(get(&read(None).unwrap(), "c").as_deref(), Some("c"));
    // A damaged record is reported as damaged, although the reader reads it again.
    world.damage(&wal, |bytes| bytes[ends[1]..ends[1] + 12].fill(0x5a));
    assert!(read(None).err().unwrap().is_corruption());
}

#[test]
fn a_manifest_is_deleted_after_any_commit_replaces_it() {
    let env = Env::memory(1);
    let options = DbOptions {
        create_if_missing: true,
        env: env.clone(),
        track_and_verify_wals_in_manifest: true,
        max_manifest_file_size: 1,
        max_manifest_space_amp_pct: 0,
        ..DbOptions::default()
    };
    let db = Db::open(OpenRequest::new("/db", options, FamilyOptions::default())).unwrap();
    let manifests = || {
        let mut names = env.fs.list(Path::new("/db")).unwrap();
        names.retain(|name| name.starts_with("MANIFEST"));
        names
    };
    let mut newest = manifests();
    let mut rolled = |by: &str| {
        let now = manifests();
        assert!(now.len() == 1 && now != newest, "{by}: {now:?}");
        newest = now;
    };
    let other = db.admin().create_family(FamilyDescriptor::new("other", FamilyOptions::default())).unwrap();
    rolled("a family added");
    put(&db, "a", "1");
    db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap();
    rolled("a flush");
    db.admin().drop_family(&other).unwrap();
    rolled("a family dropped");
}

/// A thread synced WALs 5 and 9, and another thread committed meanwhile that no WAL below 8 is needed.
#[test]
fn manifest_does_not_track_a_wal_after_its_deletion() {
    let env = Env::memory(1);
    env.fs.create_dir_all(Path::new("/db")).unwrap();
    let settings = ManifestSettings {
        dir: "/db".into(),
        preallocate_bytes: 0,
        max_file_size: 1 << 20,
        max_space_amp_pct: 500,
        use_fsync: false,
    };
    let manifest = Manifest::new(env.clone(), settings, FileNumber::new(1));
    let families = Arc::new(FamilySet::new(Vec::new(), FamilyId::DEFAULT));
    let sequence = Arc::new(LastSequence::new(SequenceNumber::new(1)));
    let obsolete = Arc::new(Obsolete::new(Arc::default()));
    let numbers = Numbers::new(FileNumber::new(10));
    let committer = Committer::new(manifest, numbers, families, sequence, obsolete, None, WalNumber::new(8));
    committer.track_wals(&[(WalNumber::new(5), 100), (WalNumber::new(9), 100)]).unwrap();
    committer.track_wals(&[(WalNumber::new(5), 100)]).unwrap();
    committer.track_wals(&[(WalNumber::new(9), 200)]).unwrap();
    let path = format!("/db/{}", format::names::manifest(committer.manifest_number()));
    let bytes = env.fs.read_all(Path::new(&path), 1 << 20).unwrap();
    let mut reader = Reader::new(&bytes[..], ReaderOptions::default());
    let mut added = Vec::new();
    while let Item::Record { bytes, .. } = reader.next().unwrap() {
        let edit = VersionEdit::decode(bytes).unwrap();
        added.extend(edit.wals.additions.iter().map(|wal| (wal.number, wal.synced_size_bytes)));
    }
    // The first record begins a new MANIFEST, whose snapshot has the WAL too.
    added.dedup();
    assert_eq!(added, [(WalNumber::new(9), Some(100)), (WalNumber::new(9), Some(200))]);
}

/// The record of the predecessor stands before the first batch of a WAL. Any thread can sync this record.
#[test]
fn a_sync_before_the_first_batch_keeps_the_mark_of_repeated_sections() {
    let env = Env::memory(1);
    env.fs.create_dir_all(Path::new("/db")).unwrap();
    let settings = WalSettings { note_predecessor: true, ..WalSettings::plain("/db".into()) };
    let wals = WalSet::new(env.clone(), settings);
    [4, 5].into_iter().for_each(|number| wals.roll(WalNumber::new(number), None, 0).unwrap());
    wals.mark_repeats();
    wals.sync().unwrap();
    let mut batch = Vec::new();
    format::batch::begin(&mut batch);
    format::batch::set_sequence(&mut batch, SequenceNumber::new(1));
    wals.append(&batch, SequenceNumber::new(1), &[]).unwrap();
    wals.append(&batch, SequenceNumber::new(1), &[]).unwrap();
    let bytes = env.fs.read_all(Path::new("/db/000005.log"), 1 << 20).unwrap();
    let mut reader = Reader::new(&bytes[..], ReaderOptions::default());
    let mut repeats = Vec::new();
    loop {
        match reader.next().unwrap() {
            Item::Record { bytes, .. } => repeats.push(marks_of(bytes).is_some_and(|marks| marks.repeats)),
            Item::EndOfLog => break,
            _ => {}
        }
    }
    assert_eq!(repeats, [true, false]);
}

/// A WAL that the MANIFEST tracks is missing only if the system says that the file does not exist.
#[test]
fn a_tracked_wal_is_not_missing_if_the_system_refuses_its_size() {
    let world = Machine::new(1);
    let request = |env: Env| {
        let tracked = DbOptions {
            track_and_verify_wals_in_manifest: true,
            avoid_flush_during_shutdown: true,
            ..DbOptions::default()
        };
        OpenRequest::new(
            "/db",
            DbOptions { create_if_missing: true, env, ..tracked },
            FamilyOptions::default(),
        )
    };
    let db = Db::open(request(world.env.clone())).unwrap();
    let other = db.admin().create_family(FamilyDescriptor::new("other", FamilyOptions::default())).unwrap();
    put(&db, "a", "1");
    db.put(&other, b"b", b"2", &WriteOptions { sync: true, ..WriteOptions::default() }).unwrap();
    // The flush of one column family closes the WAL, which the other column family still needs.
    db.flush(&[other], &FlushOptions::default()).unwrap();
    db.close().unwrap();
    let faults = FaultFs::wrap(world.env.fs.clone());
    faults.hook().set_plan("status *.log * EIO").unwrap();
    let refused = Env { fs: faults, ..world.env.clone() };
    let request_all = |env: Env| {
        let mut request = request(env);
        request.families.push(FamilyDescriptor::new("other", FamilyOptions::default()));
        request
    };
    let error = Db::open(request_all(refused)).err().unwrap();
    assert_eq!(error.kind(), Kind::IoError, "{error}");
    let db = Db::open(request_all(world.env.clone())).unwrap();
    assert_eq!(get(&db, "a").as_deref(), Some("1"));
}
