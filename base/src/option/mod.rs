//! Options: one row for each option, values as text, and the text of option strings.
//!
//! ```text
//! row     the macro `options!`: struct, defaults and rows from one list
//! range   the accepted numbers of a row
//! nested  structs of options that are the value of one option
//! value   the trait `Value`: numbers, booleans, strings, lists
//! object  values that are objects, made from their names
//! text    escapes, maps and lists
//! ```
//! Not here: any option (crate `options`, `table::options`), and OPTIONS files (`format::options_ini`).

mod nested;
mod object;
mod range;
mod row;
mod text;
mod value;

#[cfg(test)]
mod tests;

pub use nested::{check_ranges, out_of_range, print_fields, set_field};
pub use object::{Nullable, Object, id_and_options, is_null, no_such, no_such_option, object_by_name};
pub use row::{Component, Mutability, Release, Row};
pub use text::{escape, parse_list, parse_map, strip_outer_braces, unescape};
pub use value::{Value, not_a};
