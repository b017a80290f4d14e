//! Options on their way through an open database: the OPTIONS file, the LOG, live changes, refusals.

use std::path::Path;
use std::sync::Arc;

use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::file::{ReadConfig, load_latest};
use ironstone_engine::options::{DbOptions, FamilyOptions};
use env::Env;
use env::logger::MemoryLogger;

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
fn an_open_database_has_its_options_on_disk_and_in_the_log() {
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
    db.set_options(&default, &[("ttl", "77"), ("table_factory.block_size", "8k")]).unwrap();
    db.set_db_options(&[("bytes_per_sync", "1m")]).unwrap();
    let file = load();
    assert_eq!((file.families[0].1.ttl, file.db.bytes_per_sync), (77, 1 << 20));
    assert_eq!(file.families[0].1.get("table_factory.block_size").unwrap(), "8192");
    assert!(db.set_options(&default, &[("num_levels", "3")]).is_err());
    assert!(db.set_options(&default, &[("enable_blob_files", "true")]).is_err());
    assert!(db.set_options(&default, &[("memtable_protection_bytes_per_key", "3")]).is_err());
    assert_eq!(load().families[0].1.ttl, 77);
}

#[test]
fn a_refused_option_leaves_nothing_on_disk() {
    let (env, logger) = (Env::memory(7), MemoryLogger::new());
    let db = DbOptions { create_if_missing: true, env: env.clone(), two_write_queues: true, ..DbOptions::default() };
    let error = Db::open(OpenRequest::new("/db", db, FamilyOptions::default())).err().unwrap();
    assert!(error.to_string().contains("two_write_queues"), "{error}");
    let family = FamilyOptions { enable_blob_files: true, ..FamilyOptions::default() };
    assert!(open(&env, &logger, family).err().unwrap().to_string().contains("enable_blob_files"));
    assert!(!env.fs.exists(Path::new("/db")).unwrap());
}
