//! Changes of options while the database is open; events; resume after a full disk.

use base::Level;
use std::path::Path;
use std::sync::Arc;

use env::Env;
use env::fault::FaultFs;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{DbOptions, FamilyOptions};

use crate::basic::{flush, get, open, options, put, scan};
use crate::features::Ear;

fn fill(db: &Db, from: usize, count: usize) {
    for i in from..from + count {
        put(db, &format!("key{i:06}"), &format!("value{i}"));
    }
}

/// The number of files on level 0.
fn l0(db: &Db) -> u64 {
    let family = db.default_family().unwrap();
    db.properties().text(&family, "rocksdb.num-files-at-level0").unwrap().parse().unwrap()
}

#[test]
fn every_mutable_option_takes_its_own_value() {
    let db = open(&Env::memory(1), FamilyOptions::default());
    let family = db.default_family().unwrap();
    let now = family.options();
    for row in FamilyOptions::ROWS.iter().filter(|row| row.is_mutable()) {
        let text = (row.print)(&now);
        db.admin()
            .set_options(&family, &[(row.name, &text)])
            .unwrap_or_else(|e| panic!("{}={text}: {e}", row.name));
    }
    let now = options(&Env::memory(1));
    for row in DbOptions::ROWS.iter().filter(|row| row.is_mutable()) {
        let text = (row.print)(&now);
        db.admin()
            .set_db_options(&[(row.name, &text)])
            .unwrap_or_else(|e| panic!("{}={text}: {e}", row.name));
    }
}

#[test]
fn changed_options_take_effect() {
    let env = Env::memory(2);
    let db = open(&env, FamilyOptions::default());
    let family = db.default_family().unwrap();
    let set = |name: &str, value: &str| db.admin().set_options(&family, &[(name, value)]).unwrap();
    set("disable_auto_compactions", "true");
    for round in 0..5 {
        fill(&db, round, 1);
        flush(&db);
    }
    db.background().wait_for_compact().unwrap();
    assert_eq!(l0(&db), 5);
    set("disable_auto_compactions", "false");
    db.background().wait_for_compact().unwrap();
    assert_eq!(l0(&db), 0);
    set("level0_file_num_compaction_trigger", "2");
    fill(&db, 0, 1);
    flush(&db);
    fill(&db, 0, 1);
    flush(&db);
    db.background().wait_for_compact().unwrap();
    assert_eq!(l0(&db), 0);
    set("level0_file_num_compaction_trigger", "100");
    set("write_buffer_size", "65536");
    fill(&db, 0, 3000);
    db.background().wait_for_compact().unwrap();
    assert!(l0(&db) > 0, "a small buffer flushes");
    set("table_factory", "{block_size=1k;filter_policy=bloomfilter:10}");
    set("compression", "kNoCompression");
    fill(&db, 0, 10);
    flush(&db);
    let newest = family.pin_owned().version.level(Level::ZERO).get(0).unwrap().clone();
    let properties = db.properties().text(&family, "rocksdb.aggregated-table-properties").unwrap();
    assert!(newest.size > 0 && !properties.contains("filter block size=0;"), "{properties}");
    set("paranoid_file_checks", "true");
    set("max_sequential_skip_in_iterations", "1");
    assert_eq!(scan(&db).len(), 3000);
}

#[test]
fn a_changed_manifest_size_makes_the_next_one_small() {
    let env = Env::memory(3);
    let db = open(&env, FamilyOptions::default());
    let manifests = || {
        let names = env.fs.list(Path::new("/db")).unwrap();
        names.into_iter().filter(|name| name.starts_with("MANIFEST")).collect::<Vec<_>>()
    };
    let first = manifests();
    fill(&db, 0, 1);
    flush(&db);
    assert_eq!(manifests(), first);
    db.admin()
        .set_db_options(&[("max_manifest_file_size", "1"), ("max_manifest_space_amp_pct", "0")])
        .unwrap();
    fill(&db, 0, 1);
    flush(&db);
    assert_ne!(manifests(), first);
}

#[test]
fn total_wal_size_flushes_once_it_is_set() {
    let db = open(&Env::memory(4), FamilyOptions::default());
    db.admin().create_family(FamilyDescriptor::new("other", FamilyOptions::default())).unwrap();
    fill(&db, 0, 2000);
    assert_eq!(l0(&db), 0);
    db.admin().set_db_options(&[("max_total_wal_size", "1000")]).unwrap();
    fill(&db, 0, 2);
    db.background().wait_for_compact().unwrap();
    assert!(l0(&db) > 0);
}

