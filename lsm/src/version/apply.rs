//! Applies version edits to a version, checks the result, and makes the next version.
//!
//! A [`Builder`] takes any number of version edits (recovery passes the whole MANIFEST). The builder copies
//! only the levels that the edits name, and shares the remaining levels with the base version. The checks
//! follow RocksDB `db/version_builder.cc`. A version that violates the rules of its levels is rejected
//! before publication, and is never written.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use base::error::{Error, Result};
use base::key::InternalOrder;
use base::map::{HashMap, HashSet};
use base::{Arrange, EpochNumber, FileNumber, Level};

use super::{BlobFile, BlobFiles, BlobGarbage, LevelFiles, MAX_LEVELS, Version};
use crate::table_file::TableFile;

/// A version edit. The parts are applied in this order: blob files, garbage, deletions, additions, cursors.
#[derive(Clone, Debug, Default)]
pub struct Edit {
    /// The blob files that the edit adds.
    pub blobs_added: Vec<BlobFile>,
    /// The garbage that the edit adds to blob files.
    pub blob_garbage: Vec<BlobGarbage>,
    /// The levels and numbers of the SST files that the edit deletes.
    pub deleted: Vec<(Level, FileNumber)>,
    /// The levels and SST files that the edit adds.
    pub added: Vec<(Level, Arc<TableFile>)>,
    /// The levels and internal keys of the round-robin cursors.
    pub cursors: Vec<(Level, Vec<u8>)>,
}

impl Edit {
    /// Adds this edit to a MANIFEST record, which may already have other content. Boundary keys keep their timestamps:
    /// `VersionEdit::encode` removes the timestamps that are not stored.
    pub fn into_record(&self, record: &mut format::edit::VersionEdit) {
        record.blobs.additions.extend(self.blobs_added.iter().map(BlobFile::to_record));
        record.blobs.garbages.extend(self.blob_garbage.iter().map(BlobGarbage::to_record));
        record.deleted_files.extend(self.deleted.iter().map(|&(l, n)| (l, n)));
        record.new_files.extend(self.added.iter().map(|(l, f)| f.to_record(*l, 0)));
        record.compact_cursors.extend(self.cursors.iter().map(|(l, key)| (*l, key.clone())));
    }
}

impl Version {
    /// Returns the version after the edits. Checks the consistency as RocksDB does.
    ///
    /// # Errors
    /// Corruption, with the names of the files, in these cases: a deleted file does not exist; a file is added twice;
    /// files of a sorted level overlap; the order of level-0 files is unknown; a blob file has more garbage than blobs.
    /// InvalidArgument: the edits add files to a level that the version does not have.
    pub fn apply(&self, edits: &[Edit]) -> Result<Version> {
        let mut builder = Builder::new(self);
        edits.iter().try_for_each(|edit| builder.apply(edit))?;
        builder.finish()
    }
}

/// Collects version edits for a base version.
pub struct Builder<'a> {
    base: &'a Version,
    /// The current level of each file that the edits name. `None`: the file is deleted. All other files are
    /// where the base version has them.
    moved: HashMap<FileNumber, Option<Level>>,
    /// The files of the base version that left their level, by level.
    removed: BTreeMap<Level, HashSet<FileNumber>>,
    added: BTreeMap<Level, HashMap<FileNumber, Arc<TableFile>>>,
    blobs: BlobFiles,
    blobs_touched: bool,
    cursors: BTreeMap<Level, Vec<u8>>,
}

impl<'a> Builder<'a> {
    /// Starts from the version `base`.
    pub fn new(base: &'a Version) -> Self {
        Builder {
            base,
            moved: HashMap::default(),
            removed: BTreeMap::new(),
            added: BTreeMap::new(),
            blobs: (*base.blobs).clone(),
            blobs_touched: false,
            cursors: BTreeMap::new(),
        }
    }

    /// Adds one edit to the collected edits.
    ///
    /// # Errors
    /// Corruption, as in [`Version::apply`]. The builder must not be used after an error.
    pub fn apply(&mut self, edit: &Edit) -> Result<()> {
        edit.blobs_added.iter().try_for_each(|blob| self.add_blob(blob))?;
        edit.blob_garbage.iter().try_for_each(|garbage| self.add_garbage(garbage))?;
        edit.deleted.iter().try_for_each(|&(level, number)| self.delete(level, number))?;
        edit.added.iter().try_for_each(|(level, file)| self.add(*level, file))?;
        for (level, key) in &edit.cursors {
            self.cursors.insert(*level, key.clone());
        }
        Ok(())
    }

    fn level_of(&self, number: FileNumber) -> Option<Level> {
        match self.moved.get(&number) {
            Some(now) => *now,
            None => self
                .base
                .levels
                .iter()
                .position(|files| files.position(number).is_some())
                .map(Level::from_index),
        }
    }

