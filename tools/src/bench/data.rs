//! Keys and values of RocksDB's db_bench. Both programs load data of one shape: big-endian numbers padded with '0',
//! and values from one megabyte of text that compresses to a given fraction. Facts: RocksDB `tools/db_bench_tool.cc`,
//! `util/random.h`, `test_util/testutil.cc`.

/// The random numbers of RocksDB's `Random`: a multiplicative congruential generator modulo 2^31-1 (Park and Miller).
pub struct Random(u32);

impl Random {
    const M: u64 = 2_147_483_647;

    /// Makes a generator as RocksDB does: the lower 31 bits of the seed, and 1 in place of 0.
    pub fn new(seed: u32) -> Random {
        let seed = seed & Self::M as u32;
        Random(if seed == 0 { 1 } else { seed })
    }

    /// Returns the next number, from 1 to 2^31 - 2.
    pub fn next(&mut self) -> u32 {
        let product = u64::from(self.0) * 16807;
        let mut seed = (product >> 31) + (product & Self::M);
        if seed > Self::M {
            seed -= Self::M;
        }
        self.0 = seed as u32;
        self.0
    }

    /// Returns a number below `n`, or 0 if `n` is 0. The remainder makes small numbers slightly more frequent.
    pub fn uniform(&mut self, n: u32) -> u32 {
        self.next() % n.max(1)
    }
}

/// The distribution of the value lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    Fixed(usize),
    Uniform(usize, usize),
    /// The least and the largest length. A normal distribution has 99.7 % of its lengths between the two. A length
    /// outside becomes the nearer of the two.
    Normal(usize, usize),
}

/// Each byte of a value is below this number, because RocksDB draws the bytes below `CHAR_MAX`.
const RAW_BYTES: u32 = 127;

/// A stream of values.
pub struct Values {
    data: Vec<u8>,
    at: usize,
    sizes: Sizes,
    same_percent: u32,
    random: Random,
    dice: super::dice::Dice,
}

impl Values {
    /// Makes the data that values are cut from: at least 1 MiB. Each block of 100 bytes starts with
    /// `100 * compression_ratio` random bytes and repeats them. `same_percent` of the values are the start of the data.
    pub fn new(sizes: Sizes, compression_ratio: f64, same_percent: u32) -> Values {
        let mut random = Random::new(301);
        let longest = match sizes {
            Sizes::Fixed(n) | Sizes::Uniform(_, n) | Sizes::Normal(_, n) => n,
        };
        let total = longest.max(1 << 20);
        let mut data = Vec::with_capacity(total + 100);
        let raw_len = ((100.0 * compression_ratio) as usize).clamp(1, 100);
        while data.len() < total {
            let raw: Vec<u8> = (0..raw_len).map(|_| random.uniform(RAW_BYTES) as u8).collect();
            data.extend(raw.iter().cycle().take(100));
        }
        Values { data, at: 0, sizes, same_percent, random, dice: super::dice::Dice::new(301) }
    }

    /// Returns the next value. Its length comes from the distribution.
    #[inline]
    pub fn next(&mut self) -> &[u8] {
        let len = match self.sizes {
            Sizes::Fixed(n) => n,
            Sizes::Uniform(low, high) => {
                low + self.dice.below((high.saturating_sub(low) + 1) as u64) as usize
            }
            Sizes::Normal(low, high) => {
                let mean = (low + high) as f64 / 2.0;
                let drawn = mean + self.dice.normal() * (high.saturating_sub(low)) as f64 / 6.0;
                (drawn.max(0.0) as usize).clamp(low, high.max(low))
            }
        };
        self.take(len)
    }

    /// Returns the next value, of `len` bytes, or of all the data if the data is shorter.
    #[inline]
    pub fn take(&mut self, len: usize) -> &[u8] {
        let len = len.min(self.data.len());
        if self.random.uniform(100) < self.same_percent {
            return &self.data[..len];
        }
        if self.at + len > self.data.len() {
            self.at = 0;
        }
        self.at += len;
        &self.data[self.at - len..self.at]
    }
}

/// The way from a number to a key.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    pub key_size: usize,
    pub prefix_size: usize,
    pub keys_per_prefix: u64,
    pub num: u64,
    /// The keys of an existing database by number (`--use_existing_keys`).
    pub existing: Option<&'static [Vec<u8>]>,
}

impl Keys {
    /// Returns a buffer with the length of a key.
    pub fn buffer(&self) -> Vec<u8> {
        vec![b'0'; self.key_size]
    }

    /// Writes the key of `v`: an existing key, or an optional prefix number and `v`, both big-endian, padded with
    /// '0'.
    #[inline]
    pub fn write(&self, v: u64, key: &mut Vec<u8>) {
        if let Some(key_of) = self.existing {
            key.clear();
            key.extend_from_slice(&key_of[v as usize % key_of.len()]);
            return;
        }
        let mut at = 0;
        if let Some(prefixes) = self.num.checked_div(self.keys_per_prefix) {
            let prefixes = prefixes.max(1);
            let fill = self.prefix_size.min(8).min(key.len());
            put_big_endian(&mut key[..fill], v % prefixes);
            at = self.prefix_size.min(key.len());
            if fill < at {
                key[fill..at].fill(b'0');
            }
        }
        let fill = (key.len() - at).min(8);
        put_big_endian(&mut key[at..at + fill], v);
        key[at + fill..].fill(b'0');
    }
}

/// Writes the low bytes of `v`, most significant byte first.
#[inline]
fn put_big_endian(out: &mut [u8], v: u64) {
    let bytes = v.to_be_bytes();
    out.copy_from_slice(&bytes[8 - out.len()..]);
}

#[cfg(test)]
mod tests {
    use super::{Sizes, Values};

    /// Compares with the bytes of the first value that `fillseq` of RocksDB 11.8.1 writes.
    #[test]
    fn values_begin_as_rocksdbs() {
        let mut values = Values::new(Sizes::Fixed(100), 0.5, 0);
        assert_eq!(values.next()[..8], [0x74, 0x10, 0x1C, 0x3C, 0x4C, 0x48, 0x37, 0x03]);
    }
}
