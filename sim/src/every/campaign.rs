//! Runs all scenes, on several threads.
//!
//! ```text
//!  scene ──► pieces: some of its places, some of its calls ──► threads, one piece at a time
//!  all pieces done: crashes of recoveries, each walk down a function of the seed and its number
//! ```

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use testkit::chance::Chance;

use super::until::{Asked, Until};
use super::{Recorded, Report, SCENES, SHORT};

/// A part of the work on one scene.
#[derive(Clone, Copy, Debug)]
struct Piece {
    scene: usize,
    faults: bool,
    from: usize,
    to: usize,
}

/// The number of places or calls in one piece.
const PIECE: usize = 24;

/// The number of random chains of crashes between two checks of the number of states.
const WALKS: u64 = 20;

/// Runs all scenes.
pub fn campaign(asked: &Asked, progress: &(dyn Fn(&str, &Report) + Sync)) -> Report {
    let mut report = Report::new(asked.seed);
    let mut scenes = Vec::new();
    for (name, text) in SCENES {
        match Recorded::new(name, text) {
            Ok(scene) => {
                report.calls += scene.ops.len() as u64;
                scenes.push(scene);
            }
            Err(words) => report.judge(name, Err(("broken", words)), ""),
        }
    }
    let (until, pieces) = (Until::new(asked), pieces(&scenes));
    let (next, walks, whole) = (AtomicUsize::new(0), AtomicU64::new(0), Mutex::new(report));
    let add = |own: Report| {
        until.failures.fetch_add(own.failed(), Ordering::Relaxed);
        whole.lock().add(own);
    };
    let work = || {
        while let Some(piece) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (scene, mut own) = (&scenes[piece.scene], Report::new(asked.seed));
            own.complete = match piece.faults {
                false => scene.crashes(piece.from..piece.to, &mut own, &until),
                true => scene.failing_calls(piece.from..piece.to, &mut own, &until),
            };
            add(own);
            if until.is_over(&Report::default()) {
                return;
            }
            let of = if piece.faults { "failing calls" } else { "crashes" };
            progress(&format!("{}: {of} {} to {}", scene.scene.name, piece.from, piece.to), &whole.lock());
        }
        loop {
            let enough = asked.until.is_none() || asked.states > 0;
            let is_enough = |report: &Report| enough && report.states >= asked.states;
            if scenes.is_empty() || until.is_over(&Report::default()) || is_enough(&whole.lock()) {
                return;
            }
            let mut own = Report::new(asked.seed);
            for _ in 0..WALKS {
                let walk = walks.fetch_add(1, Ordering::Relaxed);
                let chance = &mut Chance::new(asked.seed.rotate_left(32) ^ walk);
                let at = chance.below(scenes.len() as u64) as usize;
                scenes[at].deep(chance, &mut own);
            }
            add(own);
        }
    };
    std::thread::scope(|scope| (0..asked.threads.max(1)).for_each(|_| drop(scope.spawn(work))));
    let report = whole.into_inner();
    progress("crashes of recoveries", &report);
    report
}

/// Returns the pieces. Short scenes come first, with their crashes and failing calls.
fn pieces(scenes: &[Recorded]) -> Vec<Piece> {
    let (short, long) = (0..scenes.len()).partition::<Vec<_>, _>(|at| *at < SHORT);
    let mut pieces = Vec::new();
    for part in [short, long] {
        for faults in [false, true] {
            for &scene in &part {
                let len = if faults { scenes[scene].ops.len() } else { scenes[scene].places.len() };
                let starts = (0..len).step_by(PIECE);
                pieces.extend(starts.map(|from| Piece { scene, faults, from, to: len.min(from + PIECE) }));
            }
        }
    }
    pieces
}
