//! The sequence numbers of a database, and its snapshots.
//!
//! `visible` is the newest sequence whose batch, and all before it, is wholly in memtables; readers see
//! entries at or below it. It moves only in `write`, after the memtables. A reader pins its super version
//! first and loads `visible` after; see [`crate::family::Family::pin`].

use std::collections::BTreeMap;

use base::SequenceNumber;
use lsm::stripes::Stripes;

use crate::sync::{Arc, AtomicU64, Mutex, OnceLock, Ordering};

/// The visible sequence.
#[derive(Default)]
pub struct LastSequence(AtomicU64);

impl LastSequence {
    pub fn new(seq: SequenceNumber) -> Self {
        LastSequence(AtomicU64::new(seq))
    }

    #[inline]
    pub fn visible(&self) -> SequenceNumber {
        self.0.load(Ordering::Acquire)
    }

    /// For the write leader, after the memtables have the entries.
    #[inline]
    pub(crate) fn publish(&self, seq: SequenceNumber) {
        self.0.store(seq, Ordering::Release);
    }
}

/// Live snapshots of one database.
#[derive(Default)]
pub struct Snapshots {
    /// Sequence → how many snapshots hold it, and the time of the first, in seconds.
    live: Mutex<BTreeMap<SequenceNumber, (u32, u64)>>,
    /// See [`Snapshots::released_below`].
    released_below: AtomicU64,
    /// See [`Snapshots::tell_past`]; one more, so that 0 is "never".
    tell_past: AtomicU64,
    tell: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl Snapshots {
    /// A snapshot of what is visible now. `now_s` is for the properties.
    pub fn take(owner: &Arc<Self>, sequence: &Arc<LastSequence>, now_s: u64) -> Arc<Snapshot> {
        // Loaded under the lock: a job that lists the snapshots after this sees it.
        let mut live = owner.live.lock();
        let seq = sequence.visible();
        live.entry(seq).or_insert((0, now_s)).0 += 1;
        drop(live);
        Arc::new(Snapshot { seq, time_s: now_s, owner: owner.clone(), sequence: sequence.clone() })
    }

    /// A snapshot at `seq`, which is visible or is about to be: the write leader has not published it yet.
    pub fn take_at(
        owner: &Arc<Self>,
        sequence: &Arc<LastSequence>,
        seq: SequenceNumber,
        now_s: u64,
    ) -> Arc<Snapshot> {
        owner.live.lock().entry(seq).or_insert((0, now_s)).0 += 1;
        Arc::new(Snapshot { seq, time_s: now_s, owner: owner.clone(), sequence: sequence.clone() })
    }

    /// All of them, for flush and compaction.
    pub fn stripes(&self) -> Stripes {
        Stripes::new(self.live.lock().keys().copied().collect())
    }

    /// The oldest one's sequence and time.
    pub fn oldest(&self) -> Option<(SequenceNumber, u64)> {
        self.live.lock().iter().next().map(|(seq, (_, time))| (*seq, *time))
    }

    /// Entries below this sequence number are no longer kept for a snapshot. The number is the oldest live
    /// snapshot at the time of the last release, or the visible sequence number if no snapshot was left. 0
    /// before the first release: no entry was kept for a snapshot, so a compaction of bottommost SST files
    /// would gain nothing.
    pub fn released_below(&self) -> SequenceNumber {
        self.released_below.load(Ordering::Acquire)
    }

    /// What to call when a release frees something; on any thread, without locks held.
    pub fn on_release(&self, tell: Box<dyn Fn() + Send + Sync>) {
        let _ = self.tell.set(tell);
    }

    /// Requests a notification when no snapshot at or below `seq` is live. An SST file whose newest entry
    /// is at `seq` is then worth a compaction. `None` requests no notification. RocksDB's
    /// `bottommost_files_mark_threshold_`.
    pub fn tell_past(&self, seq: Option<SequenceNumber>) {
        self.tell_past.store(seq.map_or(0, |seq| seq.saturating_add(1)), Ordering::SeqCst);
        self.tell_if_past();
    }

    fn tell_if_past(&self) {
        let past = self.tell_past.load(Ordering::SeqCst);
        if past > 0
            && self.released_below.load(Ordering::SeqCst) >= past
            && self.tell_past.compare_exchange(past, 0, Ordering::SeqCst, Ordering::SeqCst).is_ok()
            && let Some(tell) = self.tell.get()
        {
            tell();
        }
    }

    pub fn count(&self) -> u64 {
        self.live.lock().values().map(|(n, _)| u64::from(*n)).sum()
    }
}

/// One moment that reads can be asked for. Dropping the last clone releases it.
pub struct Snapshot {
    seq: SequenceNumber,
    time_s: u64,
    owner: Arc<Snapshots>,
    sequence: Arc<LastSequence>,
}

impl Snapshot {
    /// Entries at or below it are seen.
    #[inline]
    pub fn sequence(&self) -> SequenceNumber {
        self.seq
    }

    /// When it was taken, in seconds since 1970.
    pub fn unix_time(&self) -> u64 {
        self.time_s
    }

    /// Returns true if the snapshot was taken in the open of `sequence`. Each open of a database has its own counter of
    /// sequence numbers. A sequence number of another open means nothing here.
    #[inline]
    pub fn belongs_to(&self, sequence: &Arc<LastSequence>) -> bool {
        Arc::ptr_eq(&self.sequence, sequence)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let mut live = self.owner.live.lock();
        if let Some((n, _)) = live.get_mut(&self.seq) {
            *n -= 1;
            if *n == 0 {
                live.remove(&self.seq);
            }
            let oldest = live.keys().next().copied().unwrap_or_else(|| self.sequence.visible());
            self.owner.released_below.fetch_max(oldest, Ordering::SeqCst);
        }
        drop(live);
        self.owner.tell_if_past();
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "snapshot at {}", self.seq)
    }
}
