//! Files in memory, and checks for every readable table.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::iter::InternalIterator;
use base::key::{parse, seek_key, sequence, user_key};
use base::order::BuiltinPrefix;
use base::{FileNumber, Level, Order, Result, SequenceNumber};
use env::fs::RandomRead;
use ironstone_table::options::{BlockBasedTableOptions, FilterPolicy};
use ironstone_table::sst::{OpenOptions, ReadCtx, Reader, TableIter};

/// A file whose bytes are in memory.
#[derive(Debug)]
pub struct Bytes {
    pub path: PathBuf,
    pub bytes: Vec<u8>,
}

impl RandomRead for Bytes {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let rest = self.bytes.get(offset as usize..).unwrap_or_default();
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }
    fn size(&self) -> Result<u64> {
        Ok(self.bytes.len() as u64)
    }
    fn path(&self) -> &Path {
        &self.path
    }
}

pub type Row = (Vec<u8>, Vec<u8>);

pub fn options(order: Order) -> OpenOptions {
    let table = BlockBasedTableOptions {
        filter_policy: Some(FilterPolicy::bloom(10.0)),
        ..BlockBasedTableOptions::default()
    };
    OpenOptions {
        order,
        table: Arc::new(table),
        file_number: FileNumber::new(7),
        level: Level::new(1),
        ..OpenOptions::default()
    }
}

pub fn open(path: impl Into<PathBuf>, bytes: Vec<u8>, options: &OpenOptions) -> Result<Arc<Reader>> {
    let size = bytes.len() as u64;
    Reader::open(Arc::new(Bytes { path: path.into(), bytes }), size, options).map(Arc::new)
}

/// Returns the order that the properties of the table name.
pub fn order_of(path: &Path, bytes: &[u8]) -> Option<Order> {
    let reader = open(path, bytes.to_vec(), &options(Order::Bytewise)).ok()?;
    let name = String::from_utf8_lossy(&reader.properties().comparator_name).into_owned();
    Order::by_name(&name)
}

/// Returns options with which the reader can use the whole filter of the file.
pub fn options_for(path: &Path, bytes: &[u8]) -> Option<OpenOptions> {
    let mut options = options(order_of(path, bytes)?);
    let reader = open(path, bytes.to_vec(), &options).ok()?;
    let prefix = String::from_utf8_lossy(&reader.properties().prefix_extractor_name).into_owned();
    options.prefix_extractor = BuiltinPrefix::parse(&prefix).map(|p| Arc::new(p) as _);
    Some(options)
}

pub fn forward(iter: &mut TableIter) -> Vec<Row> {
    let mut rows = Vec::new();
    iter.seek_to_first();
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.next();
    }
    iter.status().unwrap();
    rows
}

fn backward(iter: &mut TableIter) -> Vec<Row> {
    let mut rows = Vec::new();
    iter.seek_to_last();
    while iter.valid() {
        rows.push((iter.key().to_vec(), iter.value().to_vec()));
        iter.prev();
    }
    iter.status().unwrap();
    rows.reverse();
    rows
}

pub fn get(reader: &Reader, key: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let mut found = Vec::new();
    reader
        .get(key, &ReadCtx::default(), |entry| {
            assert_eq!(entry.value.pin()[..], entry.value[..]);
            found.push((entry.trailer, entry.value.to_vec()));
            ControlFlow::Continue(())
        })
        .unwrap();
    found
}

