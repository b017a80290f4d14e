//! Measures puts at saturation: how evenly a database accepts them.
//!
//! ```text
//!  cargo run --profile rig -p ironstone --example tails -- DIR SECONDS THREADS VALUE_BYTES [sync] [OPTIONS]
//!
//!  OPTIONS    RocksDB's option string, as "write_buffer_size=64M;max_background_jobs=4"
//! ```
//! Random keys of 16 bytes, from a fixed seed for each thread. A row has the writes of a second, the longest put, and
//! the slots of 100 ms in which no put ended. The last column is the variation of the throughput by second: standard
//! deviation divided by mean. If `IRONSTONE_PEER` names RocksDB's library, the same puts go to RocksDB first, in a
//! directory of its own.
//!
//! On Linux a second line has the same times without the wait for a processor: a put that is ready to run, while the
//! processors run other programs, waits in every engine. The kernel counts this wait for each thread. `TAILS_SLOW=MS` prints
//! each put of Ironstone that took longer without this wait, and the causes that the database measured.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ironstone::{Db, Options, WriteOptions};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
type Put = Arc<dyn Fn(&[u8], &[u8]) -> Outcome<()> + Send + Sync>;

/// The length of the slots in which the program counts puts.
const SLOT: Duration = Duration::from_millis(100);

#[derive(Clone)]
struct Run {
    dir: PathBuf,
    time: Duration,
    threads: usize,
    value_bytes: usize,
    sync: bool,
    options: String,
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let sync = arguments.iter().position(|argument| argument == "sync");
    let sync = sync.map(|at| arguments.remove(at)).is_some();
    let [dir, seconds, threads, value_bytes, options @ ..] = &arguments[..] else {
        eprintln!("usage: tails DIR SECONDS THREADS VALUE_BYTES [sync] [OPTIONS]");
        std::process::exit(2);
    };
    let run = Run {
        dir: PathBuf::from(dir),
        time: Duration::from_secs(seconds.parse().unwrap_or(10)),
        threads: threads.parse().unwrap_or(1),
        value_bytes: value_bytes.parse().unwrap_or(1000),
        sync,
        options: options.first().cloned().unwrap_or_default(),
    };
    if let Err(error) = both(&run) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}

fn both(run: &Run) -> Outcome<()> {
    if let Ok(library) = std::env::var("IRONSTONE_PEER") {
        let library = peer::Library::load(Path::new(&library))?;
        let dir = run.dir.join("rocksdb");
        std::fs::create_dir_all(&dir)?;
        let options = format!("create_if_missing=true;{}", run.options);
        let families = [("default".to_string(), options.clone())];
        let (db, families) = peer::Db::open(&library, &dir, &options, &families, false)?;
        let writing = peer::Writing { sync: run.sync, ..peer::Writing::default() };
        measure("RocksDB", run, Arc::new(move |key, value| Ok(db.put(&families[0], key, value, writing)?)))?;
        std::fs::remove_dir_all(&dir)?;
    }
    let dir = run.dir.join("ironstone");
    let mut options = Options::default();
    options.update(&format!("create_if_missing=true;{}", run.options))?;
    let db = Db::open(&dir, options)?;
    let writing = WriteOptions { sync: run.sync, ..WriteOptions::default() };
    let puts = db.clone();
    measure("Ironstone", run, Arc::new(move |key, value| Ok(puts.put_with(key, value, &writing)?)))?;
    if std::env::var("TAILS_STATS").is_ok() {
        for property in
            ["rocksdb.cfstats-no-file-histogram", "rocksdb.dbstats", "rocksdb.cf-write-stall-stats"]
        {
            println!("{}", db.property(property).unwrap_or_default());
        }
        let _ = std::fs::copy(dir.join("LOG"), run.dir.join("LOG"));
    }
    drop(db);
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}

/// The measurements of one thread.
struct Seen {
    puts_by_slot: Vec<u64>,
    micros: Vec<u32>,
    /// The longest puts in microseconds, without the wait for a processor.
    own_micros: Vec<u32>,
}

/// A put that takes at least this long is also measured without the wait for a processor.
const LONG: Duration = Duration::from_millis(1);
/// The program reads the counter of the wait at least once per this number of puts. So the wait of a long put does
/// not include the waits of many earlier puts.
const PUTS_BETWEEN_READS: u32 = 32;

/// Counts the time in which this thread was ready to run and did not run.
struct ProcessorWait {
    file: Option<std::fs::File>,
    last_ns: u64,
    puts: u32,
}

impl ProcessorWait {
    fn of_this_thread() -> ProcessorWait {
        let mut wait = ProcessorWait {
            file: std::fs::File::open("/proc/thread-self/schedstat").ok(),
            last_ns: 0,
            puts: 0,
        };
        wait.advance();
        wait
    }

    /// Returns the wait since the last call, in microseconds.
    fn advance(&mut self) -> u64 {
        use std::os::unix::fs::FileExt;
        self.puts = 0;
        let mut text = [0; 64];
        let Some(Ok(len)) = self.file.as_ref().map(|file| file.read_at(&mut text, 0)) else { return 0 };
        // Three numbers: nanoseconds on a processor, nanoseconds of waiting for a processor, and time slices.
        let wait = String::from_utf8_lossy(&text[..len]).split(' ').nth(1).and_then(|ns| ns.parse().ok());
        let now_ns: u64 = wait.unwrap_or(self.last_ns);
        (now_ns - std::mem::replace(&mut self.last_ns, now_ns)) / 1000
    }

