//! Structs of options that are the value of one option: `{name=value;..}`, from the rows of the struct.
//!
//! The text has the fields in the order of the rows. Not here: older forms of a text, which each struct splits by itself.

use super::row::{Release, Row};
use crate::{Error, Result};

/// Sets the field `name` from its text. `of` is the name of the struct. A name in `ignored` is accepted without effect.
///
/// # Errors
/// InvalidArgument if the field does not exist. The errors of [`Row::set`], which name the field.
pub fn set_field<T>(
    rows: &[Row<T>],
    of: &str,
    ignored: &[&str],
    value: &mut T,
    name: &str,
    text: &str,
) -> Result<()> {
    match rows.iter().find(|row| row.name == name) {
        Some(row) => {
            (row.set)(value, text).map_err(|error| error.doing(format!("setting field {of}.{name}")))
        }
        None if ignored.contains(&name) => Ok(()),
        None => Err(Error::invalid_argument(format!("Could not find option: {of}.{name}"))),
    }
}

/// Returns the text that `release` reads: the fields that are not newer than the release.
pub fn print_fields<T>(rows: &[Row<T>], value: &T, release: Release) -> String {
    let known = rows.iter().filter(|row| row.since <= release);
    let fields = known.map(|row| format!("{}={};", row.name, (row.print_for)(value, release)));
    format!("{{{}}}", fields.collect::<String>())
}

/// Returns the rows whose values are out of their ranges.
pub fn out_of_range<'a, T>(rows: &'a [Row<T>], value: &'a T) -> impl Iterator<Item = &'a Row<T>> {
    rows.iter().filter(move |row| !row.accepts(value))
}

/// Rejects the first value that is out of its range. `of` is the name of the struct.
///
/// # Errors
/// InvalidArgument with the struct, the option, the value and the range.
pub fn check_ranges<T>(rows: &[Row<T>], of: &str, value: &T) -> Result<()> {
    match out_of_range(rows, value).next() {
        None => Ok(()),
        Some(row) => Err(Error::invalid_argument(format!(
            "{of}.{} is {}; the range is {}",
            row.name,
            (row.print)(value),
            row.range
        ))),
    }
}

/// Makes a struct with rows the value of an option: implements [`Value`](crate::option::Value) for the struct, and the methods
/// `set` and `get` of a field. The text is `{name=value;..}` in any order. Fields that the text does not name keep their
/// values. `expand` splits the text into names and values, and reads older forms of the struct.
#[macro_export]
macro_rules! nested_options {
    ($ty:ident, $expand:path $(, ignored $ignored:literal)*) => {
        impl $ty {
            /// Sets one field from its text.
            ///
            /// # Errors
            /// InvalidArgument if the field does not exist or the text is no value of the field. The error names the field.
            pub fn set(&mut self, name: &str, text: &str) -> $crate::Result<()> {
                $crate::option::set_field($ty::ROWS, stringify!($ty), &[$($ignored),*], self, name, text)
            }

            /// Returns the text of one field, or `None` if the field does not exist.
            pub fn get(&self, name: &str) -> Option<String> {
                $ty::ROWS.iter().find(|row| row.name == name).map(|row| (row.print)(self))
            }
        }

        impl $crate::option::Value for $ty {
            fn parse(text: &str) -> $crate::Result<Self> {
                let mut value = <$ty>::default();
                $crate::option::Value::update(&mut value, text)?;
                Ok(value)
            }

            fn update(&mut self, text: &str) -> $crate::Result<()> {
                let mut changed = self.clone();
                for (name, value) in $expand(text)? {
                    changed.set(&name, &value)?;
                }
                *self = changed;
                Ok(())
            }

            fn print(&self) -> String {
                $crate::option::Value::print_for(self, $crate::option::Release::NEWEST)
            }

            fn print_for(&self, release: $crate::option::Release) -> String {
                $crate::option::print_fields($ty::ROWS, self, release)
            }

            fn is_same(&self, other: &Self) -> bool {
                $ty::ROWS.iter().all(|row| (row.is_same)(self, other))
            }
        }
    };
}
