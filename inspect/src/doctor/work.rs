//! Rules about the work of the process: the WAL, the info log, the MANIFEST, threads, and the speed of jobs.

use super::finding::{Finding, Severity};
use super::{db_number, flag};
use crate::model::{Database, FileKind, JobKind};
use crate::words;

const MIB: f64 = 1_048_576.0;

/// Jobs that write slower than this are reported.
const JOB_RATE_MIN: f64 = 2.0 * MIB;

/// With less time in all jobs, the speed of jobs is not reported.
const JOB_SECONDS_MIN: f64 = 5.0;

/// With fewer syncs, the writes for each sync are not reported.
const SYNCS_MIN: u64 = 1000;

pub(super) fn database(db: &Database) -> Vec<Finding> {
    let mut out: Vec<Finding> = [slow_jobs, sync_each_write, archive, timed_mutexes]
        .iter()
        .filter_map(|rule: &fn(&Database) -> Option<Finding>| rule(db))
        .collect();
    if db.knows_options() {
        let rules: [fn(&Database) -> Option<Finding>; 10] = [
            many_threads,
            frequent_dumps,
            debug_lines,
            small_info_logs,
            small_manifest,
            small_file_buffer,
            memory_maps,
            strict_recovery,
            unchecked_files,
            many_families,
        ];
        out.extend(rules.iter().filter_map(|rule| rule(db)));
    }
    out
}

/// Returns a finding whose evidence is one option and the size of the database.
fn of_option(db: &Database, rule: &'static str, title: &str, option: &str) -> Finding {
    let value = db.db_option(option).unwrap_or_default();
    Finding::new(rule, Severity::Advice, title.to_string())
        .evidence(format!("{option}={value}"))
        .evidence(format!("{} of data", words::bytes(db.data_bytes())))
}

/// Reports flushes and compactions that write slowly because of a rate limit. Without a rate limit, a loaded machine can be the cause,
/// and no setting changes this.
fn slow_jobs(db: &Database) -> Option<Finding> {
    let spent = |kind| -> f64 {
        let jobs = db.log.jobs.iter().filter(move |job| job.kind == kind);
        jobs.map(|job| job.end_micros.saturating_sub(job.start_micros) as f64 / 1e6).sum()
    };
    let seconds = spent(JobKind::Flush) + spent(JobKind::Compaction);
    let bytes: u64 = db.log.jobs.iter().map(|job| job.output_bytes).sum();
    let rate = bytes as f64 / seconds;
    let is_limited = db.log.stats.has_rate_limiter == Some(true);
    if !is_limited || seconds < JOB_SECONDS_MIN || bytes as f64 <= MIB || rate >= JOB_RATE_MIN {
        return None;
    }
    let title = format!("Flushes and compactions write only {}/s", words::bytes(rate as u64));
    Some(
        Finding::new("slow-jobs", Severity::Warning, title)
            .evidence(format!("{} written in {seconds:.0} seconds of jobs", words::bytes(bytes)))
            .evidence("the database has a rate limiter")
            .cost("Memtables and level 0 fill faster than jobs empty them, so writers wait.")
            .action("Raise the bytes per second of the rate limiter to at least half of what the disk writes, or remove the rate limiter."),
    )
}

/// Reports writes without WAL. Only a dump of statistics shows them.
pub(super) fn no_wal(db: &Database) -> Option<Finding> {
    let (writes, logged) = (db.log.stats.writes?, db.log.stats.wal_writes?);
    if writes < 1000 || logged * 10 > writes {
        return None;
    }
    let mut finding =
        Finding::new("no-wal", Severity::Critical, "Writes skip the WAL: a crash loses them".to_string())
            .evidence(format!(
                "{} writes, {} of them in the WAL",
                words::count(writes),
                words::count(logged)
            ));
    if flag(db, "avoid_flush_during_shutdown") == Some(true) {
        finding = finding.evidence("avoid_flush_during_shutdown=true: a close loses them too");
    }
    Some(finding.cost("All writes since the last flush exist only in memory.").action(
        "Write with WriteOptions::disableWAL = false, or flush at each point that must survive a crash.",
    ))
}

