//! The package in `patch/`, which has the name `rocksdb` for `[patch.crates-io]`.

use std::collections::BTreeSet;

/// Returns the names of the features of a manifest.
fn features(manifest: &str) -> BTreeSet<&str> {
    let section = manifest.split("[features]").nth(1).unwrap().split("\n[").next().unwrap();
    section.lines().filter_map(|line| Some(line.split_once(" = ")?.0)).collect()
}

#[test]
fn the_package_for_patches_has_each_feature() {
    let names = features(include_str!("../../Cargo.toml"));
    assert!(names.contains("multi-threaded-cf") && names.contains("default"), "{names:?}");
    assert_eq!(features(include_str!("../../patch/Cargo.toml")), names);
}
