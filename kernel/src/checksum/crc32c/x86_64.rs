//! CRC-32C with the CPU's CRC instruction and carry-less multiplication, in four steps of ability.
//!
//! ```text
//! serial      one crc32q chain: 8 bytes each 3 cycles (its latency)
//! three_way   three chains, combined by one PCLMULQDQ each (Intel's white paper): 8 bytes a cycle
//! fused       three chains beside four 128-bit folding accumulators: two ports at work, ~16 bytes a cycle
//! folded512   four 512-bit accumulators alone (VPCLMULQDQ): for pieces too short to share
//! fused512    three chains beside four 512-bit accumulators
//! ```
//! The fused forms cut a chunk into `[chain 0 | chain 1 | chain 2 | folded]`; each part's register is then
//! multiplied by `x^(bits behind it)` and all are added. The idea of sharing a chunk between the CRC port
//! and the multiplier port, with its ratios, is Peter Cawley's (fast-crc32).
//!
//! Why exponents carry −33: with both factors in the low halves of their operands, the 128-bit product of
//! two reflected registers `a`, `k` has `a·k·x` in its low 64 bits, and pushing those through `crc32q` on a
//! zero register multiplies by `x^32`. So the constant for a shift by `n` bits is `x^(n−33)`. In folding,
//! an accumulator is `lo·x^64 + hi`, and a 64×32-bit product again gains `x^33`: to move it `n` bits,
//! `lo` takes `x^(n+64−33)` and `hi` takes `x^(n−33)`.

use std::arch::x86_64::*;
use std::sync::atomic::{AtomicU8, Ordering};

use super::{gf, scalar};

/// Multipliers that move a register by `i` words of eight bytes.
static SHIFT: [u32; CHUNK_WORDS + 1] = gf::shift_table(8);

/// Longest chunk one combination covers, in 8-byte words (the length of `SHIFT`).
const CHUNK_WORDS: usize = 2048;

/// Below this a single chain is at least as fast as three and a combination, where other work can go on
/// beside its latency. (At 128 bytes, back to back: 3.4 ns, against 7.9 three ways.)
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

/// AMD's processors make four micro-operations of a PCLMULQDQ, one each two cycles: folding beside the chains
/// then gains nothing (0.9 of three ways at 4 KiB on Zen 5, measured) where there are no wider registers.
fn multiplies_slowly() -> bool {
    // SAFETY: every x86-64 has the instruction.
    #[allow(unused_unsafe)]
    let vendor = unsafe { __cpuid(0) };
    // "AuthenticAMD", in the order in which its letters are told.
    [vendor.ebx, vendor.edx, vendor.ecx] == [*b"Auth", *b"enti", *b"cAMD"].map(u32::from_le_bytes)
}

pub(super) fn name() -> &'static str {
    ["", "scalar", "sse4.2", "pclmul-fused", "avx512-vpclmul"][usize::from(choice())]
}

