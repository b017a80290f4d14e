//! Tests of the whole engine under a schedule explorer: `RUSTFLAGS='--cfg shuttle' cargo test -p ironstone-engine
//! --test schedules`, or `.ci/schedules`. Without this cfg, nothing is built here.
//!
//! At every lock, atomic, wait and thread of the engine and its executor, Shuttle may continue with another thread.
//! Each run explores one schedule, and a failed run prints its schedule. Files are in memory and the clock does not
//! move, so only the schedule differs. `SCHEDULES` is the number of runs of a scenario for each explorer (random, and
//! PCT at depth 3). `SCHEDULE` repeats a printed schedule.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test")]
#![cfg(shuttle)]

mod scenarios;

use std::sync::Arc;

use env::clock::ManualClock;
use env::executor::Threads;
use env::memory::MemoryFs;
use env::rng::SeededRng;
use env::{Clock, Env};
use ironstone_engine::batch::WriteBatch;
use ironstone_engine::db::{Db, OpenRequest};
use ironstone_engine::family::Family;
use ironstone_engine::options::{DbOptions, FamilyOptions, ReadOptions, WriteOptions};
use shuttle::rand::Rng as _;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};

/// Runs a scenario under both explorers.
fn explore(scenario: fn()) {
    let mut config = shuttle::Config::new();
    config.stack_size = 4 << 20;
    config.max_steps = shuttle::MaxSteps::FailAfter(2_000_000);
    if let Ok(schedule) = std::env::var("SCHEDULE") {
        return shuttle::replay(scenario, &schedule);
    }
    let runs = std::env::var("SCHEDULES").ok().and_then(|n| n.parse().ok()).unwrap_or(20);
    let seed = std::env::var("SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let explorers: [Box<dyn Scheduler + Send>; 2] = [
        Box::new(RandomScheduler::new_from_seed(seed, runs)),
        Box::new(PctScheduler::new_from_seed(seed, 3, runs)),
    ];
    for explorer in explorers {
        shuttle::Runner::new(explorer, config.clone()).run(scenario);
    }
}

/// Returns an environment with files in memory, a clock that stands still, and threads of the explorer.
fn world() -> Env {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(1_700_000_000_000_000));
    Env {
        fs: Arc::new(MemoryFs::new(clock.clone())),
        clock,
        rng: Arc::new(SeededRng::new(7)),
        executor: Arc::new(Threads::new()),
    }
}

/// Draws options that change which thread does which work.
fn drawn(env: &Env) -> OpenRequest {
    let mut chance = shuttle::rand::thread_rng();
    let options = DbOptions {
        create_if_missing: true,
        env: env.clone(),
        stats_dump_period_sec: 0,
        stats_persist_period_sec: 0,
        enable_pipelined_write: chance.gen_bool(0.5),
        allow_concurrent_memtable_write: chance.gen_bool(0.7),
        max_background_jobs: chance.gen_range(1..5),
        max_subcompactions: chance.gen_range(1..3),
        ..DbOptions::default()
    };
    let family = FamilyOptions {
        level0_file_num_compaction_trigger: 2,
        disable_auto_compactions: chance.gen_bool(0.3),
        ..FamilyOptions::default()
    };
    OpenRequest::new("/db", options, family)
}

fn open(request: OpenRequest) -> Arc<Db> {
    Arc::new(Db::open(request).expect("a database that opens"))
}

/// Writes one number under two keys, in one batch. No reader may see two different numbers.
fn put_pair(db: &Db, family: &Family, name: &str, number: u64) -> base::Result<()> {
    let mut batch = WriteBatch::default();
    for side in ["left", "right"] {
        batch.put_in(family.id(), format!("{name}-{side}").as_bytes(), &number.to_be_bytes());
    }
    db.write(&mut batch, &WriteOptions::default())
}

/// Returns the number of a pair, read with one iterator.
fn scan_pair(db: &Db, family: &Arc<Family>, name: &str) -> Option<u64> {
    let mut iter = db.iter(family, ReadOptions::default()).expect("an iterator");
    let mut seen = Vec::new();
    iter.seek(format!("{name}-").as_bytes());
    while iter.valid() && iter.key().starts_with(format!("{name}-").as_bytes()) {
        seen.push(u64::from_be_bytes(iter.value().try_into().expect("eight bytes")));
        iter.next();
    }
    iter.status().expect("a scan without errors");
    match seen[..] {
        [] => None,
        [left, right] => {
            assert_eq!(left, right, "{name}: half of a batch was visible");
            Some(left)
        }
        _ => panic!("{name}: half of a batch was visible: {seen:?}"),
    }
}

fn get(db: &Db, family: &Family, key: &str) -> Option<u64> {
    let value = db.get(family, key.as_bytes(), &ReadOptions::default()).expect("a read without errors")?;
    Some(u64::from_be_bytes(value[..].try_into().expect("eight bytes")))
}
