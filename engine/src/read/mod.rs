//! Point reads: get, multi-get, and the lookups of merges and transactions.
//!
//! A lookup searches the newest source first: the memtable, the immutable memtables, then the SST files that may
//! have the key. Level-0 files are searched newest first, and each lower level has at most one such file. The first
//! source that decides the key ends the search. The result is a view into a memtable or a block.

mod answer;
mod at_write;
mod estimate;
mod finish;
mod get;
mod multi_get;
mod newest;
mod row_cache;
mod stamped;
mod tally;

pub(crate) use answer::Answer;
pub use finish::exceeded_limit;
pub use newest::{NewestWrite, Reach};
pub use row_cache::RowCache;
pub use stamped::Stamped;

use base::stats::{HistogramKind, Statistics, Ticker};
use base::{Error, Level, Pinned, Result, Subcode};
use table::sst::ReadCtx;

use crate::family::{Family, SuperVersion};
use crate::options::{ReadOptions, ReadTier};
use crate::sequence::LastSequence;
use crate::source::{BlobReads, TableCache};
use crate::stats::Stats;
use crate::sync::{Arc, AtomicBool, Ordering};

/// The source that decided a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DecidedBy {
    Memtable,
    Level(Level),
    Nowhere,
}

impl DecidedBy {
    /// Counts a lookup that this source decided. `found` is true if there is a value.
    fn count(self, statistics: &Statistics, found: bool) {
        let memtable = self == DecidedBy::Memtable;
        statistics.tick(if memtable { Ticker::MemtableHit } else { Ticker::MemtableMiss });
        match self {
            DecidedBy::Level(Level::ZERO) if found => statistics.tick(Ticker::GetHitL0),
            DecidedBy::Level(level) if found && level == Level::ZERO.below() => {
                statistics.tick(Ticker::GetHitL1)
            }
            DecidedBy::Level(_) if found => statistics.tick(Ticker::GetHitL2AndUp),
            _ => {}
        }
    }
}

/// The result of a lookup with RocksDB's subcode. RocksDB can return a subcode with a status that is OK.
#[derive(Clone, Debug)]
pub struct Answered {
    pub value: Option<Pinned>,
    /// `MergeOperandThresholdExceeded` if more operands were merged than
    /// `ReadOptions::merge_operand_count_threshold`. `None` otherwise.
    pub subcode: Subcode,
}

impl Answered {
    /// Makes the result. Only a key that was found can have a subcode.
    fn new(value: Option<Pinned>, operands: usize, options: &ReadOptions) -> Self {
        let exceeded =
            options.merge_operand_count_threshold.is_some_and(|most| operands > most) && value.is_some();
        let subcode = if exceeded { Subcode::MergeOperandThresholdExceeded } else { Subcode::None };
        Answered { value, subcode }
    }
}

/// The parts of the engine that reads use.
#[derive(Clone)]
pub struct Reads {
    pub tables: Arc<TableCache>,
    pub sequence: Arc<LastSequence>,
    pub clock: Arc<dyn env::Clock>,
    /// Set after the first write without the WAL. Reads of the persisted tier then skip memtables.
    pub unlogged: Arc<AtomicBool>,
    pub stats: Arc<Stats>,
    /// `None` without the option `row_cache`.
    pub row_cache: Option<Arc<RowCache>>,
}

impl Reads {
    /// Returns how a read of `family` at `super_version` reads values in blob files.
    #[inline]
    fn blobs<'a>(
        &'a self,
        family: &Family,
        super_version: &'a SuperVersion,
        options: &'a ReadOptions,
    ) -> BlobReads<'a> {
        BlobReads {
            tables: &self.tables,
            version: &super_version.version,
            parts: &super_version.parts,
            family: family.id(),
            options,
        }
    }

    /// Returns the options that reads of SST files use.
    fn ctx(&self, options: &ReadOptions) -> ReadCtx {
        ReadCtx {
            verify_checksums: options.verify_checksums,
            fill_cache: options.fill_cache,
            cache_only: options.read_tier == ReadTier::BlockCache,
            limits: self.tables.limits(options),
            ..ReadCtx::default()
        }
    }

    /// Returns the options that reads of SST files by a MultiGet use.
    fn multi_get_ctx(&self, options: &ReadOptions) -> ReadCtx {
        ReadCtx { histogram: HistogramKind::FileReadMultigetMicros, ..self.ctx(options) }
    }

    /// Checks that the options fit the column family. Called once per read, after the super version is pinned.
    ///
    /// # Errors
    /// See [`Family::check_read`] and [`SuperVersion::check_history`].
    #[inline]
    fn check(&self, family: &Family, super_version: &SuperVersion, options: &ReadOptions) -> Result<()> {
        if options.snapshot.is_none() && options.timestamp.is_none() && !family.has_timestamps() {
            return Ok(());
        }
        family.check_read(&self.sequence, options)?;
        super_version.check_history(options.timestamp.as_deref())
    }

    /// Returns the key as memtables and SST files hold it: with the timestamp to read at.
    #[inline]
    fn full_key<'a>(&self, key: &'a [u8], options: &ReadOptions, buffer: &'a mut Vec<u8>) -> &'a [u8] {
        let Some(timestamp) = &options.timestamp else { return key };
        buffer.extend_from_slice(key);
        buffer.extend_from_slice(timestamp);
        buffer
    }

    fn reads_memtables(&self, options: &ReadOptions) -> bool {
        options.read_tier != ReadTier::Persisted || !self.unlogged.load(Ordering::Relaxed)
    }

    /// Checks the deadline of the options.
    ///
    /// # Errors
    /// TimedOut after the deadline.
    #[inline]
    fn check_deadline(&self, options: &ReadOptions) -> Result<()> {
        if options.deadline.is_zero() || u128::from(self.clock.now_micros()) <= options.deadline.as_micros() {
            return Ok(());
        }
        Err(Error::timed_out("the read's deadline has passed"))
    }
}
