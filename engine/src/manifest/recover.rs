//! Reads a MANIFEST: the column families, their files, and the counters.
//!
//! Recovery is total and strict. A wrong record gives Corruption with file and offset, wherever the record
//! is. A record that is cut short at the end of the file is the result of a crash, and recovery skips the
//! record, with two exceptions. First, the bytes would be a valid record with one other bit or another
//! length: no lost sector explains this. Second, a proof or a mark of a later edit states that the record
//! was durable. In both cases the record was damaged, not torn.
//!
//! Recovery also skips a last record with a wrong checksum, with the same exceptions, but only in a MANIFEST
//! with marks. There, edits state the durable size before the edit. A crash may leave only some sectors of
//! an append, or bytes of a former file, and only marks can tell these remains from damage. RocksDB writes
//! no marks, so a wrong checksum in a MANIFEST of RocksDB is Corruption.
//!
//! Two more edits are Corruption: an edit for an unknown column family, and an edit that leads to an
//! impossible version. RocksDB 11.8.1 continues in these cases with an empty column family and deletes the
//! files of the column family.

use std::collections::BTreeMap;
use std::path::Path;

use base::map::HashMap;
use base::{Error, FamilyId, FileNumber, Result, SequenceNumber, Subcode};
use env::{Env, RandomRead, ReadHints};
use format::edit::{BlobFileAddition, BlobFileGarbage, EditMark, NewFile, VersionEdit};
use format::names;
use format::proof::Extent;
use format::wal::{Diagnosis, Digest, HOLE, Item, Reader, ReaderOptions, Source};

use crate::prepared::TwoPhase;
use crate::sync::Arc;

/// A column family as the MANIFEST describes it.
#[derive(Clone, Debug, Default)]
pub struct FamilyRecord {
    pub id: FamilyId,
    pub name: String,
    /// `None`: the MANIFEST does not name the comparator, so an open does not check it.
    pub comparator: Option<String>,
    pub wal_number: FileNumber,
    pub full_history_ts_low: Option<Vec<u8>>,
    pub persist_user_defined_timestamps: Option<bool>,
    /// File number to SST file, with its level.
    pub files: HashMap<FileNumber, NewFile>,
    /// Level to internal key: the round-robin cursor, where the next compaction of the level starts.
    pub cursors: BTreeMap<u32, Vec<u8>>,
    /// All blob files that were ever added, by number. The version drops the files that no SST file needs.
    pub blobs: BTreeMap<FileNumber, BlobFileAddition>,
    /// Garbage of a blob file, by number: blobs and bytes.
    pub blob_garbage: BTreeMap<FileNumber, (u64, u64)>,
}

/// The whole content of a MANIFEST.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    pub number: FileNumber,
    /// Bytes up to the end of the last whole record.
    pub size: u64,
    pub db_id: Option<String>,
    pub next_file_number: FileNumber,
    pub last_sequence: SequenceNumber,
    pub max_family: FamilyId,
    pub min_log_number_to_keep: FileNumber,
    pub prev_log_number: FileNumber,
    pub families: BTreeMap<FamilyId, FamilyRecord>,
    /// Tracked WALs: WAL number to synced size in bytes.
    pub wals: BTreeMap<FileNumber, Option<u64>>,
    /// The digest of the records that were read.
    pub digest: Digest,
    /// The size of the snapshot at the start of the MANIFEST, in bytes. 0 if the MANIFEST does not record the size.
    pub compacted_size: u64,
    pub end: ManifestEnd,
    pub edits: u64,
}

/// How a MANIFEST ends.
#[derive(Clone, Debug, Default)]
pub enum ManifestEnd {
    /// A proof states that the MANIFEST ends exactly here.
    Proved,
    /// The last record is whole. No proof states that no record follows.
    #[default]
    Complete,
    /// A crash cut the last record or the last atomic group.
    Torn,
    /// The last record does not read, and recovery assumes that its sync never ended.
    Unreadable {
        /// The offset at which the record begins.
        at: u64,
        /// True if a valid version edit of the column families follows the unreadable edit, and does not
        /// belong to its atomic group.
        followed: bool,
    },
    /// Edits that were durable are gone.
    Lost(Lost),
}

impl ManifestEnd {
    /// Returns true if edits may be missing. An open then deletes no file that the MANIFEST does not name.
    pub fn is_in_doubt(&self) -> bool {
        match self {
            ManifestEnd::Proved | ManifestEnd::Complete => false,
            ManifestEnd::Torn | ManifestEnd::Unreadable { .. } | ManifestEnd::Lost(_) => true,
        }
    }

    /// Returns the end that the bytes of the file show, without the lost edits.
    pub fn without_loss(&self) -> &ManifestEnd {
        match self {
            ManifestEnd::Lost(lost) => &lost.read,
            end => end,
        }
    }

