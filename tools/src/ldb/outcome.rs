//! The streams of a command, and the failure that a command returns.

use std::io::{self, BufRead, Write};

/// The input and the outputs of a command.
pub struct Io<'a> {
    pub input: &'a mut dyn BufRead,
    pub out: &'a mut dyn Write,
    pub err: &'a mut dyn Write,
    /// True if `err` is a terminal. Long work then shows its progress there.
    pub err_is_terminal: bool,
}

/// The error of a command, printed as `Failed: ...`.
#[derive(Debug)]
pub(crate) struct Failure(pub(super) String);

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Failure(text.into())
    }

    /// Makes an error whose text begins with the action that failed.
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
        Failure(crate::advice::with_advice(&error))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            // The reader of the output has closed it, and needs no message.
            return Failure(String::new());
        }
        Failure(format!("IO error: while writing the output: {error}"))
    }
}

pub(crate) type Outcome = Result<(), Failure>;
