//! Databases whose options name a directory of another database; files of users in the directories of a database; file
//! numbers and sequence numbers at their end.

use std::path::Path;

use base::{FileNumber, Kind, SequenceNumber, Subcode};
use env::Env;
use ironstone_engine::components::FamilyDescriptor;
use ironstone_engine::db::{Db, OpenRequest, destroy, fsck, list_families, repair};
use ironstone_engine::ingest::{ImportFile, ImportRequest, IngestRequest};
use ironstone_engine::options::{
    DbOptions, DbPath, FamilyOptions, FlushOptions, IngestExternalFileOptions, WriteOptions,
};
use ironstone_engine::repair::Weight;

use crate::basic::{flush, get, options, put, scan};

const MAIN: &str = "/main";
const AUX: &str = "/main/aux";

/// The ways in which the options of one database name the directory of another database.
const NAMES: [&str; 4] = ["wal_dir", "db_paths", "cf_paths", "db_log_dir"];

fn open_at(path: &str, options: DbOptions, family: FamilyOptions) -> base::Result<Db> {
    Db::open(OpenRequest::new(path, options, family))
}

/// Returns options of another database in which the option `which` names the directory of the main database.
fn naming_main(env: &Env, which: &str) -> (DbOptions, FamilyOptions) {
    let (mut db, mut family) = (options(env), FamilyOptions::default());
    let path = |path: &str| DbPath { path: path.into(), target_size: 1 << 30 };
    match which {
        "wal_dir" => db.wal_dir = MAIN.to_string(),
        "db_paths" => db.db_paths = vec![path(AUX), path(MAIN)],
        "cf_paths" => family.cf_paths = vec![path(AUX), path(MAIN)],
        _ => db.db_log_dir = MAIN.to_string(),
    }
    (db, family)
}

/// Creates a main database with entries in an SST file and in the WAL, and another database with larger file numbers.
fn two_databases(env: &Env) -> Db {
    let main = open_at(MAIN, options(env), FamilyOptions::default()).unwrap();
    put(&main, "flushed", "1");
    flush(&main);
    put(&main, "logged", "2");
    let aux = open_at(AUX, options(env), FamilyOptions::default()).unwrap();
    for round in 0..10 {
        put(&aux, &format!("key{round}"), "aux");
        flush(&aux);
    }
    aux.close().unwrap();
    main
}

fn files(env: &Env, dir: &str) -> Vec<String> {
    let mut names = env.fs.list(Path::new(dir)).unwrap();
    names.retain(|name| !name.contains("_LOG"));
    names.sort();
    names
}

fn check_main(env: &Env, main: Db) {
    put(&main, "later", "3");
    flush(&main);
    main.close().unwrap();
    drop(main);
    let existing = DbOptions { create_if_missing: false, ..options(env) };
    let main = open_at(MAIN, existing, FamilyOptions::default()).unwrap();
    let expected = [("flushed", "1"), ("later", "3"), ("logged", "2")];
    assert_eq!(scan(&main), expected.map(|(key, value)| (key.to_string(), value.to_string())));
}

#[test]
fn an_open_changes_no_file_of_another_database() {
    for which in NAMES {
        let env = Env::memory(1);
        let main = two_databases(&env);
        let before = files(&env, MAIN);
        let (db, family) = naming_main(&env, which);
        let opened = open_at(AUX, db, family);
        if which == "db_log_dir" {
            opened.unwrap().close().unwrap();
        } else {
            let error = opened.err().unwrap_or_else(|| panic!("{which}: the open succeeded"));
            assert_eq!(error.kind(), Kind::InvalidArgument, "{which}: {error}");
            assert!(error.to_string().contains("directory of another database"), "{which}: {error}");
        }
        assert_eq!(files(&env, MAIN), before, "{which}");
        check_main(&env, main);
    }
}

