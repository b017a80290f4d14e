//! Models of super versions. A super version has the visible entries, keeps its files, and its last reader
//! sends a notification.

use base::key::InternalOrder;
use base::{FileNumber, Order, SequenceNumber};
use loom::thread;
use lsm::file_meta::FileMetaData;
use lsm::table_file::TableFile;
use lsm::version::Version;

use crate::memtable::MemTable;
use crate::obsolete::{Obsolete, Retired, Waiting};
use crate::release_notifier::ReleaseNotifier;
use crate::sequence::{LastSequence, Snapshots};
use crate::super_version::SuperVersion;
use crate::sync::{Arc, ArcSwap, AtomicBool, Mutex, Ordering};
use crate::{Cell, Parts, explore};

fn order() -> InternalOrder {
    InternalOrder::new(Order::Bytewise)
}

fn file(number: u64) -> Arc<TableFile> {
    Arc::new(TableFile::new(FileMetaData::new(FileNumber::new(number), 1, b"a", b"b")))
}

/// Works like `family::Family`: readers pin without a lock, and jobs install under the lock.
struct Family {
    current: ArcSwap<SuperVersion>,
    /// The number of the newest super version.
    state: Mutex<u64>,
    release_notifier: Arc<ReleaseNotifier>,
}

/// The content of a super version of a model.
#[derive(Clone)]
struct Holds {
    mem: Arc<MemTable>,
    imm: Vec<Arc<MemTable>>,
    file: Option<Arc<TableFile>>,
}

impl Holds {
    fn only(mem: Arc<MemTable>) -> Holds {
        Holds { mem, imm: Vec::new(), file: None }
    }

    fn super_version(self, number: u64, release_notifier: &Arc<ReleaseNotifier>) -> Arc<SuperVersion> {
        let list = |tables: Vec<Arc<MemTable>>| Arc::from_std(std::sync::Arc::from(tables));
        let version = Arc::new(Version::empty(order(), 1));
        let parts = Arc::new(Parts { order: base::Order::default(), file: self.file });
        Arc::new(SuperVersion::new(
            number,
            self.mem,
            [list(self.imm), list(Vec::new())],
            version,
            parts,
            Arc::new(crate::Era),
            release_notifier.clone(),
        ))
    }
}

impl Family {
    fn new(holds: Holds) -> Arc<Family> {
        let release_notifier = Arc::new(ReleaseNotifier::default());
        Arc::new(Family {
            current: ArcSwap::new(holds.super_version(1, &release_notifier)),
            state: Mutex::new(1),
            release_notifier,
        })
    }

    fn install(&self, holds: Holds) {
        let mut state = self.state.lock();
        *state += 1;
        let old = self.current.swap(holds.super_version(*state, &self.release_notifier));
        drop(state);
        drop(old);
    }
}

/// Returns the newest entry of the key that a read at `seq` finds.
fn newest(super_version: &SuperVersion, seq: SequenceNumber) -> u64 {
    super_version.memtables_and_history().map(|mem| mem.newest(seq)).find(|found| *found > 0).unwrap_or(0)
}

#[test]
fn a_pinned_super_version_has_what_was_visible_when_it_was_pinned() {
    explore(None, || {
        let (first, second) = (MemTable::empty(), MemTable::empty());
        let family = Family::new(Holds::only(first.clone()));
        let sequence = Arc::new(LastSequence::new(SequenceNumber::ZERO));
        let reader = {
            let (family, sequence) = (family.clone(), sequence.clone());
            thread::spawn(move || {
                let super_version = family.current.load();
                let seq = sequence.visible();
                let found = newest(&super_version, seq);
                match super_version.number {
                    // The entry after the switch is in the memtable that only the next super version has.
                    1 => assert_eq!(found, seq.get().min(1)),
                    _ => {
                        assert!(seq >= SequenceNumber::FIRST && found == seq.get(), "found {found} at {seq}")
                    }
                }
            })
        };
        first.put(SequenceNumber::new(1));
        sequence.publish(SequenceNumber::new(1));
        family.install(Holds { imm: vec![first], ..Holds::only(second.clone()) });
        second.put(SequenceNumber::new(2));
        sequence.publish(SequenceNumber::new(2));
        reader.join().unwrap();
    });
}

/// A flush or a compaction keeps the newest entry of a key, and the entries that snapshots see.
#[test]
fn a_reader_finds_its_entry_while_older_entries_are_dropped() {
    read_during_a_compaction(false);
}

