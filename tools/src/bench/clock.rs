//! Dates in the form of the reports, in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// Converts days since 1970-01-01 to year, month and day. Source: Howard Hinnant, "chrono-compatible low-level date
/// algorithms".
fn civil(days: i64) -> (i64, u32, u32) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = (doy - (153 * mp + 2) / 5 + 1) as u32;
    let month = if mp < 10 { mp + 3 } else { mp - 9 } as u32;
    (yoe + era * 400 + i64::from(month <= 2), month, day)
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() as i64)
}

/// Returns the time as `2026/11/21-22:05:07`.
pub fn time_of_day() -> String {
    let seconds = now();
    let (year, month, day) = civil(seconds.div_euclid(86_400));
    let rest = seconds.rem_euclid(86_400);
    format!("{year:04}/{month:02}/{day:02}-{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60)
}

/// Returns the time in the form of `ctime`.
pub fn ctime() -> String {
    ctime_of(now())
}

/// Formats a second since 1970-01-01 in the form of `ctime`: `Sat Nov 21 22:05:07 2026`.
pub fn ctime_of(seconds: i64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let days = seconds.div_euclid(86_400);
    let (year, month, day) = civil(days);
    let rest = seconds.rem_euclid(86_400);
    format!(
        "{} {} {day:2} {:02}:{:02}:{:02} {year}",
        DAYS[days.rem_euclid(7) as usize],
        MONTHS[(month as usize - 1).min(11)],
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(ctime_of(0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(ctime_of(951_827_696), "Tue Feb 29 12:34:56 2000");
    }
}
