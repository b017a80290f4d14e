//! The text of RocksDB's OPTIONS files, with its rules and escapes.

use super::*;
use proptest::prelude::*;

const SAMPLE: &str = include_str!("../../../fixtures/formats/OPTIONS.sample");

fn error(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

#[test]
fn rocksdb_file_reads_whole() {
    let file = parse(SAMPLE).unwrap();
    assert_eq!(file.rocksdb_version, ROCKSDB_VERSION);
    assert_eq!(file.options_file_version, Version([1, 1, 0]));
    assert!(!file.is_from_future());
    assert_eq!(file.families().collect::<Vec<_>>(), ["default"]);
    assert_eq!(file.db_options().len(), 97);
    assert_eq!(file.family("default").len(), 89);
    let (factory, table) = file.table("default").unwrap();
    assert_eq!((factory, table.len()), ("BlockBasedTable", 41));
}

#[test]
fn the_text_equals_the_text_of_rocksdb() {
    let file = parse(SAMPLE).unwrap();
    let sections: Vec<_> = file.sections.into_iter().skip(1).map(|s| (s.title, s.statements)).collect();
    assert_eq!(write(&sections), SAMPLE);
}

#[test]
fn sections_are_accepted_only_in_their_order() {
    let ok = "[DBOptions]\n[CFOptions \"default\"]\n";
    parse(ok).unwrap();
    assert!(error("").contains("single DBOptions"));
    assert!(error("[DBOptions]\n").contains("CFOptions:default"));
    assert!(error("[DBOptions]\n[CFOptions \"x\"]\n").contains("Default column family must be the first"));
    assert!(
        error(&format!("{ok}[CFOptions \"default\"]\n")).contains("Default column family must be the first")
    );
    assert!(error(&format!("{ok}[CFOptions \"x\"]\n[CFOptions \"x\"]\n")).contains("Two identical"));
    assert!(error(&format!("{ok}[DBOptions]\n")).contains("More than one DBOption"));
    assert!(error(&format!("[Version]\n{ok}[Version]\n")).contains("More than one Version"));
    assert!(error(&format!("{ok}[TableOptions/X \"y\"]\n")).contains("Does not find a matched"));
    assert!(error(&format!("{ok}[TableOptions/ \"default\"]\n")).contains("Unknown section"));
    assert!(error("[Foo]\n").contains("Unknown section [Foo]"));
    assert!(error("[DBOptions]\nabc\n").contains("must have a '='. (at line 2)"));
    assert!(error("[DBOptions]\n=abc\n").contains("variable name"));
    assert!(parse("[DBOptions]\n").unwrap_err().is_corruption());
}

#[test]
fn versions_are_checked() {
    let with =
        |version: &str| parse(&format!("[Version]\n{version}\n[DBOptions]\n[CFOptions \"default\"]\n"));
    assert!(with("rocksdb_version=12.0.1").unwrap().is_from_future());
    assert!(with("unknown=1").unwrap().rocksdb_version == Version::default());
    for bad in [
        "rocksdb_version=1.2.3.4",
        "rocksdb_version=.1",
        "rocksdb_version=1.",
        "rocksdb_version=a",
        "options_file_version=0.9",
        "options_file_version=1.1.1",
        "rocksdb_version=99999999999",
    ] {
        assert!(with(bad).is_err(), "{bad}");
    }
}

#[test]
fn comments_end_lines_unless_escaped() {
    let text = "# first\n[DBOptions] # x\n a = b # c\n  d=e\\#f\n\n[CFOptions \"default\"]\na=1\na=2\n";
    let file = parse(text).unwrap();
    assert_eq!(file.db_options(), [("a".into(), "b".into()), ("d".into(), "e\\#f".into())]);
    assert_eq!(file.family("default"), [("a".into(), "1".into())]);
}

#[test]
fn names_of_families_are_escaped() {
    let name = "a#b\\c:d\r\n\"e\"";
    let title = Title::CfOptions(name.to_string());
    assert_eq!(title.to_string(), "[CFOptions \"a\\#b\\\\c\\:d\\r\\n\"e\"\"]");
    let text = write(&[
        (Title::DbOptions, vec![]),
        (Title::CfOptions("default".into()), vec![]),
        (title, vec![("k".into(), "v".into())]),
    ]);
    assert_eq!(parse(&text).unwrap().family(name), [("k".into(), "v".into())]);
}

#[test]
fn empty_values_are_left_out() {
    let text = write(&[(Title::DbOptions, vec![("a".into(), "".into()), ("b".into(), "1".into())])]);
    assert!(text.ends_with("\n[DBOptions]\n  b=1\n  \n"));
}

fn map(text: &str) -> Vec<(String, String)> {
    parse_map(text).unwrap()
}

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect()
}

