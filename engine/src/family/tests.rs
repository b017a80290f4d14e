use super::{Family, Parts, State};
use crate::options::{DbOptions, FamilyOptions};
use crate::release_notifier::ReleaseNotifier;
use crate::sync::{Arc, Mutex};
use base::{EpochNumber, FamilyId, FileNumber, Level, SequenceNumber, WalNumber};
use lsm::file_meta::FileMetaData;
use lsm::table_file::TableFile;
use lsm::version::{Edit, Version};

fn state() -> (Parts, State) {
    let parts = Parts::resolve(
        &FamilyOptions::default(),
        &DbOptions::default(),
        std::path::Path::new("/db"),
        None,
        None,
    )
    .unwrap();
    let version = Arc::new(Version::empty(parts.internal_order(), 7));
    let state = State::new(
        parts.new_memtable(1, SequenceNumber::ZERO),
        version,
        WalNumber::new(3),
        EpochNumber::FIRST,
        parts.history_bytes_max,
    );
    (parts, state)
}

#[test]
fn a_flush_of_a_newer_memtable_waits_for_the_flush_of_the_older_memtable() {
    let (parts, mut state) = state();
    state.switch(parts.new_memtable(2, SequenceNumber::ZERO), WalNumber::new(5), None, None);
    let older = state.pick_flush(None);
    assert!(!state.flush_due(1, None));
    state.switch(parts.new_memtable(3, SequenceNumber::ZERO), WalNumber::new(8), None, None);
    assert!(state.flush_due(1, None));
    let newer = state.pick_flush(None);
    assert_eq!((older.memtables.len(), newer.memtables.len()), (1, 1));
    assert!(older.epoch() < newer.epoch(), "whichever is written first");
    assert_eq!((state.turn(&older), state.turn(&newer)), (Some(true), None));
    state.unpick_flush(&older);
    assert_eq!(state.turn(&newer), Some(false), "the older one failed");
    let again = state.pick_flush(None);
    assert_eq!(again.newest_id(), older.newest_id(), "not those that another job has");
    state.remove_flushed(&again);
    assert_eq!(
        (state.wal_number, state.turn(&newer)),
        (WalNumber::new(5), Some(true)),
        "the newer one's log is still needed"
    );
    state.remove_flushed(&newer);
    assert_eq!(state.wal_number, WalNumber::new(8));
}

#[test]
fn a_memtable_given_back_is_picked_with_the_newer_ones() {
    let (parts, mut state) = state();
    state.switch(parts.new_memtable(2, SequenceNumber::ZERO), WalNumber::new(5), None, None);
    let older = state.pick_flush(None);
    state.switch(parts.new_memtable(3, SequenceNumber::ZERO), WalNumber::new(8), None, None);
    state.unpick_flush(&older);
    assert_eq!(state.pick_flush(None).memtables.len(), 2);
}

#[test]
fn a_group_that_is_not_wholly_switched_waits() {
    let (parts, mut state) = state();
    state.switch(parts.new_memtable(2, SequenceNumber::ZERO), WalNumber::new(5), None, Some(1));
    state.switch(parts.new_memtable(3, SequenceNumber::ZERO), WalNumber::new(5), None, Some(2));
    let pick = state.pick_flush(Some(1));
    assert_eq!(pick.memtables.iter().map(|m| m.atomic_group).collect::<Vec<_>>(), [Some(1)]);
    state.remove_flushed(&pick);
    assert_eq!(state.pick_flush(Some(2)).memtables.len(), 1);
}

#[test]
fn a_flush_is_due_only_if_one_would_take_something() {
    let (parts, mut state) = state();
    let switch = |state: &mut super::State, group| {
        state.switch(parts.new_memtable(2, SequenceNumber::ZERO), WalNumber::new(5), None, group)
    };
    switch(&mut state, Some(1));
    assert!(!state.flush_due(1, Some(0)), "its group is not wholly switched");
    assert!(state.flush_due(1, Some(1)));
    assert!(!state.flush_due(2, Some(1)));
    let pick = state.pick_flush(Some(1));
    switch(&mut state, Some(2));
    state.flush_requested = true;
    assert!(!state.flush_due(1, Some(2)), "groups go one after the other");
    assert!(state.flush_due(1, None));
    state.remove_flushed(&pick);
    assert!(state.flush_due(2, Some(2)));
    state.reserve_together();
    switch(&mut state, None);
    assert!(!state.flush_due(1, None), "not before what is kept for others");
    assert!(state.pick_flush(None).memtables.is_empty());
    state.release_together();
    assert!(state.flush_due(2, None));
    assert_eq!(state.pick_flush(None).memtables.len(), 2);
}

/// The purge looks at the files after a notification. After the last notification, no version may hold the file.
#[test]
fn the_last_handle_of_a_family_notifies_after_it_released_its_version() {
    let (parts, state) = state();
    let file = Arc::new(TableFile::new(FileMetaData::new(
        FileNumber::new(7),
        1,
        b"a\0\0\0\0\0\0\0\0",
        b"b\0\0\0\0\0\0\0\0",
    )));
    let edit = Edit { added: vec![(Level::ZERO, file.clone())], ..Edit::default() };
    let version = Arc::new(state.version.apply(std::slice::from_ref(&edit)).unwrap());
    drop(edit);
    let notifier = Arc::new(ReleaseNotifier::default());
    let owners = Arc::new(Mutex::new(Vec::new()));
    notifier.set_waiting(1);
    notifier.on_release({
        let (notifier, owners) = (Arc::downgrade(&notifier), owners.clone());
        Box::new(move || {
            owners.lock().push(Arc::strong_count(&file));
            notifier.upgrade().unwrap().reset();
        })
    });
    let memtable = parts.new_memtable(1, SequenceNumber::ZERO);
    let family = Family::new(
        FamilyId::DEFAULT,
        "default".to_owned(),
        Arc::default(),
        Arc::new(parts),
        version,
        memtable,
        WalNumber::new(3),
        notifier.clone(),
    );
    drop(family);
    assert_eq!(owners.lock().last(), Some(&1), "the callback has the only pointer");
}
