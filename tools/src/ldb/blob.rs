//! Prints a blob file record by record, as RocksDB's `blob_dump` does. It reads the file alone, without the SST files
//! that refer to its records.

use std::path::Path;

use base::{Error, Result};
use compress::Compression;
use env::{Env, RandomRead, ReadHints};
use format::blob::{FOOTER_LEN, Footer, HEADER_LEN, Header, RECORD_HEADER_LEN, RecordHeader};
use table::dump::hex;

use super::{Failure, Io, Outcome};

/// The form of the output.
#[derive(Clone, Copy, Default)]
pub(crate) struct How {
    pub key_hex: bool,
    pub value_hex: bool,
    /// True prints the decompressed blobs.
    pub uncompressed: bool,
}

/// The size of the largest record that is read.
const RECORD_BYTES_MAX: u64 = 1 << 32;

pub(crate) fn dump(env: &Env, path: &Path, how: How, io: &mut Io<'_>) -> Outcome {
    let failed = |e: Error| Failure::new(e.file(path).to_string());
    let file = env.fs.open_random(path, &ReadHints::default())?;
    let size = file.size()?;
    if size == 0 {
        return Err(failed(Error::corruption("File is empty.")));
    }
    let header = Header::decode(&read(&*file, 0, HEADER_LEN as u64).map_err(failed)?).map_err(failed)?;
    let compression = Compression::from_u8(header.compression);
    let named = compression.map_or_else(
        || format!("Unrecongnized compression type ({})", header.compression),
        |c| c.option_name().to_string(),
    );
    writeln!(io.out, "Blob log header:\n  Version          : 1\n  Column Family ID : {}", header.family)?;
    writeln!(io.out, "  Compression      : {named}\n  Expiration range : {}", range(header.expiration))?;
    let footer_at = size.checked_sub(FOOTER_LEN as u64).filter(|&at| at >= HEADER_LEN as u64);
    let footer = footer_at.and_then(|at| Footer::decode(&read(&*file, at, FOOTER_LEN as u64).ok()?).ok());
    let end = match (footer, footer_at) {
        (Some(footer), Some(at)) => {
            writeln!(io.out, "Blob log footer:\n  Blob count       : {}", footer.blob_count)?;
            writeln!(io.out, "  Expiration Range : {}", range(footer.expiration))?;
            at
        }
        _ => {
            writeln!(io.out, "No blob log footer.")?;
            size
        }
    };
    let mut sums = Sums::default();
    let mut at = HEADER_LEN as u64;
    let mut outcome = Ok(());
    while at < end {
        match record(&*file, at, end, compression, how, &mut sums, io)? {
            Ok(next) => at = next,
            Err(error) => {
                outcome = Err(failed(error));
                break;
            }
        }
    }
    writeln!(io.out, "Summary:\n  total records: {}", sums.records)?;
    writeln!(io.out, "  total key size: {}\n  total blob size: {}", sums.key_bytes, sums.blob_bytes)?;
    if compression != Some(Compression::None) {
        writeln!(io.out, "  total raw blob size: {}", sums.raw_bytes)?;
    }
    outcome
}

#[derive(Default)]
struct Sums {
    records: u64,
    key_bytes: u64,
    blob_bytes: u64,
    raw_bytes: u64,
}

/// Prints the record at `at`. Returns the position of the next record. The inner error is an error of the file.
fn record(
    file: &dyn RandomRead,
    at: u64,
    end: u64,
    compression: Option<Compression>,
    how: How,
    sums: &mut Sums,
    io: &mut Io<'_>,
) -> std::result::Result<Result<u64>, Failure> {
    writeln!(io.out, "Read record with offset 0x{at:x} ({at}):")?;
    let header = match read(file, at, RECORD_HEADER_LEN as u64).and_then(|bytes| RecordHeader::decode(&bytes))
    {
        Ok(header) => header,
        Err(error) => return Ok(Err(error.shifted(at))),
    };
    writeln!(io.out, "  key size   : {}\n  value size : {}", header.key_len, header.value_len)?;
    writeln!(io.out, "  expiration : {}", header.expiration)?;
    let body = at + RECORD_HEADER_LEN as u64;
    let len = header
        .key_len
        .checked_add(header.value_len)
        .filter(|&len| len <= end.saturating_sub(body) && len <= RECORD_BYTES_MAX);
    let Some(len) = len else {
        return Ok(Err(Error::corruption("Reach the end of the file unexpectedly.").at(at)));
    };
    let bytes = match read(file, body, len) {
        Ok(bytes) => bytes,
        Err(error) => return Ok(Err(error)),
    };
    let (key, blob) = bytes.split_at(header.key_len as usize);
    let raw = match compression {
        Some(Compression::None) => None,
        Some(kind) => match compress::decompress(kind, blob, None) {
            Ok(raw) => Some(raw),
            Err(error) => return Ok(Err(error.at(body))),
        },
        None => return Ok(Err(Error::not_supported("Unsupported compression type"))),
    };
    let mut line = |name: &str, bytes: &[u8], as_hex: bool| -> Outcome {
        io.out.write_all(name.as_bytes())?;
        if as_hex {
            io.out.write_all(hex(bytes).as_bytes())?
        } else {
            io.out.write_all(bytes)?
        }
        Ok(io.out.write_all(b"\n")?)
    };
    line("  key        : ", key, how.key_hex)?;
    match &raw {
        _ if !how.uncompressed => line("  blob       : ", blob, how.value_hex)?,
        Some(raw) => line("  raw blob   : ", raw, how.value_hex)?,
        None => line("  raw blob   : ", blob, how.value_hex)?,
    }
    sums.records += 1;
    sums.key_bytes += header.key_len;
    sums.blob_bytes += header.value_len;
    sums.raw_bytes += raw.map_or(0, |raw| raw.len() as u64);
    Ok(Ok(body + len))
}

fn read(file: &dyn RandomRead, at: u64, len: u64) -> Result<Vec<u8>> {
    let size = file.size()?;
    if at.checked_add(len).is_none_or(|end| end > size) {
        return Err(Error::corruption("Reach the end of the file unexpectedly.").at(at));
    }
    let mut bytes = vec![0; len as usize];
    let got = file.read_at(at, &mut bytes)?;
    if got < bytes.len() {
        return Err(Error::corruption("Reach the end of the file unexpectedly.").at(at));
    }
    Ok(bytes)
}

fn range(range: (u64, u64)) -> String {
    match range {
        (0, 0) => "nil".to_string(),
        (from, to) => format!("({from}, {to})"),
    }
}