    fn delete(&mut self, level: Level, number: FileNumber) -> Result<()> {
        let now = match self.moved.get(&number) {
            Some(now) => *now,
            None if self.base.level(level).position(number).is_some() => Some(level),
            None => self.level_of(number),
        };
        if now != Some(level) {
            let but = match now {
                Some(other) => format!("it is on level {}", other.get()),
                None => "it is not in the LSM tree".to_string(),
            };
            return Err(Error::corruption(format!(
                "Cannot delete table file #{number} from level {} since {but}",
                level.get()
            )));
        }
        if self.added.get_mut(&level).and_then(|files| files.remove(&number)).is_none() {
            self.removed.entry(level).or_default().insert(number);
        }
        self.moved.insert(number, None);
        Ok(())
    }

    fn add(&mut self, level: Level, file: &Arc<TableFile>) -> Result<()> {
        if let Some(other) = self.level_of(file.number) {
            return Err(Error::corruption(format!(
                "Cannot add table file #{} to level {} since it is already in the LSM tree on level {}",
                file.number,
                level.get(),
                other.get()
            )));
        }
        if level.index() >= MAX_LEVELS {
            return Err(Error::corruption(format!(
                "table file #{} is on level {}",
                file.number,
                level.get()
            )));
        }
        if file.smallest.len() < base::key::TRAILER_LEN || file.largest.len() < base::key::TRAILER_LEN {
            return Err(Error::corruption(format!(
                "table file #{} has no proper boundary keys",
                file.number
            )));
        }
        self.added.entry(level).or_default().insert(file.number, file.clone());
        self.moved.insert(file.number, Some(level));
        Ok(())
    }

    fn add_blob(&mut self, blob: &BlobFile) -> Result<()> {
        if self.blobs.contains_key(&blob.number) {
            return Err(Error::corruption(format!("Blob file #{} already added", blob.number)));
        }
        self.blobs.insert(blob.number, Arc::new(blob.clone()));
        self.blobs_touched = true;
        Ok(())
    }

    fn add_garbage(&mut self, garbage: &BlobGarbage) -> Result<()> {
        let Some(blob) = self.blobs.get_mut(&garbage.number) else {
            return Err(Error::corruption(format!("Blob file #{} not found", garbage.number)));
        };
        let count = blob.garbage_count.checked_add(garbage.count).filter(|&n| n <= blob.total_count);
        let bytes = blob.garbage_bytes.checked_add(garbage.bytes).filter(|&n| n <= blob.total_bytes);
        let (Some(garbage_count), Some(garbage_bytes)) = (count, bytes) else {
            return Err(Error::corruption(format!("Garbage overflow for blob file #{}", garbage.number)));
        };
        base::invariant!(
            blob.garbage_count <= garbage_count && blob.garbage_bytes <= garbage_bytes,
            "the garbage of blob file {} falls",
            garbage.number
        );
        *blob = Arc::new(BlobFile { garbage_count, garbage_bytes, ..(**blob).clone() });
        self.blobs_touched = true;
        Ok(())
    }

    /// Returns the new version.
    ///
    /// # Errors
    /// The errors of [`Version::apply`].
    pub fn finish(self) -> Result<Version> {
        let mut levels = self.base.levels.clone();
        let touched: std::collections::BTreeSet<Level> =
            self.removed.keys().chain(self.added.keys()).copied().collect();
        let none = HashSet::default();
        let mut in_l0_all_known = true;
        for &level in &touched {
            let added = self.added.get(&level).into_iter().flat_map(HashMap::values);
            if level.index() >= levels.len() {
                if let Some(file) = added.into_iter().next() {
                    return Err(Error::invalid_argument(format!(
                        "table file #{} is on level {} but the tree has only {} levels",
                        file.number,
                        level.get(),
                        levels.len()
                    )));
                }
                continue;
            }
            let removed = self.removed.get(&level).unwrap_or(&none);
            let mut files: Vec<Arc<TableFile>> =
                levels[level.index()].iter().filter(|f| !removed.contains(&f.number)).cloned().collect();
            files.extend(added.cloned());
            if level == Level::ZERO {
                in_l0_all_known = files.iter().all(|f| f.epoch_number.is_known());
                sort_l0(&mut files);
            } else {
                let order = &self.base.order;
                files.arrange_by(|a, b| {
                    order.compare(&a.smallest, &b.smallest).then_with(|| a.number.cmp(&b.number))
                });
            }
            check_level(&self.base.order, level, &files, in_l0_all_known)?;
            base::invariant!(
                level == Level::ZERO || in_order(&self.base.order, &files),
                "the files of {level} overlap after the check"
            );
            levels[level.index()] = Arc::new(LevelFiles::new(files));
        }
        let blobs = if self.blobs.is_empty() && !self.blobs_touched {
            self.base.blobs.clone()
        } else {
            Arc::new(super::blob::keep_live(self.blobs, &levels)?)
        };
        let mut cursors = self.base.cursors.clone();
        for (level, key) in self.cursors {
            if let Some(cursor) = cursors.get_mut(level.index()) {
                *cursor = key;
            }
        }
        base::invariant!(
            cursors.len() == levels.len(),
            "{} cursors for {} levels",
            cursors.len(),
            levels.len()
        );
        let readers = super::Readers::default();
        Ok(Version { order: self.base.order.clone(), levels, blobs, cursors, readers })
    }
}