/// Returns options with a second directory for SST files.
fn with_shared_tables(env: &Env) -> DbOptions {
    let path = |path: &str| DbPath { path: path.into(), target_size: 1 << 30 };
    DbOptions { db_paths: vec![path("/shared")], ..options(env) }
}

#[test]
fn the_open_that_creates_a_database_leaves_the_sst_files_in_its_db_paths() {
    let env = Env::memory(9);
    env.fs.create_dir_all(Path::new("/shared")).unwrap();
    let theirs = Path::new("/shared/000012.sst");
    env.fs.write_all(theirs, b"theirs", true).unwrap();
    let db = open_at("/db", with_shared_tables(&env), FamilyOptions::default()).unwrap();
    put(&db, "a", "1");
    flush(&db);
    assert_eq!(get(&db, "a").as_deref(), Some("1"));
    assert_eq!(env.fs.read_all(theirs, 100).unwrap(), b"theirs");
}

#[test]
fn two_databases_with_the_same_db_paths_keep_each_others_sst_files() {
    let env = Env::memory(11);
    let flushed = |at: &str| {
        let db = open_at(at, with_shared_tables(&env), FamilyOptions::default()).unwrap();
        put(&db, "k", at);
        flush(&db);
        db.close().unwrap();
    };
    flushed("/one");
    let of_one = files(&env, "/shared");
    flushed("/two");
    for _ in 0..2 {
        for at in ["/one", "/two"] {
            let db = open_at(at, with_shared_tables(&env), FamilyOptions::default()).unwrap();
            assert_eq!(get(&db, "k").as_deref(), Some(at));
            db.close().unwrap();
        }
    }
    let now = files(&env, "/shared");
    assert!(of_one.iter().all(|file| now.contains(file)) && now.len() == 2, "{of_one:?} {now:?}");
}

#[test]
fn a_database_without_current_is_not_created_again_if_its_db_paths_have_sst_files() {
    let env = Env::memory(10);
    let db = open_at("/db", with_shared_tables(&env), FamilyOptions::default()).unwrap();
    put(&db, "a", "1");
    flush(&db);
    db.close().unwrap();
    drop(db);
    for name in env.fs.list(Path::new("/db")).unwrap() {
        if name == "CURRENT" || name.ends_with(".log") {
            env.fs.unlink(&Path::new("/db").join(name)).unwrap();
        }
    }
    let before = files(&env, "/shared");
    let error = open_at("/db", with_shared_tables(&env), FamilyOptions::default()).err().unwrap();
    assert_eq!(error.kind(), Kind::Corruption, "{error}");
    assert_eq!(files(&env, "/shared"), before);
}

#[test]
fn an_sst_file_that_is_missing_at_open_is_a_corruption_that_names_the_manifest() {
    let env = Env::memory(11);
    let db = open_at("/db", options(&env), FamilyOptions::default()).unwrap();
    put(&db, "a", "1");
    flush(&db);
    db.close().unwrap();
    drop(db);
    for name in files(&env, "/db").iter().filter(|name| name.ends_with(".sst")) {
        env.fs.unlink(&Path::new("/db").join(name)).unwrap();
    }
    let error = open_at("/db", options(&env), FamilyOptions::default()).err().unwrap();
    assert_eq!(error.kind(), Kind::Corruption, "{error}");
    assert!(error.message().starts_with("/db/MANIFEST-"), "{error}");
    assert!(error.path().is_some_and(|path| path.extension().is_some_and(|kind| kind == "sst")), "{error}");
}

#[test]
fn a_new_family_cannot_use_the_directory_of_another_database() {
    let env = Env::memory(2);
    let main = two_databases(&env);
    let aux = open_at(AUX, options(&env), FamilyOptions::default()).unwrap();
    let (_, family) = naming_main(&env, "cf_paths");
    let error = aux.admin().create_family(FamilyDescriptor::new("new", family)).err().unwrap();
    assert_eq!(error.kind(), Kind::InvalidArgument, "{error}");
    check_main(&env, main);
}

