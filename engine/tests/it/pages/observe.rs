//! What a page can see of a running database: file-system calls, events, lines of the info log.

use std::sync::Mutex;

use base::{Error, FileNumber};
use env::hook::{Call, Hook, Op, Verdict};
use ironstone_engine::event::{Event, Listener};

use super::world::World;

/// Records the file-system calls, one line for each.
#[derive(Debug, Default)]
pub struct Calls(Mutex<Vec<(Op, String)>>);

impl Hook for Calls {
    fn name(&self) -> &'static str {
        "calls"
    }

    fn before(&self, _call: &Call<'_>) -> Verdict {
        Verdict::Go
    }

    fn after(&self, call: &Call<'_>, error: Option<&Error>) {
        let mut line = format!("{} {}", call.op.name(), call.path.display());
        let name = call.path.file_name().unwrap_or_default().to_string_lossy();
        match call.op {
            Op::Read | Op::Truncate => line += &format!(" {}+{}", call.offset, call.bytes),
            // The sizes of other files depend on the number of options and properties.
            Op::Append if name.ends_with(".log") || name.starts_with("MANIFEST-") => {
                line += &format!(" {} bytes", call.bytes);
            }
            _ => {}
        }
        if let Some(error) = error {
            line += &format!(" -> {:?}", error.kind());
        }
        self.0.lock().unwrap().push((call.op, line));
    }
}

/// Records the events, one line for each.
#[derive(Default)]
pub struct Events(Mutex<Vec<String>>);

impl Listener for Events {
    fn on_event(&self, event: &Event) {
        let outcome = |error: &Option<Error>| error.as_ref().map_or("OK".to_string(), Error::to_string);
        let plain = |files: &[FileNumber]| files.iter().map(|file| file.get()).collect::<Vec<_>>();
        let detail = match event {
            Event::RecoveryStarted { wal_files, .. } => {
                format!("{:?}", plain(wal_files))
            }
            Event::RecoveryFinished { error, .. } => outcome(error),
            Event::FlushStarted(e) => format!("{} {}", e.family.name, e.reason.word()),
            Event::FlushFinished(e) => format!("{} levels {:?}", e.family.name, e.lsm_state),
            Event::CompactionStarted(e) => {
                let inputs: Vec<_> =
                    e.inputs.iter().map(|(level, files)| (level.get(), plain(files))).collect();
                format!("{} {} {inputs:?} to {}", e.family.name, e.reason, e.output_level)
            }
            Event::CompactionFinished(e) => outcome(&e.error),
            Event::TableCreated(e) => format!("{:06} {:?} {}", e.number.get(), e.purpose, outcome(&e.error)),
            Event::FileDeleted { number, error, .. } => format!("{:06} {}", number.get(), outcome(error)),
            Event::TrivialMove { destination_level, files, .. } => format!("{files} to {destination_level}"),
            Event::BackgroundError { reason, error, .. } => {
                format!("{reason:?} {:?} {error}", error.severity())
            }
            Event::ErrorRecoveryStarted { reason, .. } => format!("{reason:?}"),
            Event::RecoveredFromError { old, new } => format!("{:?} -> {}", old.kind(), outcome(new)),
            Event::StallChanged { family, from, to } => format!("{} {from:?} -> {to:?}", family.name),
            Event::MemtableSealed { family, num_entries, .. } => format!("{} {num_entries}", family.name),
            Event::FamilyDropped(family) => family.name.clone(),
            Event::WritesLost { error, bytes } => format!("{bytes} {error}"),
            Event::JobPressureChanged(_) => return,
            _ => String::new(),
        };
        self.0.lock().unwrap().push(format!("{} {detail}", event.name()).trim_end().to_string());
    }
}

impl World {
    /// Commands that show what the database has done since the command before.
    pub fn observed(&mut self, words: &[&str]) -> base::Result<Option<String>> {
        Ok(Some(match words {
            ["calls", ops @ ..] => {
                let calls: Vec<_> = self.calls.0.lock().unwrap().drain(..).collect();
                let wanted = |op: Op| match ops {
                    [] => op.is_write() && op != Op::Close,
                    ops => ops.contains(&op.name()),
                };
                lines(calls.into_iter().filter(|(op, _)| wanted(*op)).map(|(_, line)| line))
            }
            ["events"] => lines(self.events.0.lock().unwrap().drain(..)),
            ["log", text @ ..] => {
                let text = text.join(" ");
                let all = self.logger.lines();
                let from = std::mem::replace(&mut self.logged, all.len());
                lines(all.into_iter().skip(from).filter(|line| line.contains(&text)))
            }
            _ => return Ok(None),
        }))
    }
}

pub fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.collect::<Vec<_>>().join("\n")
}
