//! Writes memtables to level-0 files: the common part of a flush and of recovery.

use base::ids::JobId;
use base::{EpochNumber, Error, Level, Result};
use lsm::compaction_iter::{AnythingBelow, CompactionIter, Config};
use lsm::filter::{CompactionFilter, CreationReason, FetchBlob, FilterContext, supported};
use lsm::merging::Merging;
use lsm::range_del::CompactionTombstones;
use mem::memtable::MemIter;
use mem::range_del::FragmentedTombstones;

use super::stripped::Stripped;
use super::{
    BlobCollection, CoveredBytes, JobTools, OutputSettings, Outputs, Purpose, SubcompactionRange, Targets,
};
use crate::family::{Family, FlushPick, FlushProgress, Parts};
use crate::sync::Arc;

/// The blob files that the entries of memtables refer to.
pub struct MemtableBlobs {
    /// Reads values, for merges and the compaction filter.
    pub blobs: Box<dyn FetchBlob + Send>,
    /// Moves values out of failed blob files. `None` if no file has failed.
    pub collection: Option<BlobCollection>,
}

/// Returns the compression that the options ask for in the SST files of a flush.
pub fn flush_compression(parts: &Parts) -> u8 {
    parts.pick.codecs.compression_per_level.first().copied().unwrap_or(parts.pick.codecs.compression)
}

/// Writes the picked memtables of a column family to level-0 files. No version has the files yet. `covered` estimates
/// the bytes that a range tombstone deletes in the SST files of the column family. `blobs` is `None` if no entry of the
/// memtables refers to a blob file.
///
/// # Errors
/// Errors of the memtables, of the merge operator and of the file system.
pub fn write_memtables(
    tools: &JobTools,
    job: JobId,
    family: &Arc<Family>,
    pick: &FlushPick,
    purpose: Purpose,
    covered: &CoveredBytes<'_>,
    blobs: Option<MemtableBlobs>,
) -> Result<Outputs> {
    base::invariant!(
        !pick.memtables.is_empty() && pick.memtables.is_sorted_by(|a, b| a.id < b.id),
        "the {} memtables of a flush of {family:?} are not in the order of their ids",
        pick.memtables.len()
    );
    let parts = family.parts();
    let order = parts.internal_order();
    let settings = settings(tools, job, family, pick, purpose)?;
    let full_history_ts_low = family.state().full_history_ts_low.clone();
    let (stripes, earliest_write_conflict_snapshot) = tools.snapshots.stripes_and_conflicts();
    let mut tombstones = CompactionTombstones::new(order.clone(), stripes.clone())
        .with_full_history_ts_low(full_history_ts_low.clone());
    let timestamp_size = parts.order.timestamp_size();
    let strip = !parts.stored.timestamps && timestamp_size > 0;
    let (mut tombstone_bytes, mut fragmented_lists) = (0, Vec::new());
    for immutable in &pick.memtables {
        let fragmented = immutable.mem.range_tombstones();
        tombstone_bytes += fragmented.payload_bytes();
        if fragmented.is_empty() {
            continue;
        }
        match strip {
            false => tombstones.add_fragmented(&fragmented, None),
            true => {
                add_stripped(&mut tombstones, &fragmented, timestamp_size);
                fragmented_lists.push(fragmented);
            }
        }
    }
    let config = Config {
        snapshots: stripes,
        earliest_write_conflict_snapshot,
        merge_operator: parts.code.merge_operator.clone(),
        filter: flush_filter(family, &parts, purpose)?,
        full_history_ts_low,
        enforce_single_del_contracts: tools.options.load().enforce_single_del_contracts,
        must_count_input: tools.options.load().flush_verify_memtable_count,
        times: tools.stats.compaction_iter_times(),
        ..Config::new(order.clone())
    };
    // Newest first: the merging iterator needs this order.
    let mut sources: Vec<MemIter> = pick.memtables.iter().rev().map(|s| s.mem.iter()).collect();
    let verify = tools.options.load().flush_verify_memtable_count;
    let expected = verify.then(|| pick.memtables.iter().map(|s| s.mem.counts().entries).sum());
    // No writer runs during a recovery.
    let progress = (purpose == Purpose::Flush).then(|| FlushProgress::begin(family, pick));
    let merged = |sources| Merging::new(order.clone(), sources);
    let written = if strip {
        let rows = Stripped::new(merged(sources), timestamp_size, fragmented_lists);
        let rows = CompactionIter::new(rows, AnythingBelow, tombstones, config);
        write_all_into(rows, (&settings, covered, progress.as_ref()), expected, blobs)
    } else {
        match (sources.len(), sources.pop()) {
            (1, Some(only)) => {
                let rows = CompactionIter::new(only, AnythingBelow, tombstones, config);
                write_all_into(rows, (&settings, covered, progress.as_ref()), expected, blobs)
            }
            (_, last) => {
                sources.extend(last);
                let rows = CompactionIter::new(merged(sources), AnythingBelow, tombstones, config);
                write_all_into(rows, (&settings, covered, progress.as_ref()), expected, blobs)
            }
        }
    };
    let mut written = written?;
    written.input_bytes += tombstone_bytes;
    written.progress = progress;
    Ok(written)
}

