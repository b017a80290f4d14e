//! Plain tables and cuckoo tables: RocksDB's files are read by all operations, and written again byte for
//! byte.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::iter::InternalIterator;
use base::key::{InternalOrder, append_internal, seek_key, user_key};
use base::order::{BuiltinPrefix, PrefixExtractor};
use base::{FamilyId, FileNumber, Kind, Order, SequenceNumber, ValueType};
use env::writer::{FileWriter, WriterOptions as FileOptions};
use env::{AppendHints, Env};
use format::properties::Properties;
use ironstone_table::any::{AnyReader, AnyWriter, TableRows};
use ironstone_table::options::{
    CuckooTableOptions, EncodingType, OtherTables, PlainTableOptions, WrittenTable,
};
use ironstone_table::sst::{BlockCache, Identity, OpenOptions, ReadCtx, TablePlace, WriterOptions};
use mem::cache::CacheOptions;

use crate::reader_support::Bytes;

type Row = (Vec<u8>, Vec<u8>);

fn golden(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/golden").join(name);
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "sst"));
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

fn all_golden() -> Vec<(PathBuf, Vec<u8>)> {
    ["plain-table", "plain-table-total", "cuckoo-table"].iter().flat_map(|name| golden(name)).collect()
}

fn open(bytes: &[u8], options: &OpenOptions) -> base::Result<AnyReader> {
    let file = Bytes { path: "/t.sst".into(), bytes: bytes.to_vec() };
    AnyReader::open(Arc::new(file), bytes.len() as u64, options)
}

fn ctx() -> ReadCtx {
    ReadCtx { total_order_seek: true, ..ReadCtx::default() }
}

fn forward(rows: &mut TableRows) -> Vec<Row> {
    let mut out = Vec::new();
    rows.seek_to_first();
    while rows.valid() {
        assert_eq!(rows.pin_value()[..], *rows.value());
        out.push((rows.key().to_vec(), rows.value().to_vec()));
        rows.next();
    }
    rows.status().unwrap();
    out
}

fn get(reader: &AnyReader, key: &[u8]) -> Vec<(Vec<u8>, u64, Vec<u8>)> {
    let mut found = Vec::new();
    let visit = |entry: ironstone_table::sst::Entry<'_>| {
        found.push((entry.user_key.to_vec(), entry.trailer, entry.value.pin().to_vec()));
        ControlFlow::Continue(())
    };
    reader.get(key, &ctx(), visit).unwrap();
    found
}

/// Reads the table forwards, backwards, by seeks and by gets. Returns the entries.
fn check_paths(reader: &AnyReader) -> Vec<Row> {
    let order = InternalOrder::new(Order::Bytewise);
    let mut rows = reader.iter(&ctx());
    let all = forward(&mut rows);
    assert!(all.is_sorted_by(|a, b| order.compare(&a.0, &b.0).is_lt()));
    rows.seek_to_last();
    for (key, value) in all.iter().rev() {
        assert_eq!((rows.key(), rows.value()), (&key[..], &value[..]));
        rows.prev();
    }
    assert!(!rows.valid());
    let mut targets: Vec<Vec<u8>> = all.iter().map(|(key, _)| key.clone()).collect();
    targets.extend(all.iter().map(|(key, _)| seek_key(user_key(key), base::key::MAX_SEQUENCE)));
    targets
        .extend(all.iter().map(|(key, _)| seek_key(&[user_key(key), b"x"].concat(), SequenceNumber::new(5))));
    targets.extend([seek_key(b"", SequenceNumber::ZERO), seek_key(&[0xff; 30], SequenceNumber::ZERO)]);
    // In large tables, only some of the keys are searched.
    for target in targets.iter().step_by(1 + all.len() / 100) {
        rows.seek(target);
        let after = all.iter().find(|(key, _)| order.compare(key, target).is_ge());
        assert_eq!(rows.valid().then(|| rows.key()), after.map(|(key, _)| &key[..]));
        rows.seek_for_prev(target);
        let before = all.iter().rfind(|(key, _)| order.compare(key, target).is_le());
        assert_eq!(rows.valid().then(|| rows.key()), before.map(|(key, _)| &key[..]));
        let versions = all
            .iter()
            .filter(|(key, _)| user_key(key) == user_key(target) && order.compare(key, target).is_ge());
        let versions: Vec<_> =
            versions.map(|(k, v)| (user_key(k).to_vec(), base::key::trailer(k), v.clone())).collect();
        assert_eq!(get(reader, target), versions);
    }
    reader.verify_checksums(&ctx()).unwrap();
    all
}

