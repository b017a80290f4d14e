//! Applies the edits of a MANIFEST, one after the other.

use std::collections::BTreeMap;

use base::{Error, FamilyId, FileNumber, Result, WalNumber};
use format::edit::{BlobFileAddition, BlobFileGarbage, EditMark, VersionEdit};
use format::names;

use super::recovered::{FamilyRecord, ManifestEnd, Recovered};

/// The state after the edits that were read so far.
#[derive(Clone)]
pub(super) struct Builder {
    pub(super) out: Recovered,
    wal_numbers: bool,
    next_file: bool,
    last_sequence: bool,
    /// Edits of an atomic group whose last edit was not read yet.
    group: Vec<VersionEdit>,
    /// True if an edit had a mark.
    pub(super) has_marks: bool,
    /// The last accepted mark. The seal after a sync and all edits of the next append have the same mark, so only the
    /// first of them is compared with the digest.
    pub(super) marked: Option<EditMark>,
}

impl Builder {
    pub(super) fn new(number: FileNumber) -> Self {
        let mut out = Recovered { number, ..Recovered::default() };
        let default =
            FamilyRecord { id: FamilyId::DEFAULT, name: "default".to_string(), ..FamilyRecord::default() };
        out.families.insert(FamilyId::DEFAULT, default);
        Builder {
            out,
            wal_numbers: false,
            next_file: false,
            last_sequence: false,
            group: Vec::new(),
            has_marks: false,
            marked: None,
        }
    }

    /// Continues after a read that ended here.
    pub(super) fn begin_again(&mut self) {
        self.out.end = ManifestEnd::default();
    }

    /// Returns true if an atomic group is open.
    pub(super) fn is_in_group(&self) -> bool {
        !self.group.is_empty()
    }

    /// Applies an edit. Collects the edits of an atomic group, and applies them with the last edit of the group. If
    /// an edit does not fit the open group, discards the edit and the group.
    pub(super) fn edit(&mut self, edit: VersionEdit) -> Result<()> {
        self.out.edits += 1;
        let Some(remaining) = edit.remaining_entries else {
            if !self.group.is_empty() {
                self.group.clear();
                return Err(Error::corruption("an atomic group ends before its last edit"));
            }
            return self.apply(edit);
        };
        if let Some(last) = self.group.last()
            && last.remaining_entries != remaining.checked_add(1)
        {
            self.group.clear();
            return Err(Error::corruption("an atomic group has a missing or a repeated edit"));
        }
        self.group.push(edit);
        if remaining == 0 {
            base::invariant!(
                self.group.is_sorted_by(|a, b| a.remaining_entries > b.remaining_entries),
                "the edits of an atomic group do not count down"
            );
            for edit in std::mem::take(&mut self.group) {
                self.apply(edit)?;
            }
        }
        Ok(())
    }

    fn apply(&mut self, edit: VersionEdit) -> Result<()> {
        check_file_numbers(&edit)?;
        self.scalars(&edit);
        let id = edit.family.id;
        if let Some(name) = edit.family.add {
            if self.out.families.contains_key(&id) {
                return Err(Error::corruption(format!("column family {id} is added twice")));
            }
            let record = FamilyRecord { id, name, ..FamilyRecord::default() };
            self.out.families.insert(id, record);
            self.out.max_family = self.out.max_family.max(id);
        } else if edit.family.drop {
            if self.out.families.remove(&id).is_none() {
                return Err(Error::corruption(format!("column family {id} is dropped but does not exist")));
            }
            return Ok(());
        }
        for wal in &edit.wals.additions {
            self.out.wals.insert(wal.number, wal.synced_size_bytes);
        }
        if let Some(below) = edit.wals.deletion {
            self.out.wals = self.out.wals.split_off(&below);
        }
        let Some(family) = self.out.families.get_mut(&id) else {
            return Err(Error::corruption(format!("an edit for column family {id}, which does not exist")));
        };
        if let Some(comparator) = edit.comparator {
            family.comparator = Some(comparator);
        }
        if let Some(wal) = edit.wal_number {
            family.wal_number = family.wal_number.max(wal);
            self.wal_numbers = true;
        }
        if let Some(ts) = edit.full_history_ts_low {
            family.full_history_ts_low = Some(ts);
        }
        if let Some(persist) = edit.persist_user_defined_timestamps {
            family.persist_user_defined_timestamps = Some(persist);
        }
        add_blobs(family, edit.blobs.additions, &edit.blobs.garbages)?;
        for (level, number) in edit.deleted_files {
            match family.files.remove(&number) {
                Some(file) if file.level == level => {}
                _ => {
                    return Err(Error::corruption(format!(
                        "file {number:06} is deleted from {level}, where it is not"
                    )));
                }
            }
        }
        for file in edit.new_files {
            let number = file.number;
            if file.largest_seqno > base::key::MAX_SEQUENCE {
                return Err(Error::corruption(format!(
                    "file {number:06} has a sequence number that is too large"
                )));
            }
            if family.files.insert(number, file).is_some() {
                return Err(Error::corruption(format!("file {number:06} is added twice")));
            }
        }
        family.cursors.extend(edit.compact_cursors);
        Ok(())
    }

