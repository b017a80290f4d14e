//! Read-ahead: the tail of a file at open, and the next blocks of a scan.
//!
//! A scan that reads successive blocks gets larger and larger reads. With the default table options, after
//! two such reads it reads 8 KiB ahead, then twice as much each time, up to 256 KiB. If the caller sets an
//! amount, it always reads this amount ahead. Blocks that are found in the cache do not count.
//!
//! A compaction reads megabytes ahead in each of its files. If the system can prefetch and hold these bytes,
//! it is asked to, and the window holds only a part of them. (RocksDB's
//! `table/block_based/block_prefetcher.cc` then has no window.)

use base::Result;

use super::file_source::Source;
use super::limits::ReadLimits;
use super::scratch;
use crate::options::BlockBasedTableOptions;

/// Size of the window if the system prefetches the bytes after it.
const WINDOW: usize = 128 << 10;

/// The smallest block, with its trailer, that is read in place during a read-ahead. For a smaller block, the system call
/// costs more than a copy from the window.
const IN_PLACE_MIN: usize = 32 << 10;

/// A part of a file in memory.
pub(super) trait Window {
    /// Returns the bytes if the window has them or reads them. `None`: the caller must read them.
    fn bytes(
        &mut self,
        source: &Source,
        offset: u64,
        len: usize,
        limits: Option<&ReadLimits>,
    ) -> Result<Option<&[u8]>>;

    /// Returns true if the caller should read this block itself, in place. The window then counts the read, and asks the
    /// system to prefetch the bytes after the block. The default is false.
    fn leaves_to_caller(&mut self, _source: &Source, _offset: u64, _len: usize) -> bool {
        false
    }
}

/// A part of a file that never changes.
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

/// The prefetches that a scan asks the system for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SystemHelp {
    /// The system is asked to prefetch the bytes after the window.
    pub announce: bool,
    /// The system holds the bytes that are far ahead. Compactions ask for this.
    pub delegate: bool,
}

/// The window of a scan.
#[derive(Debug)]
pub(super) struct ReadAhead {
    /// Bytes that the caller asked for; 0 means automatic.
    explicit: usize,
    initial: usize,
    most: usize,
    /// Number of successive reads before the first read-ahead.
    patience: u64,
    /// The offset at which read-ahead ends.
    limit: u64,
    /// The size of the next read-ahead.
    next: usize,
    /// The end of the last read, and the number of successive reads.
    last_end: u64,
    in_a_row: u64,
    /// The number of successive reads of the previous file, until the first read of this file.
    handed: Option<u64>,
    /// The offset after which the reader needs no bytes, because of its upper bound.
    trimmed: u64,
    /// True if the system is asked to prefetch the bytes after the window.
    announce: bool,
    /// True if bytes further ahead than [`WINDOW`] are left to the system, if it can prefetch them.
    delegate: bool,
    for_compaction: bool,
    /// True if the system rejected a prefetch, so large blocks are not read in place.
    rejected: bool,
    /// The offset of the next read and its read-ahead in bytes, if `leaves_to_caller` has computed them.
    planned: Option<(u64, usize)>,
    /// The end of the range that the system was asked to prefetch.
    delegated: u64,
    start: u64,
    bytes: Vec<u8>,
}

/// The state of the read-ahead of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    next: usize,
    in_a_row: u64,
}

impl ReadAhead {
    /// Makes a window that reads `explicit` bytes ahead, or follows the options if `explicit` is 0.
    pub(super) fn new(
        options: &BlockBasedTableOptions,
        explicit: usize,
        limit: u64,
        help: SystemHelp,
    ) -> Self {
        let SystemHelp { announce, delegate } = help;
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
            rejected: false,
            planned: None,
            delegated: 0,
            start: 0,
            bytes: Vec::new(),
        }
    }

    /// Returns the state with which the next file of a scan continues.
    pub(super) fn pace(&self) -> Pace {
        Pace { next: self.next, in_a_row: self.in_a_row }
    }

    /// Continues the state of the previous file of a scan: the first read of this file is the next successive
    /// read.
    pub(super) fn keep_pace(&mut self, pace: Pace) {
        if self.last_end == u64::MAX && self.explicit == 0 {
            base::invariant!(self.initial <= self.most, "the first read-ahead is larger than the largest");
            // The pace comes from an iterator of another table, whose options may differ.
            self.next = pace.next.clamp(self.initial, self.most);
            self.handed = Some(pace.in_a_row);
        }
    }

    /// Sets the offset after which the reader needs no bytes.
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

    /// Asks the system to prefetch the far part of a read-ahead of `amount` bytes from `end` on. Returns the
    /// size of the near part, which is read into the window.
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

    /// Makes the buffer `len` bytes long. Its old content is lost.
    fn resize(&mut self, len: usize) {
        if self.bytes.capacity() < len {
            // Allocate exactly the needed size. A growing vector would allocate twice the old size, although
            // sizes only differ by the length of a block.
            scratch::give(std::mem::take(&mut self.bytes));
            self.bytes = scratch::take(len);
        }
        base::invariant!(
            self.bytes.capacity() >= len,
            "a buffer for {len} bytes has room for {} bytes",
            self.bytes.capacity()
        );
        self.bytes.resize(len, 0);
    }

    /// Returns the number of bytes of the window after the last used block. `None` if nothing was read ahead.
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
    fn leaves_to_caller(&mut self, source: &Source, offset: u64, len: usize) -> bool {
        if self.has(offset, len).is_some() {
            return false;
        }
        if offset != self.last_end {
            self.delegated = 0;
        }
        let amount = self.amount(offset);
        if amount > 0 && (len < IN_PLACE_MIN || self.rejected) {
            self.planned = Some((offset, amount));
            return false;
        }
        let (amount, end) = (amount as u64, offset + len as u64);
        self.last_end = end;
        if end <= self.delegated {
            source.counts.found_ahead(len);
        }
        // The system prefetches the next half of the read-ahead while the scan reads this half.
        if amount > 0 && end.saturating_add(amount / 2) > self.delegated {
            let wanted = end.saturating_add(amount);
            let from = self.delegated.clamp(end, wanted);
            let stop = wanted.min(self.limit.min(self.trimmed)).max(from);
            if stop == from {
                // The read-ahead has reached the limit.
                return true;
            }
            if !source.file.prefetch(from, stop - from) {
                (self.rejected, self.delegate) = (true, false);
                return true;
            }
            let trimmed = self.trimmed < wanted.min(self.limit);
            source.counts.read_ahead(stop - from, trimmed, self.for_compaction);
            self.delegated = stop;
        }
        true
    }

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
                let planned = self.planned.take().filter(|(at, _)| *at == offset);
                let amount = planned.map_or_else(|| self.amount(offset), |(_, amount)| amount);
                if amount == 0 {
                    self.last_end = end;
                    return Ok(None);
                }
                let amount = match self.near_part(source, offset, end, amount) {
                    // A part of the next block would be read again with the rest of this block.
                    near if near < len => 0,
                    near => near as u64,
                };
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
                // After a failed read the window is empty, because the buffer does not have the content of
                // the file.
                self.bytes.truncate(read.as_ref().map_or(0, |got| *got));
                let got = read?;
                if got < len {
                    return Ok(None);
                }
                if self.announce && stop < limit {
                    // The system prefetches the next window while the scan reads this window.
                    source.file.prefetch(stop, (self.next.max(self.explicit) as u64).min(limit - stop));
                }
                0
            }
        };
        self.last_end = end;
        Ok(self.bytes.get(at..at + len))
    }
}
