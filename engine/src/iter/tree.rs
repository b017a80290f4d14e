//! The sources of an iterator, as one stream of internal entries in order.
//!
//! The stream is filtered by range tombstones only if a memtable or an SST file has range tombstones, or may have some.
//! Older sources then skip the key ranges of newer tombstones, and deleted entries cost nothing. Most iterators have no
//! range tombstone and pay nothing.

use base::key::{self, SequenceNumber};
use base::stats::HistogramKind;
use base::{Level, Result};
use lsm::merging::Merging;
use lsm::range_del::{FragmentCover, LevelCover, Uncovered};
use lsm::version::LevelFiles;
use mem::memtable::MemTable;
use table::sst::ReadCtx;

use super::context::IteratorContext;
use super::walk::Walk;
use crate::family::SuperVersion;
use crate::options::{ReadOptions, ReadTier};
use crate::source::{BucketsIter, LevelIter, LevelTombstones, Source, SourceCover, forward_iterator};
use crate::sync::Arc;

/// One source, several merged sources, or several merged sources without the entries that range tombstones delete.
/// There are no sources before the first positioning: [`gather`] then collects them.
// The sizes of the variants differ, but a box would cost an indirection at each entry.
#[allow(clippy::large_enum_variant)]
pub enum Tree {
    Unopened,
    /// In a box: an iterator is moved several times while it is made, and a source is larger than a kilobyte.
    One(Box<Source>),
    Many(Merging<Source>),
    Covered(Uncovered<Source, SourceCover>),
}

macro_rules! each {
    ($self:ident, $inner:ident => $call:expr, $none:expr) => {
        match $self {
            Tree::Unopened => $none,
            Tree::One($inner) => $call,
            Tree::Many($inner) => $call,
            Tree::Covered($inner) => $call,
        }
    };
}

forward_iterator!(Tree, each);

/// Merges all sources of a super version, for a reader at `seq`. With `ReadTier::Memtable`, merges the memtables only.
///
/// # Errors
/// An error of opening an SST file of level 0.
pub fn gather(
    context: &IteratorContext,
    options: &ReadOptions,
    super_version: &Arc<SuperVersion>,
    seq: SequenceNumber,
) -> Result<Tree> {
    let mut gathering = Gathering::new(context, options, super_version, seq);
    for mem in std::iter::once(&super_version.mem).chain(super_version.imm.iter()) {
        gathering.memtable(mem);
    }
    if options.read_tier == ReadTier::Memtable {
        return Ok(gathering.into_tree());
    }
    gathering.level_zero()?;
    for level in super_version.version.levels_below(Level::ZERO) {
        gathering.level(level);
    }
    Ok(gathering.into_tree())
}

/// Collects the sources of an iterator, newest first. Also collects the range tombstones of each source, if there
/// may be any.
struct Gathering<'a> {
    context: &'a IteratorContext,
    options: &'a ReadOptions,
    super_version: &'a Arc<SuperVersion>,
    seq: SequenceNumber,
    timestamp: Option<Arc<[u8]>>,
    ctx: Arc<ReadCtx>,
    sources: Vec<Source>,
    covers: Vec<SourceCover>,
    /// True if range tombstones apply to this read, and there may be some.
    covered: bool,
}

impl<'a> Gathering<'a> {
    fn new(
        context: &'a IteratorContext,
        options: &'a ReadOptions,
        super_version: &'a Arc<SuperVersion>,
        seq: SequenceNumber,
    ) -> Self {
        let mut memtables = std::iter::once(&super_version.mem).chain(super_version.imm.iter());
        let covered = !options.ignore_range_deletions
            && (memtables.any(|mem| mem.has_range_tombstones()) || super_version.may_have_table_tombstones());
        Gathering {
            context,
            options,
            super_version,
            seq,
            timestamp: options.timestamp.as_deref().map(Arc::from),
            ctx: Arc::new(ctx(context, options, super_version)),
            sources: Vec::with_capacity(sources_max(super_version)),
            covers: Vec::new(),
            covered,
        }
    }

