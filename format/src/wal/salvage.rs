//! Reads all records of a corrupt WAL or MANIFEST that their checksums prove.
//!
//! [`super::Reader`] stops at a corrupt record or drops the rest of its block, because recovery must not
//! continue after doubtful bytes. Here the caller asks for all remaining records. A record that is valid
//! after one flipped bit or another length is repaired. A corrupt record is skipped by its own length, if a
//! valid record begins there. Otherwise the block is searched byte by byte for the next header with a valid
//! checksum. At one of 2^32 positions a checksum is valid by chance.

use std::collections::BTreeMap;

use base::coding::{get_u16, get_u32};
use base::{Error, FamilyId, Result};
use kernel::checksum::crc32c;

use super::writer::is_hole;
use super::{
    BLOCK_LEN, Diagnosis, HEADER_LEN, HOLE, ReaderOptions, Source, StreamDecompressor,
    decode_timestamp_sizes, diagnose, header_len, record_type,
};

/// A place where the file differs from the bytes of its writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SalvageFault {
    /// Offset in the file.
    pub offset: u64,
    /// Number of skipped bytes; 0 if the record was repaired.
    pub lost_bytes: u64,
    /// The description of the fault for a report.
    pub what: String,
    /// True if no whole record follows in the file. A torn tail looks like this too.
    pub at_end: bool,
}

/// The facts that [`salvage`] found in addition to the records.
#[derive(Debug, Default)]
pub struct Salvaged {
    /// In ascending order.
    pub faults: Vec<SalvageFault>,
    /// The end of the last whole record, also of a record without data. 0 without a whole record.
    pub end: u64,
    /// The sizes of timestamps in bytes that the WAL states, by column family.
    pub timestamp_sizes: BTreeMap<FamilyId, u16>,
    /// The offset of the first lost bytes that may be the record with these sizes. The header of a lost record of data is
    /// no such place.
    pub sizes_lost_at: Option<u64>,
}

/// Passes every whole logical record to `record`, with the offsets of its start and end, in file order. Skips
/// records without data: timestamp sizes, predecessors, and types that may be ignored. The end of this WAL in a recycled file is not a fault.
///
/// Cost: one pass over an undamaged file. In a corrupt block, at most half of the square of its size in
/// bytes.
///
/// # Errors
/// The errors of the source and of `record`. NotSupported for a compression without a decompressor.
pub fn salvage(
    source: &mut dyn Source,
    options: &ReaderOptions,
    record: &mut dyn FnMut(&[u8], u64, u64) -> Result<()>,
) -> Result<Salvaged> {
    let mut block = vec![0; BLOCK_LEN];
    let mut run = Run {
        options,
        record,
        salvaged: Salvaged::default(),
        open: None,
        decompressor: None,
        plain: Vec::new(),
        filler: None,
        done: false,
    };
    let mut start = 0u64;
    while !run.done {
        let len = source.read_at(start, &mut block)?;
        run.block(&block[..len], start)?;
        if len < BLOCK_LEN {
            break;
        }
        start += len as u64;
    }
    if let Some(open) = run.open.take() {
        run.fault(open.offset, open.bytes.len() as u64, "a record without its end".to_string());
    }
    Ok(run.salvaged)
}

/// A logical record whose last fragment was not read yet.
struct Open {
    offset: u64,
    bytes: Vec<u8>,
}

struct Run<'a> {
    options: &'a ReaderOptions,
    record: &'a mut dyn FnMut(&[u8], u64, u64) -> Result<()>,
    salvaged: Salvaged,
    open: Option<Open>,
    decompressor: Option<Box<dyn StreamDecompressor>>,
    plain: Vec<u8>,
    /// The zeros since the last record: their start, and how many of them a writer may have left.
    filler: Option<(u64, usize)>,
    /// True if a record of an older WAL was found.
    done: bool,
}

