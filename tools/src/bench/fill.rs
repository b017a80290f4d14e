//! Benchmarks that fill a database: fillseq, fillrandom, filluniquerandom, overwrite, and the tombstones among them.

use std::collections::VecDeque;

use base::{Error, Result};
use ironstone::{FamilyId, WriteBatch};

use super::dice::{Dice, Trials, shuffled};
use super::report::Op;
use super::run::{Run, Span, Thread};

/// The order in which keys are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Sequential,
    Random,
    UniqueRandom,
}

/// The numbers of keys, in the order in which they are written.
pub struct KeyNumbers {
    order: Order,
    num: u64,
    next: usize,
    shuffled: Vec<u64>,
}

impl KeyNumbers {
    /// Makes the numbers from 0 to `num - 1` in this order. A unique random order keeps all numbers in memory.
    pub fn new(order: Order, num: u64, seed: u64) -> KeyNumbers {
        let shuffled = if order == Order::UniqueRandom { shuffled(num, seed as u32) } else { Vec::new() };
        KeyNumbers { order, num, next: 0, shuffled }
    }

    /// Returns the number at the position `at` of the unique random order.
    pub fn fetch(&self, at: usize) -> u64 {
        self.shuffled.get(at % self.shuffled.len().max(1)).copied().unwrap_or_default()
    }

    #[inline]
    fn next(&mut self, dice: &mut Dice) -> u64 {
        match self.order {
            Order::Sequential => {
                self.next += 1;
                self.next as u64 - 1
            }
            Order::Random => dice.below(self.num),
            Order::UniqueRandom => {
                let key = self.shuffled.get(self.next).copied().unwrap_or_default();
                self.next = (self.next + 1) % self.shuffled.len().max(1);
                key
            }
        }
    }
}

/// Writes keys in ascending order (fillseq).
pub fn fill_seq(thread: &mut Thread<'_>) -> Result<()> {
    fill(thread, Order::Sequential, writes_of(thread))
}

/// Writes random keys (fillrandom, overwrite). A key may be written several times.
pub fn fill_random(thread: &mut Thread<'_>) -> Result<()> {
    fill(thread, Order::Random, writes_of(thread))
}

/// Writes all keys in random order, each once (filluniquerandom).
pub fn fill_unique_random(thread: &mut Thread<'_>) -> Result<()> {
    fill(thread, Order::UniqueRandom, writes_of(thread))
}

fn writes_of(thread: &Thread<'_>) -> u64 {
    if thread.run.counts.writes == 0 { thread.run.counts.num } else { thread.run.counts.writes }
}

/// The choice of the keys. With `--overwrite_probability`, filluniquerandom writes keys of a window of recent keys again.
struct Choice {
    /// The numbers of each database.
    numbers: Vec<KeyNumbers>,
    /// The probability that a recent key is written again. 0 without a window.
    overwrite: f64,
    window: VecDeque<u64>,
    window_size: usize,
    trials: Trials,
    places: Dice,
    overwrites: u64,
    unique: u64,
}

impl Choice {
    fn new(run: &Run, order: Order, numbers: Vec<KeyNumbers>) -> Result<Choice> {
        let overwrite = run.flags.double("overwrite_probability").clamp(0.0, 1.0);
        let overwrite = if order == Order::UniqueRandom { overwrite } else { 0.0 };
        let window_size = run.flags.count("overwrite_window_size") as usize;
        if overwrite > 0.0 && window_size == 0 {
            return Err(Error::invalid_argument("overwrite_window_size must be strictly greater than 0"));
        }
        Ok(Choice {
            numbers,
            overwrite,
            window: VecDeque::new(),
            window_size,
            trials: Trials::new(run.seed as u32),
            places: Dice::new(run.seed),
            overwrites: 0,
            unique: 0,
        })
    }

    #[inline]
    fn next(&mut self, database: usize, dice: &mut Dice) -> u64 {
        match self.overwrite > 0.0 {
            true => self.next_of_window(database, dice),
            false => self.numbers[database].next(dice),
        }
    }

    fn next_of_window(&mut self, database: usize, dice: &mut Dice) -> u64 {
        if !self.window.is_empty() && self.trials.happens(self.overwrite) {
            self.overwrites += 1;
            return self.window[self.places.below(self.window.len() as u64) as usize];
        }
        self.unique += 1;
        let number = self.numbers[database].next(dice);
        if self.window.len() >= self.window_size {
            self.window.pop_front();
        }
        self.window.push_back(number);
        number
    }

    /// Prints the numbers of new keys and of overwrites, if there is a window.
    fn print(&self) {
        if self.overwrite > 0.0 {
            println!(
                "Number of unique keys inserted: {}.\nNumber of overwrites: {}",
                self.unique, self.overwrites
            );
        }
    }
}

/// The range tombstones of a fill.
struct Tombstones {
    /// The number of writes between two tombstones. 0: no tombstones.
    every: u64,
    /// The number of writes before the first interval.
    after: u64,
    max: u64,
    /// The number of keys that a tombstone deletes.
    width: u64,
    /// True if a point tombstone for each key replaces the range tombstone.
    expand: bool,
    made: u64,
    buffers: [Vec<u8>; 2],
}

impl Tombstones {
    fn new(run: &Run) -> Tombstones {
        let flags = &run.flags;
        Tombstones {
            every: flags.count("writes_per_range_tombstone"),
            after: flags.count("writes_before_delete_range"),
            max: flags.count("max_num_range_tombstones"),
            width: flags.count("range_tombstone_width"),
            expand: flags.bool("expand_range_tombstones"),
            made: 0,
            buffers: [run.keys.buffer(), run.keys.buffer()],
        }
    }

