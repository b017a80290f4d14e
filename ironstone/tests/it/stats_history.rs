//! The history of the statistics on the disk.

use std::sync::Arc;

use ironstone::{Db, Options, Statistics};
use testkit::machine::Machine;

/// The writes of the samples never wait. While the WAL is locked, such a write fails.
#[test]
fn a_sample_that_was_not_written_is_a_part_of_the_next_sample() {
    let Machine { env, clock, .. } = Machine::new(1);
    let mut options = Options::default();
    options.update("create_if_missing=true;persist_stats_to_disk=true;stats_persist_period_sec=2").unwrap();
    options.db.env = env.clone();
    options.db.statistics = Some(Arc::new(Statistics::new()));
    let db = Db::open("/db", options).unwrap();
    let end_period = || {
        clock.advance(2_000_000);
        while env.executor.help() {}
    };
    let written = || -> Vec<u64> {
        db.stats_history(0, u64::MAX).map(|sample| sample.unwrap().1["rocksdb.number.keys.written"]).collect()
    };
    // The end of the first period is the base of the first sample.
    end_period();
    db.put(b"a", b"1").unwrap();
    db.lock_wal().unwrap();
    end_period();
    db.unlock_wal().unwrap();
    assert_eq!(written(), [0u64; 0]);
    db.put(b"b", b"2").unwrap();
    end_period();
    assert_eq!(written(), [2]);
}
