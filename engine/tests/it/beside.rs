//! Opens for reading only while a writer continues to write.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use env::executor::Executor;
use env::hook::{Call, Hook, Hooked, Op, Verdict};
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{CompactRangeOptions, FamilyOptions};
use parking_lot::Mutex;
use testkit::machine::Machine;

use crate::basic::{flush, get, put};
use crate::durable::Databases;

type Act = Box<dyn FnMut() -> Verdict + Send>;

/// At a call for a file with this name, the writer acts and decides the result of the reader's call.
struct Meanwhile {
    op: Op,
    name: &'static str,
    act: Mutex<Option<Act>>,
    again: bool,
}

impl fmt::Debug for Meanwhile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.op, self.name)
    }
}

impl Hook for Meanwhile {
    fn name(&self) -> &'static str {
        "meanwhile"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        if call.op != self.op || !call.path.to_string_lossy().contains(self.name) {
            return Verdict::Go;
        }
        let Some(mut act) = self.act.lock().take() else { return Verdict::Go };
        let verdict = act();
        if self.again {
            *self.act.lock() = Some(act);
        }
        verdict
    }
}

/// Opens for reading only. The writer acts before the first call of this kind, or before each such call.
fn read_while(
    world: &Machine,
    (op, name, again): (Op, &'static str, bool),
    request: OpenRequest,
    act: impl FnMut() -> Verdict + Send + 'static,
) -> base::Result<Db> {
    let act: Act = Box::new(act);
    let hook = Arc::new(Meanwhile { op, name, act: Mutex::new(Some(act)), again });
    let mut request = request;
    request.options.env.fs = Arc::new(Hooked::new(world.env.fs.clone(), hook.clone()));
    let opened = Db::open_read_only(request);
    assert!(again || hook.act.lock().is_none(), "nothing was done meanwhile");
    opened
}

/// The reader lists the directory only after it has read the MANIFEST.
const AT_LIST: (Op, &str, bool) = (Op::List, "/db", false);

#[test]
fn a_wal_deleted_before_the_reader_lists_the_directory_is_not_missing() {
    let world = Machine::new(1);
    let db = Arc::new(world.open().unwrap());
    put(&db, "a", "1");
    let (wal, writer) = (world.file("", ".log"), db.clone());
    let reader = read_while(&world, AT_LIST, world.request(), move || {
        flush(&writer);
        Verdict::Go
    });
    let reader = reader.unwrap();
    assert!(!world.env.fs.exists(Path::new(&wal)).unwrap(), "the log was needed no more");
    assert_eq!(get(&reader, "a").as_deref(), Some("1"));
}

#[test]
fn a_wal_recycled_during_its_read_is_not_missing() {
    let world = Machine::new(1);
    let request = || {
        let mut request = world.request();
        request.options.recycle_log_file_num = 1;
        request
    };
    let db = Arc::new(Db::open(request()).unwrap());
    // The first WAL of a database is never recycled.
    put(&db, "0", "0");
    flush(&db);
    put(&db, "a", "1");
    let writer = db.clone();
    let reader = read_while(&world, (Op::Read, ".log", false), request(), move || {
        for key in ["b", "c", "d"] {
            flush(&writer);
            put(&writer, key, "2");
        }
        Verdict::Go
    });
    let reader = reader.unwrap();
    assert_eq!((get(&reader, "a").as_deref(), get(&reader, "d").as_deref()), (Some("1"), Some("2")));
}

#[test]
fn a_torn_end_of_the_newest_wal_does_not_restart_the_reader_while_the_manifest_grows() {
    let world = Machine::new(1);
    let db = Arc::new(world.open().unwrap());
    put(&db, "a", "1");
    let whole = world.bytes(&world.file("", ".log")).len();
    put(&db, "b", "2");
    let (writer, mut families) = (db.clone(), 0);
    let reader = read_while(&world, (Op::Read, ".log", true), world.request(), move || {
        families += 1;
        writer
            .admin()
            .create_family(FamilyDescriptor::new(format!("{families}"), FamilyOptions::default()))
            .unwrap();
        Verdict::Part(whole + 3, None)
    });
    let reader = reader.unwrap();
    assert_eq!((get(&reader, "a").as_deref(), get(&reader, "b")), (Some("1"), None));
}

#[test]
fn sst_files_deleted_by_a_compaction_before_their_open_do_not_fail_the_reader() {
    let world = Machine::new(1);
    let db = Arc::new(world.open().unwrap());
    for key in ["a", "b"] {
        put(&db, "0", key);
        put(&db, key, "1");
        flush(&db);
    }
    let (table, writer, executor) = (world.file("", ".sst"), db.clone(), world.executor.clone());
    let reader = read_while(&world, (Op::Open, ".sst", false), world.request(), move || {
        let family = writer.default_family().unwrap();
        writer.compactions().compact_range(&family, None, None, &CompactRangeOptions::default()).unwrap();
        while executor.help() {}
        Verdict::Go
    });
    let reader = reader.unwrap();
    assert!(!world.env.fs.exists(Path::new(&table)).unwrap(), "it was compacted away");
    assert_eq!((get(&reader, "a").as_deref(), get(&reader, "0").as_deref()), (Some("1"), Some("b")));
}

#[test]
fn a_manifest_replaced_before_its_open_does_not_fail_the_reader() {
    let world = Machine::new(1);
    let mut request = world.request();
    request.options.max_manifest_file_size = 1;
    request.options.max_manifest_space_amp_pct = 0;
    let db = Arc::new(Db::open(request).unwrap());
    put(&db, "a", "1");
    let (manifest, writer) = (world.file("MANIFEST", ""), db.clone());
    let reader = read_while(&world, (Op::Open, "MANIFEST", false), world.request(), move || {
        flush(&writer);
        Verdict::Go
    });
    let reader = reader.unwrap();
    assert!(!world.env.fs.exists(Path::new(&manifest)).unwrap(), "it was rolled away");
    assert_eq!(get(&reader, "a").as_deref(), Some("1"));
}

#[test]
fn a_family_dropped_during_a_restart_of_the_reader_is_not_required() {
    let world = Machine::new(1);
    let db = Arc::new(world.open().unwrap());
    let other = db.admin().create_family(FamilyDescriptor::new("other", FamilyOptions::default())).unwrap();
    put(&db, "a", "1");
    let mut request = world.request();
    request.others = Some(FamilyOptions::default());
    let writer = db.clone();
    let reader = read_while(&world, AT_LIST, request, move || {
        writer.admin().drop_family(&other).unwrap();
        flush(&writer);
        Verdict::Go
    });
    let reader = reader.unwrap();
    assert_eq!(get(&reader, "a").as_deref(), Some("1"));
    assert!(reader.family("other").is_none());
}

/// The writer acts before the call with this number.
struct AtCall {
    calls: AtomicUsize,
    at: usize,
    act: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl fmt::Debug for AtCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call {}", self.at)
    }
}

