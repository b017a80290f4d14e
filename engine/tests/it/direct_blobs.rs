//! Databases whose WALs refer to blob files that no version has (`enable_blob_direct_write`).

use std::path::Path;

use base::{FamilyId, FileNumber, Kind, SequenceNumber};
use env::Env;
use format::batch;
use format::blob::{BlobIndex, BlobRef, HEADER_LEN, Header, append_record};
use format::wide::{self, Column};
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::options::{DbOptions, FamilyOptions, ReadOptions};

use crate::basic::{open, options, scan};

const BLOB_FILE: &str = "/db/000050.blob";

/// A blob file without a footer, as a writer leaves it in a crash, and the WAL that refers to it.
struct Left {
    blobs: Vec<u8>,
    batches: Vec<Vec<u8>>,
    next_seq: u64,
}

impl Left {
    fn new() -> Left {
        let mut blobs = Vec::new();
        Header::default().encode(&mut blobs);
        Left { blobs, batches: Vec::new(), next_seq: 1 }
    }

    fn index(&mut self, key: &str, value: &str) -> Vec<u8> {
        append_record(&mut self.blobs, key.as_bytes(), value.as_bytes());
        let size = value.len() as u64;
        let offset = self.blobs.len() as u64 - size;
        index(50, offset, size)
    }

    fn put_index(&mut self, key: &str, index: &[u8]) {
        self.batch(|batch| batch::put_blob_index(batch, FamilyId::DEFAULT, key.as_bytes(), index));
    }

    fn put(&mut self, key: &str, value: &str) {
        let index = self.index(key, value);
        self.put_index(key, &index);
    }

    fn batch(&mut self, add: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = Vec::new();
        batch::begin(&mut bytes);
        add(&mut bytes);
        batch::set_count(&mut bytes, 1);
        batch::set_sequence(&mut bytes, SequenceNumber::new(self.next_seq));
        self.next_seq += 1;
        self.batches.push(bytes);
    }

    /// Writes both files to a new database.
    fn write(&self, env: &Env) {
        drop(open(env, FamilyOptions::default()));
        let mut framed = Vec::new();
        let mut writer = format::wal::Writer::new(format::wal::Framing::Classic);
        self.batches.iter().for_each(|batch| writer.append(&mut framed, batch).unwrap());
        env.fs.write_all(Path::new(BLOB_FILE), &self.blobs, true).unwrap();
        env.fs.write_all(Path::new("/db/000051.log"), &framed, true).unwrap();
    }
}

fn index(file: u64, offset: u64, size: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let blob = BlobRef { file_number: FileNumber::new(file), offset, size, compression: 0 };
    BlobIndex::Blob(blob).encode(&mut out);
    out
}

fn large(seed: &str) -> String {
    format!("{seed}-{}", "v".repeat(2000))
}

fn request(env: &Env, more: &str) -> OpenRequest {
    let mut db = DbOptions { ..options(env) };
    db.update(more).unwrap();
    OpenRequest::new("/db", db, FamilyOptions::default())
}

fn three() -> Left {
    let mut left = Left::new();
    left.put("a", &large("a"));
    left.batch(|batch| batch::put(batch, FamilyId::DEFAULT, b"b", b"", b"small"));
    left.put("c", &large("c"));
    left
}

#[test]
fn replay_reads_the_values_of_an_unfinished_blob_file() {
    let env = Env::memory(1);
    three().write(&env);
    let rows =
        [("a".to_string(), large("a")), ("b".to_string(), "small".into()), ("c".to_string(), large("c"))];
    let reader = Db::open_read_only(request(&env, "")).unwrap();
    assert_eq!(scan(&reader), rows);
    drop(reader);
    // The WALs must not be kept: the blob file is deleted when the open ends.
    let db = Db::open(request(&env, "avoid_flush_during_recovery=true")).unwrap();
    assert_eq!(scan(&db), rows);
    while env.executor.help() {}
    assert!(!env.fs.exists(Path::new(BLOB_FILE)).unwrap());
    drop(db);
    assert_eq!(scan(&open(&env, FamilyOptions::default())), rows);
}

#[test]
fn replay_reads_the_columns_of_entities() {
    let env = Env::memory(2);
    let mut left = Left::new();
    let index = left.index("k", &large("k"));
    let mut entity = Vec::new();
    let columns = [Column::inline(b"", b"default"), Column { name: b"far", value: &index, is_blob: true }];
    wide::encode(&columns, &mut entity).unwrap();
    left.batch(|batch| batch::put_entity(batch, FamilyId::DEFAULT, b"k", &entity));
    left.write(&env);
    let db = Db::open(request(&env, "")).unwrap();
    let family = db.default_family().unwrap();
    let found = db.reads().get_entity(&family, b"k", &ReadOptions::default()).unwrap().unwrap();
    let columns: Vec<_> = found.iter().map(|(name, value)| (name, value.to_vec())).collect();
    assert_eq!(columns, [(&b""[..], b"default".to_vec()), (&b"far"[..], large("k").into_bytes())]);
}

