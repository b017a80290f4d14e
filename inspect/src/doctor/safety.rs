//! Rules about options that hide damage or delete data.

use super::finding::{Finding, Severity};
use super::{Facts, SMALL_BYTES};
use crate::model::{Database, FileKind};
use crate::words;

pub(super) fn rules(db: &Database) -> Vec<Finding> {
    if db.data_bytes() < SMALL_BYTES || !db.knows_options() {
        return Vec::new();
    }
    let mut out = Vec::new();
    let wal = words::bytes(db.bytes_of(FileKind::Wal));
    if db.db_option("wal_recovery_mode").as_deref() == Some("kSkipAnyCorruptedRecords") {
        let title = "The recovery skips damaged writes without an error".to_string();
        out.push(
            Finding::new("recovery-skips-damage", Severity::Critical, title)
                .evidence("wal_recovery_mode=kSkipAnyCorruptedRecords")
                .evidence(format!("{wal} of writes are in WALs now"))
                .cost("A damaged WAL loses writes in the middle of the history, and later writes stay.")
                .reopen("wal_recovery_mode=kPointInTimeRecovery"),
        );
    }
    if db.db_option("best_efforts_recovery").as_deref() == Some("true") {
        let title = "An open with missing files recovers an old state without an error".to_string();
        out.push(
            Finding::new("best-efforts-recovery", Severity::Critical, title)
                .evidence("best_efforts_recovery=true")
                .evidence(format!("{wal} of writes are in WALs now"))
                .cost("The open goes back to the newest state whose files all exist. Newer writes are lost, and the application does not notice.")
                .reopen("best_efforts_recovery=false"),
        );
    }
    let is_off = |name: &&str| db.db_option(name).as_deref() == Some("false");
    let unchecked: Vec<&str> = ["flush_verify_memtable_count", "compaction_verify_record_count"]
        .into_iter()
        .filter(is_off)
        .collect();
    if !unchecked.is_empty() {
        let title = "Flushes or compactions do not count their entries".to_string();
        let text = |value: &str| {
            unchecked.iter().map(|name| format!("{name}={value}")).collect::<Vec<_>>().join(";")
        };
        out.push(
            Finding::new("unchecked-counts", Severity::Warning, title)
                .evidence(text("false"))
                .evidence(format!("{} of data", words::bytes(db.data_bytes())))
                .cost("If a fault loses entries of a flush or a compaction, no error is reported. The check only compares two numbers.")
                .reopen(text("true")),
        );
    }
    if db.db_option("paranoid_checks").as_deref() == Some("false") {
        let title = "The database continues to write after it finds damage".to_string();
        out.push(
            Finding::new("paranoid-checks-off", Severity::Warning, title)
                .evidence("paranoid_checks=false")
                .cost("A compaction can spread damage, and the damage is found late.")
                .reopen("paranoid_checks=true"),
        );
    }
    if db.db_option("manual_wal_flush").as_deref() == Some("true") {
        let title =
            "Writes stay in the memory of the process until the application flushes the WAL".to_string();
        out.push(
            Finding::new("manual-wal-flush", Severity::Warning, title)
                .evidence("manual_wal_flush=true")
                .cost("A crash of the process loses all writes since the last FlushWAL.")
                .reopen("manual_wal_flush=false"),
        );
    }
    for facts in db.families.iter().map(|family| Facts { db, family }) {
        if facts.data_bytes() >= SMALL_BYTES {
            out.extend(of_family(&facts));
        }
    }
    out
}

fn of_family(facts: &Facts<'_>) -> Vec<Finding> {
    let mut out = Vec::new();
    if facts.text("checksum").as_deref() == Some("kNoChecksum") {
        let title = "New blocks have no checksum".to_string();
        out.push(
            facts
                .finding("no-checksums", Severity::Critical, title)
                .evidence("checksum=kNoChecksum")
                .evidence(format!("{} are in this column family", words::bytes(facts.family.bytes())))
                .cost("A flipped bit on disk is read as data.")
                .live("block_based_table_factory={checksum=kXXH3;}"),
        );
    }
    // false was the default before release 6.14. Ironstone checks each version edit in any case.
    let is_choice = facts.db.release().is_some_and(|release| release >= (6, 14)) && !facts.db.is_ironstone();
    if is_choice && facts.text("force_consistency_checks").as_deref() == Some("false") {
        let title = "The order of files is not checked".to_string();
        out.push(
            facts
                .finding("consistency-checks-off", Severity::Warning, title)
                .evidence("force_consistency_checks=false")
                .cost("A fault of a compaction can hide keys, and no error is reported.")
                .reopen("force_consistency_checks=true"),
        );
    }
    for name in ["ttl", "periodic_compaction_seconds"] {
        let is_short = facts.number(name).is_some_and(|seconds| seconds > 0.0 && seconds < 86_400.0);
        let is_fifo = facts.text("compaction_style").as_deref() == Some("kCompactionStyleFIFO");
        if is_short && !is_fifo {
            let seconds = facts.number(name).unwrap_or(0.0) as u64;
            let severity = if seconds < 3600 { Severity::Warning } else { Severity::Advice };
            let title = format!("All data is rewritten every {}", words::duration(seconds));
            out.push(
                facts
                    .finding("rewrites-by-age", severity, title)
                    .evidence(format!("{name}={seconds}"))
                    .evidence(format!("{} are in this column family", words::bytes(facts.family.bytes())))
                    .cost("Compactions by age use the disk all the time and delay the other compactions.")
                    .live(format!("{name}=2592000")),
            );
        }
    }
    out
}
