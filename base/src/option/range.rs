//! The range of an option as text: the accepted numbers, as a row and `docs/options.md` show them.
//!
//! | part | accepts |
//! |---|---|
//! | `2..` | 2 and more |
//! | `..=9` | at most 9 |
//! | `2..=9` | from 2 to 9 |
//! | `8` | 8 |
//! | `above 0` | more than 0 |
//! | `powers of two ..=9` | each power of two in the range after the words, here 1, 2, 4 and 8 |
//!
//! A comma separates the parts. A number that one part accepts is in the range. An empty text accepts each number.

/// Returns true if the range has the number. NaN is only in the empty range.
///
/// # Panics
/// If a part is no range, also after a part that accepts the number. The ranges are constants of the rows, and tests check the default of
/// each row. So a row with a wrong range fails these tests.
pub(super) fn contains(range: &str, number: f64) -> bool {
    range.is_empty() || range.split(", ").filter(|part| part_contains(part, number)).count() > 0
}

fn part_contains(part: &str, number: f64) -> bool {
    if let Some(part) = part.strip_prefix("powers of two ") {
        return part_contains(part, number) && number >= 1.0 && number.log2().fract() == 0.0;
    }
    if let Some(bound) = part.strip_prefix("above ") {
        return number > end(bound, part);
    }
    let Some((first, last)) = part.split_once("..") else { return number == end(part, part) };
    let first = if first.is_empty() { f64::NEG_INFINITY } else { end(first, part) };
    let last = match last.strip_prefix('=') {
        Some(last) => end(last, part),
        None => {
            assert!(last.is_empty(), "a range without its last number is not written: {part:?}");
            f64::INFINITY
        }
    };
    (first..=last).contains(&number)
}

/// Returns the number at an end of a part.
fn end(text: &str, part: &str) -> f64 {
    text.parse().unwrap_or_else(|_| panic!("{part:?} is no range of numbers"))
}
