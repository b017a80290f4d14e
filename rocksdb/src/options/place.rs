//! How a setter stores a value in a field of another type, and what an open rejects.
//!
//! A setter of the crate `rocksdb` reports no error. A value that the field cannot hold is kept as rejected; each use of
//! the options reports the value by the name of the option.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Error;

/// A field that a setter can change.
pub(crate) trait Place<V> {
    /// Stores the value. Returns false if the field cannot hold the value.
    fn store(&mut self, value: V) -> bool;
}

impl<V> Place<V> for V {
    fn store(&mut self, value: V) -> bool {
        *self = value;
        true
    }
}

/// Numbers of another width or sign.
macro_rules! converted {
    ($($field:ty as $value:ty),* $(,)?) => {$(
        impl Place<$value> for $field {
            fn store(&mut self, value: $value) -> bool {
                <$field>::try_from(value).map(|value| *self = value).is_ok()
            }
        }
    )*};
}
converted!(u64 as usize, usize as u64, u32 as i32, u32 as usize, u64 as i32, usize as i32);

/// Microseconds.
impl Place<u64> for Duration {
    fn store(&mut self, value: u64) -> bool {
        *self = Duration::from_micros(value);
        true
    }
}

/// The rejected options, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rejected(BTreeMap<&'static str, String>);

impl Rejected {
    /// Keeps if the value of the option was stored.
    pub fn note(&mut self, option: &'static str, is_stored: bool, value: impl std::fmt::Debug) {
        if is_stored {
            self.0.remove(option);
        } else {
            self.0.insert(
                option,
                format!("Invalid argument: option {option}: {value:?} is not a value of this option"),
            );
        }
    }

    /// Keeps the error of an option that could not be set.
    pub fn note_result(&mut self, option: &'static str, outcome: ironstone::Result<()>) {
        match outcome {
            Ok(()) => self.0.remove(option),
            Err(error) => self.0.insert(option, error.to_string()),
        };
    }

    /// Takes the faults of options that become a part of these options.
    pub fn take(&mut self, option: &'static str, part: &Rejected) {
        match part.0.values().next() {
            None => self.0.remove(option),
            Some(fault) => self.0.insert(option, fault.clone()),
        };
    }

    /// # Errors
    /// The first rejected value. The message names the option.
    pub fn check(&self) -> Result<(), Error> {
        match self.0.values().next() {
            None => Ok(()),
            Some(fault) => Err(Error::new(fault.clone())),
        }
    }
}

/// Defines setters: name, type of the argument, field. The doc names the option that the field is.
macro_rules! setters {
    ($ty:ty, |$o:ident|; $($name:ident($value:ty) => $($place:ident).+;)*) => {
        impl $ty {
            $(
                #[doc = concat!("Sets `", stringify!($($place).+), "`. See RocksDB's option of this name.")]
                pub fn $name(&mut self, value: $value) {
                    let $o = self;
                    let is_stored = $crate::options::place::Place::<$value>::store(&mut $o.$($place).+, value);
                    $o.rejected.note(stringify!($name), is_stored, value);
                }
            )*
        }
    };
}
pub(crate) use setters;
