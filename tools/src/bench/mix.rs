//! mixgraph: gets, puts and scans in given shares, over keys and values of fitted distributions.
//!
//! Source: Cao et al., "Characterizing, Modeling, and Benchmarking RocksDB Key-Value Workloads at Facebook" (FAST
//! 2020). The accesses of a key range follow a sum of two exponentials. Within a range, the accesses of the keys
//! follow a power law. The lengths of values and scans follow a generalized Pareto distribution.

use std::time::{Duration, Instant};

use base::Result;

use super::dice::Dice;
use super::flags::Flags;
use super::reads::random_key;
use super::report::Op;
use super::run::{Limit, Run, Thread};

/// The key ranges. Each range has a share of the accesses.
struct Ranges {
    /// The first drawn number of each range.
    starts: Vec<u64>,
    drawn_below: u64,
    keys_each: u64,
}

impl Ranges {
    fn new(flags: &Flags, num: u64) -> Ranges {
        let count = flags.count("keyrange_num").max(1);
        let [a, b, c, d] = ["keyrange_dist_a", "keyrange_dist_b", "keyrange_dist_c", "keyrange_dist_d"]
            .map(|name| flags.double(name));
        // The loop starts with the coldest range. The first range with accesses gets about one of the drawn numbers.
        // Hotter ranges get more.
        let mut scale = 0.0;
        let mut shares = Vec::new();
        for range in (1..=count).rev() {
            let x = range as f64;
            let p = a * (b * x).exp() + c * (d * x).exp();
            let p = if p < 1e-16 { 0.0 } else { p };
            if scale == 0.0 && p > 0.0 {
                scale = (1.0 / p).floor() + 1.0;
            }
            shares.push((scale * p).floor() as u64);
        }
        let total: u64 = shares.iter().sum();
        // Hot ranges must not be neighbors. An equal distribution gives an equal order, because the seed is the sum
        // of the shares.
        let mut dice = Dice::new(total);
        for i in 0..shares.len() {
            let other = dice.below(count) as usize;
            shares.swap(i, other);
        }
        let starts = shares.iter().scan(0, |from, share| {
            let start = *from;
            *from += share;
            Some(start)
        });
        let starts = starts.collect();
        Ranges { starts, drawn_below: total.max(1), keys_each: (num / count).max(1) }
    }

    fn key(&self, drawn: u64, a: f64, b: f64) -> u64 {
        let at = drawn % self.drawn_below;
        let range = self.starts.partition_point(|start| *start <= at).saturating_sub(1) as u64;
        let offset = if a == 0.0 || b == 0.0 {
            drawn % self.keys_each
        } else {
            let u = (drawn % self.keys_each) as f64 / self.keys_each as f64;
            Dice::new(power(u, a, b) as u64).below(self.keys_each)
        };
        self.keys_each * range + offset
    }
}

/// The inverse of the power law's distribution function.
fn power(u: f64, a: f64, b: f64) -> i64 {
    (u / a).powf(1.0 / b).ceil() as i64
}

/// The inverse of the generalized Pareto distribution function.
fn pareto(u: f64, theta: f64, k: f64, sigma: f64) -> i64 {
    let x = if k == 0.0 { theta - sigma * u.ln() } else { theta + sigma * (u.powf(-k) - 1.0) / k };
    x.ceil() as i64
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Query {
    Get,
    Put,
    Seek,
}

/// The choice of the query for a drawn number between 0 and about 1,000.
struct Shares {
    gets: u64,
    puts: u64,
    all: u64,
}

impl Shares {
    fn new(flags: &Flags) -> Shares {
        let ratios = ["mix_get_ratio", "mix_put_ratio", "mix_seek_ratio"].map(|name| flags.double(name));
        let sum: f64 = ratios.iter().sum();
        let [gets, puts, seeks] = ratios.map(|ratio| (1000.0 * ratio / sum).ceil() as u64);
        Shares { gets, puts: gets + puts, all: (gets + puts + seeks).max(1) }
    }

    fn of(&self, drawn: u64) -> Query {
        match drawn % self.all {
            n if n < self.gets => Query::Get,
            n if n < self.puts => Query::Put,
            _ => Query::Seek,
        }
    }
}

/// Returns the rate at `x` seconds: `--sine_a * sin(--sine_b * x + --sine_c) + --sine_d`.
pub fn sine(flags: &Flags, x: f64) -> f64 {
    let of = |name: &str| flags.double(name);
    of("sine_a") * (of("sine_b") * x + of("sine_c")).sin() + of("sine_d")
}

/// A rate that follows [`sine`], with a new value after each interval.
pub struct Wave<'a> {
    flags: &'a Flags,
    interval: Duration,
    start: Instant,
    since: Instant,
}