impl Run<'_> {
    fn block(&mut self, block: &[u8], start: u64) -> Result<()> {
        let mut at = 0;
        while at + HEADER_LEN <= block.len() && !self.done {
            let rest = &block[at..];
            if rest.iter().all(|&b| b == 0) {
                // The zeros are padding, space that was allocated before, or lost records.
                let all = |(first, _)| (first, BLOCK_LEN);
                self.filler = Some(self.filler.map_or((start + at as u64, rest.len()), all));
                return Ok(());
            }
            if let Some(len) = whole(rest) {
                self.physical(&rest[..len], start + at as u64)?;
                at += len;
                continue;
            }
            let offset = start + at as u64;
            if let Some((mended, consumed, what)) = mend(rest) {
                self.fault(offset, 0, what);
                self.physical(&mended, offset)?;
                at += consumed;
                continue;
            }
            let next = resume_at(rest).unwrap_or(rest.len());
            self.abandon_open();
            self.filler = None;
            self.fault(offset, next as u64, "no record with a valid checksum".to_string());
            if !rest.get(6).is_some_and(|kind| is_data(*kind)) {
                self.salvaged.sizes_lost_at.get_or_insert(offset);
            }
            at += next;
        }
        Ok(())
    }

    /// Processes one whole physical record.
    fn physical(&mut self, bytes: &[u8], offset: u64) -> Result<()> {
        use record_type::*;
        let kind = bytes[6];
        let header = header_len(kind);
        let recyclable = header > HEADER_LEN;
        if recyclable && get_u32(bytes, HEADER_LEN) != Some(self.options.wal_number.get() as u32) {
            self.done = true;
            return Ok(());
        }
        if let Some((from, zeros)) = self.filler.take()
            && is_hole(zeros, kind, bytes.len())
        {
            self.fault(from, offset - from, HOLE.to_string());
            self.salvaged.sizes_lost_at.get_or_insert(from);
        }
        let end = offset + bytes.len() as u64;
        let payload = &bytes[header..];
        match kind {
            FULL | RECYCLABLE_FULL => {
                self.abandon_open();
                self.logical(payload, offset, end)
            }
            FIRST | RECYCLABLE_FIRST => {
                self.abandon_open();
                self.open = Some(Open { offset, bytes: payload.to_vec() });
                Ok(())
            }
            MIDDLE | RECYCLABLE_MIDDLE | LAST | RECYCLABLE_LAST => {
                let Some(mut open) = self.open.take() else {
                    self.fault(offset, bytes.len() as u64, "a fragment without its beginning".to_string());
                    return Ok(());
                };
                open.bytes.extend_from_slice(payload);
                if matches!(kind, MIDDLE | RECYCLABLE_MIDDLE) {
                    self.open = Some(open);
                    return Ok(());
                }
                self.logical(&open.bytes, open.offset, end)
            }
            SET_COMPRESSION => {
                let number = get_u32(payload, 0)
                    .ok_or_else(|| Error::corruption("compression record is truncated").at(offset))?;
                let Some(make) = &self.options.decompressor else {
                    return Err(Error::not_supported(format!("a log compressed with type {number}")));
                };
                self.decompressor = Some(make(number)?);
                self.salvaged.end = end;
                Ok(())
            }
            TIMESTAMP_SIZE | RECYCLABLE_TIMESTAMP_SIZE => {
                self.salvaged.timestamp_sizes.extend(decode_timestamp_sizes(payload).unwrap_or_default());
                self.salvaged.end = end;
                Ok(())
            }
            _ => {
                self.salvaged.end = end;
                Ok(())
            }
        }
    }

    fn logical(&mut self, bytes: &[u8], offset: u64, end: u64) -> Result<()> {
        self.salvaged.end = end;
        let Some(decompressor) = &mut self.decompressor else {
            return (self.record)(bytes, offset, end);
        };
        decompressor.reset();
        self.plain.clear();
        match decompressor.decompress(bytes, &mut self.plain) {
            Ok(()) => (self.record)(&self.plain, offset, end),
            Err(error) => {
                self.fault(offset, end - offset, format!("a compressed record: {error}"));
                Ok(())
            }
        }
    }

    fn abandon_open(&mut self) {
        if let Some(open) = self.open.take() {
            self.fault(open.offset, open.bytes.len() as u64, "a record without its end".to_string());
        }
    }

    fn fault(&mut self, offset: u64, lost_bytes: u64, what: String) {
        self.salvaged.faults.push(SalvageFault { offset, lost_bytes, what, at_end: false });
    }
}

/// Returns true for the types of records with data.
fn is_data(kind: u8) -> bool {
    use record_type::*;
    matches!(kind, FULL | FIRST | MIDDLE | LAST)
        || matches!(kind, RECYCLABLE_FULL | RECYCLABLE_FIRST | RECYCLABLE_MIDDLE | RECYCLABLE_LAST)
}

/// Returns the length of the physical record at the start of `bytes`, if its checksum is valid and its type
/// is known or may be ignored.
fn whole(bytes: &[u8]) -> Option<usize> {
    let kind = *bytes.get(6)?;
    let known = (record_type::FULL..=record_type::RECYCLABLE_TIMESTAMP_SIZE).contains(&kind);
    if !known && kind & record_type::SAFE_TO_IGNORE == 0 {
        return None;
    }
    let len = header_len(kind) + usize::from(get_u16(bytes, 4)?);
    let body = bytes.get(6..len)?;
    (crc32c::mask(crc32c::value(body)) == get_u32(bytes, 0)?).then_some(len)
}

