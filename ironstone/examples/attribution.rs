//! Measures how much of the time of slow operations the database explains.
//!
//! ```text
//!  cargo run --release -p ironstone --example attribution DIR [KEYS]
//!  cargo run --release -p ironstone --example attribution DIR KEYS cost
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
//!
//! With `cost`, the program measures the cost of the attribution. The program runs the same operations in small blocks. One block has the
//! attribution, and the next block has none. So both sides use the same database at nearly the same time. The cost is the median of the
//! ratios of sixteen neighbours.

#![allow(clippy::disallowed_methods, reason = "a program")]

use std::path::Path;
use std::time::Instant;

use ironstone::stats::{Attribution, Cause, last_causes, set_attribution};
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
        eprintln!("usage: attribution DIR [KEYS [cost]]");
        std::process::exit(2);
    };
    let keys = arguments.get(1).and_then(|keys| keys.parse().ok()).unwrap_or(KEYS);
    let run = if arguments.get(2).is_some_and(|word| word == "cost") { cost } else { run };
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
    delete_runs(&db, keys)?;
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

/// Deletes runs of 1,000 keys, so that seeks skip tombstones.
fn delete_runs(db: &Db, keys: u64) -> Result<()> {
    for first in (0..keys).step_by(2000) {
        (first..first + 1000).try_for_each(|number| db.delete(&key(number)))?;
    }
    db.flush()
}

/// Measures the cost of the attribution.
fn cost(dir: &Path, keys: u64) -> Result<()> {
    println!(
        "{:14} {:>9} {:>7} {:>10} {:>10} {:>8} {:>19}",
        "workload", "operations", "groups", "with us", "without us", "cost", "half of the groups"
    );
    let db = open(dir)?;
    let put = |entry: &mut ([u8; 16], Vec<u8>)| db.put(&entry.0, &entry.1);
    let fresh = |i| Ok((key(scatter(i, keys)), value(i)));
    compare("fillrandom", (keys, 125, Inputs::Other), fresh, put)?;
    compare("overwrite", (keys, 125, Inputs::Other), |i| fresh(i + keys), put)?;
    db.wait_for_compact()?;
    drop(db);
    let db = open(dir)?;
    let get = |key: &mut [u8; 16]| db.get(&*key).map(drop);
    compare("readrandom", (keys / 2, 60, Inputs::Other), |i| Ok(key(scatter(i, keys))), get)?;
    let hot = |i| Ok(key(scatter(i % 1000, keys)));
    compare("readhot", (2 * keys, 250, Inputs::Same), hot, get)?;
    delete_runs(&db, keys)?;
    drop(db);
    let db = open(dir)?;
    let prepare = |i| Ok((db.iter()?, key(scatter(i, keys))));
    let seek = |(iter, key): &mut (ironstone::Iter, [u8; 16])| {
        iter.seek(&*key);
        iter.status()
    };
    compare("seekrandom", (keys / 2, 100, Inputs::Same), prepare, seek)?;
    let scan = |(iter, key): &mut (ironstone::Iter, [u8; 16])| {
        iter.seek(&*key);
        (0..100).for_each(|_| iter.next());
        iter.status()
    };
    compare("seek, 100 next", (keys / 10, 25, Inputs::Same), prepare, scan)
}

/// The inputs of a block that runs with the attribution and of a block that runs without it.
#[derive(Clone, Copy, PartialEq)]
enum Inputs {
    /// Each block has its own keys. For writes, and for reads from a cold cache.
    Other,
    /// Eight blocks have the same keys. Another block before them brings the keys into the caches.
    Same,
}

/// Measures blocks of `block` operations with the attribution and without it, in the order on, off, off,
/// on, off, on, on, off, and then the other way round. A block that is faster because it runs later thus counts for both. `prepare` makes the inputs
/// of a block outside of the measured time.
fn compare<T>(
    name: &str,
    (count, block, keys): (u64, u64, Inputs),
    prepare: impl Fn(u64) -> Result<T>,
    operation: impl Fn(&mut T) -> Result<()>,
) -> Result<()> {
    let mut times = [Vec::new(), Vec::new()];
    let run = |from: u64, attribution: Attribution| -> Result<f64> {
        let mut inputs = (from..from + block).map(&prepare).collect::<Result<Vec<T>>>()?;
        set_attribution(attribution);
        let start = Instant::now();
        let done = inputs.iter_mut().try_for_each(&operation);
        let micros = start.elapsed().as_secs_f64() * 1e6 / block as f64;
        set_attribution(Attribution::On);
        done.map(|()| micros)
    };
    let mut ratios = Vec::new();
    for group in 0..count / block / 16 {
        let mut product = 1.0;
        for n in 0..16 {
            let at = block * if keys == Inputs::Same { 2 * group + n / 8 } else { 16 * group + n };
            if keys == Inputs::Same && n % 8 == 0 {
                run(at, Attribution::On)?;
            }
            // on, off, off, on, off, on, on, off; then the other way round.
            let is_on = (n.count_ones() + (n / 8) as u32) % 2 == (n / 8) as u32;
            let micros = run(at, if is_on { Attribution::On } else { Attribution::Off })?;
            times[usize::from(!is_on)].push(micros);
            product *= if is_on { micros } else { 1.0 / micros };
        }
        ratios.push(product.powf(0.125));
    }
    let [with, without] = times.each_mut().map(|side| quantile(side, 0.5));
    let percent = |share: f64, ratios: &mut Vec<f64>| 100.0 * (quantile(ratios, share) - 1.0);
    println!(
        "{name:14} {:>9} {:>7} {with:>10.3} {without:>10.3} {:>+6.2} % {:>+7.2} % to {:>+6.2} %",
        2 * block * times[0].len() as u64,
        ratios.len(),
        percent(0.5, &mut ratios),
        percent(0.25, &mut ratios),
        percent(0.75, &mut ratios)
    );
    Ok(())
}

/// Sorts the values. Returns the value with this share of the values below it.
fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get((values.len() as f64 * share) as usize).copied().unwrap_or(1.0)
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