impl<'a> Wave<'a> {
    /// Returns the wave of the flag `sine_write_rate` or `sine_mix_rate`, or `None` if the flag is not set.
    pub fn new(flags: &'a Flags, flag: &str) -> Option<Wave<'a>> {
        let interval = Duration::from_millis(flags.count(&format!("{flag}_interval_milliseconds")));
        let now = Instant::now();
        flags.bool(flag).then_some(Wave { flags, interval, start: now, since: now })
    }

    /// Returns the rate if an interval is over.
    pub fn due(&mut self) -> Option<f64> {
        let now = Instant::now();
        if now - self.since <= self.interval {
            return None;
        }
        self.since = now;
        Some(sine(self.flags, (now - self.start).as_secs_f64()))
    }
}

/// Adds a random number to the rate: at most `--sine_mix_rate_noise` times half of `--sine_a`, up or down.
fn with_noise(flags: &Flags, rate: f64, dice: &mut Dice) -> f64 {
    let (share, band) = (flags.double("sine_mix_rate_noise"), flags.double("sine_a") as i64);
    if !(0.0..=1.0).contains(&share) || band <= 0 {
        return rate;
    }
    let delta = (dice.below(band.unsigned_abs()) as i64 - band / 2) as f64 * share;
    if rate + delta < 0.0 { rate } else { rate + delta }
}

/// The rate limits of reads and writes: the limits of the benchmark, or the limits of `--sine_mix_rate`.
struct Limits<'a> {
    wave: Option<Wave<'a>>,
    own: Option<(Limit, Limit)>,
    run: &'a Run,
    /// Draws the noise from its own random numbers, so that the keys do not depend on the noise.
    dice: Dice,
    shares: [f64; 2],
}

impl<'a> Limits<'a> {
    fn new(run: &'a Run) -> Limits<'a> {
        let flags = &run.flags;
        let wave = Wave::new(flags, "sine_mix_rate");
        // The rate in the first interval.
        const FIRST: u64 = 1_000_000;
        let own = wave.is_some().then(|| (Limit::new(FIRST), Limit::new(FIRST)));
        let [gets, puts, seeks] =
            ["mix_get_ratio", "mix_put_ratio", "mix_seek_ratio"].map(|name| flags.double(name));
        Limits { wave, own, run, dice: Dice::new(run.seed), shares: [gets + seeks, puts] }
    }

    fn reads(&self) -> Option<&Limit> {
        self.own.as_ref().map(|(reads, _)| reads).or(self.run.read_limit.as_ref())
    }

    fn writes(&self) -> Option<&Limit> {
        self.own.as_ref().map(|(_, writes)| writes).or(self.run.write_limit.as_ref())
    }

    fn follow_wave(&mut self) {
        let (Some(wave), Some((reads, writes))) = (&mut self.wave, &self.own) else { return };
        let Some(rate) = wave.due() else { return };
        let rate = with_noise(&self.run.flags, rate, &mut self.dice);
        for (limit, share) in [reads, writes].into_iter().zip(self.shares) {
            if rate * share > 0.0 {
                limit.set((rate * share) as u64);
            }
        }
    }
}

/// The distributions of keys, values and scans.
struct Shapes {
    num: u64,
    skew: f64,
    key_a: f64,
    key_b: f64,
    ranges: Option<Ranges>,
    value_max: i64,
    scan_max: i64,
    of_value: [f64; 3],
    of_scan: [f64; 3],
}

impl Shapes {
    fn new(run: &Run) -> Shapes {
        let flags = &run.flags;
        let num = run.keys.num.max(1);
        let by_ranges = ["keyrange_dist_a", "keyrange_dist_b", "keyrange_dist_c", "keyrange_dist_d"]
            .iter()
            .any(|name| flags.double(name) != 0.0);
        Shapes {
            num,
            skew: flags.double("read_random_exp_range"),
            key_a: flags.double("key_dist_a"),
            key_b: flags.double("key_dist_b"),
            ranges: by_ranges.then(|| Ranges::new(flags, num)),
            value_max: flags.int("mix_max_value_size").clamp(1, 1 << 20),
            scan_max: flags.int("mix_max_scan_len").max(1),
            of_value: ["value_theta", "value_k", "value_sigma"].map(|name| flags.double(name)),
            of_scan: ["iter_theta", "iter_k", "iter_sigma"].map(|name| flags.double(name)),
        }
    }

