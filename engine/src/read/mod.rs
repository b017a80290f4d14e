//! Point reads: get, multi-get, and their kin.
//!
//! Newest place first; the first place that settles the key ends the walk: the memtable, the sealed memtables,
//! then the files that may hold the key, level 0 by recency and one file a level below. What is handed back is
//! a view into the memtable or the block it lies in.

mod answer;
mod at_write;
mod estimate;
mod get;
mod multi_get;
mod newest;

pub(crate) use answer::Answer;
pub use newest::{NewestWrite, Reach};

use base::stats::{Statistics, Ticker};
use base::{Error, Pinned, Result, Subcode};
use table::sst::ReadCtx;

use crate::family::{Family, SuperVersion};
use crate::options::{ReadOptions, ReadTier};
use crate::sequence::LastSequence;
use crate::source::{BlobReads, TableCache};
use crate::stats::Stats;
use crate::sync::{Arc, AtomicBool, Ordering};

/// Where a look-up was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Memtable,
    Level(usize),
    Nowhere,
}

impl Place {
    /// Counts a look-up that ended here; `found` if there is a value.
    fn count(self, statistics: &Statistics, found: bool) {
        let memtable = self == Place::Memtable;
        statistics.tick(if memtable { Ticker::MemtableHit } else { Ticker::MemtableMiss });
        match self {
            Place::Level(0) if found => statistics.tick(Ticker::GetHitL0),
            Place::Level(1) if found => statistics.tick(Ticker::GetHitL1),
            Place::Level(_) if found => statistics.tick(Ticker::GetHitL2AndUp),
            _ => {}
        }
    }
}

/// A look-up's answer, and RocksDB's subcode of it: a status that is OK can say more than that.
#[derive(Clone, Debug)]
pub struct Answered {
    pub value: Option<Pinned>,
    /// `MergeOperandThresholdExceeded` if more operands were merged than
    /// `ReadOptions::merge_operand_count_threshold` allows to pass in silence; `None` otherwise.
    pub subcode: Subcode,
}

impl Answered {
    /// Only a key that was found has a subcode.
    fn new(value: Option<Pinned>, operands: usize, options: &ReadOptions) -> Self {
        let exceeded =
            options.merge_operand_count_threshold.is_some_and(|most| operands > most) && value.is_some();
        let subcode = if exceeded { Subcode::MergeOperandThresholdExceeded } else { Subcode::None };
        Answered { value, subcode }
    }
}

/// What reads need of the database.
#[derive(Clone)]
pub struct Reads {
    pub tables: Arc<TableCache>,
    pub sequence: Arc<LastSequence>,
    pub clock: Arc<dyn env::Clock>,
    /// Set once a write went around the log: the persisted tier then skips memtables.
    pub unlogged: Arc<AtomicBool>,
    pub stats: Arc<Stats>,
}

impl Reads {
    /// How a read of `family` at `super_version` gets values from blob files.
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

    /// The part of the options that tables follow.
    fn ctx(&self, options: &ReadOptions) -> ReadCtx {
        ReadCtx {
            verify_checksums: options.verify_checksums,
            fill_cache: options.fill_cache,
            cache_only: options.read_tier == ReadTier::BlockCache,
            limits: self.tables.limits(options),
            ..ReadCtx::default()
        }
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

    /// # Errors
    /// TimedOut past the options' deadline.
    #[inline]
    fn check_deadline(&self, options: &ReadOptions) -> Result<()> {
        if options.deadline.is_zero() || u128::from(self.clock.now_micros()) <= options.deadline.as_micros() {
            return Ok(());
        }
        Err(Error::timed_out("the read's deadline has passed"))
    }
}