    /// Counts a put, and reads the counter from time to time.
    fn pass(&mut self) {
        self.puts += 1;
        if self.puts == PUTS_BETWEEN_READS {
            self.advance();
        }
    }
}

fn measure(name: &str, run: &Run, put: Put) -> Outcome<()> {
    let start = Instant::now();
    let threads: Vec<_> = (0..run.threads)
        .map(|thread| {
            let (run, put) = (run.clone(), put.clone());
            std::thread::spawn(move || puts(&run, thread as u64, start, &put))
        })
        .collect();
    let mut slots = vec![0; (run.time.as_millis() / SLOT.as_millis()) as usize];
    let (mut micros, mut own_micros) = (Vec::new(), Vec::new());
    for thread in threads {
        let seen = thread.join().map_err(|_| "a thread panicked")??;
        slots.iter_mut().zip(&seen.puts_by_slot).for_each(|(sum, puts)| *sum += puts);
        micros.extend(seen.micros);
        own_micros.extend(seen.own_micros);
    }
    drop(put);
    micros.sort_unstable();
    let part = |share: f64| micros.get((micros.len() as f64 * share) as usize).copied().unwrap_or(0);
    let seconds: Vec<f64> = slots.chunks_exact(10).map(|second| second.iter().sum::<u64>() as f64).collect();
    let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
    let variance = seconds.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / seconds.len() as f64;
    println!(
        "{name:<10} {:>8.0} puts/s  p50 {} us  p99 {} us  p99.9 {} us  longest {:.1} ms  empty slots {} of {}  variation {:.2}",
        mean,
        part(0.5),
        part(0.99),
        part(0.999),
        f64::from(micros.last().copied().unwrap_or(0)) / 1000.0,
        slots.iter().filter(|puts| **puts == 0).count(),
        slots.len(),
        variance.sqrt() / mean,
    );
    own_micros.sort_unstable();
    let longer = |millis: u32| own_micros.iter().filter(|taken| **taken > millis * 1000).count();
    println!(
        "           without the wait for a processor: longest {:.1} ms, {} above 100 ms, {} above 25 ms, {} above 5 ms",
        f64::from(own_micros.last().copied().unwrap_or(0)) / 1000.0,
        longer(100),
        longer(25),
        longer(5),
    );
    if std::env::var("TAILS_SECONDS").is_ok() {
        let seconds: Vec<_> = seconds.iter().map(|n| format!("{:.0}", n / 1000.0)).collect();
        println!("           thousands by second: {}", seconds.join(" "));
    }
    Ok(())
}

fn puts(run: &Run, thread: u64, start: Instant, put: &Put) -> Outcome<Seen> {
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ (thread << 32);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    // Bytes without a pattern: compression finds nothing in them.
    let text: Vec<u8> = (0..(1 << 20) + run.value_bytes).map(|_| next() as u8).collect();
    let slots = (run.time.as_millis() / SLOT.as_millis()) as usize;
    let mut seen = Seen { puts_by_slot: vec![0; slots], micros: Vec::new(), own_micros: Vec::new() };
    let slow_ms: Option<u64> = std::env::var("TAILS_SLOW").ok().and_then(|text| text.parse().ok());
    let mut wait = ProcessorWait::of_this_thread();
    loop {
        let number = next();
        let key = format!("{:016}", number % 10_000_000);
        let at = (number >> 40) as usize % (1 << 20);
        let begun = Instant::now();
        put(key.as_bytes(), &text[at..at + run.value_bytes])?;
        let ended = Instant::now();
        let micros = (ended - begun).as_micros().min(u128::from(u32::MAX)) as u32;
        seen.micros.push(micros);
        if ended - begun >= LONG {
            let waited = wait.advance();
            let own = u64::from(micros).saturating_sub(waited);
            seen.own_micros.push(own as u32);
            if slow_ms.is_some_and(|slow| own > slow * 1000) {
                print_slow(start, ended, u64::from(micros), waited);
            }
        } else {
            wait.pass();
        }
        let slot = ((ended - start).as_millis() / SLOT.as_millis()) as usize;
        match seen.puts_by_slot.get_mut(slot) {
            Some(puts) => *puts += 1,
            None => return Ok(seen),
        }
    }
}

/// Prints the causes of the last put of this thread. RocksDB's puts have no causes.
fn print_slow(start: Instant, ended: Instant, micros: u64, waited: u64) {
    let causes = base::stats::last_causes().into_iter().enumerate().filter(|(_, nanos)| *nanos > 0);
    let causes: Vec<_> = causes
        .map(|(cause, nanos)| format!("{}: {} us", base::stats::Cause::ALL[cause].name(), nanos / 1000))
        .collect();
    println!(
        "           at {:.3} s: {micros} us, {waited} us of them for a processor; {}",
        (ended - start).as_secs_f64(),
        causes.join(", ")
    );
}