    /// Returns the number of the key for a drawn number.
    fn key(&self, drawn: u64) -> u64 {
        match &self.ranges {
            _ if self.key_a == 0.0 || self.key_b == 0.0 => drawn,
            Some(ranges) => ranges.key(drawn, self.key_a, self.key_b),
            None => Dice::new(power(self.share(drawn), self.key_a, self.key_b) as u64).below(self.num),
        }
    }

    fn value_len(&self, drawn: u64) -> i64 {
        let [theta, k, sigma] = self.of_value;
        match pareto(self.share(drawn), theta, k, sigma) {
            size if size < 10 => 10,
            size if size > self.value_max => size % self.value_max,
            size => size,
        }
    }

    /// Returns the number of entries of a scan.
    fn scan_len(&self, drawn: u64) -> i64 {
        let [theta, k, sigma] = self.of_scan;
        pareto(self.share(drawn), theta, k, sigma) % self.scan_max
    }

    fn share(&self, drawn: u64) -> f64 {
        drawn as f64 / self.num as f64
    }
}

/// The counts of mixgraph.
#[derive(Default)]
struct Tally {
    gets: u64,
    puts: u64,
    seeks: u64,
    found: u64,
    /// The bytes that were read.
    bytes: u64,
    /// The entries that scans read.
    scanned: u64,
    value_bytes: i64,
}

impl Tally {
    fn message(&self) -> String {
        format!(
            "( Gets:{} Puts:{} Seek:{}, reads {} in {} found, avg size: {} value, {} scan)\n",
            self.gets,
            self.puts,
            self.seeks,
            self.found,
            self.gets + self.seeks,
            average(self.value_bytes as f64, self.puts),
            average(self.scanned as f64, self.seeks),
        )
    }
}

/// Runs mixgraph. Ends after `--duration` seconds, or after `--reads` operations.
pub fn mix_graph(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let shapes = Shapes::new(run);
    let shares = Shares::new(&run.flags);
    let mut values = run.values();
    let mut key = run.keys.buffer();
    let mut copy = vec![0u8; 1 << 20];
    let mut tally = Tally::default();
    let mut limits = Limits::new(run);
    let mut span = thread.span(run.counts.reads);
    while !span.over(1) {
        let database = thread.choose_db()?;
        let db = &database.db;
        let drawn = random_key(run, &mut thread.dice, shapes.skew);
        let number = shapes.key(drawn);
        run.keys.write(number, &mut key);
        limits.follow_wave();
        match shares.of(drawn) {
            Query::Get => {
                tally.gets += 1;
                if let Some(value) = database.family(number).get_with(&key, &run.read_options)? {
                    tally.found += 1;
                    tally.bytes += (key.len() + value.len()) as u64;
                }
                if let Some(limit) = limits.reads()
                    && (tally.gets + tally.seeks).is_multiple_of(100)
                {
                    limit.request(100);
                }
                thread.finished(1, Op::Read);
            }
            Query::Put => {
                tally.puts += 1;
                let size = shapes.value_len(drawn);
                tally.value_bytes += size;
                db.put_with(&key, values.take(size as usize), &run.write_options)?;
                if let Some(limit) = limits.writes()
                    && tally.puts.is_multiple_of(100)
                {
                    limit.request(100);
                }
                thread.finished(1, Op::Write);
            }
            Query::Seek => {
                let mut iter = db.iter_with(run.read_options.clone())?;
                iter.seek(&key);
                tally.seeks += 1;
                tally.found += u64::from(iter.valid() && iter.key() == key);
                let mut left = shapes.scan_len(drawn);
                while left > 0 && iter.valid() {
                    let value = iter.value();
                    let n = value.len().min(copy.len());
                    copy[..n].copy_from_slice(&value[..n]);
                    tally.bytes += (iter.key().len() + value.len()) as u64;
                    iter.next();
                    tally.scanned += 1;
                    left -= 1;
                }
                iter.status()?;
                thread.finished(1, Op::Seek);
            }
        }
    }
    std::hint::black_box(&copy);
    thread.stats.bytes += tally.bytes;
    thread.stats.message(&tally.message());
    Ok(())
}

/// Formats an average as C prints it. The average of no value is `-nan`.
fn average(sum: f64, count: u64) -> String {
    if count == 0 { "-nan".to_string() } else { format!("{:.1}", sum / count as f64) }
}
