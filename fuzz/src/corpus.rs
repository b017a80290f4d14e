//! Replays every input that the fuzzer kept, and every input that ever failed, through its target.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{ALL, pack};

/// The number of panics since [`watch_panics`], also of panics that the engine catches.
static PANICS: AtomicUsize = AtomicUsize::new(0);

/// Starts the count of [`panics`], which includes panics that the engine catches.
pub fn watch_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        before(info);
    }));
}

pub fn panics() -> usize {
    PANICS.load(Ordering::Relaxed)
}

/// The result of a replay: the number of inputs, and the broken promises.
#[derive(Debug, Default)]
pub struct Replayed {
    pub inputs: u64,
    pub failures: Vec<String>,
}

/// Replays all packs in `dir`.
///
/// # Errors
/// A pack that cannot be read.
pub fn replay(dir: &Path) -> std::io::Result<Replayed> {
    let mut replayed = Replayed::default();
    for target in ALL {
        let bytes = std::fs::read(dir.join(format!("{}.pack", target.name)))?;
        let inputs = pack::unpack(&bytes);
        if pack::pack(inputs.iter().copied()) != bytes || inputs.is_empty() {
            replayed.failures.push(format!("{}: a broken or empty pack", target.name));
        }
        for (i, input) in inputs.iter().enumerate() {
            let before = panics();
            let outcome = std::panic::catch_unwind(|| target.check(input));
            if outcome.is_err() || panics() > before {
                replayed.failures.push(format!("{} input {i}", target.name));
            }
            replayed.inputs += 1;
        }
    }
    Ok(replayed)
}
