//! Replays every kept input through its target, and checks the memory.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test")]

use std::path::PathBuf;

use ironstone_fuzz::{corpus, meter};

#[global_allocator]
static METER: meter::Meter = meter::Meter;

#[test]
fn no_kept_input_breaks_a_promise() {
    corpus::watch_panics();
    let packs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/fuzz");
    let replayed = corpus::replay(&packs).unwrap_or_else(|error| panic!("{}: {error}", packs.display()));
    assert!(replayed.failures.is_empty(), "{:#?}", replayed.failures);
}

#[test]
fn the_meter_sees_what_a_target_holds() {
    let most = meter::most_held(|| drop(std::hint::black_box(vec![1u8; 3 << 20])));
    assert!(most >= 3 << 20, "{most}");
}