/// Returns the export of the default column family of `db`, as its own files.
pub fn export(db: &Db) -> ImportRequest {
    let family = db.default_family().unwrap();
    let pin = family.pin_owned();
    let files = pin.version.files().map(|(level, file)| ImportFile {
        path: pin.parts.table_path(file.number, file.path_id),
        level,
        size: file.size,
        smallest_seq: file.smallest_seq,
        largest_seq: file.largest_seq,
        epoch_number: file.epoch_number,
        temperature: 0,
        boundaries: None,
    });
    ImportRequest { comparator_name: family.order().user.name().to_string(), files: files.collect() }
}

#[test]
fn an_imported_family_cannot_use_the_directory_of_another_database() {
    let env = Env::memory(2);
    let main = two_databases(&env);
    let before = files(&env, MAIN);
    let aux = open_at(AUX, options(&env), FamilyOptions::default()).unwrap();
    let (_, family) = naming_main(&env, "cf_paths");
    let new = FamilyDescriptor::new("new", family);
    let error = aux.admin().create_family_with_import(new, &[export(&aux)], false).err().unwrap();
    assert_eq!(error.kind(), Kind::InvalidArgument, "{error}");
    assert!(error.to_string().contains("directory of another database"), "{error}");
    assert_eq!(files(&env, MAIN), before);
    check_main(&env, main);
}

#[test]
fn an_import_and_an_ingestion_replace_no_file_that_has_the_number_of_theirs() {
    for link in [false, true] {
        let env = Env::memory(4);
        let db = open_at(MAIN, options(&env), FamilyOptions::default()).unwrap();
        put(&db, "key", "1");
        flush(&db);
        let request = export(&db);
        let path = request.files[0].path.clone();
        // The next numbers are taken by files that this database does not know.
        let strangers: Vec<_> = (20..60)
            .map(|number| Path::new(MAIN).join(format::names::table(FileNumber::new(number))))
            .collect();
        strangers.iter().for_each(|stranger| env.fs.write_all(stranger, b"stranger", false).unwrap());
        for _ in 0..30 {
            let new = FamilyDescriptor::new("new", FamilyOptions::default());
            if let Ok(family) =
                db.admin().create_family_with_import(new, std::slice::from_ref(&request), link)
            {
                db.admin().drop_family(&family).unwrap();
            }
            let how = IngestExternalFileOptions {
                allow_db_generated_files: true,
                link_files: link,
                ..Default::default()
            };
            let ingest = IngestRequest::new(db.default_family().unwrap(), vec![path.clone()], how);
            drop(db.files().prepare_ingestion(vec![ingest]));
        }
        for stranger in &strangers {
            assert_eq!(env.fs.read_all(stranger, 100).unwrap(), b"stranger", "{}", stranger.display());
        }
        assert_eq!(get(&db, "key").as_deref(), Some("1"));
    }
}

#[test]
fn destroy_deletes_no_file_of_another_database() {
    for which in NAMES {
        let env = Env::memory(3);
        let main = two_databases(&env);
        let before = files(&env, MAIN);
        let (db, family) = naming_main(&env, which);
        let outcome = destroy(Path::new(AUX), &db, &[family]);
        assert_eq!(outcome.is_ok(), which == "db_log_dir", "{which}: {outcome:?}");
        let after = files(&env, MAIN);
        let gone: Vec<_> = before.iter().filter(|name| !after.contains(name)).collect();
        assert_eq!(gone, if which == "db_log_dir" { vec!["aux"] } else { vec![] }, "{which}");
        check_main(&env, main);
    }
}

#[test]
fn a_repair_uses_no_file_of_another_database() {
    for which in ["wal_dir", "db_paths", "cf_paths"] {
        let env = Env::memory(4);
        let main = two_databases(&env);
        let (db, family) = naming_main(&env, which);
        let request = || OpenRequest::new(AUX, db.clone(), family.clone());
        assert_eq!(fsck(&request()).unwrap_err().kind(), Kind::InvalidArgument, "{which}");
        assert_eq!(repair(request()).unwrap_err().kind(), Kind::InvalidArgument, "{which}");
        check_main(&env, main);
    }
}

