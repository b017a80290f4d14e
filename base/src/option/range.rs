//! The range of an option as text: the accepted numbers, as a row and `docs/options.md` show them.
//!
//! | part | accepts |
//! |---|---|
//! | `2 and more` | 2 and more |
//! | `at most 9` | at most 9 |
//! | `2 to 9` | from 2 to 9 |
//! | `8` | 8 |
//! | `above 0` | more than 0 |
//! | `powers of two up to 9` | here 1, 2, 4 and 8 |
//!
//! A comma separates the parts. A number that one part accepts is in the range. An empty text accepts each number.

/// Returns true if the range has the number. NaN is only in the empty range.
///
/// # Panics
/// If a part is no range, even if an earlier part accepts the number. The ranges are constants of the rows, and tests check the default of
/// each row. So a row with a wrong range fails these tests.
pub(super) fn contains(range: &str, number: f64) -> bool {
    range.is_empty() || range.split(", ").filter(|part| part_contains(part, number)).count() > 0
}

fn part_contains(part: &str, number: f64) -> bool {
    if let Some(last) = part.strip_prefix("powers of two up to ") {
        return number <= end(last, part) && number >= 1.0 && number.log2().fract() == 0.0;
    }
    if let Some(last) = part.strip_prefix("at most ") {
        return number <= end(last, part);
    }
    if let Some(bound) = part.strip_prefix("above ") {
        return number > end(bound, part);
    }
    if let Some(first) = part.strip_suffix(" and more") {
        return number >= end(first, part);
    }
    match part.split_once(" to ") {
        Some((first, last)) => (end(first, part)..=end(last, part)).contains(&number),
        None => number == end(part, part),
    }
}

/// Returns the number at an end of a part.
fn end(text: &str, part: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("{part:?} is no range of numbers"))
}
