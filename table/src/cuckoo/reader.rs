//! One open cuckoo table, for lookups of single keys.
//!
//! RocksDB rejects a cuckoo table without `allow_mmap_reads`. This reader accepts such a table, and reads the
//! buckets through the block cache.

use std::ops::{ControlFlow, Range};
use std::sync::{Arc, OnceLock};

use base::coding::{get_u32, get_u64};
use base::key::{InternalOrder, TRAILER_LEN, pack, parse, user_key};
use base::{Arrange, Error, Result, SequenceNumber, ValueType};
use env::fs::RandomRead;
use format::metaindex::Metaindex;
use format::properties::Properties;

use super::{CuckooIter, Hashing, names};
use crate::flat::bytes::{Access, FileBytes, Window};
use crate::flat::meta;
use crate::sst::cache_key::{CacheKeyBase, check_id, own_id};
use crate::sst::{Entry, OpenOptions, ReadCtx, ValueRef};
use crate::unique_id::UniqueId;

/// An open cuckoo table. Any thread may use it, and lookups take no lock.
pub struct CuckooReader {
    pub(super) bytes: FileBytes,
    pub(super) order: InternalOrder,
    pub(super) shape: Shape,
    /// The sequence number that every entry of an external file has, in the place of the stored one.
    global_seqno: Option<SequenceNumber>,
    /// The numbers of the full buckets in the order of their keys.
    sorted: OnceLock<Vec<u32>>,
    properties: Arc<Properties>,
    metaindex: Metaindex,
}

/// The facts from the properties.
pub(super) struct Shape {
    /// `None` for a table without entries.
    hashing: Option<Hashing>,
    hashes: u32,
    block: u32,
    pub(super) key_len: usize,
    pub(super) user_key_len: usize,
    value_len: usize,
    /// True if the buckets have user keys instead of internal keys.
    pub(super) user_keys_only: bool,
    empty_key: Vec<u8>,
    buckets: u32,
}

impl Shape {
    fn parse(properties: &Properties, size: u64) -> Result<Shape> {
        let get = |name: &str, what: &str| {
            properties.user(name).ok_or_else(|| Error::corruption(format!("{what} not found")))
        };
        let cut = |what: &str| Error::corruption(format!("{what} is truncated"));
        let word =
            |name: &str, what: &str| get(name, what).and_then(|v| get_u32(v, 0).ok_or_else(|| cut(what)));
        let long =
            |name: &str, what: &str| get(name, what).and_then(|v| get_u64(v, 0).ok_or_else(|| cut(what)));
        let flag = |name: &str, what: &str| {
            get(name, what).and_then(|v| v.first().map(|flag| *flag != 0).ok_or_else(|| cut(what)))
        };
        let hashes = word(names::HASHES, "Number of hash functions")?;
        let empty_key = get(names::EMPTY_KEY, "Empty bucket value")?.to_vec();
        let user_key_len = word(names::USER_KEY_LEN, "User key length")? as usize;
        let value_len = long(names::VALUE_LEN, "Value length")?;
        let table_size = long(names::SIZE, "Hash table size")?;
        let user_keys_only = flag(names::LAST_LEVEL, "Is last level")?;
        let identity_first = flag(names::IDENTITY, "identity as first hash")?;
        let module = flag(names::MODULE, "hash type")?;
        let block = word(names::BLOCK, "Cuckoo block size")?;
        let wrong =
            |what: &str| Error::corruption(format!("the properties of a cuckoo table contradict: {what}"));
        let key_len = properties.fixed_key_len;
        let mut shape = Shape {
            hashing: None,
            hashes,
            block,
            key_len: usize::try_from(key_len).map_err(|_| wrong("the key length"))?,
            user_key_len,
            value_len: usize::try_from(value_len).map_err(|_| wrong("the value length"))?,
            user_keys_only,
            empty_key,
            buckets: 0,
        };
        if properties.num_entries == 0 {
            return Ok(shape);
        }
        let expected = user_key_len as u64 + if user_keys_only { 0 } else { TRAILER_LEN as u64 };
        if key_len != expected || shape.empty_key.len() as u64 != key_len {
            return Err(wrong("the key length"));
        }
        if table_size == 0 || block == 0 || (!module && !table_size.is_power_of_two()) {
            return Err(wrong("the number of buckets"));
        }
        let buckets = table_size.saturating_add(u64::from(block) - 1);
        let bytes = key_len.saturating_add(value_len).checked_mul(buckets);
        if bytes.is_none_or(|bytes| bytes > size) || buckets >= u64::from(u32::MAX) {
            return Err(Error::corruption(format!(
                "{buckets} buckets of {key_len} and {value_len} bytes in a file of {size} bytes"
            )));
        }
        shape.buckets = buckets as u32;
        shape.hashing = Some(Hashing { size: table_size, identity_first, module });
        Ok(shape)
    }

