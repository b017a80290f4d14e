//! Rules about single numbers that are far outside of the useful range.
//!
//! A [`Row`] is one rule about one number. Rules that need more than one number are functions.

use super::finding::{Finding, Severity};
use super::{Facts, db_number};
use crate::model::Database;
use crate::words;

const MIB: f64 = 1_048_576.0;
const TIB: f64 = 1_099_511_627_776.0;

/// With fewer SST files, one thread opens them fast enough.
const OPENED_FILES_MIN: usize = 200;

/// The largest useful number of threads that compress blocks in one job. More threads leave no processor for other work.
const COMPRESSION_THREADS_MAX: f64 = 8.0;

/// A hash table of a memtable with fewer buckets is a few long lists.
const BUCKETS_MIN: f64 = 1000.0;

/// Recycled WALs of fewer bytes are not reported.
const RECYCLED_MIN: f64 = 64.0 * MIB;

/// Fewer recycled WALs are not reported: a database with some memtables uses a few of them.
const RECYCLED_FILES_MIN: f64 = 16.0;

/// A limit of the WALs below this many bytes is not reported.
const WAL_LIMIT_MIN: f64 = 16.0 * 1024.0 * MIB;

/// A flush of more memtables is reported.
const MERGED_MEMTABLES_MAX: f64 = 4.0;

