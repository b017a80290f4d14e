//! Looks for the small fault behind a bad record: one flipped bit, or a wrong length.
//!
//! Nothing is repaired here. A record whose checksum fits after one change was once whole, so what looks
//! like a torn tail is damage, unless what a crash leaves where a write did not arrive explains the one bit
//! ([`Diagnosis::could_be_torn`]); the engine and the tools say so. By chance a random record fits after one
//! change in about one of 10,000.
//!
//! A CRC is linear: a flipped bit changes the checksum by an amount that depends only on the distance of
//! the bit from the end. So one walk from the end tries all bits, without computing another checksum.

use base::coding::{get_u16, get_u32};
use kernel::checksum::crc32c;

use super::writer::{header_len, is_written};
use super::{HEADER_LEN, RECYCLABLE_HEADER_LEN};

/// The one change that makes a record whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diagnosis {
    /// Flip bit `bit` (0 lowest) of byte `byte`, counted from the start of the record.
    Bit { byte: usize, bit: u8 },
    /// The payload length should be this.
    Length(u16),
}

impl Diagnosis {
    /// Whether a crash in the middle of an append could have left `bytes`, the record's, which begin at `offset` of the
    /// file, because what is wrong is what was there before: a sector that did not come to the disk, zeros as a rule, of
    /// which one may differ from what was to come in one bit alone; and of a file that is written over, what the older log
    /// had behind the end of what was written, or in a sector of it: a few bytes and any zeros, for the two logs' numbers are
    /// alike and their high bytes zero.
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
        // A record that lies in one sector came whole or not at all.
        part.len() < len && bytes.get(part).is_some_and(|part| part.iter().all(|&b| b == 0))
    }
}

/// Bytes of an older log, zeros not counted, that by chance are what was to be written but for one bit.
const OLD_MAX: usize = 4;

/// What a disk writes whole or not at all.
const SECTOR: usize = 512;

/// Tries the change on `bytes`, which start with the record's header and end with its block or file.
/// `None` if none helps, or the record is whole. Cost: linear in the bytes.
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
        // Behind the type byte: a changed type may change the header's length, and is tried below.
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

/// What the checksum covers: type, log number, payload. Nothing for a type that nobody writes: where a header is what was
/// there before the log, one of the many bits of a long body fits by chance.
fn body(bytes: &[u8], kind: u8, len: usize) -> Option<&[u8]> {
    if is_written(kind) { bytes.get(6..header_len(kind) + len) } else { None }
}

/// The bit whose flipping changes a checksum by `difference`.
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

/// CRC32C's register moved by one byte.
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