#[test]
fn a_directory_may_name_the_database_directory_by_another_path() {
    let env = Env::memory(5);
    let db = DbOptions { wal_dir: "/db/./".to_string(), ..options(&env) };
    for value in ["1", "2"] {
        let db = open_at("/db", db.clone(), FamilyOptions::default()).unwrap();
        put(&db, "a", value);
        assert_eq!(get(&db, "a").as_deref(), Some(value));
    }
    destroy(Path::new("/db"), &db, &[]).unwrap();
    assert!(!env.fs.exists(Path::new("/db")).unwrap());
}

#[test]
fn destroy_deletes_only_the_info_logs_of_its_database_in_a_shared_directory() {
    let env = Env::memory(6);
    let shared = DbOptions { db_log_dir: "/logs".to_string(), ..options(&env) };
    for path in ["/a", "/b"] {
        for _ in 0..2 {
            open_at(path, shared.clone(), FamilyOptions::default()).unwrap().close().unwrap();
        }
    }
    let info_logs = |of: &str| {
        let names = env.fs.list(Path::new("/logs")).unwrap();
        names.iter().filter(|name| name.starts_with(of)).count()
    };
    assert_eq!((info_logs("a_LOG"), info_logs("b_LOG")), (2, 2));
    destroy(Path::new("/a"), &shared, &[]).unwrap();
    assert_eq!((info_logs("a_LOG"), info_logs("b_LOG")), (0, 2));
}

#[test]
fn destroy_leaves_files_of_the_user() {
    let env = Env::memory(7);
    let dirs = DbOptions { wal_dir: "/wal".to_string(), ..options(&env) };
    let db = open_at("/db", dirs.clone(), FamilyOptions::default()).unwrap();
    put(&db, "a", "1");
    db.close().unwrap();
    drop(db);
    let write = |path: &str| env.fs.write_all(Path::new(path), b"text", true).unwrap();
    env.fs.create_dir_all(Path::new("/db/lost")).unwrap();
    let kept =
        ["/db/lost/thesis.txt", "/db/notes", "/wal/000003.sst", "/wal/OPTIONS-000004", "/wal/archive.txt"];
    kept.iter().for_each(|path| write(path));
    ["/db/lost/17-000012.sst", "/db/000099.sst", "/wal/000098.log"].iter().for_each(|path| write(path));
    destroy(Path::new("/db"), &dirs, &[]).unwrap();
    let mut left: Vec<_> = ["/db", "/db/lost", "/wal"]
        .into_iter()
        .flat_map(|dir| {
            env.fs.list(Path::new(dir)).unwrap().into_iter().map(move |name| format!("{dir}/{name}"))
        })
        .filter(|path| path != "/db/lost")
        .collect();
    left.sort();
    let mut kept = kept.map(str::to_string);
    kept.sort();
    assert_eq!(left, kept);
}

#[test]
fn a_database_is_not_created_where_files_of_another_database_are() {
    for file in ["/db/000007.sst", "/db/000007.blob", "/db/000007.ldb"] {
        let env = Env::memory(8);
        env.fs.create_dir_all(Path::new("/db")).unwrap();
        env.fs.write_all(Path::new(file), b"data", true).unwrap();
        let elsewhere = DbPath { path: "/tables".into(), target_size: 1 << 30 };
        let db = DbOptions { db_paths: vec![elsewhere], ..options(&env) };
        let error = open_at("/db", db, FamilyOptions::default()).err().unwrap();
        assert_eq!(error.kind(), Kind::Corruption, "{error}");
        assert!(env.fs.exists(Path::new(file)).unwrap());
    }
}