    fn add(&mut self, source: Source, cover: impl FnOnce(&Self) -> SourceCover) {
        if self.covered {
            let cover = cover(self);
            self.covers.push(cover);
        }
        self.sources.push(source);
        base::invariant!(
            !self.covered || self.covers.len() == self.sources.len(),
            "{} sources have {} covers",
            self.sources.len(),
            self.covers.len()
        );
    }

    fn memtable(&mut self, mem: &Arc<MemTable>) {
        let counts = mem.counts();
        let tombstones = self.covered && counts.range_deletes > 0;
        // The iterator does not see entries that are added to an empty memtable later.
        if counts.entries == 0 && !self.options.tailing && !tombstones {
            return;
        }
        let rows = match self.follows_buckets() {
            true => Source::Buckets(BucketsIter::new(mem.iter())),
            false => Source::Mem(mem.iter()),
        };
        self.add(rows, |g| {
            let order = g.context.family.order();
            if !tombstones {
                return SourceCover::nothing(order);
            }
            let cover = FragmentCover::of_memtable(order.clone(), mem.range_tombstones(), g.seq);
            SourceCover::Fragments(cover.at_timestamp(g.timestamp.clone()))
        });
    }

    /// Returns true if RocksDB's iterator would follow the buckets of a hashed memtable.
    fn follows_buckets(&self) -> bool {
        let options = self.options;
        self.context.family.options().memtable_factory.is_hashed()
            && self.super_version.parts.code.prefix_extractor.is_some()
            && (options.prefix_same_as_start || !(options.total_order_seek || options.auto_prefix_mode))
    }

    fn level_zero(&mut self) -> Result<()> {
        let (tables, parts) = (&self.context.tables, &self.super_version.parts);
        for file in self.super_version.version.level(Level::ZERO).iter() {
            if self.outside(file.smallest_user_key(), file.largest_user_key()) {
                continue;
            }
            if self.ctx.cache_only && tables.find(file).is_none() {
                // The read tier forbids to open the file now. A read that needs the file returns an error.
                self.sorted(Level::ZERO, Arc::new(LevelFiles::new(vec![file.clone()])));
                continue;
            }
            let reader = tables.get_for(parts, Level::ZERO, file, &self.ctx)?;
            let filter = self.options.table_filter.as_ref();
            if filter.is_some_and(|filter| !filter.reads(reader.properties())) {
                // The range tombstones of the file apply, but its entries are left out. The filter is not asked
                // again.
                let files = Arc::new(LevelFiles::new(vec![file.clone()]));
                self.rows_and_tombstones(Level::ZERO, Arc::new(LevelFiles::new(Vec::new())), files);
                continue;
            }
            let rows = reader.rows(&self.ctx);
            self.add(Source::Table(rows), |g| {
                let order = g.context.family.order();
                match reader.tombstones() {
                    None => SourceCover::nothing(order),
                    Some(fragments) => {
                        let cover = FragmentCover::of_table(order.clone(), fragments.clone(), g.seq, file);
                        SourceCover::Fragments(cover.at_timestamp(g.timestamp.clone()))
                    }
                }
            });
        }
        Ok(())
    }

    fn level(&mut self, level: Level) {
        let version = &self.super_version.version;
        let files = version.level(level).as_slice();
        let (Some(first), Some(last)) = (files.first(), files.last()) else { return };
        if !self.outside(first.smallest_user_key(), last.largest_user_key()) {
            self.sorted(level, version.level_shared(level));
        }
    }

    /// Adds files in key order that do not overlap.
    fn sorted(&mut self, level: Level, files: Arc<LevelFiles>) {
        self.rows_and_tombstones(level, files.clone(), files);
    }

