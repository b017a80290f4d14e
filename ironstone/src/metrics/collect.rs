//! Reads the metrics from the engine.

use std::time::Duration;

use base::Level;
use base::stats::{Cause, OperationKind};
use engine::stats::{DatabaseCounter, StallCause};
use mem::cache::Role;

use super::{
    BlockCacheMetrics, DatabaseMetrics, FamilyMetrics, LevelMetrics, Metrics, OperationMetrics,
    ReasonMetrics, StallMetrics,
};
use crate::{Db, Family};

const STALLS: [(StallCause, &str); 3] = [
    (StallCause::MemtableLimit, "memtable-limit"),
    (StallCause::L0FileCountLimit, "l0-file-count-limit"),
    (StallCause::PendingCompactionBytes, "pending-compaction-bytes"),
];

impl Db {
    /// Returns the metrics of the database: by column family, level, operation and cause.
    ///
    /// Cost: proportional to the number of SST files, because the pending compaction bytes are computed. No I/O.
    ///
    /// ```
    /// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
    /// db.put(b"k", b"v")?;
    /// db.flush()?;
    /// let metrics = db.metrics();
    /// assert_eq!(metrics.database.user_keys, 1);
    /// assert_eq!(metrics.families[0].levels[0].files, 1);
    /// # Ok::<(), ironstone::Error>(())
    /// ```
    pub fn metrics(&self) -> Metrics {
        Metrics {
            database: database(self),
            operations: OperationKind::ALL.iter().map(|kind| operation(self, *kind)).collect(),
            families: self.families().iter().map(family).collect(),
        }
    }
}

fn database(db: &Db) -> DatabaseMetrics {
    let stats = db.engine().stats();
    let count = |counter| stats.database.get(counter);
    // Each column family reports these numbers of the whole database.
    let property = |name: &str| db.int_property(name).unwrap_or(0);
    DatabaseMetrics {
        uptime: Duration::from_secs_f64(stats.uptime_s()),
        wal_bytes: count(DatabaseCounter::WalBytes),
        wal_syncs: count(DatabaseCounter::WalSyncs),
        user_bytes: count(DatabaseCounter::UserBytes),
        user_keys: count(DatabaseCounter::UserKeys),
        write_groups: count(DatabaseCounter::WritesBySelf),
        writes_by_other: count(DatabaseCounter::WritesByOther),
        stall_time: Duration::from_micros(count(DatabaseCounter::StallMicros)),
        write_buffer_stops: count(DatabaseCounter::BufferManagerStops),
        running_flushes: property("rocksdb.num-running-flushes"),
        running_compactions: property("rocksdb.num-running-compactions"),
        write_stopped: property("rocksdb.is-write-stopped") > 0,
        delayed_write_rate: property("rocksdb.actual-delayed-write-rate"),
        snapshots: property("rocksdb.num-snapshots"),
        background_errors: property("rocksdb.background-errors"),
        obsolete_bytes: property("rocksdb.obsolete-sst-files-size"),
        // Only the database knows its open files, so the cost of a table reader is not known per column family.
        table_reader_bytes: db.int_property("rocksdb.estimate-table-readers-mem").unwrap_or(0),
    }
}

fn operation(db: &Db, operation: OperationKind) -> OperationMetrics {
    let slow = &db.engine().stats().slow;
    let (count, nanos) = slow.totals(operation);
    let of_cause = |cause: &Cause| (*cause, Duration::from_nanos(nanos[cause.number()]));
    OperationMetrics {
        operation,
        median: slow.median_nanos(operation).map(Duration::from_nanos),
        slow: count,
        slow_time: Cause::ALL.iter().map(of_cause).filter(|(_, time)| !time.is_zero()).collect(),
    }
}

fn family(family: &Family) -> FamilyMetrics {
    let property = |name: &str| family.int_property(name).unwrap_or(0);
    let numbers = family.inner().stats.lock().clone();
    let unflushed = property("rocksdb.cur-size-all-mem-tables");
    let active = property("rocksdb.cur-size-active-mem-table");
    let pinned = family.inner().pin_owned();
    let version = &pinned.version;
    let level = |level: Level| {
        let jobs = numbers.level(level);
        let files = version.level(level);
        LevelMetrics {
            level,
            files: files.len() as u64,
            bytes: files.iter().map(|file| file.size).sum(),
            compacting_files: files.iter().filter(|file| file.being_compacted()).count() as u64,
            jobs: jobs.count,
            job_time: Duration::from_micros(jobs.micros),
            read_bytes: jobs.bytes_read_all(),
            written_bytes: jobs.bytes_written_all(),
            moved_bytes: jobs.bytes_moved,
            input_entries: jobs.num_input_records,
            dropped_entries: jobs.num_dropped_records,
        }
    };
    let stalls = STALLS.map(|(cause, name)| {
        let (delays, stops) = numbers.stalls.causes[cause as usize];
        StallMetrics { cause: name, delays, stops }
    });
    let reasons = [("flush", &numbers.flush_reasons), ("compaction", &numbers.compaction_reasons)];
    let reasons = reasons.into_iter().flat_map(|(job, reasons)| {
        reasons.iter().map(move |(reason, of)| ReasonMetrics {
            job,
            reason,
            jobs: of.jobs,
            written_bytes: of.bytes_written,
        })
    });
    let cache = pinned.parts.caches.blocks.as_ref().map(|cache| {
        let usage = cache.role_usage();
        let roles = Role::ALL.iter().map(|role| (role.name(), usage[*role as usize].bytes as u64));
        BlockCacheMetrics {
            capacity: cache.capacity() as u64,
            usage: cache.usage() as u64,
            pinned: cache.pinned_usage() as u64,
            roles: roles.filter(|(_, bytes)| *bytes > 0).collect(),
        }
    });
    FamilyMetrics {
        name: family.name().to_string(),
        active_memtable_bytes: active,
        immutable_memtable_bytes: unflushed.saturating_sub(active),
        pinned_memtable_bytes: property("rocksdb.size-all-mem-tables").saturating_sub(unflushed),
        immutable_memtables: property("rocksdb.num-immutable-mem-table"),
        flushed_bytes: numbers.bytes_flushed,
        pending_compaction_bytes: property("rocksdb.estimate-pending-compaction-bytes"),
        estimated_keys: property("rocksdb.estimate-num-keys"),
        live_versions: property("rocksdb.num-live-versions"),
        blob_files: property("rocksdb.num-blob-files"),
        blob_bytes: property("rocksdb.live-blob-file-size"),
        blob_garbage_bytes: property("rocksdb.live-blob-file-garbage-size"),
        block_cache: cache,
        levels: version.levels().map(level).collect(),
        stalls: stalls.to_vec(),
        reasons: reasons.collect(),
    }
}
