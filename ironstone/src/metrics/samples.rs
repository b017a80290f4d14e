//! Metrics as labelled samples, for scrapes and exporters.

use std::time::Duration;

use base::Arrange;

use super::{DatabaseMetrics, FamilyMetrics, LevelMetrics, Metrics, OperationMetrics};

/// Says whether a value can become smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// The value grows from the open on.
    Counter,
    /// The value goes up and down.
    Gauge,
}

/// One metric. All samples of a metric have the same label names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// The name with its unit, without the suffix `_total` of counters.
    pub name: &'static str,
    /// The meaning of the value.
    pub help: &'static str,
    /// The unit as UCUM: `By`, `us`, or empty for a count.
    pub unit: &'static str,
    /// Says whether the value can become smaller.
    pub kind: MetricKind,
}

/// One value with its labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The metric.
    pub description: &'static Description,
    /// Names and values of labels: `column_family`, `level`, `operation`, `job`, `cause`, `condition`, `role`.
    pub labels: Vec<(&'static str, String)>,
    /// The value.
    pub value: u64,
}

macro_rules! descriptions {
    ($($id:ident $kind:ident $unit:literal $name:literal $help:literal;)*) => {
        $(const $id: &Description =
            &Description { name: $name, help: $help, unit: $unit, kind: MetricKind::$kind };)*

        impl Description {
            /// All metrics, in the order of their samples.
            pub const ALL: &'static [&'static Description] = &[$($id),*];
        }
    };
}

