//! Every input that the fuzzer kept, and every one it ever failed on, through its target, with memory watched.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use ironstone_fuzz::{ALL, meter, pack};

#[global_allocator]
static METER: meter::Meter = meter::Meter;

#[test]
fn no_kept_input_breaks_a_promise() {
    // Panics that the engine catches count as well.
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        before(info);
    }));
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/fuzz");
    for target in ALL {
        let path = root.join(format!("{}.pack", target.name));
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let inputs = pack::unpack(&bytes);
        assert_eq!(pack::pack(inputs.iter().copied()), bytes, "{}: a broken pack", path.display());
        assert!(!inputs.is_empty(), "{}: no corpus", target.name);
        for (i, input) in inputs.iter().enumerate() {
            let panics = PANICS.load(Ordering::Relaxed);
            target.check(input);
            assert_eq!(PANICS.load(Ordering::Relaxed), panics, "{} input {i}: a caught panic", target.name);
        }
    }
}

#[test]
fn the_meter_sees_what_a_target_holds() {
    let most = meter::most_held(|| drop(std::hint::black_box(vec![1u8; 3 << 20])));
    assert!(most >= 3 << 20, "{most}");
}