/// Opens the database in each recovery mode, and returns what each open shows: its keys, or its error.
fn in_each_mode(left: &Left) -> Vec<Result<String, String>> {
    let modes = [
        "kTolerateCorruptedTailRecords",
        "kAbsoluteConsistency",
        "kPointInTimeRecovery",
        "kSkipAnyCorruptedRecords",
    ];
    let mut shown = Vec::new();
    for mode in modes {
        let env = Env::memory(3);
        left.write(&env);
        let opened = Db::open(request(&env, &format!("wal_recovery_mode={mode}")));
        shown.push(opened.map_err(|error| error.to_string()).map(|db| {
            let rows = scan(&db);
            rows.iter().for_each(|(key, value)| {
                assert!(value == "small" || *value == large(key), "{mode}: {key} has a wrong value");
            });
            rows.into_iter().map(|(key, _)| key).collect()
        }));
    }
    shown
}

/// A record whose value is lost at the end of the blob file counts as the torn end of the WAL.
#[test]
fn a_lost_end_of_a_blob_file_is_the_torn_end_of_the_wal() {
    let mut cut = three();
    cut.blobs.pop();
    let mut zeros = three();
    let at = zeros.blobs.len() - 1000;
    zeros.blobs[at..].fill(0);
    for left in [cut, zeros] {
        let shown = in_each_mode(&left);
        assert_eq!([&shown[0], &shown[2], &shown[3]], [&Ok("ab".to_string()); 3]);
        let error = shown[1].as_ref().unwrap_err();
        let offset = HEADER_LEN + 2 * (32 + 1) + 2002;
        assert!(error.contains("000051.log") && error.contains("000050.blob"), "{error}");
        assert!(error.contains(&format!("2002 bytes at offset {offset}")), "{error}");
    }
}

#[test]
fn a_missing_blob_file_drops_the_records_that_refer_to_it() {
    let mut left = three();
    left.put_index("d", &index(49, 100, 10));
    let shown = in_each_mode(&left);
    assert_eq!([&shown[0], &shown[2], &shown[3]], [&Ok("abc".to_string()); 3]);
    assert!(shown[1].as_ref().unwrap_err().contains("000049.blob"), "{shown:?}");
}

/// Changed bytes, and a blob index that does not fit the file, are damage: only two modes open the database.
#[test]
fn damage_of_a_blob_is_damage_of_the_wal() {
    let mut flipped = three();
    let at = flipped.blobs.len() - 1000;
    flipped.blobs[at] ^= 1;
    let mut wrong_place = three();
    wrong_place.put_index("c", &index(50, 700, 300));
    let mut wrong_key = three();
    let index = wrong_key.index("x", &large("c"));
    wrong_key.put_index("c", &index);
    for (left, first, rest) in [(flipped, "ab", "ab"), (wrong_place, "abc", "abc"), (wrong_key, "abc", "abc")]
    {
        let shown = in_each_mode(&left);
        assert!(shown[0].is_err() && shown[1].is_err(), "{shown:?}");
        assert_eq!(shown[2].as_deref(), Ok(first));
        assert_eq!(shown[3].as_deref(), Ok(rest));
    }
}

/// An index of the old stacked BlobDB, or a damaged index in a valid WAL record, fails the open in every mode.
#[test]
fn a_blob_index_that_no_writer_produces_fails_the_open() {
    for index in [&b"\x00\x01value"[..], b"\x01\x05\x64", b"\x01\x00\x64\x02\x00", b"\x09"] {
        let mut left = three();
        left.put_index("d", index);
        assert!(in_each_mode(&left).iter().all(Result::is_err), "{index:?}");
    }
}

#[test]
fn a_batch_of_the_application_must_not_refer_to_blob_files() {
    let env = Env::memory(5);
    let db = open(&env, FamilyOptions::default());
    let mut bytes = Vec::new();
    batch::begin(&mut bytes);
    batch::put_blob_index(&mut bytes, FamilyId::DEFAULT, b"k", &index(5, 100, 2));
    batch::set_count(&mut bytes, 1);
    let mut refused = ironstone_engine::batch::WriteBatch::from_bytes(&bytes).unwrap();
    let error = db.write(&mut refused, &Default::default()).unwrap_err();
    assert_eq!(error.kind(), Kind::NotSupported);
    assert!(error.to_string().contains("enable_blob_direct_write"), "{error}");
}
