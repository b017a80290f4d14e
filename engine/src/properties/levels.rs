//! `cfstats`: flushes and compactions by level of a column family, and its write stalls.

use base::Level;
use std::collections::BTreeMap;

use lsm::version::{BlobTotals, Version};

use super::human::{bytes, gb, mb, number};
use super::{PropertyContext, cache, scores};
use crate::family::Family;
use crate::stats::{FamilyNumbers, Ingested, LevelNumbers, StallCounts};

/// A row of the table: the statistics of a level or of all levels, and the present files.
#[derive(Default)]
struct Row {
    files: usize,
    compacting: usize,
    size: u64,
    score: f64,
    write_amp: f64,
    numbers: LevelNumbers,
}

const COLUMNS: &str = "Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) WPreComp(GB) Wnew(GB) Moved(GB) W-Amp \
     Rd(MB/s) Wr(MB/s) Comp(sec) CompMergeCPU(sec) Comp(cnt) Avg(sec) KeyIn KeyDrop Rblob(GB) Wblob(GB)";

fn blob_line(family: &Family) -> String {
    let totals = BlobTotals::of(family.pin().version.blobs());
    format!(
        "\nBlob file count: {}, total size: {:.1} GB, garbage size: {:.1} GB, space amp: {:.1}\n\n",
        totals.files,
        gb(totals.file_bytes),
        gb(totals.garbage_bytes),
        totals.space_amplification()
    )
}

/// Returns the table and the sums below the table. With `periodic`, starts a new interval.
pub(super) fn text(context: &PropertyContext<'_>, family: &Family, periodic: bool) -> String {
    let mut numbers = family.stats.lock().clone();
    let (rows, sum) = rows(context, family, &numbers);
    let mut out = header(family.name(), "Level");
    for (level, row) in &rows {
        out += &line(&level.to_string(), row);
    }
    let total = sum.numbers;
    out += &line("Sum", &sum);
    let (last_uptime, last_flushed, last_total, last_stalls) = numbers.last_dump;
    let flushed = numbers.bytes_flushed;
    let recent = total.since(&last_total);
    // A reset of the statistics lowers the counters below those of the last dump.
    let recent_ingested = numbers.ingested.bytes.saturating_sub(numbers.last_ingested.bytes);
    let recent_flushed = flushed.saturating_sub(last_flushed);
    let write_amp = recent.bytes_written_all() as f64 / (recent_flushed + recent_ingested + 1) as f64;
    out += &line("Int", &Row { write_amp, numbers: recent, ..Row::default() });
    out += &header(family.name(), "Priority");
    for (pool, of_pool) in ["Bottom", "Low", "High", "User"].iter().zip(&numbers.by_pool) {
        if of_pool.micros > 0 {
            out += &line(pool, &Row { numbers: *of_pool, ..Row::default() });
        }
    }
    out += &blob_line(family);
    let uptime = context.stats.uptime_s();
    let interval = uptime - last_uptime;
    out += &format!("Uptime(secs): {uptime:.1} total, {interval:.1} interval\n");
    out += &format!("Flush(GB): cumulative {:.3}, interval {:.3}\n", gb(flushed), gb(recent_flushed));
    out += &ingested_lines(&numbers.ingested, &numbers.last_ingested);
    out += &compaction_line("Cumulative", &total, uptime);
    out += &compaction_line("Interval", &recent, interval);
    let pending = scores(context, &family.pin()).estimated_pending_bytes;
    out += &format!("Estimated pending compaction bytes: {pending}\n");
    out += &stall_line(&stall_map(&numbers.stalls));
    let stalls = numbers.stalls.delays() + numbers.stalls.stops();
    if stalls > 0 {
        // A reset of the statistics lowers the counters below those of the last dump.
        out += &format!("interval: {} total count\n", stalls.saturating_sub(last_stalls));
    }
    if periodic {
        numbers.last_dump = (uptime, flushed, total, stalls);
        let mut totals = family.stats.lock();
        (totals.last_dump, totals.last_ingested) = (numbers.last_dump, numbers.ingested);
    }
    out + &cache::text(family).unwrap_or_default()
}