/// Sorts level 0, newest file first: by epoch number, and by sequence numbers if epoch numbers are equal or a
/// file has none.
pub(crate) fn sort_l0(files: &mut [Arc<TableFile>]) {
    let known = files.iter().all(|f| f.epoch_number.is_known());
    files.arrange_by(|a, b| newest_first(a, b, known));
    base::invariant!(
        !known || files.is_sorted_by(|a, b| a.epoch_number >= b.epoch_number),
        "a newer level-0 file has a smaller epoch number"
    );
}

fn newest_first(a: &TableFile, b: &TableFile, epochs_known: bool) -> Ordering {
    let by_epoch = if epochs_known { b.epoch_number.cmp(&a.epoch_number) } else { Ordering::Equal };
    by_epoch
        .then_with(|| b.largest_seq.cmp(&a.largest_seq))
        .then_with(|| b.smallest_seq.cmp(&a.smallest_seq))
        .then_with(|| b.number.cmp(&a.number))
}

fn check_level(
    order: &InternalOrder,
    level: Level,
    files: &[Arc<TableFile>],
    epochs_known: bool,
) -> Result<()> {
    for pair in files.windows(2) {
        let (a, b) = (&pair[0], &pair[1]);
        if level > Level::ZERO {
            if order.compare(&a.largest, &b.smallest).is_ge() {
                return Err(Error::corruption(format!(
                    "{level} has overlapping ranges: file #{} largest key: {} vs. file #{} smallest key: {}",
                    a.number,
                    crate::draw::key(&a.largest),
                    b.number,
                    crate::draw::key(&b.smallest)
                )));
            }
            continue;
        }
        if epochs_known && a.epoch_number == b.epoch_number && overlap(order, a, b) {
            return Err(Error::corruption(format!(
                "L0 files of same epoch number but overlapping range: file #{} and #{}, epoch number {}",
                a.number, b.number, a.epoch_number
            )));
        }
    }
    Ok(())
}

/// Returns true if each file begins after the end of the file before.
fn in_order(order: &InternalOrder, files: &[Arc<TableFile>]) -> bool {
    files.is_sorted_by(|a, b| order.compare(&a.largest, &b.smallest).is_lt())
}

fn overlap(order: &InternalOrder, a: &TableFile, b: &TableFile) -> bool {
    order.compare(&a.smallest, &b.largest).is_le() && order.compare(&b.smallest, &a.largest).is_le()
}

impl Version {
    /// Returns the epoch number of the next file: the largest number in use plus 1.
    pub fn next_epoch(&self) -> EpochNumber {
        self.files().map(|(_, f)| f.epoch_number).max().unwrap_or_default().next()
    }

    /// Gives every file a new epoch number if a file has none: a number for each non-empty level from the bottom up,
    /// then a number for each level-0 file, oldest first. Returns `None` if every file has an epoch number. The first
    /// number is `first` (1, or 2 if ingest behind is allowed).
    pub fn infer_epochs(&self, first: EpochNumber) -> Option<Version> {
        if self.files().all(|(_, f)| f.epoch_number.is_known()) {
            return None;
        }
        let mut next = first;
        base::invariant!(first.is_known(), "the first epoch number is 0, which means that it is unknown");
        let with_epoch = |file: &TableFile, epoch| Arc::new(file.changed(|facts| facts.epoch_number = epoch));
        let mut levels = self.levels.clone();
        for level in (1..levels.len()).rev().filter(|&l| !self.levels[l].is_empty()) {
            let files = self.levels[level].iter().map(|f| with_epoch(f, next)).collect();
            levels[level] = Arc::new(LevelFiles::new(files));
            next = next.next();
        }
        let mut l0: Vec<_> = self.levels[0].iter().cloned().collect();
        l0.arrange_by(|a, b| newest_first(b, a, false));
        for file in &mut l0 {
            *file = with_epoch(file, next);
            next = next.next();
        }
        l0.reverse();
        base::invariant!(
            l0.is_sorted_by(|a, b| a.epoch_number > b.epoch_number),
            "two level-0 files have one inferred epoch number"
        );
        levels[0] = Arc::new(LevelFiles::new(l0));
        base::invariant!(
            levels.iter().flat_map(|files| files.iter()).all(|file| file.epoch_number >= first),
            "an inferred epoch number is below {first}"
        );
        Some(Version { levels, ..self.clone() })
    }
}
