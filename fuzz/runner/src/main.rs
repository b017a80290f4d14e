//! `TARGET=wal ironstone-fuzz-runner CORPUS ... [-libFuzzer flags]`.

#![no_main]

use std::sync::OnceLock;

use ironstone_fuzz::{Target, find, meter};

#[global_allocator]
static METER: meter::Meter = meter::Meter;

static TARGET: OnceLock<Target> = OnceLock::new();

libfuzzer_sys::fuzz_target!(
    init: {
        let name = std::env::var("TARGET").expect("TARGET says which target to run");
        TARGET.get_or_init(|| find(&name));
    },
    |data: &[u8]| {
        if let Some(target) = TARGET.get() {
            target.check(data);
        }
    }
);
