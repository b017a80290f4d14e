//! Makes the walk of an iterator from its options: checks the options, makes the view, and collects the sources.

use base::key::MAX_SEQUENCE;
use base::{Error, Result};

use super::context::IteratorContext;
use super::convert::Converter;
use super::skip::RangeSkipper;
use super::tree::{Tree, gather};
use super::view::View;
use super::walk::Walk;
use super::watch::Watch;
use crate::family::SuperVersion;
use crate::family::empty_ranges::Reader;
use crate::options::{ReadOptions, ReadTier};
use crate::source::BlobContext;
use crate::sync::{Arc, Flag};

/// Returns the error of options that a new iterator does not take.
pub(super) fn check(context: &IteratorContext, options: &ReadOptions) -> Result<()> {
    context.family.check_read(&context.sequence, options)?;
    if let Some(start) = &options.iter_start_ts {
        let size = context.family.order().user.timestamp_size();
        if size == 0 || start.len() != size {
            return Err(Error::invalid_argument(format!(
                "iter_start_ts has {} bytes; a timestamp of column family {} has {size}",
                start.len(),
                context.family.name()
            )));
        }
    }
    if options.tailing && context.sequence.undecided().is_enabled() {
        return Err(Error::not_supported(
            "tailing iterators with the write policies WritePrepared and WriteUnprepared",
        ));
    }
    if options.read_tier == ReadTier::Persisted {
        return Err(Error::not_supported("ReadTier::kPersistedData is not yet supported in iterators."));
    }
    Ok(())
}

/// Returns how an iterator reads values in blob files; `None` if there are no blob files.
fn blobs(
    context: &IteratorContext,
    options: &ReadOptions,
    super_version: &SuperVersion,
) -> Option<Box<BlobContext>> {
    if super_version.version.blobs().is_empty() && !may_have_direct(context, super_version) {
        return None;
    }
    // Reads of blob files need no bounds and no snapshot, and copies of them would cost memory.
    let options = ReadOptions {
        snapshot: None,
        iterate_lower_bound: None,
        iterate_upper_bound: None,
        ..options.clone()
    };
    Some(Box::new(BlobContext {
        tables: context.tables.clone(),
        version: super_version.version.clone(),
        parts: super_version.parts.clone(),
        family: context.family.id(),
        options,
    }))
}

/// Returns true if memtables may refer to blob files that no version has.
fn may_have_direct(context: &IteratorContext, super_version: &SuperVersion) -> bool {
    super_version.parts.blobs.direct_write || context.tables.blobs().has_direct()
}

/// Collects the sources and gives them to the walk.
pub(super) fn collect(
    walk: &mut Walk<Tree>,
    context: &IteratorContext,
    options: &ReadOptions,
    super_version: &Arc<SuperVersion>,
) -> Result<()> {
    walk.skip_ranges(skipper(walk, context, options, super_version));
    walk.set_source(gather(context, options, super_version, walk.seq())?);
    Ok(())
}

/// Collects the sources of a walk that only finds an empty key range. The walk ends early if `stop` is set, or if it
/// cannot keep the range. Returns false if walks of this column family do not find ranges.
///
/// # Errors
/// An error of opening an SST file of level 0.
pub(super) fn collect_finder(
    walk: &mut Walk<Tree>,
    context: &IteratorContext,
    options: &ReadOptions,
    super_version: &Arc<SuperVersion>,
    stop: Arc<Flag>,
) -> Result<bool> {
    let Some(skipper) = skipper(walk, context, options, super_version) else { return Ok(false) };
    walk.skip_ranges(Some(skipper.only_finding(stop)));
    walk.set_source(gather(context, options, super_version, walk.seq())?);
    Ok(true)
}

/// Returns the object that skips empty key ranges. Returns `None` if the options change which keys are
/// shown, or need each hidden entry. Called just before the sources are collected: an iterator that is never
/// positioned needs no such object.
fn skipper(
    walk: &Walk<Tree>,
    context: &IteratorContext,
    options: &ReadOptions,
    super_version: &SuperVersion,
) -> Option<RangeSkipper> {
    // Between the tombstones of a run there may be undecided entries, which are hidden now and visible later.
    if context.sequence.undecided().is_enabled() || walk.follows_hidden() {
        return None;
    }
    let parts = &super_version.parts;
    let all_keys = options.total_order_seek
        || parts.code.prefix_extractor.is_none()
        || (parts.scan.prefix_seek_opt_in_only && !options.prefix_same_as_start && !options.auto_prefix_mode);
    let follows_hidden = options.max_skippable_internal_keys > 0 || options.iter_start_ts.is_some();
    if !all_keys
        || follows_hidden
        || options.ignore_range_deletions
        || options.table_filter.is_some()
        // The SST files, which this iterator does not read, may have keys in the range.
        || options.read_tier == ReadTier::Memtable
        || parts.order.timestamp_size() > 0
    {
        return None;
    }
    let reader = Reader { seq: walk.snapshot_seq(), super_version: super_version.number };
    let ranges = context.family.empty_ranges().clone();
    Some(RangeSkipper::new(ranges, reader, !options.tailing, &super_version.mem))
}

/// Makes a walk without sources. The settings come from the super version: a load of the column family's options would take 60
/// instructions.
pub(super) fn build(
    context: &IteratorContext,
    options: &ReadOptions,
    super_version: &Arc<SuperVersion>,
) -> Result<Box<Walk<Tree>>> {
    super_version.check_history(options.timestamp.as_deref())?;
    let (seq, visibility) = match &options.snapshot {
        Some(snapshot) => (snapshot.sequence(), snapshot.visibility().cloned()),
        None if options.tailing => (MAX_SEQUENCE, None),
        // Load the number after the super version is pinned: see `Family::pin`.
        None => context.sequence.view(),
    };
    base::invariant!(seq <= MAX_SEQUENCE, "the sequence number {seq} has more than 56 bits");
    let order = context.family.order();
    let parts = &super_version.parts;
    let extractor = parts.code.prefix_extractor.clone();
    // The allocation comes first, so that the walk is made in its place: it has a kilobyte.
    let place = Box::new_uninit();
    let view = View {
        order: order.user.clone(),
        seq,
        visibility,
        blobs: blobs(context, options, super_version),
        shows_blob_indexes: false,
        lazy_blobs: options.allow_unprepared_value,
        timestamp: options.timestamp.clone().unwrap_or_default(),
        start_timestamp: options.iter_start_ts.clone(),
        merge_operator: parts.code.merge_operator.clone(),
        statistics: context.stats.statistics().cloned(),
        lower: options.iterate_lower_bound.clone(),
        upper: options.iterate_upper_bound.clone(),
        may_miss_prefixes: extractor.is_some() && !options.total_order_seek && !options.auto_prefix_mode,
        prefix: if options.prefix_same_as_start { extractor } else { None },
        max_sequential_skip: match options.iter_start_ts {
            // A seek past a key would skip its entries with older timestamps.
            Some(_) => u64::MAX,
            None => parts.scan.max_sequential_skip,
        },
        max_skippable: options.max_skippable_internal_keys,
    };
    let mut walk = Box::write(place, Walk::new(Tree::Unopened, view));
    let watch = Watch::new(&parts.scan, &super_version.mem);
    // Between the tombstones of a run there may be undecided entries, which are hidden now and visible later.
    if !context.sequence.undecided().is_enabled() {
        walk.convert(Converter::new(context, options, super_version, seq));
    }
    walk.watch(watch);
    Ok(walk)
}
