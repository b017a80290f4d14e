//! Writes RocksDB's golden tables again from their own entries, properties and OPTIONS.
//!
//! If the compressors give the same result, the files are identical. Otherwise the block boundaries,
//! partitions, filters and all counts are still equal.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::Level;
use base::iter::InternalIterator;
use base::order::Order;
use compress::{Compression, CompressionOptions};
use env::{Env, ReadHints};
use format::footer::Footer;
use format::metaindex::{self, Metaindex};
use format::properties::{Properties, names};
use ironstone_table::options::{BlockBasedTableOptions, FilterLevel};
use ironstone_table::sst::{BlockCompression, EmbeddedIter, OpenOptions, ReadCtx, Reader, WriterOptions};

use crate::support::write;
use crate::writer_support::{recorded, text};

fn files(extension: &str, dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(extension, &path, found);
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
}

/// Returns the table options of a column family, from the newest OPTIONS file in the same directory.
fn table_options(dir: &Path, family: &str) -> Option<BlockBasedTableOptions> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("OPTIONS-")));
    paths.sort();
    let text = std::fs::read_to_string(paths.last()?).ok()?;
    let section = format!("[TableOptions/BlockBasedTable \"{family}\"]");
    let mut options = BlockBasedTableOptions::default();
    for line in text.split_once(&section)?.1.lines().skip(1).take_while(|line| !line.starts_with('[')) {
        if let Some((name, value)) = line.trim().split_once('=') {
            options.set(name, value).ok()?;
        }
    }
    options.sanitize();
    Some(options)
}

/// Returns the compression type and `compression_opts` from their property.
fn compression(text: &str) -> (Compression, CompressionOptions) {
    let mut options = CompressionOptions::default();
    let mut kind = Compression::None;
    for (name, value) in text.split("; ").filter_map(|field| field.split_once('=')) {
        match name {
            "_type" => kind = Compression::from_u8(value.parse().unwrap()).unwrap(),
            _ => options.set(name, value).unwrap(),
        }
    }
    (kind, options)
}

fn options(dir: &Path, footer: &Footer, p: &Properties) -> Option<WriterOptions> {
    // An external table has no column family. The table with embedded blobs has the options of the default column family; a
    // database changed some of the other external tables.
    let embeds = p.user(names::EMBEDDED_BLOB_STATS).is_some();
    let family = if embeds { "default".to_string() } else { text(&p.column_family_name) };
    let mut table = table_options(dir, &family)?;
    table.format_version = footer.format_version;
    table.checksum = footer.checksum;
    let (compression, compression_options) = compression(&text(&p.compression_options));
    Some(WriterOptions {
        table: Arc::new(table),
        block_compression: BlockCompression {
            kind: compression,
            options: compression_options,
            ..BlockCompression::default()
        },
        merge_operator_name: (p.merge_operator_name != b"nullptr").then(|| text(&p.merge_operator_name)),
        // The golden table with embedded blobs was written with this size.
        embedded_blob_min_size: embeds.then_some(500),
        ..recorded(footer, p)?
    })
}

/// Returns the bytes of RocksDB's table and of our table. Returns `None` if the options of the table are
/// unknown.
fn rewrite(path: &Path, level: FilterLevel) -> Option<(Vec<u8>, Vec<u8>, Compression)> {
    let theirs = std::fs::read(path).unwrap();
    let footer = Footer::decode(&theirs, theirs.len() as u64).ok()?;
    let file = Env::posix().fs.open_random(path, &ReadHints::default()).unwrap();
    let open = |order: Order| OpenOptions { order, ..OpenOptions::default() };
    let reader = Reader::open(file.clone(), theirs.len() as u64, &open(Order::Bytewise)).ok()?;
    let mut options = options(path.parent()?, &footer, reader.properties())?;
    options.place.filter_level = level;
    let order = options.order.user.clone();
    let reader = Arc::new(Reader::open(file, theirs.len() as u64, &open(order)).ok()?);
    let kind = options.block_compression.kind;
    let (ours, _) = write(options, |writer| {
        let mut iter = EmbeddedIter::new(&reader, &ReadCtx::default());
        iter.seek_to_first();
        while iter.valid() {
            writer.add(iter.key(), iter.value()).unwrap();
            iter.next();
        }
        for (key, end) in reader.range_tombstones() {
            writer.add(key, end).unwrap();
        }
    });
    Some((theirs, ours, kind))
}