fn sync_each_write(db: &Database) -> Option<Finding> {
    let (per_sync, syncs) = (db.log.stats.writes_per_sync?, db.log.stats.wal_syncs?);
    if syncs < SYNCS_MIN || per_sync > 1.5 {
        return None;
    }
    Some(
        Finding::new("sync-each-write", Severity::Advice, "Each write waits for its own sync".to_string())
            .evidence(format!("{} syncs, {per_sync:.2} writes for each sync", words::count(syncs)))
            .cost("A sync takes longer than the write. The disk, not the database, limits the writes.")
            .action("Put several changes into one WriteBatch, or write from several threads: writes of one group share a sync."),
    )
}

/// The level `kAll` of statistics.
const STATS_LEVEL_ALL: u64 = 5;

/// Reports statistics that measure the wait for each mutex.
fn timed_mutexes(db: &Database) -> Option<Finding> {
    if db.log.stats.stats_level? < STATS_LEVEL_ALL {
        return None;
    }
    let title = "Statistics measure the time of each mutex".to_string();
    Some(
        Finding::new("statistics-level", Severity::Advice, title)
            .evidence("Options.statistics stats level: 5, which is kAll")
            .evidence(format!("{} of data", words::bytes(db.data_bytes())))
            .cost("Each lock of a mutex reads the clock twice. With several threads, all operations become slower.")
            .action("Set the level kExceptDetailedTimers: call set_stats_level of the statistics, at any time."),
    )
}

/// Reports archived WALs that use much space.
fn archive(db: &Database) -> Option<Finding> {
    let archived: Vec<_> = db.files.iter().filter(|file| file.kind == FileKind::ArchivedWal).collect();
    let bytes: u64 = archived.iter().map(|file| file.size).sum();
    if bytes < super::SMALL_BYTES || bytes * 4 < db.sst_bytes() {
        return None;
    }
    let option = |name: &str| format!("{name}={}", db.db_option(name).unwrap_or_default());
    Some(
        Finding::new("archived-wals", Severity::Advice, "Archived WALs use much space".to_string())
            .evidence(format!(
                "{} with {}",
                words::of(archived.len() as u64, "archived WAL"),
                words::bytes(bytes)
            ))
            .evidence(option("WAL_ttl_seconds"))
            .evidence(option("WAL_size_limit_MB"))
            .evidence(format!("the SST files have {}", words::bytes(db.sst_bytes())))
            .cost("An archived WAL is only for readers of GetUpdatesSince. No recovery needs it.")
            .reopen("WAL_ttl_seconds=0;WAL_size_limit_MB=0"),
    )
}

fn many_threads(db: &Database) -> Option<Finding> {
    let (jobs, parts) = (db_number(db, "max_background_jobs")?, db_number(db, "max_subcompactions")?);
    if jobs <= 64.0 && parts <= 32.0 {
        return None;
    }
    Some(
        Finding::new(
            "many-threads",
            Severity::Advice,
            "Background jobs may use very many threads".to_string(),
        )
        .evidence(format!("max_background_jobs={jobs}"))
        .evidence(format!("max_subcompactions={parts}"))
        .cost("Jobs take the processors and the disk from readers and writers.")
        .live("max_background_jobs=16;max_subcompactions=4"),
    )
}

fn frequent_dumps(db: &Database) -> Option<Finding> {
    let period = db_number(db, "stats_dump_period_sec")?;
    if !(1.0..=30.0).contains(&period) {
        return None;
    }
    let title = "Statistics are written into the info log very often";
    Some(
        of_option(db, "frequent-statistics", title, "stats_dump_period_sec")
            .cost("Each dump takes the lock of the database and writes some kilobytes. The info log has little room for other messages.")
            .live("stats_dump_period_sec=600"),
    )
}

fn debug_lines(db: &Database) -> Option<Finding> {
    let level = db.db_option("info_log_level")?;
    let (title, cost) = match level.trim() {
        "DEBUG_LEVEL" => (
            "The info log has messages for debugging",
            "Messages are written during reads and writes, and the info log fills the disk.",
        ),
        "FATAL_LEVEL" | "HEADER_LEVEL" => (
            "The info log has no warnings and no errors",
            "Nobody sees why writers were stalled or why a job failed.",
        ),
        _ => return None,
    };
    Some(
        of_option(db, "info-log-level", title, "info_log_level")
            .cost(cost)
            .reopen("info_log_level=INFO_LEVEL"),
    )
}

