//! Prepared transactions: the WALs that hold their sections, and the sections that recovery found.
//!
//! ```text
//!  WAL p: section of x ─────► WAL c: commit of x ─────► every column family has flushed WAL c
//!         outstanding               needed with c               p is not needed
//! ```
//! A prepared section is needed until its transaction is rolled back, or until no column family replays the WAL of
//! its commit: the commit record names the section and does not repeat its records. A write adds its section before the
//! write is published, and a WAL is closed only after all its writes are published. So the section of a closed WAL is
//! known. Facts: RocksDB `db/logs_with_prep_tracker.h`, which counts references of memtables instead.
//!
//! The lock is a leaf: no other lock is taken and no I/O happens while it is held.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use base::{FamilyId, Result, SequenceNumber, WalNumber};
use format::batch::{Marker, Record, Records, append};
use format::wal::WalPosition;

use crate::sequence::Decision;
use crate::sync::{Arc, Mutex};

/// The treatment of prepared transactions (`allow_2pc`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TwoPhase {
    #[default]
    Refused,
    Allowed,
}

/// When the entries of a transaction are written to the memtables. The values are ordered from the latest time to
/// the earliest. RocksDB: `TxnDBWritePolicy`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum WritePolicy {
    /// At commit: memtables and SST files hold only committed entries.
    #[default]
    Committed,
    /// At prepare.
    Prepared,
    /// Before prepare, in sections of a limited size.
    Unprepared,
}

impl WritePolicy {
    /// Returns the policy whose sections begin with this marker.
    pub fn of_section(begin: &Marker<'_>) -> Option<WritePolicy> {
        match begin {
            Marker::BeginPrepare => Some(WritePolicy::Committed),
            Marker::BeginPersistedPrepare => Some(WritePolicy::Prepared),
            Marker::BeginUnprepare => Some(WritePolicy::Unprepared),
            _ => None,
        }
    }

    /// Returns how the entries of a batch get sequence numbers.
    pub fn numbering(self) -> Numbering {
        match self {
            WritePolicy::Committed => Numbering::PerEntry,
            WritePolicy::Prepared | WritePolicy::Unprepared => Numbering::PerBatch,
        }
    }
}

/// How the entries of a batch get sequence numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbering {
    /// Each entry has its own sequence number.
    #[default]
    PerEntry,
    /// All entries of a sub-batch share a sequence number. If a key occurs again, it starts a new sub-batch.
    /// Markers separate sub-batches. RocksDB: `seq_per_batch`.
    PerBatch,
}

/// The undecided sections of a transaction, as recovery found them.
#[derive(Clone, Debug)]
pub struct Section {
    pub name: Vec<u8>,
    /// The oldest WAL that holds a part.
    pub wal: WalNumber,
    /// The parts in the order of their writes. With `Committed` and `Prepared`, a transaction has one part.
    pub parts: Vec<SectionPart>,
    /// Hides the entries of the parts. Without effect with the policy `Committed`.
    pub decision: Arc<Decision>,
}

/// The place of a section in its transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SectionKind {
    /// The transaction is prepared with this section.
    #[default]
    Prepared,
    /// The transaction was not prepared with this section. If no section has the kind `Prepared`, recovery rolls
    /// the transaction back.
    Unprepared,
}

/// The records between a begin marker and an end marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectionPart {
    /// The sequence number in the header of the part.
    pub first: SequenceNumber,
    /// The last sequence number of its entries. With the policy `Committed`, a section has none, and this is `first`.
    pub last: SequenceNumber,
    /// The records between the markers, without a header.
    pub records: Vec<u8>,
    pub kind: SectionKind,
}

impl SectionKind {
    /// Returns the marker that begins a section whose entries are in the memtables.
    pub fn begin(self) -> Marker<'static> {
        match self {
            SectionKind::Prepared => Marker::BeginPersistedPrepare,
            SectionKind::Unprepared => Marker::BeginUnprepare,
        }
    }
}

impl Section {
    /// Makes a section without parts.
    pub fn new(name: &[u8]) -> Self {
        let (wal, parts, decision) = (WalNumber::ZERO, Vec::new(), Arc::default());
        Section { name: name.to_vec(), wal, parts, decision }
    }

    /// Returns true if the transaction was not prepared.
    pub fn is_unprepared(&self) -> bool {
        self.parts.iter().all(|part| part.kind == SectionKind::Unprepared)
    }

