//! Queries the filters. The first queries check the answers. The next queries measure the time, in six modes with
//! three mixes of keys.

use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

use kernel::filter::bloom_plain;
use kernel::hash;

use super::build::{Built, Kind, build};
use super::flags::{Flags, Impl};
use super::general::general;
use super::keys::{KeyMaker, Span};
use super::twister::{Twister, fast_range};

/// The choice of the filters that are queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    SingleFilter,
    BatchPrepared,
    BatchUnprepared,
    FiftyOne,
    EightyTwenty,
    RandomFilter,
}

const ALL: &[Mode] = &[
    Mode::SingleFilter,
    Mode::BatchPrepared,
    Mode::BatchUnprepared,
    Mode::FiftyOne,
    Mode::EightyTwenty,
    Mode::RandomFilter,
];
const QUICK: &[Mode] = &[Mode::SingleFilter, Mode::RandomFilter];
const BEST_CASE: &[Mode] = &[Mode::SingleFilter];

/// The numbers of keys that were not added to a filter have this bit.
const OUTSIDE: u32 = 0x8000_0000;
const RULE: &str = "----------------------------";

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Mode::SingleFilter => "Single filter",
            Mode::BatchPrepared => "Batched, prepared",
            Mode::BatchUnprepared => "Batched, unprepared",
            Mode::FiftyOne => "Skewed 50% in 1%",
            Mode::EightyTwenty => "Skewed 80% in 20%",
            Mode::RandomFilter => "Random filter",
        }
    }

    /// Returns the number of filters that are queried more often, and their share of the queries as a part of 2^32 −
    /// 1. Returns `None` if there are too few filters.
    fn primaries(self, filters: u32) -> Option<(u32, u32)> {
        const ALWAYS: u32 = u32::MAX;
        match self {
            Mode::SingleFilter => Some((1, ALWAYS)),
            Mode::FiftyOne => (filters >= 50).then_some((filters.div_ceil(100), ALWAYS / 2)),
            Mode::EightyTwenty => (filters >= 5).then_some((filters.div_ceil(5), ALWAYS / 5 * 4)),
            Mode::RandomFilter => (filters > 1).then_some((filters, ALWAYS)),
            Mode::BatchPrepared | Mode::BatchUnprepared => Some((filters, ALWAYS)),
        }
    }
}

/// Builds the filters, verifies them, and measures the queries.
///
/// # Errors
/// A text, if a filter does not find a key that was added, or if the rate of false positives is too high.
pub fn run(flags: &Flags) -> Result<(), String> {
    let modes = match (flags.best_case, flags.quick) {
        (true, _) => BEST_CASE,
        (_, true) => QUICK,
        _ => ALL,
    };
    let m_queries = match (flags.quick, flags.best_case) {
        (true, _) => flags.m_queries / 7.0,
        (_, true) => flags.m_queries / 3.0,
        _ => flags.m_queries,
    };
    let mut dice = Twister::new(flags.seed);
    let (filters, bits_per_key) = build(flags, &mut dice)?;
    let keys = KeyMaker::new(flags, flags.batch_size as usize);
    let mut bench =
        Bench { flags, filters, keys, queries: (m_queries * 1e6 + 0.5) as u64, report: String::new() };
    if !flags.quick && !flags.best_case {
        bench.verify(m_queries, bits_per_key)?;
    }
    println!("{RULE}\nMixed inside/outside queries...");
    bench.mix(u32::MAX / 2, 1, modes)?;
    if !flags.quick {
        // A few queries have the other answer, so that the branch predictor cannot learn the answer.
        println!("{RULE}\nInside queries (mostly)...");
        bench.mix(u32::MAX / 20 * 19, 1, modes)?;
        println!("{RULE}\nOutside queries (mostly)...");
        bench.mix(u32::MAX / 20, 2, modes)?;
    }
    print!("{}", bench.report);
    println!("{RULE}\nDone. (For more info, run with -legend or -help.)");
    Ok(())
}

/// The mode of the query loop: a key for each drawn filter, or a batch of keys for a single filter, queried one by one
/// or together.
const SINGLE: u8 = 0;
const ONE_BY_ONE: u8 = 1;
const AT_ONCE: u8 = 2;

/// The draw of the next filter and key.
struct Draw {
    dice: Twister,
    inside_threshold: u32,
    primaries: u32,
    share: u32,
    count: u32,
}

