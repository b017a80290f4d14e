//! Opens a disk that a crash left, and checks every rule that a recovered database must obey.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use env::Executor;
use env::clock::ManualClock;
use env::memory::{MemoryFs, Survivors};
use ironstone::{Db, Options};

use super::watch::{Copies, Place, Watch};
use crate::audit;
use crate::play::Outside;
use crate::sample::Sample;
use crate::state::State;

/// The result of an open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The open succeeded with these rows, and all checks passed.
    Rows(State),
    /// The open failed.
    Refused(String),
    /// The open succeeded, but a check failed.
    Wrong(String),
    Panicked(String),
    /// The open waited, and no job could end the wait.
    Hung(String),
}

/// The eight kinds of survivors of a crash.
pub const SURVIVORS: [&str; 8] = ["synced", "all", "names", "zeros", "stale", "torn", "sectors", "lostnames"];

/// Returns the survivors with this name of [`SURVIVORS`], or `None` for another name. The seed decides which
/// bytes survive.
pub fn survivors(name: &str, seed: u64) -> Option<Survivors> {
    Some(match name {
        "synced" => Survivors::Synced,
        "all" => Survivors::Everything,
        "names" => Survivors::NamesWithoutData,
        "zeros" => Survivors::ZerosForData,
        "stale" => Survivors::SizeWithoutData(seed),
        "torn" => Survivors::TornLast(seed),
        "sectors" => Survivors::Sectors(seed),
        "lostnames" => Survivors::NamesLost(seed),
        _ => return None,
    })
}

/// Returns a hash of the names and bytes of a disk. Equal disks have equal hashes.
pub fn digest(disk: &MemoryFs) -> u128 {
    let (mut a, mut b) = (0u64, 1u64);
    for (path, bytes) in disk.image() {
        let name = path.to_string_lossy();
        for part in [name.as_bytes(), &bytes[..]] {
            a = kernel::checksum::xxh3::hash64_with_seed(part, a ^ part.len() as u64);
            b = kernel::checksum::xxh3::hash64_with_seed(part, b.rotate_left(17) ^ a);
        }
    }
    u128::from(a) << 64 | u128::from(b)
}

/// A wait counts as endless after this number of rounds without a job to run.
const PATIENCE: u64 = 2000;

/// Returns a function that prints a description and ends the process, for a wait that does not end even after the
/// machine has stopped.
pub fn hang_means_exit(what: String) -> impl Fn() + Send + Sync {
    move || {
        let way = std::backtrace::Backtrace::force_capture();
        let words = format!("{what}: hung: waits for ever, even though the machine has stopped\n{way}");
        crate::hang::told(&words, &format!("simulate --state '{what}'"));
    }
}

/// Stops the machine if a wait is endless. If the wait continues after that, ends the process.
pub fn bound(outside: &Outside, watch: &Arc<env::hook::Hooked<Watch>>, what: &str) {
    let (hook, end) = (watch.hook().clone(), hang_means_exit(what.to_string()));
    outside.executor.on_starved(PATIENCE, move |times| if times < 2 { hook.stop() } else { end() });
}

/// The result of a recovery.
pub struct Recovery {
    pub outcome: Outcome,
    /// The places where the machine may stop during the recovery, if requested.
    pub places: Vec<Place>,
    /// A hash of every call of the file system. Equal runs have equal hashes.
    pub heard: u64,
}

/// Opens the database on a copy of the disk.
pub fn recover(disk: &MemoryFs, options: &Options, name: &str, copies: Copies) -> Recovery {
    let clock = Arc::new(ManualClock::new(1_700_000_100_000_000));
    let disk = disk.fork(clock.clone());
    let watch = Watch::around(&disk, &clock, copies, None);
    let outside = Outside::new(watch.clone(), clock, 11);
    bound(&outside, &watch, name);
    let places = Cell::new(Vec::new());
    let run = AssertUnwindSafe(|| look(&outside, options, &watch, &places));
    let outcome = catch_unwind(run).unwrap_or_else(|payload| {
        let words = payload.downcast_ref::<String>().cloned();
        let words = words.or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_string()));
        Outcome::Panicked(words.unwrap_or_default())
    });
    let outcome = if watch.hook().has_stopped() && !matches!(outcome, Outcome::Panicked(_)) {
        Outcome::Hung(format!("{outcome:?}"))
    } else {
        outcome
    };
    Recovery { outcome, places: places.take(), heard: watch.hook().heard() }
}

fn look(
    outside: &Outside,
    options: &Options,
    watch: &env::hook::Hooked<Watch>,
    places: &Cell<Vec<Place>>,
) -> Outcome {
    let mut options = options.clone();
    options.db.env = outside.env.clone();
    let opened = Db::open("/db", options.clone());
    places.set(watch.hook().places());
    let db = match opened {
        Ok(db) => db,
        Err(error) => return Outcome::Refused(error.to_string()),
    };
    let found = match audit::rows(&db) {
        Ok(found) => found,
        Err(words) => return Outcome::Wrong(words),
    };
    let held = whole(&db, outside, &found, &options).and_then(|()| {
        let (tables, newest) = (audit::tables(&db), db.latest_sequence());
        let closed = db.close();
        drop(db);
        closed.map_err(|e| format!("close: {e}"))?;
        // Nothing was written, so a second open must find the same rows.
        let again = Db::open("/db", options).map_err(|e| format!("second open: {e}"))?;
        if audit::rows(&again)? != found {
            return Err("the second open finds other rows than the first".to_string());
        }
        if !audit::tables(&again).is_superset(&tables) {
            return Err(format!(
                "the second open has other tables: {:?}, not {tables:?}",
                audit::tables(&again)
            ));
        }
        if again.latest_sequence() < newest {
            return Err(format!(
                "the second open is at {}, the first was at {newest}",
                again.latest_sequence()
            ));
        }
        while outside.env.executor.help() {}
        // Check for leftovers only after the second open: files that a torn MANIFEST may name stay until an open
        // proves the end of the MANIFEST.
        audit::leftovers(&again, &*outside.env.fs, Path::new("/db"))
    });
    let (panics, first) = outside.executor.panics();
    match held {
        _ if panics > 0 => Outcome::Panicked(format!("a job: {}", first.unwrap_or_default())),
        Ok(()) => Outcome::Rows(found),
        Err(words) => Outcome::Wrong(words),
    }
}

fn whole(db: &Db, outside: &Outside, found: &State, options: &Options) -> Result<(), String> {
    let dir = Path::new("/db");
    let prefix = options.family.prefix_extractor.is_some().then_some(1);
    let sample = Sample { text: String::new(), reverse: false, prefix };
    let seed = db.latest_sequence().get().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    audit::reads(db, found, &sample, seed)?;
    while outside.env.executor.help() {}
    audit::tree(db, &*outside.env.fs, dir)?;
    if audit::rows(db)? != *found {
        return Err("background work changed the rows".to_string());
    }
    Ok(())
}
