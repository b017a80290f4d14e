//! Searches for the small fault of a corrupt record: one flipped bit, or a wrong length.
//!
//! This module repairs nothing. If the checksum of a record is valid after one change, the record was once
//! complete. So the record is corrupt and not torn, even if it is the last record. There is one exception: a
//! crash that leaves old bytes can look like one wrong bit ([`Diagnosis::could_be_torn`]). The engine and the
//! tools report the fault. About one in 10,000 random records is valid after one change by chance.
//!
//! A CRC is linear. A flipped bit changes the checksum by an amount that depends only on the distance of the
//! bit from the end. So one pass from the end tries all bits without computing another checksum.

use base::coding::{get_u16, get_u32};
use kernel::checksum::crc32c;

use super::writer::{header_len, is_written};
use super::{HEADER_LEN, RECYCLABLE_HEADER_LEN};

/// The one change that makes a record valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diagnosis {
    /// Bit `bit` (0 is the lowest) of byte `byte` is wrong. `byte` counts from the start of the record.
    Bit { byte: usize, bit: u8 },
    /// The payload length must be this number.
    Length(u16),
}

impl Diagnosis {
    /// Returns true if a crash during an append could have left `bytes`, the bytes of the record at `offset`
    /// of the file. After such a crash, some bytes of the record are old bytes that were on the disk before.
    /// The old bytes can differ from the record in only one bit in two cases:
    /// - The record crosses a sector boundary, and the sector with the wrong bit did not reach the disk and
    ///   is all zeros.
    /// - The file is a recycled WAL, and the rest of the record, or its part in that sector, has bytes of the
    ///   older WAL. Both WAL numbers are similar and their high bytes are zero, so a few bytes and any zeros
    ///   may agree: at most `OLD_MAX` bytes of the record there are not zero.
    pub fn could_be_torn(self, bytes: &[u8], offset: u64) -> bool {
        let Diagnosis::Bit { byte, bit } = self else { return false };
        let mended = |at: usize| bytes.get(at).map_or(0, |b| b ^ if at == byte { 1 << bit } else { 0 });
        let len = header_len(mended(6)) + usize::from(u16::from_le_bytes([mended(4), mended(5)]));
        let from = (offset % SECTOR as u64) as usize;
        let sector = (from + byte) / SECTOR;
        let part = (sector * SECTOR).saturating_sub(from)..((sector + 1) * SECTOR - from).min(len);
        let few = |places: std::ops::Range<usize>| places.filter(|&at| mended(at) != 0).count() <= OLD_MAX;
        if header_len(mended(6)) == RECYCLABLE_HEADER_LEN && (few(byte..len) || few(part.clone())) {
            return true;
        }
        // A record within one sector reaches the disk completely or not at all.
        part.len() < len && bytes.get(part).is_some_and(|part| part.iter().all(|&b| b == 0))
    }
}

/// Maximum number of bytes, other than zeros, of an older WAL that can agree with the record by chance,
/// except one bit.
const OLD_MAX: usize = 4;

/// The number of bytes that a disk writes completely or not at all.
const SECTOR: usize = 512;

/// Searches for a change of one bit or of the length that makes the record valid. `bytes` start with the
/// header of the record and end with its block or file. Returns `None` if no change helps, or if the record
/// is valid. Cost: linear in the number of bytes.
pub fn diagnose(bytes: &[u8]) -> Option<Diagnosis> {
    let stored = get_u32(bytes, 0)?;
    let len = usize::from(get_u16(bytes, 4)?);
    let kind = *bytes.get(6)?;
    if let Some(body) = body(bytes, kind, len) {
        let crc = crc32c::value(body);
        let difference = crc32c::mask(crc) ^ stored;
        if difference == 0 {
            return None;
        }
        if difference.is_power_of_two() {
            let at = difference.trailing_zeros();
            return Some(Diagnosis::Bit { byte: (at / 8) as usize, bit: (at % 8) as u8 });
        }
        // Search the bytes after the type byte. A changed type may change the length of the header, and is
        // tried below.
        if let Some((byte, bit)) = flipped_bit(&body[1..], crc ^ crc32c::unmask(stored)) {
            return Some(Diagnosis::Bit { byte: byte + HEADER_LEN, bit });
        }
    }
    let fits = |kind: u8, len: usize| {
        let Some(body) = body(bytes, kind, len) else { return false };
        crc32c::mask(crc32c::extend(crc32c::value(&[kind]), &body[1..])) == stored
    };
    for bit in 0..8u8 {
        if fits(kind ^ (1 << bit), len) {
            return Some(Diagnosis::Bit { byte: 6, bit });
        }
    }
    for at in 0..16u8 {
        if fits(kind, len ^ (1 << at)) {
            return Some(Diagnosis::Bit { byte: 4 + usize::from(at / 8), bit: at % 8 });
        }
    }
    other_length(bytes, kind, stored).map(Diagnosis::Length)
}

/// Returns the bytes that the checksum covers: type, WAL number and payload. Returns `None` for a type that
/// no writer uses: if the header is old content from before this WAL, one of the many bits of a long body
/// would match by chance.
fn body(bytes: &[u8], kind: u8, len: usize) -> Option<&[u8]> {
    if is_written(kind) { bytes.get(6..header_len(kind) + len) } else { None }
}

/// Returns the bit whose flip changes a checksum by `difference`.
fn flipped_bit(bytes: &[u8], difference: u32) -> Option<(usize, u8)> {
    let mut effects: [u32; 8] = std::array::from_fn(|bit| step(1 << bit));
    for byte in (0..bytes.len()).rev() {
        if let Some(bit) = effects.iter().position(|&e| e == difference) {
            return Some((byte, bit as u8));
        }
        effects = effects.map(step);
    }
    None
}

/// Advances the register of CRC32C by one byte.
fn step(register: u32) -> u32 {
    const POLYNOMIAL: u32 = 0x82F6_3B78;
    (0..8).fold(register, |r, _| if r & 1 == 1 { (r >> 1) ^ POLYNOMIAL } else { r >> 1 })
}

fn other_length(bytes: &[u8], kind: u8, stored: u32) -> Option<u16> {
    if !is_written(kind) {
        return None;
    }
    let header_len = header_len(kind);
    let expected = crc32c::unmask(stored);
    let mut crc = crc32c::value(bytes.get(6..header_len)?);
    for (n, byte) in bytes[header_len..].iter().take(usize::from(u16::MAX)).enumerate() {
        if crc == expected {
            return Some(n as u16);
        }
        crc = crc32c::extend(crc, std::slice::from_ref(byte));
    }
    (crc == expected).then_some((bytes.len() - header_len).min(usize::from(u16::MAX)) as u16)
}
