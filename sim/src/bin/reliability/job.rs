//! A campaign that runs, and its result.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::plan::Campaign;

/// The time after the deadline until a campaign counts as hung.
const GRACE: Duration = Duration::from_secs(120);

/// A campaign whose program runs in a child process.
pub struct Running<'a> {
    number: usize,
    campaign: &'a Campaign,
    child: Child,
    /// The file with the output of the program. A file never blocks the program, unlike a pipe without a reader.
    out: File,
    began: Instant,
    until: Instant,
}

/// The result of a campaign.
#[derive(Clone, Debug)]
pub struct Done {
    pub number: usize,
    pub campaign: Campaign,
    pub count: u64,
    /// The number of lost, refused, silent, different, panicked and hung cases.
    pub bad: u64,
    pub seconds: f64,
    /// The report of the program.
    pub report: Value,
    /// A reason for the failure that the report does not count.
    pub fault: Option<String>,
}

impl<'a> Running<'a> {
    /// # Errors
    /// The error of the start of the program.
    pub fn start(number: usize, campaign: &'a Campaign, seconds: u64) -> std::io::Result<Running<'a>> {
        if let Some(why) = campaign.missing {
            return Err(std::io::Error::other(why));
        }
        let out = tempfile::tempfile()?;
        let mut command = Command::new(&campaign.program);
        command
            .args(&campaign.arguments)
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out.try_clone()?);
        // Campaigns open and close a thousand databases per second. Keep free memory in the process.
        for name in ["MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"] {
            command.env(name, "268435456");
        }
        command.env("MALLOC_TOP_PAD_", "16777216");
        let began = Instant::now();
        let until = began + Duration::from_secs(seconds) + GRACE;
        Ok(Running { number, campaign, child: command.spawn()?, out, began, until })
    }

    /// Returns the name of the campaign in the report.
    pub fn name(&self) -> &'static str {
        self.campaign.name
    }

    /// Returns true if the program has ended, or was killed because it took too long.
    pub fn has_ended(&mut self) -> bool {
        let running = matches!(self.child.try_wait(), Ok(None));
        if running && Instant::now() > self.until {
            let _ = self.child.kill();
        }
        !running
    }

    /// Waits for the program and reads its report. Prints the output of the program if the campaign failed.
    pub fn end(mut self) -> Done {
        let status = self.child.wait();
        let mut said = Vec::new();
        let read = self.out.seek(SeekFrom::Start(0)).and_then(|_| self.out.read_to_end(&mut said));
        let said = String::from_utf8_lossy(&said);
        let report = last_report(&said);
        let number = |name: &str| report.get(name).and_then(Value::as_u64);
        let count = number(self.campaign.count).unwrap_or(0);
        let bad = self.campaign.bad.iter().filter_map(|name| number(name)).sum();
        let fault = match (status, read) {
            (Err(error), _) | (_, Err(error)) => Some(error.to_string()),
            _ if Instant::now() > self.until => Some("no end".to_string()),
            _ if report.is_null() => Some("no report".to_string()),
            (Ok(status), _) if !status.success() && bad == 0 => Some(format!("ended with {status}")),
            _ if bad == 0 && count < self.campaign.asked => {
                Some(format!("{} were asked for", self.campaign.asked))
            }
            _ => None,
        };
        if bad > 0 || fault.is_some() {
            println!(
                "\n== {}: {} {}\n{said}",
                self.campaign.name,
                self.campaign.program.display(),
                self.campaign.arguments.join(" ")
            );
        }
        Done {
            number: self.number,
            campaign: self.campaign.clone(),
            count,
            bad,
            seconds: self.began.elapsed().as_secs_f64(),
            report,
            fault,
        }
    }
}

impl Done {
    /// Returns the result of a campaign that could not be started.
    pub fn not_run(number: usize, campaign: &Campaign, why: String) -> Done {
        Done {
            number,
            campaign: campaign.clone(),
            count: 0,
            bad: 0,
            seconds: 0.0,
            report: Value::Null,
            fault: Some(why),
        }
    }

    /// Returns true if the campaign did not run because RocksDB's library is missing.
    pub fn is_missing(&self) -> bool {
        self.campaign.missing.is_some()
    }

    /// Returns true if a case is bad or the program failed. A campaign that needs a missing library has not
    /// failed.
    pub fn has_failed(&self) -> bool {
        !self.is_missing() && (self.bad > 0 || self.fault.is_some())
    }
}

/// Returns the last JSON object that starts a line and ends the text.
pub fn last_report(said: &str) -> Value {
    let starts =
        said.match_indices('{').map(|(at, _)| at).filter(|&at| at == 0 || said.as_bytes()[at - 1] == b'\n');
    let starts: Vec<usize> = starts.collect();
    let read = |at: usize| serde_json::Deserializer::from_str(&said[at..]).into_iter::<Value>().next()?.ok();
    starts.into_iter().rev().find_map(read).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::last_report;

    #[test]
    fn the_last_object_at_the_beginning_of_a_line_is_the_report() {
        let said =
            "1.0 s {not one}\n{\"a\": 1}\n{\n  \"a\": 2,\n  \"rows\": [\n    {\"a\": 3}\n  ]\n}\nBAD words\n";
        assert_eq!(last_report(said)["a"], 2);
        assert_eq!(last_report("{\"a\":1}\n")["a"], 1);
        assert!(last_report("FAILED seed 3\n").is_null());
        assert!(last_report("").is_null());
    }
}
