//! Bytes as hexadecimal digits. This is the one helper of all tests.

use serde_json::Value;

/// Returns the bytes of hexadecimal digits. Panics if the text has other characters, or half a byte.
pub fn decode(text: &str) -> Vec<u8> {
    try_decode(text).unwrap_or_else(|| panic!("not hexadecimal digits: {text}"))
}

/// Returns the bytes of hexadecimal digits, or `None` if the text has other characters, or half a byte.
pub fn try_decode(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |pair: &[u8]| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
    text.len().is_multiple_of(2).then(|| text.as_bytes().chunks_exact(2).map(byte).collect())?
}

/// Returns the bytes of a JSON string of hexadecimal digits. Panics as [`decode`] does.
pub fn of(value: &Value) -> Vec<u8> {
    decode(value.as_str().expect("a string of hexadecimal digits"))
}

/// Returns bytes as hexadecimal digits in lower case.
pub fn lower(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns bytes as hexadecimal digits in upper case, as RocksDB's tools print them.
pub fn upper(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_both_cases_are_bytes_and_other_text_is_nothing() {
        assert_eq!(try_decode("00fFA1").as_deref(), Some(&[0, 255, 161][..]));
        assert_eq!(try_decode(""), Some(Vec::new()));
        assert_eq!((try_decode("0"), try_decode("0g"), try_decode("+1")), (None, None, None));
        assert_eq!((lower(&[10, 255]), upper(&[10, 255])), ("0aff".to_string(), "0AFF".to_string()));
    }
}