/// Returns the repaired record, the number of bytes of `bytes` that it takes, and a description of the fault.
fn mend(bytes: &[u8]) -> Option<(Vec<u8>, usize, String)> {
    let mut mended = bytes.to_vec();
    let what = match diagnose(bytes)? {
        Diagnosis::Bit { byte, bit } => {
            *mended.get_mut(byte)? ^= 1 << bit;
            format!("bit {bit} of the record's byte {byte} was wrong")
        }
        Diagnosis::Length(len) => {
            mended.get_mut(4..6)?.copy_from_slice(&len.to_le_bytes());
            format!("the record's length should be {len}")
        }
    };
    let len = whole(&mended)?;
    mended.truncate(len);
    Some((mended, len, what))
}

/// Returns the start of the next whole record in `bytes`, after the first byte.
fn resume_at(bytes: &[u8]) -> Option<usize> {
    let stated = get_u16(bytes, 4).zip(bytes.get(6)).map(|(len, &kind)| header_len(kind) + usize::from(len));
    if let Some(next) = stated
        && bytes.get(next..).is_some_and(|rest| whole(rest).is_some())
    {
        return Some(next);
    }
    (1..bytes.len().saturating_sub(HEADER_LEN - 1)).find(|&at| {
        // Empty records are not searched, because zeros would look like empty records.
        get_u16(bytes, at + 4).is_some_and(|len| len > 0) && whole(&bytes[at..]).is_some()
    })
}

/// Marks the faults after the last whole record, which ends at `last_end`.
pub fn mark_end(faults: &mut [SalvageFault], last_end: u64) {
    for fault in faults.iter_mut().filter(|f| f.offset >= last_end) {
        fault.at_end = true;
    }
}

#[cfg(test)]
mod tests {
    use base::WalNumber;

    use super::*;
    use crate::wal::{Framing, Writer};

    const RECORDS: usize = 40;

    fn log(framing: Framing) -> (Vec<u8>, Vec<Vec<u8>>) {
        let mut writer = Writer::new(framing);
        let (mut out, mut records) = (Vec::new(), Vec::new());
        for i in 0..RECORDS {
            let len = [1, 90, 700, 5000, 40_000][i % 5] + i;
            let record: Vec<u8> = (0..len).map(|j| (j * 31 + i * 7) as u8 | 1).collect();
            writer.append(&mut out, &record).unwrap();
            records.push(record);
        }
        (out, records)
    }

    fn read(bytes: &[u8]) -> (Vec<Vec<u8>>, Vec<SalvageFault>) {
        let mut found = Vec::new();
        let mut source = bytes;
        let options = ReaderOptions { wal_number: WalNumber::new(9), ..ReaderOptions::default() };
        let faults = salvage(&mut source, &options, &mut |record, _, _| {
            found.push(record.to_vec());
            Ok(())
        })
        .unwrap()
        .faults;
        (found, faults)
    }

    #[test]
    fn a_sound_wal_is_read_to_its_end_without_faults() {
        for framing in [Framing::Classic, Framing::Recyclable { wal_number: WalNumber::new(9) }] {
            let (bytes, records) = log(framing);
            assert_eq!(read(&bytes), (records, vec![]));
        }
    }

    #[test]
    fn one_flipped_bit_loses_nothing_that_has_a_checksum() {
        for framing in [Framing::Classic, Framing::Recyclable { wal_number: WalNumber::new(9) }] {
            let (bytes, records) = log(framing);
            for at in (0..bytes.len()).step_by(9973) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << (at % 8);
                let (found, faults) = read(&damaged);
                let padding = found == records && faults.is_empty();
                assert!(padding || (found == records && faults[0].lost_bytes == 0), "byte {at}: {faults:?}");
            }
        }
    }

    #[test]
    fn a_bad_sector_loses_only_its_own_records() {
        let (bytes, records) = log(Framing::Classic);
        for at in (0..bytes.len() - 512).step_by(20_011) {
            let mut damaged = bytes.clone();
            damaged[at..at + 512].iter_mut().enumerate().for_each(|(i, b)| *b = (i * 37 + 5) as u8);
            let (found, faults) = read(&damaged);
            assert!(!faults.is_empty());
            assert!(found.iter().all(|r| records.contains(r)), "sector at {at} invented a record");
            // At most the records that overlap the sector, and the records of which it holds a fragment, are
            // lost.
            assert!(records.len() - found.len() <= 7, "sector at {at} lost {}", records.len() - found.len());
        }
    }

    #[test]
    fn any_bytes_come_to_an_end() {
        let mut state = 1u64;
        for round in 0..40 {
            let noise: Vec<u8> = (0..3000 * (round % 5))
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 56) as u8 & if round % 2 == 0 { 0xff } else { 3 }
                })
                .collect();
            let (found, _) = read(&noise);
            assert!(found.len() < 2);
        }
    }
}