    /// Returns the location of the value in the bucket at `start`. A tombstone has no value; its bucket has
    /// filler.
    pub(super) fn value(&self, start: usize, value_type: u8) -> Range<usize> {
        let value = start + self.key_len;
        let len = if value_type == ValueType::Deletion as u8 { 0 } else { self.value_len };
        value..value + len
    }

    fn bucket_len(&self) -> usize {
        self.key_len + self.value_len
    }
}

impl CuckooReader {
    /// Opens a table of `size` bytes.
    ///
    /// # Errors
    /// Corruption if the file is not a complete table or contradicts the MANIFEST. NotSupported for an order
    /// with timestamps. Errors of the file.
    pub fn open(file: Arc<dyn RandomRead>, size: u64, options: &OpenOptions) -> Result<CuckooReader> {
        let path = file.path().to_path_buf();
        open(file, size, options).map_err(|e| e.doing("opening a cuckoo table").file(path))
    }

    /// Visits the entry of a key, unless the entry is newer than `seek_key` (an internal key).
    ///
    /// # Errors
    /// Corruption or errors of the file. Incomplete if `ctx` allows memory only and the read needs the file.
    pub fn get(
        &self,
        seek_key: &[u8],
        ctx: &ReadCtx,
        mut visit: impl FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let user = user_key(seek_key);
        let Some(hashing) = self.shape.hashing.filter(|_| user.len() == self.shape.user_key_len) else {
            return Ok(());
        };
        let order = &self.order.user;
        let empty = &self.shape.empty_key[..user.len()];
        let mut window = Window::new(Access::Random);
        for hash in 0..self.shape.hashes {
            let first = hashing.bucket(user, hash);
            base::invariant!(
                first < hashing.size,
                "a key has the bucket {first}, and the table has {}",
                hashing.size
            );
            for bucket in first..first + u64::from(self.shape.block) {
                let start = self.read(&mut window, bucket as u32, ctx)?;
                let found = window.get(start..start + user.len());
                if found == empty {
                    return Ok(());
                }
                if !order.equal(user, found) {
                    continue;
                }
                let stored = window.get(start..start + self.shape.key_len);
                if !self.shape.user_keys_only {
                    parse(stored)?;
                }
                let trailer = self.trailer_of(stored);
                // The entry is newer than the snapshot of the reader. RocksDB returns the entry.
                if trailer > base::key::trailer(seek_key) {
                    return Ok(());
                }
                let Some(bytes) = window.bytes() else { return Ok(()) };
                let value = ValueRef::of(bytes, self.shape.value(start, trailer as u8));
                let _ = visit(Entry { user_key: found, trailer, value });
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the trailer of the entry in a bucket. `stored` is the valid key of the bucket.
    pub(super) fn trailer_of(&self, stored: &[u8]) -> u64 {
        let own = match self.shape.user_keys_only {
            true => pack(SequenceNumber::ZERO, ValueType::Value as u8),
            false => base::key::trailer(stored),
        };
        self.global_seqno.map_or(own, |seq| pack(seq, own as u8))
    }

    /// Returns the sequence number that every entry of an external file has.
    pub fn global_seqno(&self) -> Option<SequenceNumber> {
        self.global_seqno
    }

    /// Reads a bucket into the window. Returns the start of the bucket in the window.
    ///
    /// # Errors
    /// Errors of the file.
    #[inline]
    pub(super) fn read(&self, window: &mut Window, bucket: u32, ctx: &ReadCtx) -> Result<usize> {
        base::invariant!(
            bucket < self.shape.buckets,
            "a cuckoo table has {} buckets, and no bucket {bucket}",
            self.shape.buckets
        );
        let len = self.shape.bucket_len();
        let range = self.bytes.at(window, u64::from(bucket) * len as u64, len, ctx)?;
        Ok(range.start)
    }

    /// Returns the numbers of the full buckets in the order of their keys.
    ///
    /// # Errors
    /// Errors of the file.
    pub(super) fn sorted(&self, ctx: &ReadCtx) -> Result<&[u32]> {
        if let Some(sorted) = self.sorted.get() {
            return Ok(sorted);
        }
        let len = self.shape.user_key_len;
        let mut window = Window::new(Access::Scan);
        let (mut keys, mut sorted) = (Vec::new(), Vec::new());
        for bucket in 0..self.shape.buckets {
            let start = self.read(&mut window, bucket, ctx)?;
            let stored = window.get(start..start + self.shape.key_len);
            if stored != self.shape.empty_key {
                if !self.shape.user_keys_only {
                    let at = u64::from(bucket) * self.shape.bucket_len() as u64;
                    parse(stored).map_err(|e| e.at(at))?;
                }
                keys.extend_from_slice(&stored[..len]);
                sorted.push(bucket);
            }
        }
        let key = |at: u32| keys.get(at as usize * len..(at as usize + 1) * len).unwrap_or_default();
        let mut order: Vec<u32> = (0..sorted.len() as u32).collect();
        order.arrange_by(|a, b| self.order.user.compare(key(*a), key(*b)));
        base::invariant!(
            keys.len() == sorted.len() * len && sorted.len() <= self.shape.buckets as usize,
            "{} full buckets of {} have keys of {} bytes in total",
            sorted.len(),
            self.shape.buckets,
            keys.len()
        );
        let sorted = order.into_iter().filter_map(|at| sorted.get(at as usize).copied()).collect();
        Ok(self.sorted.get_or_init(|| sorted))
    }

    /// Returns an iterator, which keeps the table open.
    pub fn iter(self: &Arc<Self>, ctx: &ReadCtx) -> CuckooIter {
        CuckooIter::new(self.clone(), ctx.clone())
    }

    /// Returns the order of the keys.
    pub fn order(&self) -> &InternalOrder {
        &self.order
    }

    /// Returns the table properties.
    pub fn properties(&self) -> &Arc<Properties> {
        &self.properties
    }

    /// Returns the names and the handles of the meta blocks.
    pub fn metaindex(&self) -> &Metaindex {
        &self.metaindex
    }

    /// Returns the size of the file in bytes.
    pub fn file_size(&self) -> u64 {
        self.bytes.size()
    }

    /// Returns the bytes of memory that the open table takes outside of the block cache.
    pub fn memory_bytes(&self) -> usize {
        size_of::<CuckooReader>()
            + self.bytes.memory_bytes()
            + self.sorted.get().map_or(0, |sorted| sorted.capacity() * 4)
    }
}

fn open(file: Arc<dyn RandomRead>, size: u64, options: &OpenOptions) -> Result<CuckooReader> {
    if options.order.timestamp_size() > 0 {
        return Err(Error::not_supported("user-defined timestamps in a cuckoo table"));
    }
    let meta = meta::read(&*file, size)?;
    if let Some(expected) = options.unique_id {
        check_id(&meta.properties, expected)?;
    }
    let id = own_id(&meta.properties)
        .unwrap_or_else(|| UniqueId::forced(b"unknown", &options.db_session_id, options.file_number));
    let shape = Shape::parse(&meta.properties, size)?;
    Ok(CuckooReader {
        bytes: FileBytes::open(file, size, CacheKeyBase::new(&id), options)?,
        order: InternalOrder::new(options.order.clone()),
        shape,
        global_seqno: meta.properties.global_seqno(options.largest_seqno)?,
        sorted: OnceLock::new(),
        properties: Arc::new(meta.properties),
        metaindex: meta.metaindex,
    })
}
