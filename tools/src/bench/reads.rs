//! Benchmarks that read: readseq, readreverse, readrandom, multireadrandom, seekrandom, and similar benchmarks.

use base::{Error, Result};
use ironstone::{Db, Family, Iter, ReadOptions, WideColumns};

use super::data::Keys;
use super::dice::Dice;
use super::report::Op;
use super::run::{Ask, Run, Thread};
use super::writes::background_writer;

/// Iterates forward from the first key over at most `--reads` entries.
pub fn read_seq(thread: &mut Thread<'_>) -> Result<()> {
    read_all(thread, scan_options, |iter| iter.seek_to_first(), |iter| iter.next())
}

/// Iterates backward from the last key over at most `--reads` entries.
pub fn read_reverse(thread: &mut Thread<'_>) -> Result<()> {
    let options = |run: &Run, _: &Db| run.read_options.clone();
    read_all(thread, options, |iter| iter.seek_to_last(), |iter| iter.prev())
}

/// Iterates over at most `--reads` entries of each database, from the entry that `start` finds.
#[inline]
fn read_all(
    thread: &mut Thread<'_>,
    options: impl Fn(&Run, &Db) -> ReadOptions,
    start: impl Fn(&mut Iter),
    step: impl Fn(&mut Iter),
) -> Result<()> {
    let run = thread.run;
    for database in &run.databases {
        let db = &database.db;
        let mut options = options(run, db);
        run.stamp_read(&mut options, &mut thread.dice);
        let mut iter = db.iter_with(options)?;
        let (mut done, mut bytes) = (0u64, 0u64);
        start(&mut iter);
        while done < run.counts.reads && iter.valid() {
            bytes += (iter.key().len() + iter.value().len()) as u64;
            thread.finished(1, Op::Read);
            done += 1;
            limit_reads(run, done, 1024);
            step(&mut iter);
        }
        iter.status()?;
        thread.stats.bytes += bytes;
    }
    Ok(())
}

fn scan_options(run: &Run, db: &Db) -> ReadOptions {
    let mut options = run.read_options.clone();
    if run.flags.bool("explicit_snapshot") {
        options.snapshot = Some(db.snapshot().held());
    }
    options
}

#[inline]
fn limit_reads(run: &Run, done: u64, every: u64) {
    if let Some(limit) = &run.read_limit
        && done % every == every - 1
    {
        limit.request(every);
    }
}

/// Draws the number of a key. The distribution is uniform. With `--read_random_exp_range` it is exponential, and the
/// hot keys are spread over the key space.
#[inline]
pub fn random_key(run: &Run, dice: &mut Dice, range: f64) -> u64 {
    let drawn = dice.next();
    if range == 0.0 {
        return drawn % run.keys.num.max(1);
    }
    const BIG: u64 = 1 << 62;
    let order = -((drawn % BIG) as f64 / BIG as f64) * range;
    let number = (order.exp() * run.keys.num as f64) as u64;
    number.wrapping_mul(0x5bd1_e995) % run.keys.num.max(1)
}

/// Gets random keys (readrandom). The report has the number of keys that were found.
pub fn read_random(thread: &mut Thread<'_>) -> Result<()> {
    let skew = thread.run.flags.double("read_random_exp_range");
    read_keys(thread, |run, dice| random_key(run, dice, skew))
}

/// Reads from the first hundredth of the keys.
pub fn read_hot(thread: &mut Thread<'_>) -> Result<()> {
    read_keys(thread, |run, dice| dice.below(run.keys.num.div_ceil(100)))
}