#[inline]
pub(super) fn update(state: u32, data: &[u8]) -> u32 {
    // SAFETY: each arm is taken only when `choose` saw every feature that its callee enables.
    unsafe {
        // What is short goes the short way: no wide register is touched.
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

/// Below this every path is a single chain.
const SHORT: usize = THREE_WAY_MIN;

#[target_feature(enable = "sse4.2")]
#[inline]
fn serial(state: u32, data: &[u8]) -> u32 {
    let mut state = u64::from(state);
    let (blocks, mut rest) = data.as_chunks::<64>();
    for block in blocks {
        state = chained(state, block);
    }
    // What is left, halved again and again: no loop, and no test more than its length has bits.
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

/// A piece of whole words, its loop unrolled.
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

/// `crc · x^(64·words − 32)`, to be pushed through `crc32q`. `words` is 1 to `CHUNK_WORDS`.
#[target_feature(enable = "pclmulqdq")]
#[inline]
fn shifted(crc: u64, words: usize) -> u64 {
    let product =
        _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(crc as i64), _mm_cvtsi32_si128(SHIFT[words] as i32));
    _mm_cvtsi128_si64(product) as u64
}

/// `(lo, hi)` multipliers that move an accumulator by `bytes`.
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

/// The register that an accumulator stands for.
#[target_feature(enable = "avx,sse4.2")]
#[inline]
fn reduce128(x: __m128i) -> u64 {
    let low = _mm_crc32_u64(0, _mm_cvtsi128_si64(x) as u64);
    _mm_crc32_u64(low, _mm_extract_epi64::<1>(x) as u64)
}

/// Bytes of one chain, and of the folded part, in one turn of [`fused`]: 15 CRCs beside 16 products.
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

/// One chunk of exactly `turns · TURN` bytes, `turns` at least 1.
#[target_feature(enable = "avx,sse4.2,pclmulqdq")]
#[inline]
fn fused(state: u32, chunk: &[u8], turns: usize) -> u32 {
    assert!(turns >= 1 && chunk.len() == turns * TURN);
    let chain = turns * CHAIN;
    let base = chunk.as_ptr();
    let k = _mm_set_epi64x(FOLD_64.1, FOLD_64.0);
    // SAFETY: the three chains read [0, 3·chain) and the folded part [3·chain, 3·chain + turns·FOLDED), which
    // together are exactly the chunk, as asserted; the loads are the unaligned kind. The first 64 folded
    // bytes seed the accumulators and each half turn reads the next 64, the last half turn none.
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

/// Adds the registers of three chains of `chain` words each and a folded part of `folded` words behind them.
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

/// Words of each chain that go beside 256 folded bytes.
const WORDS_BESIDE: usize = 3;

#[target_feature(enable = "avx512f,avx512vl,avx,sse4.2,pclmulqdq,vpclmulqdq")]
fn update_fused512(mut state: u32, mut data: &[u8]) -> u32 {
    while data.len() >= 2 * TURN512 {
        let turns = (data.len() / TURN512).min(CHUNK_WORDS * 8 / TURN512 - 1);
        // What is left over in blocks of 64 bytes goes to the folded part too.
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

/// A chunk of whole blocks of 64 bytes, at least one.
#[target_feature(enable = "avx512f,avx512vl,avx,sse4.2,pclmulqdq,vpclmulqdq")]
#[inline]
fn folded512(state: u32, chunk: &[u8]) -> u32 {
    let (blocks, _) = chunk.as_chunks::<64>();
    // SAFETY: each load is of a whole block, and of the unaligned kind.
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

/// Four neighbouring accumulators as one, at the place of the last.
#[target_feature(enable = "avx512f,vpclmulqdq")]
#[inline]
fn combined512(acc: [__m512i; 4]) -> __m512i {
    let low =
        fold512(acc[0], everywhere(FOLD_192), fold512(acc[1], everywhere(FOLD_128), _mm512_setzero_si512()));
    _mm512_xor_si512(low, fold512(acc[2], everywhere(FOLD_64), acc[3]))
}

/// The register that an accumulator stands for.
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

/// One chunk of exactly `turns · TURN512 + blocks · 64` bytes, `turns` at least 1.
#[target_feature(enable = "avx512f,avx512vl,avx,sse4.2,pclmulqdq,vpclmulqdq")]
#[inline]
fn fused512(state: u32, chunk: &[u8], turns: usize, blocks: usize) -> u32 {
    assert!(turns >= 1 && chunk.len() == turns * TURN512 + blocks * 64);
    let chain = turns * 8 * WORDS_BESIDE;
    let base = chunk.as_ptr();
    let k = everywhere(FOLD_256);
    // SAFETY: the chains read [0, 3·chain), the folded part the rest: 256 bytes to seed, 256 for each turn but
    // the last, 64 for each block; together the whole chunk, as asserted. All loads are the unaligned kind.
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
            // SAFETY: listed only where the CPU has what the callee enables.
            unsafe { serial(state, data) }
        }));
        paths.push(("three_way", |state, data| {
            // SAFETY: listed only where the CPU has what the callee enables.
            unsafe { three_way(state, data) }
        }));
    }
    if best >= SSE42 && is_x86_feature_detected!("avx") {
        paths.push(("fused", |state, data| {
            // SAFETY: listed only where the CPU has what the callee enables.
            unsafe { update_fused(state, data) }
        }));
    }
    if best >= FUSED512 {
        paths.push(("fused512", |state, data| {
            // SAFETY: listed only where the CPU has what the callee enables.
            unsafe { update_fused512(state, data) }
        }));
    }
    paths
}
