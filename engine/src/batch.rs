//! The write batch: changes of several column families that are applied together or not at all.
//!
//! Each record is encoded once, in the layout of the WAL, so the write path does not encode it again. If a key or
//! value is too long for the format, the batch keeps the error, and the write of the batch returns it. So calls can
//! be chained.

use base::{Error, FamilyId, Result, SequenceNumber};
use format::batch as encoding;
use format::batch::{Batch, HEADER_LEN, KEY_LEN_MAX, Marker, Record, VALUE_LEN_MAX};
use format::wide::{self, Column};

mod limits;
mod timestamps;

use timestamps::KeyTimestamps;

#[cfg(test)]
mod tests;

/// Properties of the records that the write path needs before it reads the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    pub merges: bool,
    pub range_deletions: bool,
    /// True if the batch has records of other column families than the default column family.
    pub other_families: bool,
    /// True if the batch has markers of two-phase commit, entities, blob indexes or timed puts: records that need
    /// further checks.
    pub rare: bool,
}

impl Contents {
    /// Adds the properties of a record.
    fn add(&mut self, record: &Record<'_>) {
        self.other_families |= record.family().is_some_and(|f| f != FamilyId::DEFAULT);
        match record {
            Record::Merge { .. } => self.merges = true,
            Record::DeleteRange { .. } => self.range_deletions = true,
            Record::PutBlobIndex { .. }
            | Record::PutEntity { .. }
            | Record::TimedPut { .. }
            | Record::Marker(_) => {
                self.rare = true;
            }
            _ => {}
        }
    }
}

/// Changes in order. For one key, a later change hides an earlier change.
#[derive(Clone)]
pub struct WriteBatch {
    bytes: Vec<u8>,
    contents: Contents,
    /// The timestamps of the records. `None`: no record was added with a timestamp.
    timestamps: Option<Box<KeyTimestamps>>,
    save_points: Vec<SavePoint>,
    fault: Option<Error>,
    /// The limit for the bytes of the batch; 0: no limit.
    bytes_max: usize,
    /// Where the part for the WAL ends. `None`: the WAL gets the whole batch.
    wal_end: Option<limits::WalEnd>,
    /// Checksums of the counted records, for a write with `protection_bytes_per_key`.
    protection: Option<Box<[u64]>>,
}

/// The state of a batch that a rollback restores.
#[derive(Clone)]
struct SavePoint {
    len: usize,
    count: u32,
    contents: Contents,
    timestamps: Option<Box<KeyTimestamps>>,
    /// The rejection of a record that was added before the save point.
    fault: Option<Error>,
}

impl Default for WriteBatch {
    fn default() -> Self {
        WriteBatch::new()
    }
}

impl WriteBatch {
    /// Makes an empty batch without save points and without a size limit.
    pub fn new() -> Self {
        WriteBatch::with_capacity(0)
    }

