//! A distribution in 109 buckets, with the limits, percentiles and text of RocksDB, so that reports of both can be
//! compared.
//!
//! ```text
//! limits 1, 2, then 1.5 times the previous limit, cut to two significant digits: 3 4 6 10 15 22 34 51 76 110 170 ..
//! a value belongs to the first bucket whose limit is at least the value; the last bucket takes all larger values
//! a percentile is interpolated in its bucket, and lies between the smallest and the largest value
//! ```

use std::fmt;

/// Number of buckets.
pub(super) const BUCKETS: usize = 109;

/// The greatest value of each bucket.
const LIMITS: [u64; BUCKETS] = limits();

/// For each number of bits, the first bucket for values with this number of bits.
const FIRST_BY_BITS: [u8; 65] = first_by_bits();

const fn limits() -> [u64; BUCKETS] {
    let mut limits = [0; BUCKETS];
    limits[0] = 1;
    limits[1] = 2;
    let mut exact = 2.0f64;
    let mut i = 2;
    while i < BUCKETS {
        exact *= 1.5;
        let mut limit = exact as u64;
        let mut scale = 1;
        while limit / 10 > 10 {
            limit /= 10;
            scale *= 10;
        }
        limits[i] = limit * scale;
        i += 1;
    }
    limits
}

const fn first_by_bits() -> [u8; 65] {
    let mut first = [0; 65];
    let mut bits = 1;
    while bits <= 64 {
        let least = 1u64 << (bits - 1);
        let mut bucket = 0;
        while bucket < BUCKETS - 1 && LIMITS[bucket] < least {
            bucket += 1;
        }
        first[bits] = bucket as u8;
        bits += 1;
    }
    first
}

/// Returns the bucket of a value. The number of bits gives a first bucket, and at most two steps lead to the right
/// one.
#[inline]
pub(super) fn bucket(value: u64) -> usize {
    let mut bucket = usize::from(FIRST_BY_BITS[(u64::BITS - value.leading_zeros()) as usize]);
    while bucket < BUCKETS - 1 && LIMITS[bucket] < value {
        bucket += 1;
    }
    bucket
}

/// A distribution of `u64` values, for one thread. Histograms can be merged.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    pub(super) buckets: [u64; BUCKETS],
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) count: u64,
    pub(super) sum: u64,
    pub(super) sum_squares: u64,
}

/// The figures of a histogram: RocksDB's `HistogramData`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HistogramData {
    /// The median. 0 if there is no sample.
    pub median: f64,
    /// The value that 95 % of the samples do not exceed.
    pub percentile95: f64,
    /// The value that 99 % of the samples do not exceed.
    pub percentile99: f64,
    /// The average of the samples.
    pub average: f64,
    /// The standard deviation of the samples.
    pub standard_deviation: f64,
    /// The largest sample.
    pub max: f64,
    /// The number of samples.
    pub count: u64,
    /// The sum of the samples.
    pub sum: u64,
    /// The smallest sample.
    pub min: f64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram {
            buckets: [0; BUCKETS],
            min: Histogram::EMPTY_MIN,
            max: 0,
            count: 0,
            sum: 0,
            sum_squares: 0,
        }
    }
}

impl Histogram {
    /// The value of `min` in an empty histogram: the last limit.
    pub(super) const EMPTY_MIN: u64 = LIMITS[BUCKETS - 1];

    /// Makes an empty histogram.
    pub fn new() -> Histogram {
        Histogram::default()
    }

    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.buckets[bucket(value)] += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.count += 1;
        self.sum = self.sum.wrapping_add(value);
        self.sum_squares = self.sum_squares.wrapping_add(value.wrapping_mul(value));
    }

    /// Adds all values of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
        self.sum_squares = self.sum_squares.wrapping_add(other.sum_squares);
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        *self = Histogram::default();
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum of the values, modulo 2^64.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Returns the smallest value; 0 if there is no value.
    pub fn min(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min }
    }

    /// Returns the largest value; 0 if there is no value.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Returns the 50th percentile.
    pub fn median(&self) -> f64 {
        self.percentile(50.0)
    }

    /// Returns the value below which `percent` of the values lie, as an estimate from the buckets.
    pub fn percentile(&self, percent: f64) -> f64 {
        let threshold = self.count as f64 * (percent / 100.0);
        let mut sum = 0;
        for (i, &count) in self.buckets.iter().enumerate() {
            let before = sum;
            sum += count;
            if sum as f64 >= threshold {
                let left = if i == 0 { 0 } else { LIMITS[i - 1] };
                let within = if count == 0 { 0.0 } else { (threshold - before as f64) / count as f64 };
                let value = left as f64 + (LIMITS[i] - left) as f64 * within;
                // The order of the two comparisons matters: without values, `min` is larger than `max`, and the
                // result must be 0.
                let value = if value < self.min as f64 { self.min as f64 } else { value };
                return if value > self.max as f64 { self.max as f64 } else { value };
            }
        }
        self.max as f64
    }

    /// Returns the average; 0 if there is no value.
    pub fn average(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// Returns the standard deviation; 0 if there is no value.
    pub fn standard_deviation(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let (count, sum) = (self.count as f64, self.sum as f64);
        let variance = (self.sum_squares as f64 * count - sum * sum) / (count * count);
        variance.max(0.0).sqrt()
    }

    /// Returns all figures.
    pub fn data(&self) -> HistogramData {
        HistogramData {
            median: self.median(),
            percentile95: self.percentile(95.0),
            percentile99: self.percentile(99.0),
            average: self.average(),
            standard_deviation: self.standard_deviation(),
            max: self.max as f64,
            count: self.count,
            sum: self.sum,
            min: self.min as f64,
        }
    }
}

/// RocksDB's text: the figures, a line of dashes, and a line for each bucket with values.
impl fmt::Display for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (average, deviation) = (self.average(), self.standard_deviation());
        writeln!(f, "Count: {} Average: {average:.4}  StdDev: {deviation:.2}", self.count)?;
        writeln!(f, "Min: {}  Median: {:.4}  Max: {}", self.min(), self.median(), self.max())?;
        writeln!(
            f,
            "Percentiles: P50: {:.2} P75: {:.2} P99: {:.2} P99.9: {:.2} P99.99: {:.2}",
            self.percentile(50.0),
            self.percentile(75.0),
            self.percentile(99.0),
            self.percentile(99.9),
            self.percentile(99.99)
        )?;
        writeln!(f, "------------------------------------------------------")?;
        let percent = 100.0 / self.count as f64;
        let mut sum = 0;
        for (i, &count) in self.buckets.iter().enumerate().filter(|(_, count)| **count > 0) {
            sum += count;
            let (open, left) = if i == 0 { ('[', 0) } else { ('(', LIMITS[i - 1]) };
            let share = percent * count as f64;
            let total = percent * sum as f64;
            write!(f, "{open} {left:7}, {:7} ] {count:8} {share:7.3}% {total:7.3}% ", LIMITS[i])?;
            writeln!(f, "{}", "#".repeat((share / 5.0 + 0.5) as usize))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Histogram({} values, {}..{})", self.count, self.min(), self.max())
    }
}
