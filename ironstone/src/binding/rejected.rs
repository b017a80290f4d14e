//! Values that an option handle holds and an open rejects.
//!
//! RocksDB's handles accept every number, and a getter returns the number that was set. The typed options of the
//! engine cannot hold a number that is not a value of the option. [`Rejected`] keeps such a number, and each use of
//! the handle rejects the option by name.

use std::collections::BTreeMap;

use base::{Error, Result};

/// The reason why an option is rejected.
#[derive(Clone, Debug, PartialEq)]
enum Fault {
    /// The number is not a value of the option.
    Number(f64),
    /// The text is not UTF-8.
    NotUtf8,
    /// The feature is not built.
    NotBuilt,
}

/// The rejected options of a handle, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rejected(BTreeMap<&'static str, Fault>);

impl Rejected {
    /// Keeps a number that is not a value of the option.
    pub fn insert(&mut self, option: &'static str, number: f64) {
        self.0.insert(option, Fault::Number(number));
    }

    /// Records that the text of the option is not UTF-8.
    pub fn not_utf8(&mut self, option: &'static str) {
        self.0.insert(option, Fault::NotUtf8);
    }

    /// Records that the option asks for a feature that is not built.
    pub fn not_built(&mut self, option: &'static str) {
        self.0.insert(option, Fault::NotBuilt);
    }

    /// Adds the rejected options of another handle.
    pub fn add(&mut self, other: &Rejected) {
        self.0.extend(other.0.iter().map(|(option, fault)| (*option, fault.clone())));
    }

    /// Removes an option that has a valid value again.
    pub fn remove(&mut self, option: &'static str) {
        self.0.remove(option);
    }

    /// Returns the rejected number of an option. Returns `None` if the option is not rejected, or if its
    /// feature is not built.
    pub fn number(&self, option: &str) -> Option<f64> {
        match self.0.get(option) {
            Some(Fault::Number(number)) => Some(*number),
            _ => None,
        }
    }

    /// Checks that no option is rejected. Reports the first rejected option by name.
    ///
    /// # Errors
    /// InvalidArgument for a number that is not a value and for text that is not UTF-8, NotSupported for a feature that is not built. The message names
    /// the option.
    pub fn check(&self) -> Result<()> {
        match self.0.iter().next() {
            None => Ok(()),
            Some((option, Fault::Number(number))) => Err(Error::invalid_argument(format!(
                "option {option}: {number} is not a value of this option"
            ))),
            Some((option, Fault::NotUtf8)) => {
                Err(Error::invalid_argument(format!("option {option}: the text is not UTF-8")))
            }
            Some((option, Fault::NotBuilt)) => {
                Err(Error::not_supported(format!("option {option} is not built in this release")))
            }
        }
    }
}