impl Hook for AtCall {
    fn name(&self) -> &'static str {
        "at a call"
    }

    fn before(&self, _: &Call<'_>) -> Verdict {
        if self.calls.fetch_add(1, Ordering::Relaxed) == self.at
            && let Some(act) = self.act.lock().take()
        {
            act();
        }
        Verdict::Go
    }
}

/// Opens for reading. The writer acts before call `at` of the open. Returns false if the open makes fewer calls.
fn read_with(db: &Arc<Db>, at: usize, mut request: OpenRequest, act: fn(&Db)) -> bool {
    let writer = db.clone();
    let act: Box<dyn FnOnce() + Send> = Box::new(move || act(&writer));
    let hook = Arc::new(AtCall { calls: AtomicUsize::new(0), at, act: Mutex::new(Some(act)) });
    request.options.env.fs = Arc::new(Hooked::new(request.options.env.fs.clone(), hook.clone()));
    let reader = Db::open_read_only(request).unwrap_or_else(|error| panic!("call {at}: {error}"));
    assert_eq!(get(&reader, "a").as_deref(), Some("1"), "call {at}");
    hook.act.lock().is_none()
}

#[test]
fn a_writer_may_roll_its_manifest_at_any_call_of_the_reader() {
    // The reader reads the MANIFEST. Then the writer extends the MANIFEST, and its next batch in the WAL has a mark
    // of the new size. The reader compares the two sizes, and the writer deletes the MANIFEST at any call.
    let extend = |db: &Db| {
        db.admin().create_family(FamilyDescriptor::new("new", FamilyOptions::default())).unwrap();
        put(db, "b", "2");
    };
    let roll = |db: &Db| {
        db.admin()
            .set_db_options(&[("max_manifest_file_size", "1"), ("max_manifest_space_amp_pct", "0")])
            .unwrap();
        db.admin().create_family(FamilyDescriptor::new("newer", FamilyOptions::default())).unwrap();
    };
    let mut at = 0;
    loop {
        let world = Machine::new(1);
        let db = Arc::new(world.open().unwrap());
        put(&db, "a", "1");
        let writer = db.clone();
        let act: Act = Box::new(move || {
            extend(&writer);
            Verdict::Go
        });
        let hook = Meanwhile { op: Op::List, name: "/db", act: Mutex::new(Some(act)), again: false };
        let mut request = world.request();
        request.others = Some(FamilyOptions::default());
        request.options.env.fs = Arc::new(Hooked::new(world.env.fs.clone(), Arc::new(hook)));
        if !read_with(&db, at, request, roll) {
            break;
        }
        at += 1;
    }
    assert!(at > 10, "the open makes {at} calls");
}

#[test]
fn a_missing_manifest_is_a_failed_read_of_a_file() {
    let env = env::Env::memory(77);
    drop(crate::basic::open(&env, Default::default()));
    let dir = std::path::Path::new("/db");
    for name in env.fs.list(dir).unwrap().into_iter().filter(|name| name.starts_with("MANIFEST")) {
        env.fs.unlink(&dir.join(name)).unwrap();
    }
    let options = crate::basic::options(&env);
    let error = Db::open(OpenRequest::new("/db", options, Default::default())).err().unwrap();
    assert_eq!((error.kind(), error.subcode()), (base::Kind::IoError, base::Subcode::PathNotFound));
}

#[test]
fn a_secondary_instance_has_no_tailing_iterator() {
    let env = env::Env::memory(78);
    let writer = crate::basic::open(&env, Default::default());
    crate::basic::put(&writer, "a", "1");
    let request = OpenRequest::new("/db", crate::basic::options(&env), Default::default());
    let reader = ironstone_engine::db::open_to_follow(request, None, false).unwrap();
    let tailing = ironstone_engine::options::ReadOptions { tailing: true, ..Default::default() };
    let error = reader.iter(&reader.default_family().unwrap(), tailing).err().unwrap();
    assert_eq!(error.kind(), base::Kind::NotSupported);
}
