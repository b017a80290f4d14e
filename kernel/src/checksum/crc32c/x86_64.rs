//! CRC-32C with the CPU's CRC instruction and carry-less multiplication. The functions need different CPU
//! features.
//!
//! ```text
//! serial      one chain of crc32q: 8 bytes in 3 cycles (the latency of the instruction)
//! three_way   three chains, combined with one PCLMULQDQ each (Intel's white paper): 8 bytes per cycle
//! fused       three chains and four 128-bit folding accumulators at once, on two ports: ~16 bytes per cycle
//! folded512   four 512-bit accumulators alone (VPCLMULQDQ), for pieces that are too short for fused512
//! fused512    three chains and four 512-bit accumulators at once
//! ```
//! The fused functions divide a chunk into `[chain 0 | chain 1 | chain 2 | folded]`. The register of each
//! part is then multiplied by `x^(number of bits after the part)`, and the results are added. The idea to
//! divide a chunk between the CRC port and the multiplier port, and the ratios, are from Peter Cawley
//! (fast-crc32).
//!
//! Why the exponents contain −33: if both factors are in the low halves of their operands, the 128-bit
//! product of two reflected registers `a` and `k` has `a·k·x` in its low 64 bits. Passing these 64 bits
//! through `crc32q` on a zero register multiplies by `x^32`. So the constant for a shift by `n` bits is
//! `x^(n−33)`. In folding, an accumulator is `lo·x^64 + hi`, and a 64×32-bit product again adds `x^33`. To
//! move the accumulator by `n` bits, `lo` is multiplied by `x^(n+64−33)` and `hi` by `x^(n−33)`.

use std::arch::x86_64::*;
use std::sync::atomic::{AtomicU8, Ordering};

use super::{gf, scalar};

/// Multipliers that move a register by `i` words of eight bytes.
static SHIFT: [u32; CHUNK_WORDS + 1] = gf::shift_table(8);

/// The longest chunk that one combination covers, in 8-byte words (the length of `SHIFT`).
const CHUNK_WORDS: usize = 2048;

/// For shorter data, a single chain is at least as fast as three chains and a combination if the CPU can do
/// other work during the latency of the chain. (For 128 bytes, one call directly after another: 3.4 ns with
/// one chain, 7.9 ns with three chains.)
const THREE_WAY_MIN: usize = 208;

const UNKNOWN: u8 = 0;
const SCALAR: u8 = 1;
const SSE42: u8 = 2;
const FUSED: u8 = 3;
const FUSED512: u8 = 4;

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
    let crc = is_x86_feature_detected!("sse4.2") && is_x86_feature_detected!("pclmulqdq");
    let wide = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("vpclmulqdq");
    let choice = match (crc, wide) {
        (true, true) => FUSED512,
        (true, false) if is_x86_feature_detected!("avx") && !multiplies_slowly() => FUSED,
        (true, false) => SSE42,
        (false, _) => SCALAR,
    };
    CHOICE.store(choice, Ordering::Relaxed);
    choice
}

/// Returns true for AMD processors. They split a PCLMULQDQ into four micro-operations and start one every two
/// cycles. Without wider registers, folding at the same time as the chains is then not faster (measured on
/// Zen 5: 0.9 of the speed of three chains at 4 KiB).
fn multiplies_slowly() -> bool {
    // SAFETY: every x86-64 has the instruction.
    #[allow(unused_unsafe)]
    let vendor = unsafe { __cpuid(0) };
    // "AuthenticAMD" in the order of the registers.
    [vendor.ebx, vendor.edx, vendor.ecx] == [*b"Auth", *b"enti", *b"cAMD"].map(u32::from_le_bytes)
}

pub(super) fn name() -> &'static str {
    ["", "scalar", "sse4.2", "pclmul-fused", "avx512-vpclmul"][usize::from(choice())]
}

#[inline]
pub(super) fn update(state: u32, data: &[u8]) -> u32 {
    // SAFETY: each arm is taken only when `choose` saw every feature that its callee enables.
    unsafe {
        // Short data use one chain and no wide registers.
        if data.len() < SHORT && CHOICE.load(Ordering::Relaxed) >= SSE42 {
            return serial(state, data);
        }
        match choice() {
            SCALAR => scalar::update(state, data),
            FUSED512 => update_fused512(state, data),
            FUSED => update_fused(state, data),
            _ => three_way(state, data),
        }
    }
}