fn read_keys(thread: &mut Thread<'_>, mut draw: impl FnMut(&Run, &mut Dice) -> u64) -> Result<()> {
    let run = thread.run;
    let mut span = thread.span(run.counts.reads);
    let stride = run.flags.count("multiread_stride");
    let mut key = run.keys.buffer();
    let (mut read, mut found, mut bytes) = (0u64, 0u64, 0u64);
    let (mut number, mut in_batch) = (0u64, 0u64);
    let mut options = run.read_options.clone();
    if run.ask == Ask::Entity && run.stamps.is_some() {
        return Err(Error::invalid_argument("readrandomentity does not support user timestamps"));
    }
    while !span.over(1) {
        let database = thread.choose_db()?;
        if run.counts.batch > 1 && stride > 0 {
            in_batch += 1;
            if in_batch == run.counts.batch {
                in_batch = 0;
                number =
                    draw(run, &mut thread.dice).min(run.keys.num.saturating_sub(run.counts.batch * stride));
            } else {
                number += stride;
            }
        } else {
            number = draw(run, &mut thread.dice);
        }
        run.keys.write(number, &mut key);
        read += 1;
        run.stamp_read(&mut options, &mut thread.dice);
        let family = database.family(number);
        let len = match run.ask {
            Ask::Value if run.stamps.is_none() => {
                family.get_with(&key, &options)?.map(|value| value.len() as u64)
            }
            _ => rare_read(run, family, &key, &options)?,
        };
        if let Some(len) = len {
            found += 1;
            bytes += key.len() as u64 + len;
        }
        limit_reads(run, read, 256);
        thread.finished(1, Op::Read);
    }
    thread.stats.bytes += bytes;
    let text = format!("({found} of {read} found)\n");
    thread.stats.message(&text);
    Ok(())
}

/// Reads the operands or the columns of a key, or the value with its timestamp. Returns the number of bytes, or
/// `None` if the key does not exist.
fn rare_read(run: &Run, family: &Family, key: &[u8], options: &ReadOptions) -> Result<Option<u64>> {
    Ok(match run.ask {
        Ask::Value => {
            let value = family.get_with_ts(key, options)?.and_then(|found| found.value);
            value.map(|value| value.len() as u64 + run.timestamp_len())
        }
        Ask::Operands => {
            let operands = family.get_merge_operands(key, options)?;
            let len = operands.iter().map(|operand| operand.len() as u64).sum();
            (!operands.is_empty()).then_some(len)
        }
        Ask::Entity => family.get_entity_with(key, options)?.map(|columns| columns_len(&columns)),
    })
}

/// Returns the bytes of the names and values of all columns.
fn columns_len(columns: &WideColumns) -> u64 {
    columns.iter().map(|(name, value)| (name.len() + value.len()) as u64).sum()
}

/// Reads keys with random numbers below the next power of two of the number of keys. Reports after each hundred
/// reads.
pub fn read_random_fast(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let mask = run.keys.num.next_power_of_two() - 1;
    let mut span = thread.span(run.counts.reads);
    let mut key = run.keys.buffer();
    let (mut read, mut found, mut beyond) = (0u64, 0u64, 0u64);
    let mut options = run.read_options.clone();
    let db = &thread.choose_db()?.db;
    loop {
        for _ in 0..100 {
            let number = thread.dice.next() & mask;
            run.keys.write(number, &mut key);
            read += 1;
            run.stamp_read(&mut options, &mut thread.dice);
            found += u64::from(db.get_with(&key, &options)?.is_some());
            beyond += u64::from(number >= run.keys.num);
        }
        if let Some(limit) = &run.read_limit {
            limit.request(100);
        }
        thread.finished(100, Op::Read);
        if span.over(100) {
            break;
        }
    }
    let text = format!("({found} of {read} found, issued {beyond} non-exist keys)\n");
    thread.stats.message(&text);
    Ok(())
}

/// Gets each key once, in the order of the numbers (readtorowcache).
pub fn read_to_row_cache(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let mut key = run.keys.buffer();
    let (mut read, mut found, mut bytes) = (0u64, 0u64, 0u64);
    for number in 0..run.keys.num {
        run.keys.write(number, &mut key);
        read += 1;
        let database = thread.choose_db()?;
        if let Some(value) = database.family(number).get_with(&key, &run.read_options)? {
            found += 1;
            bytes += (key.len() + value.len()) as u64;
        }
        limit_reads(run, read, 256);
        thread.finished(1, Op::Read);
    }
    thread.stats.bytes += bytes;
    thread.stats.message(&format!("({found} of {read} found)\n"));
    Ok(())
}