    /// Adds the entries of one list of files, and the range tombstones of another list, which can have more files.
    fn rows_and_tombstones(&mut self, level: Level, rows: Arc<LevelFiles>, files: Arc<LevelFiles>) {
        let order = self.context.family.order();
        let (tables, parts) = (self.context.tables.clone(), self.super_version.parts.clone());
        let source =
            LevelIter::new(order.clone(), level, rows, tables.clone(), parts.clone(), self.ctx.clone())
                .handing_over(self.options.adaptive_readahead)
                .filtered(self.options.table_filter.clone());
        self.add(Source::Level(source), |g| {
            let open = LevelTombstones { tables, parts, level, ctx: g.ctx.clone() };
            let cover = LevelCover::new(order.clone(), files, g.seq, open);
            SourceCover::Level(cover.at_timestamp(g.timestamp.clone()))
        });
    }

    /// Returns true if all keys in this range are outside of the iterator's bounds.
    fn outside(&self, smallest: &[u8], largest: &[u8]) -> bool {
        let user = &self.context.family.order().user;
        let size = user.timestamp_size();
        let (smallest, largest) =
            (key::without_timestamp(smallest, size), key::without_timestamp(largest, size));
        let options = self.options;
        options
            .iterate_upper_bound
            .as_ref()
            .is_some_and(|upper| user.compare_stripped(smallest, upper).is_ge())
            || options
                .iterate_lower_bound
                .as_ref()
                .is_some_and(|lower| user.compare_stripped(largest, lower).is_lt())
    }

    fn into_tree(mut self) -> Tree {
        let order = self.context.family.order().clone();
        base::invariant!(
            !self.covered || self.covers.len() == self.sources.len(),
            "{} sources have {} covers",
            self.sources.len(),
            self.covers.len()
        );
        if self.covered {
            return Tree::Covered(Uncovered::new(Merging::new(order, self.sources), self.covers));
        }
        match self.sources.pop() {
            Some(only) if self.sources.is_empty() => Tree::One(Box::new(only)),
            last => {
                self.sources.extend(last);
                Tree::Many(Merging::new(order, self.sources))
            }
        }
    }
}

/// Returns the largest number of sources that an iterator over the super version can have.
fn sources_max(super_version: &SuperVersion) -> usize {
    let version = &super_version.version;
    let levels = version.levels_below(Level::ZERO).filter(|&level| !version.level(level).is_empty());
    1 + super_version.imm.len() + version.level(Level::ZERO).len() + levels.count()
}

/// Returns the bytes of blocks that an open iterator over the super version pins, and the bytes of its sources. Both are estimates: a
/// block is a quarter larger than `block_size`.
pub fn open_memory(super_version: &SuperVersion) -> (usize, usize) {
    let sources = sources_max(super_version);
    let block = usize::try_from(super_version.parts.table.block_size).unwrap_or(usize::MAX);
    let memory = sources * size_of::<Source>() + size_of::<Walk<Tree>>();
    (sources.saturating_mul(block / 4 * 5), memory)
}

/// Returns the options that reads of SST files use.
fn ctx(context: &IteratorContext, options: &ReadOptions, super_version: &SuperVersion) -> ReadCtx {
    let parts = &super_version.parts;
    ReadCtx {
        verify_checksums: options.verify_checksums,
        fill_cache: options.fill_cache,
        cache_only: options.read_tier == ReadTier::BlockCache,
        // SST files that were opened earlier may still have a prefix extractor that was removed from the options.
        total_order_seek: options.total_order_seek
            || parts.code.prefix_extractor.is_none()
            || (parts.scan.prefix_seek_opt_in_only
                && !options.prefix_same_as_start
                && !options.auto_prefix_mode),
        prefix_extractor: parts.code.prefix_extractor.clone(),
        auto_prefix_mode: options.auto_prefix_mode,
        readahead_size: options.readahead_size,
        for_compaction: false,
        histogram: HistogramKind::FileReadDbIteratorMicros,
        limits: context.tables.limits(options),
        auto_readahead_size: options.auto_readahead_size,
        async_io: options.async_io,
        upper_bound: options.iterate_upper_bound.clone(),
    }
}
