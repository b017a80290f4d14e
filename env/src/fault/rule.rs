//! One line of a fault plan.

use std::fmt;
use std::path::Path;

use base::{Error, Result, Subcode};

use super::Op;

/// Selects the calls that a rule changes, among the calls that match the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Every matching call.
    All,
    /// The matching call with this number, counted from 1.
    Nth(u64),
    /// The matching call with this number, counted from 1, and each later call.
    From(u64),
    /// From the first number up to, but without, the second number.
    Range(u64, u64),
}

impl Which {
    pub(super) fn includes(self, n: u64) -> bool {
        match self {
            Which::All => true,
            Which::Nth(at) => n == at,
            Which::From(from) => n >= from,
            Which::Range(from, to) => (from..to).contains(&n),
        }
    }
}

/// The outcome of a call that a rule changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The call does nothing and fails with this error number.
    Errno(i32),
    /// The call does nothing and fails with an error that only some file systems report.
    Marked(Mark),
    /// At most this number of bytes is read or written, and the call succeeds.
    Short(usize),
    /// This number of bytes is written, and the call fails with EIO.
    Torn(usize),
    /// The call does nothing and reports success.
    Lie,
    /// A sync fails with EIO, and the unsynced bytes of the file are never made durable, although reads still return
    /// these bytes. Some kernels do this.
    Forget,
    /// This and every later call fails.
    Crash,
    /// This number of bytes is written, and this and every later call fails.
    TornCrash(usize),
}

/// A property of an error. Only file systems of applications report these properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The same call can succeed later.
    Retryable,
    /// Written data is lost.
    DataLoss,
    /// Another process owns the files now.
    Fenced,
}

impl Mark {
    const ALL: [(&'static str, Mark); 3] =
        [("retryable", Mark::Retryable), ("loss", Mark::DataLoss), ("fenced", Mark::Fenced)];

    /// Returns the error with the mark.
    pub(super) fn on(self, error: Error) -> Error {
        match self {
            Mark::Retryable => error.with_retryable(true),
            Mark::DataLoss => error.with_data_loss(true),
            Mark::Fenced => error.with_subcode(Subcode::IoFenced),
        }
    }
}

/// One rule of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The operation. `None`: any operation, or with `writes` any operation that changes the disk.
    pub op: Option<Op>,
    /// If set, the rule matches only calls that change the disk.
    pub writes: bool,
    /// A pattern for the last part of the path; `*` matches any text.
    pub file: String,
    /// The calls that the rule applies to, by number.
    pub which: Which,
    /// The outcome of a call that the rule applies to.
    pub outcome: Outcome,
}

impl Rule {
    pub(super) fn matches(&self, op: Op, path: &Path) -> bool {
        self.op.is_none_or(|o| o == op)
            && (!self.writes || op.is_write())
            && (self.file == "*" || path.file_name().is_some_and(|n| glob(&self.file, &n.to_string_lossy())))
    }
}

fn glob(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or("");
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

const ERRNOS: [(&str, i32); 9] = [
    ("EIO", libc::EIO),
    ("ENOSPC", libc::ENOSPC),
    ("EINTR", libc::EINTR),
    ("EMFILE", libc::EMFILE),
    ("EAGAIN", libc::EAGAIN),
    ("EACCES", libc::EACCES),
    ("EROFS", libc::EROFS),
    ("EDQUOT", libc::EDQUOT),
    ("ESTALE", libc::ESTALE),
];

/// Reads the rules of a plan. A line that starts with `#` is a comment.
pub(super) fn parse(text: &str) -> Result<Vec<Rule>> {
    text.lines()
        .map(str::trim)
        .filter(|l| !l.is_empty() && !l.starts_with('#'))
        .map(|line| {
            parse_line(line).ok_or_else(|| Error::invalid_argument(format!("not a fault rule: {line}")))
        })
        .collect()
}

fn parse_line(line: &str) -> Option<Rule> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [op, file, which, outcome @ ..] = words.as_slice() else { return None };
    let writes = *op == "write";
    Some(Rule {
        op: if writes || *op == "*" { None } else { Some(Op::from_name(op)?) },
        writes,
        file: (*file).to_owned(),
        which: parse_which(which)?,
        outcome: parse_outcome(outcome)?,
    })
}

fn parse_which(word: &str) -> Option<Which> {
    if word == "*" {
        return Some(Which::All);
    }
    let numbers = word.strip_prefix('#')?;
    match numbers.split_once("..") {
        None => numbers.parse().ok().map(Which::Nth),
        Some((from, "")) => from.parse().ok().map(Which::From),
        Some((from, to)) => Some(Which::Range(from.parse().ok()?, to.parse().ok()?)),
    }
}

fn parse_outcome(words: &[&str]) -> Option<Outcome> {
    match words {
        ["lie"] => Some(Outcome::Lie),
        ["forget"] => Some(Outcome::Forget),
        ["crash"] => Some(Outcome::Crash),
        ["crash", n] => n.parse().ok().map(Outcome::TornCrash),
        ["short", n] => n.parse().ok().map(Outcome::Short),
        ["torn", n] => n.parse().ok().map(Outcome::Torn),
        [word] => {
            let errno = ERRNOS.iter().find(|(name, _)| name == word).map(|e| Outcome::Errno(e.1));
            errno.or_else(|| Mark::ALL.iter().find(|(name, _)| name == word).map(|m| Outcome::Marked(m.1)))
        }
        _ => None,
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op = match self.op {
            Some(op) => op.name(),
            None if self.writes => "write",
            None => "*",
        };
        write!(f, "{op} {} ", self.file)?;
        match self.which {
            Which::All => f.write_str("*")?,
            Which::Nth(n) => write!(f, "#{n}")?,
            Which::From(n) => write!(f, "#{n}..")?,
            Which::Range(a, b) => write!(f, "#{a}..{b}")?,
        }
        match self.outcome {
            Outcome::Errno(code) => match ERRNOS.iter().find(|e| e.1 == code) {
                Some((name, _)) => write!(f, " {name}"),
                None => write!(f, " errno {code}"),
            },
            Outcome::Marked(mark) => match Mark::ALL.iter().find(|m| m.1 == mark) {
                Some((name, _)) => write!(f, " {name}"),
                None => write!(f, " {mark:?}"),
            },
            Outcome::Short(n) => write!(f, " short {n}"),
            Outcome::Torn(n) => write!(f, " torn {n}"),
            Outcome::Lie => f.write_str(" lie"),
            Outcome::Crash => f.write_str(" crash"),
            Outcome::TornCrash(n) => write!(f, " crash {n}"),
            Outcome::Forget => write!(f, " forget"),
        }
    }
}
