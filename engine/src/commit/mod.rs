//! Commits changes of versions: makes them durable in the MANIFEST, then visible in a version and a super version.
//!
//! ```text
//!  changes ─► next versions computed and checked ─► MANIFEST appended and synced
//!          ─► each column family: version, immutable memtables, WAL number, super version ─► old files obsolete
//! ```
//! The lock of the MANIFEST allows one commit at a time, and only a commit changes the version of a column family.
//! A version that breaks a rule is rejected before a byte is written. RocksDB opens a MANIFEST with such a version,
//! but with an empty column family, and deletes its files.

mod part;
mod records;

pub use part::Change;
pub use records::of_new_family;

use std::collections::BTreeMap;

use base::{Error, FamilyId, FileNumber, Result, SequenceNumber, WalNumber};
use format::edit::{FamilyEdit, VersionEdit, WalAddition, WalEdit};
use format::proof::Extent;

use self::part::Part;
use crate::family::{Family, FamilySet, Unannounced};
use crate::files::{Numbers, Obsolete};
use crate::manifest::{Manifest, ManifestSettings, Record};
use crate::prepared::PreparedSections;
use crate::ranks;
use crate::sequence::LastSequence;
use crate::sync::{Arc, AtomicWalNumber, Mutex, OnceLock, RankedMutex};
use crate::wal::WalSet;

/// What a crash during a commit can keep of the changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomicity {
    /// The first changes, without the later changes.
    Each,
    /// All changes or none. The records are an atomic group of the MANIFEST.
    AllOrNone,
}

/// The result of a commit.
pub struct Committed {
    /// WALs below this number are not needed.
    pub min_wal_to_keep: WalNumber,
    /// The flushes of the commit. The caller drops this value after the listeners were called and the space was checked.
    pub flushes: Vec<Unannounced>,
}

/// Commits changes of versions, one commit at a time.
pub struct Committer {
    manifest: RankedMutex<Manifest>,
    numbers: Arc<Numbers>,
    families: Arc<FamilySet>,
    sequence: Arc<LastSequence>,
    obsolete: Arc<Obsolete>,
    /// The first record of each MANIFEST has this id; `None` to leave it out.
    db_id: Option<String>,
    min_wal_to_keep: AtomicWalNumber,
    tracked_wals: Mutex<BTreeMap<WalNumber, Option<u64>>>,
    /// MANIFESTs that a newer MANIFEST has replaced.
    old_manifests: Mutex<Vec<FileNumber>>,
    /// Gets the durable size of the MANIFEST after each commit.
    wals: OnceLock<Arc<WalSet>>,
    prepared: PreparedSections,
}

impl Committer {
    /// Makes the committer of one database. `min_wal_to_keep` is the oldest WAL that is needed now. `db_id` is
    /// the first record of each new MANIFEST, if it is given.
    pub fn new(
        manifest: Manifest,
        numbers: Arc<Numbers>,
        families: Arc<FamilySet>,
        sequence: Arc<LastSequence>,
        obsolete: Arc<Obsolete>,
        db_id: Option<String>,
        min_wal_to_keep: WalNumber,
    ) -> Self {
        Committer {
            manifest: RankedMutex::new(&ranks::MANIFEST, manifest),
            numbers,
            families,
            sequence,
            obsolete,
            db_id,
            min_wal_to_keep: AtomicWalNumber::new(min_wal_to_keep),
            tracked_wals: Mutex::default(),
            old_manifests: Mutex::default(),
            wals: OnceLock::new(),
            prepared: PreparedSections::default(),
        }
    }

    /// Returns the sections of prepared transactions and the WALs that they need.
    pub fn prepared(&self) -> &PreparedSections {
        &self.prepared
    }

    /// Reports the durable size of the MANIFEST to these WALs from now on. The WALs write it as marks.
    pub fn set_wals(&self, wals: Arc<WalSet>) {
        let _ = self.wals.set(wals);
    }

    /// Returns the oldest WAL that is needed.
    pub fn min_wal_to_keep(&self) -> WalNumber {
        self.min_wal_to_keep.load()
    }

    /// Takes the MANIFESTs that were replaced since the last call. The caller deletes them.
    pub fn take_old_manifests(&self) -> Vec<FileNumber> {
        std::mem::take(&mut *self.old_manifests.lock())
    }

