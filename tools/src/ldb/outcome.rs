//! The streams of a command, and the failure that a command returns.

use std::io::{self, BufRead, Write};

/// Where a command reads from and prints to.
pub struct Io<'a> {
    pub input: &'a mut dyn BufRead,
    pub out: &'a mut dyn Write,
    pub err: &'a mut dyn Write,
    /// A person sees `err`: long work shows its progress there.
    pub err_is_terminal: bool,
}

/// A command that failed: what to say. Printed as `Failed: ...`.
#[derive(Debug)]
pub(crate) struct Failure(pub(super) String);

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Failure(text.into())
    }

    /// What was being done in front of an error.
    pub(crate) fn of(what: &str, error: impl std::fmt::Display) -> Self {
        Failure(format!("{what}: {error}"))
    }
}

impl Failure {
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl From<base::Error> for Failure {
    fn from(error: base::Error) -> Self {
        Failure(crate::advice::told(&error))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            // Whoever reads has seen enough.
            return Failure(String::new());
        }
        Failure(format!("IO error: while writing what was asked for: {error}"))
    }
}

pub(crate) type Outcome = Result<(), Failure>;
