//! File names in both directions.

use super::*;
use crate::test_vectors::db_vectors;
use base::WalNumber;

#[test]
fn file_names_parse_to_their_parts() {
    let n = FileNumber::new(12);
    for (name, file) in [
        ("000012.log", FileName::Wal(WalNumber::of_file(n))),
        ("archive/000012.log", FileName::ArchivedWal(WalNumber::of_file(n))),
        ("000012.sst", FileName::Table(n)),
        ("000012.ldb", FileName::LegacyTable(n)),
        ("000012.blob", FileName::Blob(n)),
        ("MANIFEST-000012", FileName::Manifest(n)),
        ("CURRENT", FileName::Current),
        ("IDENTITY", FileName::Identity),
        ("LOCK", FileName::Lock),
        ("OPTIONS-000012", FileName::Options(n)),
        ("000012.dbtmp", FileName::Temp(n)),
        ("OPTIONS-000012.dbtmp", FileName::OptionsTemp(n)),
        ("LOG", FileName::InfoLog),
        ("LOG.old", FileName::OldInfoLog(0)),
        ("LOG.old.1795292510123456", FileName::OldInfoLog(1_795_292_510_123_456)),
        ("COMPACTION_PROGRESS-17", FileName::CompactionProgress(17)),
        ("COMPACTION_PROGRESS-17.dbtmp", FileName::CompactionProgressTemp(17)),
        ("METADB-3", FileName::MetaDb(3)),
        ("123456789.sst", FileName::Table(FileNumber::new(123_456_789))),
    ] {
        assert_eq!(FileName::parse(name), Some(file), "{name}");
        assert_eq!(file.to_string(), name);
    }
}

#[test]
fn any_count_of_digits_is_read() {
    assert_eq!(FileName::parse("7.sst"), Some(FileName::Table(FileNumber::new(7))));
    assert_eq!(FileName::parse("/0000000000007.sst"), Some(FileName::Table(FileNumber::new(7))));
    assert_eq!(
        FileName::parse("4611686018427387903.log"),
        Some(FileName::Wal(WalNumber::of_file(FILE_NUMBER_MAX)))
    );
}

#[test]
fn unknown_file_names_have_no_type() {
    for name in [
        "",
        "foo",
        "foo-dx-100.log",
        ".log",
        "manifest",
        "CURREN",
        "CURRENTX",
        "MANIFES-3",
        "MANIFEST",
        "MANIFEST-",
        "XMANIFEST-3",
        "MANIFEST-3x",
        "LOC",
        "LOCKx",
        "LO",
        "LOGx",
        "LOG.old.x",
        "100",
        "100.",
        "100.lop",
        "4611686018427387904.log",
        "4611686018427387904.sst",
        "MANIFEST-4611686018427387904",
        "OPTIONS-18446744073709551615",
        "18446744073709551615.dbtmp",
        "18446744073709551616.log",
        "184467440737095516150.log",
        "+12.sst",
        "12.sst.trash",
        "OPTIONS-",
        "OPTIONS-12.bak",
        "OPTIONS-12.dbtmpx",
        "archive",
        "archive/",
        "archive/12.sst",
        "1_2.sst",
        "１２.sst",
    ] {
        assert_eq!(FileName::parse(name), None, "{name}");
    }
}

#[test]
fn info_log_in_another_directory_is_named_after_the_path() {
    let parse = |name| FileName::parse_with_info_log(name, "data_LOG");
    assert_eq!(parse("data_LOG"), Some(FileName::InfoLog));
    assert_eq!(parse("data_LOG.old.7"), Some(FileName::OldInfoLog(7)));
    assert_eq!(parse("LOG"), None);
}

#[test]
fn current_names_a_manifest() {
    for file in db_vectors("small_files") {
        if file["name"].as_str().unwrap().ends_with("CURRENT") {
            let text = file["text"].as_str().unwrap();
            assert_eq!(current_content(parse_current(text.as_bytes()).unwrap()), text);
        }
    }
    for bad in
        ["", "MANIFEST-000005", "MANIFEST-\n", "MANIFEST-000005\n\n", "/MANIFEST-000005\n", "x\n", "\n"]
    {
        assert!(parse_current(bad.as_bytes()).unwrap_err().is_corruption(), "{bad:?}");
    }
    assert!(parse_current(b"MANIFEST-\xff\n").is_err());
}

#[test]
fn identity_may_end_with_a_newline() {
    assert_eq!(parse_identity(b"id").unwrap(), "id");
    assert_eq!(parse_identity(b"id\n").unwrap(), "id");
    assert!(parse_identity(b"\xff").is_err());
}