    /// Returns the lost edits.
    pub fn lost(&self) -> Option<&Lost> {
        match self {
            ManifestEnd::Lost(lost) => Some(lost),
            _ => None,
        }
    }

    /// Adds lost edits to this end. A loss that is already known is replaced.
    pub fn lose(&mut self, error: Error, bytes: u64, by_proof: bool) {
        let read = match std::mem::take(self) {
            ManifestEnd::Lost(lost) => lost.read,
            end => Box::new(end),
        };
        *self = ManifestEnd::Lost(Lost { error, bytes, by_proof, read });
    }

    /// Returns the end for a database that the proof does not belong to.
    pub fn without_proof(self) -> ManifestEnd {
        match self {
            ManifestEnd::Proved => ManifestEnd::Complete,
            ManifestEnd::Lost(lost) if lost.by_proof => lost.read.without_proof(),
            end => end,
        }
    }

    /// Records whether a valid edit follows an unreadable last record.
    fn follow(&mut self, by_edit: bool) {
        match self {
            ManifestEnd::Unreadable { followed, .. } => *followed = by_edit,
            ManifestEnd::Lost(lost) => lost.read.follow(by_edit),
            ManifestEnd::Proved | ManifestEnd::Complete | ManifestEnd::Torn => {}
        }
    }

    /// Changes a whole end to a torn end: the last atomic group is incomplete.
    fn tear(&mut self) {
        match self {
            ManifestEnd::Proved | ManifestEnd::Complete => *self = ManifestEnd::Torn,
            ManifestEnd::Lost(lost) => lost.read.tear(),
            ManifestEnd::Torn | ManifestEnd::Unreadable { .. } => {}
        }
    }
}

impl Recovered {
    /// Returns the oldest WAL that is needed. With two-phase commit, older WALs than the column families need may hold
    /// prepared transactions.
    pub fn oldest_wal(&self, two_phase: TwoPhase) -> FileNumber {
        let by_families = self.families.values().map(|family| family.wal_number).min().unwrap_or_default();
        match two_phase {
            TwoPhase::Allowed => self.min_log_number_to_keep,
            TwoPhase::Refused => self.min_log_number_to_keep.max(by_families),
        }
    }
}

/// Durable edits that are lost.
#[derive(Clone, Debug)]
pub struct Lost {
    /// Names the file, the offset, and the number of lost bytes.
    pub error: Error,
    pub bytes: u64,
    /// True if only the proof states the durable size. The caller must check that the proof belongs to this
    /// database.
    pub by_proof: bool,
    /// The end that the bytes of the file show.
    pub read: Box<ManifestEnd>,
}

/// Reads MANIFEST `number` in `dir`.
///
/// # Errors
/// Corruption with file and offset. Errors of the file system.
pub fn recover(env: &Env, dir: &Path, number: FileNumber) -> Result<Recovered> {
    recover_file(env, &dir.join(names::manifest(number)), number)
}

/// Reads a MANIFEST at any path, as [`recover`] does. `number` is the number of the MANIFEST, whatever the file name
/// is.
///
/// # Errors
/// The errors of [`recover`].
pub fn recover_file(env: &Env, path: &Path, number: FileNumber) -> Result<Recovered> {
    read_file(env, path, number, None)
}

/// Does the work of [`recover`], and compares the bytes read with a proof: see [`ManifestEnd`].
///
/// # Errors
/// The errors of [`recover`].
pub fn recover_proved(env: &Env, dir: &Path, number: FileNumber, claim: Option<Extent>) -> Result<Recovered> {
    read_file(env, &dir.join(names::manifest(number)), number, claim)
}

fn read_file(env: &Env, path: &Path, number: FileNumber, claim: Option<Extent>) -> Result<Recovered> {
    let mut reader = open_reader(env, path)?;
    let mut state = Builder::new(number);
    let read = read_all(&mut reader, &mut state, claim);
    described(read, state, path)
}

pub(super) fn open_reader(env: &Env, path: &Path) -> Result<Reader<FileSource>> {
    let file = env.fs.open_random(path, &ReadHints::default()).map_err(|e| {
        if e.is_not_found() {
            Error::io_error("CURRENT names a MANIFEST that does not exist")
                .with_subcode(Subcode::PathNotFound)
                .file(path)
        } else {
            e
        }
    })?;
    Ok(Reader::new(FileSource(file), ReaderOptions::default()))
}

/// Returns the state after a read, with the file in each error.
pub(super) fn described(read: Result<()>, state: Builder, path: &Path) -> Result<Recovered> {
    let end = state.out.size;
    let mut out = read
        .and_then(|()| state.finish().map_err(|e| e.at(end)))
        .map_err(|e| e.doing("reading the MANIFEST").file(path))?;
    if let ManifestEnd::Lost(lost) = &mut out.end {
        lost.error = lost.error.clone().doing("reading the MANIFEST").file(path);
    }
    Ok(out)
}

