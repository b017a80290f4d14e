//! The marks of a time axis.

use maud::{Markup, html};

use crate::words;

/// The number of marks.
const MARKS: u64 = 5;

/// Draws five marks between two times in microseconds since 1970, as text below a drawing. Within a day, a mark has the time of day; within
/// 20 seconds, with tenths; within a second, with milliseconds.
pub fn axis(first: u64, last: u64) -> Markup {
    let span = last.saturating_sub(first);
    let text = |at: u64| {
        let date = words::date(at);
        match span {
            0..1_000_000 => format!("{}.{:03}", &date[date.len() - 8..], at / 1000 % 1000),
            1_000_000..20_000_000 => format!("{}.{}", &date[date.len() - 8..], at / 100_000 % 10),
            20_000_000..86_400_000_000 => date[date.len() - 8..].to_string(),
            86_400_000_000..2_592_000_000_000 => date[5..16].to_string(),
            _ => date[..10].to_string(),
        }
    };
    let at = |mark: u64| first + (u128::from(span) * u128::from(mark) / u128::from(MARKS - 1)) as u64;
    html! { p class="axis muted" { @for mark in 0..MARKS { span { (text(at(mark))) } } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_even_and_show_what_differs() {
        let day = 86_400_000_000;
        let of = |first, last| {
            let text = axis(first, last).into_string();
            text.split("<span>")
                .skip(1)
                .map(|part| part.split('<').next().unwrap().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(of(0, 2_000_000), ["00:00:00.0", "00:00:00.5", "00:00:01.0", "00:00:01.5", "00:00:02.0"]);
        assert_eq!(of(0, 4000)[1..3], ["00:00:00.001", "00:00:00.002"]);
        assert_eq!(of(0, 40_000_000), ["00:00:00", "00:00:10", "00:00:20", "00:00:30", "00:00:40"]);
        assert_eq!(
            of(0, 4 * day),
            ["01-01 00:00", "01-02 00:00", "01-03 00:00", "01-04 00:00", "01-05 00:00"]
        );
        assert_eq!(of(0, 400 * day)[4], "1971-02-05");
        assert_eq!(of(u64::MAX, u64::MAX).len(), 5);
    }
}
