//! Benchmarks that load: fillseq, fillrandom, filluniquerandom, overwrite, deletes, updates, merges.

use base::Result;
use ironstone::{FamilyId, WriteBatch};

use super::report::Op;
use super::run::Thread;

/// Deletes keys in ascending order (deleteseq). Ignores `--duration`.
pub fn delete_seq(thread: &mut Thread<'_>) -> Result<()> {
    delete(thread, true)
}

/// Deletes random keys (deleterandom). A deletion of a missing key counts too.
pub fn delete_random(thread: &mut Thread<'_>) -> Result<()> {
    delete(thread, false)
}

fn delete(thread: &mut Thread<'_>, sequential: bool) -> Result<()> {
    let run = thread.run;
    let mut span =
        thread.span_of(if sequential { 0 } else { run.flags.count("duration") }, run.counts.deletes);
    let mut batch = WriteBatch::new();
    let mut key = run.keys.buffer();
    let mut at = 0;
    while !span.over(run.counts.batch) {
        let db = &thread.choose_db()?.db;
        batch.clear();
        let stamp = run.stamps.as_ref().map(|stamps| stamps.allocate());
        for j in 0..run.counts.batch {
            let number = if sequential { at + j } else { thread.dice.below(run.keys.num) };
            run.keys.write(number, &mut key);
            match &stamp {
                Some(stamp) => batch.delete_at(FamilyId::DEFAULT, &key, stamp),
                None => batch.delete(&key),
            };
        }
        db.write_with(&mut batch, &run.write_options)?;
        thread.finished(run.counts.batch, Op::Delete);
        at += run.counts.batch;
    }
    Ok(())
}

/// The writer of readwhilewriting and similar benchmarks: writes until the other threads end.
pub fn background_writer(thread: &mut Thread<'_>, merge: bool) -> Result<()> {
    let run = thread.run;
    thread.stats.excluded = true;
    let flags = &run.flags;
    let keyspace = if flags.int("bgwriter_num") > 0 { flags.count("bgwriter_num") } else { run.keys.num };
    let finish_after = flags.bool("finish_after_writes");
    let mut values = run.values();
    let mut key = run.keys.buffer();
    let (mut bytes, mut written) = (0u64, 0u64);
    loop {
        let db = &thread.choose_db()?.db;
        if finish_after && written >= run.counts.writes {
            eprintln!("Exiting the writer after {written} writes...");
            break;
        }
        let others_done =
            thread.crew.finished.load(std::sync::atomic::Ordering::Acquire) + 1 >= thread.crew.total;
        if others_done && !finish_after || thread.crew.failed.load(std::sync::atomic::Ordering::Relaxed) {
            break;
        }
        run.keys.write(thread.dice.below(keyspace), &mut key);
        let value = values.next();
        if merge {
            db.merge_with(&key, value, &run.write_options)?;
        } else {
            run.put(db, &key, value)?;
        }
        written += 1;
        let op_bytes = (key.len() + value.len()) as u64;
        bytes += op_bytes;
        thread.finished(1, Op::Write);
        if let Some(limit) = &run.write_limit {
            limit.request(op_bytes);
        }
    }
    thread.stats.bytes += bytes;
    Ok(())
}

/// The kind of read-modify-write of an update benchmark.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Replace,
    Xor,
    Append,
}

/// Reads random keys and replaces each value by a new value (updaterandom).
pub fn update_random(thread: &mut Thread<'_>) -> Result<()> {
    update(thread, Change::Replace)
}

/// Reads random keys and replaces each value by its exclusive or with a new value (xorupdaterandom). A missing
/// key gets an empty value.
pub fn xor_update_random(thread: &mut Thread<'_>) -> Result<()> {
    update(thread, Change::Xor)
}

/// Reads random keys and appends a comma and a new value to each value (appendrandom).
pub fn append_random(thread: &mut Thread<'_>) -> Result<()> {
    update(thread, Change::Append)
}

