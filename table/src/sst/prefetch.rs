//! Reading more than asked for: the tail of a file at open, and what comes next in a scan.
//!
//! A scan that reads blocks one behind the other is given larger and larger reads: after two of them
//! 8 KiB ahead, then twice as much each time up to 256 KiB, as the table options say; or a fixed amount
//! if the caller asked for one. Blocks found in the cache do not count.
//!
//! A compaction reads megabytes ahead of each of its files. Where the system can hold them, it is asked to, and
//! the window has a part of them only (RocksDB `table/block_based/block_prefetcher.cc` has no window then).

use base::Result;

use super::file_source::Source;
use super::limits::ReadLimits;
use super::scratch;
use crate::options::BlockBasedTableOptions;

/// The window of a scan whose far end the system brings in.
const WINDOW: usize = 128 << 10;

/// A part of a file in memory.
pub(super) trait Window {
    /// The bytes if they are here or brought here; `None` to have them read singly.
    fn bytes(
        &mut self,
        source: &Source,
        offset: u64,
        len: usize,
        limits: Option<&ReadLimits>,
    ) -> Result<Option<&[u8]>>;
}

/// A part that stays as it is.
pub(super) struct Fixed {
    pub start: u64,
    pub bytes: Vec<u8>,
}

impl Fixed {
    pub(super) fn get(&self, offset: u64, len: usize) -> Option<&[u8]> {
        let at = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.bytes.get(at..at.checked_add(len)?)
    }
}

impl Window for Fixed {
    fn bytes(
        &mut self,
        source: &Source,
        offset: u64,
        len: usize,
        _limits: Option<&ReadLimits>,
    ) -> Result<Option<&[u8]>> {
        let found = self.get(offset, len);
        source.counts.sought_in_tail(found.is_some());
        Ok(found)
    }
}

/// The window of a scan.
#[derive(Debug)]
pub(super) struct ReadAhead {
    /// Bytes that the caller asked for; 0 for automatic.
    explicit: usize,
    initial: usize,
    most: usize,
    /// Reads in a row before reading ahead.
    patience: u64,
    /// Offset behind which there is nothing to read ahead.
    limit: u64,
    /// How much to read ahead next.
    next: usize,
    /// Where the last read ended, and how many were in a row.
    last_end: u64,
    in_a_row: u64,
    /// The reads in a row of the file before, until the first read of this one.
    handed: Option<u64>,
    /// Offset behind which the reader will want nothing.
    trimmed: u64,
    /// Tell the system what will be read behind the window.
    announce: bool,
    /// Leave to the system, if it can, what lies further ahead than [`WINDOW`].
    delegate: bool,
    for_compaction: bool,
    /// Where what the system was asked for ends.
    delegated: u64,
    start: u64,
    bytes: Vec<u8>,
}

/// How far a scan has got in reading ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    next: usize,
    in_a_row: u64,
}

impl ReadAhead {
    /// `explicit` bytes ahead, or as the options say if 0. `announce`: the system is told what comes behind the
    /// window. `delegate`: what is far ahead is the system's to hold.
    pub(super) fn new(
        options: &BlockBasedTableOptions,
        explicit: usize,
        limit: u64,
        announce: bool,
        delegate: bool,
    ) -> Self {
        let most = options.max_auto_readahead_size;
        let initial = options.initial_auto_readahead_size.min(most);
        ReadAhead {
            explicit,
            initial,
            most,
            patience: options.num_file_reads_for_auto_readahead,
            limit,
            next: initial,
            last_end: u64::MAX,
            in_a_row: 0,
            handed: None,
            trimmed: u64::MAX,
            announce,
            delegate,
            for_compaction: delegate,
            delegated: 0,
            start: 0,
            bytes: Vec::new(),
        }
    }

    /// What the next file of a scan goes on with.
    pub(super) fn pace(&self) -> Pace {
        Pace { next: self.next, in_a_row: self.in_a_row }
    }

    /// Goes on as a scan of the file before did: its first read is the next in a row.
    pub(super) fn keep_pace(&mut self, pace: Pace) {
        if self.last_end == u64::MAX && self.explicit == 0 {
            base::invariant!(self.initial <= self.most, "the first read-ahead is larger than the largest");
            // The pace comes from an iterator of another table, whose options may differ.
            self.next = pace.next.clamp(self.initial, self.most);
            self.handed = Some(pace.in_a_row);
        }
    }

