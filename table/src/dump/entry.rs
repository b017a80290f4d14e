//! One entry as a line of text: `'key' seq:7, type:1 => value`.

use base::coding::get_u64;
use base::key::{Parsed, parse};
use base::order::Order;
use base::{Error, FileNumber, Result, ValueType};
use compress::Compression;
use format::blob::BlobIndex;
use format::wide;

/// Returns the bytes in hexadecimal as RocksDB shows them: capital letters, without separators.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| DIGITS[digit as usize] as char).collect()
}

fn shown(bytes: &[u8], as_hex: bool) -> Vec<u8> {
    if as_hex { hex(bytes).into_bytes() } else { bytes.to_vec() }
}

/// Returns the name or the value of a column. Hexadecimal text of columns starts with `0x`.
fn shown_column(bytes: &[u8], as_hex: bool) -> Vec<u8> {
    let mark = if as_hex && !bytes.is_empty() { &b"0x"[..] } else { b"" };
    [mark, &shown(bytes, as_hex)].concat()
}

/// Returns `'key' seq:7, type:1`. If the order has timestamps, `|timestamp:` follows the key.
pub fn internal_key_text(key: &Parsed<'_>, order: &Order, as_hex: bool) -> Vec<u8> {
    let size = order.timestamp_size();
    let (user_key, timestamp) = base::key::split_timestamp(key.user_key, size);
    let mut text = b"'".to_vec();
    text.extend(shown(user_key, as_hex));
    if size > 0 {
        text.extend_from_slice(b"|timestamp:");
        match (size, get_u64(timestamp, 0)) {
            (8, Some(timestamp)) => text.extend(timestamp.to_string().into_bytes()),
            _ => text.extend(hex(timestamp).into_bytes()),
        }
    }
    text.extend(format!("' seq:{}, type:{}", key.seq, key.value_type as u8).into_bytes());
    text
}

/// Returns a line of `--command=scan`, without its line end. `decode_blobs` shows the parts of blob indexes.
/// Keys and values are raw bytes unless `as_hex` is set.
///
/// # Errors
/// Corruption if the key does not decode, or an entity or a blob index in the value. Corruption also for an
/// entity with columns in blob files, which RocksDB does not show either.
pub fn entry_line(
    key: &[u8],
    value: &[u8],
    order: &Order,
    as_hex: bool,
    decode_blobs: bool,
) -> Result<Vec<u8>> {
    let key = parse(key)?;
    let mut line = internal_key_text(&key, order, as_hex);
    line.extend_from_slice(b" => ");
    match key.value_type {
        ValueType::BlobIndex if decode_blobs => line.extend(blob_text(&BlobIndex::decode(value)?, as_hex)),
        ValueType::WideColumnEntity => {
            for (at, column) in wide::decode(value)?.iter().enumerate() {
                if column.is_blob {
                    return Err(Error::corruption("error deserializing wide columns"));
                }
                if at > 0 {
                    line.push(b' ');
                }
                line.extend(shown_column(column.name, as_hex));
                line.push(b':');
                line.extend(shown_column(column.value, as_hex));
            }
        }
        ValueType::ValuePreferredSeqno => {
            // A file with wrong bytes may hold a value without a sequence number.
            let at = value.len().saturating_sub(8);
            line.extend(shown(&value[..at], as_hex));
            line.extend(format!(", {}", get_u64(value, at).unwrap_or_default()).into_bytes());
        }
        _ => line.extend(shown(value, as_hex)),
    }
    Ok(line)
}

fn blob_text(index: &BlobIndex<'_>, as_hex: bool) -> Vec<u8> {
    let (mut text, expiration) = match index {
        BlobIndex::Inlined { expiration, value } => {
            let mut text = b"[inlined blob] value:".to_vec();
            text.extend(shown(value, as_hex));
            (text, Some(*expiration))
        }
        BlobIndex::Blob(_) => (Vec::new(), None),
        BlobIndex::BlobTtl { expiration, .. } => (Vec::new(), Some(*expiration)),
    };
    if let Some(blob) = index.blob() {
        let file = if blob.file_number == FileNumber::ZERO {
            "same".to_string()
        } else {
            blob.file_number.to_string()
        };
        let compression = Compression::from_u8(blob.compression).map_or("", Compression::name);
        let (offset, size) = (blob.offset, blob.size);
        let place = format!("[blob ref] file:{file} offset:{offset} size:{size} compression: {compression}");
        text.extend(place.into_bytes());
    }
    if let Some(expiration) = expiration {
        text.extend(format!(" exp:{expiration}").into_bytes());
    }
    text
}
