//! The random numbers that choose keys: the 64-bit Mersenne Twister, as in RocksDB's `Random64`.

use rand_mt::{Mt, Mt64};

/// The random numbers of one thread.
pub struct Dice(Mt64);

impl Dice {
    /// Makes a generator. Equal seeds give the numbers of RocksDB's db_bench.
    pub fn new(seed: u64) -> Dice {
        Dice(Mt64::new(seed))
    }

    /// Returns the next number, all 64 bits of it.
    #[inline]
    pub fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number below `n`, or 0 if `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// Returns a number of at least 0 and below 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number of the standard normal distribution (method of Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.unit(), self.unit());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// Shuffles the items in place (method of Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// Returns the numbers below `n` in the order of RocksDB's `RandomShuffle`, which is `std::shuffle` of the GNU
/// library over the 32-bit Mersenne Twister. While the square of `n` fits in 32 bits, each draw places two numbers.
/// Facts: GCC 12 `bits/stl_algo.h`, `bits/uniform_int_dist.h`.
pub fn shuffled(n: u64, seed: u32) -> Vec<u64> {
    const DRAW_MAX: u64 = u32::MAX as u64;
    let mut numbers: Vec<u64> = (0..n).collect();
    let mut twister = Mt::new(seed);
    if n == 0 || DRAW_MAX / n < n {
        (1..numbers.len()).for_each(|i| numbers.swap(i, draw_below(&mut twister, i as u64 + 1) as usize));
        return numbers;
    }
    let mut at = 1;
    if n.is_multiple_of(2) {
        numbers.swap(1, draw_below(&mut twister, 2) as usize);
        at = 2;
    }
    while at < numbers.len() {
        let width = at as u64 + 1;
        let both = draw_below(&mut twister, width * (width + 1));
        numbers.swap(at, (both / (width + 1)) as usize);
        numbers.swap(at + 1, (both % (width + 1)) as usize);
        at += 2;
    }
    numbers
}

/// Returns a number below `n`. For `n` below 2^32, the method is that of Lemire, "Fast Random Integer Generation in
/// an Interval" (2019). From 2^32 on, the number is the remainder of two draws.
fn draw_below(twister: &mut Mt, n: u64) -> u64 {
    const SPAN: u64 = 1 << 32;
    if n >= SPAN {
        let high = u64::from(twister.next_u32());
        return (high << 32 | u64::from(twister.next_u32())) % n;
    }
    loop {
        let product = u64::from(twister.next_u32()) * n;
        if product % SPAN >= SPAN % n {
            return product / SPAN;
        }
    }
}

/// The generator that decides about overwrites: `minstd_rand0` of C++ with a Bernoulli trial.
pub struct Trials(u64);

impl Trials {
    const MODULUS: u64 = 2_147_483_647;

    /// Makes a generator as C++ does: the seed modulo 2^31 - 1, and 1 in place of 0.
    pub fn new(seed: u32) -> Trials {
        Trials((u64::from(seed) % Self::MODULUS).max(1))
    }

    fn next(&mut self) -> f64 {
        self.0 = self.0 * 16807 % Self::MODULUS;
        (self.0 - 1) as f64
    }

    /// Returns true with this probability. A trial takes two numbers of almost 31 bits each.
    pub fn happens(&mut self, probability: f64) -> bool {
        const RANGE: f64 = 2_147_483_646.0;
        let low = self.next();
        let high = self.next();
        (low + high * RANGE) / (RANGE * RANGE) < probability
    }
}

#[cfg(test)]
mod tests {
    use super::{Trials, shuffled};

    /// Compares with the values of a program that GCC 12 built: `std::shuffle` over `std::mt19937`.
    #[test]
    fn shuffles_as_gnus_library_does() {
        assert!(shuffled(0, 1).is_empty());
        assert_eq!(shuffled(1, 1), [0]);
        assert_eq!(shuffled(7, 301), [3, 0, 4, 6, 2, 1, 5]);
        assert_eq!(shuffled(10, 301), [9, 6, 4, 0, 1, 7, 8, 5, 3, 2]);
        assert_eq!(shuffled(70_001, 301)[..4], [59679, 35264, 3461, 29222]);
    }

    #[test]
    fn decides_as_gnus_bernoulli_distribution_does() {
        let mut trials = Trials::new(7);
        let wanted = [
            false, true, false, false, false, false, true, false, true, false, false, false, false, false,
            false, false,
        ];
        assert_eq!(wanted.map(|_| trials.happens(0.3)), wanted);
    }
}
