//! Databases whose files are in several directories: `db_paths`, `cf_paths`, `wal_dir` and `db_log_dir`.

use std::path::Path;

use env::Env;
use ironstone::{CompactRangeOptions, Db, FamilyDescriptor, Options};
use ironstone_inspect::bundle;
use ironstone_inspect::doctor::examine;
use ironstone_inspect::model::{Budget, Database, FileDirectory, FileKind, Weight, load};

use crate::client::serve;

fn facts(dir: &Path) -> Database {
    load(&Env::posix(), dir, &Budget::COMMAND).unwrap()
}

fn damage(db: &Database) -> Vec<String> {
    let of = |problem: &&ironstone_inspect::model::Problem| problem.weight == Weight::Damage;
    db.problems.iter().filter(of).map(|problem| format!("{}: {}", problem.file, problem.text)).collect()
}

fn options() -> Options {
    let mut options = Options::default();
    options.db.create_if_missing = true;
    options.db.create_missing_column_families = true;
    options
}

/// Writes three SST files to the default column family.
fn fill(db: &Db) {
    for round in 0..3_u32 {
        for n in 0..300_u32 {
            db.put(format!("key{:05}", n * 3 + round).as_bytes(), &[b'v'; 100]).unwrap();
        }
        db.flush().unwrap();
    }
}

#[test]
fn files_of_other_paths_are_no_damage() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str, target_size| ironstone::DbPath { path: root.path().join(name), target_size };
    let dir = root.path().join("db");
    for (at, paths) in
        [vec![path("other", 1 << 30)], vec![path("db", 1), path("slow", 1 << 30)]].into_iter().enumerate()
    {
        let _ = std::fs::remove_dir_all(&dir);
        let mut options = options();
        options.update("compression=kNoCompression").unwrap();
        options.db.db_paths = paths;
        let db = Db::open(&dir, options).unwrap();
        fill(&db);
        let options = CompactRangeOptions { target_path_id: at as u32, ..Default::default() };
        db.compact_range(None, None, &options).unwrap();
        drop(db);
        let facts = facts(&dir);
        assert_eq!((damage(&facts), facts.sst_count()), (Vec::new(), 1));
        assert!(facts.families[0].files[0].elsewhere, "{:?}", facts.families[0].files);
        assert!(examine(&facts).iter().all(|finding| finding.rule != "damaged-files"));
        let site = serve(&dir);
        assert!(site.page("/files").body.contains("in another directory"));
        let number = facts.families[0].files[0].number;
        assert!(site.page(&format!("/file?number={number}")).body.contains("Its blocks are not read here"));
    }
}

#[test]
fn files_of_a_family_with_its_own_paths_are_no_damage_and_missing_files_are() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("db");
    let mut options = options();
    options.update("disable_auto_compactions=true").unwrap();
    options.db.db_paths = vec![ironstone::DbPath { path: dir.clone(), target_size: 1 << 30 }];
    let mut own = options.family.clone();
    own.cf_paths = vec![ironstone::DbPath { path: root.path().join("own"), target_size: 1 << 30 }];
    let db = Db::open_with_families(&dir, options, vec![FamilyDescriptor::new("own", own)]).unwrap();
    fill(&db);
    let family = db.family("own").unwrap();
    family.put(b"k", b"v").unwrap();
    family.flush().unwrap();
    drop((family, db));
    let before = facts(&dir);
    assert_eq!(damage(&before), [""; 0]);
    assert!(before.families.iter().find(|f| f.name == "own").unwrap().files[0].elsewhere);
    let missing = before.families[0].files[1].number;
    std::fs::remove_file(dir.join(format::names::table(base::FileNumber::new(missing)))).unwrap();
    assert_eq!(damage(&facts(&dir)).len(), 1, "one file of three is missing");
}

#[test]
fn all_missing_files_of_a_column_family_are_lost_or_elsewhere() {
    let root = tempfile::tempdir().unwrap();
    let db = Db::open(root.path(), options()).unwrap();
    fill(&db);
    drop(db);
    let before = facts(root.path());
    for file in before.files.iter().filter(|file| file.kind == FileKind::Table) {
        std::fs::remove_file(root.path().join(&file.name)).unwrap();
    }
    let found = examine(&facts(root.path()));
    assert_eq!(found.iter().map(|finding| finding.rule).collect::<Vec<_>>(), ["files-elsewhere"]);
    assert!(found[0].evidence[0].contains("otherwise they are lost"), "{found:?}");
}

#[test]
fn wals_and_info_logs_in_other_directories_are_shown() {
    let root = tempfile::tempdir().unwrap();
    let (dir, wals, logs) = (root.path().join("db"), root.path().join("wals"), root.path().join("logs"));
    std::fs::create_dir_all(&logs).unwrap();
    // The info log of another database in the same directory.
    std::fs::write(logs.join("another_db_LOG"), "2026/01/01-00:00:00.000000 1 RocksDB version: 1.2.3\n")
        .unwrap();
    let mut options = options();
    options.db.wal_dir = wals.to_string_lossy().into_owned();
    options.db.db_log_dir = logs.to_string_lossy().into_owned();
    let db = Db::open(&dir, options).unwrap();
    db.put(b"findable", b"v").unwrap();
    drop(db);
    let facts = facts(&dir);
    assert_eq!(damage(&facts), [""; 0]);
    let of = |kind| facts.files.iter().filter(move |file| file.kind == kind).collect::<Vec<_>>();
    assert!(
        of(FileKind::Wal).iter().all(|file| file.place == FileDirectory::Wal && file.size > 0),
        "{:?}",
        facts.files
    );
    assert_eq!((of(FileKind::Wal).len(), of(FileKind::InfoLog).len()), (1, 1));
    assert!(facts.log.lines > 0 && facts.log.release.as_deref() != Some("1.2.3"));
    let site = serve(&dir);
    let number = of(FileKind::Wal)[0].number;
    assert!(site.page("/logs").body.contains(&format!("/wal?number={number}")));
    let records = site.page(&format!("/wal?number={number}")).body;
    assert!(records.contains("put &quot;findable&quot;"), "{records}");
    assert!(site.page(&format!("/record?number={number}&offset=0")).body.contains("findable"));
    let text = bundle::write(&Env::posix(), &dir, &facts).unwrap();
    let bundle: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(!bundle["log_tail"].as_array().unwrap().is_empty());
}

#[test]
fn an_unreadable_wal_directory_is_named_and_is_no_damage() {
    let root = tempfile::tempdir().unwrap();
    let (dir, wals) = (root.path().join("db"), root.path().join("wals"));
    let mut options = options();
    options.db.wal_dir = wals.to_string_lossy().into_owned();
    drop(Db::open(&dir, options).unwrap());
    std::fs::remove_dir_all(&wals).unwrap();
    let facts = facts(&dir);
    assert_eq!(damage(&facts), [""; 0]);
    assert!(facts.problems.iter().any(|problem| problem.text.contains("wal_dir")), "{:?}", facts.problems);
}