#[test]
fn stray_file_numbers_do_not_wrap_the_counter() {
    let names = |number: FileNumber| {
        ["{}.sst", "{}.dbtmp", "{}.log", "OPTIONS-{}", "MANIFEST-{}"]
            .map(|name| name.replace("{}", &number.to_string()))
    };
    let (largest, end) = (format::names::FILE_NUMBER_MAX, FileNumber::new(u64::MAX));
    for stray in names(largest).into_iter().chain(names(largest.next())).chain(names(end)) {
        let env = Env::memory(9);
        let db = open_at("/db", options(&env), FamilyOptions::default()).unwrap();
        for round in 0..3 {
            put(&db, &format!("key{round}"), "value");
            flush(&db);
        }
        db.close().unwrap();
        drop(db);
        let path = Path::new("/db").join(&stray);
        env.fs.write_all(&path, b"", true).unwrap();
        let opened = open_at("/db", options(&env), FamilyOptions::default());
        if stray.contains(&largest.to_string()) {
            // The failed open changed no file, and the error names the number.
            let error = opened.err().unwrap();
            assert!(error.to_string().contains(&largest.to_string()), "{stray}: {error}");
            env.fs.unlink(&path).unwrap();
        } else {
            let db = opened.unwrap();
            put(&db, "key3", "value");
            flush(&db);
            db.close().unwrap();
            assert!(env.fs.exists(&path).unwrap(), "{stray} was deleted");
        }
        let db = open_at("/db", options(&env), FamilyOptions::default()).unwrap();
        assert!(scan(&db).len() >= 3, "{stray}");
    }
}

#[test]
fn a_flush_does_not_replace_a_file_that_has_its_number() {
    let env = Env::memory(10);
    let db = open_at("/db", options(&env), FamilyOptions::default()).unwrap();
    put(&db, "a", "1");
    // The next file numbers: another program created these files after the open.
    for number in 1..40 {
        let path = Path::new("/db").join(format::names::table(base::FileNumber::new(number)));
        env.fs.write_all(&path, b"theirs", true).unwrap();
    }
    let failed = db.flush(&[db.default_family().unwrap()], &FlushOptions::default()).unwrap_err();
    assert!(failed.to_string().contains("creating a new file"), "{failed}");
    for number in 1..40 {
        let path = Path::new("/db").join(format::names::table(base::FileNumber::new(number)));
        assert_eq!(env.fs.read_all(&path, 100).unwrap(), b"theirs");
    }
    assert_eq!(get(&db, "a").as_deref(), Some("1"));
}

/// Appends a version edit that sets the last sequence number to the MANIFEST of a closed database.
fn set_last_sequence(env: &Env, seq: u64) {
    let current = env.fs.read_all(Path::new("/db/CURRENT"), 100).unwrap();
    let path = Path::new("/db").join(std::str::from_utf8(&current).unwrap().trim());
    let mut bytes = env.fs.read_all(&path, 1 << 20).unwrap();
    let edit =
        format::edit::VersionEdit { last_sequence: Some(SequenceNumber::new(seq)), ..Default::default() };
    let mut record = Vec::new();
    edit.encode(0, &mut record).unwrap();
    let mut writer = format::wal::Writer::resume(format::wal::Framing::Classic, bytes.len() as u64);
    writer.append(&mut bytes, &record).unwrap();
    env.fs.write_all(&path, &bytes, true).unwrap();
    let _ = env.fs.unlink(Path::new("/db/PROOF"));
}

#[test]
fn a_write_after_the_last_sequence_number_fails_and_changes_nothing() {
    let env = Env::memory(11);
    let db = open_at("/db", options(&env), FamilyOptions::default()).unwrap();
    put(&db, "a", "old");
    flush(&db);
    db.close().unwrap();
    drop(db);
    set_last_sequence(&env, (base::key::MAX_SEQUENCE - 6).get());
    let db = open_at("/db", options(&env), FamilyOptions::default()).unwrap();
    let family = db.default_family().unwrap();
    let mut written = 0;
    for round in 0..10 {
        let value = format!("new{round}");
        match db.put(&family, b"a", value.as_bytes(), &WriteOptions::default()) {
            Ok(()) => written = round,
            Err(error) => assert_eq!(error.kind(), Kind::Aborted, "{error}"),
        }
    }
    assert!((3..9).contains(&written), "{written}");
    let newest = format!("new{written}");
    assert_eq!(get(&db, "a"), Some(newest.clone()));
    flush(&db);
    assert_eq!(get(&db, "a"), Some(newest.clone()));
    db.close().unwrap();
    drop((family, db));
    let db = open_at("/db", options(&env), FamilyOptions::default()).unwrap();
    assert_eq!(get(&db, "a"), Some(newest));
}

