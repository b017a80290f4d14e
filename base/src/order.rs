//! Comparators: the order of user keys, and prefix extractors.
//!
//! The engine uses [`Order`]. The built-in orders are variants of an enum, so the comparison of bytes is inlined, and
//! only a comparator of the user costs a virtual call. The names are on disk (MANIFEST, table properties). An open
//! fails if the name differs. Facts: RocksDB `util/comparator.cc`, `util/slice.cc`.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A total order of user keys. The order must never change after a database was written.
///
/// Keys that compare as equal are one key. With timestamps (`timestamp_size` above 0), the last bytes of each key are
/// its timestamp, and newer timestamps come first.
pub trait Comparator: Send + Sync {
    /// Returns the name that files store. The open compares this name.
    fn name(&self) -> &str;

    /// Compares two user keys. The order must be total, and must not change during the life of a database.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;

    /// May shorten `start` to a key that is at least `start` and less than `limit`. An implementation may do nothing.
    fn shortest_separator(&self, _start: &mut Vec<u8>, _limit: &[u8]) {}

    /// May shorten `key` to a key that is at least `key`. An implementation may do nothing.
    fn short_successor(&self, _key: &mut Vec<u8>) {}

    /// Returns the length of the timestamp at the end of each user key, in bytes. 0: no timestamps.
    fn timestamp_size(&self) -> usize {
        0
    }

    /// Compares two timestamps; the older timestamp is less. Both slices have `timestamp_size` bytes.
    fn compare_timestamp(&self, _a: &[u8], _b: &[u8]) -> Ordering {
        Ordering::Equal
    }

    /// Compares two keys, which end with timestamps, without their timestamps.
    fn compare_without_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.compare(a, b)
    }

    /// Compares two keys that have no timestamp: bounds and prefixes. A comparator with timestamps must implement
    /// this method.
    fn compare_stripped(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.compare(a, b)
    }

    /// Returns true if keys with different bytes may be equal. True is always correct; false allows hash indexes.
    fn different_bytes_may_be_equal(&self) -> bool {
        true
    }
}

/// The order of a column family's user keys.
#[derive(Clone, Default)]
pub enum Order {
    /// `leveldb.BytewiseComparator`: unsigned bytes; a prefix comes before longer keys.
    #[default]
    Bytewise,
    /// `rocksdb.ReverseBytewiseComparator`.
    Reverse,
    /// An order of the user.
    Custom(Arc<dyn Comparator>),
}

/// The name of [`Order::Bytewise`] in files.
pub const BYTEWISE_NAME: &str = "leveldb.BytewiseComparator";
/// The name of [`Order::Reverse`] in files.
pub const REVERSE_NAME: &str = "rocksdb.ReverseBytewiseComparator";

impl Order {
    /// Makes an order from a comparator.
    pub fn custom(comparator: impl Comparator + 'static) -> Self {
        Order::Custom(Arc::new(comparator))
    }

    /// Returns the built-in order with this name, or `None`. The orders include `rocksdb.Uint64Comparator`, which is
    /// in RocksDB's test utilities and not in its library, because databases can have this name.
    pub fn by_name(name: &str) -> Option<Order> {
        Some(match name {
            BYTEWISE_NAME | "rocksdb.BytewiseComparator" => Order::Bytewise,
            REVERSE_NAME => Order::Reverse,
            "leveldb.BytewiseComparator.u64ts" => Order::custom(U64Timestamped { reverse: false }),
            "rocksdb.ReverseBytewiseComparator.u64ts" => Order::custom(U64Timestamped { reverse: true }),
            "rocksdb.Uint64Comparator" => Order::custom(Uint64),
            _ => return None,
        })
    }

    /// Returns the name that files hold.
    pub fn name(&self) -> &str {
        match self {
            Order::Bytewise => BYTEWISE_NAME,
            Order::Reverse => REVERSE_NAME,
            Order::Custom(c) => c.name(),
        }
    }

    /// Returns true for [`Order::Bytewise`], for which readers have a faster path.
    #[inline]
    pub fn is_bytewise(&self) -> bool {
        matches!(self, Order::Bytewise)
    }