/// Returns the `AddFile` lines: files that were ingested since the open and since the last dump.
fn ingested_lines(all: &Ingested, before: &Ingested) -> String {
    // A reset of the statistics lowers the counters below those of the last dump.
    let recent = |now: u64, then: u64| now.saturating_sub(then);
    let mut out = format!(
        "AddFile(GB): cumulative {:.3}, interval {:.3}\n",
        gb(all.bytes),
        gb(recent(all.bytes, before.bytes))
    );
    for (what, now, then) in [
        ("Total Files", all.files, before.files),
        ("L0 Files", all.l0_files, before.l0_files),
        ("Keys", all.keys, before.keys),
    ] {
        out += &format!("AddFile({what}): cumulative {now}, interval {}\n", recent(now, then));
    }
    out
}

fn compaction_line(what: &str, n: &LevelNumbers, seconds: f64) -> String {
    let (read, written) = (n.bytes_read_all(), n.bytes_written_all());
    let seconds = seconds.max(0.001);
    format!(
        "{what} compaction: {:.2} GB write, {:.2} MB/s write, {:.2} GB read, {:.2} MB/s read, {:.1} seconds\n",
        gb(written),
        mb(written) / seconds,
        gb(read),
        mb(read) / seconds,
        n.micros as f64 / 1e6
    )
}