    /// Nothing behind `offset` will be wanted.
    pub(super) fn trim(&mut self, offset: u64) {
        self.trimmed = offset;
    }

    fn amount(&mut self, offset: u64) -> usize {
        if self.explicit > 0 {
            return self.explicit;
        }
        if let Some(in_a_row) = self.handed.take() {
            self.in_a_row = in_a_row;
        } else if offset != self.last_end {
            self.in_a_row = 0;
            self.next = self.initial;
        }
        self.in_a_row += 1;
        if self.in_a_row <= self.patience {
            return 0;
        }
        let amount = self.next;
        self.next = (self.next * 2).min(self.most);
        base::invariant!(
            amount <= self.most,
            "{amount} bytes are read ahead, and at most {} are allowed",
            self.most
        );
        amount
    }

    /// What is read into the window of `explicit` bytes ahead of `end`, where the system was asked for the rest.
    fn near_part(&mut self, source: &Source, offset: u64, end: u64, amount: usize) -> usize {
        if !self.delegate || amount <= WINDOW {
            return amount;
        }
        let near_end = end.saturating_add(WINDOW as u64).min(self.limit);
        if offset < self.start || near_end > self.delegated {
            let stop = end.saturating_add(amount as u64).min(self.limit).max(end);
            base::invariant!(stop >= offset, "a read-ahead from {offset} stops at {stop}");
            self.delegate = source.file.prefetch(offset, stop - offset);
            self.delegated = stop;
        }
        if self.delegate { WINDOW } else { amount }
    }

    /// Makes the buffer `len` bytes long. What was in it is lost.
    fn resize(&mut self, len: usize) {
        if self.bytes.capacity() < len {
            // Not twice what there was, as a vector grows: amounts change by a block's length.
            scratch::give(std::mem::take(&mut self.bytes));
            self.bytes = scratch::take(len);
        }
        self.bytes.resize(len, 0);
    }

    /// Bytes of the window that lie behind the last block taken from it; `None` if nothing was ever read ahead.
    pub(super) fn unwanted(&self) -> Option<usize> {
        base::invariant!(
            self.start.checked_add(self.bytes.len() as u64).is_some(),
            "the window of a read-ahead starts at {}",
            self.start
        );
        let end = self.start + self.bytes.len() as u64;
        (!self.bytes.is_empty()).then(|| end.saturating_sub(self.last_end.max(self.start)) as usize)
    }

    fn has(&self, offset: u64, len: usize) -> Option<usize> {
        let at = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        (at.checked_add(len)? <= self.bytes.len()).then_some(at)
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        scratch::give(std::mem::take(&mut self.bytes));
    }
}

impl Window for ReadAhead {
    fn bytes(
        &mut self,
        source: &Source,
        offset: u64,
        len: usize,
        limits: Option<&ReadLimits>,
    ) -> Result<Option<&[u8]>> {
        let end = offset + len as u64;
        let at = match self.has(offset, len) {
            Some(at) => {
                source.counts.found_ahead(len);
                at
            }
            None => {
                let amount = self.amount(offset);
                if amount == 0 {
                    self.last_end = end;
                    return Ok(None);
                }
                let amount = self.near_part(source, offset, end, amount) as u64;
                let limit = self.limit.min(self.trimmed);
                let stop = end.saturating_add(amount).min(limit).max(end);
                base::invariant!(
                    stop >= end,
                    "a read-ahead from {offset} stops at {stop}, before the block ends at {end}"
                );
                let total = (stop - offset) as usize;
                let trimmed = self.trimmed < end.saturating_add(amount).min(self.limit);
                source.counts.read_ahead(stop - end, trimmed, self.for_compaction);
                self.start = offset;
                self.resize(total);
                let read = source.read_at(offset, &mut self.bytes, limits);
                // After a failed read the window holds nothing: what is in the buffer is not the file's.
                self.bytes.truncate(read.as_ref().map_or(0, |got| *got));
                let got = read?;
                if got < len {
                    return Ok(None);
                }
                if self.announce && stop < limit {
                    // The system brings in the next window while this one is gone through.
                    source.file.prefetch(stop, (self.next.max(self.explicit) as u64).min(limit - stop));
                }
                0
            }
        };
        self.last_end = end;
        Ok(self.bytes.get(at..at + len))
    }
}
