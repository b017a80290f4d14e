//! Reports an operation that does not end. The report names the operation, the engine that runs the operation, and the
//! function of the kernel in which each thread of the process waits.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use crate::script::Op;

/// The time after which an operation is reported. The parent ends the worker some seconds later.
pub const LATE: Duration = Duration::from_secs(45);

/// The operation that runs now: the time of its start, its number, and the operation. `None`: an operation on transactions, or, with
/// the number 0, the close at the end.
static NOW: Mutex<Option<(Instant, usize, Option<Op>)>> = Mutex::new(None);
/// The engine that runs now.
static ENGINE: AtomicU8 = AtomicU8::new(0);
const ENGINES: [&str; 3] = ["both", OURS, THEIRS];
const OURS: &str = "Ironstone";
/// The name of the other engine in the lines of the watch.
pub const THEIRS: &str = "RocksDB";

/// Says that Ironstone runs from now on.
pub fn enter_ours() {
    ENGINE.store(1, Ordering::Relaxed);
}

/// Says that the other engine runs from now on.
pub fn enter_theirs() {
    ENGINE.store(2, Ordering::Relaxed);
}

/// Says that both engines have ended their call.
pub fn leave() {
    ENGINE.store(0, Ordering::Relaxed);
}

/// Sets the operation that runs now.
pub fn begin(number: usize, op: Option<&Op>) {
    let mut now = NOW.lock().unwrap_or_else(|e| e.into_inner());
    *now = Some((Instant::now(), number, op.cloned()));
}

/// Starts a thread that watches the operations. If an operation takes longer than [`LATE`], the thread calls `tell` with one
/// line: `H`, the name of the engine, the number of the operation, the operation, and the threads of the process.
pub fn start(tell: fn(&str)) {
    std::thread::spawn(move || {
        // Counts its own turns: the time in which the system stopped this process is no time of the operation.
        let (mut last, mut turns) = (None, 0);
        loop {
            std::thread::sleep(Duration::from_secs(1));
            let now = NOW.lock().unwrap_or_else(|e| e.into_inner()).clone();
            let Some((since, number, op)) = now else { continue };
            turns = if last == Some(since) { turns + 1 } else { 0 };
            last = Some(since);
            if turns != LATE.as_secs() {
                continue;
            }
            let engine = ENGINES[usize::from(ENGINE.load(Ordering::Relaxed)) % ENGINES.len()];
            let op = op.map_or_else(|| "of no script".to_string(), |op| format!("{op:?}"));
            let op: String = op.chars().take(400).collect();
            tell(&format!("H {engine} {number} {op}; threads: {}", threads()));
        }
    });
}

/// Returns the name of each thread of this process, with the function of the kernel in which the thread waits. Empty on
/// systems without `/proc`.
fn threads() -> String {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return String::new() };
    let read = |task: &std::fs::DirEntry, name: &str| {
        std::fs::read_to_string(task.path().join(name)).unwrap_or_default().trim().to_string()
    };
    let mut out: Vec<String> =
        tasks.flatten().map(|task| format!("{} in {}", read(&task, "comm"), read(&task, "wchan"))).collect();
    out.sort();
    out.join(", ")
}