    /// Compares two user keys.
    #[inline]
    pub fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Order::Bytewise => compare_bytes(a, b),
            Order::Reverse => compare_bytes(b, a),
            Order::Custom(c) => c.compare(a, b),
        }
    }

    /// Returns true if both user keys are the same key, timestamps included.
    #[inline]
    pub fn equal(&self, a: &[u8], b: &[u8]) -> bool {
        match self {
            Order::Bytewise | Order::Reverse => a == b,
            Order::Custom(c) => c.compare(a, b).is_eq(),
        }
    }

    /// May shorten `start` to a key that is at least `start` and less than `limit`. Index blocks use the shorter key.
    pub fn shortest_separator(&self, start: &mut Vec<u8>, limit: &[u8]) {
        match self {
            Order::Bytewise => bytewise_separator(start, limit),
            Order::Reverse => reverse_separator(start, limit),
            Order::Custom(c) => c.shortest_separator(start, limit),
        }
    }

    /// May shorten `key` to a key that is at least `key`. The last entry of an index block uses the shorter key.
    pub fn short_successor(&self, key: &mut Vec<u8>) {
        match self {
            Order::Bytewise => bytewise_successor(key),
            Order::Reverse => {}
            Order::Custom(c) => c.short_successor(key),
        }
    }

    /// Returns the bytes of the timestamp at the end of each user key. 0 if keys have no timestamp.
    #[inline]
    pub fn timestamp_size(&self) -> usize {
        match self {
            Order::Bytewise | Order::Reverse => 0,
            Order::Custom(c) => c.timestamp_size(),
        }
    }

    /// Compares two user keys by their parts before the timestamps.
    #[inline]
    pub fn compare_without_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Order::Bytewise => compare_bytes(a, b),
            Order::Reverse => compare_bytes(b, a),
            Order::Custom(c) => c.compare_without_timestamp(a, b),
        }
    }

    /// Compares two keys that have no timestamp.
    #[inline]
    pub fn compare_stripped(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Order::Bytewise => compare_bytes(a, b),
            Order::Reverse => compare_bytes(b, a),
            Order::Custom(c) => c.compare_stripped(a, b),
        }
    }

    /// Compares two timestamps. Equal if keys have no timestamp.
    pub fn compare_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        match self {
            Order::Bytewise | Order::Reverse => Ordering::Equal,
            Order::Custom(c) => c.compare_timestamp(a, b),
        }
    }

    /// Returns true if keys with different bytes may be equal.
    pub fn different_bytes_may_be_equal(&self) -> bool {
        match self {
            Order::Bytewise | Order::Reverse => false,
            Order::Custom(c) => c.different_bytes_may_be_equal(),
        }
    }
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Compares unsigned bytes. The first eight bytes decide most comparisons without a call of `memcmp`.
#[inline]
pub fn compare_bytes(a: &[u8], b: &[u8]) -> Ordering {
    if let (Some(x), Some(y)) = (a.first_chunk::<8>(), b.first_chunk::<8>()) {
        let (x, y) = (u64::from_be_bytes(*x), u64::from_be_bytes(*y));
        if x != y {
            return x.cmp(&y);
        }
        return a[8..].cmp(&b[8..]);
    }
    a.cmp(b)
}

/// Returns the first eight bytes as a number. The numbers have the order of the bytes. A shorter key is padded with
/// zeros, so keys with equal numbers may still differ.
#[inline]
pub fn head(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 8];
            bytes[..key.len()].copy_from_slice(key);
            u64::from_be_bytes(bytes)
        }
    }
}

fn bytewise_separator(start: &mut Vec<u8>, limit: &[u8]) {
    let Some(at) = start.iter().zip(limit).position(|(a, b)| a != b) else { return };
    if start[at] >= limit[at] {
        return;
    }
    if at + 1 < limit.len() || start[at] + 1 < limit[at] {
        start[at] += 1;
        start.truncate(at + 1);
        return;
    }
    if let Some(bump) = (at + 1..start.len()).find(|&i| start[i] < 0xff) {
        start[bump] += 1;
        start.truncate(bump + 1);
    }
}

fn bytewise_successor(key: &mut Vec<u8>) {
    if let Some(at) = key.iter().position(|&b| b != 0xff) {
        key[at] += 1;
        key.truncate(at + 1);
    }
}

fn reverse_separator(start: &mut Vec<u8>, limit: &[u8]) {
    let Some(at) = start.iter().zip(limit).position(|(a, b)| a != b) else { return };
    if start[at] > limit[at] && at + 1 < start.len() {
        start.truncate(at + 1);
    }
}

/// Byte-wise keys, followed by a little-endian timestamp of eight bytes. Newer timestamps come first.
struct U64Timestamped {
    reverse: bool,
}

/// Splits a key into key and timestamp. A key that is too short for a timestamp gets the oldest timestamp.
fn split_u64(key: &[u8]) -> (&[u8], u64) {
    match key.split_last_chunk::<8>() {
        Some((key, ts)) => (key, u64::from_le_bytes(*ts)),
        None => (key, 0),
    }
}

