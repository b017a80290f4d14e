//! The Mersenne Twister (Matsumoto and Nishimura, 1998): RocksDB's dice, so that both programs build the same
//! filters and ask the same questions.

const N: usize = 624;
const M: usize = 397;

/// `std::mt19937`.
pub struct Twister {
    state: [u32; N],
    next: usize,
}

impl Twister {
    pub fn new(seed: u32) -> Twister {
        let mut state = [seed; N];
        for i in 1..N {
            let before = state[i - 1];
            state[i] = 1_812_433_253u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(i as u32);
        }
        Twister { state, next: N }
    }

    /// 32 random bits.
    #[inline]
    pub fn next(&mut self) -> u32 {
        if self.next == N {
            self.turn();
        }
        let mut y = self.state[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    /// Almost uniform below `n`.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        fast_range(self.next(), n)
    }

    fn turn(&mut self) {
        for i in 0..N {
            let y = (self.state[i] & 0x8000_0000) | (self.state[(i + 1) % N] & 0x7fff_ffff);
            let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] = self.state[(i + M) % N] ^ (y >> 1) ^ odd;
        }
        self.next = 0;
    }
}

/// A 32-bit number scaled to `0..range`.
#[inline]
pub fn fast_range(number: u32, range: u32) -> u32 {
    (u64::from(number) * u64::from(range) >> 32) as u32
}
