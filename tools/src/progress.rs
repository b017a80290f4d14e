//! The progress of long work: rate, share and time left on a terminal, or JSON lines for programs.
//!
//! ```text
//!  work ─► counted file system or counted input ─► bytes so far ─┐
//!                                               bytes in total ─┴─► thread: one line in a period ─► standard error
//! ```
//! The work itself is not changed: a thread reads a counter. On a terminal, one line is rewritten in place, and is
//! removed at the end. With `--json`, each line is an object, and the last line says that the work ended, and whether the
//! work failed.

use std::io::{BufRead, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use env::Env;
use env::meter::{MeterFs, MeterHook, Op};

/// The form of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One line that is rewritten in place.
    Terminal,
    /// One JSON object for each line.
    Lines,
}

impl Form {
    /// Returns the period of the lines.
    fn period(self) -> Duration {
        match self {
            Form::Terminal => Duration::from_millis(250),
            Form::Lines => Duration::from_secs(1),
        }
    }
}

/// The progress at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct State {
    seconds: f64,
    done_bytes: u64,
    /// `None` if the end is unknown, as for a pipe.
    total_bytes: Option<u64>,
    is_over: bool,
    /// True if all of the work is done.
    is_whole: bool,
}

/// The thread that writes the lines. The thread ends when the value is dropped. The drop reports that the work failed,
/// unless [`Progress::succeeded`] was called before.
pub(crate) struct Progress {
    over: Arc<AtomicBool>,
    whole: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts the thread. If the thread cannot start, no lines are printed, and the work continues.
    pub fn start(
        form: Form,
        what: &str,
        total_bytes: Option<u64>,
        done: impl Fn() -> u64 + Send + 'static,
    ) -> Progress {
        let (over, whole, what) =
            (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default(), what.to_string());
        let (ended, succeeded) = (Arc::clone(&over), Arc::clone(&whole));
        let thread = std::thread::Builder::new().name("progress".to_string()).spawn(move || {
            let start = Instant::now();
            loop {
                std::thread::park_timeout(form.period());
                let is_over = ended.load(Ordering::SeqCst);
                let seconds = start.elapsed().as_secs_f64();
                let is_whole = succeeded.load(Ordering::SeqCst);
                let state = State { seconds, done_bytes: done(), total_bytes, is_over, is_whole };
                // Standard error is not writable, so the line is lost.
                let _ = std::io::stderr().write_all(line(form, &what, &state).as_bytes());
                if is_over {
                    break;
                }
            }
        });
        Progress { over, whole, thread: thread.ok() }
    }

    /// Records that all of the work is done. The last line then reports success.
    pub fn succeeded(&self) {
        self.whole.store(true, Ordering::SeqCst);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The panic handler has printed a panic of the thread.
            let _ = thread.join();
        }
    }
}

/// Returns one line.
fn line(form: Form, what: &str, state: &State) -> String {
    let done_bytes = match state.total_bytes {
        Some(total) if state.is_over && state.is_whole => total,
        // A clamp: work can read a byte twice, and a compaction reads its outputs too.
        Some(total) => state.done_bytes.min(total),
        None => state.done_bytes,
    };
    let rate = state.done_bytes as f64 / state.seconds.max(0.001);
    // Work may read a byte twice, so only the end of work that succeeded is 100 %.
    let share = match (state.is_over && state.is_whole, state.total_bytes) {
        (true, _) => Some(1.0),
        (false, Some(total)) if total > 0 => Some((state.done_bytes as f64 / total as f64).min(0.99)),
        (false, _) => None,
    };
    let left = match (share, state.total_bytes) {
        (Some(1.0), _) => Some(0.0),
        (Some(share), Some(_)) if share > 0.0 => Some(state.seconds * (1.0 - share) / share),
        _ => None,
    };
    match form {
        Form::Lines => {
            let object = serde_json::json!({
                "progress": what,
                "seconds": round(state.seconds),
                "done_bytes": done_bytes,
                "total_bytes": state.total_bytes,
                "share": share.map(round),
                "bytes_per_second": rate as u64,
                "seconds_left": left.map(round),
                "over": state.is_over,
                "failed": state.is_over && !state.is_whole,
            });
            format!("{object}\n")
        }
        // The cursor goes back to the start of the line, and the old text is removed.
        Form::Terminal if state.is_over => "\r\x1b[K".to_string(),
        Form::Terminal => {
            let done = inspect::words::bytes(done_bytes);
            let rate = inspect::words::bytes(rate as u64);
            let share = share.map_or(String::new(), |share| format!(", {:.0} %", share * 100.0));
            let left = left.map_or(String::new(), |left| {
                format!(", {} left", inspect::words::duration(left.ceil() as u64))
            });
            format!("\r\x1b[K{what}: {done}, {rate}/s{share}{left}")
        }
    }
}

fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// Makes the file system of `env` count its reads. Returns the counters.
pub(crate) fn counted(env: &mut Env) -> Arc<MeterHook> {
    let metered = MeterFs::wrap(Arc::clone(&env.fs));
    let counters = Arc::clone(metered.hook());
    env.fs = metered;
    counters
}