/// Gets batches of `--batch_size` random keys with one call each (multireadrandom).
pub fn multi_read_random(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let mut span = thread.span(run.counts.reads);
    let stride = run.flags.count("multiread_stride");
    let batched = run.flags.bool("multiread_batched");
    let skew = run.flags.double("read_random_exp_range");
    let mut buffers: Vec<Vec<u8>> = (0..run.counts.batch).map(|_| run.keys.buffer()).collect();
    let (mut read, mut found, mut bytes, mut calls) = (0u64, 0u64, 0u64, 0u64);
    let mut options = run.read_options.clone();
    if run.ask == Ask::Entity && run.stamps.is_some() {
        return Err(Error::invalid_argument("multireadentity does not support user timestamps"));
    }
    while !span.over(run.counts.batch) {
        let db = &thread.choose_db()?.db;
        if stride > 0 {
            let first = random_key(run, &mut thread.dice, skew)
                .min(run.keys.num.saturating_sub(run.counts.batch * stride));
            for (i, key) in buffers.iter_mut().enumerate() {
                run.keys.write(first + i as u64 * stride, key);
            }
        } else {
            for key in &mut buffers {
                run.keys.write(random_key(run, &mut thread.dice, skew), key);
            }
        }
        let keys: Vec<&[u8]> = buffers.iter().map(Vec::as_slice).collect();
        run.stamp_read(&mut options, &mut thread.dice);
        if run.ask == Ask::Entity {
            for (key, columns) in keys.iter().zip(db.multi_get_entity(&keys, &options)) {
                if let Some(columns) = columns? {
                    found += 1;
                    bytes += key.len() as u64 + columns_len(&columns);
                }
            }
        }
        let values = if run.ask == Ask::Value { db.multi_get_with(&keys, &options) } else { Vec::new() };
        for (key, value) in keys.iter().zip(values) {
            if let Some(value) = value? {
                found += 1;
                // A call for one key copies the value to a vector. A call for many keys does not copy the values.
                let len = if batched { value.len() } else { value.to_vec().len() };
                bytes += (key.len() + len) as u64 + run.timestamp_len();
            }
        }
        read += run.counts.batch;
        calls += 1;
        if let Some(limit) = &run.read_limit
            && calls % 256 == 255
        {
            limit.request(256 * run.counts.batch);
        }
        thread.finished(run.counts.batch, Op::Read);
    }
    thread.stats.bytes += bytes;
    let text = format!("({found} of {read} found)");
    thread.stats.message(&text);
    Ok(())
}

/// Makes and drops iterators without a move.
pub fn new_iterator(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let mut span = thread.span(run.counts.reads);
    while !span.over(1) {
        let db = &thread.choose_db()?.db;
        let mut options = run.read_options.clone();
        run.stamp_read(&mut options, &mut thread.dice);
        drop(db.iter_with(options)?);
        thread.finished(1, Op::Others);
    }
    Ok(())
}

/// The bounds of the seeks: `--max_scan_distance` keys, or with `--auto_prefix_mode` the keys of one prefix.
struct Bounds {
    reverse: bool,
    distance: u64,
    by_prefix: bool,
    buffer: Vec<u8>,
}

impl Bounds {
    /// Sets the bounds for a seek to the key with this number.
    fn set(&mut self, options: &mut ReadOptions, keys: &Keys, number: u64, key: &[u8]) {
        if self.distance != 0 {
            if self.reverse {
                keys.write(number.saturating_sub(self.distance), &mut self.buffer);
                options.iterate_lower_bound = Some(self.buffer.clone());
            } else {
                keys.write((number + self.distance).min(keys.num), &mut self.buffer);
                options.iterate_upper_bound = Some(self.buffer.clone());
            }
        } else if self.by_prefix {
            let mut upper = key[..keys.prefix_size.min(key.len())].to_vec();
            if let Some(last) = upper.last_mut() {
                *last = last.wrapping_add(1);
            }
            options.iterate_upper_bound = Some(upper);
        }
    }
}

