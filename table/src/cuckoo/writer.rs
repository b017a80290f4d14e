//! Writes a cuckoo table: entries go in, a file comes out.
//!
//! The writer keeps all entries in memory until the end, because the bucket of each key depends on all keys.
//! For the same options and entries the file is byte for byte RocksDB 11.8.1's file, with one difference.
//! RocksDB decides by the first entry whether all sequence numbers are 0. This writer checks all entries, so
//! a later sequence number or tombstone is not lost.
//!
//! Source: RocksDB `table/cuckoo/cuckoo_table_builder.cc`.

use base::key::{TRAILER_LEN, sequence, trailer, user_key};
use base::{Error, Result, SequenceNumber, ValueType};
use env::writer::FileWriter;
use format::footer::TableKind;
use format::metaindex::Metaindex;
use format::properties::Properties;
use mem::cache::{Reservation, Role};

use super::place::{Placed, Placing};
use super::{Hashing, names};
use crate::flat::meta;
use crate::sst::writer::{Counts, finished, mark_external};
use crate::sst::{FinishedTable, Writer, WriterOptions};

/// The filler of empty buckets and of the values of tombstones.
const FILLER: u8 = b'a';

/// A cuckoo table being written. After an error the table is lost: drop the writer and delete the file.
pub struct CuckooWriter {
    file: FileWriter,
    options: WriterOptions,
    held: Held,
    shape: Option<Shape>,
    /// True if all sequence numbers are 0 and no entry is a tombstone.
    user_keys_only: bool,
    /// The number of buckets, if it must be a power of two.
    power: u64,
    counts: Counts,
    smallest: Vec<u8>,
    largest: Vec<u8>,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
    charge: Option<Reservation>,
}

/// The entries so far. The values have the first numbers, and the tombstones have the numbers after the
/// values.
#[derive(Default)]
struct Held {
    /// Internal keys, each with its value.
    values: Vec<u8>,
    /// Internal keys.
    deletions: Vec<u8>,
    key_len: usize,
    value_len: Option<usize>,
}

impl Held {
    /// Returns the internal key and the value of a number. A tombstone has no value.
    fn entry(&self, number: u32) -> (&[u8], Option<&[u8]>) {
        base::invariant!(self.key_len >= TRAILER_LEN, "the held keys have no trailer");
        let len = self.key_len + self.value_len.unwrap_or(0);
        let at = number as usize * len;
        match self.value_len.and_then(|_| self.values.get(at..at + len)) {
            Some(entry) => (&entry[..self.key_len], Some(&entry[self.key_len..])),
            None => {
                let at = (number as usize - self.values.len() / len.max(1)) * self.key_len;
                (self.deletions.get(at..at + self.key_len).unwrap_or_default(), None)
            }
        }
    }

    fn memory_bytes(&self) -> usize {
        self.values.capacity() + self.deletions.capacity()
    }
}

/// The bucket of each entry, and the content of empty buckets.
pub struct Layout {
    block: u32,
    size: u64,
    placed: Placed,
    /// The key of empty buckets.
    empty: Vec<u8>,
}

/// The facts about the first entry.
#[derive(Clone, Copy)]
struct Shape {
    user_key_len: usize,
    /// True if the first entry has sequence number 0. RocksDB's estimate of the file size depends on this.
    first_is_of_sequence_0: bool,
}

impl CuckooWriter {
    /// Starts a table at the start of `file`.
    ///
    /// # Errors
    /// InvalidArgument for options that are out of range. NotSupported for an order with timestamps.
    pub fn new(file: FileWriter, options: WriterOptions) -> Result<CuckooWriter> {
        options.other.cuckoo.validate()?;
        if options.order.user.timestamp_size() > 0 {
            return Err(Error::not_supported("user-defined timestamps in a cuckoo table"));
        }
        let charge =
            options.resources.ledger.clone().and_then(|ledger| Reservation::new(ledger, Role::Misc, 0).ok());
        Ok(CuckooWriter {
            file,
            options,
            held: Held::default(),
            shape: None,
            user_keys_only: true,
            power: 2,
            counts: Counts::default(),
            smallest: Vec::new(),
            largest: Vec::new(),
            first_key: Vec::new(),
            last_key: Vec::new(),
            charge,
        })
    }