    /// Makes an empty batch with memory for this many bytes of records.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut buffer = Vec::with_capacity(HEADER_LEN + bytes);
        encoding::begin(&mut buffer);
        WriteBatch {
            bytes: buffer,
            contents: Contents::default(),
            timestamps: None,
            save_points: Vec::new(),
            fault: None,
            bytes_max: 0,
            wal_end: None,
            protection: None,
        }
    }

    /// Reads a batch from its bytes, as [`WriteBatch::bytes`] returns them.
    ///
    /// The bytes do not show whether the keys have timestamps. So no timestamp is added later: in a column family
    /// with timestamps, the last bytes of each key are its timestamp.
    ///
    /// # Errors
    /// Corruption if a record does not decode or the count is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let batch = Batch::new(bytes)?;
        batch.verify()?;
        let mut out = WriteBatch { bytes: bytes.to_vec(), ..WriteBatch::new() };
        for record in batch.records() {
            out.contents.add(&record?);
        }
        out.timestamps = Some(Box::new(KeyTimestamps::encoded(&families(&out))));
        Ok(out)
    }

    /// Adds a put to the default column family. If key or value is too long for the format, the write of the
    /// batch fails.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> &mut Self {
        self.put_in(FamilyId::DEFAULT, key, value)
    }

    /// Adds a put of a key without timestamp.
    #[inline]
    pub fn put_in(&mut self, family: FamilyId, key: &[u8], value: &[u8]) -> &mut Self {
        if self.fits(family, key.len(), value.len()) {
            encoding::put(&mut self.bytes, family, key, &[], value);
        }
        self
    }

    /// Adds a put with a timestamp, for a column family whose comparator has timestamps of this length.
    pub fn put_at(&mut self, family: FamilyId, key: &[u8], timestamp: &[u8], value: &[u8]) -> &mut Self {
        if self.fits_at(family, key.len(), timestamp.len(), value.len()) {
            encoding::put(&mut self.bytes, family, key, timestamp, value);
        }
        self
    }

    /// Adds a deletion to the default column family. A deletion of a key that does not exist is not an error.
    pub fn delete(&mut self, key: &[u8]) -> &mut Self {
        self.delete_in(FamilyId::DEFAULT, key)
    }

    /// Adds a deletion of a key without timestamp to this column family.
    pub fn delete_in(&mut self, family: FamilyId, key: &[u8]) -> &mut Self {
        if self.fits(family, key.len(), 0) {
            encoding::delete(&mut self.bytes, family, key, &[]);
        }
        self
    }

    /// Adds a deletion with a timestamp: entries of the key with this timestamp or an older one are deleted.
    pub fn delete_at(&mut self, family: FamilyId, key: &[u8], timestamp: &[u8]) -> &mut Self {
        if self.fits_at(family, key.len(), timestamp.len(), 0) {
            encoding::delete(&mut self.bytes, family, key, timestamp);
        }
        self
    }

    /// Adds a single deletion: deletes a key that was put exactly once since its last deletion. In all other cases
    /// the result is undefined.
    pub fn single_delete(&mut self, key: &[u8]) -> &mut Self {
        self.single_delete_in(FamilyId::DEFAULT, key)
    }

    /// Adds a single deletion to this column family. [`WriteBatch::single_delete`] states which keys it may
    /// delete.
    pub fn single_delete_in(&mut self, family: FamilyId, key: &[u8]) -> &mut Self {
        if self.fits(family, key.len(), 0) {
            encoding::single_delete(&mut self.bytes, family, key, &[]);
        }
        self
    }

    /// Adds a single deletion with a timestamp.
    pub fn single_delete_at(&mut self, family: FamilyId, key: &[u8], timestamp: &[u8]) -> &mut Self {
        if self.fits_at(family, key.len(), timestamp.len(), 0) {
            encoding::single_delete(&mut self.bytes, family, key, timestamp);
        }
        self
    }

    /// Adds a merge operand for the merge operator of the default column family.
    pub fn merge(&mut self, key: &[u8], operand: &[u8]) -> &mut Self {
        self.merge_in(FamilyId::DEFAULT, key, operand)
    }

    /// Adds a merge operand for the merge operator of this column family. The batch does not check that an
    /// operator exists.
    pub fn merge_in(&mut self, family: FamilyId, key: &[u8], operand: &[u8]) -> &mut Self {
        if self.fits(family, key.len(), operand.len()) {
            self.contents.merges = true;
            encoding::merge(&mut self.bytes, family, key, &[], operand);
        }
        self
    }

    /// Adds a merge operand with a timestamp.
    pub fn merge_at(&mut self, family: FamilyId, key: &[u8], timestamp: &[u8], operand: &[u8]) -> &mut Self {
        if self.fits_at(family, key.len(), timestamp.len(), operand.len()) {
            self.contents.merges = true;
            encoding::merge(&mut self.bytes, family, key, timestamp, operand);
        }
        self
    }

    /// Adds a range deletion: deletes the keys in `[begin, end)`. If the end is before the start, the write of the
    /// batch is rejected.
    pub fn delete_range(&mut self, begin: &[u8], end: &[u8]) -> &mut Self {
        self.delete_range_in(FamilyId::DEFAULT, begin, end)
    }

    /// Adds a range deletion of the keys in `[begin, end)` of this column family. Adds no timestamp.
    pub fn delete_range_in(&mut self, family: FamilyId, begin: &[u8], end: &[u8]) -> &mut Self {
        if self.fits(family, begin.len(), end.len()) {
            self.contents.range_deletions = true;
            encoding::delete_range(&mut self.bytes, family, begin, end, &[]);
        }
        self
    }

    /// Adds a range deletion with a timestamp: entries in `[begin, end)` with this timestamp or an older one are
    /// deleted. `begin` and `end` have no timestamps.
    pub fn delete_range_at(
        &mut self,
        family: FamilyId,
        begin: &[u8],
        end: &[u8],
        timestamp: &[u8],
    ) -> &mut Self {
        if self.fits_at(family, begin.len(), timestamp.len(), end.len() + timestamp.len()) {
            self.contents.range_deletions = true;
            encoding::delete_range(&mut self.bytes, family, begin, end, timestamp);
        }
        self
    }

    /// Adds a put of columns, given as names and values in any order, to the default column family.
    pub fn put_entity(&mut self, key: &[u8], columns: &[(&[u8], &[u8])]) -> &mut Self {
        self.put_entity_in(FamilyId::DEFAULT, key, columns)
    }

    /// Adds a put of columns, given as names and values in any order. If two columns have the same name, the batch cannot
    /// be written.
    pub fn put_entity_in(&mut self, family: FamilyId, key: &[u8], columns: &[(&[u8], &[u8])]) -> &mut Self {
        let mut sorted: Vec<_> = columns.iter().map(|(name, value)| Column::inline(name, value)).collect();
        sorted.sort_by_key(|column| column.name);
        let mut entity = Vec::new();
        match wide::encode(&sorted, &mut entity) {
            Ok(()) => self.put_encoded_entity_in(family, key, &entity),
            Err(error) => {
                self.fault.get_or_insert(error);
                self
            }
        }
    }

    /// Adds a put of columns that [`format::wide`] encoded.
    pub fn put_encoded_entity_in(&mut self, family: FamilyId, key: &[u8], entity: &[u8]) -> &mut Self {
        if self.fits(family, key.len(), entity.len()) {
            self.contents.rare = true;
            encoding::put_entity(&mut self.bytes, family, key, entity);
        }
        self
    }

    /// Adds a put of columns that [`format::wide`] encoded, with a timestamp.
    pub fn put_encoded_entity_at(
        &mut self,
        family: FamilyId,
        key: &[u8],
        timestamp: &[u8],
        entity: &[u8],
    ) -> &mut Self {
        if self.fits_at(family, key.len(), timestamp.len(), entity.len()) {
            self.contents.rare = true;
            encoding::put_entity(&mut self.bytes, family, &[key, timestamp].concat(), entity);
        }
        self
    }

    /// Adds bytes that are written only to the WAL, for example for replication. The bytes are not counted.
    pub fn put_log_data(&mut self, blob: &[u8]) -> &mut Self {
        encoding::log_data(&mut self.bytes, blob);
        self
    }

    /// Adds a marker of two-phase commit.
    pub fn marker(&mut self, marker: Marker<'_>) -> &mut Self {
        self.contents.rare = true;
        encoding::marker(&mut self.bytes, marker);
        self
    }

    /// Checks the lengths of the record without timestamp that the caller adds next, and counts the record.
    #[inline]
    fn fits(&mut self, family: FamilyId, key_len: usize, value_len: usize) -> bool {
        let fits = self.has_room(family, key_len, value_len);
        if let Some(timestamps) = self.timestamps.as_deref_mut().filter(|_| fits) {
            timestamps.add_missing(family);
        }
        fits
    }

    /// Checks and counts a record as [`WriteBatch::fits`] does, and keeps the length of its timestamp. `key_len` is
    /// the length without timestamp.
    fn fits_at(&mut self, family: FamilyId, key_len: usize, timestamp_len: usize, value_len: usize) -> bool {
        let key_len = key_len.saturating_add(timestamp_len);
        if self.timestamps.is_none() {
            self.timestamps = Some(Box::new(KeyTimestamps::missing(&families(self))));
        }
        let fits = self.has_room(family, key_len, value_len);
        if let Some(timestamps) = self.timestamps.as_deref_mut().filter(|_| fits) {
            timestamps.add_given(family, timestamp_len);
        }
        fits
    }

    #[inline]
    fn has_room(&mut self, family: FamilyId, key_len: usize, value_len: usize) -> bool {
        if key_len > KEY_LEN_MAX || value_len > VALUE_LEN_MAX || self.count() == u32::MAX {
            self.too_large(key_len, value_len);
            return false;
        }
        self.contents.other_families |= family != FamilyId::DEFAULT;
        let count = encoding::count(&self.bytes) + 1;
        encoding::set_count(&mut self.bytes, count);
        true
    }

    /// Returns true if a record was added with a timestamp.
    #[inline]
    pub(crate) fn has_timestamps(&self) -> bool {
        self.timestamps.as_ref().is_some_and(|timestamps| timestamps.any_given())
    }

    /// Checks the timestamps of the records of `family` against `size`, the length of a timestamp in this column
    /// family. 0 means that the column family has no timestamps.
    ///
    /// # Errors
    /// InvalidArgument if a record of a column family with timestamps has no timestamp, or a timestamp of another
    /// length. InvalidArgument also if a record of a column family without timestamps has a timestamp.
    pub(crate) fn check_timestamps(&self, family: FamilyId, size: usize, name: &str) -> Result<()> {
        match &self.timestamps {
            Some(timestamps) => timestamps.check(family, size, name),
            None if size == 0 => Ok(()),
            None => Err(timestamps::missing(name)),
        }
    }

    #[cold]
    fn too_large(&mut self, key_len: usize, value_len: usize) {
        self.fault.get_or_insert_with(|| limits::too_large(key_len, value_len));
    }

    /// Returns the number of counted records: puts, deletions, and merges.
    #[inline]
    pub fn count(&self) -> u32 {
        encoding::count(&self.bytes)
    }

    /// Returns true if the batch has no record, not even log data.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.bytes.len() == HEADER_LEN
    }

    /// Replaces the timestamps of all keys in column families with timestamps. `size` returns the length of the
    /// timestamps of a column family; 0 means no timestamps.
    ///
    /// # Errors
    /// InvalidArgument if a column family has timestamps of another length.
    pub fn stamp(&mut self, timestamp: &[u8], size: impl Fn(FamilyId) -> usize) -> Result<()> {
        let mut out = Vec::with_capacity(self.bytes.len());
        out.extend_from_slice(&self.bytes[..HEADER_LEN]);
        let mut keys = Vec::new();
        for record in self.iter() {
            let record = record?;
            match record.family().map_or(0, &size) {
                0 => encoding::append(&mut out, &record),
                n if n == timestamp.len() => {
                    encoding::append(&mut out, &record.stamped(timestamp, &mut keys))
                }
                n => {
                    let what = format!(
                        "a timestamp of {} bytes; the comparator of the column family needs {n} bytes",
                        timestamp.len()
                    );
                    return Err(Error::invalid_argument(what));
                }
            }
        }
        base::invariant!(
            encoding::count(&out) == self.count(),
            "a batch of {} entries has {} with other timestamps",
            self.count(),
            encoding::count(&out)
        );
        self.bytes = out;
        self.save_points.clear();
        Ok(())
    }

    /// Returns the header and the records, in the layout of the WAL.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the records without the header.
    #[inline]
    pub fn records(&self) -> &[u8] {
        &self.bytes[HEADER_LEN..]
    }

    /// Returns the size of the batch in bytes, with the header.
    pub fn data_size(&self) -> usize {
        self.bytes.len()
    }

    /// Returns which types of records the batch has. A record that was rolled back to a save point does not
    /// count.
    pub fn contents(&self) -> Contents {
        self.contents
    }

    /// Iterates over the records in order.
    pub fn iter(&self) -> impl Iterator<Item = Result<Record<'_>>> {
        Batch::new(&self.bytes).into_iter().flat_map(|batch| batch.records())
    }

    /// Returns the sequence number of the batch after it was written; 0 before.
    pub fn sequence(&self) -> SequenceNumber {
        encoding::sequence(&self.bytes)
    }

    #[inline]
    pub(crate) fn set_sequence(&mut self, seq: SequenceNumber) {
        base::invariant!(
            seq <= base::key::MAX_SEQUENCE,
            "a batch begins at the sequence number {seq}, of more than 56 bits"
        );
        encoding::set_sequence(&mut self.bytes, seq);
    }

    /// Copies the properties of the batch, with these records. They differ from its own records only in markers.
    /// The copy has no save points.
    pub(crate) fn with_records(&self, records: &[u8]) -> WriteBatch {
        let mut bytes = Vec::with_capacity(HEADER_LEN + records.len());
        bytes.extend_from_slice(&self.bytes[..HEADER_LEN]);
        bytes.extend_from_slice(records);
        WriteBatch {
            bytes,
            contents: self.contents,
            timestamps: self.timestamps.clone(),
            protection: self.protection.clone(),
            ..WriteBatch::new()
        }
    }

    /// Computes checksums of the records, or removes them (`WriteOptions::protection_bytes_per_key`).
    pub(crate) fn protect(&mut self, on: bool) -> Result<()> {
        self.protection = None;
        if on {
            let entry = |record: Result<Record<'_>>| record.map(|r| checksum(&r)).transpose();
            let sums: Box<[u64]> = self.iter().filter_map(entry).collect::<Result<_>>()?;
            base::invariant!(
                sums.len() == self.count() as usize,
                "a batch of {} entries has {} checksums",
                self.count(),
                sums.len()
            );
            self.protection = Some(sums);
        }
        Ok(())
    }

    /// Returns the checksums of [`WriteBatch::protect`].
    #[inline]
    pub(crate) fn protection(&self) -> Option<&[u64]> {
        self.protection.as_deref()
    }

    /// Compares the records with their checksums.
    ///
    /// # Errors
    /// Corruption if memory has changed since [`WriteBatch::protect`].
    pub(crate) fn verify_protection(&self) -> Result<()> {
        let Some(sums) = &self.protection else { return Ok(()) };
        let mut sums = sums.iter();
        for record in self.iter() {
            if let Some(sum) = checksum(&record?)
                && sums.next() != Some(&sum)
            {
                return Err(mismatch());
            }
        }
        if sums.next().is_some() { Err(mismatch()) } else { Ok(()) }
    }

    /// Empties the batch and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        encoding::begin(&mut self.bytes);
        base::invariant!(self.bytes.len() == HEADER_LEN, "an empty batch has {} bytes", self.bytes.len());
        self.contents = Contents::default();
        self.timestamps = None;
        self.save_points.clear();
        self.wal_end = None;
        self.fault = None;
    }

    /// Saves the state of the batch for [`WriteBatch::rollback_to_save_point`]. Save points nest.
    pub fn set_save_point(&mut self) {
        base::invariant!(
            self.save_points
                .last()
                .is_none_or(|last| last.len <= self.bytes.len() && last.count <= self.count()),
            "a save point is set before the end of the last save point"
        );
        self.save_points.push(SavePoint {
            len: self.bytes.len(),
            count: self.count(),
            contents: self.contents,
            timestamps: self.timestamps.clone(),
            fault: self.fault.clone(),
        });
    }

    /// Returns the size in bytes to which [`WriteBatch::rollback_to_save_point`] would reduce the batch; `None` without a
    /// save point.
    pub fn save_point_size(&self) -> Option<usize> {
        self.save_points.last().map(|save| save.len)
    }

    /// Returns the sizes in bytes to which rollbacks to the save points would reduce the batch, in ascending order.
    pub fn save_point_sizes(&self) -> impl Iterator<Item = usize> {
        self.save_points.iter().map(|save| save.len)
    }

    /// Removes all records that were added after the last save point, and the save point. If a record was rejected
    /// before the save point, the batch still cannot be written.
    ///
    /// # Errors
    /// NotFound without a save point.
    pub fn rollback_to_save_point(&mut self) -> Result<()> {
        let Some(save) = self.save_points.pop() else { return Err(no_save_point()) };
        base::invariant!(
            (HEADER_LEN..=self.bytes.len()).contains(&save.len) && save.count <= self.count(),
            "a save point of {} bytes and {} entries in a batch of {} bytes and {} entries",
            save.len,
            save.count,
            self.bytes.len(),
            self.count()
        );
        self.bytes.truncate(save.len);
        // The removed records include the end of the WAL part. A record that is added now is after this end.
        self.wal_end.iter_mut().for_each(|end| end.limit(save.len, save.count));
        encoding::set_count(&mut self.bytes, save.count);
        self.contents = save.contents;
        self.timestamps = save.timestamps;
        self.fault = save.fault;
        Ok(())
    }

    /// Removes the last save point and keeps all records.
    ///
    /// # Errors
    /// NotFound without a save point.
    pub fn pop_save_point(&mut self) -> Result<()> {
        self.save_points.pop().map(|_| ()).ok_or_else(no_save_point)
    }

    /// Adds all records of another batch.
    pub fn append(&mut self, other: &WriteBatch) -> &mut Self {
        match self.count().checked_add(other.count()) {
            None => self.too_large(0, 0),
            Some(count) => {
                self.append_timestamps(other);
                self.bytes.extend_from_slice(other.records());
                encoding::set_count(&mut self.bytes, count);
                self.contents.merges |= other.contents.merges;
                self.contents.range_deletions |= other.contents.range_deletions;
                self.contents.other_families |= other.contents.other_families;
                self.contents.rare |= other.contents.rare;
                if let Some(fault) = &other.fault {
                    self.fault.get_or_insert_with(|| fault.clone());
                }
            }
        }
        self
    }

    /// Adds the timestamp lengths of `other`. Called before its records are added.
    fn append_timestamps(&mut self, other: &WriteBatch) {
        if self.timestamps.is_none() && other.timestamps.is_none() {
            return;
        }
        let mut timestamps = match self.timestamps.take() {
            Some(timestamps) => timestamps,
            None => Box::new(KeyTimestamps::missing(&families(self))),
        };
        match &other.timestamps {
            Some(theirs) => timestamps.add_all(theirs),
            None => timestamps.add_all(&KeyTimestamps::missing(&families(other))),
        }
        self.timestamps = Some(timestamps);
    }
}

/// Returns the column families of the records of a batch, each once.
fn families(batch: &WriteBatch) -> Vec<FamilyId> {
    let mut families: Vec<_> =
        batch.iter().filter_map(|record| record.ok().and_then(|record| record.family())).collect();
    families.sort_unstable();
    families.dedup();
    families
}

fn no_save_point() -> Error {
    Error::not_found("no save point is set")
}

/// Returns the checksum of a counted record: its type, column family, key, and value.
pub(crate) fn checksum(record: &Record<'_>) -> Option<u64> {
    use kernel::hash::{hash64, hash64_seeded};
    let (kind, key, value) = record.entry()?;
    let family = record.family().unwrap_or(FamilyId::DEFAULT);
    let head = (u64::from(family.get()) << 8 | u64::from(kind as u8)).to_le_bytes();
    Some(hash64_seeded(value, hash64_seeded(key, hash64(&head))))
}

#[cold]
pub(crate) fn mismatch() -> Error {
    Error::corruption("a record of a write batch does not match its protection bytes")
}
