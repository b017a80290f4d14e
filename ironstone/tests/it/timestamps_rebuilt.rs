//! Repairs without a MANIFEST of column families with timestamps. The SST files, or else the options, say whether the SST files
//! have timestamps (`persist_user_defined_timestamps`).

use std::path::Path;

use ironstone::{Db, FamilyDescriptor, Options, repair};

use crate::timestamps_toggled::{at, both, keys, put, rows_of, scan};

const FAMILIES: [&str; 2] = ["default", "second"];

fn descriptors(options: &Options) -> Vec<FamilyDescriptor> {
    FAMILIES.iter().map(|name| FamilyDescriptor::new(*name, options.family.clone())).collect()
}

/// Options of a database whose column families have timestamps, in a file system of their own.
fn options(persisted: bool) -> Options {
    let (_, mut options) = both("create_missing_column_families=true");
    options.update(&format!("persist_user_defined_timestamps={persisted}")).unwrap();
    options
}

fn without_manifest(options: &Options) {
    let fs = &options.db.env.fs;
    for name in fs.list(Path::new("data")).unwrap() {
        if name.starts_with("MANIFEST") || name == "CURRENT" {
            fs.unlink(&Path::new("data").join(name)).unwrap();
        }
    }
}

/// Writes each key at two timestamps, the second one only in the WAL. `flushed`: the first value is in an SST file.
fn write(options: &Options, flushed: bool) {
    let db = Db::open_with_families("data", options.clone(), descriptors(options)).unwrap();
    for name in FAMILIES {
        let family = db.family(name).unwrap();
        keys().iter().for_each(|key| put(&family, key, 3, b"old"));
        if flushed {
            family.flush().unwrap();
        }
        keys().iter().for_each(|key| put(&family, key, 5, b"new"));
    }
    db.close().unwrap();
}

#[test]
fn a_repair_without_a_manifest_keeps_the_entries_of_families_with_timestamps() {
    for (persisted, flushed, named) in (0..8).map(|case| (case & 1 != 0, case & 2 != 0, case & 4 != 0)) {
        let what = format!("persisted {persisted}, flushed {flushed}, named {named}");
        let options = options(persisted);
        write(&options, flushed);
        without_manifest(&options);
        let families = if named { descriptors(&options) } else { Vec::new() };
        repair("data", options.clone(), families).unwrap_or_else(|error| panic!("{what}: {error}"));
        for _ in 0..2 {
            let db = Db::open_with_families("data", options.clone(), descriptors(&options)).unwrap();
            for name in FAMILIES {
                let family = db.family(name).unwrap();
                assert_eq!(scan(&family, at(u64::MAX)), rows_of(&keys(), b"new"), "{what}, {name}");
                if persisted {
                    assert_eq!(scan(&family, at(4)), rows_of(&keys(), b"old"), "{what}, {name}");
                }
            }
        }
        let db = Db::open_with_families("data", options.clone(), descriptors(&options)).unwrap();
        for name in FAMILIES {
            let family = db.family(name).unwrap();
            keys().iter().for_each(|key| put(&family, key, 9, b"newest"));
            family.flush().unwrap();
            family.compact_range(None, None, &Default::default()).unwrap();
            assert_eq!(scan(&family, at(u64::MAX)), rows_of(&keys(), b"newest"), "{what}, {name}");
        }
    }
}

/// The SST files of the column family are from before and after an open that turned timestamps on.
#[test]
fn a_repair_without_a_manifest_adds_sst_files_from_before_timestamps() {
    let (plain, stamped) = both("");
    let db = Db::open("data", plain).unwrap();
    keys().iter().for_each(|key| db.put(key, b"old").unwrap());
    db.flush().unwrap();
    drop(db);
    let db = Db::open("data", stamped.clone()).unwrap();
    put(&db, &keys()[0], 5, b"new");
    db.flush().unwrap();
    put(&db, &keys()[1], 6, b"new");
    db.close().unwrap();
    drop(db);
    without_manifest(&stamped);
    repair("data", stamped.clone(), Vec::new()).unwrap();
    let mut expected = rows_of(&keys(), b"old");
    expected[..2].iter_mut().for_each(|row| row.1 = b"new".to_vec());
    for _ in 0..2 {
        let db = Db::open("data", stamped.clone()).unwrap();
        assert_eq!(scan(&db, at(u64::MAX)), expected);
    }
}
