//! Reads the newest state of a MANIFEST whose files all exist (`best_efforts_recovery`).
//!
//! ```text
//!  edits     +1 +2   +3   -1 -2 +4   +5            file 4 is missing
//!  state      ok      ok      broken  broken  ──►  {1, 2, 3}: as it was before 4 took the place of 1 and 2
//! ```
//! Each column family returns to its own newest complete state. Changes of an atomic group return together,
//! or not at all. If only the newest level-0 files of a column family are missing, the column family is
//! complete without them, because the column family had this state once. A missing blob file makes a column family
//! incomplete if an existing SST file can refer to the blob file. Source: RocksDB
//! `VersionEditHandlerPointInTime`, `VersionBuilder::ValidVersionAvailable`.

use std::collections::BTreeMap;
use std::path::Path;

use base::map::{HashMap, HashSet};
use base::{Arrange, Error, FamilyId, FileNumber, Level, Result};
use env::{Env, ReadHints};
use format::edit::{BlobFileAddition, NewFile, VersionEdit};
use format::names;
use format::wal::{HOLE, Item, Reader, ReaderOptions};

use super::builder::Builder;
use super::recover::FileSource;
use super::recovered::{FamilyRecord, Recovered};

/// Finds the files that the records of a MANIFEST name.
pub trait Present {
    /// Returns true if the SST file exists and is the recorded file.
    ///
    /// # Errors
    /// An error that says nothing about the file, such as an error of the file system.
    fn has_table(&self, family: &FamilyRecord, file: &NewFile) -> Result<bool>;

    /// Returns true if the blob file exists and is complete.
    ///
    /// # Errors
    /// As [`Present::has_table`].
    fn has_blob_file(&self, family: &FamilyRecord, blob: &BlobFileAddition) -> Result<bool>;
}

/// Reads MANIFEST `number` in `dir`. Returns each column family in its newest complete state, or empty if
/// it never had a complete state. Also returns the numbers of the missing SST files, and of the missing blob files that
/// SST files of the newest state need.
///
/// # Errors
/// Corruption with file and offset. Errors of the file system. Errors of `present`.
pub fn recover_best(
    env: &Env,
    dir: &Path,
    number: FileNumber,
    present: &dyn Present,
) -> Result<(Recovered, Vec<FileNumber>)> {
    let path = dir.join(names::manifest(number));
    let file = env.fs.open_random(&path, &ReadHints::default())?;
    let mut reader = Reader::new(FileSource(file), ReaderOptions::default());
    let mut best = Best {
        state: Builder::new(number),
        present,
        families: BTreeMap::new(),
        there: HashMap::default(),
        missing_blobs: HashSet::default(),
        units: 0,
        groups: Vec::new(),
    };
    best.read(&mut reader)
        .and_then(|()| best.finish())
        .map_err(|e| e.doing("reading the MANIFEST").file(&path))
}

struct Best<'a> {
    state: Builder,
    present: &'a dyn Present,
    families: BTreeMap<FamilyId, Whole>,
    /// File number to whether the SST file exists. Holds every file that an edit added.
    there: HashMap<FileNumber, bool>,
    /// The blob files that an edit added and that do not exist.
    missing_blobs: HashSet<FileNumber>,
    /// The number of applied units. A unit is one edit, or all edits of an atomic group.
    units: u64,
    /// Column families that an atomic group changed together while one of them was incomplete.
    groups: Vec<Vec<FamilyId>>,
}

/// The completeness of one column family.
#[derive(Default)]
struct Whole {
    /// The level of each missing SST file.
    missing: HashMap<FileNumber, Level>,
    /// The number of missing SST files below level 0.
    missing_below: usize,
    /// Missing blob file to the unit that added it. Also has blob files that no SST file needs.
    missing_blobs: BTreeMap<FileNumber, u64>,
    /// The missing blob files without those that are garbage alone and that no SST file is linked to. A long history
    /// has many of them.
    doubtful: BTreeMap<FileNumber, u64>,
    /// Blob file to the number of SST files that are linked to it. See [`lsm::version::BlobFile`].
    links: HashMap<FileNumber, usize>,
    /// SST file to the unit that added it first.
    added: HashMap<FileNumber, u64>,
    /// True if an atomic group changed the column family. Level 0 without its newest files may then be a state that
    /// the column family never had.
    atomic: bool,
    /// The last complete state, if the present state is incomplete.
    last: Option<FamilyRecord>,
}

