//! Keys, values and choices of keys. All of them come from numbers, so every engine gets the same.

/// Length of a key in bytes, as in redb's benchmark.
pub const KEY_LEN: usize = 24;
/// Length of a value in bytes, as in redb's benchmark.
pub const VALUE_LEN: usize = 150;

/// Returns a number without visible relation to `n`. Different numbers have different results.
pub fn scattered(n: u64) -> u64 {
    let mut x = n.wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// Returns key `n`. The keys of consecutive numbers are in random order.
pub fn key(n: u64) -> [u8; KEY_LEN] {
    let mut key = [0; KEY_LEN];
    for (at, word) in key.chunks_exact_mut(8).enumerate() {
        word.copy_from_slice(&scattered(n ^ ((at as u64) << 60)).to_be_bytes());
    }
    key
}

/// Returns the value of key `n`, which does not compress.
pub fn value(n: u64) -> [u8; VALUE_LEN] {
    let mut value = [0; VALUE_LEN];
    for (at, word) in value.chunks_mut(8).enumerate() {
        word.copy_from_slice(&scattered(n.wrapping_mul(31) + at as u64).to_le_bytes()[..word.len()]);
    }
    value
}

/// Chooses numbers below a limit: all with the same probability, or few of them often.
pub struct Dice {
    state: u64,
}

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice { state: scattered(seed) }
    }

    /// Returns a number below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_add(1);
        ((u128::from(scattered(self.state)) * u128::from(limit)) >> 64) as u64
    }

    fn unit(&mut self) -> f64 {
        self.below(1 << 53) as f64 / (1u64 << 53) as f64
    }
}

/// Zipf's distribution with the exponent 0.99, as in YCSB. Source: Gray et al., "Quickly Generating Billion-Record Synthetic
/// Databases".
pub struct Zipf {
    count: f64,
    zeta: f64,
    alpha: f64,
    eta: f64,
}

const THETA: f64 = 0.99;

impl Zipf {
    /// Makes a distribution over the numbers below `count`.
    pub fn new(count: u64) -> Zipf {
        let zeta = |n: u64| (1..=n).map(|i| 1.0 / (i as f64).powf(THETA)).sum::<f64>();
        let (zeta_two, zeta) = (zeta(2), zeta(count));
        let count = count as f64;
        let eta = (1.0 - (2.0 / count).powf(1.0 - THETA)) / (1.0 - zeta_two / zeta);
        Zipf { count, zeta, alpha: 1.0 / (1.0 - THETA), eta }
    }

    /// Draws a number. 0 is drawn most often.
    pub fn draw(&self, dice: &mut Dice) -> u64 {
        let u = dice.unit();
        let uz = u * self.zeta;
        if uz < 1.0 {
            return 0;
        }
        if uz < 1.0 + 0.5f64.powf(THETA) {
            return 1;
        }
        ((self.count * (self.eta * u - self.eta + 1.0).powf(self.alpha)) as u64).min(self.count as u64 - 1)
    }
}
