//! Options of an open database: the OPTIONS file, the info log, changes while the database is open, rejected values.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use env::Env;
use env::hook::{Call, Hook, Hooked, Op, Verdict};
use env::logger::MemoryLogger;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, LiveFileKind, LiveFilesStorageInfoOptions, OpenRequest};
use ironstone_engine::family::Family;
use ironstone_engine::options::file::{ReadConfig, load_latest};
use ironstone_engine::options::{
    CompactRangeOptions, DbOptions, FamilyOptions, FlushOptions, ReadOptions, WriteOptions,
};

fn open(env: &Env, logger: &Arc<MemoryLogger>, family: FamilyOptions) -> base::Result<Db> {
    let options = DbOptions {
        create_if_missing: true,
        env: env.clone(),
        info_log: Some(logger.clone()),
        ..DbOptions::default()
    };
    Db::open(OpenRequest::new("/db", options, family))
}

#[test]
fn an_open_database_has_its_options_on_disk_and_in_the_info_log() {
    let (env, logger) = (Env::memory(7), MemoryLogger::new());
    let family = FamilyOptions { write_buffer_size: 1, ..FamilyOptions::default() };
    let db = open(&env, &logger, family).unwrap();
    let load = || load_latest(&env, Path::new("/db"), &ReadConfig::default()).unwrap().1;
    assert_eq!(load().families[0].1.write_buffer_size, 64 << 10, "the file holds mended values");
    let lines = logger.lines();
    for line in [
        "                         Options.max_open_files: -1",
        "--------------- Options for column family [default]:",
        "       Options.write_buffer_size: 65536",
    ] {
        assert!(lines.iter().any(|l| l == line), "{line}");
    }
    let default = db.default_family().unwrap();
    db.admin().set_options(&default, &[("ttl", "77"), ("table_factory.block_size", "8k")]).unwrap();
    db.admin().set_db_options(&[("bytes_per_sync", "1m")]).unwrap();
    let file = load();
    assert_eq!((file.families[0].1.ttl, file.db.bytes_per_sync), (77, 1 << 20));
    assert_eq!(file.families[0].1.get("table_factory.block_size").unwrap(), "8192");
    assert!(db.admin().set_options(&default, &[("num_levels", "3")]).is_err());
    assert!(db.admin().set_options(&default, &[("enable_blob_direct_write", "true")]).is_err());
    assert!(db.admin().set_options(&default, &[("memtable_protection_bytes_per_key", "3")]).is_err());
    assert_eq!(load().families[0].1.ttl, 77);
}

#[test]
fn a_refused_option_leaves_nothing_on_disk() {
    let (env, logger) = (Env::memory(7), MemoryLogger::new());
    let mut family = FamilyOptions::default();
    family.update("enable_blob_files=true;enable_blob_direct_write=true").unwrap();
    family.experimental_mempurge_threshold = 0.5;
    let error = open(&env, &logger, family).err().unwrap().to_string();
    assert!(error.contains("Blob direct write"), "{error}");
    assert!(!env.fs.exists(Path::new("/db")).unwrap());
}

/// RocksDB's `ldb`, in the folder `IRONSTONE_ORACLE`, opens a database of the engine with the engine's OPTIONS file.
#[test]
fn rocksdb_opens_our_database_with_our_options() {
    let Some(oracle) = std::env::var_os("IRONSTONE_ORACLE").map(std::path::PathBuf::from) else {
        eprintln!("SKIPPED: set IRONSTONE_ORACLE to a folder with RocksDB's ldb");
        return;
    };
    let ldb = if oracle.is_dir() { oracle.join("ldb") } else { oracle.with_file_name("ldb") };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut family = FamilyOptions::default();
    family
        .update("num_levels=5;block_based_table_factory={filter_policy=bloomfilter:10:false;block_size=8k}")
        .unwrap();
    let options = DbOptions { create_if_missing: true, max_open_files: 321, ..DbOptions::default() };
    let db = Db::open(OpenRequest::new(&path, options, family)).unwrap();
    let default = db.default_family().unwrap();
    db.put(&default, b"key", b"value", &Default::default()).unwrap();
    db.close().unwrap();
    drop((default, db));
    let run = |args: &[&str]| {
        let arg = format!("--db={}", path.display());
        let out = std::process::Command::new(&ldb).arg(arg).args(args).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{text}");
        text
    };
    assert_eq!(run(&["get", "key", "--try_load_options"]).trim(), "value");
    assert_eq!(run(&["put", "key2", "value2", "--try_load_options"]).trim(), "OK");
    let file = load_latest(&Env::posix(), &path, &ReadConfig::default()).unwrap().1;
    assert_eq!((file.db.max_open_files, file.families[0].1.num_levels), (321, 5));
    assert_eq!(file.families[0].1.get("table_factory.block_size").unwrap(), "8192");
    let db = Db::open(OpenRequest::new(&path, file.db, file.families[0].1.clone())).unwrap();
    let default = db.default_family().unwrap();
    let value = db.get(&default, b"key2", &Default::default()).unwrap();
    assert_eq!(value.unwrap().to_vec(), b"value2");
}