/// Returns options for each way to keep the file: in memory, and in pages with and without a block cache.
fn ways(options: &OpenOptions) -> Vec<OpenOptions> {
    let cache = BlockCache::new(CacheOptions::lru(1 << 20)).unwrap();
    let resident = OtherTables { resident: true, ..(*options.other).clone() };
    vec![
        options.clone(),
        OpenOptions { cache: Some(cache.clone()), ..options.clone() },
        OpenOptions { cache: Some(cache), other: Arc::new(resident), ..options.clone() },
    ]
}

fn extractor_of(properties: &Properties) -> Option<Arc<dyn PrefixExtractor>> {
    let name = String::from_utf8_lossy(&properties.prefix_extractor_name).into_owned();
    BuiltinPrefix::parse(&name).map(|prefix| Arc::new(prefix) as _)
}

#[test]
fn every_golden_table_reads_the_same_in_every_way() {
    for (path, bytes) in all_golden() {
        let plain = OpenOptions::default();
        let rows = check_paths(&open(&bytes, &plain).unwrap());
        let extractor = extractor_of(open(&bytes, &plain).unwrap().properties());
        let with_prefix = OpenOptions { prefix_extractor: extractor, ..OpenOptions::default() };
        for options in ways(&plain).into_iter().chain(ways(&with_prefix)) {
            assert_eq!(check_paths(&open(&bytes, &options).unwrap()), rows, "{}", path.display());
        }
    }
}

/// The options with which RocksDB wrote the golden table.
fn writer_options(p: &Properties, stores_index: bool) -> WriterOptions {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let is_cuckoo = p.user("rocksdb.cuckoo.hash.num").is_some();
    let flag = |name: &str| p.user(name).is_some_and(|value| value == [1]);
    let plain = PlainTableOptions {
        user_key_len: p.fixed_key_len as u32,
        encoding_type: if p.format_version == 1 { EncodingType::Prefix } else { EncodingType::Plain },
        hash_table_ratio: 0.75,
        bloom_bits_per_key: 8,
        index_sparseness: 4,
        store_index_in_file: stores_index,
        ..PlainTableOptions::default()
    };
    let cuckoo = CuckooTableOptions {
        identity_as_first_hash: flag("rocksdb.cuckoo.hash.identityfirst"),
        use_module_hash: flag("rocksdb.cuckoo.hash.usemodule"),
        ..CuckooTableOptions::default()
    };
    let written = if is_cuckoo { WrittenTable::Cuckoo } else { WrittenTable::Plain };
    WriterOptions {
        other: Arc::new(OtherTables { written, plain, cuckoo, ..OtherTables::default() }),
        prefix_extractor: extractor_of(p),
        place: TablePlace {
            family: FamilyId::new(p.column_family_id as u32),
            family_name: text(&p.column_family_name),
            ..TablePlace::default()
        },
        identity: Identity {
            db_id: text(&p.db_id),
            db_session_id: text(&p.db_session_id),
            db_host_id: text(&p.db_host_id),
        },
        file_number: FileNumber::new(p.original_file_number),
        ..WriterOptions::default()
    }
}

fn write(options: WriterOptions, rows: &[Row]) -> base::Result<Vec<u8>> {
    let env = Env::memory(1);
    let path = Path::new("/new.sst");
    let file = env.fs.create_new(path, &AppendHints::default()).unwrap();
    let mut writer = AnyWriter::new(FileWriter::new(file, FileOptions::default()), options)?;
    for (key, value) in rows {
        writer.add(key, value)?;
    }
    let (table, mut file) = writer.finish()?;
    file.close().unwrap();
    let bytes = env.fs.read_all(path, 1 << 32).unwrap();
    assert_eq!(table.file_size, bytes.len() as u64);
    Ok(bytes)
}

