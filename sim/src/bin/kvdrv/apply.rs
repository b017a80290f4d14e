//! The command `apply`: reads operations from the standard input, applies them, and prints acknowledgements.

use std::io::{BufRead, Write};

use ironstone::{BottommostLevelCompaction, CompactRangeOptions, FamilyDescriptor, WriteBatch, WriteOptions};

use crate::{Session, Settings, Stage, at, unhex};

/// The exit code of the protocol for a refused write.
const REFUSED: u8 = 4;
const FAILED: u8 = 3;

/// Opens the database, applies the operations of the standard input, and prints the acknowledgements. Returns
/// the exit code: 0, `FAILED` if the open fails, `REFUSED` if an operation or the close fails.
pub fn run(settings: &Settings) -> u8 {
    let session = match Session::open(settings) {
        Ok(session) => session,
        Err(stage) => {
            stage.print();
            return FAILED;
        }
    };
    say("OPEN");
    let mut applying = Applying {
        settings,
        session: Some(session),
        batch: WriteBatch::new(),
        in_batch: false,
        sync: false,
        acknowledged: 0,
        failed: false,
    };
    match applying.all() {
        Ok(Some(code)) => code,
        Ok(None) => {
            let closed = applying.session.take().map_or(Ok(()), |s| s.db.close());
            if let Err(error) = closed {
                say(&format!("NACK {} {error}", applying.acknowledged));
                return REFUSED;
            }
            say("CLOSED");
            if applying.failed { REFUSED } else { 0 }
        }
        Err(stage) => {
            stage.print();
            FAILED
        }
    }
}

/// Prints a line, and flushes it before the next operation starts.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

struct Applying<'a> {
    settings: &'a Settings,
    session: Option<Session>,
    batch: WriteBatch,
    in_batch: bool,
    sync: bool,
    acknowledged: u64,
    failed: bool,
}

impl Applying<'_> {
    /// Applies every line of the standard input. Ends the process with `REFUSED` after a refused write.
    fn all(&mut self) -> Result<Option<u8>, Stage> {
        for line in std::io::stdin().lock().lines() {
            let line = line.map_err(|e| Stage("usage", e.to_string()))?;
            let words: Vec<&str> = line.split_whitespace().collect();
            let Some((verb, operands)) = words.split_first() else { continue };
            if verb.starts_with('#') {
                continue;
            }
            if !self.one(verb, operands)? {
                // End without a close, as a killed process does.
                std::process::exit(i32::from(REFUSED));
            }
        }
        Ok(None)
    }

    /// Applies one operation. Returns false if the operation was a write that the engine refused.
    fn one(&mut self, verb: &str, operands: &[&str]) -> Result<bool, Stage> {
        let operand = |i: usize| operands.get(i).copied().unwrap_or("-");
        let session = self.session.as_ref().ok_or_else(|| Stage("usage", "closed".to_string()))?;
        let mut is_write = false;
        let outcome = match verb {
            "cf" => {
                let descriptor = FamilyDescriptor::new(operand(0), session.family.clone());
                session.db.create_family(descriptor).map(|_| ())
            }
            "sync" => {
                self.sync = operand(0) != "0";
                Ok(())
            }
            "begin" => {
                self.in_batch = true;
                Ok(())
            }
            "commit" => {
                self.in_batch = false;
                is_write = true;
                Ok(())
            }
            "flush" => session.find(operand(0))?.flush(),
            "compact" => {
                let options = CompactRangeOptions {
                    bottommost_level_compaction: BottommostLevelCompaction::IfHaveCompactionFilter,
                    ..CompactRangeOptions::default()
                };
                // As in the C interface, an error is not reported.
                let _ = session.find(operand(0))?.compact_range(None, None, &options);
                Ok(())
            }
            "reopen" => {
                if let Some(session) = self.session.take() {
                    session.db.close().map_err(at("close"))?;
                }
                self.session = Some(Session::open(self.settings)?);
                return Ok(true);
            }
            "put" | "del" | "sdel" | "delrange" | "merge" => {
                let family = session.find(operand(0))?.id();
                let (key, value) = (unhex(operand(1))?, unhex(operand(2))?);
                match verb {
                    "put" => self.batch.put_in(family, &key, &value),
                    "del" => self.batch.delete_in(family, &key),
                    "sdel" => self.batch.single_delete_in(family, &key),
                    "merge" => self.batch.merge_in(family, &key, &value),
                    _ => self.batch.delete_range_in(family, &key, &value),
                };
                is_write = !self.in_batch;
                Ok(())
            }
            other => return Err(Stage("usage", other.to_string())),
        };
        let outcome = if is_write && outcome.is_ok() {
            let options = WriteOptions { sync: self.sync, ..WriteOptions::default() };
            let written = session.db.write_with(&mut self.batch, &options);
            self.batch.clear();
            if written.is_ok() {
                say(&format!("ACK {}", self.acknowledged));
                self.acknowledged += 1;
            }
            written
        } else {
            outcome
        };
        if let Err(error) = outcome {
            say(&format!("NACK {} {error}", self.acknowledged));
            self.failed = true;
            return Ok(!is_write);
        }
        Ok(true)
    }
}
