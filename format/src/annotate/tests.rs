//! Annotations cover every byte. Golden files contain examples.

use super::*;
use crate::test_vectors::{damaged, db_vectors, hex, rle};
use proptest::prelude::*;

/// Checks that the leaves cover their branch without gaps or overlaps.
fn check_cover(tree: &Tree) {
    let own: Vec<&Tree> = tree.children.iter().filter(|c| !c.derived).collect();
    if own.is_empty() {
        return;
    }
    let mut at = tree.offset;
    let mut bytes = Vec::new();
    for child in own {
        assert_eq!(child.offset, at, "{tree}");
        at += child.bytes.len() as u64;
        bytes.extend_from_slice(&child.bytes);
        check_cover(child);
    }
    assert_eq!(bytes, tree.bytes, "{tree}");
}

/// Compares with the golden file. With `IRONSTONE_REWRITE=1` the file is rewritten instead, and the reviewer
/// reads the diff.
fn golden(name: &str, text: &str) {
    let path = format!("{}/src/annotate/testdata/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("IRONSTONE_REWRITE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text, "{path}");
}

#[test]
fn batches_are_annotated() {
    let mut all = String::new();
    for vector in db_vectors("write_batches") {
        let tree = batch(&hex(&vector["hex"]));
        check_cover(&tree);
        all.push_str(&format!("# {}\n{tree}", vector["name"].as_str().unwrap()));
    }
    assert!(!all.contains("cannot be read"));
    golden("batches.txt", &all);
}

#[test]
fn edits_are_annotated() {
    let mut all = String::new();
    for vector in db_vectors("version_edits").iter().chain(&db_vectors("edit_decode_cases")) {
        let tree = edit(&hex(&vector["hex"]));
        check_cover(&tree);
        all.push_str(&format!("# {}\n{tree}", vector["name"].as_str().unwrap()));
    }
    golden("edits.txt", &all);
}

#[test]
fn wals_are_annotated() {
    for vector in db_vectors("wal_files") {
        let content =
            if vector["compressed"].as_bool().unwrap() { Content::Opaque } else { Content::Batches };
        let tree = wal(&rle(&vector["rle"]), content);
        check_cover(&tree);
        let name = vector["name"].as_str().unwrap();
        if name.starts_with("udt_") || name.starts_with("wal_track2/000010") {
            golden(&format!("{}.txt", name.replace('/', "-")), &tree.to_string());
        }
    }
}

#[test]
fn every_damage_is_annotated_whole() {
    for vector in db_vectors("version_edits").iter().chain(&db_vectors("write_batches")) {
        for bytes in damaged(&hex(&vector["hex"])) {
            check_cover(&edit(&bytes));
            check_cover(&batch(&bytes));
        }
    }
}

proptest! {
    #[test]
    fn random_bytes_are_annotated_whole(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for tree in [batch(&bytes), edit(&bytes), wal(&bytes, Content::Batches), wal(&bytes, Content::Edits)] {
            check_cover(&tree);
            prop_assert_eq!(&tree.bytes, &bytes);
        }
    }
}
