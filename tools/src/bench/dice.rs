//! The random numbers that choose keys: the 64-bit Mersenne Twister, as RocksDB's `Random64`.

use rand_mt::Mt64;

/// One thread's dice.
pub struct Dice(Mt64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(Mt64::new(seed))
    }

    #[inline]
    pub fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Below `n`; 0 if `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let (a, b) = (1.0 - self.unit(), self.unit());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }

    /// Shuffles in place (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}