impl Whole {
    fn delete(&mut self, number: FileNumber) {
        self.missing_below -=
            usize::from(self.missing.remove(&number).is_some_and(|level| level > Level::ZERO));
    }

    fn add_missing(&mut self, file: &NewFile) {
        if self.missing.insert(file.number, file.level).is_none_or(|level| level == Level::ZERO) {
            self.missing_below += usize::from(file.level > Level::ZERO);
        }
    }

    /// Adds a link of an SST file to a blob file, or removes a link.
    fn link(&mut self, blob: FileNumber, is_added: bool) {
        let count = self.links.entry(blob).or_default();
        // A MANIFEST with wrong bytes may remove a link that it did not add.
        *count = if is_added { *count + 1 } else { count.saturating_sub(1) };
        if *count == 0 {
            self.links.remove(&blob);
        }
    }

    /// Decides again whether a missing blob file is doubtful. Called after a change of its links or of its garbage.
    fn reconsider(&mut self, record: &FamilyRecord, blob: FileNumber) {
        let Some(unit) = self.missing_blobs.get(&blob) else { return };
        let total = record.blobs.get(&blob).map_or(0, |blob| blob.total_blob_count);
        let garbage = record.blob_garbage.get(&blob).map_or(0, |(count, _)| *count);
        match garbage >= total && !self.links.contains_key(&blob) {
            true => self.doubtful.remove(&blob),
            false => self.doubtful.insert(blob, *unit),
        };
    }

    /// Returns the missing blob files that an existing SST file can refer to. Cost: linear in the SST files and in the
    /// doubtful blob files from the oldest link on. The first blob file needs no look at the other blob files.
    fn needed_blobs(&self, record: &FamilyRecord) -> impl Iterator<Item = FileNumber> {
        // Blob file to true, if each SST file that is linked to it is a missing file of level 0.
        let mut linked: HashMap<FileNumber, bool> = HashMap::default();
        // The oldest blob file of each existing SST file, and the unit that added the SST file.
        let mut reach: Vec<(FileNumber, u64)> = Vec::new();
        let files = if self.doubtful.is_empty() { None } else { Some(record.files.values()) };
        for file in files.into_iter().flatten() {
            let Some(oldest) = file.oldest_blob_file_number else { continue };
            let is_missing = self.missing.contains_key(&file.number);
            *linked.entry(oldest).or_insert(true) &= is_missing && file.level == Level::ZERO;
            if !is_missing {
                reach.push((oldest, self.added.get(&file.number).copied().unwrap_or(u64::MAX)));
            }
        }
        reach.arrange();
        // Now the last unit that added an SST file with this or an older oldest blob file.
        let mut last = 0;
        reach.iter_mut().for_each(|(_, unit)| {
            last = last.max(*unit);
            *unit = last;
        });
        // An SST file has no references to older blob files than its oldest, and to blob files that were added later.
        // If all SST files that are linked to a blob file are missing files of level 0, their flushes wrote the blob
        // file, and older SST files have no references to it.
        let from = reach.first().map_or(FileNumber::new(u64::MAX), |(oldest, _)| *oldest);
        let needed = move |blob: &FileNumber, unit: u64| {
            let older = reach.partition_point(|(oldest, _)| oldest <= blob);
            linked.get(blob) != Some(&true) && older.checked_sub(1).is_some_and(|at| reach[at].1 >= unit)
        };
        self.doubtful.range(from..).filter(move |(blob, unit)| needed(blob, **unit)).map(|(blob, _)| *blob)
    }
}