    /// Returns the number of the MANIFEST that CURRENT names. Waits for a commit that is in progress.
    pub fn manifest_number(&self) -> FileNumber {
        self.manifest.lock().number()
    }

    /// Makes the whole MANIFEST durable and returns its durable part; `None` if its last record failed.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn settle_manifest(&self) -> Result<Option<Extent>> {
        self.manifest.lock().settle()
    }

    /// Returns the number and the size of the MANIFEST.
    pub fn manifest_extent(&self) -> (FileNumber, u64) {
        let manifest = self.manifest.lock();
        (manifest.number(), manifest.size())
    }

    /// Calls `look` with the number and the size of the MANIFEST while no commit can start. The versions of
    /// the column families are then exactly the versions in these bytes of the MANIFEST.
    ///
    /// # Errors
    /// IoError if the last write of the MANIFEST failed: the size of its valid part is unknown until the next commit.
    pub fn at_rest<T>(&self, look: impl FnOnce(FileNumber, u64) -> T) -> Result<T> {
        let manifest = self.manifest.lock();
        if manifest.size() == 0 {
            return Err(Error::io_error(
                "the last write of the MANIFEST failed, and no newer MANIFEST exists yet",
            ));
        }
        Ok(look(manifest.number(), manifest.size()))
    }

    /// Changes how the MANIFEST is written, from the next record on.
    pub fn set_manifest_settings(&self, settings: ManifestSettings) {
        self.manifest.lock().set_settings(settings);
    }

    /// Returns the size of the current MANIFEST in bytes. Waits for a commit that is in progress.
    pub fn manifest_size(&self) -> u64 {
        self.manifest.lock().size()
    }

    /// Makes the change of one version durable and visible.
    ///
    /// # Errors
    /// The errors of [`Self::commit`].
    pub fn commit_one(&self, change: Change) -> Result<Committed> {
        self.commit(vec![change], Atomicity::Each)
    }

    /// Makes changes of versions durable and visible. The change of a dropped column family is skipped, and the SST files
    /// that its job wrote become obsolete.
    ///
    /// # Errors
    /// Corruption if a change does not fit its version; nothing was written. An error of the file system. The record may be
    /// on disk then, and the files of the changes must stay.
    pub fn commit(&self, changes: Vec<Change>, atomicity: Atomicity) -> Result<Committed> {
        let mut manifest = self.manifest.lock();
        let (dropped, changes): (Vec<_>, Vec<_>) =
            changes.into_iter().partition(|change| change.family.is_dropped());
        dropped.iter().for_each(|change| self.retire_outputs(change));
        let mut parts: Vec<Part> = Vec::with_capacity(changes.len());
        for change in changes {
            base::invariant!(
                parts.iter().all(|part| part.change.family.id() != change.family.id()),
                "two changes of {:?} are in one commit",
                change.family
            );
            parts.push(Part::new(change)?);
        }
        let min_wal = self.min_wal_after(&parts);
        base::invariant!(
            min_wal.is_none_or(|wal| self.min_wal_to_keep() <= wal),
            "the oldest WAL to keep falls from {} to {min_wal:?}",
            self.min_wal_to_keep()
        );
        let records = self.records_of(&parts, min_wal, atomicity);
        self.write(&mut manifest, records)?;
        // Not before the records are durable: a new MANIFEST after a failed write must name the WALs that it needs.
        let min_wal = min_wal.unwrap_or_default();
        self.min_wal_to_keep.raise(min_wal);
        let mut tracked = self.tracked_wals.lock();
        *tracked = tracked.split_off(&min_wal);
        drop(tracked);
        // Make these values before the memtables leave: a caller that waits for the memtables then waits for the
        // listeners too.
        let flush_of = |part: &Part| {
            part.change.flushed.as_ref().map(|pick| Unannounced::new(&part.change.family, pick))
        };
        let flushes = parts.iter().filter_map(flush_of).collect();
        let (old_super_versions, old_of_eras): (Vec<_>, Vec<_>) = parts.iter().map(Part::install).unzip();
        drop(manifest);
        drop(old_of_eras);
        let flushed = parts.iter().filter_map(|part| part.change.flushed.as_ref());
        flushed.flat_map(|pick| &pick.memtables).for_each(|immutable| immutable.mem.set_flushed());
        for part in parts {
            self.obsolete.retire(part.retired());
        }
        drop(old_super_versions);
        Ok(Committed { min_wal_to_keep: self.min_wal_to_keep(), flushes })
    }

    /// Writes records that change no version (column families added and dropped, counters, tracked WALs). Runs
    /// `then` before another commit can start.
    pub fn commit_records(&self, edits: Vec<VersionEdit>, then: impl FnOnce()) -> Result<Committed> {
        let mut manifest = self.manifest.lock();
        let records = edits.into_iter().map(|edit| (self.complete(edit, SequenceNumber::ZERO), 0)).collect();
        self.write(&mut manifest, records)?;
        then();
        Ok(Committed { min_wal_to_keep: self.min_wal_to_keep(), flushes: Vec::new() })
    }

    /// Records synced sizes of closed WALs (`track_and_verify_wals_in_manifest`). Skips WALs that are not needed: after the
    /// caller synced them, another job may have committed their deletion. RocksDB fails the open if an addition without a
    /// deletion names a missing WAL.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn track_wals(&self, synced: &[(WalNumber, u64)]) -> Result<()> {
        let mut manifest = self.manifest.lock();
        let min_wal = self.min_wal_to_keep();
        let wal_additions: Vec<_> = synced
            .iter()
            .filter(|(number, size)| *number >= min_wal && *size > 0)
            .map(|(number, size)| WalAddition { number: *number, synced_size_bytes: Some(*size) })
            .collect();
        if wal_additions.is_empty() {
            return Ok(());
        }
        base::invariant!(
            wal_additions.iter().all(|wal| {
                let known = self.tracked_wals.lock().get(&wal.number).copied();
                known.is_none_or(|size| size <= wal.synced_size_bytes)
            }),
            "the synced size of a WAL falls: {wal_additions:?}"
        );
        self.tracked_wals.lock().extend(wal_additions.iter().map(|w| (w.number, w.synced_size_bytes)));
        let edit = VersionEdit {
            wals: WalEdit { additions: wal_additions, ..WalEdit::default() },
            ..VersionEdit::default()
        };
        self.write(&mut manifest, vec![(self.complete(edit, SequenceNumber::ZERO), 0)])
    }

    /// Starts a new MANIFEST with a snapshot of all column families, whatever the size of the old MANIFEST.
    /// The snapshot also records the oldest WAL that each column family needs.
    pub fn roll(&self, edits: Vec<VersionEdit>) -> Result<Committed> {
        let mut manifest = self.manifest.lock();
        let needed = self.families.all().into_iter().map(|family| family.state().wal_number).min();
        let needed = self.prepared.oldest_needed(needed.unwrap_or_default());
        base::invariant!(
            needed.file() <= self.numbers.peek(),
            "WAL {needed} is needed, and the next file number is {}",
            self.numbers.peek()
        );
        let min_wal = needed.max(self.min_wal_to_keep());
        let records: Vec<Record> =
            edits.into_iter().map(|edit| (self.complete(edit, SequenceNumber::ZERO), 0)).collect();
        self.roll_locked(&mut manifest, records, min_wal)?;
        // Not before the new MANIFEST is current: other jobs delete the WALs below this number, and the old MANIFEST needs them.
        self.min_wal_to_keep.raise(min_wal);
        Ok(Committed { min_wal_to_keep: self.min_wal_to_keep(), flushes: Vec::new() })
    }

    /// Writes the first records of a session that continues the old MANIFEST: the WALs that are needed now.
    ///
    /// # Errors
    /// An error of the file system.
    pub fn continue_manifest(&self, tracked: BTreeMap<WalNumber, Option<u64>>) -> Result<Committed> {
        let families = self.families.all();
        let wal_number = |family: &Arc<Family>| family.state().wal_number;
        let by_families = families.iter().map(wal_number).min().unwrap_or_default();
        let min_wal = self.prepared.oldest_needed(by_families).max(self.min_wal_to_keep());
        base::invariant!(
            min_wal.file() <= self.numbers.peek(),
            "WAL {min_wal} is needed, and the next file number is {}",
            self.numbers.peek()
        );
        let wal_deletion =
            tracked.first_key_value().is_some_and(|(number, _)| *number < min_wal).then_some(min_wal);
        self.tracked_wals.lock().extend(tracked.into_iter().filter(|(number, _)| *number >= min_wal));
        let of_family = |family: &Arc<Family>| VersionEdit {
            family: FamilyEdit { id: family.id(), ..FamilyEdit::default() },
            wal_number: Some(wal_number(family)),
            ..VersionEdit::default()
        };
        let mut edits: Vec<_> = families.iter().map(of_family).collect();
        edits.push(VersionEdit {
            db_id: self.db_id.clone(),
            min_log_number_to_keep: Some(min_wal),
            wals: WalEdit { deletion: wal_deletion, ..WalEdit::default() },
            ..VersionEdit::default()
        });
        self.commit_records(edits, || {
            self.min_wal_to_keep.raise(min_wal);
        })
    }

    /// Allows the MANIFEST to record the WALs that each column family needs after the recovery. The open calls this
    /// after older WALs were read from disk and kept WALs were synced.
    pub fn record_wal_numbers(&self) {
        for family in self.families.all() {
            let mut state = family.state();
            base::invariant!(
                state.recorded_wal_number <= state.wal_number,
                "the MANIFEST names WAL {} for {family:?}, which needs WAL {}",
                state.recorded_wal_number,
                state.wal_number
            );
            state.recorded_wal_number = state.wal_number;
        }
    }

    /// Closes the MANIFEST without a sync. Later commits fail.
    ///
    /// # Errors
    /// An error of closing the file.
    pub fn close(&self) -> Result<()> {
        self.manifest.lock().close()
    }

    fn write(&self, manifest: &mut Manifest, records: Vec<Record>) -> Result<()> {
        if manifest.must_roll() {
            return self.roll_locked(manifest, records, self.min_wal_to_keep());
        }
        manifest.append(&records)?;
        self.report_durable_size(manifest);
        Ok(())
    }

    fn report_durable_size(&self, manifest: &Manifest) {
        if let Some(wals) = self.wals.get() {
            wals.note_manifest(&manifest.durable());
        }
    }

    fn roll_locked(
        &self,
        manifest: &mut Manifest,
        mut records: Vec<Record>,
        min_wal: WalNumber,
    ) -> Result<()> {
        let number = self.numbers.take();
        let old = manifest.number();
        base::invariant!(number > old, "MANIFEST {number} follows MANIFEST {old}");
        if records.is_empty() {
            records.push((self.complete(VersionEdit::default(), SequenceNumber::ZERO), 0));
        }
        if let Some((last, _)) = records.last_mut() {
            last.next_file_number = Some(self.numbers.peek());
        }
        if let Some((first, _)) = records.first_mut()
            && self.families.max_id() > FamilyId::DEFAULT
        {
            first.max_column_family = Some(self.families.max_id());
        }
        let tracked: Vec<_> = self.tracked_wals.lock().iter().map(|(n, size)| (*n, *size)).collect();
        let snapshot = records::snapshot(
            &self.families.all(),
            self.db_id.as_deref(),
            &tracked,
            min_wal,
            self.sequence.visible(),
        );
        base::invariant!(
            !snapshot.is_empty() && !records.is_empty(),
            "MANIFEST {number} begins without a record"
        );
        manifest.roll(number, &snapshot, &records)?;
        self.old_manifests.lock().push(old);
        self.report_durable_size(manifest);
        Ok(())
    }

    /// Sets the fields that every appended edit has.
    fn complete(&self, mut edit: VersionEdit, largest_seq: SequenceNumber) -> VersionEdit {
        edit.prev_log_number = Some(WalNumber::ZERO);
        edit.next_file_number = Some(self.numbers.peek());
        edit.last_sequence = Some(self.sequence.visible().max(largest_seq));
        self.check(&edit);
        edit
    }

    /// Checks an edit before the edit is written to the MANIFEST.
    fn check(&self, edit: &VersionEdit) {
        let next = self.numbers.peek();
        for file in &edit.new_files {
            base::invariant!(
                file.number < next,
                "an edit adds file {}, and the next file number is {next}",
                file.number
            );
            base::invariant!(
                file.smallest_seqno <= file.largest_seqno,
                "file {} has the sequence numbers {} to {}",
                file.number,
                file.smallest_seqno,
                file.largest_seqno
            );
            base::invariant!(file.file_size > 0, "an edit adds file {} of 0 bytes", file.number);
        }
        for (level, number) in &edit.deleted_files {
            base::invariant!(*number < next, "an edit deletes file {number}, and the next number is {next}");
            base::invariant!(
                !edit.new_files.iter().any(|file| file.number == *number && file.level == *level),
                "an edit deletes file {number} from {level} and adds the file to the same level"
            );
        }
        base::invariant!(
            edit.wal_number.is_none_or(|wal| wal.file() <= next),
            "an edit names WAL {}, and the next file number is {next}",
            edit.wal_number.unwrap_or_default()
        );
        base::invariant!(
            edit.min_log_number_to_keep.is_none_or(|wal| self.min_wal_to_keep() <= wal),
            "the oldest WAL to keep falls from {} to {}",
            self.min_wal_to_keep(),
            edit.min_log_number_to_keep.unwrap_or_default()
        );
        base::invariant!(
            edit.last_sequence.is_none_or(|seq| seq <= base::key::MAX_SEQUENCE),
            "an edit has a last sequence number of more than 56 bits"
        );
    }

    fn records_of(&self, parts: &[Part], min_wal: Option<WalNumber>, atomicity: Atomicity) -> Vec<Record> {
        let mut records: Vec<Record> = Vec::with_capacity(parts.len() + 1);
        for part in parts {
            let largest = part
                .change
                .edit
                .added
                .iter()
                .map(|(_, f)| f.largest_seq)
                .max()
                .unwrap_or(SequenceNumber::ZERO);
            let mut edit = records::of_change(&part.change);
            edit.family.id = part.change.family.id();
            records.push((self.complete(edit, largest), part.change.family.order().user.timestamp_size()));
        }
        if let Some(min_wal) = min_wal {
            let tracked = self.tracked_wals.lock();
            let wal_deletion =
                tracked.first_key_value().is_some_and(|(n, _)| *n < min_wal).then_some(min_wal);
            let edit = VersionEdit {
                min_log_number_to_keep: Some(min_wal),
                wals: WalEdit { deletion: wal_deletion, ..WalEdit::default() },
                ..VersionEdit::default()
            };
            records.push((self.complete(edit, SequenceNumber::ZERO), 0));
        }
        base::invariant!(
            records.iter().all(|(edit, _)| edit.remaining_entries.is_none()),
            "an edit of a commit belongs to another atomic group"
        );
        if atomicity == Atomicity::AllOrNone && records.len() > 1 {
            let n = records.len() as u32;
            for (i, (edit, _)) in records.iter_mut().enumerate() {
                edit.remaining_entries = Some(n - 1 - i as u32);
            }
        }
        records
    }

    /// Returns the oldest WAL that a column family or a prepared transaction needs after the flush; `None` if the
    /// commit has no flush.
    fn min_wal_after(&self, parts: &[Part]) -> Option<WalNumber> {
        if !parts.iter().any(|p| p.change.flushed.is_some()) {
            return None;
        }
        let flushed: BTreeMap<FamilyId, WalNumber> = parts
            .iter()
            .filter_map(|p| Some((p.change.family.id(), p.change.flushed.as_ref()?.next_wal())))
            .collect();
        let now: Vec<_> = self.families.all().iter().map(|f| (f.id(), f.state().wal_number)).collect();
        self.prepared.forget_committed(now.iter().map(|(_, wal)| *wal).min().unwrap_or_default());
        let after = now.iter().map(|(id, wal)| flushed.get(id).map_or(*wal, |flushed| *wal.max(flushed)));
        let needed = self.prepared.oldest_needed(after.min().unwrap_or_default());
        base::invariant!(
            needed.file() <= self.numbers.peek(),
            "a flush needs WAL {needed}, and the next file number is {}",
            self.numbers.peek()
        );
        Some(needed.max(self.min_wal_to_keep()))
    }

    /// Makes the new SST files of a job obsolete, because its column family was dropped. No version names these files.
    /// Files that the job only moved are in the last version of the column family; the drop made them obsolete.
    fn retire_outputs(&self, change: &Change) {
        base::invariant!(
            change.family.is_dropped(),
            "the outputs of a job are deleted, and {:?} is not dropped",
            change.family
        );
        let is_moved = |number: FileNumber| change.edit.deleted.iter().any(|(_, n)| *n == number);
        let parts = change.family.parts();
        let written = change.edit.added.iter().filter(|(_, file)| !is_moved(file.number));
        let tables = written.map(|(_, file)| parts.retired_table(file));
        let blobs = change.edit.blobs_added.iter().map(|blob| parts.retired_blob(blob));
        self.obsolete.retire(tables.chain(blobs));
    }
}