    /// Returns the sequence number in the header of the oldest part.
    pub fn seq(&self) -> SequenceNumber {
        self.parts.first().map_or(SequenceNumber::ZERO, |part| part.first)
    }

    /// Returns the records of all parts, in order.
    pub fn records(&self) -> Vec<u8> {
        self.parts.iter().flat_map(|part| part.records.iter().copied()).collect()
    }

    /// Removes the records of column families for which `exists` returns false: they were dropped after the prepare. A replay gives
    /// each record of a section a sequence number at the commit, and the transaction commits only the records that are left.
    ///
    /// # Errors
    /// Corruption if a record does not decode.
    pub fn keep_families(&mut self, exists: impl Fn(FamilyId) -> bool) -> Result<()> {
        for part in &mut self.parts {
            let mut kept = Vec::with_capacity(part.records.len());
            for record in Records::behind_header(&part.records) {
                let record = record?;
                if record.family().is_none_or(&exists) {
                    append(&mut kept, &record);
                }
            }
            part.records = kept;
        }
        Ok(())
    }

    /// Encodes the records as a batch without markers.
    pub fn batch(&self) -> Vec<u8> {
        let records = self.records();
        let mut out = Vec::with_capacity(format::batch::HEADER_LEN + records.len());
        format::batch::begin(&mut out);
        out.extend_from_slice(&records);
        format::batch::set_count(&mut out, counted(&records));
        out
    }

    /// Encodes the section as a batch for the WAL, with `seq` in the header.
    pub fn encoded(&self, seq: SequenceNumber) -> Vec<u8> {
        base::invariant!(
            self.parts.len() <= 1,
            "a section of {} parts is encoded as one part",
            self.parts.len()
        );
        encode(Marker::BeginPrepare, &self.name, &self.records(), seq)
    }

    /// Encodes each part as a batch for the WAL, with its own sequence number in the header. The sub-batches have
    /// no markers: a replay finds repeated keys again.
    pub fn encoded_parts(&self) -> Vec<(SequenceNumber, Vec<u8>)> {
        base::invariant!(
            self.parts.is_sorted_by(|a, b| a.last < b.first),
            "the parts of a transaction share sequence numbers"
        );
        let encoded = |part: &SectionPart| encode(part.kind.begin(), &self.name, &part.records, part.first);
        self.parts.iter().map(|part| (part.first, encoded(part))).collect()
    }
}

/// Encodes a section as a batch for the WAL.
pub fn encode(begin: Marker<'_>, name: &[u8], records: &[u8], seq: SequenceNumber) -> Vec<u8> {
    let mut out = Vec::with_capacity(format::batch::HEADER_LEN + records.len() + name.len() + 16);
    format::batch::begin(&mut out);
    format::batch::marker(&mut out, begin);
    out.extend_from_slice(records);
    format::batch::marker(&mut out, Marker::EndPrepare(name));
    format::batch::set_count(&mut out, counted(records));
    format::batch::set_sequence(&mut out, seq);
    out
}

fn counted(records: &[u8]) -> u32 {
    Records::behind_header(records).flatten().filter(Record::is_counted).count() as u32
}

/// The sections of prepared transactions, and the WALs that hold them.
#[derive(Default)]
pub struct PreparedSections {
    state: Mutex<Tracked>,
}

#[derive(Default)]
struct Tracked {
    /// The transactions without commit or rollback, by name.
    outstanding: BTreeMap<Vec<u8>, Outstanding>,
    /// Committed sections: the WAL of the section and the WAL of the commit.
    committed: Vec<(WalNumber, WalNumber)>,
    recovered: Vec<Section>,
}

/// The sections of a transaction without commit or rollback, as they are in the WALs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outstanding {
    /// The oldest WAL that holds a part.
    pub wal: WalNumber,
    /// The end of the record of the newest part. `None` if the part is durable: recovery read the part, or a resume wrote the
    /// part again and synced it.
    pub newest: Option<WalPosition>,
    /// The sequence number in the header of each part, in ascending order.
    pub parts: Vec<SequenceNumber>,
}

