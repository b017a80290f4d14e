//! Options: one row for each option, values as text, and the text of option strings.
//!
//! ```text
//! row     the macro `options!`: struct, defaults and rows from one list
//! value   the trait `Value`: numbers, booleans, strings, lists
//! object  values that are objects, made from their names
//! text    escapes, maps and lists
//! ```
//! Not here: any option (crate `options`, `table::options`), and OPTIONS files (`format::options_ini`).

mod object;
mod row;
mod text;
mod value;

#[cfg(test)]
mod tests;

pub use object::{Nullable, Object, id_and_options, is_null, no_such};
pub use row::{Component, Mutability, Release, Row};
pub use text::{escape, parse_list, parse_map, strip_outer_braces, unescape};
pub use value::{Value, not_a};
