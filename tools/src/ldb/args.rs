//! The command line: `--name=value` options, `--name` flags, the command and its parameters, in any order.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use super::outcome::Failure;

/// A parsed command line. Values are bytes, because keys need not be text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Args {
    pub command: String,
    pub params: Vec<Vec<u8>>,
    pub options: BTreeMap<String, Vec<u8>>,
    pub flags: Vec<String>,
}

impl Args {
    /// # Errors
    /// A line without a command.
    pub fn parse(args: &[Vec<u8>]) -> Result<Args, Failure> {
        let mut parsed = Args::default();
        let mut words = Vec::new();
        for arg in args {
            match arg.strip_prefix(b"--") {
                Some(rest) => match rest.iter().position(|&b| b == b'=') {
                    Some(at) => {
                        parsed.options.insert(text(&rest[..at]), rest[at + 1..].to_vec());
                    }
                    None => parsed.flags.push(text(rest)),
                },
                None => words.push(arg.clone()),
            }
        }
        let mut words = words.into_iter();
        let Some(command) = words.next() else {
            return Err(Failure::new("Command not specified! `ldb --help` lists them."));
        };
        parsed.command = text(&command);
        parsed.params = words.collect();
        Ok(parsed)
    }

    /// Returns true if `--name` or `--name=true` is given.
    ///
    /// # Errors
    /// A value that is neither true nor false.
    pub fn flag(&self, name: &str) -> Result<bool, Failure> {
        match self.boolean(name)? {
            Some(given) => Ok(given),
            None => Ok(self.has_flag(name)),
        }
    }

    /// Returns true if `--name` is given, with or without a value.
    pub fn has(&self, name: &str) -> bool {
        self.option(name).is_some() || self.has_flag(name)
    }

    /// Returns true if `--name` is given without a value.
    pub fn has_flag(&self, name: &str) -> bool {
        self.flags.iter().any(|f| f == name)
    }

    /// Returns the value of `--name=true|false`, or `None` if the option is not given.
    ///
    /// # Errors
    /// A value that is neither true nor false.
    pub fn boolean(&self, name: &str) -> Result<Option<bool>, Failure> {
        let Some(value) = self.option(name) else { return Ok(None) };
        match value.to_ascii_lowercase().as_slice() {
            b"true" => Ok(Some(true)),
            b"false" => Ok(Some(false)),
            _ => Err(Failure::new(format!("{name} has an invalid value: true or false is needed."))),
        }
    }

    /// Returns the bytes of `--name=VALUE`, or `None` if the option is not given. The last of several values
    /// counts.
    pub fn option(&self, name: &str) -> Option<&[u8]> {
        self.options.get(name).map(Vec::as_slice)
    }

    /// Returns the value of an option as text, or `None`.
    pub fn text(&self, name: &str) -> Option<String> {
        self.option(name).map(text)
    }

    /// Returns the value of an option as a path, or `None`. The path need not be UTF-8.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.option(name).map(|bytes| PathBuf::from(OsStr::from_bytes(bytes)))
    }

    /// Returns the value of `--name=NUMBER`, or `None` if the option is not given.
    ///
    /// # Errors
    /// A value that is not a number, or is out of range.
    pub fn number<N: std::str::FromStr>(&self, name: &str) -> Result<Option<N>, Failure> {
        let Some(value) = self.text(name) else { return Ok(None) };
        match value.trim().parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) if value.trim().parse::<i128>().is_ok() => {
                Err(Failure::new(format!("{name} has a value out-of-range.")))
            }
            Err(_) => Err(Failure::new(format!("{name} has an invalid value."))),
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