impl Draw {
    /// Returns true if the next key is a key that was added, and the index of the next filter.
    #[inline(always)]
    fn filter(&mut self) -> (bool, u32) {
        let [inside, share, number] = self.dice.take();
        let inside = inside <= self.inside_threshold;
        let index = match share <= self.share {
            true => fast_range(number, self.primaries),
            false => self.primaries + fast_range(number, self.count - self.primaries),
        };
        (inside, index)
    }
}

struct Bench<'a> {
    flags: &'a Flags,
    filters: Vec<Built>,
    keys: KeyMaker,
    queries: u64,
    report: String,
}

impl Bench<'_> {
    fn verify(&mut self, m_queries: f64, bits_per_key: f64) -> Result<(), String> {
        let tolerable = 2f64.powf(-(bits_per_key - 1.0) / (1.4 + bits_per_key / 50.0));
        println!("Best possible FP rate %: {}", general(100.0 * 2f64.powf(-bits_per_key)));
        println!("Tolerable FP rate %: {}", general(100.0 * tolerable));
        println!("{RULE}\nVerifying...");
        let outside = (m_queries * 1e6 / self.filters.len() as f64) as u32;
        let mut wrong = 0u64;
        for filter in &self.filters {
            for number in 0..filter.keys_added {
                if !filter.may_match(self.keys.get(filter.filter_id, number)) {
                    return Err(format!("filter {:#x} forgot its key {number}", filter.filter_id));
                }
            }
            for number in 0..outside {
                wrong += u64::from(filter.may_match(self.keys.get(filter.filter_id, number | OUTSIDE)));
            }
        }
        println!(" No FNs :)");
        let rate = wrong as f64 / f64::from(outside) / self.filters.len() as f64;
        println!(" Prelim FP rate %: {}", general(100.0 * rate));
        if !self.flags.allow_bad_fp_rate && rate >= tolerable {
            return Err("the false-positive rate is too high; -allow_bad_fp_rate continues".into());
        }
        Ok(())
    }

    fn mix(&mut self, inside_threshold: u32, seed: u32, modes: &[Mode]) -> Result<(), String> {
        for &mode in modes {
            let seed = self.flags.seed.wrapping_add(seed);
            let gross = self.timed::<false>(inside_threshold, mode, seed)?;
            let dry = self.timed::<true>(inside_threshold, mode, seed)?;
            println!("  {} net ns/op: {}", mode.name(), general(gross - dry));
        }
        Ok(())
    }

    /// Queries in one mode. A dry run does all of the work except the queries. Returns nanoseconds per query.
    fn timed<const DRY: bool>(
        &mut self,
        inside_threshold: u32,
        mode: Mode,
        seed: u32,
    ) -> Result<f64, String> {
        for filter in &mut self.filters {
            (filter.outside_queries, filter.false_positives) = (0, 0);
        }
        let count = self.filters.len() as u32;
        let Some((primaries, share)) = mode.primaries(count) else { return Ok(0.0) };
        let draw = Draw { dice: Twister::new(seed), inside_threshold, primaries, share, count };
        let unbatched = self.flags.use_full_block_reader || self.flags.use_plain_table_bloom;
        let start = Instant::now();
        let sum = match mode {
            Mode::BatchPrepared if !unbatched => self.ask::<DRY, AT_ONCE>(draw)?,
            Mode::BatchPrepared | Mode::BatchUnprepared => self.ask::<DRY, ONE_BY_ONE>(draw)?,
            _ => self.ask::<DRY, SINGLE>(draw)?,
        };
        let nanos = start.elapsed().as_nanos() as f64 / self.queries as f64;
        if !self.flags.quick {
            match DRY {
                true => println!("    Dry run ({:x}) ns/op: {}", sum & 0xfffff, general(nanos)),
                false => println!("    Gross filter    ns/op: {}", general(nanos)),
            }
        }
        if !DRY {
            self.report_rates();
        }
        Ok(nanos)
    }

    /// The measured loop: draws a filter and keys, makes the keys, and queries the filter. The compiler would remove
    /// the work of a dry run, so the result depends on it.
    #[inline(never)]
    fn ask<const DRY: bool, const HOW: u8>(&mut self, mut draw: Draw) -> Result<u32, String> {
        let dry_hash = dry_hash(self.flags);
        let Bench { filters, keys, queries, .. } = self;
        let batch = if HOW == SINGLE { 1 } else { self.flags.batch_size };
        let mut spans = vec![Span::default(); batch as usize];
        let mut hashes = vec![0u64; batch as usize];
        let mut answers = vec![false; batch as usize];
        let mut sum = 0u32;
        let mut asked = 0;
        while asked < *queries {
            asked += u64::from(batch);
            let (inside, index) = draw.filter();
            let filter = &mut filters[index as usize];
            let (id, range, kind, bits) = (filter.filter_id, filter.keys_added, filter.kind, &*filter.bits);
            let mark = if inside { 0 } else { OUTSIDE };
            let mut found = 0;
            let mut one = |key: &[u8]| match DRY {
                true => {
                    sum = sum.wrapping_add(dry_hash(key));
                    true
                }
                false => kind.may_match(bits, key),
            };
            if HOW == SINGLE {
                let [number] = draw.dice.take();
                found += u64::from(one(keys.get(id, fast_range(number, range) | mark)));
            } else {
                let numbers = draw.dice.run(batch);
                keys.set_each(&mut spans, id, numbers, |number| fast_range(number, range) | mark);
                let keys = spans.iter().map(|&span| keys.at(span));
                if HOW == AT_ONCE && !DRY {
                    kind.may_match_batch(bits, keys, &mut hashes, &mut answers);
                    found += answers.iter().map(|&answer| u64::from(answer)).sum::<u64>();
                } else {
                    keys.for_each(|key| found += u64::from(one(key)));
                }
            }
            // One code path counts both kinds of queries. The kind of a query is random, so a branch would be
            // mispredicted.
            let (inside, outside) = (u64::from(inside), u64::from(!inside));
            if found < inside * u64::from(batch) {
                return Err(format!("filter {id:#x} forgot a key"));
            }
            filter.outside_queries += outside * u64::from(batch);
            filter.false_positives += outside * found;
        }
        Ok(black_box(sum))
    }

    fn report_rates(&mut self) {
        let (mut asked, mut wrong) = (0, 0);
        let (mut worst, mut best) = (0.0f64, 1.0f64);
        for filter in self.filters.iter().filter(|filter| filter.outside_queries > 0) {
            asked += filter.outside_queries;
            wrong += filter.false_positives;
            let rate = filter.false_positives as f64 / filter.outside_queries as f64;
            (worst, best) = (worst.max(rate), best.min(rate));
        }
        let rate = wrong as f64 / asked as f64;
        self.report.clear();
        let _ = writeln!(self.report, "    Average FP rate %: {}", general(100.0 * rate));
        if !self.flags.quick && !self.flags.best_case {
            let _ = writeln!(self.report, "    Worst   FP rate %: {}", general(100.0 * worst));
            let _ = writeln!(self.report, "    Best    FP rate %: {}", general(100.0 * best));
            let _ = writeln!(self.report, "    Best possible bits/key: {}", general(-rate.log2()));
        }
    }
}