#[test]
fn total_wal_size_flushes_nothing_while_there_is_one_column_family() {
    let env = Env::memory(4);
    let db = open(&env, FamilyOptions::default());
    db.admin().set_db_options(&[("max_total_wal_size", "1000")]).unwrap();
    fill(&db, 0, 2000);
    db.background().wait_for_compact().unwrap();
    assert_eq!(l0(&db), 0);
    let other = db.admin().create_family(FamilyDescriptor::new("other", FamilyOptions::default())).unwrap();
    fill(&db, 0, 2);
    db.background().wait_for_compact().unwrap();
    assert_eq!(l0(&db), 1);
    db.admin().drop_family(&other).unwrap();
    fill(&db, 0, 2000);
    db.background().wait_for_compact().unwrap();
    assert_eq!(l0(&db), 1);
}

fn listened(env: &Env, family: FamilyOptions) -> (Db, Arc<Ear>) {
    let ear = Arc::new(Ear::default());
    let mut request = OpenRequest::new("/db", options(env), family);
    request.components.listeners.push(ear.clone());
    (Db::open(request).unwrap(), ear)
}

#[test]
fn listeners_hear_of_jobs_and_files() {
    let (db, ear) = listened(&Env::memory(5), FamilyOptions::default());
    for _ in 0..2 {
        fill(&db, 0, 10);
        flush(&db);
    }
    let family = db.default_family().unwrap();
    db.compactions().compact_range(&family, None, None, &Default::default()).unwrap();
    db.background().wait_for_compact().unwrap();
    assert_eq!(
        (ear.heard("flush_started"), ear.heard("flush_finished"), ear.heard("memtable_sealed")),
        (2, 2, 2)
    );
    assert!(ear.heard("compaction_started") >= 1);
    assert_eq!(ear.heard("compaction_started"), ear.heard("compaction_finished"));
    assert!(ear.heard("table_file_creation") >= 3);
    assert!(ear.heard("table_file_deletion") >= 2);
}

#[test]
fn listeners_hear_of_stalls() {
    let family = FamilyOptions { disable_auto_compactions: true, ..FamilyOptions::default() };
    let (db, ear) = listened(&Env::memory(6), family);
    let default = db.default_family().unwrap();
    db.admin()
        .set_options(
            &default,
            &[("level0_slowdown_writes_trigger", "2"), ("level0_file_num_compaction_trigger", "2")],
        )
        .unwrap();
    assert_eq!(ear.heard("stall_conditions_changed"), 0);
    db.admin()
        .set_options(
            &default,
            &[
                ("disable_auto_compactions", "false"),
                ("level0_slowdown_writes_trigger", "1"),
                ("level0_file_num_compaction_trigger", "1"),
            ],
        )
        .unwrap();
    db.background().pause().unwrap();
    db.background().unpause().unwrap();
    for _ in 0..4 {
        fill(&db, 0, 10);
        flush(&db);
    }
    db.background().wait_for_compact().unwrap();
    let changes = ear.heard("stall_conditions_changed");
    assert!(changes >= 2 && changes % 2 == 0, "{changes} changes: each delay ends");
    assert_ne!(db.properties().map(&default, "rocksdb.cfstats").unwrap()["l0-file-count-limit-delays"], "0");
}

#[test]
fn writes_resume_after_a_full_disk_without_a_reopen() {
    let memory = Env::memory(7);
    let fs = FaultFs::wrap(memory.fs.clone());
    let env = Env { fs: fs.clone(), ..memory };
    let (db, ear) = listened(&env, FamilyOptions::default());
    let family = db.default_family().unwrap();
    fill(&db, 0, 100);
    fs.hook().set_budget(Some(2000));
    let mut written = 100;
    let error = loop {
        let key = format!("key{written:06}");
        match db.put(&family, key.as_bytes(), b"value", &Default::default()) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.subcode(), base::Subcode::NoSpace, "{error}");
    assert!(db.background().error().is_some());
    assert_eq!(ear.heard("background_error"), 1);
    assert_eq!(get(&db, "key000050").as_deref(), Some("value50"), "reads go on");
    assert!(db.put(&family, b"more", b"1", &Default::default()).is_err());
    let pass = || {
        env.clock.sleep_micros(2_000_000);
        while env.executor.help() {}
    };
    pass();
    assert!(db.background().error().is_some(), "still full");
    fs.hook().set_budget(None);
    for _ in 0..3 {
        pass();
    }
    assert!(db.background().error().is_none(), "{:?}", db.background().error());
    assert!(ear.heard("error_recovery_begin") >= 1 && ear.heard("error_recovery_end") >= 1);
    assert_eq!(db.properties().number(&family, "rocksdb.background-errors").map(|n| n >= 1), Some(true));
    put(&db, "more", "1");
    assert_eq!(scan(&db).len(), written + 1);
    drop(db);
    let db = open(&env, FamilyOptions::default());
    assert_eq!(scan(&db).len(), written + 1);
}