/// Checks that all read operations return the same entries. Returns the entries.
pub fn check_all_paths(reader: &Arc<Reader>, order: &Order) -> Vec<Row> {
    let total = ReadCtx { total_order_seek: true, ..ReadCtx::default() };
    let mut iter = reader.iter(&total);
    let rows = forward(&mut iter);
    assert_eq!(backward(&mut iter), rows, "backward");
    let internal = base::key::InternalOrder::new(order.clone());
    assert!(rows.is_sorted_by(|a, b| internal.compare(&a.0, &b.0).is_lt()), "order");

    let points = reader.properties().num_entries - reader.properties().num_range_deletions;
    assert_eq!(rows.len() as u64, points, "as many rows as the properties say");
    assert_eq!(reader.range_tombstones().len() as u64, reader.properties().num_range_deletions);
    reader.verify_checksums(&ReadCtx::default()).unwrap();
    let data_size: u64 =
        reader.approximate_size(&[], &seek_key(&[0xff; 40], SequenceNumber::ZERO), &total).unwrap();
    assert!(data_size <= reader.file_size());

    let mut prefix_iter = reader.iter(&ReadCtx::default());
    for (i, (key, value)) in rows.iter().enumerate() {
        parse(key).unwrap();
        iter.seek(key);
        assert_eq!((iter.key(), iter.value()), (&key[..], &value[..]), "seek");
        assert_eq!(iter.pin_value()[..], value[..]);
        iter.seek_for_prev(key);
        assert_eq!(iter.key(), &key[..], "seek_for_prev");
        prefix_iter.seek(key);
        assert_eq!(prefix_iter.key(), &key[..], "seek past the prefix filter");
        // Step once in each direction from here.
        iter.prev();
        assert_eq!(iter.valid().then(|| iter.key().to_vec()), (i > 0).then(|| rows[i - 1].0.clone()));
        if iter.valid() {
            iter.next();
            assert_eq!(iter.key(), &key[..]);
        }
        // All entries of the key, from this entry on.
        let versions = |row: &&Row| order.compare_without_timestamp(user_key(&row.0), user_key(key)).is_eq();
        let expected: Vec<_> =
            rows[i..].iter().take_while(versions).map(|r| (base::key::trailer(&r.0), r.1.clone())).collect();
        assert_eq!(get(reader, key), expected, "get {:?}", parse(key));
        assert!(reader.may_match(user_key(key), &ReadCtx::default()).unwrap());
        // A seek to the position just after the key finds the next entry.
        let mut behind = user_key(key).to_vec();
        behind.push(0);
        let target = seek_key(&behind, sequence(key));
        iter.seek(&target);
        let first = rows.iter().find(|r| internal.compare(&r.0, &target).is_ge());
        assert_eq!(iter.valid().then(|| iter.key().to_vec()), first.map(|r| r.0.clone()), "seek between");
        iter.seek_for_prev(&target);
        let last = rows.iter().rev().find(|r| internal.compare(&r.0, &target).is_le());
        assert_eq!(
            iter.valid().then(|| iter.key().to_vec()),
            last.map(|r| r.0.clone()),
            "seek_for_prev between"
        );
    }
    check_multi_get(reader, &rows);
    check_bound(reader, &rows, order);
    rows
}

fn check_multi_get(reader: &Arc<Reader>, rows: &[Row]) {
    let keys: Vec<&[u8]> = rows.iter().map(|r| &r.0[..]).collect();
    for batch in keys.chunks(45) {
        let mut found = vec![Vec::new(); batch.len()];
        let failed = reader.multi_get(batch, &ReadCtx::default(), |i, entry| {
            found[i].push((entry.trailer, entry.value.to_vec()));
            ControlFlow::Continue(())
        });
        assert!(failed.is_empty(), "{failed:?}");
        for (key, found) in batch.iter().zip(found) {
            assert_eq!(found, get(reader, key), "multi_get as get");
        }
    }
}

/// Checks an iteration with an upper bound: it returns every entry below the bound, and no block that is
/// completely after the bound.
fn check_bound(reader: &Arc<Reader>, rows: &[Row], order: &Order) {
    let Some(middle) = rows.get(rows.len() / 2) else { return };
    let bound = user_key(&middle.0).to_vec();
    let ctx = ReadCtx { upper_bound: Some(bound.clone()), total_order_seek: true, ..ReadCtx::default() };
    let seen = forward(&mut reader.iter(&ctx));
    let below = rows.iter().filter(|r| order.compare(user_key(&r.0), &bound).is_lt()).count();
    assert!(seen.len() >= below);
    assert_eq!(seen[..], rows[..seen.len()]);
}
