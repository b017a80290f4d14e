//! See `ironstone_fuzz`.

#![no_main]

#[global_allocator]
static METER: ironstone_fuzz::meter::Meter = ironstone_fuzz::meter::Meter;

libfuzzer_sys::fuzz_target!(|data: &[u8]| ironstone_fuzz::find("proof").check(data));