#[test]
fn more_background_jobs_than_threads_can_be_are_refused() {
    let env = Env::memory(12);
    let db = open_at("/db", options(&env), FamilyOptions::default()).unwrap();
    for name in ["max_background_jobs", "max_background_compactions", "max_background_flushes"] {
        let error = db.admin().set_db_options(&[(name, "2147483647")]).unwrap_err();
        assert_eq!(error.kind(), Kind::InvalidArgument, "{name}: {error}");
        assert!(error.to_string().contains(name), "{error}");
        db.admin().set_db_options(&[(name, "4096")]).unwrap();
    }
    drop(db);
    let many = DbOptions { max_background_jobs: i32::MAX, ..options(&env) };
    assert!(open_at("/db", many, FamilyOptions::default()).is_err());
}

#[test]
fn empty_path_is_refused_and_no_file_is_created() {
    let env = Env::memory(4);
    let request = || OpenRequest::new("", options(&env), FamilyOptions::default());
    let answers = [
        Db::open(request()).map(drop),
        Db::open_read_only(request()).map(drop),
        fsck(&request()).map(drop),
        repair(request()).map(drop),
        list_families(&env, Path::new("")).map(drop),
    ];
    for answer in answers {
        let error = answer.unwrap_err();
        assert_eq!((error.kind(), error.subcode()), (Kind::IoError, Subcode::PathNotFound), "{error}");
    }
    assert!(["LOG", "LOCK", "CURRENT", "lost"].iter().all(|name| !env.fs.exists(Path::new(name)).unwrap()));
}

#[test]
fn column_family_with_an_empty_name_is_not_created() {
    let env = Env::memory(5);
    let unnamed = || FamilyDescriptor::new("", FamilyOptions::default());
    let mut request = OpenRequest::new(MAIN, options(&env), FamilyOptions::default());
    request.options.create_missing_column_families = true;
    request.families.push(unnamed());
    let refused = [
        Db::open(request).map(drop),
        open_at(MAIN, options(&env), FamilyOptions::default())
            .unwrap()
            .admin()
            .create_family(unnamed())
            .map(drop),
    ];
    for outcome in refused {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), Kind::InvalidArgument, "{error}");
        assert_eq!(error.message(), "Column family name cannot be the empty string");
    }
}

/// Creates databases with the same `db_paths`. Each database has one SST file.
fn with_one_sst_file_each(env: &Env, names: &[&str]) {
    for at in names {
        let db = open_at(at, with_shared_tables(env), FamilyOptions::default()).unwrap();
        put(&db, "k", at);
        put(&db, at, "own");
        flush(&db);
        db.close().unwrap();
    }
}

fn remove(env: &Env, dir: &str, prefix: &str) {
    for name in files(env, dir).iter().filter(|name| name.starts_with(prefix)) {
        env.fs.unlink(&Path::new(dir).join(name)).unwrap();
    }
}

fn shared_request(env: &Env, at: &str) -> OpenRequest {
    OpenRequest::new(at, with_shared_tables(env), FamilyOptions::default())
}