impl PreparedSections {
    /// Adds a part of the transaction `name`. `end` is the end of its record in the WAL, and `first` is the sequence number in its
    /// header. With the policy `Committed`, a transaction has one part, which replaces an earlier part.
    pub fn add(&self, name: &[u8], end: WalPosition, first: SequenceNumber, policy: Numbering) {
        base::invariant!(end.number > WalNumber::default(), "a section is added without its WAL");
        let mut state = self.state.lock();
        match state.outstanding.get_mut(name) {
            Some(known) if policy == Numbering::PerBatch => {
                known.parts.push(first);
                known.newest = Some(end);
            }
            _ => {
                let section = Outstanding { wal: end.number, newest: Some(end), parts: vec![first] };
                state.outstanding.insert(name.to_vec(), section);
            }
        }
    }

    /// Records that the transaction `name` was committed by a record in the WAL `commit`.
    pub fn committed(&self, name: &[u8], commit: WalNumber) {
        let mut state = self.state.lock();
        let Some(Outstanding { wal, .. }) = state.outstanding.remove(name) else { return };
        base::invariant!(
            wal <= commit,
            "the section is in WAL {}, its commit in the older WAL {}",
            wal,
            commit
        );
        // A section in the same WAL as its commit is kept with this WAL.
        if wal < commit && !state.committed.contains(&(wal, commit)) {
            state.committed.push((wal, commit));
        }
    }

    /// Records that the transaction `name` was rolled back.
    pub fn rolled_back(&self, name: &[u8]) {
        self.state.lock().outstanding.remove(name);
    }

    /// Adds the sections that recovery found without commit or rollback.
    pub fn recover(&self, sections: Vec<Section>) {
        let mut state = self.state.lock();
        for section in &sections {
            base::invariant!(!section.parts.is_empty(), "recovery found a section without parts");
            let parts = section.parts.iter().map(|part| part.first).collect();
            let outstanding = Outstanding { wal: section.wal, newest: None, parts };
            state.outstanding.insert(section.name.clone(), outstanding);
        }
        state.recovered.extend(sections);
    }

    /// Takes the sections that recovery found, oldest first. A second call returns nothing.
    pub fn take_recovered(&self) -> Vec<Section> {
        std::mem::take(&mut self.state.lock().recovered)
    }

    /// Returns the transactions without commit or rollback, by name.
    pub fn outstanding(&self) -> BTreeMap<Vec<u8>, Outstanding> {
        self.state.lock().outstanding.clone()
    }

    /// Records that `wal` holds all sections without commit or rollback: a resume has written and synced them. Returns the sections
    /// as they were, for [`PreparedSections::move_back`].
    pub fn move_to(&self, wal: WalNumber) -> BTreeMap<Vec<u8>, Outstanding> {
        let mut state = self.state.lock();
        let before = state.outstanding.clone();
        for section in state.outstanding.values_mut() {
            base::invariant!(section.wal <= wal, "a section moves from WAL {} to WAL {wal}", section.wal);
            section.wal = wal;
            // A part that was written after the resume stays as it is.
            section.newest = section.newest.filter(|end| end.number >= wal);
        }
        before
    }

    /// Undoes [`PreparedSections::move_to`] after the commit of the resume failed: recovery skips the new WAL, so no commit may release
    /// the older WALs of the sections.
    pub fn move_back(&self, before: &BTreeMap<Vec<u8>, Outstanding>) {
        for (name, section) in &mut self.state.lock().outstanding {
            if let Some(before) = before.get(name) {
                section.wal = section.wal.min(before.wal);
                section.newest = section.newest.or(before.newest);
            }
        }
    }

    /// Returns the oldest WAL that must be kept if column families need the WALs from `by_families` on.
    pub fn oldest_needed(&self, by_families: WalNumber) -> WalNumber {
        let state = self.state.lock();
        let outstanding = state.outstanding.values().map(|section| section.wal);
        let replayed = state.committed.iter().filter(|(_, commit)| *commit >= by_families);
        outstanding.chain(replayed.map(|(wal, _)| *wal)).fold(by_families, WalNumber::min)
    }

    /// Forgets the committed sections whose commits no recovery replays. The MANIFEST states that column families need
    /// the WALs from `by_families` on. A caller that only plans to state this number must not call this function: if
    /// the write to the MANIFEST fails, recovery still replays the commits and needs their sections.
    pub fn forget_committed(&self, by_families: WalNumber) {
        self.state.lock().committed.retain(|(_, commit)| *commit >= by_families);
    }
}