/// Returns the number of bytes that were read.
pub(crate) fn read_bytes(counters: &MeterHook) -> u64 {
    counters.total(Op::Read).bytes
}

/// Returns the bytes of a file, or of all files of a directory.
pub(crate) fn path_bytes(env: &Env, path: &Path) -> u64 {
    match env.fs.is_dir(path) {
        Ok(true) => directory_bytes(env, path),
        _ => env.fs.file_size(path).unwrap_or(0),
    }
}

/// Returns the bytes of all files of a directory. Includes its subdirectories to a depth of four.
pub(crate) fn directory_bytes(env: &Env, dir: &Path) -> u64 {
    fn sum(env: &Env, dir: &Path, depth: u32) -> u64 {
        let names = env.fs.list(dir).unwrap_or_default();
        let of = |name: String| {
            let path = dir.join(name);
            match env.fs.is_dir(&path) {
                Ok(true) if depth > 0 => sum(env, &path, depth - 1),
                Ok(true) => 0,
                _ => env.fs.file_size(&path).unwrap_or(0),
            }
        };
        names.into_iter().map(of).fold(0, u64::saturating_add)
    }
    sum(env, dir, 4)
}

/// An input that counts the bytes that are read from it.
pub(crate) struct CountedInput<'a> {
    inner: &'a mut dyn BufRead,
    bytes: Arc<AtomicU64>,
}

impl<'a> CountedInput<'a> {
    /// Returns the input and its counter.
    pub fn new(inner: &'a mut dyn BufRead) -> (CountedInput<'a>, Arc<AtomicU64>) {
        let bytes = Arc::new(AtomicU64::new(0));
        (CountedInput { inner, bytes: Arc::clone(&bytes) }, bytes)
    }
}

impl Read for CountedInput<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.bytes.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl BufRead for CountedInput<'_> {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        self.bytes.fetch_add(n as u64, Ordering::Relaxed);
        self.inner.consume(n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: State = State {
        seconds: 10.0,
        done_bytes: 50 << 20,
        total_bytes: Some(100 << 20),
        is_over: false,
        is_whole: false,
    };

    #[test]
    fn terminal_line_has_rate_share_and_time_left() {
        assert_eq!(
            line(Form::Terminal, "compact", &HALF),
            "\r\x1b[Kcompact: 50.0 MiB, 5.0 MiB/s, 50 %, 10 seconds left"
        );
        let unknown = State { total_bytes: None, ..HALF };
        assert_eq!(line(Form::Terminal, "load", &unknown), "\r\x1b[Kload: 50.0 MiB, 5.0 MiB/s");
        assert_eq!(line(Form::Terminal, "load", &State { is_over: true, ..HALF }), "\r\x1b[K");
    }

    #[test]
    fn done_bytes_are_never_more_than_the_total() {
        let done = |state: &State| -> serde_json::Value {
            let text = line(Form::Lines, "compact", state);
            serde_json::from_str::<serde_json::Value>(&text).unwrap()["done_bytes"].clone()
        };
        let twice = State { done_bytes: 200 << 20, ..HALF };
        assert_eq!(done(&twice), 100 << 20);
        assert_eq!(done(&State { is_over: true, ..twice }), 100 << 20);
        assert_eq!(done(&State { is_over: true, is_whole: true, ..HALF }), 100 << 20);
        assert_eq!(done(&State { total_bytes: None, ..twice }), 200 << 20);
    }

    #[test]
    fn json_line_has_the_whole_only_at_the_end() {
        let of = |state: &State| -> serde_json::Value {
            serde_json::from_str(&line(Form::Lines, "fsck", state)).unwrap()
        };
        let half = of(&HALF);
        assert_eq!((half["share"].as_f64(), half["seconds_left"].as_f64()), (Some(0.5), Some(10.0)));
        let twice = of(&State { done_bytes: 200 << 20, ..HALF });
        assert_eq!(twice["share"].as_f64(), Some(0.99));
        let ended = |line: serde_json::Value| {
            (line["share"].as_f64(), line["over"].as_bool(), line["failed"].as_bool())
        };
        let whole = of(&State { is_over: true, is_whole: true, ..HALF });
        assert_eq!(ended(whole), (Some(1.0), Some(true), Some(false)));
        let failed = of(&State { is_over: true, ..HALF });
        assert_eq!(ended(failed), (Some(0.5), Some(true), Some(true)));
        assert_eq!(ended(half), (Some(0.5), Some(false), Some(false)));
    }

    #[test]
    fn counted_input_counts_lines_and_reads() {
        let mut bytes: &[u8] = b"one\ntwo\nthree";
        let (mut input, counter) = CountedInput::new(&mut bytes);
        let mut line = String::new();
        input.read_line(&mut line).unwrap();
        assert_eq!(counter.load(Ordering::Relaxed), 4);
        input.read_to_string(&mut line).unwrap();
        assert_eq!(counter.load(Ordering::Relaxed), 13);
    }
}
