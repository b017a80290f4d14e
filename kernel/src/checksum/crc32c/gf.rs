//! Polynomials over GF(2) modulo the Castagnoli polynomial P. They have the reflected form of a CRC register:
//! bit `i` of a `u32` is the coefficient of `x^(31-i)`, so 0x8000_0000 is 1 and 0x4000_0000 is `x`.

/// P in reflected form, without its leading term.
pub(super) const POLY: u32 = 0x82f6_3b78;

const ONE: u32 = 0x8000_0000;

/// Returns `a · b mod P`.
pub(super) const fn multiply(a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    let mut bit = ONE;
    while bit != 0 {
        if a & bit != 0 {
            product ^= b;
        }
        b = times_x(b);
        bit >>= 1;
    }
    product
}

/// Returns `x^n mod P`.
pub(super) const fn x_to(mut n: u64) -> u32 {
    let mut result = ONE;
    let mut square = ONE >> 1;
    while n != 0 {
        if n & 1 != 0 {
            result = multiply(result, square);
        }
        square = multiply(square, square);
        n >>= 1;
    }
    result
}

/// Returns `x^(8 · bytes) mod P`. Appending `bytes` zero bytes multiplies a register by this value.
pub(super) const fn x_to_bytes(mut bytes: u64) -> u32 {
    let mut result = ONE;
    let mut square = ONE >> 8;
    while bytes != 0 {
        if bytes & 1 != 0 {
            result = multiply(result, square);
        }
        square = multiply(square, square);
        bytes >>= 1;
    }
    result
}

/// Returns `x^(8·step·i − 33) mod P` for each `i` below `N`. Entry 0 is unused, because its exponent would be
/// negative.
///
/// The number 33 comes from the carry-less product of two registers and from the CRC instruction; see
/// `x86_64`.
pub(super) const fn shift_table<const N: usize>(step: u64) -> [u32; N] {
    let mut table = [0; N];
    let each = x_to(8 * step);
    let mut i = 1;
    let mut power = x_to(8 * step - 33);
    while i < N {
        table[i] = power;
        power = multiply(power, each);
        i += 1;
    }
    table
}

const fn times_x(a: u32) -> u32 {
    (a >> 1) ^ (POLY & 0u32.wrapping_sub(a & 1))
}