/// Seeks random keys and moves `--seek_nexts` times after each seek (seekrandom).
pub fn seek_random(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let flags = &run.flags;
    let mut options = scan_options(run, run.db()?);
    let tailing = flags.bool("use_tailing_iterator");
    run.stamp_read(&mut options, &mut thread.dice);
    let mut kept = if tailing { tailing_iterators(run, &options)? } else { Vec::new() };
    options.auto_prefix_mode = flags.bool("auto_prefix_mode");
    let reverse = flags.bool("reverse_iterator");
    let mut bounds = Bounds {
        reverse,
        distance: flags.count("max_scan_distance"),
        by_prefix: options.auto_prefix_mode && run.keys.prefix_size > 0 && !reverse,
        buffer: run.keys.buffer(),
    };
    let step = |iter: &mut Iter| if reverse { iter.prev() } else { iter.next() };
    let nexts = flags.count("seek_nexts");
    let deletes = flags.count("seek_nexts_to_delete");
    let missing = flags.bool("seek_missing_prefix");
    let mut key = run.keys.buffer();
    let mut copy = [0u8; 256];
    let mut span = thread.span(run.counts.reads);
    let (mut read, mut found, mut bytes) = (0u64, 0u64, 0u64);
    while !span.over(1) {
        let number = thread.dice.below(run.keys.num);
        run.keys.write(number, &mut key);
        if missing && key.len() > 8 {
            key[8] = b'1';
        }
        bounds.set(&mut options, &run.keys, number, &key);
        run.stamp_read(&mut options, &mut thread.dice);
        let at = match run.databases.len() {
            1 => 0,
            several => thread.dice.below(several as u64) as usize,
        };
        let mut own;
        let iter = match kept.get_mut(at) {
            Some(iter) => iter,
            None => {
                own = run.databases[at].db.iter_with(options.clone())?;
                &mut own
            }
        };
        iter.seek(&key);
        read += 1;
        if iter.valid() && iter.key() == key {
            found += 1;
        }
        let mut left = nexts;
        while left > 0 && iter.valid() {
            let value = iter.value();
            let n = value.len().min(copy.len());
            copy[..n].copy_from_slice(&value[..n]);
            bytes += (iter.key().len() + value.len()) as u64;
            step(iter);
            left -= 1;
        }
        let mut left = deletes;
        while left > 0 && iter.valid() {
            run.delete(&run.databases[at].db, iter.key(), false)?;
            step(iter);
            left -= 1;
        }
        iter.status()?;
        limit_reads(run, read, 256);
        thread.finished(1, Op::Seek);
    }
    std::hint::black_box(&copy);
    thread.stats.bytes += bytes;
    let text = format!("({found} of {read} found)\n");
    thread.stats.message(&text);
    Ok(())
}

/// Returns a tailing iterator of each database.
fn tailing_iterators(run: &Run, options: &ReadOptions) -> Result<Vec<Iter>> {
    run.databases.iter().map(|database| database.db.iter_with(options.clone())).collect()
}

/// Defines a benchmark: thread 0 runs `first`, and each other thread runs `others`.
macro_rules! beside {
    ($name:ident, $others:path, $first:expr) => {
        /// Runs the background work in thread 0 and the measured benchmark in each other thread.
        pub fn $name(thread: &mut Thread<'_>) -> Result<()> {
            if thread.tid > 0 { $others(thread) } else { $first(thread) }
        }
    };
}

beside!(read_while_writing, read_random, |t| background_writer(t, false));
beside!(read_while_merging, read_random, |t| background_writer(t, true));
beside!(read_while_scanning, read_random, background_scan);
beside!(multi_read_while_writing, multi_read_random, |t| background_writer(t, false));
beside!(seek_while_writing, seek_random, |t| background_writer(t, false));
beside!(seek_while_merging, seek_random, |t| background_writer(t, true));
beside!(new_iterator_while_writing, new_iterator, |t| background_writer(t, false));