#[test]
fn every_golden_table_is_written_again_byte_for_byte() {
    for (path, bytes) in all_golden() {
        let reader = open(&bytes, &OpenOptions::default()).unwrap();
        let rows = forward(&mut reader.iter(&ctx()));
        let stores_index = reader.metaindex().get("PlainTableIndexBlock").is_some();
        let options = writer_options(reader.properties(), stores_index);
        assert_eq!(write(options, &rows).unwrap(), bytes, "{}", path.display());
    }
}

fn row(user: &[u8], seq: u64, value_type: ValueType, value: &[u8]) -> Row {
    let mut key = Vec::new();
    append_internal(&mut key, user, SequenceNumber::new(seq), value_type);
    (key, value.to_vec())
}

fn options_of(other: OtherTables) -> WriterOptions {
    WriterOptions { other: Arc::new(other), ..WriterOptions::default() }
}

fn plain(options: PlainTableOptions) -> OtherTables {
    OtherTables { written: WrittenTable::Plain, plain: options, ..OtherTables::default() }
}

fn cuckoo(options: CuckooTableOptions) -> OtherTables {
    OtherTables { written: WrittenTable::Cuckoo, cuckoo: options, ..OtherTables::default() }
}

#[test]
fn plain_tables_of_all_options_keep_their_rows() {
    // Many entries of a key, values of sequence number 0, keys of all lengths, and rows that cross pages.
    let mut rows = Vec::new();
    for n in 0..300u32 {
        let user =
            [format!("{:03}", n / 9).as_bytes(), &vec![b'k'; n as usize % 90], &n.to_be_bytes()].concat();
        for seq in (0..1 + u64::from(n % 5)).rev() {
            let value_type = if n % 7 == 3 { ValueType::Deletion } else { ValueType::Value };
            rows.push(row(&user, seq, value_type, &vec![b'v'; (n as usize * 37) % 900]));
        }
    }
    rows.sort_by(|a, b| InternalOrder::new(Order::Bytewise).compare(&a.0, &b.0));
    rows.push(row(b"zzz", 3, ValueType::Merge, &[7; 40_000]));
    let prefix: Arc<dyn PrefixExtractor> = Arc::new(BuiltinPrefix::Fixed(3));
    for case in 0..64u32 {
        let extractor = (case & 1 != 0).then(|| prefix.clone());
        let options = PlainTableOptions {
            encoding_type: if case & 2 != 0 { EncodingType::Prefix } else { EncodingType::Plain },
            store_index_in_file: case & 4 != 0,
            index_sparseness: [16, 0, 1, 5][case as usize >> 3 & 3],
            bloom_bits_per_key: if case & 32 != 0 { 0 } else { 10 },
            hash_table_ratio: if extractor.is_some() && case & 8 == 0 { 0.75 } else { 0.0 },
            ..PlainTableOptions::default()
        };
        let other = OtherTables { bloom_locality: case & 16 != 0, ..plain(options) };
        let written = WriterOptions { prefix_extractor: extractor.clone(), ..options_of(other.clone()) };
        let bytes = write(written, &rows).unwrap();
        let open_options =
            OpenOptions { prefix_extractor: extractor, other: Arc::new(other), ..OpenOptions::default() };
        let way = &ways(&open_options)[case as usize % 3];
        assert_eq!(forward(&mut open(&bytes, way).unwrap().iter(&ctx())), rows, "case {case}");
        if case % 5 == 0 {
            check_paths(&open(&bytes, way).unwrap());
        }
    }
}