#[test]
fn a_snapshot_finds_its_entry_while_older_entries_are_dropped() {
    read_during_a_compaction(true);
}

fn read_during_a_compaction(by_snapshot: bool) {
    explore(None, move || {
        let first = MemTable::empty();
        first.put(SequenceNumber::new(1));
        let family = Family::new(Holds::only(first.clone()));
        let sequence = Arc::new(LastSequence::new(SequenceNumber::FIRST));
        let snapshots = Arc::new(Snapshots::new(sequence.clone()));
        let reader = {
            let (family, sequence, snapshots) = (family.clone(), sequence.clone(), snapshots.clone());
            thread::spawn(move || {
                let snapshot = by_snapshot.then(|| Snapshots::take(&snapshots, 0));
                let super_version = family.current.load();
                let seq =
                    snapshot.as_ref().map_or_else(|| sequence.visible(), |snapshot| snapshot.sequence());
                assert_eq!(newest(&super_version, seq), seq.get());
            })
        };
        first.put(SequenceNumber::new(2));
        sequence.publish(SequenceNumber::new(2));
        let kept = MemTable::empty();
        if snapshots.stripes().separates(SequenceNumber::new(1), SequenceNumber::new(2)) {
            kept.put(SequenceNumber::new(1));
        }
        kept.put(SequenceNumber::new(2));
        family.install(Holds { imm: vec![kept], ..Holds::only(MemTable::empty()) });
        reader.join().unwrap();
    });
}

/// The files that wait for deletion, and the job that looks at them again.
struct Purge {
    obsolete: Obsolete,
    due: AtomicBool,
}

impl Purge {
    fn of(family: &Family) -> Arc<Purge> {
        let purge = Arc::new(Purge {
            obsolete: Obsolete::new(family.release_notifier.clone()),
            due: AtomicBool::new(false),
        });
        let rung = purge.clone();
        family.release_notifier.on_release(Box::new(move || rung.due.store(true, Ordering::Release)));
        purge
    }

    fn retire(&self, file: Arc<TableFile>) {
        let (number, path) = (file.number, "000007.sst".into());
        self.obsolete.retire([Waiting { file: Retired::Table { file, uncache: 0 }, number, path }]);
    }

    /// Deletes the files that no super version holds. Returns their number.
    fn run(&self, used: &Cell) -> usize {
        self.due.swap(false, Ordering::AcqRel);
        let free = self.obsolete.take_free();
        assert!(free.iter().all(|waiting| waiting.number == FileNumber::new(7)));
        free.iter().for_each(|_| used.set(0));
        free.len()
    }
}

/// Readers of a super version with an obsolete file, concurrently with the job that deletes the file. Either this job
/// deletes the file, or the last reader notifies the job to look again.
fn release_readers(preemptions_max: Option<usize>, readers: usize, retired_before: bool) {
    explore(preemptions_max, move || {
        let mem = MemTable::empty();
        let file = file(7);
        let family = Family::new(Holds { file: Some(file.clone()), ..Holds::only(mem.clone()) });
        let purge = Purge::of(&family);
        let used = Arc::new(Cell::default());
        used.set(1);
        // Each reader pins its own super version.
        let pinned: Vec<_> = (0..readers)
            .map(|reader| {
                if reader > 0 {
                    family.install(Holds { file: Some(file.clone()), ..Holds::only(mem.clone()) });
                }
                family.current.load()
            })
            .collect();
        if retired_before {
            family.install(Holds::only(mem.clone()));
            purge.retire(file.clone());
        }
        let threads: Vec<_> = pinned
            .into_iter()
            .map(|super_version| {
                let used = used.clone();
                thread::spawn(move || {
                    assert_eq!(used.get(), 1, "the file is read and gone");
                    drop(super_version);
                })
            })
            .collect();
        if !retired_before {
            family.install(Holds::only(mem));
            purge.retire(file);
        } else {
            drop(file);
        }
        let mut deleted = purge.run(&used);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        if deleted == 0 {
            assert!(purge.due.load(Ordering::Acquire), "the last reader is gone, and nobody looks");
            deleted = purge.run(&used);
        }
        assert_eq!(deleted, 1);
        family.release_notifier.remove_callback();
    });
}

#[test]
fn a_file_is_deleted_after_its_last_reader() {
    release_readers(None, 1, false);
}

#[test]
fn a_file_is_deleted_after_the_last_of_two_readers() {
    release_readers(Some(2), 2, true);
}
