//! CRC-32C (Castagnoli): polynomial 0x1EDC6F41, reflected 0x82F63B78, initial value and final xor all ones.
//!
//! ```text
//! scalar    the specification: bit arithmetic and a slicing-by-8 table
//! x86_64    crc32 instruction, three streams, carry-less folding beside it
//! aarch64   crc32c instructions, three streams, PMULL to combine
//! gf        arithmetic on polynomials modulo P, at compile time and for `combine`
//! ```
//! RocksDB stores a checksum *masked* so that a CRC over bytes which contain CRCs stays meaningful.

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod aarch64;
mod gf;
mod scalar;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86_64;

const MASK_DELTA: u32 = 0xa282_ead8;

/// The CRC of `data`.
///
/// ```
/// assert_eq!(ironstone_kernel::checksum::crc32c::value(b"123456789"), 0xe306_9283);
/// ```
#[inline]
pub fn value(data: &[u8]) -> u32 {
    extend(0, data)
}

/// The CRC of `A ‖ data`, where `crc` is the CRC of `A` (0 for an empty `A`).
#[inline]
pub fn extend(crc: u32, data: &[u8]) -> u32 {
    !update(!crc, data)
}

/// The stored form of a CRC: rotated right by 15 bits, plus a constant.
#[inline]
pub const fn mask(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(MASK_DELTA)
}

/// The CRC behind its stored form; the inverse of [`mask`].
#[inline]
pub const fn unmask(masked: u32) -> u32 {
    masked.wrapping_sub(MASK_DELTA).rotate_left(15)
}

/// The CRC of `A ‖ B` from the CRCs of both and the length of `B` in bytes. O(log `len2`).
pub const fn combine(crc1: u32, crc2: u32, len2: u64) -> u32 {
    gf::multiply(crc1, gf::x_to_bytes(len2)) ^ crc2
}

/// What the dispatcher chose on this CPU, for reports: `avx512-vpclmul`, `pclmul-fused`, `sse4.2`, `armv8`,
/// `scalar`.
pub fn implementation() -> &'static str {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    return x86_64::name();
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    return aarch64::name();
    #[allow(unreachable_code)]
    "scalar"
}

/// From a raw register (no initial or final inversion) and bytes to the register behind them.
pub type Path = fn(u32, &[u8]) -> u32;

/// Every form of the computation that this CPU can run, by name, the specification first: for benchmarks,
/// and for the tests that hold each to the specification.
pub fn paths() -> Vec<(&'static str, Path)> {
    let mut all: Vec<(&'static str, Path)> = vec![("scalar", scalar::update)];
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    all.extend(x86_64::paths());
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    all.push(("dispatched", aarch64::update));
    all
}

/// The raw register: no initial or final inversion.
#[inline]
fn update(state: u32, data: &[u8]) -> u32 {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    return x86_64::update(state, data);
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    return aarch64::update(state, data);
    #[allow(unreachable_code)]
    scalar::update(state, data)
}

#[cfg(test)]
mod tests;
