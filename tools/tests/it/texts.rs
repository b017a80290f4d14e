//! Compares the output of the tools with the output of RocksDB's tools.
//!
//! A page in `testdata` names a golden database in its first line. Then, for each command line after a `$`,
//! the page has the output of RocksDB 11.8.1's tool. `DIR` stands for the directory of the database. With
//! `IRONSTONE_REWRITE` and the oracle, RocksDB's tools write the pages again.

use std::fmt::Write;
use std::path::Path;

use crate::support::{copy_of, ldb, oracle, sst_dump, theirs};

fn check(page: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/testdata").join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let mut cases = text.split("\n$ ");
    let name = cases.next().and_then(|first| first.strip_prefix("# ")).unwrap();
    let rewrite = std::env::var_os("IRONSTONE_REWRITE").is_some();
    let (_scratch, dir) = copy_of(name);
    let dir = dir.display().to_string();
    let mut printed = format!("# {name}\n");
    for case in cases {
        let command = case.lines().next().unwrap();
        let filled = command.replace("DIR", &dir);
        let mut words = filled.split(' ');
        let tool = words.next().unwrap();
        let args: Vec<_> = words.collect();
        let out = match (rewrite, tool) {
            (true, _) => theirs(&oracle(tool).expect("IRONSTONE_ORACLE"), &args).out,
            (_, "ldb") => ldb(&args, b"").out,
            _ => sst_dump(&args).out,
        };
        let out = String::from_utf8_lossy(&out).replace(&dir, "DIR");
        // The address of RocksDB's environment differs in each run.
        let out: String = out.split_inclusive('\n').filter(|l| !l.starts_with("options.env is")).collect();
        write!(printed, "$ {command}\n{out}").unwrap();
    }
    if rewrite {
        std::fs::write(&path, printed).unwrap();
    } else if printed != text {
        let differ = printed.lines().zip(text.lines()).position(|(a, b)| a != b).unwrap_or(0);
        let line = |text: &str| text.lines().nth(differ).unwrap_or("(the end)").to_string();
        panic!("{page}, line {}:\nours   {}\ntheirs {}", differ + 1, line(&printed), line(&text));
    }
}

#[test]
fn manifests_are_dumped_as_rocksdb_dumps_them() {
    check("manifest-wal-verify.txt");
    check("manifest-blob-mixed.txt");
    check("manifest-wal-recycled.txt");
}

#[test]
fn logs_are_dumped_as_rocksdb_dumps_them() {
    check("wal-txn-2pc.txt");
    check("wal-ts-cfs.txt");
    check("wal-wide.txt");
    check("wal-zstd.txt");
}

#[test]
fn tables_are_dumped_as_rocksdb_dumps_them() {
    check("sst-ts-u64.txt");
    check("sst-wide.txt");
    check("sst-single-delete.txt");
    check("sst-blob-mixed.txt");
}

#[test]
fn databases_are_shown_as_rocksdb_shows_them() {
    check("db-versions.txt");
    check("db-merge-max.txt");
    check("db-many-cfs.txt");
    check("db-ts-u64.txt");
}
