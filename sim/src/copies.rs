//! Every crash and every failing call of one operation on files: checkpoint, backup, export, restore.
//!
//! ```text
//!  operation ── run once, the disk kept before each call ──► places × {before, inside} × 8 survivors ──► check
//!  every call × {EIO once} ──► run again, then crash × {synced, all} ──► check
//! ```
//! The check opens the disk after the crash, and verifies the promises of the operation. Not here: operations inside
//! one database (`every`).

#[cfg(test)]
mod tests;

use std::sync::Arc;

use env::clock::ManualClock;
use env::hook::Hooked;
use env::memory::MemoryFs;

use crate::every::{Copies, Fault, Place, Recorded, Strike, Watch, survivors};
use crate::play::{Mark, Outside};

/// One operation and its check.
pub struct Operation<'a> {
    /// Runs the operation. The operation calls `step` at the start of each step, from 1. Step 0 is the time before
    /// the first step.
    pub run: &'a dyn Fn(&Outside, &dyn Fn(usize)) -> Result<(), String>,
    /// Checks a disk after a crash in a step. `acknowledged` is true if the run ended without an error.
    pub check: &'a dyn Fn(&Outside, usize, bool) -> Result<(), String>,
}

/// The number of tried cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    pub calls: usize,
    pub crashes: usize,
    pub faults: usize,
}

/// Tries every crash and every failing call.
///
/// # Errors
/// The first state in which the check fails, with the call and the survivors that lead to the state.
pub fn every_crash(operation: &Operation<'_>) -> Result<Tried, String> {
    let (done, watch, _) = run(operation, Copies::Kept, None);
    done?;
    let places = watch.hook().places();
    let calls = watch.hook().ops().len();
    let mut tried = Tried { calls, ..Tried::default() };
    for place in &places {
        crashes_at(operation, place, places.len(), &mut tried)?;
    }
    for call in 1..=calls as u64 {
        let fault = Fault { call, strike: Strike::Errno(5), for_good: false };
        let (done, watch, disk) = run(operation, Copies::None, Some(fault));
        let step = watch.hook().mark().step;
        for left in ["synced", "all"] {
            let disk = disk.fork(clock());
            disk.crash(survivors(left, 0).ok_or("no such survivors")?);
            tried.faults += 1;
            check(operation, &disk, step, done.is_ok()).map_err(|words| {
                format!("call {call} failed ({done:?}), then a crash left {left}: {words}")
            })?;
        }
    }
    Ok(tried)
}

fn crashes_at(
    operation: &Operation<'_>,
    place: &Place,
    places: usize,
    tried: &mut Tried,
) -> Result<(), String> {
    for cut in Recorded::cuts(place) {
        for (at, left) in crate::every::SURVIVORS.iter().enumerate() {
            let seed = place.call.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ at as u64;
            let Some(disk) = Recorded::crashed(place, cut, left, seed) else { continue };
            tried.crashes += 1;
            let ended = place.call as usize == places;
            check(operation, &disk, place.mark.step, ended).map_err(|words| {
                format!("crash at call {} ({}), cut {cut:?}, left is {left}: {words}", place.call, place.what)
            })?;
        }
    }
    Ok(())
}

fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(1_700_000_000_000_000))
}

type Ran = (Result<(), String>, Arc<Hooked<Watch>>, MemoryFs);

fn run(operation: &Operation<'_>, copies: Copies, fault: Option<Fault>) -> Ran {
    let clock = clock();
    let disk = MemoryFs::new(clock.clone());
    let watch = Watch::around(&disk, &clock, copies, fault);
    let outside = Outside::new(watch.clone(), clock, 7);
    crate::every::bound(&outside, &watch, "an operation on copies");
    let hook = watch.hook().clone();
    let done = (operation.run)(&outside, &|step| hook.set_mark(Mark { durable: 0, step }));
    outside.executor.abandon();
    (done, watch, disk)
}

fn check(operation: &Operation<'_>, disk: &MemoryFs, step: usize, acknowledged: bool) -> Result<(), String> {
    let clock = clock();
    let disk = disk.fork(clock.clone());
    let outside = Outside::new(Arc::new(disk), clock, 11);
    let checked = (operation.check)(&outside, step, acknowledged);
    while outside.env.executor.help() {}
    outside.executor.abandon();
    checked
}