descriptions! {
    UPTIME Gauge "s" "ironstone_uptime_seconds" "Time since the open";
    WAL_BYTES Counter "By" "ironstone_wal_bytes" "Bytes appended to WALs";
    WAL_SYNCS Counter "" "ironstone_wal_syncs" "Syncs of a WAL";
    USER_BYTES Counter "By" "ironstone_user_bytes" "Bytes of write batches";
    USER_KEYS Counter "" "ironstone_user_keys" "Entries of write batches";
    GROUPS Counter "" "ironstone_write_groups" "Write groups";
    BY_OTHER Counter "" "ironstone_writes_by_other" "Batches that the leader of another thread wrote";
    STALL_TIME Counter "us" "ironstone_stall_microseconds" "Time that leaders waited in write stalls";
    BUFFER_STOPS Counter "" "ironstone_write_buffer_stops" "Waits for the memory of the write buffer manager";
    FLUSHES Gauge "" "ironstone_running_flushes" "Flushes that run now";
    COMPACTIONS Gauge "" "ironstone_running_compactions" "Compactions that run now";
    STOPPED Gauge "" "ironstone_write_stopped" "1 while writes are stopped";
    DELAYED Gauge "By/s" "ironstone_delayed_write_rate" "Rate that delays writes; 0 without a delay";
    SNAPSHOTS Gauge "" "ironstone_snapshots" "Live snapshots";
    ERRORS Counter "" "ironstone_background_errors" "Background errors";
    OBSOLETE Gauge "By" "ironstone_obsolete_bytes" "Bytes of obsolete SST files that are not deleted yet";
    READERS Gauge "By" "ironstone_table_reader_bytes" "Memory of open SST files outside of the block cache";
    MEDIAN Gauge "ns" "ironstone_operation_median_nanoseconds" "Estimated median time of an operation";
    SLOW Counter "" "ironstone_slow_operations" "Operations slower than ten times their median";
    SLOW_TIME Counter "us" "ironstone_slow_operation_microseconds" "Time of slow operations by cause";
    ACTIVE Gauge "By" "ironstone_active_memtable_bytes" "Memory of the active memtable";
    IMMUTABLE Gauge "By" "ironstone_immutable_memtable_bytes" "Memory of immutable memtables that wait for a flush";
    PINNED Gauge "By" "ironstone_pinned_memtable_bytes" "Memory of flushed memtables that readers keep";
    MEMTABLES Gauge "" "ironstone_immutable_memtables" "Immutable memtables that wait for a flush";
    FLUSHED Counter "By" "ironstone_flushed_bytes" "Bytes that flushes wrote";
    PENDING Gauge "By" "ironstone_pending_compaction_bytes" "Bytes that compaction must still rewrite";
    KEYS Gauge "" "ironstone_estimated_keys" "Estimated number of keys";
    VERSIONS Gauge "" "ironstone_live_versions" "Versions that readers keep";
    BLOB_FILES Gauge "" "ironstone_blob_files" "Live blob files";
    BLOB_BYTES Gauge "By" "ironstone_blob_bytes" "Bytes of live blob files";
    BLOB_GARBAGE Gauge "By" "ironstone_blob_garbage_bytes" "Bytes of live blob files that no entry points to";
    CACHE_CAPACITY Gauge "By" "ironstone_block_cache_capacity_bytes" "Limit of the block cache";
    CACHE_USAGE Gauge "By" "ironstone_block_cache_bytes" "Bytes in the block cache by role";
    CACHE_PINNED Gauge "By" "ironstone_block_cache_pinned_bytes" "Bytes in the block cache that readers hold";
    STALLS Counter "" "ironstone_stalls" "How often a limit began to delay or to stop writes";
    REASON_JOBS Counter "" "ironstone_reason_jobs" "Finished flushes and compactions by reason";
    REASON_WRITTEN Counter "By" "ironstone_reason_written_bytes" "Bytes that flushes and compactions wrote, by reason";
    LEVEL_FILES Gauge "" "ironstone_level_files" "SST files of a level";
    LEVEL_BYTES Gauge "By" "ironstone_level_bytes" "Bytes of the SST files of a level";
    LEVEL_COMPACTING Gauge "" "ironstone_level_compacting_files" "Files of a level that a compaction reads now";
    JOBS Counter "" "ironstone_jobs" "Jobs that wrote to a level";
    JOB_TIME Counter "us" "ironstone_job_microseconds" "Time of the jobs that wrote to a level";
    JOB_READ Counter "By" "ironstone_job_read_bytes" "Bytes that the jobs of a level read";
    JOB_WRITTEN Counter "By" "ironstone_job_written_bytes" "Bytes that the jobs of a level wrote";
    JOB_MOVED Counter "By" "ironstone_job_moved_bytes" "Bytes of files moved to a level unchanged";
    JOB_INPUT Counter "" "ironstone_job_input_entries" "Entries that the jobs of a level read";
    JOB_DROPPED Counter "" "ironstone_job_dropped_entries" "Entries that the jobs of a level dropped";
}

type Labels = Vec<(&'static str, String)>;

/// Collects samples with common labels.
struct Samples {
    out: Vec<Sample>,
    common: Labels,
}

impl Samples {
    fn add(&mut self, description: &'static Description, value: u64) {
        self.labelled(description, &[], value);
    }

    fn labelled(&mut self, description: &'static Description, own: &[(&'static str, &str)], value: u64) {
        let own = own.iter().map(|(name, value)| (*name, (*value).to_string()));
        let labels = self.common.iter().cloned().chain(own).collect();
        self.out.push(Sample { description, labels, value });
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

impl Metrics {
    /// Returns the metrics as samples. The samples of one metric are adjacent, in the order of [`Description::ALL`].
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// let samples = db.metrics().samples();
    /// let files = samples.iter().find(|sample| sample.description.name == "ironstone_level_files");
    /// assert_eq!(files.unwrap().labels, [("column_family", "default".to_string()), ("level", "0".to_string())]);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn samples(&self) -> Vec<Sample> {
        let mut samples = Samples { out: Vec::new(), common: Vec::new() };
        of_database(&mut samples, &self.database);
        for operation in &self.operations {
            samples.common = vec![("operation", operation.operation.name().to_string())];
            of_operation(&mut samples, operation);
        }
        for family in &self.families {
            samples.common = vec![("column_family", family.name.clone())];
            of_family(&mut samples, family);
            for level in &family.levels {
                samples.common.truncate(1);
                samples.common.push(("level", level.level.get().to_string()));
                of_level(&mut samples, level);
            }
        }
        let position = |sample: &Sample| Description::ALL.iter().position(|d| *d == sample.description);
        samples.out.arrange_by_key(position);
        samples.out
    }
}

