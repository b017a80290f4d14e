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
use base::{Arrange, Error, FamilyId, FileNumber, Result};
use env::{Env, ReadHints};
use format::edit::{BlobFileAddition, NewFile, VersionEdit};
use format::names;
use format::wal::{HOLE, Item, Reader, ReaderOptions};

use super::recover::{Builder, FamilyRecord, FileSource, Recovered};

/// Finds the files that the records of a MANIFEST name.
pub trait Present {
    /// Returns true if the SST file exists and is the recorded file.
    fn has_table(&self, family: &FamilyRecord, file: &NewFile) -> bool;

    /// Returns true if the blob file exists and is complete.
    fn has_blob_file(&self, family: &FamilyRecord, blob: &BlobFileAddition) -> bool;
}

/// Reads MANIFEST `number` in `dir`. Returns each column family in its newest complete state, or empty if
/// it never had a complete state. Also returns the numbers of the missing SST files, and of the missing blob files that
/// SST files of the newest state need.
///
/// # Errors
/// Corruption with file and offset. Errors of the file system.
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
    missing: HashSet<FileNumber>,
    /// Missing blob file to the unit that added it. Also has blob files that no SST file needs.
    missing_blobs: BTreeMap<FileNumber, u64>,
    /// SST file to the unit that added it first.
    added: HashMap<FileNumber, u64>,
    /// True if an atomic group changed the column family. Level 0 without its newest files may then be a state that
    /// the column family never had.
    atomic: bool,
    /// The last complete state, if the present state is incomplete.
    last: Option<FamilyRecord>,
}

impl Whole {
    /// Returns true if an SST file that exists can refer to the missing blob file, which `unit` added.
    fn needs_blob(&self, record: &FamilyRecord, blob: FileNumber, unit: u64) -> bool {
        let mut linked =
            record.files.values().filter(|file| file.oldest_blob_file_number == Some(blob)).peekable();
        match linked.peek() {
            None => {
                let total = record.blobs.get(&blob).map_or(0, |blob| blob.total_blob_count);
                let garbage = record.blob_garbage.get(&blob).map_or(0, |(count, _)| *count);
                if garbage >= total {
                    return false;
                }
            }
            // The flush of a missing level-0 file wrote the blob file, and older SST files have no references to it.
            Some(_) => {
                if linked.all(|file| file.level == 0 && self.missing.contains(&file.number)) {
                    return false;
                }
            }
        }
        let mut existing = record.files.values().filter(|file| !self.missing.contains(&file.number));
        existing.any(|file| {
            // An SST file has no references to older blob files than its oldest, and to blob files that were added later.
            file.oldest_blob_file_number.is_some_and(|oldest| oldest <= blob)
                && self.added.get(&file.number).is_none_or(|added| *added >= unit)
        })
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
        let mut touched: Vec<FamilyId> = edits.iter().map(|edit| edit.column_family).collect();
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
        let breaks = self.look_for(&edits) || short;
        let whole: Vec<_> = touched.iter().filter(|id| breaks && self.is_whole(**id)).copied().collect();
        let before: Vec<_> = whole.iter().filter_map(|id| Some((*id, self.cut(*id)?))).collect();
        let atomic = edits.len() > 1;
        self.units += 1;
        for edit in edits {
            self.apply(edit, atomic)?;
        }
        self.families.retain(|id, _| self.state.families().contains_key(id));
        let broken = touched.iter().any(|id| !self.alone_whole(*id));
        if atomic && broken {
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
    fn look_for(&mut self, edits: &[VersionEdit]) -> bool {
        let mut missing = false;
        for edit in edits {
            let Some(record) = self.state.families().get(&edit.column_family) else { continue };
            for file in &edit.new_files {
                let there = self.present.has_table(record, file);
                missing |= !there;
                self.there.insert(file.number, there);
            }
            for blob in &edit.blob_file_additions {
                if !self.present.has_blob_file(record, blob) {
                    missing = true;
                    self.missing_blobs.insert(blob.blob_file_number);
                }
            }
        }
        missing
    }

    fn apply(&mut self, edit: VersionEdit, atomic: bool) -> Result<()> {
        let id = edit.column_family;
        let (added, deleted) = (edit.new_files.clone(), edit.deleted_files.clone());
        let blobs: Vec<_> = edit.blob_file_additions.iter().map(|blob| blob.blob_file_number).collect();
        self.state.edit(VersionEdit { remaining_entries: None, ..edit })?;
        if !self.state.families().contains_key(&id) {
            return Ok(());
        }
        let whole = self.families.entry(id).or_default();
        whole.atomic |= atomic;
        // One edit can delete a file and add it on another level.
        deleted.iter().for_each(|(_, number)| {
            whole.missing.remove(number);
        });
        let missing =
            added.iter().map(|file| file.number).filter(|number| self.there.get(number) != Some(&true));
        whole.missing.extend(missing);
        for file in added {
            whole.added.entry(file.number).or_insert(self.units);
        }
        let missing = blobs.into_iter().filter(|number| self.missing_blobs.contains(number));
        whole.missing_blobs.extend(missing.map(|number| (number, self.units)));
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
        found.into_iter().flat_map(|(whole, record)| {
            let blobs = whole.missing_blobs.iter();
            blobs.filter(|(blob, unit)| whole.needs_blob(record, **blob, **unit)).map(|(blob, _)| *blob)
        })
    }

    /// Returns true if all missing files are in level 0 and newer than all existing files of level 0.
    fn misses_newest_only(&self, id: FamilyId, whole: &Whole) -> bool {
        let Some(record) = self.state.families().get(&id) else { return false };
        let (missing, there): (Vec<_>, Vec<_>) =
            record.files.values().partition(|f| whole.missing.contains(&f.number));
        let newest = there.iter().filter(|f| f.level == 0).map(|f| f.largest_seqno).max();
        missing.iter().all(|f| f.level == 0 && newest.is_none_or(|newest| f.smallest_seqno > newest))
    }

    /// Returns the record of the column family without the missing files.
    fn cut(&self, id: FamilyId) -> Option<FamilyRecord> {
        let mut record = self.state.families().get(&id)?.clone();
        if let Some(whole) = self.families.get(&id) {
            record.files.retain(|number, _| !whole.missing.contains(number));
            record.blobs.retain(|number, _| !whole.missing_blobs.contains_key(number));
            record.blob_garbage.retain(|number, _| !whole.missing_blobs.contains_key(number));
        }
        Some(record)
    }

    fn finish(mut self) -> Result<(Recovered, Vec<FileNumber>)> {
        let mut missing: Vec<FileNumber> =
            self.families.values().flat_map(|whole| whole.missing.iter().copied()).collect();
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
