//! Storing the value of a setter in a field of another type, and remembering the values that a field cannot hold.
//!
//! The setters of the crate `rocksdb` return no error. If a field cannot hold the value of a setter, [`Rejected`] records
//! the option. Each later use of the options fails with an error that names the option.

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

/// Implements [`Place`] for number fields whose width or sign differs from the argument of the setter.
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

/// The value is in microseconds.
impl Place<u64> for Duration {
    fn store(&mut self, value: u64) -> bool {
        *self = Duration::from_micros(value);
        true
    }
}

/// The error text of each option whose value was rejected, by the name of the option.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rejected(BTreeMap<&'static str, String>);

impl Rejected {
    /// Records the outcome of a setter: an error if the value could not be stored, and no error otherwise.
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

    /// Records the outcome of a setter: its error, or no error.
    pub fn note_result(&mut self, option: &'static str, outcome: ironstone::Result<()>) {
        match outcome {
            Ok(()) => self.0.remove(option),
            Err(error) => self.0.insert(option, error.to_string()),
        };
    }

    /// Records the first error of `part` under the name `option`. `part` becomes a part of these options. If `part` has no
    /// error, removes the error of `option`.
    pub fn take(&mut self, option: &'static str, part: &Rejected) {
        match part.0.values().next() {
            None => self.0.remove(option),
            Some(fault) => self.0.insert(option, fault.clone()),
        };
    }

    /// # Errors
    /// InvalidArgument for the first rejected option, in the order of names. The message names the option.
    pub fn check(&self) -> Result<(), Error> {
        match self.0.values().next() {
            None => Ok(()),
            Some(fault) => Err(Error::new(fault.clone())),
        }
    }
}

/// Defines setters. A row has the name of the setter, the type of its argument and the field. The doc comment of the setter
/// names the option.
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