fn of_database(samples: &mut Samples, of: &DatabaseMetrics) {
    for (description, value) in [
        (UPTIME, of.uptime.as_secs()),
        (WAL_BYTES, of.wal_bytes),
        (WAL_SYNCS, of.wal_syncs),
        (USER_BYTES, of.user_bytes),
        (USER_KEYS, of.user_keys),
        (GROUPS, of.write_groups),
        (BY_OTHER, of.writes_by_other),
        (STALL_TIME, micros(of.stall_time)),
        (BUFFER_STOPS, of.write_buffer_stops),
        (FLUSHES, of.running_flushes),
        (COMPACTIONS, of.running_compactions),
        (STOPPED, u64::from(of.write_stopped)),
        (DELAYED, of.delayed_write_rate),
        (SNAPSHOTS, of.snapshots),
        (ERRORS, of.background_errors),
        (OBSOLETE, of.obsolete_bytes),
        (READERS, of.table_reader_bytes),
    ] {
        samples.add(description, value);
    }
}

fn of_operation(samples: &mut Samples, of: &OperationMetrics) {
    let median = of.median.map_or(0, |median| u64::try_from(median.as_nanos()).unwrap_or(u64::MAX));
    samples.add(MEDIAN, median);
    samples.add(SLOW, of.slow);
    for (cause, time) in &of.slow_time {
        samples.labelled(SLOW_TIME, &[("cause", cause.name())], micros(*time));
    }
}

fn of_family(samples: &mut Samples, of: &FamilyMetrics) {
    for (description, value) in [
        (ACTIVE, of.active_memtable_bytes),
        (IMMUTABLE, of.immutable_memtable_bytes),
        (PINNED, of.pinned_memtable_bytes),
        (MEMTABLES, of.immutable_memtables),
        (FLUSHED, of.flushed_bytes),
        (PENDING, of.pending_compaction_bytes),
        (KEYS, of.estimated_keys),
        (VERSIONS, of.live_versions),
        (BLOB_FILES, of.blob_files),
        (BLOB_BYTES, of.blob_bytes),
        (BLOB_GARBAGE, of.blob_garbage_bytes),
    ] {
        samples.add(description, value);
    }
    if let Some(cache) = &of.block_cache {
        samples.add(CACHE_CAPACITY, cache.capacity);
        samples.add(CACHE_PINNED, cache.pinned);
        for (role, bytes) in &cache.roles {
            samples.labelled(CACHE_USAGE, &[("role", role)], *bytes);
        }
    }
    for stall in &of.stalls {
        samples.labelled(STALLS, &[("cause", stall.cause), ("condition", "delayed")], stall.delays);
        samples.labelled(STALLS, &[("cause", stall.cause), ("condition", "stopped")], stall.stops);
    }
    for of in &of.reasons {
        let labels = [("job", of.job), ("cause", of.reason)];
        samples.labelled(REASON_JOBS, &labels, of.jobs);
        samples.labelled(REASON_WRITTEN, &labels, of.written_bytes);
    }
}

fn of_level(samples: &mut Samples, of: &LevelMetrics) {
    for (description, value) in [
        (LEVEL_FILES, of.files),
        (LEVEL_BYTES, of.bytes),
        (LEVEL_COMPACTING, of.compacting_files),
        (JOBS, of.jobs),
        (JOB_TIME, micros(of.job_time)),
        (JOB_READ, of.read_bytes),
        (JOB_WRITTEN, of.written_bytes),
        (JOB_MOVED, of.moved_bytes),
        (JOB_INPUT, of.input_entries),
        (JOB_DROPPED, of.dropped_entries),
    ] {
        samples.add(description, value);
    }
}
