//! Every crash and every failing call of scripted workloads.
//!
//! ```text
//!  scene ── played once, the disk kept before each call ──► places
//!  place × {before the call, inside it} × 8 survivors ──► a state: opened, compared, looked at
//!     └ its recovery's calls are places again, up to three deep, drawn by a seed while there is time
//!  every call × {EIO, ENOSPC, EINTR, EMFILE, short, failed sync that forgets} × {once, for good} ──► played again
//! ```
//! A crash after a call is the crash before the next call. Equal disks are opened once, and the result is judged for
//! each place separately. A state has a name that says how to reach it: `scene/37+5~torn/12~all` or
//! `scene!90=EIO..~synced`. The name determines the whole run.

mod campaign;
mod faults;
mod recover;
mod report;
mod until;
mod watch;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use base::map::HashMap;
use env::clock::ManualClock;
use env::hook::{Hooked, Op};
use env::memory::MemoryFs;
use ironstone::Options;
use parking_lot::Mutex;
use testkit::chance::Chance;

use crate::play::{Outside, Past, Play, options};
use crate::scene::Scene;
use crate::state::State;
pub use campaign::campaign;
pub use recover::{Outcome, SURVIVORS};
use recover::{Recovery, digest, recover};
pub(crate) use recover::{bound, survivors};
pub use report::Report;
pub use until::Asked;
use until::Until;
pub use watch::call_hash;
pub(crate) use watch::{Copies, Fault, Place, Strike, Watch};

/// The scenes of the simulator.
pub const SCENES: [(&str, &str); 12] = [
    ("puts", include_str!("../../scenes/puts.txt")),
    ("kept-log", include_str!("../../scenes/kept-log.txt")),
    ("wal-dir", include_str!("../../scenes/wal-dir.txt")),
    ("batches", include_str!("../../scenes/batches.txt")),
    ("compaction", include_str!("../../scenes/compaction.txt")),
    ("families", include_str!("../../scenes/families.txt")),
    ("ranges", include_str!("../../scenes/ranges.txt")),
    ("manual-wal", include_str!("../../scenes/manual-wal.txt")),
    ("set-options", include_str!("../../scenes/set-options.txt")),
    ("atomic", include_str!("../../scenes/atomic.txt")),
    ("apart", include_str!("../../scenes/apart.txt")),
    ("ingestion", include_str!("../../scenes/ingestion.txt")),
];

/// The first scenes are short. They run before the others, with their crashes and failing calls.
const SHORT: usize = 3;

/// The largest number of crashes in a chain of crashes of recoveries.
const DEPTH_MAX: usize = 3;

/// A scene that was run, with the disks and states of the run.
pub struct Recorded {
    scene: Scene,
    options: Options,
    places: Vec<Place>,
    ops: Vec<Op>,
    past: Past,
    /// The outcomes of opens by a hash of the disk, shared by all threads that work on the scene.
    seen: Mutex<HashMap<u128, Arc<Outcome>>>,
}

/// The states and the column families that a recovery may find.
struct Allowed<'a> {
    moments: &'a [Vec<State>],
    /// The column families must be one of these sets. Doubtful column families may exist or not.
    names: [Vec<String>; 2],
    doubtful: &'a [String],
}

/// Runs a scene on a new disk.
fn play(
    scene: &Scene,
    options: &Options,
    copies: Copies,
    fault: Option<Fault>,
) -> (Result<Past, String>, Arc<Hooked<Watch>>, MemoryFs, Vec<Place>) {
    let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
    let disk = MemoryFs::new(clock.clone());
    let watch = Watch::around(&disk, &clock, copies, fault);
    let outside = Outside::new(watch.clone(), clock, 7);
    bound(&outside, &watch, &scene.name);
    let hook = watch.hook().clone();
    let tell = move |mark| hook.set_mark(mark);
    let hook = watch.hook().clone();
    let failed = move || (!hook.has_stopped()).then(|| hook.fired());
    let mut playing = Play::new(&outside, options.clone(), &tell, &failed);
    let played = playing.run(scene, &|_| watch.hook().fired() > 0);
    let places = watch.hook().places();
    watch.hook().stop();
    let past = playing.stop();
    (played.map(|()| past), watch, disk, places)
}

