//! RocksDB itself ingests an external table into a database.

use base::FileNumber;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use env::writer::FileWriter;
use env::{AppendHints, Env};
use ironstone_table::options::{BlockBasedTableOptions, FilterPolicy};
use ironstone_table::sst::{Identity, WriterOptions};
use ironstone_table::sst_file::SstFileWriter;

fn write_external(path: &Path, format_version: u32) {
    let env = Env::posix();
    let file = env.fs.create(path, &AppendHints::default()).unwrap();
    let table = BlockBasedTableOptions {
        format_version,
        filter_policy: Some(FilterPolicy::bloom(10.0)),
        ..BlockBasedTableOptions::default()
    };
    let options = WriterOptions {
        table: Arc::new(table),
        identity: Identity { db_session_id: "ABCDEFGHIJ0123456789".to_string(), ..Identity::default() },
        file_number: FileNumber::new(1),
        context_seed: 77,
        ..WriterOptions::default()
    };
    let mut sst =
        SstFileWriter::new(FileWriter::new(file, env::writer::WriterOptions::default()), options).unwrap();
    for i in 0..1000 {
        sst.put(format!("key{i:04}").as_bytes(), format!("new{i}").as_bytes()).unwrap();
    }
    sst.delete_range(b"old", b"olf").unwrap();
    let (_, _, mut file) = sst.finish().unwrap();
    file.close().unwrap();
}

#[test]
fn rocksdb_ingests_our_external_tables() {
    let tools = std::env::var_os("IRONSTONE_ORACLE").map(PathBuf::from);
    let Some(ldb) = tools.map(|tools| tools.join("ldb")).filter(|ldb| ldb.exists()) else {
        eprintln!("SKIPPED rocksdb_ingests: set IRONSTONE_ORACLE to a folder with RocksDB's ldb");
        return;
    };
    for format_version in [2, 5, 6, 7] {
        let dir =
            std::env::temp_dir().join(format!("ironstone-ingest-{format_version}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let (db, sst) = (format!("--db={}", dir.join("db").display()), dir.join("x.sst"));
        write_external(&sst, format_version);
        let run = |args: &[&str]| {
            let out = Command::new(&ldb).arg(&db).args(args).output().unwrap();
            let text = String::from_utf8_lossy(&out.stdout).into_owned();
            assert!(out.status.success(), "{args:?}: {text}{}", String::from_utf8_lossy(&out.stderr));
            text
        };
        run(&["put", "--create_if_missing", "key0003", "before"]);
        run(&["put", "olden", "covered by the tombstone"]);
        run(&["ingest_extern_sst", &sst.display().to_string()]);
        assert_eq!(run(&["get", "key0003"]).trim(), "new3");
        assert_eq!(run(&["get", "key0999"]).trim(), "new999");
        assert_eq!(run(&["scan", "--no_value"]).lines().filter(|line| line.contains("olden")).count(), 0);
        run(&["checkconsistency"]);
        run(&["compact"]);
        assert_eq!(run(&["get", "key0500"]).trim(), "new500");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
