//! Several threads close one database. Each gets the result of the close, and not before the close ends.
//!
//! The writes bypass the WAL, so the close has to flush. In some runs the flush fails.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use engine::db::{Db, OpenRequest};
use engine::options::{FamilyOptions, WriteOptions};
use env::Env;
use env::executor::Threads;
use env::hook::{Call, Hook, Hooked, Op, Verdict};
use testkit::chance::Chance;

use super::{check, options, words};

/// Fails each append to an SST file while `on` is set.
struct FullDisk {
    on: AtomicBool,
}

impl fmt::Debug for FullDisk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a full disk")
    }
}

impl Hook for FullDisk {
    fn name(&self) -> &'static str {
        "a full disk"
    }

    fn before(&self, call: &Call<'_>) -> Verdict {
        let is_table = call.path.extension().is_some_and(|end| end == "sst");
        match call.op == Op::Append && is_table && self.on.load(Ordering::Relaxed) {
            true => Verdict::Fail(base::Error::io_error("no space left on device")),
            false => Verdict::Go,
        }
    }
}

pub(super) fn run(seed: u64, chance: &mut Chance, len: usize) -> Result<u64, String> {
    let disk = Arc::new(FullDisk { on: AtomicBool::new(false) });
    let plain = Env { executor: Arc::new(Threads::default()), ..Env::memory(seed) };
    let env = Env { fs: Arc::new(Hooked::new(plain.fs.clone(), disk.clone())), ..plain.clone() };
    let mut kept = BTreeMap::new();
    for _ in 0..len.div_ceil(50) {
        let db = Db::open(OpenRequest::new("/db", options(&env), FamilyOptions::default()))
            .map_err(words("open"))?;
        check(&db, &kept, "/db")?;
        let family = db.default_family().map_err(words("default"))?;
        let unlogged = WriteOptions { disableWAL: true, ..WriteOptions::default() };
        let mut next = kept.clone();
        for _ in 0..50 {
            let (key, value) = (chance.below(200).to_be_bytes(), chance.bytes(2000));
            db.put(&family, &key, &value, &unlogged).map_err(words("put"))?;
            next.insert(key.to_vec(), value);
        }
        let fails = chance.percent(30);
        disk.on.store(fails, Ordering::Relaxed);
        let closer = || {
            let outcome = db.close();
            // A close that succeeded has ended: its writes are on the disk, and a reader finds them.
            let read = match outcome.is_ok() {
                true => {
                    Db::open_read_only(OpenRequest::new("/db", options(&plain), FamilyOptions::default()))
                        .map_err(words("a read-only open after a close"))
                        .and_then(|db| check(&db, &next, "after a close, /db"))
                }
                false => Ok(()),
            };
            (outcome.map_err(|error| error.to_string()), read)
        };
        let count = 2 + chance.below(3);
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let running: Vec<_> = (0..count).map(|_| scope.spawn(closer)).collect();
            running.into_iter().map(|thread| thread.join()).collect()
        });
        disk.on.store(false, Ordering::Relaxed);
        let mut results = Vec::new();
        for outcome in outcomes {
            let (result, read) = outcome.map_err(|_| "a thread that closes panicked")?;
            read?;
            results.push(result);
        }
        if results.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(format!("closes of one database return {results:?}"));
        }
        match (results[0].is_ok(), fails) {
            (true, false) => kept = next,
            (false, true) => {}
            _ => return Err(format!("the disk fails: {fails}; the close returns {:?}", results[0])),
        }
    }
    Ok(len as u64)
}
