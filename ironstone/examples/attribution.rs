//! Measures how much of the time of slow operations the database explains.
//!
//! ```text
//!  cargo run --release -p ironstone --example attribution DIR [KEYS]
//!
//!  fillrandom    random keys into an empty database           overwrite    the same keys again
//!  readrandom    random keys, after a reopen: a cold cache    seekrandom   seeks over runs of tombstones
//! ```
//! The program measures each call of the database with its own clock, without the time that the program needs for keys and
//! values. A seek is measured without the creation and the drop of its iterator. An operation is slow if it takes more than ten times the median
//! of its workload. For each slow operation the program adds up the causes that the database reports for the operation. The
//! time in which the operating system ran another thread is a cause of its own (Linux).
//!
//! The column `steps` is the share of the time that steps and waits explain. The column `explained` also has the work of searches and
//! of write groups, and the measurement itself.

#![allow(clippy::disallowed_methods, reason = "a program")]

use std::path::Path;
use std::time::Instant;

use ironstone::stats::{Cause, last_causes};
use ironstone::{Db, Options, Result};

const KEYS: u64 = 400_000;
const VALUE_BYTES: usize = 400;

/// One operation: its time and the time that causes explain, in nanoseconds.
struct Taken {
    nanos: u64,
    causes: [u64; Cause::COUNT],
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(dir) = arguments.first() else {
        eprintln!("usage: attribution DIR [KEYS]");
        std::process::exit(2);
    };
    let keys = arguments.get(1).and_then(|keys| keys.parse().ok()).unwrap_or(KEYS);
    if let Err(error) = run(Path::new(dir), keys) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn open(dir: &Path) -> Result<Db> {
    let mut options = Options::default();
    options.db.create_if_missing = true;
    options.update("write_buffer_size=8M;max_write_buffer_number=3;compression=kLZ4Compression")?;
    options.update("target_file_size_base=8M;max_bytes_for_level_base=32M")?;
    Db::open(dir, options)
}

/// Returns a number below `keys` for each `i`, in an order without pattern.
fn scatter(i: u64, keys: u64) -> u64 {
    (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(31) % keys.max(1)
}

fn key(number: u64) -> [u8; 16] {
    let mut key = [b'0'; 16];
    let text = number.to_string();
    key[16 - text.len()..].copy_from_slice(text.as_bytes());
    key
}

/// Returns a value. The second half of each value is one repeated byte, so blocks compress.
fn value(i: u64) -> Vec<u8> {
    let noise = (0..VALUE_BYTES as u64 / 16).flat_map(|n| scatter(i * 64 + n, u64::MAX).to_le_bytes());
    noise.chain(std::iter::repeat_n(7, VALUE_BYTES / 2)).collect()
}

fn run(dir: &Path, keys: u64) -> Result<()> {
    println!(
        "{:12} {:>9} {:>10} {:>8} {:>10} {:>8} {:>10}  largest causes",
        "workload", "operations", "median us", "slow", "slow ms", "steps", "explained"
    );
    let db = open(dir)?;
    let put = |entry: &mut ([u8; 16], Vec<u8>)| db.put(&entry.0, &entry.1);
    report("fillrandom", measure(keys, |i| Ok((key(scatter(i, keys)), value(i))), put)?);
    report("overwrite", measure(keys, |i| Ok((key(scatter(i + keys, keys)), value(i))), put)?);
    db.wait_for_compact()?;
    drop(db);
    let db = open(dir)?;
    report("readrandom", measure(keys / 2, |i| Ok(key(scatter(i, keys))), |key| db.get(key).map(drop))?);
    for first in (0..keys).step_by(2000) {
        (first..first + 1000).try_for_each(|number| db.delete(&key(number)))?;
    }
    db.flush()?;
    drop(db);
    let db = open(dir)?;
    let seeks = measure(
        keys / 20,
        |i| Ok((db.iter()?, key(scatter(i, keys)))),
        |(iter, key)| {
            iter.seek(key);
            iter.status()
        },
    )?;
    report("seekrandom", seeks);
    println!("\n{}", db.why(std::time::Duration::from_secs(60)));
    Ok(())
}

/// Measures `operation` `count` times. `prepare` makes the input of an operation, outside of the measured time.
fn measure<T>(
    count: u64,
    prepare: impl Fn(u64) -> Result<T>,
    operation: impl Fn(&mut T) -> Result<()>,
) -> Result<Vec<Taken>> {
    let one = |i| {
        let mut input = prepare(i)?;
        let start = Instant::now();
        operation(&mut input)?;
        let nanos = start.elapsed().as_nanos() as u64;
        Ok(Taken { nanos, causes: last_causes() })
    };
    (0..count).map(one).collect()
}

fn report(name: &str, taken: Vec<Taken>) {
    let mut times: Vec<u64> = taken.iter().map(|one| one.nanos).collect();
    times.sort_unstable();
    let median = times.get(times.len() / 2).copied().unwrap_or(0);
    let slow: Vec<&Taken> = taken.iter().filter(|one| one.nanos > 10 * median).collect();
    let whole: u64 = slow.iter().map(|one| one.nanos).sum();
    let mut causes: Vec<(u64, Cause)> = Cause::ALL
        .iter()
        .map(|cause| (slow.iter().map(|one| one.causes[cause.number()]).sum(), *cause))
        .filter(|(nanos, _)| *nanos > 0)
        .collect();
    causes.sort_by_key(|(nanos, _)| std::cmp::Reverse(*nanos));
    let explained: u64 = causes.iter().map(|(nanos, _)| nanos).sum();
    let is_step = |cause: &Cause| !matches!(cause, Cause::Search | Cause::WriteWork | Cause::Measurement);
    let steps: u64 = causes.iter().filter(|(_, cause)| is_step(cause)).map(|(nanos, _)| nanos).sum();
    let share = |part: u64| if whole == 0 { 100.0 } else { 100.0 * part as f64 / whole as f64 };
    let largest =
        causes.iter().take(4).map(|(nanos, cause)| format!("{} {:.1} %", cause.name(), share(*nanos)));
    println!(
        "{name:12} {:>9} {:>10.2} {:>8} {:>10.1} {:>6.1} % {:>8.1} %  {}",
        taken.len(),
        median as f64 / 1000.0,
        slow.len(),
        whole as f64 / 1e6,
        share(steps),
        share(explained),
        largest.collect::<Vec<_>>().join(", ")
    );
}
