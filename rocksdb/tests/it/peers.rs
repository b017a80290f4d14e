//! Databases that RocksDB opens, changes and returns. If `IRONSTONE_PEER` does not name a library of RocksDB, the
//! tests are skipped.

use std::path::Path;

use rocksdb::{DB, Options, WriteBatch};

fn rows(path: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let db = DB::open_cf(&Options::default(), path, ["users"]).unwrap();
    let users = db.cf_handle("users").unwrap();
    let rows = db.iterator_cf(users, rocksdb::IteratorMode::Start);
    rows.map(|row| row.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap()).collect()
}

#[test]
fn rocksdb_reads_what_the_crate_wrote_and_the_crate_reads_what_rocksdb_added() {
    let Some(rocksdb) = peer::Library::for_test(std::env::var_os(peer::VARIABLE)) else { return };
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.create_if_missing(true);
    options.create_missing_column_families(true);
    {
        let db = DB::open_cf(&options, dir.path(), ["users"]).unwrap();
        let users = db.cf_handle("users").unwrap();
        let mut batch = WriteBatch::default();
        batch.put_cf(users, b"1", b"Ada");
        batch.put_cf(users, b"2", b"Bob");
        batch.delete_cf(users, b"2");
        db.write(batch).unwrap();
        db.flush_cf(users).unwrap();
        db.put_cf(users, b"3", b"Cay").unwrap();
    }
    {
        let names = ["default", "users"].map(|name| (name.to_string(), String::new()));
        let (db, families) = peer::Db::open(&rocksdb, dir.path(), "", &names, false).unwrap();
        let read = |key: &[u8]| db.get(&families[1], key, &peer::Reading::default()).unwrap();
        assert_eq!(read(b"1").as_deref(), Some(&b"Ada"[..]));
        assert_eq!(read(b"2"), None);
        assert_eq!(read(b"3").as_deref(), Some(&b"Cay"[..]));
        db.put(&families[1], b"4", b"Dan", peer::Writing::default()).unwrap();
    }
    let keys: Vec<Vec<u8>> = rows(dir.path()).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, [b"1", b"3", b"4"]);
}