/// Repeats a scan of the database until the other threads end.
fn background_scan(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    thread.stats.excluded = true;
    let db = run.db()?.clone();
    let mut iter = db.iter_with(run.read_options.clone())?;
    let (mut scans, mut bytes) = (0u64, 0u64);
    eprintln!("num reads to do {}", run.counts.reads);
    while thread.crew.finished.load(std::sync::atomic::Ordering::Acquire) + 1 < thread.crew.total
        && !thread.crew.failed.load(std::sync::atomic::Ordering::Relaxed)
    {
        if iter.valid() {
            bytes += (iter.key().len() + iter.value().len()) as u64;
            iter.next();
            thread.finished(1, Op::Read);
        } else {
            iter.status()?;
            iter.seek_to_first();
            scans += 1;
        }
    }
    thread.stats.bytes += bytes;
    eprintln!("{scans} full scans");
    Ok(())
}

/// Gets and puts random keys in turn, `--readwritepercent` gets of 100 operations.
pub fn read_random_write_random(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let mut values = run.values();
    let mut key = run.keys.buffer();
    let percent = run.flags.count("readwritepercent").min(100);
    let (mut gets_left, mut puts_left) = (0, 0);
    let (mut reads, mut writes, mut found) = (0u64, 0u64, 0u64);
    let mut options = run.read_options.clone();
    let mut span = thread.span(run.counts.readwrites);
    while !span.over(1) {
        let db = &thread.choose_db()?.db;
        run.keys.write(thread.dice.below(run.keys.num), &mut key);
        if gets_left == 0 && puts_left == 0 {
            gets_left = percent;
            puts_left = 100 - percent;
        }
        if gets_left > 0 {
            run.stamp_read(&mut options, &mut thread.dice);
            found += u64::from(db.get_with(&key, &options)?.is_some());
            gets_left -= 1;
            reads += 1;
            thread.finished(1, Op::Read);
        } else {
            run.put(db, &key, values.next())?;
            puts_left -= 1;
            writes += 1;
            thread.finished(1, Op::Write);
        }
    }
    let text = format!("( reads:{reads} writes:{writes} total:{} found:{found})", run.counts.readwrites);
    thread.stats.message(&text);
    Ok(())
}

/// Gets, puts and deletes groups of three keys. Each put or delete of a group is one write. A get checks that the
/// three values are equal.
pub fn random_with_verify(thread: &mut Thread<'_>) -> Result<()> {
    use ironstone::WriteBatch;
    let run = thread.run;
    let distinct = run.flags.count("numdistinct").max(1);
    let keys = super::data::Keys { num: distinct, ..run.keys };
    let mut values = run.values();
    let mut key = run.keys.buffer();
    let delete_percent = run.flags.count("deletepercent").min(100);
    let get_percent = run.flags.count("readwritepercent").min(100 - delete_percent);
    let (mut gets_left, mut puts_left, mut deletes_left) = (0, 0, 0);
    let (mut gets, mut puts, mut deletes, mut found) = (0u64, 0u64, 0u64, 0u64);
    let named = |key: &[u8], suffix: u8| [key, &[suffix]].concat();
    for _ in 0..run.counts.readwrites {
        if gets_left == 0 && puts_left == 0 && deletes_left == 0 {
            gets_left = get_percent;
            deletes_left = delete_percent;
            puts_left = 100 - get_percent - delete_percent;
        }
        let db = &thread.choose_db()?.db;
        keys.write(thread.dice.below(distinct), &mut key);
        if gets_left > 0 {
            let mut options = run.read_options.clone();
            options.snapshot = Some(db.snapshot().held());
            let mut three = Vec::with_capacity(3);
            for suffix in *b"012" {
                three.push(db.get_with(&named(&key, suffix), &options)?);
            }
            if three[0] != three[1] || three[1] != three[2] {
                eprintln!("inconsistent values for key {}", key.escape_ascii());
            }
            found += u64::from(three[2].is_some());
            gets_left -= 1;
            gets += 1;
            thread.finished(1, Op::Read);
        } else {
            let mut batch = WriteBatch::new();
            let put = puts_left > 0;
            let value = if put { values.next() } else { b"" };
            for suffix in *b"210" {
                if put {
                    batch.put(&named(&key, suffix), value);
                } else {
                    batch.delete(&named(&key, suffix));
                }
            }
            db.write_with(&mut batch, &run.write_options)?;
            if put {
                puts_left -= 1;
                puts += 1;
                thread.finished(1, Op::Write);
            } else {
                deletes_left -= 1;
                deletes += 1;
                thread.finished(1, Op::Delete);
            }
        }
    }
    let text =
        format!("( get:{gets} put:{puts} del:{deletes} total:{} found:{found})", run.counts.readwrites);
    thread.stats.message(&text);
    Ok(())
}