impl Best<'_> {
    fn read(&mut self, reader: &mut Reader<FileSource>) -> Result<()> {
        let mut unit = Vec::new();
        loop {
            match reader.next()? {
                Item::Record { bytes, offset, end } => {
                    self.state.read_to(end);
                    let edit = VersionEdit::decode(bytes).map_err(|e| e.shifted(offset))?;
                    let more = edit.remaining_entries.is_some_and(|n| n > 0);
                    unit.push(edit);
                    if !more {
                        self.unit(std::mem::take(&mut unit)).map_err(|e| e.at(offset))?;
                    }
                }
                // A crash, or an interrupted copy of the file, cut the last record.
                Item::TornTail { .. } | Item::EndOfLog => return Ok(()),
                Item::Corruption(damage) => return Err(Error::corruption(damage.reason).at(damage.offset)),
                Item::Hole { offset } => return Err(Error::corruption(HOLE).at(offset)),
                Item::OldRecord { offset, .. }
                | Item::TimestampSizes { offset, .. }
                | Item::Predecessor { offset, .. } => {
                    return Err(Error::corruption("a MANIFEST with a record of a type that only WALs have")
                        .at(offset));
                }
            }
        }
    }

    /// Applies one edit, or all edits of an atomic group.
    fn unit(&mut self, edits: Vec<VersionEdit>) -> Result<()> {
        base::invariant!(!edits.is_empty(), "a unit of the MANIFEST has no edit");
        let mut touched: Vec<FamilyId> = edits.iter().map(|edit| edit.family.id).collect();
        touched.arrange();
        touched.dedup();
        // A column family that is complete without its newest level-0 files becomes incomplete when newer files are
        // added.
        // A new SST file can refer to a missing blob file that no older SST file needs.
        let short = |id: &FamilyId| {
            self.families
                .get(id)
                .is_some_and(|whole| !whole.missing.is_empty() || !whole.missing_blobs.is_empty())
        };
        let short = touched.iter().any(short);
        let breaks = self.look_for(&edits)? || short;
        let whole: Vec<_> = touched.iter().filter(|id| breaks && self.is_whole(**id)).copied().collect();
        let before: Vec<_> = whole.iter().filter_map(|id| Some((*id, self.cut(*id)?))).collect();
        let atomic = edits.len() > 1;
        self.units += 1;
        for edit in edits {
            self.apply(edit, atomic)?;
        }
        self.families.retain(|id, _| self.state.families().contains_key(id));
        if atomic && touched.iter().any(|id| !self.alone_whole(*id)) {
            self.groups.push(touched);
        }
        let families = std::mem::take(&mut self.groups);
        self.groups =
            families.into_iter().filter(|group| group.iter().any(|id| !self.alone_whole(*id))).collect();
        for (id, record) in before {
            if !self.is_whole(id)
                && let Some(whole) = self.families.get_mut(&id)
            {
                whole.last = Some(record);
            }
        }
        Ok(())
    }

    /// Looks for the SST files and the blob files that the edits add. Returns true if one is missing.
    fn look_for(&mut self, edits: &[VersionEdit]) -> Result<bool> {
        let mut missing = false;
        for edit in edits {
            let Some(record) = self.state.families().get(&edit.family.id) else { continue };
            for file in &edit.new_files {
                let there = self.present.has_table(record, file)?;
                missing |= !there;
                self.there.insert(file.number, there);
            }
            for blob in &edit.blobs.additions {
                if !self.present.has_blob_file(record, blob)? {
                    missing = true;
                    self.missing_blobs.insert(blob.blob_file_number);
                }
            }
        }
        Ok(missing)
    }

    fn apply(&mut self, edit: VersionEdit, atomic: bool) -> Result<()> {
        let id = edit.family.id;
        let (added, deleted) = (edit.new_files.clone(), edit.deleted_files.clone());
        let blobs: Vec<_> = edit.blobs.additions.iter().map(|blob| blob.blob_file_number).collect();
        // The blob files whose links or garbage change.
        let mut changed: Vec<_> =
            edit.blobs.garbages.iter().map(|garbage| garbage.blob_file_number).collect();
        let files = self.state.families().get(&id).map(|record| &record.files);
        let link_of = |number: &FileNumber| files?.get(number)?.oldest_blob_file_number;
        let unlinked: Vec<_> = deleted.iter().filter_map(|(_, number)| link_of(number)).collect();
        self.state.edit(VersionEdit { remaining_entries: None, ..edit })?;
        let Some(record) = self.state.families().get(&id) else { return Ok(()) };
        let whole = self.families.entry(id).or_default();
        whole.atomic |= atomic;
        // One edit can delete a file and add it on another level.
        deleted.iter().for_each(|(_, number)| whole.delete(*number));
        for blob in &unlinked {
            whole.link(*blob, false);
        }
        for file in &added {
            if self.there.get(&file.number) != Some(&true) {
                whole.add_missing(file);
            }
            whole.added.entry(file.number).or_insert(self.units);
            if let Some(blob) = file.oldest_blob_file_number {
                whole.link(blob, true);
                changed.push(blob);
            }
        }
        let missing = blobs.into_iter().filter(|number| self.missing_blobs.contains(number));
        for number in missing {
            whole.missing_blobs.insert(number, self.units);
            changed.push(number);
        }
        changed.extend(unlinked);
        changed.into_iter().for_each(|blob| whole.reconsider(record, blob));
        Ok(())
    }

    fn is_whole(&self, id: FamilyId) -> bool {
        self.alone_whole(id)
            && self
                .groups
                .iter()
                .filter(|group| group.contains(&id))
                .flatten()
                .all(|id| self.alone_whole(*id))
    }

    fn alone_whole(&self, id: FamilyId) -> bool {
        let Some(whole) = self.families.get(&id) else { return true };
        (whole.missing.is_empty() || (!whole.atomic && self.misses_newest_only(id, whole)))
            && self.needed_blobs(id).next().is_none()
    }

    /// Returns the missing blob files that an existing SST file of the column family can refer to.
    fn needed_blobs(&self, id: FamilyId) -> impl Iterator<Item = FileNumber> {
        let found = self.families.get(&id).zip(self.state.families().get(&id));
        found.into_iter().flat_map(|(whole, record)| whole.needed_blobs(record))
    }

    /// Returns true if all missing files are in level 0 and newer than all existing files of level 0.
    fn misses_newest_only(&self, id: FamilyId, whole: &Whole) -> bool {
        let Some(record) = self.state.families().get(&id) else { return false };
        if whole.missing_below > 0 {
            return false;
        }
        let (missing, there): (Vec<_>, Vec<_>) =
            record.files.values().partition(|f| whole.missing.contains_key(&f.number));
        let newest = there.iter().filter(|f| f.level == Level::ZERO).map(|f| f.largest_seqno).max();
        missing
            .iter()
            .all(|f| f.level == Level::ZERO && newest.is_none_or(|newest| f.smallest_seqno > newest))
    }

    /// Returns the record of the column family without the missing files.
    fn cut(&self, id: FamilyId) -> Option<FamilyRecord> {
        let mut record = self.state.families().get(&id)?.clone();
        if let Some(whole) = self.families.get(&id) {
            record.files.retain(|number, _| !whole.missing.contains_key(number));
            record.blobs.retain(|number, _| !whole.missing_blobs.contains_key(number));
            record.blob_garbage.retain(|number, _| !whole.missing_blobs.contains_key(number));
        }
        Some(record)
    }

    fn finish(mut self) -> Result<(Recovered, Vec<FileNumber>)> {
        let mut missing: Vec<FileNumber> =
            self.families.values().flat_map(|whole| whole.missing.keys().copied()).collect();
        let ids: Vec<_> = self.state.families().keys().copied().collect();
        missing.extend(ids.iter().flat_map(|id| self.needed_blobs(*id)));
        missing.arrange();
        let mut chosen = Vec::new();
        for id in ids {
            let record = match (self.is_whole(id), self.families.get_mut(&id)) {
                (true, _) | (_, None) => self.cut(id),
                (false, Some(whole)) => whole.last.take(),
            };
            chosen.push((id, record));
        }
        let mut recovered = self.state.finish()?;
        for (id, record) in chosen {
            let Some(now) = recovered.families.get_mut(&id) else { continue };
            match record {
                Some(record) => *now = record,
                None => {
                    now.files.clear();
                    now.cursors.clear();
                }
            }
        }
        Ok((recovered, missing))
    }
}

#[cfg(test)]
mod tests;