/// Returns a row for each level that has files or had jobs, and the row of the sums.
fn rows(context: &PropertyContext<'_>, family: &Family, numbers: &FamilyNumbers) -> (Vec<(Level, Row)>, Row) {
    let pinned = family.pin();
    let version = &pinned.version;
    let scores = scores(context, &pinned);
    let mut rows = Vec::new();
    let mut sum = Row::default();
    // The bytes that came into the levels from outside: by flushes and ingestions.
    let came = numbers.bytes_flushed + numbers.ingested.bytes;
    for level in version.levels() {
        let files = version.level(level);
        let compacting = files.iter().filter(|f| f.being_compacted()).count();
        sum.files += files.len();
        sum.compacting += compacting;
        let own = numbers.level(level);
        if own.micros == 0 && own.cpu_micros == 0 && files.is_empty() {
            continue;
        }
        sum.numbers = sum.numbers.plus(&own);
        sum.size += files.bytes();
        let input =
            if level == Level::ZERO { came } else { own.bytes_read_non_output_levels + own.bytes_read_blob };
        let score = if level < version.last_level() { scores.of(level) } else { 0.0 };
        let row = Row {
            files: files.len(),
            compacting,
            size: files.bytes(),
            score,
            write_amp: share(own.bytes_written_all(), input),
            numbers: own,
        };
        rows.push((level, row));
    }
    base::invariant!(
        sum.compacting <= sum.files && rows.len() <= version.num_levels(),
        "{} of {} files are compacted, in {} of {} levels",
        sum.compacting,
        sum.files,
        rows.len(),
        version.num_levels()
    );
    sum.write_amp = share(sum.numbers.bytes_written_all(), came);
    (rows, sum)
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn header(family: &str, group_by: &str) -> String {
    let columns = format!("{group_by}    {COLUMNS}\n");
    format!("\n** Compaction Stats [{family}] **\n{columns}{}\n", "-".repeat(columns.len()))
}

/// Returns the values of a row with their names in the map property, in the order of the table.
fn figures(row: &Row) -> [(&'static str, f64); 22] {
    let n = &row.numbers;
    let read = n.bytes_read_all();
    let seconds = (n.micros + 1) as f64 / 1e6;
    let gigabytes = |bytes: u64| bytes as f64 / 1_073_741_824.0;
    let new = (n.bytes_written as f64 - n.bytes_read_output_level as f64) / 1_073_741_824.0;
    [
        ("NumFiles", row.files as f64),
        ("CompactedFiles", row.compacting as f64),
        ("SizeBytes", row.size as f64),
        ("Score", row.score),
        ("ReadGB", gigabytes(read)),
        ("RnGB", gigabytes(n.bytes_read_non_output_levels)),
        ("Rnp1GB", gigabytes(n.bytes_read_output_level)),
        ("WriteGB", gigabytes(n.bytes_written)),
        ("WPreCompGB", gigabytes(n.bytes_written_pre_compression)),
        ("WnewGB", new),
        ("MovedGB", gigabytes(n.bytes_moved)),
        ("WriteAmp", row.write_amp),
        ("ReadMBps", mb(read) / seconds),
        ("WriteMBps", mb(n.bytes_written_all()) / seconds),
        ("CompSec", n.micros as f64 / 1e6),
        ("CompMergeCPU", n.cpu_micros as f64 / 1e6),
        ("CompCount", n.count as f64),
        ("AvgSec", if n.count == 0 { 0.0 } else { n.micros as f64 / 1e6 / n.count as f64 }),
        ("KeyIn", n.num_input_records as f64),
        ("KeyDrop", n.num_dropped_records as f64),
        ("RblobGB", gigabytes(n.bytes_read_blob)),
        ("WblobGB", gigabytes(n.bytes_written_blob)),
    ]
}

fn line(name: &str, row: &Row) -> String {
    let f = figures(row).map(|(_, value)| value);
    format!(
        "{name:>4} {:6}/{:<3} {:>10} {:5.1} {:8.1} {:7.1} {:8.1} {:9.1} {:9.1} {:8.1} {:9.1} {:5.1} {:8.1} {:8.1} \
         {:9.2} {:17.2} {:9} {:8.3} {:>7} {:>6} {:9.1} {:9.1}\n",
        row.files,
        row.compacting,
        bytes(row.size),
        f[3],
        f[4],
        f[5],
        f[6],
        f[7],
        f[8],
        f[9],
        f[10],
        f[11],
        f[12],
        f[13],
        f[14],
        f[15],
        row.numbers.count,
        f[17],
        number(row.numbers.num_input_records),
        number(row.numbers.num_dropped_records),
        f[20],
        f[21]
    )
}

/// Returns the map property: `compaction.L0.NumFiles` and so on, and the counts of write stalls.
pub(super) fn map(context: &PropertyContext<'_>, family: &Family) -> BTreeMap<String, String> {
    let numbers = family.stats.lock().clone();
    let (rows, sum) = rows(context, family, &numbers);
    let mut map = stall_map(&numbers.stalls);
    let named =
        rows.into_iter().map(|(level, row)| (level.to_string(), row)).chain([("Sum".to_string(), sum)]);
    for (level, row) in named {
        for (name, value) in figures(&row) {
            map.insert(format!("compaction.{level}.{name}"), format!("{value:.6}"));
        }
    }
    map
}

pub(super) fn stall_map(stalls: &StallCounts) -> BTreeMap<String, String> {
    let mut map = BTreeMap::new();
    let causes = ["memtable-limit", "l0-file-count-limit", "pending-compaction-bytes"];
    for (cause, (delays, stops)) in causes.iter().zip(stalls.causes) {
        map.insert(format!("{cause}-delays"), delays.to_string());
        map.insert(format!("{cause}-stops"), stops.to_string());
    }
    for (name, count) in [
        ("cf-l0-file-count-limit-delays-with-ongoing-compaction", stalls.l0_delays_while_compacting),
        ("cf-l0-file-count-limit-stops-with-ongoing-compaction", stalls.l0_stops_while_compacting),
        ("total-delays", stalls.delays()),
        ("total-stops", stalls.stops()),
    ] {
        map.insert(name.to_string(), count.to_string());
    }
    map
}

pub(super) fn stall_text(family: &Family) -> String {
    stall_line(&stall_map(&family.stats.lock().stalls))
}

pub(super) fn stall_line(counts: &BTreeMap<String, String>) -> String {
    let list: Vec<String> = counts.iter().map(|(name, count)| format!("{name}: {count}")).collect();
    format!("Write Stall (count): {}\n", list.join(", "))
}

/// Returns only the title. Read times by level are not measured. RocksDB prints the same if it has read nothing.
pub(super) fn histogram(family: &Family) -> String {
    format!("\n** File Read Latency Histogram By Level [{}] **\n", family.name())
}

pub(super) fn files_and_sizes(family: &Family) -> String {
    let mut out = String::from("Level Files Size(MB)\n--------------------\n");
    let version = &family.pin().version;
    for level in version.levels() {
        let files = version.level(level);
        out += &format!("{:3} {:8} {:8.0}\n", level.get(), files.len(), mb(files.bytes()));
    }
    out
}

/// Returns the bytes of keys and values divided by the bytes of the files. Returns -1 if no sizes are known.
pub(super) fn compression_ratio(version: &Version, level: Level) -> f64 {
    let (mut raw, mut stored) = (0u64, 0u64);
    for file in version.level(level).iter() {
        let size = file.stats().map_or(0, |s| s.raw_key_size + s.raw_value_size);
        if size > 0 {
            raw += size;
            stored += file.size;
        }
    }
    if stored == 0 { -1.0 } else { raw as f64 / stored as f64 }
}
