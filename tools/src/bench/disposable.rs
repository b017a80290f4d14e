//! The benchmark fillanddeleteuniquerandom: batches of short-lived entries, each followed by a permanent
//! entry.
//!
//! ```text
//! keys in random order   [disposable batch][persistent batch][disposable batch][persistent batch] ...
//! ```
//! A disposable batch is written at once. After its delay, the benchmark writes the persistent batch that follows it,
//! and then deletes the keys of the disposable batch. Each step writes or deletes one key.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use base::{Error, Result};
use ironstone::WriteBatch;

use super::data::Random;
use super::fill::{KeyNumbers, Order, fill_unique_random};
use super::report::Op;
use super::run::Thread;

/// The next step, with the number of its key.
enum Step {
    Dispose(usize),
    Persist(usize),
    Delete(usize),
}

/// The plan of the steps.
struct Plan {
    disposable: usize,
    persistent: usize,
    delay: Duration,
    /// The position of the next disposable entry.
    at: usize,
    /// The batches that will be deleted: the time, and the position of their first entry.
    due: VecDeque<(Instant, usize)>,
    /// The number of finished steps of the first batch in `due`.
    done: usize,
}

impl Plan {
    fn next(&mut self) -> Step {
        let both = self.disposable + self.persistent;
        if let Some((when, start)) = self.due.front().copied()
            && when < Instant::now()
        {
            let done = self.done;
            self.done += 1;
            if self.done == both {
                self.due.pop_front();
                self.done = 0;
            }
            return match done.checked_sub(self.persistent) {
                None => Step::Persist(start + self.disposable + done),
                Some(i) => Step::Delete(start + i),
            };
        }
        let at = self.at;
        self.at += 1;
        if self.at % both == self.disposable {
            self.due.push_back((Instant::now() + self.delay, self.at - self.disposable));
            self.at += self.persistent;
        }
        Step::Dispose(at)
    }
}

/// Runs fillanddeleteuniquerandom. If `--disposable_entries_batch_size` is 0, runs filluniquerandom.
pub fn fill_and_delete(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let flags = &run.flags;
    let count = |name: &str| flags.count(name) as usize;
    let (disposable, persistent) =
        (count("disposable_entries_batch_size"), count("persistent_entries_batch_size"));
    if disposable == 0 {
        return fill_unique_random(thread);
    }
    if flags.count("writes_per_range_tombstone") > 0 || flags.double("overwrite_probability") > 0.0 {
        return Err(Error::invalid_argument(
            "Disposable/persistent deletes are not compatible with overwrites and DeleteRanges; and are only supported \
             in filluniquerandom.",
        ));
    }
    let delay = Duration::from_micros(flags.count("disposable_entries_delete_delay"));
    let sizes = [count("disposable_entries_value_size"), count("persistent_entries_value_size")];
    let mut plan = Plan { disposable, persistent, delay, at: 0, due: VecDeque::new(), done: 0 };
    let numbers = KeyNumbers::new(Order::UniqueRandom, run.counts.num, run.seed);
    let mut random = Random::new(run.seed as u32);
    let db = run.db()?.clone();
    let mut batch = WriteBatch::new();
    let mut key = run.keys.buffer();
    let mut value = Vec::new();
    let (mut bytes, mut written, mut deleted) = (0u64, 0u64, 0u64);
    let mut span = thread.span_of(0, if run.counts.writes == 0 { run.counts.num } else { run.counts.writes });
    while !span.over(run.counts.batch) {
        batch.clear();
        for _ in 0..run.counts.batch {
            let step = plan.next();
            let (Step::Dispose(at) | Step::Persist(at) | Step::Delete(at)) = step;
            let number = numbers.fetch(at);
            run.keys.write(number, &mut key);
            let family = run.first()?.family(number).id();
            let size = match step {
                Step::Dispose(_) => sizes[0],
                Step::Persist(_) => sizes[1],
                Step::Delete(_) => {
                    batch.delete_in(family, &key);
                    deleted += 1;
                    bytes += key.len() as u64;
                    continue;
                }
            };
            value.clear();
            value.extend((0..size).map(|_| b' ' + random.uniform(95) as u8));
            batch.put_in(family, &key, &value);
            written += 1;
            bytes += (key.len() + value.len()) as u64;
        }
        if let Some(limit) = &run.write_limit {
            limit.request(bytes);
            thread.stats.reset_last_op();
        }
        db.write_with(&mut batch, &run.write_options)?;
        thread.finished(run.counts.batch, Op::Write);
    }
    println!(
        "Number of unique keys inserted (disposable+persistent): {written}.\nNumber of 'disposable entry delete': {deleted}"
    );
    thread.stats.bytes += bytes;
    Ok(())
}
