//! Numeric properties.

use base::Level;
use lsm::file_meta::FileStats;
use lsm::pick::Style;
use lsm::version::{BlobFile, BlobTotals};
use mem::memtable::MemTable;

use super::{PropertyContext, scores};
use crate::family::{Family, SuperVersion};
use crate::sync::Arc;

pub(super) fn number(context: &PropertyContext<'_>, family: &Family, short: &str) -> Option<u64> {
    of_database(context, short)
        .or_else(|| of_memtables(family, short))
        .or_else(|| of_tree(context, family, short))
}

fn of_database(context: &PropertyContext<'_>, short: &str) -> Option<u64> {
    Some(match short {
        "num-running-flushes" => context.activity.running_flushes as u64,
        "num-running-compactions" => context.activity.running_compactions as u64,
        "actual-delayed-write-rate" => context.activity.delayed_write_rate,
        "is-write-stopped" => u64::from(context.activity.is_write_stopped),
        "background-errors" => context.errors.count(),
        "num-snapshots" => context.snapshots,
        "oldest-snapshot-sequence" => context.oldest_snapshot.map_or(0, |(seq, _)| seq.get()),
        "oldest-snapshot-time" => context.oldest_snapshot.map_or(0, |(_, time)| time),
        "is-file-deletions-enabled" => u64::from(context.obsolete.disabled_count() == 0),
        "min-log-number-to-keep" => context.min_wal_to_keep.get(),
        "min-obsolete-sst-number-to-keep" => {
            context.numbers.smallest_pending().map_or(u64::MAX, |number| number.get())
        }
        "obsolete-sst-files-size" => context.obsolete.waiting_bytes(),
        // Calls of `abort_all_compactions` that were not undone.
        "compaction-abort-count" => context.activity.compaction_aborts as u64,
        _ => return None,
    })
}

fn of_memtables(family: &Family, short: &str) -> Option<u64> {
    let pinned = family.pin();
    let immutable = |f: &dyn Fn(&MemTable) -> u64| pinned.imm.iter().map(|m| f(m)).sum::<u64>();
    let used = |m: &MemTable| m.memory_used() as u64;
    Some(match short {
        "num-immutable-mem-table" => pinned.imm.len() as u64,
        "num-immutable-mem-table-flushed" => pinned.history.len() as u64,
        "mem-table-flush-pending" => {
            let min = pinned.parts.pick.buffers.min_write_buffer_number_to_merge;
            u64::from(family.state().flush_due(min, None))
        }
        "cur-size-active-mem-table" => used(&pinned.mem),
        "cur-size-all-mem-tables" => used(&pinned.mem) + immutable(&used),
        "size-all-mem-tables" => {
            // `held_memtables` contains the memtables of the history too.
            let held = family.state().held_memtables();
            used(&pinned.mem) + immutable(&used) + held.iter().map(|m| used(m)).sum::<u64>()
        }
        "num-entries-active-mem-table" => pinned.mem.counts().with_tombstones(),
        "num-entries-imm-mem-tables" => immutable(&|m| m.counts().with_tombstones()),
        "num-deletes-active-mem-table" => pinned.mem.counts().deletes,
        "num-deletes-imm-mem-tables" => immutable(&|m| m.counts().deletes),
        _ => return None,
    })
}

fn of_tree(context: &PropertyContext<'_>, family: &Family, short: &str) -> Option<u64> {
    let pinned = family.pin();
    let version = &pinned.version;
    let cache = || pinned.parts.caches.blocks.as_ref();
    Some(match short {
        "compaction-pending" => {
            let view = lsm::pick::View {
                version,
                running: &[],
                oldest_snapshot: context.released_below,
                full_history_ts_low: None,
                young_after: None,
            };
            u64::from(lsm::pick::needs_compaction(&view, &pinned.parts.pick, context.now_seconds))
        }
        "num-running-compaction-sorted-runs" => {
            let running = |level: Level| version.level(level).iter().filter(|f| f.being_compacted()).count();
            let deeper = version.levels_below(Level::ZERO).filter(|level| running(*level) > 0).count();
            (running(Level::ZERO) + deeper) as u64
        }
        "estimate-num-keys" => estimate_num_keys(&pinned),
        "estimate-table-readers-mem" => {
            version.files().map(|(_, file)| context.tables.memory_bytes(file) as u64).sum()
        }
        "estimate-oldest-key-time" => oldest_key_time(context, &pinned)?,
        "num-live-versions" => family.live_versions().len() as u64,
        "current-super-version-number" => pinned.number,
        "estimate-live-data-size" => live_data_size(&pinned),
        "total-sst-files-size" => total_size(family),
        "live-sst-files-size" => version.total_bytes(),
        // RocksDB computes the base level for the leveled style only. For the other styles, the property is -1.
        "base-level" if pinned.parts.pick.style != Style::Level => u64::MAX,
        "base-level" => u64::from(scores(context, &pinned).base_level.get()),
        "estimate-pending-compaction-bytes" => scores(context, &pinned).estimated_pending_bytes,
        "block-cache-capacity" => cache()?.capacity() as u64,
        "block-cache-usage" => cache()?.usage() as u64,
        "block-cache-pinned-usage" => cache()?.pinned_usage() as u64,
        "num-blob-files" => version.blobs().len() as u64,
        "total-blob-file-size" => total_blob_size(family),
        "live-blob-file-size" => BlobTotals::of(version.blobs()).file_bytes,
        "live-blob-file-garbage-size" => BlobTotals::of(version.blobs()).garbage_bytes,
        "blob-cache-capacity" => pinned.parts.caches.blobs.as_ref()?.capacity() as u64,
        "blob-cache-usage" => pinned.parts.caches.blobs.as_ref()?.usage() as u64,
        "blob-cache-pinned-usage" => pinned.parts.caches.blobs.as_ref()?.pinned_usage() as u64,
        _ => return None,
    })
}

