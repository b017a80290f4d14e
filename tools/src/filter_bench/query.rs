//! Asks the filters: first that they are right, then how fast, six ways times three mixes.

use std::fmt::Write;
use std::hint::black_box;
use std::ops::Range;
use std::time::Instant;

use kernel::hash;

use super::build::{Built, Kind, build};
use super::flags::{Flags, Impl};
use super::general::general;
use super::keys::KeyMaker;
use super::twister::Twister;

/// Which filters are asked.
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

/// Numbers of keys that were not added have this bit.
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

    /// Filters asked more often, the share of questions they get (of 2^32 − 1), or `None`: too few filters.
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

/// One whole run: building, verifying, asking.
///
/// # Errors
/// What would be an assertion's text: a key forgotten, a false-positive rate beyond what is tolerable.
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
    let makers = (0..flags.batch_size).map(|_| KeyMaker::new(flags)).collect();
    let mut bench =
        Bench { flags, filters, makers, queries: (m_queries * 1e6 + 0.5) as u64, report: String::new() };
    if !flags.quick && !flags.best_case {
        bench.verify(m_queries, bits_per_key)?;
    }
    println!("{RULE}\nMixed inside/outside queries...");
    bench.mix(u32::MAX / 2, 1, modes)?;
    if !flags.quick {
        // Not quite all, so that the branch predictor cannot learn the answer.
        println!("{RULE}\nInside queries (mostly)...");
        bench.mix(u32::MAX / 20 * 19, 1, modes)?;
        println!("{RULE}\nOutside queries (mostly)...");
        bench.mix(u32::MAX / 20, 2, modes)?;
    }
    print!("{}", bench.report);
    println!("{RULE}\nDone. (For more info, run with -legend or -help.)");
    Ok(())
}

struct Bench<'a> {
    flags: &'a Flags,
    filters: Vec<Built>,
    makers: Vec<KeyMaker>,
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
                if !filter.may_match(self.makers[0].get(filter.filter_id, number)) {
                    return Err(format!("filter {:#x} forgot its key {number}", filter.filter_id));
                }
            }
            for number in 0..outside {
                wrong += u64::from(filter.may_match(self.makers[0].get(filter.filter_id, number | OUTSIDE)));
            }
        }
        println!(" No FNs :)");
        let rate = wrong as f64 / f64::from(outside) / self.filters.len() as f64;
        println!(" Prelim FP rate %: {}", general(100.0 * rate));
        if !self.flags.allow_bad_fp_rate && rate >= tolerable {
            return Err(
                "the false-positive rate is beyond what is tolerable; -allow_bad_fp_rate goes on".into()
            );
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

    /// Asks as a mode asks; a dry run does all but ask. Nanoseconds a question.
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
        let batched = matches!(mode, Mode::BatchPrepared | Mode::BatchUnprepared);
        let batch = if batched { self.makers.len() } else { 1 };
        let at_once = mode == Mode::BatchPrepared
            && !self.flags.use_full_block_reader
            && !self.flags.use_plain_table_bloom;
        let dry_hash = dry_hash(self.flags);
        let mut dice = Twister::new(seed);
        let mut sum = 0u32;
        let mut ranges: Vec<Range<usize>> = vec![0..0; batch];
        let mut hashes = vec![0u64; batch];
        let mut answers = vec![false; batch];
        let start = Instant::now();
        let mut asked = 0;
        while asked < self.queries {
            asked += batch as u64;
            let inside = dice.next() <= inside_threshold;
            let index = match dice.next() <= share {
                true => dice.below(primaries),
                false => primaries + dice.below(count - primaries),
            };
            let filter = &mut self.filters[index as usize];
            let mark = if inside { 0 } else { OUTSIDE };
            for (maker, range) in self.makers.iter_mut().zip(&mut ranges) {
                *range = maker.set(filter.filter_id, dice.below(filter.keys_added) | mark);
            }
            if !inside {
                filter.outside_queries += batch as u64;
            }
            let keys = self.makers.iter().zip(&ranges).map(|(maker, range)| maker.at(range.clone()));
            if DRY {
                keys.for_each(|key| sum = sum.wrapping_add(dry_hash(key)));
                answers.fill(true);
            } else if at_once {
                filter.may_match_batch(keys, &mut hashes, &mut answers);
            } else {
                keys.zip(&mut answers).for_each(|(key, answer)| *answer = filter.may_match(key));
            }
            let found = answers.iter().filter(|answer| **answer).count();
            if inside && found != batch {
                return Err(format!("filter {:#x} forgot a key", filter.filter_id));
            }
            if !inside {
                filter.false_positives += found as u64;
            }
        }
        let nanos = start.elapsed().as_nanos() as f64 / self.queries as f64;
        if !self.flags.quick {
            match DRY {
                true => println!("    Dry run ({:x}) ns/op: {}", black_box(sum) & 0xfffff, general(nanos)),
                false => println!("    Gross filter    ns/op: {}", general(nanos)),
            }
        }
        if !DRY {
            self.report_rates();
        }
        Ok(nanos)
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
    #[inline]
    fn may_match(&self, key: &[u8]) -> bool {
        match &self.kind {
            Kind::Table(filter) => filter.may_match(&self.bits, filter.hash(key)),
            Kind::Plain(layout) => layout.may_match(&self.bits, hash::slice_hash(key)),
        }
    }

    #[inline]
    fn may_match_batch<'k>(
        &self,
        keys: impl Iterator<Item = &'k [u8]>,
        hashes: &mut [u64],
        answers: &mut [bool],
    ) {
        match &self.kind {
            Kind::Table(filter) => {
                for (key, hash) in keys.zip(hashes.iter_mut()) {
                    *hash = filter.hash(key);
                }
                filter.may_match_batch(&self.bits, hashes, answers);
            }
            Kind::Plain(_) => {
                for (key, answer) in keys.zip(answers) {
                    *answer = self.may_match(key);
                }
            }
        }
    }
}

/// What a dry run does with a key: as much as the net times are to leave out.
fn dry_hash(flags: &Flags) -> fn(&[u8]) -> u32 {
    if flags.net_includes_hashing {
        return |key| key.len() as u32 + key.get(3).map_or(0, |&byte| u32::from(byte));
    }
    match flags.use_plain_table_bloom || flags.filter() == Ok(Impl::Legacy) {
        true => hash::bloom_hash,
        false => |key| hash::hash64(key) as u32,
    }
}