impl Recorded {
    /// # Errors
    /// A step that fails on a disk without faults.
    pub fn new(name: &str, text: &str) -> Result<Recorded, String> {
        let scene = Scene::parse(name, text)?;
        let options = options(&scene.options).map_err(|e| format!("{name}: {e}"))?;
        let (past, watch, _, places) = play(&scene, &options, Copies::Kept, None);
        let ops = watch.hook().ops();
        Ok(Recorded { scene, options, places, ops, past: past?, seen: Mutex::default() })
    }

    fn allowed(&self, place: &Place) -> Allowed<'_> {
        allowed(&self.past, place.mark.durable, place.mark.step)
    }

    /// Returns the disk after a crash at a place with these survivors.
    pub(crate) fn crashed(place: &Place, bytes: Option<usize>, left: &str, seed: u64) -> Option<MemoryFs> {
        let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
        let disk = match (bytes, &place.inside) {
            (None, _) => place.disk.fork(clock),
            (Some(bytes), Some((path, len, disk))) if bytes < *len => {
                let disk = disk.fork(clock);
                disk.tear(path, bytes);
                disk
            }
            _ => return None,
        };
        disk.crash(survivors(left, seed)?);
        Some(disk)
    }

    /// Returns the offsets inside the bytes of the call at which the crash may come: before the call, after the first
    /// byte, in the middle, and before the last byte.
    pub(crate) fn cuts(place: &Place) -> Vec<Option<usize>> {
        let mut cuts = vec![None];
        if let Some((_, len, _)) = &place.inside {
            let mut inside = vec![1, len / 2, len - 1];
            inside.dedup();
            cuts.extend(inside.into_iter().map(Some));
        }
        cuts
    }

    fn open(&self, disk: &MemoryFs, name: &str, report: &mut Report) -> Arc<Outcome> {
        let key = digest(disk);
        if let Some(known) = self.seen.lock().get(&key) {
            return known.clone();
        }
        report.opened += 1;
        let Recovery { outcome, heard, .. } = recover(disk, &self.options, name, Copies::None);
        // Open one disk in a hundred twice: random numbers depend only on the name of the state, so both runs must be
        // equal.
        if key.is_multiple_of(100) {
            report.run_twice += 1;
            let again = recover(disk, &self.options, name, Copies::None);
            if again.heard != heard || again.outcome != outcome {
                report.judge(name, Err(("wrong", "two runs differ".to_string())), "");
            }
        }
        let outcome = Arc::new(outcome);
        self.seen.lock().insert(key, outcome.clone());
        outcome
    }

    /// Judges every crash at these places, with every cut and every kind of survivors, and without crashes of
    /// recoveries.
    fn crashes(&self, places: Range<usize>, report: &mut Report, until: &Until) -> bool {
        for place in &self.places[places] {
            for cut in Self::cuts(place) {
                for left in SURVIVORS {
                    let name = named(&self.scene.name, place.call, cut, left);
                    let Some(disk) = Self::crashed(place, cut, left, seed_of(&name)) else { continue };
                    let outcome = self.open(&disk, &name, report);
                    report.states += 1;
                    let judged = self.allowed(place).judge(&outcome);
                    report.judge(&name, judged, &place.what);
                    if until.is_over(report) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Judges a random chain: a crash, and crashes of its recoveries.
    fn deep(&self, chance: &mut Chance, report: &mut Report) {
        let place = chance.pick(&self.places).clone();
        let depth = 2 + chance.below(DEPTH_MAX as u64 - 1) as usize;
        let mut name = self.scene.name.clone();
        let mut here = place.clone();
        let mut what = Vec::new();
        for level in 0..depth {
            let cut = *chance.pick(&Self::cuts(&here));
            let left = *chance.pick(&SURVIVORS);
            name = named(&name, here.call, cut, left);
            what.push(here.what.clone());
            let Some(disk) = Self::crashed(&here, cut, left, seed_of(&name)) else { return };
            if level + 1 == depth {
                let outcome = self.open(&disk, &name, report);
                report.states += 1;
                report.deep += 1;
                let judged = self.allowed(&place).judge(&outcome);
                return report.judge(&name, judged, &what.join(", "));
            }
            let Recovery { places, .. } = recover(&disk, &self.options, &name, Copies::Kept);
            report.opened += 1;
            // The recovery changed nothing on the disk. No other crash is possible.
            if places.is_empty() {
                return;
            }
            here = chance.pick(&places).clone();
        }
    }

    /// Runs the crashes that a name describes. Returns a description.
    fn replay(&self, name: &str) -> Result<String, String> {
        let mut parts = name.split('/');
        let mut so_far = parts.next().unwrap_or_default().to_string();
        let mut places = self.places.clone();
        let mut first: Option<Place> = None;
        let mut told = String::new();
        let mut last = None;
        for part in parts {
            let (at, left) = part.split_once('~').ok_or("a part without ~")?;
            let (call, cut) = at.split_once('+').map_or((at, None), |(call, cut)| (call, Some(cut)));
            let call: u64 = call.parse().map_err(|e| format!("{call}: {e}"))?;
            let cut: Option<usize> = cut.map(str::parse).transpose().map_err(|e| format!("{part}: {e}"))?;
            let place =
                places.iter().find(|p| p.call == call).ok_or(format!("there is no call {call}"))?.clone();
            so_far = named(&so_far, call, cut, left);
            let disk =
                Self::crashed(&place, cut, left, seed_of(&so_far)).ok_or("no such cut or survivors")?;
            told.push_str(&format!("crash at call {call} ({}), left is {left}\n", place.what));
            for (path, bytes) in disk.image() {
                told.push_str(&format!("  {} {}\n", path.display(), bytes.len()));
            }
            let recovery = recover(&disk, &self.options, &so_far, Copies::Kept);
            places = recovery.places;
            first.get_or_insert(place);
            last = Some(recovery.outcome);
        }
        let (place, outcome) = first.zip(last).ok_or("a name without a crash")?;
        match self.allowed(&place).judge(&outcome) {
            Ok(()) => Ok(format!("{told}holds")),
            Err((kind, words)) => Err(format!("{told}{kind}: {words}")),
        }
    }
}

fn allowed(past: &Past, durable: usize, step: usize) -> Allowed<'_> {
    let newest = past.reach.get(step).copied().unwrap_or(past.moments.len() - 1);
    let before = step.checked_sub(1).and_then(|s| past.reach.get(s)).copied().unwrap_or(0);
    let names = |at: usize| {
        past.moments[at].first().map(|s| s.families.keys().cloned().collect()).unwrap_or_default()
    };
    Allowed {
        moments: &past.moments[durable..=newest.max(durable)],
        names: [names(before), names(newest)],
        doubtful: &past.doubtful,
    }
}

impl Allowed<'_> {
    /// Checks that the outcome is allowed.
    fn judge(&self, outcome: &Outcome) -> Result<(), (&'static str, String)> {
        let found = match outcome {
            Outcome::Rows(found) => found,
            Outcome::Refused(words) => return Err(("refused", words.clone())),
            Outcome::Wrong(words) => return Err(("wrong", words.clone())),
            Outcome::Panicked(words) => return Err(("panicked", words.clone())),
            Outcome::Hung(words) => return Err(("hung", words.clone())),
        };
        let sure = |names: &Vec<String>| {
            let doubtful = |n: &String| self.doubtful.contains(n);
            names.iter().all(|n| doubtful(n) || found.families.contains_key(n))
                && found.families.keys().all(|n| doubtful(n) || names.contains(n))
        };
        if !self.names.iter().any(sure) {
            let found: Vec<_> = found.families.keys().collect();
            return Err(("lost", format!("families {found:?}, not {:?}", self.names)));
        }
        let empty = testkit::model::Model::default();
        let same = |state: &State| {
            found.families.iter().all(|(name, model)| state.families.get(name).unwrap_or(&empty) == model)
        };
        if self.moments.iter().flatten().any(same) {
            return Ok(());
        }
        let newest = self.moments.last().and_then(|m| m.first());
        Err(("lost", format!("none of {} moments; found {found:?}\nnewest {newest:?}", self.moments.len())))
    }
}

fn named(so_far: &str, call: u64, cut: Option<usize>, left: &str) -> String {
    let cut = cut.map_or(String::new(), |bytes| format!("+{bytes}"));
    format!("{so_far}/{call}{cut}~{left}")
}

/// Returns the seed of a state, from its name.
fn seed_of(name: &str) -> u64 {
    kernel::checksum::xxh3::hash64(name.as_bytes())
}

/// Runs one state by its name. Returns a description.
///
/// # Errors
/// The broken promise, or an invalid name.
pub fn replay(name: &str) -> Result<String, String> {
    let scene = name.split(['/', '!']).next().unwrap_or_default();
    let (_, text) = SCENES.iter().find(|(n, _)| *n == scene).ok_or(format!("there is no scene {scene}"))?;
    let recorded = Recorded::new(scene, text)?;
    if name.contains('!') { recorded.replay_fault(name) } else { recorded.replay(name) }
}
