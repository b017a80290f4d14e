//! The command `serve`: checks many directories, each in a new process.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The signal that the protocol reports for a process that exceeded its time.
const SIGALRM: i32 = 14;

/// Reads lines of directory and output file, and runs one process for each. Prints one answer for each line. A
/// process may take `limit_s` seconds. Returns the exit code: 0, or 2 if the path of this program is unknown.
pub fn run(limit_s: u64, options: &[OsString]) -> u8 {
    let Ok(program) = std::env::current_exe() else { return 2 };
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { return 0 };
        let mut words = line.split_whitespace();
        let (Some(dir), Some(out)) = (words.next(), words.next()) else { continue };
        let answer = one(&program, dir, out, options, Duration::from_secs(limit_s));
        let answer = answer.unwrap_or_else(|e| format!("exit 2 0 {e}"));
        let mut stdout = std::io::stdout().lock();
        if writeln!(stdout, "{answer}").and_then(|()| stdout.flush()).is_err() {
            return 0;
        }
    }
    0
}

fn one(
    program: &Path,
    dir: &str,
    out: &str,
    options: &[OsString],
    limit: Duration,
) -> std::io::Result<String> {
    let mut child = Command::new(program)
        .arg("check")
        .arg(dir)
        .args(options)
        .stdin(Stdio::null())
        .stdout(File::create(out)?)
        .stderr(File::create(format!("{out}.err"))?)
        .spawn()?;
    let began = Instant::now();
    let mut peak_kb = 0;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(match (status.code(), status.signal()) {
                (Some(code), _) => format!("exit {code} {peak_kb}"),
                (None, signal) => format!("signal {} {peak_kb}", signal.unwrap_or(0)),
            });
        }
        peak_kb = peak(&child).max(peak_kb);
        if began.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(format!("signal {SIGALRM} {peak_kb}"));
        }
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// Returns the largest resident memory of the process so far, in KiB.
fn peak(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