#[test]
fn a_change_of_the_database_that_a_column_family_cannot_take_is_rejected() {
    let env = env::Env::memory(77);
    let fifo = FamilyOptions {
        compaction_style: ironstone_engine::options::CompactionStyle::Fifo,
        num_levels: 1,
        ttl: 3600,
        ..FamilyOptions::default()
    };
    let unlimited = DbOptions { max_open_files: -1, ..crate::basic::options(&env) };
    let db = Db::open(OpenRequest::new("/db", unlimited, fifo)).unwrap();
    let error = db.admin().set_db_options(&[("max_open_files", "100")]).unwrap_err();
    assert!(matches!(error.kind(), base::Kind::NotSupported | base::Kind::InvalidArgument), "{error}");
    assert_eq!(db.options().max_open_files, -1);
}

/// RocksDB 11.8.1 checks these options only when a database is opened for writing.
#[test]
fn a_new_family_may_cache_index_blocks_without_a_block_cache_until_the_next_open() {
    let env = Env::memory(78);
    let mut uncached = FamilyOptions::default();
    uncached
        .update("block_based_table_factory={no_block_cache=true;cache_index_and_filter_blocks=true}")
        .unwrap();
    let db = crate::basic::open(&env, FamilyOptions::default());
    let family = db.admin().create_family(FamilyDescriptor::new("f", uncached.clone())).unwrap();
    db.put(&family, b"key", b"value", &WriteOptions::default()).unwrap();
    db.flush(&[family.clone()], &FlushOptions::default()).unwrap();
    db.admin().set_options(&family, &[("ttl", "77")]).unwrap();
    db.compactions().compact_range(&family, None, None, &CompactRangeOptions::default()).unwrap();
    let value = |db: &Db, family: &Arc<Family>| {
        db.get(family, b"key", &ReadOptions::default()).unwrap().unwrap().to_vec()
    };
    assert_eq!(value(&db, &family), b"value");
    db.close().unwrap();
    drop((family, db));

    let request = || {
        let mut request = OpenRequest::new("/db", crate::basic::options(&env), FamilyOptions::default());
        request.families.push(FamilyDescriptor::new("f", uncached.clone()));
        request
    };
    let error = Db::open(request()).err().unwrap().to_string();
    assert!(error.contains("Enable cache_index_and_filter_blocks, , but block cache is disabled"), "{error}");
    let db = Db::open_read_only(request()).unwrap();
    assert_eq!(value(&db, &db.family("f").unwrap()), b"value");
}

/// RocksDB 11.8.1 accepts such a column family, and its next open fails.
#[test]
fn a_new_family_whose_tables_cannot_be_written_is_rejected() {
    let db = crate::basic::open(&Env::memory(79), FamilyOptions::default());
    let mut options = FamilyOptions::default();
    options.update("compression=kLZ4Compression;block_based_table_factory={block_align=true}").unwrap();
    let error = db.admin().create_family(FamilyDescriptor::new("f", options)).err().unwrap();
    assert_eq!(error.kind(), base::Kind::InvalidArgument);
    assert!(error.to_string().contains("Enable block_align, but compression enabled"), "{error}");
}

const IDLE: usize = 0;
const ARMED: usize = 1;
const REACHED: usize = 2;

/// Delays the rename of one OPTIONS file: gives another thread many chances to finish its own OPTIONS file first.
#[derive(Debug, Default)]
struct LateRename {
    state: AtomicUsize,
    other_is_done: AtomicBool,
}

impl Hook for LateRename {
    fn name(&self) -> &'static str {
        "LateRename"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        const CHANCES: usize = 20_000;
        let is_options = call.path.to_string_lossy().contains("OPTIONS-");
        let reach =
            || self.state.compare_exchange(ARMED, REACHED, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if call.op == Op::Rename && is_options && reach() {
            let mut chances = 0..CHANCES;
            while chances.next().is_some() && !self.other_is_done.load(Ordering::Acquire) {
                thread::yield_now();
            }
        }
        Verdict::Go
    }
}

#[test]
fn the_options_of_a_copy_are_the_newest_after_concurrent_changes() {
    let (inner, hook) = (Env::memory(7), Arc::new(LateRename::default()));
    let env = Env { fs: Arc::new(Hooked::new(inner.fs.clone(), hook.clone())), ..inner };
    let db = open(&env, &MemoryLogger::new(), FamilyOptions::default()).unwrap();
    let set =
        |db: &Db, ttl: &str| db.admin().set_options(&db.default_family().unwrap(), &[("ttl", ttl)]).unwrap();
    hook.state.store(ARMED, Ordering::Release);
    thread::scope(|scope| {
        scope.spawn(|| set(&db, "11"));
        while hook.state.load(Ordering::Acquire) != REACHED {
            thread::yield_now();
        }
        set(&db, "22");
        hook.other_is_done.store(true, Ordering::Release);
    });
    assert_eq!(hook.state.swap(IDLE, Ordering::AcqRel), REACHED);
    let live = db.files().live_files_storage_info(&LiveFilesStorageInfoOptions::default()).unwrap();
    let options = live.files.iter().find(|file| file.kind == LiveFileKind::Options).unwrap();
    let text = String::from_utf8(options.replacement_contents.clone().unwrap()).unwrap();
    assert!(text.lines().any(|line| line.trim() == "ttl=22"), "{}: {text}", options.relative_filename);
}