/// Reads a WAL or MANIFEST from a file.
pub struct FileSource(pub Arc<dyn RandomRead>);

impl Source for FileSource {
    fn read_at(&mut self, offset: u64, buf: &mut [u8]) -> Result<usize> {
        let FileSource(file) = self;
        file.read_at(offset, buf)
    }
}

/// Reads from the position of the reader to the end.
pub(super) fn read_all(
    reader: &mut Reader<FileSource>,
    state: &mut Builder,
    claim: Option<Extent>,
) -> Result<()> {
    // An earlier read may have passed the claim.
    let (start, before) = (reader.whole_end(), reader.digest());
    let is_passed = |c: Extent| c.bytes < start || c.bytes == start && c.digest.is_none_or(|d| d == before);
    let mut claim_met = claim.is_none_or(|c| c.bytes == 0 || is_passed(c));
    let durable = claim.map_or(0, |c| c.bytes);
    let torn = loop {
        match reader.next()? {
            Item::Record { bytes, offset, end } => {
                let edit = VersionEdit::decode(bytes).map_err(|e| e.shifted(offset))?;
                let mark = edit.mark;
                state.has_marks |= mark.is_some();
                if !edit.is_seal() {
                    state.edit(edit).map_err(|e| e.at(offset))?;
                }
                base::invariant!(
                    state.out.size <= offset && offset < end,
                    "the edit at {offset} ends at {end}, after an edit that ends at {}",
                    state.out.size
                );
                state.out.size = end;
                if let Some(mark) = mark {
                    let own = mark.number.is_none_or(|number| number == state.out.number);
                    let first = own && mark.offset <= offset && mark.digest == reader.digest_before();
                    if !first && state.marked != Some(mark) {
                        let at = reader.hole().unwrap_or(offset);
                        let what = "the records before a mark do not match the digest of the mark";
                        return Err(Error::corruption(what).at(at));
                    }
                    state.marked = Some(mark);
                }
                claim_met |=
                    claim.is_some_and(|c| c.bytes == end && c.digest.is_none_or(|d| d == reader.digest()));
            }
            Item::TornTail { offset, .. } => {
                state.out.end = ManifestEnd::Torn;
                break Some(offset);
            }
            Item::Corruption(damage) => {
                let reason = match damaged_not_torn(reader) {
                    Some(what) => format!("{}: {what}", damage.reason),
                    None if state.has_marks && damage.offset >= durable => {
                        state.out.end = ManifestEnd::Unreadable { at: state.out.size, followed: false };
                        break Some(damage.offset);
                    }
                    None => damage.reason,
                };
                return Err(Error::corruption(reason).at(damage.offset));
            }
            Item::Hole { offset } if state.has_marks && offset >= durable => {
                state.out.end = ManifestEnd::Unreadable { at: state.out.size, followed: false };
                break Some(offset);
            }
            Item::Hole { offset } => return Err(Error::corruption(HOLE).at(offset)),
            Item::OldRecord { offset, .. } => {
                return Err(Error::corruption("a MANIFEST with a record of a recycled WAL").at(offset));
            }
            Item::TimestampSizes { offset, .. } | Item::Predecessor { offset, .. } => {
                return Err(
                    Error::corruption("a MANIFEST with a record of a type that only WALs have").at(offset)
                );
            }
            Item::EndOfLog => break None,
        }
    };
    if let Some(torn) = torn
        && let Some(what) = damaged_not_torn(reader)
    {
        return Err(Error::corruption(what).at(torn));
    }
    state.out.digest = reader.running_digest();
    let end = reader.whole_end();
    let at = reader.hole().filter(|hole| *hole < end || torn.is_none()).or(torn).unwrap_or(end);
    if torn.is_none() && claim_met && claim.is_some_and(|c| c.bytes == end) {
        state.out.end = ManifestEnd::Proved;
    }
    if let Some(claim) = claim.filter(|_| !claim_met) {
        let bytes = claim.bytes.saturating_sub(at);
        let error = Error::corruption(format!(
            "the MANIFEST was durable up to byte {}, but its bytes from here on were changed: {bytes} bytes are lost",
            claim.bytes
        ));
        state.out.end.lose(error.at(at), bytes, true);
    }
    if torn.is_some() || reader.hole().is_some() {
        mark_behind(reader, at, &mut state.out)?;
    }
    Ok(())
}