#[test]
fn option_strings_are_split_as_rocksdb_splits_them() {
    assert_eq!(map(""), []);
    assert_eq!(map("  "), []);
    assert_eq!(map("k1=v1;k2=v2;k3=v3"), pairs(&[("k1", "v1"), ("k2", "v2"), ("k3", "v3")]));
    assert_eq!(map("k1 = v1 ; k2=v2; k3  =   v3  ;"), pairs(&[("k1", "v1"), ("k2", "v2"), ("k3", "v3")]));
    assert_eq!(
        map("k1=v1;k2={nk1=nv1;nk2=nv2};k3=v3;"),
        pairs(&[("k1", "v1"), ("k2", "nk1=nv1;nk2=nv2"), ("k3", "v3")])
    );
    assert_eq!(map("k1={a={b={c=d}}}  ;k2=;"), pairs(&[("k1", "a={b={c=d}}"), ("k2", "")]));
    assert_eq!(map("{{k=v;}}"), pairs(&[("k", "v")]));
    assert_eq!(map("k={}"), pairs(&[("k", "")]));
    assert_eq!(map("k=1;j=2;k={3}"), pairs(&[("k", "3"), ("j", "2")]), "the last value counts");
    for bad in ["k", "=v", "k={", "k={a=b}}", "k={a}x", "k1=v1;k2", "{k=v", "{k=v}x", "k}=v", ";k=v"] {
        assert!(parse_map(bad).is_err(), "{bad}");
    }
}

#[test]
fn lists_are_split_outside_braces() {
    assert_eq!(parse_list("1:2:3", ':').unwrap(), ["1", "2", "3"]);
    assert_eq!(parse_list("{a:b}:{c}", ':').unwrap(), ["a:b", "c"]);
    assert!(parse_list("", ':').unwrap().is_empty());
    assert!(parse_list("{a:b", ':').is_err());
}

#[test]
fn skip_continues_only_after_the_expected_statement() {
    let mut lines = Lines::new("  a=b\n\n  c=d\n");
    assert!(!lines.skip("a", "") && !lines.skip("a", "bc") && !lines.skip("c", "d") && lines.skip("a", "b"));
    assert!(!lines.skip("c", "d"), "an empty line is between");
    assert_eq!(lines.next().unwrap(), Some(Line::Statement { name: "c", value: "d" }));
    assert_eq!(lines.next().unwrap(), None);
}

proptest! {
    #[test]
    fn escapes_come_back(text in any::<String>()) {
        prop_assert_eq!(unescape(&escape(&text)), text.clone());
        prop_assert!(!escape(&text).contains(['\n', '\r']));
    }

    #[test]
    fn random_text_never_panics(text in "[\\[\\]a-zDBOCFptions\"#\\\\={};: \n\r]{0,120}") {
        let _ = parse(&text);
        let _ = parse_map(&text);
        let _ = parse_list(&text, ':');
    }

    #[test]
    fn changed_files_never_panic(at in 0..SAMPLE.len(), c in any::<char>()) {
        if let Some((head, tail)) = SAMPLE.split_at_checked(at) {
            let mut tail = tail.chars();
            tail.next();
            let _ = parse(&format!("{head}{c}{}", tail.as_str()));
            let _ = parse(head);
        }
    }
}