impl Built {
    fn may_match(&self, key: &[u8]) -> bool {
        self.kind.may_match(&self.bits, key)
    }
}

impl Kind {
    #[inline(always)]
    fn may_match(&self, bits: &[u8], key: &[u8]) -> bool {
        match self {
            Kind::Table(filter) => filter.may_match_key(bits, key),
            Kind::Plain(layout) => may_match_plain(layout, bits, key),
        }
    }

    #[inline(always)]
    fn may_match_batch<'k>(
        &self,
        bits: &[u8],
        keys: impl Iterator<Item = &'k [u8]>,
        hashes: &mut [u64],
        answers: &mut [bool],
    ) {
        match self {
            Kind::Table(filter) => {
                filter.hash_and_fetch(bits, keys, hashes);
                filter.may_match_fetched(bits, hashes, answers);
            }
            Kind::Plain(layout) => {
                keys.zip(answers).for_each(|(key, answer)| *answer = may_match_plain(layout, bits, key));
            }
        }
    }
}

#[inline(never)]
fn may_match_plain(layout: &bloom_plain::Layout, bits: &[u8], key: &[u8]) -> bool {
    layout.may_match(bits, hash::slice_hash(key))
}

/// Returns the work for a key in a dry run: the work that the net times exclude.
fn dry_hash(flags: &Flags) -> fn(&[u8]) -> u32 {
    if flags.net_includes_hashing {
        return |key| key.len() as u32 + key.get(3).map_or(0, |&byte| u32::from(byte));
    }
    match flags.use_plain_table_bloom || flags.filter() == Ok(Impl::Legacy) {
        true => hash::bloom_hash,
        false => |key| hash::hash64(key) as u32,
    }
}