impl Comparator for U64Timestamped {
    fn name(&self) -> &str {
        if self.reverse {
            "rocksdb.ReverseBytewiseComparator.u64ts"
        } else {
            "leveldb.BytewiseComparator.u64ts"
        }
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.compare_without_timestamp(a, b).then_with(|| split_u64(b).1.cmp(&split_u64(a).1))
    }

    fn timestamp_size(&self) -> usize {
        8
    }

    fn compare_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        split_u64(a).1.cmp(&split_u64(b).1)
    }

    fn compare_without_timestamp(&self, a: &[u8], b: &[u8]) -> Ordering {
        self.compare_stripped(split_u64(a).0, split_u64(b).0)
    }

    fn compare_stripped(&self, a: &[u8], b: &[u8]) -> Ordering {
        let order = compare_bytes(a, b);
        if self.reverse { order.reverse() } else { order }
    }
}

/// Keys of eight bytes as little-endian numbers. Keys of another length come before these keys, in byte order.
struct Uint64;

impl Comparator for Uint64 {
    fn name(&self) -> &str {
        "rocksdb.Uint64Comparator"
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        match (<[u8; 8]>::try_from(a), <[u8; 8]>::try_from(b)) {
            (Ok(a), Ok(b)) => u64::from_le_bytes(a).cmp(&u64::from_le_bytes(b)),
            (Ok(_), Err(_)) => Ordering::Greater,
            (Err(_), Ok(_)) => Ordering::Less,
            (Err(_), Err(_)) => a.cmp(b),
        }
    }

    fn different_bytes_may_be_equal(&self) -> bool {
        false
    }
}

/// Returns the part of a key that prefix filters and prefix seeks use. RocksDB: `SliceTransform`.
pub trait PrefixExtractor: Send + Sync {
    /// Returns the name that table properties store, with parameters: `rocksdb.FixedPrefix.4`.
    fn name(&self) -> String;

    /// Returns the prefix of a key, or `None` if the key is outside of the domain. The prefix is borrowed from the key, except
    /// if the application returned other bytes in its own memory.
    fn prefix<'a>(&self, key: &'a [u8]) -> Option<Cow<'a, [u8]>>;

    /// Returns the common or the largest length of prefixes, if there is one.
    fn full_length(&self) -> Option<usize> {
        None
    }
}

/// The built-in prefix extractors, as options name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltinPrefix {
    /// `rocksdb.FixedPrefix.N`: the first N bytes; shorter keys are outside the domain.
    Fixed(usize),
    /// `rocksdb.CappedPrefix.N`: at most the first N bytes.
    Capped(usize),
    /// `rocksdb.Noop`: the whole key.
    Noop,
}

impl BuiltinPrefix {
    /// Reads the name in option text: `rocksdb.FixedPrefix.4`, `fixed:4`, `rocksdb.CappedPrefix.6`, `capped:6`,
    /// `rocksdb.Noop`, `noop`.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |n: &str| n.parse().ok();
        if let Some(n) = text.strip_prefix("rocksdb.FixedPrefix.").or_else(|| text.strip_prefix("fixed:")) {
            return number(n).map(BuiltinPrefix::Fixed);
        }
        if let Some(n) = text.strip_prefix("rocksdb.CappedPrefix.").or_else(|| text.strip_prefix("capped:")) {
            return number(n).map(BuiltinPrefix::Capped);
        }
        matches!(text, "rocksdb.Noop" | "noop").then_some(BuiltinPrefix::Noop)
    }
}

impl PrefixExtractor for BuiltinPrefix {
    fn name(&self) -> String {
        match self {
            BuiltinPrefix::Fixed(n) => format!("rocksdb.FixedPrefix.{n}"),
            BuiltinPrefix::Capped(n) => format!("rocksdb.CappedPrefix.{n}"),
            BuiltinPrefix::Noop => "rocksdb.Noop".to_string(),
        }
    }

    fn prefix<'a>(&self, key: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let prefix = match *self {
            BuiltinPrefix::Fixed(n) => key.get(..n)?,
            BuiltinPrefix::Capped(n) => &key[..n.min(key.len())],
            BuiltinPrefix::Noop => key,
        };
        Some(Cow::Borrowed(prefix))
    }

    fn full_length(&self) -> Option<usize> {
        match *self {
            BuiltinPrefix::Fixed(n) | BuiltinPrefix::Capped(n) => Some(n),
            BuiltinPrefix::Noop => None,
        }
    }
}