/// Returns the properties that differ, except those that depend on the compressed size.
fn difference(theirs: &[u8], ours: &[u8]) -> Vec<String> {
    let of_sizes = [
        "rocksdb.data.size",
        "rocksdb.index.size",
        "rocksdb.top-level.index.size",
        "rocksdb.tail.start.offset",
        "rocksdb.num.data.blocks.compression.rejected",
        "rocksdb.compression",
    ];
    if filter(theirs) != filter(ours) {
        return vec!["filter".to_string()];
    }
    let (mut a, b) = (properties(theirs).entries(), properties(ours).entries());
    // Release 11.8.1 does not count the blocks that it holds while it samples a dictionary.
    if a.get(&b"rocksdb.num.data.blocks"[..]) == Some(&vec![0]) {
        a.insert(b"rocksdb.num.data.blocks".to_vec(), b[&b"rocksdb.num.data.blocks"[..]].clone());
    }
    let names: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
    let differ = names.into_iter().filter(|name| a.get(*name) != b.get(*name));
    differ
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .filter(|name| !of_sizes.contains(&&name[..]))
        .map(|name| format!("{name} {:?} {:?}", a.get(name.as_bytes()), b.get(name.as_bytes())))
        .collect()
}

/// Returns the block with that name.
fn block<'a>(file: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let footer = Footer::decode(file, file.len() as u64).unwrap();
    let at = |handle: format::handle::BlockHandle| &file[handle.offset as usize..][..handle.size as usize];
    Metaindex::decode(at(footer.metaindex)).unwrap().get(name).map(at)
}

fn filter(file: &[u8]) -> Option<&[u8]> {
    block(file, "fullfilter.rocksdb.BuiltinBloomFilter")
}

fn properties(file: &[u8]) -> Properties {
    Properties::decode(block(file, metaindex::names::PROPERTIES).unwrap(), 0).unwrap()
}

#[test]
fn golden_tables_come_out_as_they_were() {
    let mut tables = Vec::new();
    files("sst", Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/golden")), &mut tables);
    // The properties of `options-all` do not show all options that shape a table.
    let left_out = ["corrupt", "options-all"];
    tables.retain(|path| !path.iter().any(|part| left_out.iter().any(|name| part == *name)));
    tables.sort();
    let (mut identical, mut alike, mut different) = (0, 0, Vec::new());
    for path in &tables {
        let levels = [FilterLevel::Flush, FilterLevel::Level(Level::new(6))];
        let tries: Vec<_> = levels.into_iter().filter_map(|level| rewrite(path, level)).collect();
        if tries.is_empty() {
            continue;
        }
        if tries.iter().any(|(theirs, ours, _)| theirs == ours) {
            identical += 1;
        } else if tries.iter().any(|(theirs, ours, _)| difference(theirs, ours).is_empty()) {
            alike += 1;
        } else {
            let (theirs, ours, kind) = &tries[0];
            different.push(format!("{} {kind}: {:?}", path.display(), difference(theirs, ours)));
        }
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(identical >= 40 && identical + alike >= 250, "{identical} {alike}");
}

/// The values come out of RocksDB's table whole, and the writer embeds them again: equal counts, keys and filter, and an index
/// without delta encoding.
#[test]
fn a_golden_table_with_embedded_blobs_comes_out_as_it_was() {
    let dir = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/golden/ingest-embedded-blobs"));
    let (theirs, ours, _) = rewrite(&dir.join("000008.sst"), FilterLevel::Unknown).unwrap();
    assert!(difference(&theirs, &ours).is_empty(), "{:?}", difference(&theirs, &ours));
    let stats = |file: &[u8]| properties(file).user(names::EMBEDDED_BLOB_STATS).unwrap().to_vec();
    assert_eq!(stats(&theirs), stats(&ours));
    assert_eq!(properties(&ours).index_value_is_delta_encoded, 0);
}