/// For data below this length, every path uses a single chain.
const SHORT: usize = THREE_WAY_MIN;

#[target_feature(enable = "sse4.2")]
#[inline]
fn serial(state: u32, data: &[u8]) -> u32 {
    let mut state = u64::from(state);
    let (blocks, mut rest) = data.as_chunks::<64>();
    for block in blocks {
        state = chained(state, block);
    }
    // The rest is processed in pieces of half the previous size. This needs no loop and few tests.
    if let Some((piece, behind)) = rest.split_first_chunk::<32>() {
        (state, rest) = (chained(state, piece), behind);
    }
    if let Some((piece, behind)) = rest.split_first_chunk::<16>() {
        (state, rest) = (chained(state, piece), behind);
    }
    if let Some((piece, behind)) = rest.split_first_chunk::<8>() {
        (state, rest) = (chained(state, piece), behind);
    }
    if rest.is_empty() {
        return state as u32;
    }
    let mut state = state as u32;
    if let Some((piece, behind)) = rest.split_first_chunk::<4>() {
        (state, rest) = (_mm_crc32_u32(state, u32::from_le_bytes(*piece)), behind);
    }
    if let Some((piece, behind)) = rest.split_first_chunk::<2>() {
        (state, rest) = (_mm_crc32_u16(state, u16::from_le_bytes(*piece)), behind);
    }
    match rest.first() {
        Some(&byte) => _mm_crc32_u8(state, byte),
        None => state,
    }
}

/// Processes a piece of whole words. The loop is unrolled.
#[target_feature(enable = "sse4.2")]
#[inline]
fn chained<const N: usize>(state: u64, piece: &[u8; N]) -> u64 {
    const { assert!(N.is_multiple_of(8)) };
    piece.as_chunks::<8>().0.iter().fold(state, |state, word| _mm_crc32_u64(state, u64::from_le_bytes(*word)))
}

#[target_feature(enable = "sse4.2,pclmulqdq")]
#[inline]
fn three_way(mut state: u32, mut data: &[u8]) -> u32 {
    while data.len() >= THREE_WAY_MIN {
        let words = (data.len() / 24).min(CHUNK_WORDS / 2);
        let (chunk, rest) = data.split_at(24 * words);
        let (first, others) = chunk.split_at(8 * words);
        let (second, third) = others.split_at(8 * words);
        let (mut a, mut b, mut c) = (u64::from(state), 0, 0);
        for ((x, y), z) in first.chunks_exact(8).zip(second.chunks_exact(8)).zip(third.chunks_exact(8)) {
            a = _mm_crc32_u64(a, u64::from_le_bytes(x.try_into().unwrap()));
            b = _mm_crc32_u64(b, u64::from_le_bytes(y.try_into().unwrap()));
            c = _mm_crc32_u64(c, u64::from_le_bytes(z.try_into().unwrap()));
        }
        state = _mm_crc32_u64(0, shifted(a, 2 * words) ^ shifted(b, words)) as u32 ^ c as u32;
        data = rest;
    }
    serial(state, data)
}

/// Returns `crc · x^(64·words − 32)`. The caller passes it through `crc32q`. `words` is 1 to `CHUNK_WORDS`.
#[target_feature(enable = "pclmulqdq")]
#[inline]
fn shifted(crc: u64, words: usize) -> u64 {
    let product =
        _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(crc as i64), _mm_cvtsi32_si128(SHIFT[words] as i32));
    _mm_cvtsi128_si64(product) as u64
}

/// Returns the multipliers `(lo, hi)` that move an accumulator by `bytes`.
const fn fold_by(bytes: u64) -> (i64, i64) {
    (gf::x_to(8 * bytes + 64 - 33) as i64, gf::x_to(8 * bytes - 33) as i64)
}

const FOLD_16: (i64, i64) = fold_by(16);
const FOLD_32: (i64, i64) = fold_by(32);
const FOLD_48: (i64, i64) = fold_by(48);
const FOLD_64: (i64, i64) = fold_by(64);
const FOLD_128: (i64, i64) = fold_by(128);
const FOLD_192: (i64, i64) = fold_by(192);
const FOLD_256: (i64, i64) = fold_by(256);