    /// Returns true if a tombstone follows the write with this number.
    #[inline]
    fn is_due(&self, written: u64) -> bool {
        self.every > 0
            && written > self.after
            && (written - self.after) / self.every <= self.max
            && (written - self.after).is_multiple_of(self.every)
    }

    /// Adds a tombstone that starts at the key with the number `begin`.
    fn add(
        &mut self,
        run: &Run,
        batch: &mut WriteBatch,
        family: FamilyId,
        stamp: Option<&[u8; 8]>,
        begin: u64,
    ) {
        self.made += 1;
        let [start, end] = &mut self.buffers;
        if self.expand {
            for offset in 0..self.width {
                run.keys.write(begin + offset, end);
                match stamp {
                    Some(stamp) => batch.delete_at(family, end, stamp),
                    None => batch.delete_in(family, end),
                };
            }
            return;
        }
        run.keys.write(begin, start);
        run.keys.write(begin + self.width, end);
        match stamp {
            Some(stamp) => batch.delete_range_at(family, start, end, stamp),
            None => batch.delete_range_in(family, start, end),
        };
    }
}

/// The database of each write of a fill, and the stages of `--num_hot_column_families`.
struct Route {
    order: Order,
    databases: u64,
    /// The writes to each database.
    ops: u64,
    /// The writes of each stage, in all databases.
    ops_per_stage: u64,
    stage: u64,
}

impl Route {
    fn new(run: &Run, order: Order, ops: u64) -> Route {
        let databases = run.databases.len().max(1) as u64;
        let families = run.flags.count("num_column_families").max(1);
        let stages = (families / super::databases::hot_families(&run.flags) as u64).max(1);
        let total = ops * databases;
        Route { order, databases, ops, ops_per_stage: total.saturating_sub(1) / stages + 1, stage: 0 }
    }

    /// Creates the column families of the stage of the next write, if the stage is new.
    fn begin_stage(&mut self, run: &Run, span: &Span<'_>) -> Result<()> {
        let stage = span.stage(self.ops_per_stage);
        if stage != self.stage {
            self.stage = stage;
            run.databases.iter().try_for_each(|database| database.begin_stage(stage))?;
        }
        Ok(())
    }

    /// Returns the number of the database of the next write. `written` is the number of writes so far. A sequential fill
    /// fills one database after the other.
    #[inline]
    fn next(&self, written: u64, dice: &mut Dice) -> usize {
        match self.order {
            Order::Sequential => (written / self.ops.max(1)).min(self.databases - 1) as usize,
            Order::Random | Order::UniqueRandom => match (dice.next(), self.databases) {
                (_, 1) => 0,
                (drawn, databases) => (drawn % databases) as usize,
            },
        }
    }
}

/// Writes `ops` values to each database in the given order.
pub fn fill(thread: &mut Thread<'_>, order: Order, ops: u64) -> Result<()> {
    let run = thread.run;
    let flags = &run.flags;
    let first = run.first()?;
    let mut route = Route::new(run, order, ops);
    let seconds = if order == Order::Random { flags.count("duration") } else { 0 };
    let mut span = thread.span_of(seconds, ops * route.databases);
    if run.counts.num != flags.count("num") {
        let text = format!("({} ops)", run.counts.num);
        thread.stats.message(&text);
    }
    let mut tombstones = Tombstones::new(run);
    let num = run.counts.num + tombstones.max;
    let numbers = (0..route.databases).map(|_| KeyNumbers::new(order, num, run.seed)).collect();
    let mut choice = Choice::new(run, order, numbers)?;
    let mut values = run.values();
    let mut batch = WriteBatch::new();
    let mut key = run.keys.buffer();
    let (mut bytes, mut written) = (0u64, 0u64);
    let one_family = first.has_one_family();
    let mut wave = super::mix::Wave::new(flags, "sine_write_rate");
    while num != 0 && !span.over(run.counts.batch) {
        route.begin_stage(run, &span)?;
        let at = route.next(written, &mut thread.dice);
        let database = &run.databases[at];
        batch.clear();
        let stamp = run.stamps.as_ref().map(|stamps| stamps.allocate());
        let mut batch_bytes = 0u64;
        for _ in 0..run.counts.batch {
            let number = choice.next(at, &mut thread.dice);
            run.keys.write(number, &mut key);
            let value = values.next();
            batch_bytes += (value.len() + key.len()) as u64 + run.timestamp_len();
            let family = if one_family { FamilyId::DEFAULT } else { database.family(number).id() };
            match &stamp {
                Some(stamp) => batch.put_at(family, &key, stamp, value),
                None => batch.put_in(family, &key, value),
            };
            written += 1;
            if tombstones.is_due(written) {
                let begin = choice.numbers[at].next(&mut thread.dice);
                tombstones.add(run, &mut batch, family, stamp.as_ref(), begin);
            }
        }
        bytes += batch_bytes;
        if let Some(limit) = &run.write_limit {
            limit.request(batch_bytes);
            thread.stats.reset_last_op();
        }
        database.db.write_with(&mut batch, &run.write_options).map_err(|e| e.doing("putting a batch"))?;
        thread.finished(run.counts.batch, Op::Write);
        if let (Some(wave), Some(limit)) = (&mut wave, &run.write_limit)
            && let Some(rate) = wave.due()
        {
            limit.set(rate as u64);
        }
    }
    choice.print();
    if tombstones.made > 0 {
        println!("Number of range deletions: {}", tombstones.made);
    }
    thread.stats.bytes += bytes;
    Ok(())
}
