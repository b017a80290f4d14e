//! One change in a commit: the version before the change, the version after it, and its steps.

use base::{Error, FileNumber, Result, SequenceNumber};
use lsm::version::{Edit, Version};

use crate::family::{Family, FlushPick, Last, State, SuperVersion, timestamp_text};
use crate::files::Waiting;
use crate::sync::Arc;

/// The part of a commit for one column family.
pub struct Change {
    pub family: Arc<Family>,
    pub edit: Edit,
    /// The memtables that the files of `edit` hold, if the change is a flush.
    pub flushed: Option<FlushPick>,
    pub full_history_ts_low: Option<Vec<u8>>,
    /// True if readers see the same keys before and after the commit: a flush or a compaction whose compaction filter
    /// skipped no key range. False is always safe.
    pub keeps_keys: bool,
    /// True if readers at each older snapshot see the same keys before and after the commit. False is always safe.
    pub keeps_older_snapshots: bool,
    /// The last sequence number of the database, if the change is an ingestion.
    pub ingested_at: Option<SequenceNumber>,
}

impl Change {
    /// Makes a change that flushes no memtable and that may change the keys that readers see (`keeps_keys` is
    /// false).
    pub fn new(family: Arc<Family>, edit: Edit) -> Self {
        Change {
            family,
            edit,
            flushed: None,
            full_history_ts_low: None,
            keeps_keys: false,
            keeps_older_snapshots: false,
            ingested_at: None,
        }
    }

    /// Makes the change of a compaction.
    pub fn of_compaction(family: Arc<Family>, edit: Edit) -> Self {
        Change { keeps_keys: true, keeps_older_snapshots: true, ..Change::new(family, edit) }
    }
}

/// A change, with the versions before and after it.
pub(super) struct Part {
    pub(super) change: Change,
    old: Arc<Version>,
    next: Arc<Version>,
}

impl Part {
    /// Computes and checks the version after a change. The caller holds the lock of the MANIFEST.
    ///
    /// # Errors
    /// Corruption if the change does not fit its version. InvalidArgument if the change lowers `full_history_ts_low`. Aborted with
    /// `Subcode::MemoryLimit` if the block cache has no room for the metadata of the new files.
    pub(super) fn new(mut change: Change) -> Result<Self> {
        let old = {
            let family = change.family.clone();
            let state = family.state();
            if change.flushed.is_some() {
                keep_higher_mark(&mut change, &state);
            }
            check_history_mark(&change, &state)?;
            state.version.clone()
        };
        change.family.parts().charge_files(change.edit.added.iter().map(|(_, file)| file))?;
        let next = Arc::new(old.apply(std::slice::from_ref(&change.edit))?);
        base::invariant!(
            next.num_files() + change.edit.deleted.len() == old.num_files() + change.edit.added.len(),
            "{:?} has {} files, adds {}, deletes {}, and has {} afterwards",
            change.family,
            old.num_files(),
            change.edit.added.len(),
            change.edit.deleted.len(),
            next.num_files()
        );
        base::invariant!(
            old.num_levels() == next.num_levels(),
            "a commit changes the number of levels of {:?}",
            change.family
        );
        Ok(Part { change, old, next })
    }

    /// Makes the change visible, after its record is durable. Returns the replaced super version, and the replaced memtables of
    /// eras. The caller drops them without a lock.
    pub(super) fn install(&self) -> (Arc<SuperVersion>, Vec<Last>) {
        let Part { change, old, next } = self;
        let mut state = change.family.state();
        if !change.keeps_keys {
            change.family.clear_empty_ranges(&mut state);
        }
        base::invariant!(
            Arc::ptr_eq(&state.version, old),
            "the version of {:?} changed during a commit of another version",
            change.family
        );
        if !change.keeps_older_snapshots && change.flushed.is_none() {
            change.family.end_era(&mut state);
        }
        state.version = next.clone();
        let mut old_of_eras = Vec::new();
        if let Some(pick) = &change.flushed {
            state.keep_flushed(pick);
            old_of_eras.extend(state.replace_flushed_of_eras(pick, &change.edit));
        }
        if let Some(seq) = change.ingested_at {
            state.note_ingestion(seq);
        }
        if let Some(low) = &change.full_history_ts_low {
            state.full_history_ts_low = Some(low.clone());
        }
        (change.family.install(&mut state), old_of_eras)
    }

    /// Returns the files that the change made obsolete. They are deleted after the last reader of the old version is gone.
    pub(super) fn retired(self) -> impl Iterator<Item = Waiting> {
        let Part { change, old, next } = self;
        let moved = |number: FileNumber| change.edit.added.iter().any(|(_, f)| f.number == number);
        let gone: Vec<_> = change
            .edit
            .deleted
            .iter()
            .filter(|(_, number)| !moved(*number))
            .filter_map(|(level, number)| old.level(*level).iter().find(|f| f.number == *number).cloned())
            .collect();
        base::invariant!(
            gone.iter().all(|file| next.files().all(|(_, kept)| kept.number != file.number)),
            "a file is retired that the next version has"
        );
        let parts = change.family.parts();
        let blobs_gone: Vec<_> = old
            .blobs()
            .iter()
            .filter(|(number, _)| !next.blobs().contains_key(number))
            .map(|(_, blob)| parts.retired_blob(blob))
            .collect();
        drop((old, next));
        let tables = gone.iter().map(|file| parts.retired_table(file)).collect::<Vec<_>>();
        drop(gone);
        tables.into_iter().chain(blobs_gone)
    }
}

/// Checks that a change does not lower `full_history_ts_low`. Called under the lock of the MANIFEST, so that two
/// concurrent calls cannot lower the mark: history below the higher mark may be gone already.
///
/// # Errors
/// InvalidArgument.
fn check_history_mark(change: &Change, state: &State) -> Result<()> {
    match (&change.full_history_ts_low, &state.full_history_ts_low) {
        (Some(low), Some(now)) if change.family.order().user.compare_timestamp(low, now).is_lt() => {
            Err(Error::invalid_argument(format!(
                "Current full_history_ts_low: {} is higher than provided ts: {}",
                timestamp_text(&change.family.order().user, now),
                timestamp_text(&change.family.order().user, low)
            )))
        }
        _ => Ok(()),
    }
}

/// Removes the mark of a flush if the column family has a higher mark already: the application may have raised the mark
/// during the flush.
fn keep_higher_mark(change: &mut Change, state: &State) {
    let order = &change.family.order().user;
    let lower = match (&change.full_history_ts_low, &state.full_history_ts_low) {
        (Some(low), Some(now)) => order.compare_timestamp(low, now).is_lt(),
        _ => false,
    };
    if lower {
        change.full_history_ts_low = None;
    }
}
