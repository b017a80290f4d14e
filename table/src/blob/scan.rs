//! Reads and checks every record of a blob file in file order, for tools and repair.

use std::sync::Arc;

use base::{Error, Result};
use env::fs::RandomRead;
use format::blob::{FOOTER_LEN, Footer, HEADER_LEN, Header, RECORD_HEADER_LEN, RecordHeader};

/// One record, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobRecord {
    /// Offset of the stored value: the offset that a blob index has.
    pub offset: u64,
    /// User key, with its timestamp.
    pub key: Vec<u8>,
    /// The value as the file stores the value, possibly compressed.
    pub stored_value: Vec<u8>,
}

/// The facts that a scan finds besides the records.
#[derive(Clone, Debug)]
pub struct BlobScan {
    /// The header of the file.
    pub header: Header,
    /// The footer. `None` if the file was not finished; the records then extend to the end of the file.
    pub footer: Option<Footer>,
    /// The number of blobs.
    pub blob_count: u64,
    /// Bytes of all records.
    pub blob_bytes: u64,
}

/// Reads the file from start to end and passes each record to `visit`.
///
/// # Errors
/// Corruption, with the offset, at the first corrupt record, or if the footer has another number of blobs.
/// Errors of the file and of `visit`.
pub fn scan(file: &Arc<dyn RandomRead>, mut visit: impl FnMut(BlobRecord) -> Result<()>) -> Result<BlobScan> {
    let size = file.size()?;
    let header = Header::decode(&read(file, 0, HEADER_LEN, size)?)?;
    // A file may be shorter than a footer: see the next line.
    let footer_at = size.saturating_sub(FOOTER_LEN as u64);
    let footer = match footer_at >= HEADER_LEN as u64 {
        true => Footer::decode(&read(file, footer_at, FOOTER_LEN, size)?).ok(),
        false => None,
    };
    let end = if footer.is_some() { footer_at } else { size };
    let mut out = BlobScan { header, footer, blob_count: 0, blob_bytes: 0 };
    let mut at = HEADER_LEN as u64;
    while at < end {
        let head = RecordHeader::decode(&read(file, at, RECORD_HEADER_LEN, end)?).map_err(|e| e.at(at))?;
        let key_at = at + RECORD_HEADER_LEN as u64;
        let next = key_at.checked_add(head.key_len).and_then(|n| n.checked_add(head.value_len));
        let Some(next) = next.filter(|next| *next <= end) else {
            return Err(Error::corruption("a blob record goes past the end of the records").at(at));
        };
        let mut bytes = read(file, key_at, (next - key_at) as usize, end)?;
        let stored_value = bytes.split_off(head.key_len as usize);
        head.verify(&bytes, &stored_value).map_err(|e| e.at(at))?;
        out.blob_count += 1;
        out.blob_bytes += next - at;
        visit(BlobRecord { offset: key_at + head.key_len, key: bytes, stored_value })?;
        at = next;
        base::invariant!(
            out.blob_bytes + HEADER_LEN as u64 == at,
            "the records of a blob file end at {at}, and have {} bytes",
            out.blob_bytes
        );
    }
    if let Some(footer) = &out.footer
        && footer.blob_count != out.blob_count
    {
        return Err(Error::corruption(format!(
            "the footer counts {} blobs, but the file has {}",
            footer.blob_count, out.blob_count
        ))
        .at(footer_at));
    }
    Ok(out)
}

/// Reads exactly `len` bytes. They must lie before `end`, so that a corrupt length cannot allocate more bytes
/// than the file has.
fn read(file: &Arc<dyn RandomRead>, offset: u64, len: usize, end: u64) -> Result<Vec<u8>> {
    if offset.checked_add(len as u64).is_none_or(|last| last > end) {
        return Err(Error::corruption("the blob file is truncated").at(offset));
    }
    let mut bytes = vec![0; len];
    match file.read_at(offset, &mut bytes)? {
        got if got == len => Ok(bytes),
        got => Err(Error::corruption(format!("{got} of {len} bytes could be read")).at(offset)),
    }
}
