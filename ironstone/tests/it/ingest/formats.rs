//! Ingestion of files of each table format, and of files with embedded blobs.

use ironstone::{
    CompactRangeOptions, Db, EmbeddedBlobOptions, IngestExternalFileOptions, Kind, Options, SstFileWriter,
};

use super::{IngestDirectory, how, options};

#[test]
fn a_file_of_any_table_format_is_ingested() {
    let formats = [
        "table_factory=PlainTable",
        "prefix_extractor=fixed:1;table_factory={id=PlainTable;encoding_type=kPrefix}",
        "table_factory=CuckooTable",
    ];
    for format in formats {
        let w = IngestDirectory::with(format);
        let mut with_format = options();
        with_format.update(format).unwrap();
        for key in ["a1", "d1", "m1", "z1"] {
            w.db.put(key.as_bytes(), b"old").unwrap();
        }
        w.db.flush().unwrap();
        w.db.put(b"b1", b"mem").unwrap();
        let path = w.dir().join("new.sst");
        let mut file = SstFileWriter::create(&path, &with_format.db, &with_format.family).unwrap();
        for key in ["a1", "a2", "b1", "c1"] {
            file.put(key.as_bytes(), b"new").unwrap();
        }
        file.delete(b"d1").unwrap();
        assert_eq!(file.delete_range(b"e", b"f").unwrap_err().kind(), Kind::NotSupported, "{format}");
        let info = file.finish().unwrap();
        assert_eq!(
            (info.num_entries, &info.smallest_key[..], &info.largest_key[..]),
            (5, &b"a1"[..], &b"d1"[..])
        );
        let snapshot = w.db.snapshot();
        w.db.ingest_external_files([path], &how()).unwrap();
        assert_eq!(snapshot.get(b"a1").unwrap().as_deref(), Some(&b"old"[..]), "{format}");
        assert_eq!(snapshot.get(b"c1").unwrap(), None, "{format}");
        drop(snapshot);
        let expected =
            [("a1", "new"), ("a2", "new"), ("b1", "new"), ("c1", "new"), ("m1", "old"), ("z1", "old")];
        let check = |db: &Db, when: &str| {
            let rows: Vec<_> = db.range::<[u8], _>(..).map(|row| row.unwrap()).collect();
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let rows: Vec<_> = rows.iter().map(|(key, value)| (text(key), text(value))).collect();
            let expected: Vec<_> = expected.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
            assert_eq!(rows, expected, "{format}, {when}");
            for (key, value) in &expected {
                assert_eq!(
                    db.get(key.as_bytes()).unwrap().as_deref(),
                    Some(value.as_bytes()),
                    "{format}, {when}"
                );
            }
            assert_eq!(db.get(b"d1").unwrap(), None, "{format}, {when}");
        };
        check(&w.db, "after the ingestion");
        w.db.close().unwrap();
        let again = Db::open(w.dir().join("data"), with_format).unwrap();
        check(&again, "after a new open");
        again.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
        check(&again, "after a compaction");
    }
}

/// Large values and large columns are embedded blobs of the file. Reads, a compaction and a reopen see the values. The file is
/// larger than the values, although the compression of the blocks would make it small.
#[test]
fn embedded_blobs_of_an_ingested_file_are_read_as_values() {
    let mut options = Options::in_memory();
    options.update("block_based_table_factory={format_version=7};compression=kLZ4Compression").unwrap();
    let db = Db::open("/db", options.clone()).unwrap();
    let embedded = EmbeddedBlobOptions { min_blob_size: 100 };
    let large = |byte: u8| vec![byte; 20_000];
    let mut file =
        SstFileWriter::create_with_embedded_blobs("/1.sst", &options.db, &options.family, &embedded).unwrap();
    file.put(b"a", &large(1)).unwrap();
    file.put(b"b", b"small").unwrap();
    file.put_entity(b"c", &[(b"", b"short"), (b"x", &large(2)), (b"y", &large(3))]).unwrap();
    file.delete(b"d").unwrap();
    let info = file.finish().unwrap();
    assert!(info.file_size > 60_000, "{}", info.file_size);
    assert_eq!((info.num_entries, &info.smallest_key[..]), (4, &b"a"[..]));
    db.ingest_external_files(["/1.sst"], &IngestExternalFileOptions::default()).unwrap();
    let check = |db: &Db| {
        assert_eq!(db.get(b"a").unwrap().as_deref(), Some(&large(1)[..]));
        assert_eq!(db.get(b"b").unwrap().as_deref(), Some(&b"small"[..]));
        assert_eq!(db.get(b"d").unwrap(), None);
        let entity = db.get_entity(b"c").unwrap().unwrap();
        let columns: Vec<(&[u8], &[u8])> = entity.iter().collect();
        assert_eq!(columns, [(&b""[..], &b"short"[..]), (b"x", &large(2)), (b"y", &large(3))]);
        let mut rows = db.iter().unwrap();
        rows.seek_to_first();
        let mut lengths = Vec::new();
        while rows.valid() {
            lengths.push(rows.value().len());
            rows.next();
        }
        assert_eq!(lengths, [20_000, 5, 5]);
    };
    check(&db);
    // The blobs of 20,000 bytes are not in the block cache.
    assert!(db.int_property("rocksdb.block-cache-usage").unwrap() < 20_000);
    db.compact_range(None, None, &CompactRangeOptions::default()).unwrap();
    check(&db);
    drop(db);
    check(&Db::open("/db", options).unwrap());
}

#[test]
fn embedded_blobs_need_a_block_based_table_of_version_7() {
    let embedded = EmbeddedBlobOptions::default();
    for (text, words) in [
        ("block_based_table_factory={format_version=6}", "format_version >= 7"),
        ("table_factory=PlainTable", "block-based table format"),
    ] {
        let mut options = Options::in_memory();
        options.update(text).unwrap();
        let made =
            SstFileWriter::create_with_embedded_blobs("/1.sst", &options.db, &options.family, &embedded);
        let error = made.err().unwrap();
        assert!(error.kind() == Kind::InvalidArgument && error.message().contains(words), "{error}");
    }
}