    fn scalars(&mut self, edit: &VersionEdit) {
        let out = &mut self.out;
        if let Some(id) = &edit.db_id {
            out.db_id = Some(id.clone());
        }
        if let Some(n) = edit.prev_log_number {
            out.prev_log_number = n;
        }
        if let Some(n) = edit.next_file_number {
            out.next_file_number = n;
            self.next_file = true;
        }
        if let Some(n) = edit.max_column_family {
            out.max_family = out.max_family.max(n);
        }
        if let Some(n) = edit.last_sequence {
            out.last_sequence = n;
            self.last_sequence = true;
        }
        if let Some(n) = edit.last_compacted_manifest_file_size {
            out.compacted_size = n;
        }
        if let Some(n) = edit.min_log_number_to_keep {
            out.min_log_number_to_keep = out.min_log_number_to_keep.max(n);
        }
    }

    /// Returns the column families after the edits so far.
    pub(super) fn families(&self) -> &BTreeMap<FamilyId, FamilyRecord> {
        &self.out.families
    }

    /// Returns the state without checking that it is complete.
    pub(super) fn into_lenient(self) -> Recovered {
        self.out
    }

    /// Records how far the MANIFEST was read.
    pub(super) fn read_to(&mut self, end: u64) {
        base::invariant!(
            self.out.size < end,
            "the read of the MANIFEST goes from {} to {end}",
            self.out.size
        );
        self.out.size = end;
    }

    pub(super) fn finish(mut self) -> Result<Recovered> {
        // An unfinished atomic group at the end was never acknowledged.
        if !self.group.is_empty() {
            self.out.end.tear();
        }
        let missing = [
            (self.wal_numbers, "log-file number"),
            (self.next_file, "meta-nextfile"),
            (self.last_sequence, "last-sequence-number"),
        ];
        if self.out.last_sequence > base::key::MAX_SEQUENCE {
            return Err(Error::corruption(format!(
                "the last sequence number {} is too large",
                self.out.last_sequence
            )));
        }
        base::invariant!(
            self.out.families.iter().all(|(id, family)| *id == family.id),
            "a column family of the MANIFEST has the id of another column family"
        );
        if let Some((_, what)) = missing.iter().find(|(found, _)| !found) {
            return Err(Error::corruption(format!("no {what} entry in the MANIFEST")));
        }
        Ok(self.out)
    }
}

/// Applies the blob files of an edit, and their garbage, to the record of a column family.
fn add_blobs(
    family: &mut FamilyRecord,
    additions: Vec<BlobFileAddition>,
    garbage: &[BlobFileGarbage],
) -> Result<()> {
    for blob in additions {
        let number = blob.blob_file_number;
        if family.blobs.insert(number, blob).is_some() {
            return Err(Error::corruption(format!("Blob file #{number} already added")));
        }
    }
    for more in garbage {
        let number = more.blob_file_number;
        let (garbage_count, garbage_bytes) = family.blob_garbage.entry(number).or_default();
        let total = family.blobs.get(&number).map(|b| (b.total_blob_count, b.total_blob_bytes));
        let Some((count, bytes)) = total else {
            return Err(Error::corruption(format!("Blob file #{number} not found")));
        };
        *garbage_count = garbage_count.saturating_add(more.garbage_blob_count);
        *garbage_bytes = garbage_bytes.saturating_add(more.garbage_blob_bytes);
        if *garbage_count > count || *garbage_bytes > bytes {
            return Err(Error::corruption(format!("Garbage overflow for blob file #{number}")));
        }
    }
    Ok(())
}

/// Rejects file numbers that leave no room for new files: the counter of file numbers would wrap.
///
/// # Errors
/// Corruption with the number.
fn check_file_numbers(edit: &VersionEdit) -> Result<()> {
    let scalars = [
        edit.next_file_number,
        edit.wal_number.map(WalNumber::file),
        edit.prev_log_number.map(WalNumber::file),
        edit.min_log_number_to_keep.map(WalNumber::file),
        edit.wals.deletion.map(WalNumber::file),
    ];
    let files = edit.new_files.iter().map(|file| file.number);
    let wals = edit.wals.additions.iter().map(|wal| wal.number.file());
    let largest = scalars.into_iter().flatten().chain(files).chain(wals).max().unwrap_or_default();
    if largest > names::MANIFEST_NUMBER_MAX {
        return Err(Error::corruption(format!("the file number {largest} is too large")));
    }
    Ok(())
}
