//! timeseries: one thread writes events with random ids. The other threads search the first event of an id, or delete
//! old events.
//!
//! As in RocksDB, a reader seeks a key of id and time. The reader stops at the first key that does not begin with the
//! whole key, so the benchmark measures the seek.

use std::sync::atomic::Ordering;

use base::{Error, Result};

use super::report::Op;
use super::run::Thread;

/// The bytes of the id at the start of a key, and of the tick after it. The tick is the time of the write.
const PART: usize = 8;

/// Runs timeseries. Thread 0 writes, and each other thread reads or deletes.
///
/// # Errors
/// InvalidArgument if `--key_size` is below 16. NotSupported for an `--expire_style` other than none and
/// delete.
pub fn time_series(thread: &mut Thread<'_>) -> Result<()> {
    let flags = &thread.run.flags;
    if thread.run.keys.key_size < 2 * PART {
        return Err(Error::invalid_argument(
            "timeseries needs --key_size of at least 16: eight bytes of id, eight of time",
        ));
    }
    match flags.text("expire_style") {
        "none" | "delete" => {}
        other => {
            return Err(Error::not_supported(format!("--expire_style={other}; known: none, delete")));
        }
    }
    if thread.tid == 0 {
        write(thread)?;
        thread.stats.stop();
        print!("{}", thread.stats.report("timeseries write"));
        return Ok(());
    }
    let deletes =
        flags.text("expire_style") == "delete" && thread.tid as u64 <= flags.count("num_deletion_threads");
    read_or_delete(thread, deletes)
}

fn write(thread: &mut Thread<'_>) -> Result<()> {
    let run = thread.run;
    thread.stats.excluded = true;
    let db = run.db()?.clone();
    let ids = run.flags.count("key_id_range").max(1);
    let mut values = run.values();
    let mut key = run.keys.buffer();
    let mut span = thread.span(run.counts.writes);
    while !span.over(1) {
        thread.choose_db()?;
        run.keys.write(thread.dice.below(ids), &mut key);
        let tick = thread.crew.ticks.fetch_add(1, Ordering::Relaxed);
        key[PART..2 * PART].copy_from_slice(&tick.to_be_bytes());
        let value = values.next();
        db.put_with(&key, value, &run.write_options)?;
        let bytes = (key.len() + value.len()) as u64;
        thread.finished(1, Op::Write);
        thread.stats.bytes += bytes;
        if let Some(limit) = &run.write_limit {
            limit.request(bytes);
        }
    }
    Ok(())
}

fn read_or_delete(thread: &mut Thread<'_>, deletes: bool) -> Result<()> {
    let run = thread.run;
    let flags = &run.flags;
    let db = run.db()?.clone();
    let ids = flags.count("key_id_range").max(1);
    let keeps = flags.count("time_range");
    let tailing = flags.bool("use_tailing_iterator");
    let mut iter = db.iter_with(run.read_options.clone())?;
    let mut key = run.keys.buffer();
    let mut copy = [0u8; 256];
    let (mut read, mut found, mut bytes) = (0u64, 0u64, 0u64);
    while thread.crew.finished.load(Ordering::Acquire) == 0 && !thread.crew.failed.load(Ordering::Relaxed) {
        if !tailing {
            iter = db.iter_with(run.read_options.clone())?;
        }
        run.keys.write(thread.dice.below(ids), &mut key);
        let end = key.len();
        key[end - PART..].fill(0);
        read += 1;
        iter.seek(&key);
        let mut any = false;
        while iter.valid() && iter.key().starts_with(&key) {
            any = true;
            if deletes {
                bytes += iter.key().len() as u64;
                let tick = iter
                    .key()
                    .get(PART..2 * PART)
                    .and_then(|b| b.first_chunk())
                    .map_or(0, |b| u64::from_be_bytes(*b));
                if thread.crew.ticks.load(Ordering::Relaxed).saturating_sub(tick) <= keeps {
                    break;
                }
                db.delete_with(iter.key(), &run.write_options)?;
                thread.finished(1, Op::Delete);
            } else {
                let value = iter.value();
                bytes += (iter.key().len() + value.len()) as u64;
                let n = value.len().min(copy.len());
                copy[..n].copy_from_slice(&value[..n]);
                thread.finished(1, Op::Read);
            }
            iter.next();
        }
        iter.status()?;
        found += u64::from(any);
        if let Some(limit) = &run.read_limit {
            limit.request(1);
        }
    }
    std::hint::black_box(&copy);
    thread.stats.bytes += bytes;
    let text = format!("({found} of {read} found)");
    thread.stats.message(&text);
    Ok(())
}