#[test]
fn cuckoo_tables_of_all_options_keep_their_rows() {
    for case in 0..32u64 {
        let count = [1, 2, 50, 3000][case as usize & 3];
        let zero = case & 4 != 0;
        let rows: Vec<Row> = (0..count)
            .map(|n: u64| {
                let value_type = if !zero && n % 3 == 1 { ValueType::Deletion } else { ValueType::Value };
                let value = if value_type == ValueType::Value { &b"value"[..] } else { b"" };
                row(&(n * 3).to_be_bytes(), if zero { 0 } else { n + 1 }, value_type, value)
            })
            .collect();
        let options = CuckooTableOptions {
            use_module_hash: case & 8 != 0,
            identity_as_first_hash: case & 16 != 0,
            cuckoo_block_size: 1 + (case % 6) as u32,
            ..CuckooTableOptions::default()
        };
        let bytes = write(options_of(cuckoo(options)), &rows).unwrap();
        for way in ways(&OpenOptions::default()) {
            let reader = open(&bytes, &way).unwrap();
            match count {
                3000 => assert_eq!(forward(&mut reader.iter(&ctx())), rows, "case {case}"),
                _ => assert_eq!(check_paths(&reader), rows, "case {case}"),
            }
            for (key, value) in rows.iter().step_by(7) {
                let expected = vec![(user_key(key).to_vec(), base::key::trailer(key), value.clone())];
                assert_eq!(get(&reader, key), expected);
            }
        }
    }
}

fn refusal(other: OtherTables, rows: &[Row]) -> String {
    let error = write(options_of(other), rows).unwrap_err();
    assert_eq!(error.kind(), Kind::NotSupported);
    error.to_string()
}

#[test]
fn entries_that_a_table_cannot_hold_are_refused() {
    let value = |key: &[u8], value: &[u8]| row(key, 5, ValueType::Value, value);
    let tombstone = row(b"a", 5, ValueType::RangeDeletion, b"b");
    let fixed = PlainTableOptions { user_key_len: 3, ..PlainTableOptions::default() };
    assert!(
        refusal(plain(PlainTableOptions::default()), &[tombstone.clone()])
            .contains("Range deletion unsupported")
    );
    assert!(refusal(plain(fixed), &[value(b"ab", b"")]).contains("user_key_len 3"));
}

#[test]
fn entries_that_a_cuckoo_table_cannot_hold_make_a_block_based_table() {
    let value = |key: &[u8], sequence, value: &[u8]| row(key, sequence, ValueType::Value, value);
    let tombstone = row(b"d", 5, ValueType::Deletion, b"");
    let long: Vec<Row> = (0..300).map(|at| value(format!("{at:03}").as_bytes(), 7, b"1")).collect();
    let long_last: Vec<Row> = [long, vec![value(b"900", 7, b"22")]].concat();
    let cases: [(&str, Vec<Row>); 7] = [
        ("two sizes of keys", vec![value(b"a", 5, b"1"), value(b"bb", 5, b"1"), value(b"c", 5, b"1")]),
        ("two sizes of values", vec![value(b"a", 5, b"1"), value(b"b", 5, b"22"), tombstone.clone()]),
        ("a deletion before the other size", vec![value(b"a", 5, b"1"), tombstone, value(b"e", 5, b"22")]),
        ("the last value is longer", long_last),
        ("two versions", vec![value(b"a", 5, b"1"), value(b"a", 4, b"2")]),
        ("a merge operand", vec![row(b"a", 5, ValueType::Merge, b"x"), value(b"b", 5, b"y")]),
        ("no unused key", vec![value(b"\x00", 5, b"1"), value(b"\xff", 5, b"1")]),
    ];
    for (name, rows) in cases {
        let bytes = write(options_of(cuckoo(CuckooTableOptions::default())), &rows).unwrap();
        let reader = open(&bytes, &OpenOptions::default()).unwrap();
        let expected: Vec<(Vec<u8>, Vec<u8>)> =
            rows.iter().map(|row| (row.0.clone(), row.1.clone())).collect();
        assert_eq!(forward(&mut reader.iter(&ctx())), expected, "{name}");
        assert!(matches!(reader, AnyReader::Block(_)), "{name}");
    }
}

