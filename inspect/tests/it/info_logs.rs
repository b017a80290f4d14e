//! Info logs that releases 5 to 11 of RocksDB wrote: the model, the findings and the pages of each.

use std::path::PathBuf;

use env::Env;
use ironstone_inspect::doctor::examine;

use ironstone_inspect::model::{Budget, Database, JobKind, Stall, StallKind, load};

use crate::client::serve;

/// The releases, one of each major number.
const RELEASES: [&str; 7] = ["5.18.4", "6.29.5", "7.10.2", "8.11.4", "9.11.2", "10.1.3", "11.8.1"];

/// The writes of `fixtures/info_logs/make.c`.
const ENTRIES: u64 = 6000;
const ENTRY_BYTES: u64 = 409;

fn path(release: &str) -> PathBuf {
    let name = format!("../fixtures/info_logs/LOG-{release}");
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn facts(release: &str) -> Database {
    load(&Env::posix(), &path(release), &Budget::COMMAND).unwrap()
}

#[test]
fn jobs_stalls_statistics_and_options_of_each_release_are_read() {
    for release in RELEASES {
        let db = facts(release);
        let log = &db.log;
        assert_eq!(log.release.as_deref(), Some(release));
        assert!(!log.is_ironstone);
        assert!(log.jobs_of(JobKind::Flush) >= 4, "{release}: {:?}", log.flush_reasons);
        assert!(
            log.flush_reasons.keys().all(|reason| !reason.is_empty()),
            "{release}: {:?}",
            log.flush_reasons
        );
        assert!(log.jobs_of(JobKind::Compaction) >= 1, "{release}: {:?}", log.compaction_reasons);
        for job in &log.jobs {
            assert!(["default", "users"].contains(&job.family.as_str()), "{release}: {job:?}");
            assert!(job.start_micros <= job.end_micros && job.output_bytes > 0, "{release}: {job:?}");
        }
        let (flushed, compacted) = log.written();
        assert!(flushed >= ENTRIES * ENTRY_BYTES * 9 / 10, "{release}: {flushed}");
        assert!(compacted >= flushed * 9 / 10, "{release}: {compacted} of {flushed}");
        assert_eq!(log.running, [], "{release}");
        for kind in [StallKind::Delayed, StallKind::Stopped] {
            let of =
                |stall: &&Stall| stall.kind == kind && stall.family == "users" && stall.cause == "memtables";
            assert!(log.stalls.iter().filter(of).count() > 0, "{release}: {kind:?}");
        }
        let stats = &log.stats;
        assert_eq!((stats.writes, stats.wal_writes), (Some(ENTRIES), Some(ENTRIES)), "{release}");
        assert!(stats.uptime_seconds > Some(1.0) && stats.stall_percent > Some(0.0), "{release}: {stats:?}");
        assert!(stats.block_cache_bytes >= Some(8 << 20), "{release}: {stats:?}");
        let users: u64 = stats.levels["users"].iter().map(|level| level.bytes).sum();
        assert!(users >= 2 << 20, "{release}: {users}");
        for family in ["default", "users"] {
            let buffer = db.family_option(family, "write_buffer_size");
            assert_eq!(buffer.as_deref(), Some("65536"), "{release}: {family}");
        }
        assert_eq!(db.db_option("stats_dump_period_sec").as_deref(), Some("8"), "{release}");
    }
}

#[test]
fn findings_of_each_release_are_the_same() {
    for release in RELEASES {
        let rules: Vec<_> = examine(&facts(release)).iter().map(|finding| finding.rule).collect();
        let expected = ["level-0-triggers", "small-write-buffer", "write-stalls", "frequent-statistics"];
        assert_eq!(rules, expected, "{release}");
    }
}

#[test]
fn pages_of_each_release_are_served() {
    for release in RELEASES {
        let site = serve(&path(release));
        for (page, text) in
            [("/", release), ("/doctor", "write buffer is small"), ("/activity", "compaction")]
        {
            let reply = site.page(page);
            assert_eq!(reply.status, 200, "{release} {page}");
            assert!(reply.body.contains(text), "{release} {page}: {}", reply.body);
        }
        let options = site.page("/options");
        assert!(
            options.body.contains(&format!("written by release {release}")),
            "{release}: {}",
            options.body
        );
        for page in ["/tree", "/files", "/logs", "/disk", "/tombstones"] {
            let reply = site.page(page);
            assert!(
                reply.body.contains("An info log does not list the files"),
                "{release} {page}: {}",
                reply.body
            );
            assert!(!reply.body.contains("0 files"), "{release} {page}: {}", reply.body);
        }
        assert!(site.page("/tree").body.contains("at the last statistics"), "{release}");
    }
}
