//! The printed form of keys and values: the plain bytes, or `0x` and capital hexadecimal digits.

use base::Order;
use table::dump;

use super::outcome::Failure;

pub(crate) const DELIMITER: &[u8] = b" ==> ";

/// Returns the printed form of bytes: `0x6B31`, or the bytes themselves.
pub(crate) fn bytes(bytes: &[u8], as_hex: bool) -> Vec<u8> {
    if as_hex { format!("0x{}", dump::hex(bytes)).into_bytes() } else { bytes.to_vec() }
}

/// Returns the bytes of a parameter.
///
/// # Errors
/// The parameter should be hexadecimal and is not.
pub(crate) fn parse(text: &[u8], is_hex: bool) -> Result<Vec<u8>, Failure> {
    if !is_hex {
        return Ok(text.to_vec());
    }
    let shown = String::from_utf8_lossy(text);
    let Some(digits) = text.strip_prefix(b"0x") else {
        return Err(Failure::new(format!("Invalid hex input {shown}.  Must start with 0x")));
    };
    let bad = || Failure::new(format!("Invalid hex input {shown}"));
    if digits.len() % 2 != 0 {
        return Err(bad());
    }
    let digit = |d: u8| char::from(d).to_digit(16).map(|d| d as u8).ok_or_else(bad);
    digits.chunks_exact(2).map(|pair| Ok(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

/// Returns the printed form of a timestamp: a number if it has eight bytes, hexadecimal digits otherwise.
pub(crate) fn timestamp(bytes: &[u8]) -> String {
    match bytes.try_into() {
        Ok(eight) => u64::from_le_bytes(eight).to_string(),
        Err(_) => dump::hex(bytes),
    }
}

/// Returns the printed form of columns: `:0x666F6F 0x61:0x62`, or the plain bytes.
pub(crate) fn columns<'a>(columns: impl IntoIterator<Item = (&'a [u8], &'a [u8])>, as_hex: bool) -> Vec<u8> {
    let shown = |b: &[u8]| if b.is_empty() { Vec::new() } else { bytes(b, as_hex) };
    let mut out = Vec::new();
    for (at, (name, value)) in columns.into_iter().enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        out.extend(shown(name));
        out.push(b':');
        out.extend(shown(value));
    }
    out
}

/// One row of a scan.
pub(crate) struct Row<'a> {
    pub key: &'a [u8],
    /// Empty in a column family without timestamps.
    pub timestamp: &'a [u8],
    pub value: &'a [u8],
    pub columns: Option<&'a [(Vec<u8>, Vec<u8>)]>,
}

impl Row<'_> {
    /// Returns the columns. Returns `None` if the entity has only the column without a name, as a plain value has.
    pub fn wide(&self) -> Option<&[(Vec<u8>, Vec<u8>)]> {
        self.columns.filter(|c| !c.is_empty() && !matches!(c, [(name, _)] if name.is_empty()))
    }

    /// Returns the row as `key|timestamp:7 ==> value`, without a line end.
    pub fn line(&self, key_hex: bool, value_hex: bool) -> Vec<u8> {
        let mut out = bytes(self.key, key_hex);
        if !self.timestamp.is_empty() {
            out.extend_from_slice(b"|timestamp:");
            out.extend(timestamp(self.timestamp).into_bytes());
        }
        out.extend_from_slice(DELIMITER);
        out.extend(match self.wide() {
            Some(wide) => columns(wide.iter().map(|(n, v)| (&n[..], &v[..])), value_hex),
            None => bytes(self.value, value_hex),
        });
        out
    }
}

/// Formats a key and its timestamp as a WAL dump prints them.
pub(crate) fn wal_key(key: &[u8], order: Option<&Order>) -> String {
    let size = order.map_or(0, Order::timestamp_size);
    let Some(at) = key.len().checked_sub(size) else { return "CORRUPT KEY".to_string() };
    let (key, stamp) = key.split_at(at);
    match size {
        0 => format!("0x{}", dump::hex(key)),
        _ => format!("0x{}|timestamp:{}", dump::hex(key), timestamp(stamp)),
    }
}