#[test]
fn a_repair_adopts_and_moves_no_sst_file_of_another_database_in_shared_db_paths() {
    let env = Env::memory(14);
    with_one_sst_file_each(&env, &["/one", "/two"]);
    let external = Path::new("/shared/000990.sst");
    env.fs.write_all(external, b"not complete", true).unwrap();
    let both = files(&env, "/shared");
    assert_eq!(both.len(), 3);
    remove(&env, "/two", "MANIFEST");
    let id = |at: &str| {
        let bytes = env.fs.read_all(&Path::new(at).join("IDENTITY"), 100).unwrap();
        String::from_utf8(bytes).unwrap().trim().to_string()
    };
    let report = repair(shared_request(&env, "/two")).unwrap();
    assert_eq!(files(&env, "/shared"), both, "{report:#?}");
    let lost: Vec<_> = report.problems.iter().filter(|p| p.what.contains("the file stays")).collect();
    assert!(lost.len() == 2 && lost.iter().all(|p| p.weight == Weight::Loss), "{report:#?}");
    let names_both = |what: &str| what.contains(&id("/one")) && what.contains(&id("/two"));
    assert!(lost.iter().any(|p| names_both(&p.what)), "{report:#?}");
    assert!(lost.iter().any(|p| p.file == external && p.what.contains("unknown database")), "{report:#?}");
    for (at, other) in [("/two", "/one"), ("/one", "/two")] {
        let db = Db::open(shared_request(&env, at)).unwrap();
        assert_eq!(
            (get(&db, "k").as_deref(), get(&db, at).as_deref()),
            (Some(at), Some("own")),
            "{report:#?}"
        );
        assert_eq!(get(&db, other), None, "{report:#?}");
        db.close().unwrap();
    }
}

#[test]
fn a_repair_without_the_id_of_the_database_does_not_choose_between_databases() {
    let env = Env::memory(15);
    with_one_sst_file_each(&env, &["/one", "/two"]);
    let both = files(&env, "/shared");
    remove(&env, "/two", "MANIFEST");
    remove(&env, "/two", "IDENTITY");
    let error = repair(shared_request(&env, "/two")).unwrap_err();
    assert_eq!(error.kind(), Kind::NotSupported, "{error}");
    assert!(error.to_string().contains("IDENTITY"), "{error}");
    assert_eq!(files(&env, "/shared"), both);
    let one = Db::open(shared_request(&env, "/one")).unwrap();
    assert_eq!(get(&one, "k").as_deref(), Some("/one"));
}

#[test]
fn a_repair_without_the_id_of_the_database_uses_the_sst_files_of_one_database() {
    let env = Env::memory(16);
    with_one_sst_file_each(&env, &["/one"]);
    remove(&env, "/one", "MANIFEST");
    remove(&env, "/one", "IDENTITY");
    repair(shared_request(&env, "/one")).unwrap();
    let one = Db::open(shared_request(&env, "/one")).unwrap();
    assert_eq!(get(&one, "k").as_deref(), Some("/one"));
}

#[test]
fn destroy_deletes_no_sst_file_of_another_database_in_shared_db_paths() {
    let env = Env::memory(12);
    let flushed = |at: &str| {
        let db = open_at(at, with_shared_tables(&env), FamilyOptions::default()).unwrap();
        put(&db, "k", at);
        flush(&db);
        db
    };
    let one = flushed("/one");
    flushed("/two").close().unwrap();
    let both = files(&env, "/shared");
    assert_eq!(both.len(), 2);
    destroy(Path::new("/two"), &with_shared_tables(&env), &[]).unwrap();
    assert!(!env.fs.exists(Path::new("/two")).unwrap());
    let left = files(&env, "/shared");
    assert_eq!(left.len(), 1, "{both:?} {left:?}");
    assert_eq!(get(&one, "k").as_deref(), Some("/one"));
    one.close().unwrap();
    drop(one);
    let one = open_at("/one", with_shared_tables(&env), FamilyOptions::default()).unwrap();
    assert_eq!(get(&one, "k").as_deref(), Some("/one"));
    drop(one);
    destroy(Path::new("/one"), &with_shared_tables(&env), &[]).unwrap();
    assert!(!env.fs.exists(Path::new("/shared")).unwrap(), "its own files go");
}