#[test]
fn bottommost_tables_are_rewritten_only_for_a_released_snapshot() {
    let (db, ear) = listened(&Env::memory(8), FamilyOptions::default());
    let family = db.default_family().unwrap();
    fill(&db, 0, 10);
    flush(&db);
    db.background().wait_for_compact().unwrap();
    assert_eq!(ear.heard("compaction_started"), 0, "nothing was kept for anybody");
    let snapshot = db.snapshot();
    fill(&db, 0, 10);
    flush(&db);
    db.compactions().compact_range(&family, None, None, &Default::default()).unwrap();
    db.background().wait_for_compact().unwrap();
    let before = ear.heard("compaction_started");
    put(&db, "later", "1");
    drop(snapshot);
    db.admin().set_options(&family, &[]).unwrap();
    db.background().wait_for_compact().unwrap();
    assert_eq!(ear.heard("compaction_started"), before + 1, "what the snapshot kept goes");
}

#[test]
fn disabled_deletions_keep_wals_and_manifests_too() {
    let env = Env::memory(9);
    let db = open(&env, FamilyOptions { disable_auto_compactions: true, ..FamilyOptions::default() });
    db.admin()
        .set_db_options(&[("max_manifest_file_size", "1"), ("max_manifest_space_amp_pct", "0")])
        .unwrap();
    let names = |what: fn(&str) -> bool| {
        let mut names = env.fs.list(Path::new("/db")).unwrap();
        names.retain(|name| what(name));
        names.sort();
        names
    };
    let kept = || (names(|name| name.ends_with(".log")), names(|name| name.starts_with("MANIFEST")));
    let flush_some = || {
        for round in 0..3 {
            fill(&db, round, 1);
            flush(&db);
        }
        db.background().wait_for_compact().unwrap();
    };
    flush_some();
    let (wals, manifests) = kept();
    assert_eq!((wals.len(), manifests.len()), (1, 1));
    db.files().disable_deletions();
    db.files().disable_deletions();
    flush_some();
    let (more_logs, more_manifests) = kept();
    assert_eq!((more_logs.len(), more_manifests.len()), (4, 4));
    assert!(more_logs.contains(&wals[0]) && more_manifests.contains(&manifests[0]));
    db.files().enable_deletions();
    assert_eq!(kept(), (more_logs, more_manifests), "disabled twice");
    db.files().enable_deletions();
    let (wals, manifests) = kept();
    assert_eq!((wals.len(), manifests.len()), (1, 1));
    flush_some();
    assert_eq!(scan(&db).len(), 3);
}

#[test]
fn destroy_deletes_the_sst_files_in_directories_of_named_families() {
    for known in [false, true] {
        let env = Env::memory(10);
        let own = |dir: &str| ironstone_engine::options::DbPath { path: dir.into(), target_size: 1 << 30 };
        let family = FamilyOptions { cf_paths: vec![own("/own"), own("/empty")], ..FamilyOptions::default() };
        let db = open(&env, family.clone());
        fill(&db, 0, 10);
        flush(&db);
        db.close().unwrap();
        drop(db);
        env.fs.write_all(Path::new("/own/theirs"), b"x", true).unwrap();
        let families = if known { vec![family] } else { Vec::new() };
        ironstone_engine::db::destroy(Path::new("/db"), &options(&env), &families).unwrap();
        assert!(!env.fs.exists(Path::new("/db")).unwrap());
        let left = env.fs.list(Path::new("/own")).unwrap();
        assert_eq!(left.len(), if known { 1 } else { 2 }, "{left:?}");
        assert_eq!(env.fs.exists(Path::new("/empty")).unwrap(), !known);
    }
}
