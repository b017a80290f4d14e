//! The file of `--report_interval_seconds`: one line for each interval, with the operations that finished in it.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use base::{Error, Result};

use super::flags::Flags;

/// The thread that writes the file. The thread ends when the value is dropped.
pub struct Reporter {
    done: Arc<AtomicU64>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Reporter {
    /// Starts a reporter if the flags ask for it.
    pub fn start(flags: &Flags) -> Result<Option<Reporter>> {
        let seconds = flags.count("report_interval_seconds");
        if seconds == 0 {
            return Ok(None);
        }
        let path = std::path::PathBuf::from(flags.text("report_file"));
        let mut file = File::create(&path).map_err(|e| Error::io("creating the report file", &path, e))?;
        writeln!(file, "secs_elapsed,interval_qps")
            .map_err(|e| Error::io("writing the report file", &path, e))?;
        let done = Arc::new(AtomicU64::new(0));
        let (stop, stopped) = channel::<()>();
        let counted = done.clone();
        let thread = std::thread::spawn(move || {
            let (mut last, mut elapsed) = (0, 0);
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(Duration::from_secs(seconds)) {
                elapsed += seconds;
                let now = counted.load(Ordering::Relaxed);
                if let Err(error) = writeln!(file, "{elapsed},{}", (now - last) / seconds) {
                    eprintln!("writing the report file: {error}");
                    return;
                }
                last = now;
            }
        });
        Ok(Some(Reporter { done, stop: Some(stop), thread: Some(thread) }))
    }

    /// Returns the counter to which the threads add their finished operations.
    pub fn counter(&self) -> Arc<AtomicU64> {
        self.done.clone()
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