/// Loads the keys in order, then seeks them in order with one iterator. The load does not count in the report.
pub fn fill_seek_seq(thread: &mut Thread<'_>) -> Result<()> {
    super::fill::fill_seq(thread)?;
    thread.stats.restart();
    let run = thread.run;
    let db = &thread.choose_db()?.db;
    let mut options = scan_options(run, db);
    run.stamp_read(&mut options, &mut thread.dice);
    let mut iter = db.iter_with(options)?;
    let reverse = run.flags.bool("reverse_iterator");
    let nexts = run.flags.count("seek_nexts");
    let mut key = run.keys.buffer();
    let mut at = 0;
    while at < run.keys.num {
        run.keys.write(at, &mut key);
        iter.seek(&key);
        thread.finished(1, Op::Seek);
        let mut left = nexts;
        while left > 0 && at + 1 < run.keys.num && iter.valid() {
            if reverse {
                iter.prev()
            } else {
                iter.next()
            }
            at += 1;
            left -= 1;
            thread.finished(1, Op::Seek);
        }
        run.keys.write(at, &mut key);
        iter.seek(&key);
        thread.finished(1, Op::Seek);
        at += 1;
    }
    iter.status()
}

/// Returns the average estimate of the size of random key ranges in the report.
pub fn approximate_size_random(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let skew = run.flags.double("read_random_exp_range");
    let mut span = thread.span(run.counts.reads);
    let (mut total, mut count) = (0u64, 0u64);
    let (mut low, mut high) = (run.keys.buffer(), run.keys.buffer());
    while !span.over(1) {
        let db = &thread.choose_db()?.db;
        for _ in 0..run.counts.batch {
            let a = random_key(run, &mut thread.dice, skew);
            let b = random_key(run, &mut thread.dice, skew);
            run.keys.write(a.min(b), &mut low);
            run.keys.write(a.max(b), &mut high);
            total += db.approximate_size(&low, &high)?;
            count += 1;
        }
        thread.finished(run.counts.batch, Op::Others);
    }
    let text = format!("(Avg approx size={})", total as f64 / count.max(1) as f64);
    thread.stats.message(&text);
    Ok(())
}

/// Estimates the entries of memtables in ranges of `--batch_size` keys. The report has a histogram of the
/// estimates.
///
/// # Errors
/// InvalidArgument if `--num` is below `--batch_size`.
pub fn approximate_memtable_stats(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    if run.keys.num < run.counts.batch {
        return Err(Error::invalid_argument("approximatememtablestats needs --num of at least --batch_size"));
    }
    let range = run.keys.num - run.counts.batch;
    let mut span = thread.span(run.counts.reads);
    let mut histogram = base::stats::Histogram::default();
    let (mut low, mut high) = (run.keys.buffer(), run.keys.buffer());
    while !span.over(1) {
        let db = &thread.choose_db()?.db;
        let start = thread.dice.below(range);
        run.keys.write(start, &mut low);
        run.keys.write(start + run.counts.batch, &mut high);
        let (count, _bytes) = db.approximate_memtable_stats(&low, &high);
        histogram.add(count);
        thread.finished(1, Op::Others);
    }
    let text = format!("\nReported entry count stats (expected {}):", run.counts.batch);
    thread.stats.message(&text);
    thread.stats.message(&format!("\n{histogram}"));
    Ok(())
}