fn update(thread: &mut Thread<'_>, change: Change) -> Result<()> {
    let run = thread.run;
    let mut span = thread.span(run.counts.readwrites);
    let mut values = run.values();
    let mut key = run.keys.buffer();
    let mut scratch = Vec::new();
    let mut options = run.read_options.clone();
    let (mut found, mut bytes) = (0u64, 0u64);
    while !span.over(1) {
        let db = &thread.choose_db()?.db;
        run.keys.write(thread.dice.below(run.keys.num), &mut key);
        run.stamp_read(&mut options, &mut thread.dice);
        let old = db.get_with(&key, &options)?;
        if let Some(old) = &old {
            found += 1;
            bytes += (key.len() + old.len()) as u64;
        }
        if let Some(limit) = &run.write_limit {
            limit.request((key.len() + old.as_ref().map_or(0, |o| o.len())) as u64);
        }
        scratch.clear();
        match change {
            Change::Replace => scratch.extend_from_slice(values.next()),
            Change::Xor => {
                let len = old.as_ref().map_or(0, |o| o.len());
                scratch.extend_from_slice(values.take(len));
                if let Some(old) = &old {
                    scratch.iter_mut().zip(old.iter()).for_each(|(a, b)| *a ^= b);
                }
            }
            Change::Append => {
                if let Some(old) = old.as_ref().filter(|old| !old.is_empty()) {
                    scratch.extend_from_slice(old);
                    scratch.push(b',');
                }
                scratch.extend_from_slice(values.next());
            }
        }
        run.put(db, &key, &scratch)?;
        bytes += (key.len() + scratch.len()) as u64;
        thread.finished(1, Op::Update);
    }
    if change != Change::Xor {
        thread.stats.bytes += bytes;
    }
    let text = format!("( updates:{} found:{found})", run.counts.readwrites);
    thread.stats.message(&text);
    Ok(())
}

/// Merges values into random keys below `--merge_keys` (mergerandom).
pub fn merge_random(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let mut span = thread.span(run.counts.readwrites);
    let mut values = run.values();
    let mut key = run.keys.buffer();
    let keys = super::data::Keys { num: run.counts.merge_keys, ..run.keys };
    let mut bytes = 0u64;
    while !span.over(1) {
        let database = thread.choose_db()?;
        let number = thread.dice.below(run.counts.merge_keys);
        keys.write(number, &mut key);
        let value = values.next();
        database.family(number).merge_with(&key, value, &run.write_options)?;
        bytes += (key.len() + value.len()) as u64;
        thread.finished(1, Op::Merge);
    }
    thread.stats.bytes += bytes;
    let text = format!("( updates:{})", run.counts.readwrites);
    thread.stats.message(&text);
    Ok(())
}

/// Gets and merges random keys below `--merge_keys`. `--mergereadpercent` is the share of merges, as in
/// RocksDB.
pub fn read_random_merge_random(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let mut span = thread.span(run.counts.readwrites);
    let mut values = run.values();
    let mut key = run.keys.buffer();
    let keys = super::data::Keys { num: run.counts.merge_keys, ..run.keys };
    let percent = run.flags.count("mergereadpercent");
    let (mut hits, mut gets, mut merges, mut longest) = (0u64, 0u64, 0u64, 0usize);
    while !span.over(1) {
        let db = &thread.choose_db()?.db;
        keys.write(thread.dice.below(run.counts.merge_keys), &mut key);
        if thread.dice.below(100) < percent {
            db.merge_with(&key, values.next(), &run.write_options)?;
            merges += 1;
            thread.finished(1, Op::Merge);
        } else {
            if let Some(value) = db.get_with(&key, &run.read_options)? {
                longest = longest.max(value.len());
                hits += 1;
            }
            gets += 1;
            thread.finished(1, Op::Read);
        }
    }
    let text = format!(
        "(reads:{gets} merges:{merges} total:{} hits:{hits} maxlength:{longest})",
        run.counts.readwrites
    );
    thread.stats.message(&text);
    Ok(())
}

/// Deletes versions of keys and puts the next version, under a snapshot (randomreplacekeys). The choice of the
/// key has a normal distribution.
pub fn random_replace_keys(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    let db = &thread.choose_db()?.db;
    let distinct = run.flags.count("numdistinct").max(1);
    let single = run.flags.bool("use_single_deletes");
    let stddev = run.flags.double("stddev");
    const VERSIONS: u64 = 50;
    let mut counters = vec![0u64; distinct as usize];
    let mut values = run.values();
    let mut key = run.keys.buffer();
    for i in 0..distinct {
        run.keys.write(i * VERSIONS, &mut key);
        run.put(db, &key, values.next())?;
    }
    let _snapshot = db.snapshot();
    let mut span = thread.span(run.keys.num);
    while !span.over(1) {
        let drawn = distinct as f64 / 2.0 + thread.dice.normal() * stddev;
        let id = (drawn.max(0.0) as u64).min(distinct - 1);
        let counter = &mut counters[id as usize];
        run.keys.write(id * VERSIONS + *counter, &mut key);
        run.delete(db, &key, single)?;
        *counter = (*counter + 1) % VERSIONS;
        run.keys.write(id * VERSIONS + *counter, &mut key);
        run.put(db, &key, b"")?;
        thread.finished(1, Op::Others);
    }
    let text = format!("use single deletes: {}, standard deviation: {stddev:.6}\n", i32::from(single));
    thread.stats.message(&text);
    Ok(())
}
