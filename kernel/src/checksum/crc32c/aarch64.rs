//! CRC-32C with the CRC instructions of ARMv8: three chains that are combined with PMULL, or one chain if the
//! CPU has no PMULL.

use std::arch::aarch64::*;
use std::arch::is_aarch64_feature_detected;
use std::sync::atomic::{AtomicU8, Ordering};

use super::{gf, scalar};

/// Multipliers that move a register by `i` words of eight bytes. The x86_64 module explains the number -33.
static SHIFT: [u32; CHUNK_WORDS + 1] = gf::shift_table(8);
const CHUNK_WORDS: usize = 1024;
const THREE_WAY_MIN: usize = 96;

const UNKNOWN: u8 = 0;
const SCALAR: u8 = 1;
const CRC: u8 = 2;
const CRC_PMULL: u8 = 3;

static CHOICE: AtomicU8 = AtomicU8::new(UNKNOWN);

#[inline]
fn choice() -> u8 {
    match CHOICE.load(Ordering::Relaxed) {
        UNKNOWN => choose(),
        known => known,
    }
}

#[cold]
fn choose() -> u8 {
    let choice = match (is_aarch64_feature_detected!("crc"), is_aarch64_feature_detected!("aes")) {
        (true, true) => CRC_PMULL,
        (true, false) => CRC,
        (false, _) => SCALAR,
    };
    CHOICE.store(choice, Ordering::Relaxed);
    choice
}

pub(super) fn name() -> &'static str {
    ["", "scalar", "armv8-crc", "armv8-crc-pmull"][usize::from(choice())]
}

#[inline]
pub(super) fn update(state: u32, data: &[u8]) -> u32 {
    // SAFETY: each arm is taken only when `choose` saw every feature that its callee enables.
    unsafe {
        match choice() {
            CRC_PMULL => three_way(state, data),
            CRC => serial(state, data),
            _ => scalar::update(state, data),
        }
    }
}

#[target_feature(enable = "crc")]
#[inline]
fn serial(mut state: u32, data: &[u8]) -> u32 {
    let mut words = data.chunks_exact(8);
    for word in &mut words {
        state = __crc32cd(state, u64::from_le_bytes(word.try_into().unwrap()));
    }
    for &byte in words.remainder() {
        state = __crc32cb(state, byte);
    }
    state
}

#[target_feature(enable = "crc,neon,aes")]
fn three_way(mut state: u32, mut data: &[u8]) -> u32 {
    while data.len() >= THREE_WAY_MIN {
        let words = (data.len() / 24).min(CHUNK_WORDS / 2);
        let (chunk, rest) = data.split_at(24 * words);
        let (first, others) = chunk.split_at(8 * words);
        let (second, third) = others.split_at(8 * words);
        let (mut a, mut b, mut c) = (state, 0, 0);
        for ((x, y), z) in first.chunks_exact(8).zip(second.chunks_exact(8)).zip(third.chunks_exact(8)) {
            a = __crc32cd(a, u64::from_le_bytes(x.try_into().unwrap()));
            b = __crc32cd(b, u64::from_le_bytes(y.try_into().unwrap()));
            c = __crc32cd(c, u64::from_le_bytes(z.try_into().unwrap()));
        }
        state = __crc32cd(0, shifted(a, 2 * words) ^ shifted(b, words)) ^ c;
        data = rest;
    }
    serial(state, data)
}

/// Returns `crc · x^(64·words − 32)`. The caller passes it through the CRC instruction.
#[target_feature(enable = "neon,aes")]
#[inline]
fn shifted(crc: u32, words: usize) -> u64 {
    vmull_p64(u64::from(crc), u64::from(SHIFT[words])) as u64
}