#[test]
fn a_later_sequence_number_in_a_cuckoo_table_is_kept() {
    let rows = [
        row(b"a", 0, ValueType::Value, b"1"),
        row(b"b", 9, ValueType::Deletion, b""),
        row(b"c", 8, ValueType::Value, b"3"),
    ];
    let bytes = write(options_of(cuckoo(CuckooTableOptions::default())), &rows).unwrap();
    let reader = open(&bytes, &OpenOptions::default()).unwrap();
    let keys: Vec<Vec<u8>> = forward(&mut reader.iter(&ctx())).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, rows.map(|(key, _)| key));
}

#[test]
fn a_plain_table_in_full_scan_mode_is_only_read_from_the_start() {
    let (_, bytes) = golden("plain-table").remove(0);
    let other = plain(PlainTableOptions { full_scan_mode: true, ..PlainTableOptions::default() });
    let reader = open(&bytes, &OpenOptions { other: Arc::new(other), ..OpenOptions::default() }).unwrap();
    let mut rows = reader.iter(&ctx());
    assert_eq!(forward(&mut rows).len(), 150);
    rows.seek(&seek_key(b"a", SequenceNumber::ZERO));
    assert!(rows.status().unwrap_err().to_string().contains("Seek() is not allowed in full scan mode."));
    let error =
        reader.get(&seek_key(b"a", SequenceNumber::ZERO), &ctx(), |_| ControlFlow::Continue(())).unwrap_err();
    assert!(error.to_string().contains("Get() is not allowed in full scan mode."), "{error}");
}

#[test]
fn memory_only_reads_of_an_uncached_file_are_incomplete() {
    let (_, bytes) = golden("cuckoo-table").remove(0);
    let cache = BlockCache::new(CacheOptions::lru(1 << 20)).unwrap();
    let reader = open(&bytes, &OpenOptions { cache: Some(cache), ..OpenOptions::default() }).unwrap();
    let key = forward(&mut reader.iter(&ReadCtx { fill_cache: false, ..ctx() }))[0].0.clone();
    let memory = ReadCtx { cache_only: true, ..ctx() };
    let mut found = 0;
    let mut visit = |_: ironstone_table::sst::Entry<'_>| {
        found += 1;
        ControlFlow::Continue(())
    };
    assert_eq!(reader.get(&key, &memory, &mut visit).unwrap_err().kind(), Kind::Incomplete);
    reader.get(&key, &ctx(), &mut visit).unwrap();
    reader.get(&key, &memory, &mut visit).unwrap();
    assert_eq!(found, 2);
}

/// Flips each byte of a file, and cuts each file at each length. Every read must end without a panic.
#[test]
fn damaged_tables_end_in_an_answer_or_an_error() {
    for (at_file, (_, bytes)) in all_golden().into_iter().enumerate() {
        let properties = open(&bytes, &OpenOptions::default()).unwrap().properties().clone();
        let options = OpenOptions { prefix_extractor: extractor_of(&properties), ..OpenOptions::default() };
        let tail = bytes.len() - 1600.min(bytes.len());
        let places = (0..tail).step_by(97 + at_file).chain(tail..bytes.len());
        for at in places {
            for damaged in [flipped(&bytes, at), bytes[..at].to_vec()] {
                let Ok(reader) = open(&damaged, &options) else { continue };
                let mut rows = reader.iter(&ctx());
                rows.seek_to_first();
                let mut steps = 0;
                while rows.valid() && steps < bytes.len() {
                    rows.next();
                    steps += 1;
                }
                assert!(!rows.valid() || steps == bytes.len());
                rows.seek_to_last();
                rows.seek_for_prev(&seek_key(b"m", SequenceNumber::ZERO));
                rows.seek(&seek_key(b"m", SequenceNumber::ZERO));
                let _ = reader.get(&seek_key(b"abcdefgh", SequenceNumber::new(9)), &ctx(), |_| {
                    ControlFlow::Continue(())
                });
                let _ = reader.verify_checksums(&ctx());
            }
        }
    }
}

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 1 << (at % 8);
    bytes
}
