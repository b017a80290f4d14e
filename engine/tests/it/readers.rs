//! What databases that are open for reading answer to calls that change a database or steer its background work.

use std::path::Path;

use base::{Kind, Subcode};
use env::Env;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{
    Db, LiveFilesStorageInfoOptions, OpenRequest, catch_up, check_writable, open_to_follow,
};
use ironstone_engine::options::{
    CompactRangeOptions, DbOptions, FamilyOptions, FlushOptions, WaitForCompactOptions, WriteOptions,
};

use crate::basic::{options, put};

/// The answers of the three kinds of readers: read-only, compacted, secondary.
#[derive(Clone, Copy)]
enum Answers {
    /// All kinds reject the call with their text.
    Refused,
    /// All kinds accept the call.
    Accepted,
    /// Only the named kind rejects the call.
    RefusedBy(&'static str),
    /// All kinds return InvalidArgument with this text.
    Invalid(&'static str),
}

const TEXTS: [(&str, &str); 3] = [
    ("read-only", "Not supported operation in read only mode."),
    ("compacted", "Not supported in compacted db mode."),
    ("secondary", "Not supported operation in secondary mode."),
];

type Call = fn(&Db) -> base::Result<()>;

fn wait(flush: bool, abort_on_pause: bool) -> WaitForCompactOptions {
    WaitForCompactOptions { flush, abort_on_pause, ..WaitForCompactOptions::default() }
}

const CALLS: [(&str, Call, Answers); 22] = [
    ("put", |db| db.put(&*db.default_family()?, b"k", b"v", &WriteOptions::default()), Answers::Refused),
    ("flush", |db| db.flush(&[db.default_family()?], &FlushOptions::default()), Answers::Refused),
    (
        "compact_range",
        |db| {
            db.compactions().compact_range(&db.default_family()?, None, None, &CompactRangeOptions::default())
        },
        Answers::Refused,
    ),
    (
        "create_family",
        |db| db.admin().create_family(FamilyDescriptor::new("new", FamilyOptions::default())).map(|_| ()),
        Answers::Refused,
    ),
    ("check_writable", check_writable, Answers::Refused),
    ("sync_wal", |db: &Db| db.wals().sync(), Answers::Refused),
    ("flush_wal", |db| db.wals().flush(false), Answers::RefusedBy("read-only")),
    (
        "set_options",
        |db| db.admin().set_options(&db.default_family()?, &[("disable_auto_compactions", "true")]),
        Answers::RefusedBy("secondary"),
    ),
    (
        "set_db_options",
        |db| db.admin().set_db_options(&[("max_background_jobs", "3")]),
        Answers::RefusedBy("secondary"),
    ),
    (
        "drop_family",
        |db| db.admin().drop_family(&db.default_family()?),
        Answers::Invalid("Can't drop default column family"),
    ),
    (
        "increase_full_history_ts_low",
        |db| db.compactions().increase_full_history_ts_low(&db.default_family()?, b"12345678"),
        Answers::Invalid("Timestamp is not enabled in this column family"),
    ),
    (
        "continue_background_work",
        |db: &Db| db.background().unpause(),
        Answers::Invalid("Background work already unpaused"),
    ),
    (
        "pause_background_work",
        |db| {
            db.background().pause()?;
            let aborted = db.background().wait_for_compact_with(&wait(false, true)).unwrap_err();
            assert_eq!(aborted.kind(), Kind::Aborted);
            db.background().unpause()
        },
        Answers::Accepted,
    ),
    ("wait_for_compact", |db: &Db| db.background().wait_for_compact(), Answers::Accepted),
    (
        "suggest",
        |db| db.compactions().suggest_compact_range(&db.default_family()?, None, None),
        Answers::Accepted,
    ),
    (
        "delete_files_in_ranges",
        |db| db.files().delete_files_in_ranges(&db.default_family()?, &[(Some(b"x"), Some(b"z"))], true),
        Answers::Accepted,
    ),
    ("disable_manual_compaction", |db: &Db| db.compactions().disable_manual(), Answers::Accepted),
    ("enable_manual_compaction", |db: &Db| db.compactions().enable_manual(), Answers::Accepted),
    ("abort_all_compactions", |db: &Db| db.compactions().abort_all(), Answers::Accepted),
    ("resume", |db: &Db| db.background().resume(), Answers::Accepted),
    (
        "live_files_storage_info",
        |db| {
            let files = db.files().live_files_storage_info(&LiveFilesStorageInfoOptions::default())?.files;
            assert!(files.iter().any(|file| file.relative_filename == "CURRENT"));
            Ok(())
        },
        Answers::Accepted,
    ),
    ("cancel_all_background_work", |db| db.background().cancel_all(true), Answers::Accepted),
];

fn request(env: &Env) -> OpenRequest {
    OpenRequest::new("/db", DbOptions { max_open_files: -1, ..options(env) }, FamilyOptions::default())
}

/// Opens a reader of each kind. The database of the compacted reader has one SST file and an empty WAL.
fn readers(env: &Env) -> [(&'static str, Db); 3] {
    let writer = Db::open(request(env)).unwrap();
    put(&writer, "a", "1");
    writer.flush(&[writer.default_family().unwrap()], &FlushOptions::default()).unwrap();
    let compacted = Db::open_read_only(request(env)).unwrap();
    put(&writer, "b", "2");
    let reader = Db::open_read_only(request(env)).unwrap();
    let secondary = open_to_follow(request(env), None, false).unwrap();
    [("read-only", reader), ("compacted", compacted), ("secondary", secondary)]
}

#[test]
fn readers_answer_each_call_as_rocksdb_does() {
    let env = Env::memory(1);
    for (kind, db) in readers(&env) {
        let refused = TEXTS.iter().find(|(of, _)| *of == kind).unwrap().1;
        for (name, call, answers) in CALLS {
            let expected = match answers {
                Answers::Refused => Some((Kind::NotSupported, refused)),
                Answers::RefusedBy(other) => (other == kind).then_some((Kind::NotSupported, refused)),
                Answers::Invalid(text) => Some((Kind::InvalidArgument, text)),
                Answers::Accepted => None,
            };
            let answer = call(&db);
            let got = answer.as_ref().err().map(|error| (error.kind(), error.message()));
            assert_eq!(got, expected, "{kind}: {name}");
        }
        let no_wal = db.wals().current().unwrap_err();
        assert_eq!((no_wal.kind(), no_wal.subcode()), (Kind::IoError, Subcode::PathNotFound), "{kind}");
    }
}

#[test]
fn a_reader_deletes_no_file_in_a_range_and_flushes_no_memtable() {
    let env = Env::memory(2);
    let writer = Db::open(request(&env)).unwrap();
    put(&writer, "a", "1");
    let family = writer.default_family().unwrap();
    writer.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    writer.compactions().compact_range(&family, None, None, &CompactRangeOptions::default()).unwrap();
    put(&writer, "b", "2");
    let before = env.fs.list(Path::new("/db")).unwrap();
    let db = Db::open_read_only(request(&env)).unwrap();
    let family = db.default_family().unwrap();
    let all = [(Some(&b"a"[..]), Some(&b"z"[..]))];
    assert_eq!(
        db.files().delete_files_in_ranges(&family, &all, true).unwrap_err().kind(),
        Kind::NotSupported
    );
    assert_eq!(
        db.background().wait_for_compact_with(&wait(true, false)).unwrap_err().kind(),
        Kind::NotSupported
    );
    db.admin().set_options(&family, &[("disable_auto_compactions", "true")]).unwrap();
    assert!(family.options().disable_auto_compactions);
    assert_eq!(env.fs.list(Path::new("/db")).unwrap(), before, "a reader changes no file");
}

#[test]
fn a_catch_up_that_reads_the_manifest_again_keeps_the_pauses_of_a_secondary() {
    let env = Env::memory(3);
    let writer = Db::open(request(&env)).unwrap();
    put(&writer, "a", "1");
    let first = open_to_follow(request(&env), None, false).unwrap();
    first.background().pause().unwrap();
    writer.flush(&[writer.default_family().unwrap()], &FlushOptions::default()).unwrap();
    assert!(catch_up(&first).unwrap().is_none(), "the MANIFEST changed");
    let next = open_to_follow(request(&env), Some(&first), false).unwrap();
    assert_eq!(
        next.background().wait_for_compact_with(&wait(false, true)).unwrap_err().kind(),
        Kind::Aborted
    );
    next.background().unpause().unwrap();
    next.background().wait_for_compact_with(&wait(false, true)).unwrap();
}
