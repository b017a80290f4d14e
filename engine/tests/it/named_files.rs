//! Calls that name files, levels or ranges: compactions of named files, deletions of files, and the promotion of level 0.

use std::sync::Arc;

use base::{FileNumber, Kind, Level};
use env::Env;
use ironstone_engine::db::{Db, delete_file};
use ironstone_engine::options::{
    BottommostLevelCompaction, CompactRangeOptions, CompactionOptions, CompressionType, FamilyOptions,
    WriteOptions,
};

use crate::basic::{flush, get, open, put, scan};
use crate::styles::{bounded, compact, level, numbers, plain, table, tree};

#[test]
fn named_files_are_compacted_to_the_level_of_the_caller() {
    let env = Env::memory(8);
    let db = open(&env, FamilyOptions { disable_auto_compactions: true, ..bounded() });
    let family = db.default_family().unwrap();
    for key in ["a", "b", "c"] {
        table(&db, key);
    }
    let by = |o: CompactionOptions, files: &[FileNumber], to| {
        db.compactions().compact_files(&family, files, to, None, &o)
    };
    let plain = CompactionOptions::default;
    let newest = numbers(&db)[0];
    let kinds = [
        by(plain(), &[], Level::new(1)).unwrap_err().kind(),
        by(plain(), &[FileNumber::new(999)], Level::new(1)).unwrap_err().kind(),
        by(plain(), &[newest], Level::new(9)).unwrap_err().kind(),
        db.compactions()
            .compact_files(&family, &[newest], Level::new(1), Some(3), &plain())
            .unwrap_err()
            .kind(),
    ];
    assert_eq!(kinds, [Kind::InvalidArgument; 4]);
    let cut = CompactionOptions { output_file_size_limit: 10_000, ..plain() };
    assert_eq!(by(cut, &numbers(&db), Level::new(2)).unwrap().len(), 3);
    assert_eq!(tree(&db), [level(2, &["a", "b", "c"])]);
    let before = numbers(&db);
    let moved = CompactionOptions { allow_trivial_move: true, ..plain() };
    by(moved, &before, Level::new(4)).unwrap();
    assert_eq!((tree(&db), numbers(&db)), (vec![level(4, &["a", "b", "c"])], before));
    let given_up = CompactionOptions { canceled: Some(Arc::new(true.into())), ..plain() };
    assert_eq!(by(given_up, &numbers(&db), Level::new(5)).unwrap_err().kind(), Kind::Incomplete);
    let compressed = CompactionOptions { compression: CompressionType::SNAPPY, ..plain() };
    by(compressed, &numbers(&db), Level::new(5)).unwrap();
    let version = family.pin().version.clone();
    assert!(version.files().all(|(_, f)| f.size < 5_000), "compressed");
    assert_eq!(scan(&db).len(), 3);
}

/// Creates a database with six SST files of one key each on the last level.
fn spread(env: &Env) -> Db {
    let small = FamilyOptions { disable_auto_compactions: true, target_file_size_base: 10_000, ..bounded() };
    let db = open(env, small);
    for key in ["a", "b", "c", "d", "e", "f"] {
        put(&db, key, &"v".repeat(10_000));
    }
    compact(&db, &CompactRangeOptions::default()).unwrap();
    compact(
        &db,
        &CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        },
    )
    .unwrap();
    assert_eq!(tree(&db), [level(6, &["a", "b", "c", "d", "e", "f"])]);
    db
}

#[test]
fn tables_wholly_in_a_range_are_dropped() {
    let env = Env::memory(9);
    let db = spread(&env);
    let family = db.default_family().unwrap();
    put(&db, "b", "in memory");
    let drop_in = |begin: Option<&str>, end: Option<&str>, include_end| {
        let range = (begin.map(str::as_bytes), end.map(str::as_bytes));
        db.files().delete_files_in_ranges(&family, &[range], include_end).unwrap();
    };
    drop_in(Some("b"), Some("c"), false);
    assert_eq!(tree(&db), [level(6, &["a", "c", "d", "e", "f"])]);
    assert_eq!(get(&db, "b").as_deref(), Some("in memory"));
    drop_in(Some("b"), Some("c"), true);
    drop_in(Some("e"), None, true);
    drop_in(Some("x"), Some("y"), true);
    drop_in(Some("z"), Some("a"), true);
    assert_eq!(tree(&db), [level(6, &["a", "d"])]);
    db.files().delete_files_in_ranges(&family, &[(None, None), (None, None)], true).unwrap();
    assert_eq!(tree(&db), []);
    drop((db, family));
    let db = open(&env, plain());
    assert_eq!(scan(&db).len(), 1);
}

/// Deletes the SST file whose smallest key is `key`. Returns the message of the error, or `ok`.
fn delete_file_of(db: &Db, key: &str) -> String {
    let family = db.default_family().unwrap();
    let version = family.pin().version.clone();
    let (_, file) = version.files().find(|(_, file)| file.smallest_user_key() == key.as_bytes()).unwrap();
    let name = format!("/{:06}.sst", file.number.get());
    delete_file(db, &name).map_or_else(|error| error.message().to_string(), |()| "ok".to_string())
}

