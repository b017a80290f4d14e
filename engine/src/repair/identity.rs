//! Decides whether a file is the SST file that the MANIFEST records, or another SST file under its name.
//!
//! The properties of an SST file name its creator, and the MANIFEST records the creator too. If both exist
//! and differ, the file is another SST file. If one is missing, entries outside of the recorded key range
//! or above the recorded sequence numbers decide.

use base::key::{sequence, user_key};
use base::{FileNumber, Order, SequenceNumber};
use format::edit::NewFile;
use table::sst::salvage::{Part, Salvaged};
use table::unique_id::UniqueId;

/// Compares the entries of an SST file with its record in the MANIFEST.
pub(super) struct RecordCheck<'a> {
    order: &'a Order,
    record: &'a NewFile,
    /// The number of entries that do not fit the record.
    misfits: u64,
    /// The internal key of the last entry. Empty before the first entry.
    last: Vec<u8>,
}

impl<'a> RecordCheck<'a> {
    pub(super) fn new(order: &'a Order, record: &'a NewFile) -> Self {
        RecordCheck { order, record, misfits: 0, last: Vec::new() }
    }

    pub(super) fn entry(&mut self, key: &[u8]) {
        let record = self.record;
        let beside = |bound: &[u8]| self.order.compare_without_timestamp(user_key(key), user_key(bound));
        let seq: SequenceNumber = sequence(key);
        let inside = beside(&record.smallest).is_ge()
            && beside(&record.largest).is_le()
            && seq <= record.largest_seqno;
        self.misfits += u64::from(!inside);
        self.last.clear();
        self.last.extend_from_slice(key);
    }

    /// Returns true if the file is not the SST file of the record.
    pub(super) fn is_foreign(&self, salvaged: &Salvaged) -> bool {
        match id(salvaged) {
            Some(found) if self.record.unique_id != [0; 2] => found != self.record.unique_id,
            _ => self.misfits > 0,
        }
    }

    /// For a file that is shorter than its record, returns the user key after which entries may be missing without a
    /// reported loss. Inner `None`: entries may be missing from the start of the file. Outer `None`: no such entry is
    /// missing.
    pub(super) fn cut_behind(&self, salvaged: &Salvaged) -> Option<Option<Vec<u8>>> {
        let reported = salvaged.losses.iter().any(|loss| loss.part == Part::Data && loss.until.is_none());
        let all = salvaged
            .properties
            .as_ref()
            .is_some_and(|p| p.num_entries == salvaged.num_rows + p.num_range_deletions);
        let complete = all || self.last == self.record.largest;
        (!reported && !complete).then(|| (!self.last.is_empty()).then(|| user_key(&self.last).to_vec()))
    }
}

/// Returns the creator of the file, in the form of the MANIFEST. Returns `None` if the file does not name its
/// creator.
pub(super) fn id(salvaged: &Salvaged) -> Option<[u64; 2]> {
    let properties = salvaged.properties.as_ref()?;
    let session = std::str::from_utf8(&properties.db_session_id).ok()?;
    let number = FileNumber::new(properties.original_file_number);
    UniqueId::new(&properties.db_id, session, number).map(UniqueId::short)
}