#[target_feature(enable = "avx,pclmulqdq")]
#[inline]
fn fold128(x: __m128i, k: __m128i) -> __m128i {
    _mm_xor_si128(_mm_clmulepi64_si128::<0x00>(x, k), _mm_clmulepi64_si128::<0x11>(x, k))
}

/// Returns the register that is equivalent to an accumulator.
#[target_feature(enable = "avx,sse4.2")]
#[inline]
fn reduce128(x: __m128i) -> u64 {
    let low = _mm_crc32_u64(0, _mm_cvtsi128_si64(x) as u64);
    _mm_crc32_u64(low, _mm_extract_epi64::<1>(x) as u64)
}

/// The number of bytes of one chain and of the folded part in one turn of [`fused`]: 15 CRC instructions and
/// 16 products.
const CHAIN: usize = 40;
const FOLDED: usize = 128;
const TURN: usize = 3 * CHAIN + FOLDED;

#[target_feature(enable = "avx,sse4.2,pclmulqdq")]
fn update_fused(mut state: u32, mut data: &[u8]) -> u32 {
    while data.len() >= 2 * TURN {
        let turns = (data.len() / TURN).min(CHUNK_WORDS * 8 / TURN);
        let (chunk, rest) = data.split_at(turns * TURN);
        state = fused(state, chunk, turns);
        data = rest;
    }
    three_way(state, data)
}

/// Processes one chunk of exactly `turns · TURN` bytes. `turns` is at least 1.
#[target_feature(enable = "avx,sse4.2,pclmulqdq")]
#[inline]
fn fused(state: u32, chunk: &[u8], turns: usize) -> u32 {
    assert!(turns >= 1 && chunk.len() == turns * TURN);
    let chain = turns * CHAIN;
    let base = chunk.as_ptr();
    let k = _mm_set_epi64x(FOLD_64.1, FOLD_64.0);
    // SAFETY: the three chains read [0, 3·chain), and the folded part reads [3·chain, 3·chain +
    // turns·FOLDED). Together this is exactly the chunk, as asserted above. All loads are unaligned loads.
    // The first 64 folded bytes initialize the accumulators. Each half turn reads the next 64 bytes, but the
    // last half turn reads none.
    unsafe {
        let folded = base.add(3 * chain);
        let mut acc = [_mm_setzero_si128(); 4];
        for (i, lane) in acc.iter_mut().enumerate() {
            *lane = _mm_loadu_si128(folded.add(16 * i).cast());
        }
        let (mut a, mut b, mut c) = (u64::from(state), 0, 0);
        let mut next = folded.add(64);
        let mut words = base;
        for turn in 0..turns {
            for half in 0..2 {
                if half == 0 || turn + 1 < turns {
                    for (i, lane) in acc.iter_mut().enumerate() {
                        let fresh = _mm_loadu_si128(next.add(16 * i).cast());
                        *lane = _mm_xor_si128(fold128(*lane, k), fresh);
                    }
                    next = next.add(64);
                }
            }
            for word in 0..CHAIN / 8 {
                let at = words.add(8 * word);
                a = _mm_crc32_u64(a, at.cast::<u64>().read_unaligned());
                b = _mm_crc32_u64(b, at.add(chain).cast::<u64>().read_unaligned());
                c = _mm_crc32_u64(c, at.add(2 * chain).cast::<u64>().read_unaligned());
            }
            words = words.add(CHAIN);
        }
        let k48 = _mm_set_epi64x(FOLD_48.1, FOLD_48.0);
        let k32 = _mm_set_epi64x(FOLD_32.1, FOLD_32.0);
        let k16 = _mm_set_epi64x(FOLD_16.1, FOLD_16.0);
        let tail = _mm_xor_si128(
            _mm_xor_si128(fold128(acc[0], k48), fold128(acc[1], k32)),
            _mm_xor_si128(fold128(acc[2], k16), acc[3]),
        );
        joined(a, b, c, reduce128(tail), chain / 8, turns * FOLDED / 8)
    }
}

