//! CRC-32C (Castagnoli): polynomial 0x1EDC6F41, reflected 0x82F63B78, initial value and final xor all ones.
//!
//! ```text
//! scalar    the specification: bit arithmetic and a slicing-by-8 table
//! x86_64    crc32 instruction, three chains, and carry-less folding at the same time
//! aarch64   crc32c instructions, three chains, combined with PMULL
//! gf        arithmetic on polynomials modulo P, at compile time and for `combine`
//! ```
//! RocksDB stores checksums in a *masked* form. The reason: the CRC of bytes that contain CRCs is problematic.

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod aarch64;
mod gf;
mod scalar;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod x86_64;

const MASK_DELTA: u32 = 0xa282_ead8;

/// Returns the CRC of `data`.
///
/// ```
/// assert_eq!(ironstone_kernel::checksum::crc32c::value(b"123456789"), 0xe306_9283);
/// ```
#[inline]
pub fn value(data: &[u8]) -> u32 {
    extend(0, data)
}

/// Returns the CRC of `A ‖ data`. `crc` is the CRC of `A` (0 for an empty `A`).
#[inline]
pub fn extend(crc: u32, data: &[u8]) -> u32 {
    !update(!crc, data)
}

/// Returns the stored form of a CRC: rotated right by 15 bits, plus a constant.
#[inline]
pub const fn mask(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(MASK_DELTA)
}

/// Returns the CRC of a stored form. This is the inverse of [`mask`].
#[inline]
pub const fn unmask(masked: u32) -> u32 {
    masked.wrapping_sub(MASK_DELTA).rotate_left(15)
}

/// Returns the CRC of `A ‖ B` from the CRC of `A`, the CRC of `B`, and the length of `B` in bytes. The time
/// is O(log `len2`).
pub const fn combine(crc1: u32, crc2: u32, len2: u64) -> u32 {
    gf::multiply(crc1, gf::x_to_bytes(len2)) ^ crc2
}

/// Returns the name of the implementation that was chosen for this CPU, for reports: `avx512-vpclmul`,
/// `pclmul-fused`, `sse4.2`, `armv8`, `scalar`.
pub fn implementation() -> &'static str {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    return x86_64::name();
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    return aarch64::name();
    #[allow(unreachable_code)]
    "scalar"
}

/// A function from a raw register (without inversion at the start and the end) and bytes to the register
/// after these bytes.
pub type Path = fn(u32, &[u8]) -> u32;

/// Returns every implementation that this CPU can run, with its name. The specification is first. Benchmarks
/// use it, and tests that compare each implementation with the specification.
pub fn paths() -> Vec<(&'static str, Path)> {
    let mut all: Vec<(&'static str, Path)> = vec![("scalar", scalar::update)];
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    all.extend(x86_64::paths());
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    all.push(("dispatched", aarch64::update));
    all
}

/// Computes the raw register, without inversion at the start and the end.
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