fn small_info_logs(db: &Database) -> Option<Finding> {
    let size = db_number(db, "max_log_file_size")?;
    if !(1.0..=65_536.0).contains(&size) {
        return None;
    }
    let title = "The info log starts a new file very often";
    Some(
        of_option(db, "small-info-logs", title, "max_log_file_size")
            .evidence(format!("{} exist", words::of(db.count_of(FileKind::InfoLog) as u64, "info log")))
            .cost("A file holds a few messages. The directory has very many files, and the history of a fault is short.")
            .reopen("max_log_file_size=16777216;keep_log_file_num=4"),
    )
}

fn small_manifest(db: &Database) -> Option<Finding> {
    let size = db_number(db, "max_manifest_file_size")?;
    if size >= 65_536.0 {
        return None;
    }
    let title = "The MANIFEST is written anew very often";
    Some(
        of_option(db, "small-manifest", title, "max_manifest_file_size")
            .cost("A flush or a compaction may have to write and sync the list of all files before it ends.")
            .live("max_manifest_file_size=1073741824"),
    )
}

fn small_file_buffer(db: &Database) -> Option<Finding> {
    let size = db_number(db, "writable_file_max_buffer_size")?;
    if size >= 65_536.0 {
        return None;
    }
    let title = "SST files are written in small pieces";
    Some(
        of_option(db, "small-file-buffer", title, "writable_file_max_buffer_size")
            .cost("A flush or a compaction makes many calls of the system for each megabyte.")
            .live("writable_file_max_buffer_size=1048576"),
    )
}

/// Reports memory maps. Plain and cuckoo tables are made for mapped reads.
fn memory_maps(db: &Database) -> Option<Finding> {
    let is_block_based = |family: &crate::model::Family| {
        db.family_option(&family.name, "table_factory").is_none_or(|name| name.contains("BlockBased"))
    };
    let (option, cost) = if flag(db, "allow_mmap_writes") == Some(true) {
        (
            "allow_mmap_writes",
            "Writes through memory maps cause page faults and random writes to the disk. A full disk ends the process.",
        )
    } else if flag(db, "allow_mmap_reads") == Some(true) && db.families.iter().all(is_block_based) {
        (
            "allow_mmap_reads",
            "Each first use of a page waits for the disk, without a limit and without read-ahead. Compressed blocks gain nothing.",
        )
    } else {
        return None;
    };
    let title = "Files are accessed through memory maps";
    Some(of_option(db, "memory-maps", title, option).cost(cost).reopen(format!("{option}=false")))
}

fn strict_recovery(db: &Database) -> Option<Finding> {
    if db.db_option("wal_recovery_mode")?.trim() != "kAbsoluteConsistency" {
        return None;
    }
    let title = "After a crash during a write, the database does not open";
    Some(
        of_option(db, "strict-recovery", title, "wal_recovery_mode")
            .cost("A crash often cuts the last record of the WAL. This mode takes the cut for damage and fails the open.")
            .reopen("wal_recovery_mode=kPointInTimeRecovery"),
    )
}

fn unchecked_files(db: &Database) -> Option<Finding> {
    let has_option = db.release().is_some_and(|release| release >= (7, 6));
    if !has_option || flag(db, "verify_sst_unique_id_in_manifest") != Some(false) {
        return None;
    }
    let title = "An open does not notice exchanged SST files";
    Some(
        of_option(db, "unchecked-files", title, "verify_sst_unique_id_in_manifest")
            .cost("If a restore or a copy puts a wrong file under a number, reads return wrong data.")
            .reopen("verify_sst_unique_id_in_manifest=true"),
    )
}

/// Reports a very large number of column families.
fn many_families(db: &Database) -> Option<Finding> {
    let count = db.families.len() as u64;
    if count < 100 {
        return None;
    }
    Some(
        Finding::new("many-column-families", Severity::Advice, format!("There are {} column families", words::count(count)))
            .evidence(format!("{} on average", words::bytes(db.sst_bytes() / count)))
            .evidence(format!("{} in total", words::of(db.sst_count() as u64, "SST file")))
            .cost("Each column family has its own memtables, files and compactions. A full WAL flushes many small memtables.")
            .action("Put small column families into one column family, with a prefix of the key for each."),
    )
}
