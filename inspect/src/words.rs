//! Sizes, times, keys and shares for people.

/// Returns a size with a binary unit: `1.5 MiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let (mut value, mut unit) = (n as f64, 0);
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    match unit {
        0 if n == 1 => "1 byte".to_string(),
        0 => format!("{n} bytes"),
        _ if value >= 99.95 => format!("{value:.0} {}", UNITS[unit]),
        _ => format!("{value:.1} {}", UNITS[unit]),
    }
}

/// Returns a number with separated thousands: `12,345`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns a number and its noun: `1 file`, `2 files`.
pub fn of(n: u64, noun: &str) -> String {
    match (n, noun.strip_suffix('y')) {
        (1, _) => format!("1 {noun}"),
        (_, Some(stem)) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{} {stem}ies", count(n)),
        _ if noun.ends_with("sh") => format!("{} {noun}es", count(n)),
        _ => format!("{} {noun}s", count(n)),
    }
}

/// Returns a duration in its largest unit: `3 days`.
pub fn duration(seconds: u64) -> String {
    match seconds {
        0..120 => of(seconds, "second"),
        120..7200 => of(seconds / 60, "minute"),
        7200..172_800 => of(seconds / 3600, "hour"),
        172_800..5_184_000 => of(seconds / 86_400, "day"),
        5_184_000..63_072_000 => of(seconds / 2_592_000, "month"),
        _ => of(seconds / 31_536_000, "year"),
    }
}

/// Returns nanoseconds in a fitting unit: `1.5 ms`.
pub fn short_time(nanos: u64) -> String {
    match nanos {
        0..1000 => format!("{nanos} ns"),
        1000..1_000_000 => format!("{:.1} us", nanos as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} ms", nanos as f64 / 1e6),
        _ => format!("{:.1} s", nanos as f64 / 1e9),
    }
}

/// Returns the time between `then` and `now`, both in seconds since 1970: `3 days ago`. 0 is an unknown time.
pub fn ago(then: u64, now: u64) -> String {
    match then {
        0 => "at an unknown time".to_string(),
        then => format!("{} ago", duration(now.saturating_sub(then))),
    }
}

/// Returns a share in percent. 0 of 0 is 0 %.
pub fn percent(part: u64, whole: u64) -> String {
    let share = if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 };
    if share >= 9.95 || share == 0.0 { format!("{share:.0} %") } else { format!("{share:.1} %") }
}

/// Returns a date and a time of day for microseconds since 1970.
pub fn date(micros: u64) -> String {
    let (days, second) = (micros / 86_400_000_000, micros / 1_000_000 % 86_400);
    // The calendar starts on 1 March of year 0, so the leap day is the last day of a year.
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

/// Returns bytes for people: printable ASCII as text in quotes, other bytes as hexadecimal digits. If more than `max`
/// bytes exist, the rest is cut off and the full length follows.
pub fn key(bytes: &[u8], max: usize) -> String {
    let cut = &bytes[..bytes.len().min(max)];
    let printable = !cut.is_empty() && cut.iter().all(|b| (0x20..0x7f).contains(b));
    let text = if printable {
        format!("\"{}\"", String::from_utf8_lossy(cut))
    } else if cut.is_empty() {
        "\"\"".to_string()
    } else {
        format!("0x{}", table::dump::hex(cut))
    };
    if cut.len() < bytes.len() { format!("{text}... ({} bytes)", count(bytes.len() as u64)) } else { text }
}

/// Returns a key of the model for people. `None` is a key that was left out.
pub fn model_key(hex: Option<&str>) -> String {
    let Some(hex) = hex else { return "(left out)".to_string() };
    let digits: String = hex.chars().take_while(char::is_ascii_hexdigit).collect();
    let nibble =
        |at: usize| digits.as_bytes().get(at).and_then(|b| (*b as char).to_digit(16)).unwrap_or(0) as u8;
    let bytes: Vec<u8> = (0..digits.len() / 2).map(|at| nibble(2 * at) << 4 | nibble(2 * at + 1)).collect();
    format!("{}{}", key(&bytes, 64), &hex[digits.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_times_and_keys_have_units() {
        assert_eq!(
            [bytes(1), bytes(1023), bytes(1536), bytes(1 << 40), bytes(u64::MAX)],
            ["1 byte", "1023 bytes", "1.5 KiB", "1.0 TiB", "16384 PiB"]
        );
        assert_eq!([count(0), count(999), count(1_234_567)], ["0", "999", "1,234,567"]);
        assert_eq!(
            [of(1, "family"), of(2, "family"), of(2, "flush"), of(6, "day")],
            ["1 family", "2 families", "2 flushes", "6 days"]
        );
        assert_eq!(
            [ago(0, 9), ago(100, 160), ago(0x6000, 0)],
            ["at an unknown time", "60 seconds ago", "0 seconds ago"]
        );
        assert_eq!([short_time(900), short_time(15_500_000)], ["900 ns", "15.5 ms"]);
        assert_eq!(date(1_709_208_000_000_000), "2024-02-29 12:00:00");
        assert_eq!(date(951_782_400_000_000), "2000-02-29 00:00:00");
        assert_eq!(
            [key(b"ab", 9), key(b"a\0", 9), key(b"abc", 2)],
            ["\"ab\"", "0x6100", "\"ab\"... (3 bytes)"]
        );
        assert_eq!(model_key(Some("6162... (900 bytes)")), "\"ab\"... (900 bytes)");
    }
}
