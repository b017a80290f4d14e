//! Makes MANIFEST records: the edit of one change, and the snapshot at the start of a new MANIFEST.

use base::{FamilyId, SequenceNumber, WalNumber};
use format::edit::{BlobEdit, BlobFileGarbage, FamilyEdit, VersionEdit, WalAddition, WalEdit};
use lsm::version::{BlobGarbage, Version};

use super::Change;
use crate::family::{Family, Parts};
use crate::manifest::Record;
use crate::sync::Arc;

pub(super) fn of_change(change: &Change) -> VersionEdit {
    let mut record = VersionEdit {
        wal_number: change.flushed.as_ref().map(|pick| pick.next_wal()),
        full_history_ts_low: change.full_history_ts_low.clone(),
        ..VersionEdit::default()
    };
    change.edit.into_record(&mut record);
    base::invariant!(
        record.new_files.len() == change.edit.added.len()
            && record.deleted_files.len() == change.edit.deleted.len(),
        "the record of a change of {:?} adds {} and deletes {} files",
        change.family,
        record.new_files.len(),
        record.deleted_files.len()
    );
    record
}

/// Returns the garbage of all blob files of a version.
fn garbage_of(version: &Version) -> Vec<BlobFileGarbage> {
    let all = version.blobs().values().filter(|blob| blob.garbage_count > 0);
    all.map(|blob| {
        BlobGarbage { number: blob.number, count: blob.garbage_count, bytes: blob.garbage_bytes }.to_record()
    })
    .collect()
}

/// Returns the edit that creates a column family.
pub fn of_new_family(id: FamilyId, name: &str, parts: &Parts, wal_number: WalNumber) -> VersionEdit {
    VersionEdit {
        comparator: Some(parts.order.name().to_string()),
        wal_number: Some(wal_number),
        family: FamilyEdit {
            id,
            add: (id != FamilyId::DEFAULT).then(|| name.to_string()),
            ..FamilyEdit::default()
        },
        persist_user_defined_timestamps: Some(parts.stored.timestamps),
        ..VersionEdit::default()
    }
}

/// Returns the record that changes the tracked WALs, and nothing else.
fn of_wals(wals: WalEdit) -> Record {
    (VersionEdit { wals, ..VersionEdit::default() }, 0)
}

/// Returns the records that describe the whole database, in RocksDB's order.
pub(super) fn snapshot(
    families: &[Arc<Family>],
    db_id: Option<&str>,
    tracked_wals: &[(WalNumber, Option<u64>)],
    min_wal_to_keep: WalNumber,
    last_sequence: SequenceNumber,
) -> Vec<Record> {
    base::invariant!(
        families.is_sorted_by(|a, b| a.id() < b.id()),
        "the {} column families of a MANIFEST are not in the order of their ids",
        families.len()
    );
    let mut records: Vec<Record> = Vec::new();
    if let Some(id) = db_id {
        records.push((VersionEdit { db_id: Some(id.to_string()), ..VersionEdit::default() }, 0));
    }
    if !tracked_wals.is_empty() {
        let wal_additions = tracked_wals
            .iter()
            .map(|(number, size)| WalAddition { number: *number, synced_size_bytes: *size })
            .collect();
        records.push(of_wals(WalEdit { additions: wal_additions, ..WalEdit::default() }));
    }
    let wal_deletion = (min_wal_to_keep > WalNumber::ZERO).then_some(min_wal_to_keep);
    records.push(of_wals(WalEdit { deletion: wal_deletion, ..WalEdit::default() }));
    for family in families {
        let is_default = family.id() == FamilyId::DEFAULT;
        let timestamp_size = family.order().user.timestamp_size();
        let add = VersionEdit {
            comparator: Some(family.order().user.name().to_string()),
            family: FamilyEdit {
                id: family.id(),
                add: (!is_default).then(|| family.name().to_string()),
                ..FamilyEdit::default()
            },
            persist_user_defined_timestamps: Some(family.parts().stored.timestamps),
            ..VersionEdit::default()
        };
        records.push((add, timestamp_size));
        let state = family.state();
        base::invariant!(
            state.recorded_wal_number <= state.wal_number,
            "the MANIFEST names WAL {} for {family:?}, which needs WAL {}",
            state.recorded_wal_number,
            state.wal_number
        );
        let version = &state.version;
        let content = VersionEdit {
            family: FamilyEdit { id: family.id(), ..FamilyEdit::default() },
            blobs: BlobEdit {
                additions: version.blobs().values().map(|blob| blob.to_record()).collect(),
                garbages: garbage_of(version),
            },
            new_files: version.files().map(|(level, f)| f.to_record(level, 0)).collect(),
            compact_cursors: version
                .levels()
                .filter_map(|level| Some((level, version.cursor(level)?.to_vec())))
                .collect(),
            wal_number: Some(state.recorded_wal_number),
            min_log_number_to_keep: (is_default && min_wal_to_keep > WalNumber::ZERO)
                .then_some(min_wal_to_keep),
            full_history_ts_low: state.full_history_ts_low.clone(),
            last_sequence: Some(last_sequence),
            ..VersionEdit::default()
        };
        records.push((content, timestamp_size));
    }
    records
}