/// Estimates the number of keys as RocksDB does. A deletion in an SST file hides one key, and is no key. The deletions of
/// the memtables hide keys of the SST files too.
fn estimate_num_keys(pinned: &SuperVersion) -> u64 {
    let (mut entries, mut deletes) = (0u64, 0u64);
    for mem in std::iter::once(&pinned.mem).chain(pinned.imm.iter()) {
        let counts = mem.counts();
        entries += counts.with_tombstones();
        deletes += counts.deletes;
    }
    let in_files = keys_in_files(pinned.version.files().map(|(_, file)| file.stats().copied()));
    // A tombstone may delete no entry.
    entries.saturating_add(in_files).saturating_sub(deletes.saturating_mul(2))
}

/// Estimates the keys of SST files. Some counts are not known before their file is opened: the files with a count stand
/// for all files.
pub(super) fn keys_in_files(files: impl Iterator<Item = Option<FileStats>>) -> u64 {
    let (mut all, mut sampled, mut kept, mut deletes) = (0u64, 0u64, 0u64, 0u64);
    for stats in files {
        all += 1;
        if let Some(stats) = stats {
            sampled += 1;
            // The counts come from properties, which are untrusted.
            kept = kept.saturating_add(stats.num_entries.saturating_sub(stats.num_deletions));
            deletes = deletes.saturating_add(stats.num_deletions);
        }
    }
    // A tombstone may delete no entry.
    let keys = kept.saturating_sub(deletes);
    match sampled {
        0 => 0,
        sampled if sampled < all => (keys as f64 * (all as f64 / sampled as f64)) as u64,
        _ => keys,
    }
}

/// Returns the time of the oldest entry, in seconds since 1970. Only FIFO compaction without `allow_compaction` keeps
/// the times of all entries: a compaction loses them. Returns `None` in other column families, if an SST file does not
/// open or has no time, and if there is no SST file.
fn oldest_key_time(context: &PropertyContext<'_>, pinned: &SuperVersion) -> Option<u64> {
    let options = &pinned.parts.pick;
    if options.style != Style::Fifo || options.fifo.allow_compaction {
        return None;
    }
    let mut oldest = u64::MAX;
    for (level, file) in pinned.version.files() {
        let table = context.tables.get(&pinned.parts, level, file).ok()?;
        oldest = oldest.min(table.properties().oldest_key_time);
    }
    (oldest > 0 && oldest < u64::MAX).then_some(oldest)
}

/// Returns the bytes of the SST files of all versions that a reader holds. Each file counts once.
fn total_size(family: &Family) -> u64 {
    let mut seen = base::map::HashSet::default();
    let mut sum = 0;
    for version in family.live_versions() {
        sum += version.files().filter(|(_, f)| seen.insert(f.number)).map(|(_, f)| f.size).sum::<u64>();
    }
    sum
}

/// Returns RocksDB's estimate of the live data: the bytes of a set of files without overlap, chosen from the last
/// level up, and the live bytes of the blob files.
fn live_data_size(pinned: &SuperVersion) -> u64 {
    let version = &pinned.version;
    let order = version.order();
    // The chosen files, by largest key. No file overlaps another.
    let mut taken: Vec<&lsm::table_file::TableFile> = Vec::new();
    let mut size = 0;
    for level in version.levels().rev() {
        for file in version.level(level).iter() {
            let at = taken.partition_point(|t| order.compare(&t.largest, &file.smallest).is_lt());
            if taken.get(at).is_none_or(|next| order.compare(&file.largest, &next.smallest).is_lt()) {
                taken.insert(at, file);
                size += file.size;
            }
        }
    }
    // The MANIFEST names the bytes of garbage, and is untrusted.
    let live = |blob: &Arc<BlobFile>| blob.total_bytes.saturating_sub(blob.garbage_bytes);
    size + version.blobs().values().map(live).sum::<u64>()
}

/// Bytes of the blob files of all versions that a reader holds.
fn total_blob_size(family: &Family) -> u64 {
    let mut seen = base::map::HashSet::default();
    let versions = family.live_versions();
    let blobs = versions.iter().flat_map(|version| version.blobs().values());
    blobs.filter(|blob| seen.insert(blob.number)).map(|blob| blob.file_size()).sum()
}