/// Adds the registers of three chains of `chain` words each and of a folded part of `folded` words after the
/// chains.
#[target_feature(enable = "sse4.2,pclmulqdq")]
#[inline]
fn joined(a: u64, b: u64, c: u64, tail: u64, chain: usize, folded: usize) -> u32 {
    let front = shifted(a, 2 * chain + folded) ^ shifted(b, chain + folded) ^ shifted(c, folded);
    (_mm_crc32_u64(0, front) ^ tail) as u32
}

#[target_feature(enable = "avx512f,vpclmulqdq")]
#[inline]
fn fold512(x: __m512i, k: __m512i, fresh: __m512i) -> __m512i {
    let low = _mm512_clmulepi64_epi128::<0x00>(x, k);
    let high = _mm512_clmulepi64_epi128::<0x11>(x, k);
    _mm512_ternarylogic_epi64::<0x96>(low, high, fresh)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn everywhere((lo, hi): (i64, i64)) -> __m512i {
    _mm512_set_epi64(hi, lo, hi, lo, hi, lo, hi, lo)
}

/// The number of words of each chain that are processed with 256 folded bytes.
const WORDS_BESIDE: usize = 3;

#[target_feature(enable = "avx512f,avx512vl,avx,sse4.2,pclmulqdq,vpclmulqdq")]
fn update_fused512(mut state: u32, mut data: &[u8]) -> u32 {
    while data.len() >= 2 * TURN512 {
        let turns = (data.len() / TURN512).min(CHUNK_WORDS * 8 / TURN512 - 1);
        // The folded part also gets the remaining whole blocks of 64 bytes.
        let blocks = ((data.len() - turns * TURN512) / 64).min(4);
        let (chunk, rest) = data.split_at(turns * TURN512 + blocks * 64);
        state = fused512(state, chunk, turns, blocks);
        data = rest;
    }
    if data.len() >= SHORT {
        let (chunk, rest) = data.split_at(data.len() & !63);
        state = folded512(state, chunk);
        data = rest;
    }
    serial(state, data)
}

/// Processes a chunk of whole blocks of 64 bytes, at least one block.
#[target_feature(enable = "avx512f,avx512vl,avx,sse4.2,pclmulqdq,vpclmulqdq")]
#[inline]
fn folded512(state: u32, chunk: &[u8]) -> u32 {
    let (blocks, _) = chunk.as_chunks::<64>();
    // SAFETY: each load reads a whole block and is an unaligned load.
    let load = |block: &[u8; 64]| unsafe { _mm512_loadu_si512(block.as_ptr().cast()) };
    let start = _mm512_castsi128_si512(_mm_cvtsi32_si128(state as i32));
    let start = _mm512_maskz_mov_epi64(1, start);
    let (quads, singles) = blocks.as_chunks::<4>();
    let mut last = start;
    let mut singles = singles.iter();
    if let Some((first, quads)) = quads.split_first() {
        let k = everywhere(FOLD_256);
        let mut acc = [load(&first[0]), load(&first[1]), load(&first[2]), load(&first[3])];
        acc[0] = _mm512_xor_si512(acc[0], start);
        for quad in quads {
            for (lane, block) in acc.iter_mut().zip(quad) {
                *lane = fold512(*lane, k, load(block));
            }
        }
        last = combined512(acc);
    } else if let Some(first) = singles.next() {
        last = _mm512_xor_si512(load(first), start);
    }
    for block in singles {
        last = fold512(last, everywhere(FOLD_64), load(block));
    }
    reduce512(last) as u32
}

/// Combines four neighbouring accumulators into one, at the position of the last.
#[target_feature(enable = "avx512f,vpclmulqdq")]
#[inline]
fn combined512(acc: [__m512i; 4]) -> __m512i {
    let low =
        fold512(acc[0], everywhere(FOLD_192), fold512(acc[1], everywhere(FOLD_128), _mm512_setzero_si512()));
    _mm512_xor_si512(low, fold512(acc[2], everywhere(FOLD_64), acc[3]))
}

/// Returns the register that is equivalent to an accumulator.
#[target_feature(enable = "avx512f,avx512vl,avx,sse4.2,vpclmulqdq")]
#[inline]
fn reduce512(last: __m512i) -> u64 {
    let lanes = _mm512_set_epi64(0, 0, FOLD_16.1, FOLD_16.0, FOLD_32.1, FOLD_32.0, FOLD_48.1, FOLD_48.0);
    let moved = fold512(last, lanes, _mm512_setzero_si512());
    reduce128(_mm_xor_si128(
        _mm_xor_si128(_mm512_extracti32x4_epi32::<0>(moved), _mm512_extracti32x4_epi32::<1>(moved)),
        _mm_xor_si128(_mm512_extracti32x4_epi32::<2>(moved), _mm512_extracti32x4_epi32::<3>(last)),
    ))
}

const TURN512: usize = 256 + 24 * WORDS_BESIDE;

/// Processes one chunk of exactly `turns · TURN512 + blocks · 64` bytes. `turns` is at least 1.
#[target_feature(enable = "avx512f,avx512vl,avx,sse4.2,pclmulqdq,vpclmulqdq")]
#[inline]
fn fused512(state: u32, chunk: &[u8], turns: usize, blocks: usize) -> u32 {
    assert!(turns >= 1 && chunk.len() == turns * TURN512 + blocks * 64);
    let chain = turns * 8 * WORDS_BESIDE;
    let base = chunk.as_ptr();
    let k = everywhere(FOLD_256);
    // SAFETY: the chains read [0, 3·chain), and the folded part reads the rest: 256 bytes for the start, 256
    // bytes for each turn except the last, 64 bytes for each block. Together this is the whole chunk, as
    // asserted above. All loads are unaligned loads.
    unsafe {
        let folded = base.add(3 * chain);
        let mut acc = [_mm512_setzero_si512(); 4];
        for (i, lane) in acc.iter_mut().enumerate() {
            *lane = _mm512_loadu_si512(folded.add(64 * i).cast());
        }
        let (mut a, mut b, mut c) = (u64::from(state), 0, 0);
        let mut next = folded.add(256);
        let mut words = base;
        for turn in 0..turns {
            for word in 0..WORDS_BESIDE {
                let at = words.add(8 * word);
                a = _mm_crc32_u64(a, at.cast::<u64>().read_unaligned());
                b = _mm_crc32_u64(b, at.add(chain).cast::<u64>().read_unaligned());
                c = _mm_crc32_u64(c, at.add(2 * chain).cast::<u64>().read_unaligned());
            }
            words = words.add(8 * WORDS_BESIDE);
            if turn + 1 < turns {
                for (i, lane) in acc.iter_mut().enumerate() {
                    *lane = fold512(*lane, k, _mm512_loadu_si512(next.add(64 * i).cast()));
                }
                next = next.add(256);
            }
        }
        let mut last = combined512(acc);
        for block in 0..blocks {
            last = fold512(last, everywhere(FOLD_64), _mm512_loadu_si512(next.add(64 * block).cast()));
        }
        joined(a, b, c, reduce512(last), chain / 8, (turns * 256 + blocks * 64) / 8)
    }
}

/// See [`super::paths`].
pub(super) fn paths() -> Vec<(&'static str, super::Path)> {
    let mut paths: Vec<(&'static str, super::Path)> = Vec::new();
    let best = choice();
    if best >= SSE42 {
        paths.push(("serial", |state, data| {
            // SAFETY: the CPU has the features that the callee enables; otherwise the path is not in the
            // list.
            unsafe { serial(state, data) }
        }));
        paths.push(("three_way", |state, data| {
            // SAFETY: the CPU has the features that the callee enables; otherwise the path is not in the
            // list.
            unsafe { three_way(state, data) }
        }));
    }
    if best >= SSE42 && is_x86_feature_detected!("avx") {
        paths.push(("fused", |state, data| {
            // SAFETY: the CPU has the features that the callee enables; otherwise the path is not in the
            // list.
            unsafe { update_fused(state, data) }
        }));
    }
    if best >= FUSED512 {
        paths.push(("fused512", |state, data| {
            // SAFETY: the CPU has the features that the callee enables; otherwise the path is not in the
            // list.
            unsafe { update_fused512(state, data) }
        }));
    }
    paths
}
