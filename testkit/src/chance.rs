//! Random numbers for tests. Equal seeds give equal numbers.

/// A splitmix64 generator.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// Makes a generator. Generators with equal seeds give equal numbers.
    pub fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    /// Returns the next number of the sequence, all 64 bits of it (SplitMix64).
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 { 0 } else { self.next() % n }
    }

    /// Returns true in `percent` of a hundred calls on average.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns a random element.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }

    /// Returns `len` bytes, one number of the sequence for each byte.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}