/// Searches after the end of the read bytes for an edit whose mark states that the end was durable.
fn mark_behind(reader: &mut Reader<FileSource>, at: u64, out: &mut Recovered) -> Result<()> {
    let (mut more, mut edits, mut durable) = (reader.resync(at)?, 0u64, at);
    let mut followed = false;
    while more {
        match reader.next()? {
            Item::Record { bytes, offset, .. } => {
                let edit = VersionEdit::decode(bytes).ok();
                edits += u64::from(!edit.as_ref().is_some_and(VersionEdit::is_seal));
                followed |= edit.as_ref().is_some_and(stands_alone);
                // Accept only a mark that names this file and an offset at or before the edit. Other marks are
                // remains of a former file.
                let mark = edit.and_then(|edit| edit.mark);
                let mark = mark.filter(|mark| mark.number.is_none_or(|number| number == out.number));
                durable = mark.filter(|m| m.offset <= offset).map_or(durable, |m| durable.max(m.offset));
            }
            Item::TornTail { offset, .. } => more = reader.resync(offset)?,
            Item::Corruption(damage) => more = reader.resync(damage.offset)?,
            Item::EndOfLog => break,
            _ => {}
        }
    }
    out.end.follow(followed);
    if durable > at {
        let bytes = durable - at;
        let error = Error::corruption(format!(
            "a record of the MANIFEST is corrupt, not torn: a mark in a later edit proves that the record was durable; {bytes} bytes are lost, and {edits} complete edits after them"
        ));
        out.end.lose(error.at(at), bytes, false);
    }
    Ok(())
}

/// Returns true if an edit without a mark changes a column family and is in no atomic group. RocksDB
/// appends edits without marks, so this edit can be an append by RocksDB. The bytes before such an append
/// were durable.
fn stands_alone(edit: &VersionEdit) -> bool {
    let changes = !edit.new_files.is_empty() || !edit.deleted_files.is_empty();
    let families = edit.column_family_add.is_some() || edit.column_family_drop;
    edit.mark.is_none() && edit.remaining_entries.is_none() && (changes || families)
}

/// Returns a description of the damage of the last record, if no crash explains the damage.
fn damaged_not_torn(reader: &Reader<FileSource>) -> Option<String> {
    Some(match reader.damaged_not_torn()? {
        Diagnosis::Bit { byte, bit } => {
            format!(
                "the last record is corrupt, and no crash is the cause: bit {bit} of its byte {byte} is wrong"
            )
        }
        Diagnosis::Length(length) => {
            format!("the last record is corrupt, and no crash is the cause: its length should be {length}")
        }
    })
}

/// Rejects file numbers that leave no room for new files: the counter of file numbers would wrap.
///
/// # Errors
/// Corruption with the number.
fn check_file_numbers(edit: &VersionEdit) -> Result<()> {
    let scalars = [
        edit.next_file_number,
        edit.wal_number,
        edit.prev_log_number,
        edit.min_log_number_to_keep,
        edit.wal_deletion,
    ];
    let files = edit.new_files.iter().map(|file| file.number);
    let wals = edit.wal_additions.iter().map(|wal| wal.number);
    let largest = scalars.into_iter().flatten().chain(files).chain(wals).max().unwrap_or_default();
    if largest > names::MANIFEST_NUMBER_MAX {
        return Err(Error::corruption(format!("the file number {largest} is too large")));
    }
    Ok(())
}

/// The state after the edits that were read so far.
#[derive(Clone)]
pub(super) struct Builder {
    out: Recovered,
    wal_numbers: bool,
    next_file: bool,
    last_sequence: bool,
    /// Edits of an atomic group whose last edit was not read yet.
    group: Vec<VersionEdit>,
    has_marks: bool,
    /// The last accepted mark. The seal after a sync and all edits of the next append have the same mark, so only the
    /// first of them is compared with the digest.
    marked: Option<EditMark>,
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
        let id = edit.column_family;
        if let Some(name) = edit.column_family_add {
            if self.out.families.contains_key(&id) {
                return Err(Error::corruption(format!("column family {id} is added twice")));
            }
            let record = FamilyRecord { id, name, ..FamilyRecord::default() };
            self.out.families.insert(id, record);
            self.out.max_family = self.out.max_family.max(id);
        } else if edit.column_family_drop {
            if self.out.families.remove(&id).is_none() {
                return Err(Error::corruption(format!("column family {id} is dropped but does not exist")));
            }
            return Ok(());
        }
        for wal in &edit.wal_additions {
            self.out.wals.insert(wal.number, wal.synced_size_bytes);
        }
        if let Some(below) = edit.wal_deletion {
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
        add_blobs(family, edit.blob_file_additions, &edit.blob_file_garbages)?;
        for (level, number) in edit.deleted_files {
            match family.files.remove(&number) {
                Some(file) if file.level == level => {}
                _ => {
                    return Err(Error::corruption(format!(
                        "file {number:06} is deleted from L{level}, where it is not"
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