/// Returns the settings of the SST files that the memtables of `pick` become.
///
/// # Errors
/// NotSupported if the options name a compression that this build does not have.
fn settings(
    tools: &JobTools,
    job: JobId,
    family: &Family,
    pick: &FlushPick,
    purpose: Purpose,
) -> Result<OutputSettings> {
    let parts = family.parts();
    let compression = flush_compression(&parts);
    let mut settings = tools.output(family, parts.clone(), Level::ZERO, true, compression)?;
    settings.purpose = purpose;
    settings.events = Some((tools.events.clone(), job));
    settings.epoch = match pick.epoch() {
        EpochNumber::UNKNOWN => family.state().take_epoch(),
        epoch => epoch,
    };
    base::invariant!(
        settings.epoch != EpochNumber::UNKNOWN,
        "a flush of {family:?} writes SST files without an epoch number"
    );
    let now = tools.env.clock.now_seconds();
    settings.data_times.oldest_ancestor = now;
    settings.data_times.oldest_key = now;
    settings.data_times.newest_key = now;
    // Recovery does not know the times of the replayed entries.
    if parts.pick.ages.preserve_seconds > 0 && purpose == Purpose::Flush {
        settings.times = Some(Arc::new(tools.times.copy()));
    }
    Ok(settings)
}

/// Adds range tombstones. Replaces their timestamps by the oldest timestamp.
fn add_stripped(
    tombstones: &mut CompactionTombstones,
    fragmented: &FragmentedTombstones,
    timestamp_size: usize,
) {
    let oldest = vec![0; timestamp_size];
    for fragment in fragmented.iter() {
        for &seq in fragment.seqs {
            tombstones.add(fragment.start, fragment.end, seq, &oldest, None);
        }
    }
}

fn write_all_into<I: base::iter::InternalIterator>(
    mut rows: CompactionIter<I, AnythingBelow>,
    (settings, covered, progress): (&OutputSettings, &CoveredBytes<'_>, Option<&FlushProgress>),
    expected: Option<u64>,
    blobs: Option<MemtableBlobs>,
) -> Result<Outputs> {
    let mut collection = None;
    if let Some(MemtableBlobs { blobs, collection: moves }) = blobs {
        rows = rows.with_blobs(blobs);
        collection = moves;
    }
    let written = super::write_all(
        &mut rows,
        Targets { progress, ..Targets::one_file(settings, covered) },
        collection,
        &SubcompactionRange::default(),
        &mut |_, _| false,
    );
    settings.stats.count_compaction_iter(&rows.stats);
    let mut out = written?;
    base::invariant!(out.files.len() <= 1, "a flush of one column family writes {} files", out.files.len());
    out.keeps_keys = !rows.has_filter_skipped;
    out.input_bytes = rows.stats.total_input_raw_key_bytes + rows.stats.total_input_raw_value_bytes;
    if let Some(expected) = expected
        && rows.stats.num_itered != expected
    {
        let error = Error::corruption(format!(
            "a flush read {} entries of memtables that hold {expected}",
            rows.stats.num_itered
        ));
        out.files.iter().for_each(|file| file.remove(&settings.env));
        return Err(error);
    }
    Ok(out)
}

/// Returns the compaction filter of a flush. A flush has a compaction filter only if the factory asks for it.
///
/// # Errors
/// NotSupported if the filter does not ignore snapshots.
fn flush_filter(
    family: &Family,
    parts: &Parts,
    purpose: Purpose,
) -> Result<Option<Arc<dyn CompactionFilter>>> {
    let Some(factory) = &parts.code.compaction_filter_factory else { return Ok(None) };
    let reason = match purpose {
        Purpose::Open => CreationReason::Recovery,
        _ => CreationReason::Flush,
    };
    if !factory.should_filter(reason) {
        return Ok(None);
    }
    let context = FilterContext {
        is_full_compaction: false,
        is_manual_compaction: false,
        input_start_level: Level::ZERO,
        family: family.id(),
        reason,
    };
    factory.create(&context).map(|filter| supported(Arc::from(filter))).transpose()
}
