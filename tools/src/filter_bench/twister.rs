//! The Mersenne Twister (Matsumoto and Nishimura, 1998), RocksDB's random numbers. With it, both programs
//! build equal filters and make equal queries.

const N: usize = 624;
const M: usize = 397;

/// The generator `std::mt19937`. It computes all numbers of a turn at once, with vector instructions. A number is
/// then one load, so the generator takes few instructions of the window in which the CPU can start the next query.
pub struct Twister {
    state: [u32; N],
    tempered: [u32; N],
    next: u32,
    /// The numbers of the last call of [`Self::run`] whose numbers were in two turns.
    across: Vec<u32>,
}

impl Twister {
    /// Makes a generator. A seed gives the numbers of `std::mt19937` in C++.
    pub fn new(seed: u32) -> Twister {
        let mut state = [seed; N];
        for i in 1..N {
            let before = state[i - 1];
            state[i] = 1_812_433_253u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(i as u32);
        }
        Twister { state, tempered: [0; N], next: N as u32, across: Vec::new() }
    }

    /// Returns 32 random bits.
    #[inline]
    pub fn next(&mut self) -> u32 {
        self.take::<1>()[0]
    }

    /// Returns the next `COUNT` numbers in order.
    #[inline(always)]
    pub fn take<const COUNT: usize>(&mut self) -> [u32; COUNT] {
        let from = self.next as usize;
        if let Some(numbers) = self.tempered.get(from..from + COUNT) {
            self.next += COUNT as u32;
            return numbers.try_into().expect("as many as asked for");
        }
        std::array::from_fn(|_| self.next_of_any_turn())
    }

    /// Returns the next `count` numbers in order. Unlike in [`Self::take`], the count is known only at run time.
    #[inline(always)]
    pub fn run(&mut self, count: u32) -> &[u32] {
        let from = self.next as usize;
        if from + count as usize > N {
            return self.run_across(count);
        }
        self.next += count;
        &self.tempered[from..from + count as usize]
    }

    #[cold]
    fn run_across(&mut self, count: u32) -> &[u32] {
        self.across.clear();
        for _ in 0..count {
            let number = self.next_of_any_turn();
            self.across.push(number);
        }
        &self.across
    }

    #[cold]
    fn next_of_any_turn(&mut self) -> u32 {
        if self.next as usize >= N {
            self.turn();
        }
        self.next += 1;
        self.tempered[self.next as usize - 1]
    }

    #[cold]
    fn turn(&mut self) {
        let state = &mut self.state;
        for i in 0..N - M {
            state[i] = state[i + M] ^ twist(state[i], state[i + 1]);
        }
        for i in N - M..N - 1 {
            state[i] = state[i + M - N] ^ twist(state[i], state[i + 1]);
        }
        state[N - 1] = state[M - 1] ^ twist(state[N - 1], state[0]);
        for (tempered, &y) in self.tempered.iter_mut().zip(state.iter()) {
            let y = y ^ (y >> 11);
            let y = y ^ (y << 7) & 0x9d2c_5680;
            let y = y ^ (y << 15) & 0xefc6_0000;
            *tempered = y ^ (y >> 18);
        }
        self.next = 0;
    }
}

#[inline(always)]
fn twist(high: u32, low: u32) -> u32 {
    let y = (high & 0x8000_0000) | (low & 0x7fff_ffff);
    (y >> 1) ^ (0x9908_b0df & 0u32.wrapping_sub(y & 1))
}

/// Scales a 32-bit number to `0..range`.
#[inline]
pub fn fast_range(number: u32, range: u32) -> u32 {
    ((u64::from(number) * u64::from(range)) >> 32) as u32
}