#[test]
fn an_sst_file_is_deleted_only_from_the_last_level_or_the_end_of_level_0() {
    let env = Env::memory(9);
    let db = spread(&env);
    put(&db, "bb", "level 0");
    flush(&db);
    assert_eq!(delete_file_of(&db, "c"), "ok");
    assert_eq!(delete_file_of(&db, "bb"), "File not in last level");
    assert_eq!(tree(&db), [level(0, &["bb"]), level(6, &["a", "b", "d", "e", "f"])]);
    for key in ["a", "b", "d", "e", "f"] {
        assert_eq!(delete_file_of(&db, key), "ok");
    }
    put(&db, "cc", "newest");
    flush(&db);
    assert_eq!(delete_file_of(&db, "cc"), "File in level 0, but not oldest");
    assert_eq!(delete_file_of(&db, "bb"), "ok");
    assert_eq!(delete_file_of(&db, "cc"), "ok");
    assert_eq!(tree(&db), []);
    let refused = |name: &str| delete_file(&db, name).unwrap_err();
    assert_eq!(refused("000999.sst").message(), "File not found");
    assert_eq!(refused("CURRENT").message(), "Invalid file name");
    assert_eq!(refused("000004.log").kind(), base::Kind::NotSupported);
    assert!(refused("archive/000004.log").is_not_found());
    drop(db);
    assert_eq!(scan(&open(&env, plain())).len(), 0);
}

#[test]
fn level_0_is_promoted_if_the_target_level_is_empty() {
    let env = Env::memory(10);
    let db = open(&env, FamilyOptions { disable_auto_compactions: true, ..plain() });
    let family = db.default_family().unwrap();
    for key in ["b", "a", "c"] {
        table(&db, key);
    }
    for (to, why) in [(0, "Invalid target level"), (7, "Target level does not exist")] {
        assert_eq!(db.compactions().promote_l0(&family, Level::new(to)).unwrap_err().message(), why);
    }
    let before = numbers(&db).len();
    db.compactions().promote_l0(&family, Level::new(2)).unwrap();
    assert_eq!((tree(&db), before), (vec![level(2, &["a", "b", "c"])], 3));
    table(&db, "a");
    assert_eq!(
        db.compactions().promote_l0(&family, Level::new(3)).unwrap_err().message(),
        "All levels up to target_level must be empty"
    );
    put(&db, "b", "1");
    table(&db, "a");
    assert_eq!(
        db.compactions().promote_l0(&family, Level::new(1)).unwrap_err().message(),
        "L0 has overlapping files"
    );
    drop((db, family));
    let db = open(&env, plain());
    assert_eq!(scan(&db).len(), 3);
}

/// Creates two SST files in level 2. The first file ends with the deletion of `b`, and the second file begins with the older value
/// of `b`.
fn deletion_before_its_value(env: &Env) -> Db {
    let db = open(env, FamilyOptions { disable_auto_compactions: true, ..plain() });
    put(&db, "b", "older");
    table(&db, "c");
    put(&db, "a", "1");
    let family = db.default_family().unwrap();
    db.delete(&family, b"b", &WriteOptions::default()).unwrap();
    flush(&db);
    db.compactions().promote_l0(&family, Level::new(2)).unwrap();
    assert_eq!(tree(&db), [level(2, &["a-b", "b-c"])]);
    db
}

#[test]
fn level_0_files_that_share_only_a_user_key_are_promoted() {
    let env = Env::memory(10);
    let db = deletion_before_its_value(&env);
    assert_eq!((get(&db, "b"), scan(&db).len()), (None, 2));
    drop(db);
    let db = open(&env, plain());
    assert_eq!((get(&db, "b"), scan(&db).len()), (None, 2));
    compact(&db, &CompactRangeOptions::default()).unwrap();
    assert_eq!((get(&db, "b"), scan(&db).len()), (None, 2));
}

#[test]
fn deletion_of_a_file_brings_no_older_value_of_the_next_file_back() {
    let env = Env::memory(10);
    let db = deletion_before_its_value(&env);
    let refused = "File shares its last user key with the next file of the level";
    assert_eq!((delete_file_of(&db, "a").as_str(), get(&db, "b")), (refused, None));
    assert_eq!((delete_file_of(&db, "b").as_str(), get(&db, "b")), ("ok", None));
    assert_eq!((delete_file_of(&db, "a").as_str(), tree(&db)), ("ok", Vec::new()));
}

/// Without the end of the range, the second file stays. It holds an older value of the last key of the first file.
#[test]
fn deletion_of_the_files_in_a_range_brings_no_older_value_back() {
    let env = Env::memory(10);
    let db = deletion_before_its_value(&env);
    let family = db.default_family().unwrap();
    let range: (Option<&[u8]>, Option<&[u8]>) = (Some(b"a"), Some(b"c"));
    db.files().delete_files_in_ranges(&family, &[range], false).unwrap();
    assert_eq!((tree(&db), get(&db, "b")), (vec![level(2, &["a-b", "b-c"])], None));
    let second: (Option<&[u8]>, Option<&[u8]>) = (Some(b"a"), Some(b"d"));
    db.files().delete_files_in_ranges(&family, &[range, second], false).unwrap();
    assert_eq!((tree(&db), get(&db, "b")), (Vec::new(), None));
}