/// A rule about one number.
struct Row {
    rule: &'static str,
    severity: Severity,
    option: &'static str,
    is_extreme: fn(f64) -> bool,
    title: &'static str,
    cost: &'static str,
    /// The option text, and true if the database may stay open.
    change: (&'static str, bool),
}

const OF_DATABASE: [Row; 7] = [
    Row {
        rule: "small-write-groups",
        severity: Severity::Warning,
        option: "max_write_batch_group_size_bytes",
        is_extreme: |bytes| bytes < 65_536.0,
        title: "Writers do not share the write of the WAL",
        cost: "A write group ends after a few batches. With several writing threads, each write waits for the WAL writes and the syncs of the others.",
        change: ("max_write_batch_group_size_bytes=1048576", false),
    },
    Row {
        rule: "large-readahead",
        severity: Severity::Advice,
        option: "compaction_readahead_size",
        is_extreme: |bytes| bytes >= 64.0 * MIB,
        title: "A compaction reads very large parts of its inputs",
        cost: "Each input file of each compaction has a buffer of this size. Above some MiB, a larger buffer makes no disk faster.",
        change: ("compaction_readahead_size=2097152", true),
    },
    Row {
        rule: "no-resume",
        severity: Severity::Warning,
        option: "max_bgerror_resume_count",
        is_extreme: |tries| tries == 0.0,
        title: "The database does not continue by itself after a disk error",
        cost: "A full disk or a short network error stops all writes until the application calls Resume, also after the error is over.",
        change: ("max_bgerror_resume_count=2147483647", false),
    },
    Row {
        rule: "frequent-resumes",
        severity: Severity::Advice,
        option: "bgerror_resume_retry_interval",
        is_extreme: |micros| micros < 10_000.0,
        title: "After a disk error, the database retries almost without a pause",
        cost: "Each retry flushes memtables or writes the MANIFEST. Such retries take the disk and the processor, and fill the info log.",
        change: ("bgerror_resume_retry_interval=1000000", false),
    },
    Row {
        rule: "long-spins",
        severity: Severity::Advice,
        option: "write_thread_max_yield_usec",
        is_extreme: |micros| micros >= 10_000.0,
        title: "A waiting writer uses a processor",
        cost: "A writer that waits for its write group calls the scheduler again and again, up to this time. Readers and jobs have less processor time.",
        change: ("write_thread_max_yield_usec=100", false),
    },
    Row {
        rule: "short-info-logs",
        severity: Severity::Advice,
        option: "log_file_time_to_roll",
        is_extreme: |seconds| (1.0..=600.0).contains(&seconds),
        title: "The info log starts a new file every few minutes",
        cost: "The directory has many info logs. keep_log_file_num deletes the old files, so the history of a fault is short.",
        change: ("log_file_time_to_roll=0", false),
    },
    Row {
        rule: "manifest-space",
        severity: Severity::Advice,
        option: "manifest_preallocation_size",
        is_extreme: |bytes| bytes >= 256.0 * MIB,
        title: "Each MANIFEST reserves much disk space",
        cost: "A MANIFEST needs some hundred kilobytes for a thousand SST files. The reserved space is not free for other files.",
        change: ("manifest_preallocation_size=4194304", true),
    },
];

const OF_FAMILY: [Row; 7] = [
    Row {
        rule: "no-readahead",
        severity: Severity::Advice,
        option: "max_auto_readahead_size",
        is_extreme: |bytes| bytes < 8192.0,
        title: "A scan reads block by block",
        cost: "Each block of a scan is a request to the disk. With read-ahead, a long scan has one request for many blocks.",
        change: ("block_based_table_factory={max_auto_readahead_size=262144;}", true),
    },
    Row {
        rule: "large-scan-readahead",
        severity: Severity::Advice,
        option: "max_auto_readahead_size",
        is_extreme: |bytes| bytes >= 64.0 * MIB,
        title: "A long scan reads very large parts of the files",
        cost: "Each iterator has a buffer of this size for each file. A scan that ends early has read most of the buffer for nothing.",
        change: ("block_based_table_factory={max_auto_readahead_size=262144;}", true),
    },
    Row {
        rule: "long-restart-interval",
        severity: Severity::Warning,
        option: "block_restart_interval",
        is_extreme: |entries| entries >= 128.0,
        title: "A lookup steps through a large part of a block",
        cost: "A search in a block ends at a restart point. From there, a lookup decodes the entries one by one.",
        change: ("block_based_table_factory={block_restart_interval=16;}", true),
    },
    Row {
        rule: "compression-samples",
        severity: Severity::Advice,
        option: "sample_for_compression",
        is_extreme: |blocks| (1.0..=16.0).contains(&blocks),
        title: "Many blocks are also compressed on trial",
        cost: "A flush and a compaction compress each sampled block twice more, with a fast and with a slow compression, and write neither result.",
        change: ("sample_for_compression=0", true),
    },
    Row {
        rule: "eager-scan-flush",
        severity: Severity::Warning,
        option: "memtable_op_scan_flush_trigger",
        is_extreme: |entries| (1.0..16.0).contains(&entries),
        title: "A scan that skips a few hidden entries flushes the memtable",
        cost: "Each flush writes a small file into level 0, and each small file needs a compaction.",
        change: ("memtable_op_scan_flush_trigger=0", true),
    },
    Row {
        rule: "few-range-deletions",
        severity: Severity::Warning,
        option: "memtable_max_range_deletions",
        is_extreme: |deletions| (1.0..64.0).contains(&deletions),
        title: "A few range deletions flush the memtable",
        cost: "Each flush writes a small file into level 0, and each small file needs a compaction.",
        change: ("memtable_max_range_deletions=0", true),
    },
    Row {
        rule: "merges-at-writes",
        severity: Severity::Advice,
        option: "max_successive_merges",
        is_extreme: |operands| operands >= 1.0,
        title: "Each merge first searches the memtables for its key",
        cost: "The writer reads and counts the operands of the key, and other writers of the group wait. A read or a compaction merges the operands anyway.",
        change: ("max_successive_merges=0", true),
    },
];

impl Row {
    /// Returns the finding about a value of the option. `held` says how much data the option concerns.
    fn finding(&self, value: f64, held: String) -> Finding {
        let found = Finding::new(self.rule, self.severity, self.title.to_string())
            .evidence(format!("{}={value}", self.option))
            .evidence(held)
            .cost(self.cost);
        match self.change {
            (text, true) => found.live(text),
            (text, false) => found.reopen(text),
        }
    }
}

pub(super) fn database(db: &Database) -> Vec<Finding> {
    let held = format!("{} of data", words::bytes(db.data_bytes()));
    let extreme = OF_DATABASE.iter().filter_map(|row| {
        let value = db_number(db, row.option).filter(|value| (row.is_extreme)(*value))?;
        Some(row.finding(value, held.clone()))
    });
    let rules: [fn(&Database) -> Option<Finding>; 5] =
        [recycled_wals, slow_open, file_searches, table_cache_shards, wal_limit];
    extreme.chain(rules.iter().filter_map(|rule| rule(db))).collect()
}

/// Reports obsolete WALs that are kept for new WALs and need more space than the data.
fn recycled_wals(db: &Database) -> Option<Finding> {
    let files = db_number(db, "recycle_log_file_num")?;
    let buffers = db
        .families
        .iter()
        .filter_map(|family| db.family_option(&family.name, "write_buffer_size")?.parse::<f64>().ok());
    let bytes = files * buffers.fold(0.0, f64::max);
    if files < RECYCLED_FILES_MIN || bytes < RECYCLED_MIN.max(db.data_bytes() as f64) {
        return None;
    }
    let title = format!("Recycled WALs may use {}", words::bytes(bytes as u64));
    Some(
        Finding::new("recycled-wals", Severity::Advice, title)
            .evidence(format!("recycle_log_file_num={files}, and a WAL has about the size of a memtable"))
            .evidence(format!("the whole database has {}", words::bytes(db.data_bytes())))
            .cost("The disk space is never free. A database reuses one obsolete WAL after the other, so a few are enough.")
            .reopen("recycle_log_file_num=4"),
    )
}

/// Reports an open that reads the metadata of many SST files one after the other.
fn slow_open(db: &Database) -> Option<Finding> {
    let threads = db_number(db, "max_file_opening_threads")?;
    let opens_all = db_number(db, "max_open_files").is_some_and(|files| files < 0.0);
    if threads >= 4.0 || !opens_all || db.sst_count() < OPENED_FILES_MIN {
        return None;
    }
    Some(
        Finding::new("slow-open", Severity::Advice, "Few threads open many SST files".to_string())
            .evidence(format!("max_file_opening_threads={threads}"))
            .evidence(words::of(db.sst_count() as u64, "SST file"))
            .cost("The open reads the footer, the index and the properties of each file before the first read or write.")
            .reopen("max_file_opening_threads=16"),
    )
}

/// Reports a table cache with one or two locks. The table cache of Ironstone has no such lock.
fn table_cache_shards(db: &Database) -> Option<Finding> {
    let bits = db_number(db, "table_cache_numshardbits").filter(|bits| (0.0..2.0).contains(bits))?;
    if db.is_ironstone() {
        return None;
    }
    let files = db.db_option("max_open_files").unwrap_or_default();
    Some(
        Finding::new("table-cache-shards", Severity::Advice, "One or two locks protect all open SST files".to_string())
            .evidence(format!("table_cache_numshardbits={bits}"))
            .evidence(format!("{}, max_open_files={files}", words::of(db.sst_count() as u64, "SST file")))
            .cost("With a limit of open files, each lookup takes the lock for each SST file that it visits. Without a limit, opens, flushes and compactions take the lock.")
            .reopen("table_cache_numshardbits=6"),
    )
}

/// Reports a limit of the WALs that is at least 16 GiB and 16 times the size of all memtables. With one column family, the memtables limit the WALs.
fn wal_limit(db: &Database) -> Option<Finding> {
    let limit = db_number(db, "max_total_wal_size")?;
    let number =
        |family: &crate::model::Family, name: &str| db.family_option(&family.name, name)?.parse::<f64>().ok();
    let memtables = db.families.iter().filter_map(|family| {
        Some(number(family, "write_buffer_size")? * number(family, "max_write_buffer_number")?.max(1.0))
    });
    let all: f64 = memtables.sum();
    if db.families.len() < 2 || limit < WAL_LIMIT_MIN.max(16.0 * all) {
        return None;
    }
    Some(
        Finding::new("large-wal-limit", Severity::Advice, format!("WALs may grow to {}", words::bytes(limit as u64)))
            .evidence(format!("max_total_wal_size={limit}"))
            .evidence(format!(
                "all memtables of {} have {}",
                words::of(db.families.len() as u64, "column family"),
                words::bytes(all as u64)
            ))
            .cost("A column family with few writes keeps all WALs since its last flush. These WALs can fill the disk, and an open after a crash replays all of them. With 0, the database chooses the limit: four times the size of all memtables.")
            .live("max_total_wal_size=0"),
    )
}

/// Reports a search for obsolete files at each job. Ironstone deletes obsolete files without a search.
fn file_searches(db: &Database) -> Option<Finding> {
    let micros = db_number(db, "delete_obsolete_files_period_micros")?;
    if db.is_ironstone() || micros >= 10_000_000.0 {
        return None;
    }
    let title = "The directories are searched for obsolete files all the time".to_string();
    Some(
        Finding::new("file-searches", Severity::Advice, title)
            .evidence(format!("delete_obsolete_files_period_micros={micros}"))
            .evidence(format!("{} in the directory", words::of(db.files.len() as u64, "file")))
            .cost("Each flush and each compaction lists all files of the database and compares them with all versions, under the lock of the database.")
            .live("delete_obsolete_files_period_micros=21600000000"),
    )
}

pub(super) fn family(facts: &Facts<'_>) -> Vec<Finding> {
    if !facts.db.knows_options() {
        return Vec::new();
    }
    let held = format!("{} are in this column family", words::bytes(facts.data_bytes()));
    let extreme = OF_FAMILY.iter().filter_map(|row| {
        let value = facts.number(row.option).filter(|value| (row.is_extreme)(*value))?;
        Some(row.finding(value, held.clone()).family(&facts.family.name))
    });
    let rules: [fn(&Facts<'_>) -> Option<Finding>; 9] = [
        few_buckets,
        size_ratio,
        memtable_purges,
        compression_threads,
        file_order,
        unreachable_limits,
        close_limits,
        many_merged_memtables,
        costly_checks,
    ];
    extreme.chain(rules.iter().filter_map(|rule| rule(facts))).collect()
}

/// Reports a memtable whose hash table has a few buckets.
fn few_buckets(facts: &Facts<'_>) -> Option<Finding> {
    let factory = facts.text("memtable_factory")?;
    let buckets = facts.number("memtable_factory.bucket_count")?;
    if !factory.contains("Hash") || buckets >= BUCKETS_MIN {
        return None;
    }
    let name = if factory.contains("LinkList") { "HashLinkListRepFactory" } else { "HashSkipListRepFactory" };
    let title = format!("The hash table of the memtable has {}", words::of(buckets as u64, "bucket"));
    Some(
        facts
            .finding("few-buckets", Severity::Warning, title)
            .evidence(format!("memtable_factory={{id={name};bucket_count={buckets};}}"))
            .evidence(format!("write_buffer_size={}", facts.text("write_buffer_size").unwrap_or_default()))
            .cost("Many prefixes share one bucket, so a write and a lookup search a long list.")
            .reopen(format!("memtable_factory={{id={name};bucket_count=50000;}}")),
    )
}

/// Reports universal compactions that merge sorted runs of very different sizes.
fn size_ratio(facts: &Facts<'_>) -> Option<Finding> {
    let percent = facts.number("compaction_options_universal.size_ratio")?;
    if !facts.is_universal() || percent < 100.0 {
        return None;
    }
    Some(
        facts
            .finding("universal-size-ratio", Severity::Advice, "A small sorted run is merged with a much larger one".to_string())
            .evidence(format!("compaction_options_universal={{size_ratio={percent};}}"))
            .evidence(format!("{} exist", words::of(facts.family.sorted_runs() as u64, "sorted run")))
            .cost("A compaction takes the next sorted run even if it is larger than all runs before it, so large runs are rewritten for little new data.")
            .live("compaction_options_universal={size_ratio=1;}"),
    )
}

/// Ironstone flushes each full memtable, so the rule is about RocksDB.
fn memtable_purges(facts: &Facts<'_>) -> Option<Finding> {
    let share = facts.number("experimental_mempurge_threshold")?;
    if facts.db.is_ironstone() || share <= 0.0 {
        return None;
    }
    Some(
        facts
            .finding("memtable-purges", Severity::Advice, "Full memtables are rewritten in memory".to_string())
            .evidence(format!("experimental_mempurge_threshold={share}"))
            .evidence(format!("{} are in this column family", words::bytes(facts.data_bytes())))
            .cost("The option is experimental. It helps only if most entries of a memtable are overwritten. Otherwise each memtable is copied before its flush.")
            .live("experimental_mempurge_threshold=0"),
    )
}

fn compression_threads(facts: &Facts<'_>) -> Option<Finding> {
    let threads = facts.number("compression_opts.parallel_threads")?;
    if threads <= COMPRESSION_THREADS_MAX {
        return None;
    }
    let jobs = facts.db.db_option("max_background_jobs").unwrap_or_default();
    Some(
        facts
            .finding("compression-threads", Severity::Advice, format!("Each flush and each compaction starts {threads} threads"))
            .evidence(format!("compression_opts={{parallel_threads={threads};}}"))
            .evidence(format!("max_background_jobs={jobs}"))
            .cost("One thread reads and merges the entries. More than a few threads for its compression only wait, or take the processors from readers and writers.")
            .live("compression_opts={parallel_threads=1;}"),
    )
}

/// Reports an order of compactions that rewrites more of the next level than needed.
fn file_order(facts: &Facts<'_>) -> Option<Finding> {
    let order = facts.text("compaction_pri")?;
    let levels = facts.family.levels().iter().filter(|sum| sum.level > base::Level::ZERO).count();
    // kByCompensatedSize was the default before release 6.0.
    let is_choice = facts.db.release().is_some_and(|release| release >= (6, 0));
    let is_costly = matches!(order.as_str(), "kByCompensatedSize" | "kOldestLargestSeqFirst");
    // With one level below level 0, there is no choice between files.
    if !facts.is_leveled() || !is_choice || !is_costly || levels < 2 {
        return None;
    }
    Some(
        facts
            .finding("compaction-order", Severity::Advice, "Compactions also choose files with much overlap".to_string())
            .evidence(format!("compaction_pri={order}"))
            .evidence(format!("{levels} levels below level 0 have files"))
            .cost("A file with little overlap in the next level is cheaper to compact. With keys in random order, the difference is about a third of all compaction writes.")
            .reopen("compaction_pri=kMinOverlappingRatio"),
    )
}

/// Reports limits of the compaction backlog that are almost equal: writers are not delayed before they stop.
fn close_limits(facts: &Facts<'_>) -> Option<Finding> {
    let soft = facts.number("soft_pending_compaction_bytes_limit")?;
    let hard = facts.number("hard_pending_compaction_bytes_limit")?;
    // 0 is no limit.
    if soft <= 0.0 || hard <= 0.0 || hard > 1.25 * soft || !facts.is_leveled() && !facts.is_universal() {
        return None;
    }
    Some(
        facts
            .finding("close-pending-limits", Severity::Warning, "Writers are stopped before they are delayed".to_string())
            .evidence(format!("soft_pending_compaction_bytes_limit={soft}"))
            .evidence(format!("hard_pending_compaction_bytes_limit={hard}"))
            .evidence(format!("{} are in this column family", words::bytes(facts.data_bytes())))
            .cost("The soft limit slows writers down, so that compactions catch up. With equal limits, writers run at full speed and then stop.")
            .live(format!("soft_pending_compaction_bytes_limit={}", (hard / 4.0) as u64)),
    )
}

/// Reports a flush that waits for many memtables.
fn many_merged_memtables(facts: &Facts<'_>) -> Option<Finding> {
    let merged = facts.number("min_write_buffer_number_to_merge")?;
    let size = facts.number("write_buffer_size")?;
    // The rule about late flushes reports a flush that leaves no memtable for writers.
    let is_late = facts.number("max_write_buffer_number").is_some_and(|count| merged + 1.0 >= count);
    if merged <= MERGED_MEMTABLES_MAX || is_late {
        return None;
    }
    Some(
        facts
            .finding("many-merged-memtables", Severity::Advice, format!("A flush waits for {merged} full memtables"))
            .evidence(format!("min_write_buffer_number_to_merge={merged}"))
            .evidence(format!("write_buffer_size={size}"))
            .cost("Each lookup searches each of these memtables, and an open after a crash replays the WALs of all. One larger memtable needs one search.")
            .reopen(format!(
                "min_write_buffer_number_to_merge=1;write_buffer_size={}",
                (merged * size).min(512.0 * MIB).max(size) as u64
            )),
    )
}

/// Reports checks of memory that each read or each new block pays for, and blocks with whole keys.
fn costly_checks(facts: &Facts<'_>) -> Option<Finding> {
    let rows = [
        (
            ("paranoid_memory_checks", "true"),
            ("paranoid-memory-checks", "Each search in a memtable checks the order of the keys"),
            "The check finds bits that the memory of the machine flipped. Each lookup and each insert compares more keys.",
            "paranoid_memory_checks=false",
        ),
        (
            ("verify_compression", "true"),
            ("verified-compression", "Each compressed block is decompressed again"),
            "A flush and a compaction decompress each block that they write. The checksum of the block finds faults of the disk without this.",
            "block_based_table_factory={verify_compression=false;}",
        ),
        (
            ("use_delta_encoding", "false"),
            ("whole-keys", "Blocks store each key whole"),
            "Neighbours in a block share a prefix of their keys. Without delta encoding, each entry stores the prefix again, so blocks hold fewer entries.",
            "block_based_table_factory={use_delta_encoding=true;}",
        ),
    ];
    let ((option, value), (rule, title), cost, change) =
        rows.into_iter().find(|((option, value), ..)| facts.text(option).as_deref() == Some(*value))?;
    Some(
        facts
            .finding(rule, Severity::Advice, title.to_string())
            .evidence(format!("{option}={value}"))
            .evidence(format!("{} are in this column family", words::bytes(facts.data_bytes())))
            .cost(cost)
            .live(change),
    )
}

/// Reports limits of the compaction backlog that this database never reaches. The rule `no-stall-limits` reports limits that are off.
fn unreachable_limits(facts: &Facts<'_>) -> Option<Finding> {
    let soft = facts.number("soft_pending_compaction_bytes_limit")?;
    let hard = facts.number("hard_pending_compaction_bytes_limit")?;
    let held = facts.data_bytes() as f64;
    let is_far = |limit: f64| limit > 16.0 * TIB && limit > 4.0 * held;
    if !facts.is_leveled() && !facts.is_universal() || !is_far(soft) || !is_far(hard) {
        return None;
    }
    Some(
        facts
            .finding("unreachable-limits", Severity::Advice, "Writers do not wait for a backlog of compactions".to_string())
            .evidence(format!("soft_pending_compaction_bytes_limit={soft}"))
            .evidence(format!("hard_pending_compaction_bytes_limit={hard}"))
            .evidence(format!("{} are in this column family", words::bytes(facts.data_bytes())))
            .cost("If writers are faster than compactions, the lower levels become too large, reads become slower and the disk fills, without a warning.")
            .live("soft_pending_compaction_bytes_limit=68719476736;hard_pending_compaction_bytes_limit=274877906944"),
    )
}