    /// Adds an entry.
    ///
    /// # Errors
    /// NotSupported for an entry that is neither a value nor a tombstone, and for a key or a value of another
    /// size than before.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.counts.entries >= u64::from(u32::MAX) - 1 {
            return Err(Error::not_supported("Number of keys in a file must be < 2^32-1"));
        }
        if key.len() < TRAILER_LEN {
            return Err(Error::corruption("Unable to parse key into internal key. "));
        }
        let (user, value_type) = (user_key(key), trailer(key) as u8);
        let is_value = value_type == ValueType::Value as u8;
        if !is_value && value_type != ValueType::Deletion as u8 {
            return Err(Error::not_supported(format!("Unsupported key type {value_type}")));
        }
        let shape = *self.shape.get_or_insert_with(|| {
            (self.smallest, self.largest, self.first_key) = (user.to_vec(), user.to_vec(), key.to_vec());
            self.held.key_len = key.len();
            Shape { user_key_len: user.len(), first_is_of_sequence_0: sequence(key).is_zero() }
        });
        if user.len() != shape.user_key_len {
            return Err(Error::not_supported("all keys have to be the same size"));
        }
        if is_value {
            if *self.held.value_len.get_or_insert(value.len()) != value.len() {
                return Err(Error::not_supported("all values have to be the same size"));
            }
            self.held.values.extend_from_slice(key);
            self.held.values.extend_from_slice(value);
        } else {
            self.held.deletions.extend_from_slice(key);
        }
        base::invariant!(
            self.held.deletions.len().is_multiple_of(self.held.key_len),
            "the held deletions end inside of a key"
        );
        base::invariant!(
            self.last_key.is_empty() || self.options.order.compare(&self.last_key, key).is_lt(),
            "the key {key:02x?} is out of order"
        );
        self.user_keys_only &= is_value && sequence(key).is_zero();
        self.counts.add(trailer(key), key.len(), value.len());
        if user < &self.smallest[..] {
            self.smallest = user.to_vec();
        } else if user > &self.largest[..] {
            self.largest = user.to_vec();
        }
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
        if (self.power as f64) < self.counts.entries as f64 / self.options.other.cuckoo.hash_table_ratio {
            self.power = self.power.saturating_mul(2);
        }
        if let Some(charge) = &mut self.charge {
            // A rejected charge has no effect, because the entries are already in memory.
            let _ = charge.set(self.held.memory_bytes());
        }
        Ok(())
    }

    /// Returns the order of the keys.
    pub fn order(&self) -> &base::key::InternalOrder {
        &self.options.order
    }

    /// Returns the number of entries so far.
    pub fn entries(&self) -> u64 {
        self.counts.entries
    }

    /// Returns the approximate size of the buckets in bytes, if the table is finished now.
    pub fn file_size(&self) -> u64 {
        let Some(shape) = self.shape else { return 0 };
        let table = &self.options.other.cuckoo;
        let key_len = shape.user_key_len + if shape.first_is_of_sequence_0 { 0 } else { TRAILER_LEN };
        let bucket = (key_len + self.held.value_len.unwrap_or(0)) as u64;
        if table.use_module_hash {
            return (bucket.saturating_mul(self.counts.entries) as f64 / table.hash_table_ratio) as u64;
        }
        let next = (self.counts.entries + 1) as f64 / table.hash_table_ratio;
        let size = if (self.power as f64) < next { self.power.saturating_mul(2) } else { self.power };
        // An empty key with an empty value has no byte.
        bucket.saturating_mul(size).saturating_sub(1)
    }

    /// Writes the table. Does not sync or close the file.
    ///
    /// # Errors
    /// The errors of [`CuckooWriter::lay_out`] and [`CuckooWriter::write`].
    pub fn finish(self) -> Result<(FinishedTable, FileWriter)> {
        let layout = self.lay_out()?;
        self.write(layout)
    }

    /// Chooses the bucket of each entry. Does not write to the file.
    ///
    /// # Errors
    /// NotSupported if a user key has two entries, if the keys have too many collisions, or if there is no key for empty
    /// buckets.
    pub(crate) fn lay_out(&self) -> Result<Layout> {
        let table = &self.options.other.cuckoo;
        let block = table.cuckoo_block_size.max(1);
        let mut size = if table.use_module_hash { 0 } else { self.power };
        let mut placed = Placed { buckets: Vec::new(), hashes: 2 };
        let mut empty = Vec::new();
        if self.counts.entries > 0 {
            if table.use_module_hash {
                size = (self.counts.entries as f64 / table.hash_table_ratio) as u64;
            }
            placed = self.place(size, block)?;
            empty = unused_key(&self.smallest, &self.largest)?;
            if !self.user_keys_only {
                empty.extend_from_slice(
                    &base::key::pack(SequenceNumber::ZERO, ValueType::Value as u8).to_le_bytes(),
                );
            }
        }
        Ok(Layout { block, size, placed, empty })
    }

    /// Writes the table with the buckets of `layout`, which [`CuckooWriter::lay_out`] made after the last entry.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn write(mut self, layout: Layout) -> Result<(FinishedTable, FileWriter)> {
        let Layout { block, size, placed, mut empty } = layout;
        let table = self.options.other.cuckoo.clone();
        let value_len = self.held.value_len.unwrap_or(0);
        let key_len = empty.len();
        empty.resize(key_len + value_len, FILLER);
        let mut offset = 0;
        for bucket in &placed.buckets {
            match bucket {
                None => self.file.append(&empty)?,
                Some(number) => {
                    let (key, value) = self.held.entry(*number);
                    let stored = key.get(..key_len).unwrap_or(key);
                    self.file.append(stored)?;
                    match value {
                        Some(value) => self.file.append(value)?,
                        None => self.file.append(&vec![FILLER; value_len])?,
                    }
                }
            }
            offset += empty.len() as u64;
        }
        base::invariant!(
            placed.buckets.iter().flatten().count() as u64 == self.counts.entries,
            "the table does not hold each entry once"
        );
        base::invariant!(
            offset == placed.buckets.len() as u64 * (key_len + value_len) as u64,
            "{} buckets have {offset} bytes",
            placed.buckets.len()
        );
        empty.truncate(key_len);
        let mut properties = self.initial_properties((key_len, value_len), offset);
        let mut user =
            |name: &str, value: &[u8]| properties.user_collected.insert(name.into(), value.to_vec());
        user(names::EMPTY_KEY, &empty);
        user(names::HASHES, &placed.hashes.to_le_bytes());
        user(names::SIZE, &size.to_le_bytes());
        user(names::VALUE_LEN, &(value_len as u64).to_le_bytes());
        user(names::LAST_LEVEL, &[u8::from(self.user_keys_only && self.counts.entries > 0)]);
        user(names::BLOCK, &block.to_le_bytes());
        user(names::IDENTITY, &[u8::from(table.identity_as_first_hash)]);
        user(names::MODULE, &[u8::from(table.use_module_hash)]);
        user(names::USER_KEY_LEN, &(self.smallest.len() as u32).to_le_bytes());
        mark_external(&self.options, &mut properties);
        meta::write(&mut self.file, &mut offset, TableKind::Cuckoo, &properties, Metaindex::default())?;
        let bounds = self.shape.map(|_| (self.first_key, self.last_key));
        let done = finished(&self.options, properties, &self.counts, (offset, bounds));
        let checksum = self.file.checksum();
        Ok((FinishedTable { file_checksum: checksum, ..done }, self.file))
    }

    fn place(&self, size: u64, block: u32) -> Result<Placed> {
        let table = &self.options.other.cuckoo;
        if size == 0 {
            return Err(Error::not_supported("Too many collisions. Unable to hash."));
        }
        let hashing =
            Hashing { size, identity_first: table.identity_as_first_hash, module: table.use_module_hash };
        let order = &self.options.order.user;
        let placing = Placing {
            hashing,
            block,
            search_depth_max: table.max_search_depth,
            key: &|number| user_key(self.held.entry(number).0),
            same: &|a, b| order.equal(a, b),
        };
        placing.place(self.counts.entries as u32)
    }

    fn initial_properties(&self, (key_len, value_len): (usize, usize), data_size: u64) -> Properties {
        let options = &self.options;
        let text = |text: &str| text.as_bytes().to_vec();
        Properties {
            num_entries: self.counts.entries,
            num_deletions: self.counts.deletions,
            raw_key_size: self.counts.entries * key_len as u64,
            raw_value_size: self.counts.entries * value_len as u64,
            data_size,
            num_data_blocks: 1,
            fixed_key_len: key_len as u64,
            column_family_id: u64::from(options.place.family.get()),
            column_family_name: text(&options.place.family_name),
            db_id: text(&options.identity.db_id),
            db_session_id: text(&options.identity.db_session_id),
            original_file_number: options.file_number.get(),
            ..Properties::default()
        }
    }

    /// Writes the entries so far to a block-based table in the same file. No entry is in the file yet.
    ///
    /// # Errors
    /// The errors of [`Writer::new`] and [`Writer::add`].
    pub(crate) fn into_block_based(self) -> Result<Writer> {
        let order = self.options.order.clone();
        let mut writer = Writer::new(self.file, self.options)?;
        let value_len = self.held.value_len.unwrap_or(0);
        let len = self.held.key_len + value_len;
        let mut values = self.held.values.chunks_exact(len.max(1)).peekable();
        let mut deletions = self.held.deletions.chunks_exact(self.held.key_len.max(1)).peekable();
        loop {
            let value_is_next = match (values.peek(), deletions.peek()) {
                (Some(entry), Some(deletion)) => order.compare(&entry[..len - value_len], deletion).is_lt(),
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => return Ok(writer),
            };
            if value_is_next {
                let (key, value) = values.next().unwrap_or_default().split_at(len - value_len);
                writer.add(key, value)?;
            } else {
                writer.add(deletions.next().unwrap_or_default(), b"")?;
            }
        }
    }

    /// Abandons the table. Returns the file as it is.
    pub fn abandon(self) -> FileWriter {
        self.file
    }
}

/// Returns a key of the same size that is below the smallest key or above the largest key.
fn unused_key(smallest: &[u8], largest: &[u8]) -> Result<Vec<u8>> {
    let mut key = smallest.to_vec();
    for at in (0..key.len()).rev() {
        key[at] = key[at].wrapping_sub(1);
        if key[..] < *smallest {
            return Ok(key);
        }
    }
    let mut key = largest.to_vec();
    for at in (0..key.len()).rev() {
        key[at] = key[at].wrapping_add(1);
        if key[..] > *largest {
            return Ok(key);
        }
    }
    Err(Error::not_supported("Unable to find unused key"))
}
