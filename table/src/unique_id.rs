//! The identity of a table: its unique ids and the id of its session. A copy of the file keeps them.
//!
//! ```text
//! session  (upper, lower)    20 digits of base 36: 8 for upper and the top two bits of lower, 12 for the rest
//! id[0] = lower of the session      id[1] = high XXH3-128(db id, seed upper) ^ file number      id[2] = low
//! ```
//! The MANIFEST records the internal id. The public id is a scrambled form of it. Facts: RocksDB
//! `table/unique_id.cc`.

#[cfg(test)]
mod tests;

use base::FileNumber;
use kernel::hash::{bijective2x64, hash2x64};

/// The id of one open of a database. Tables of one session have different file numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionId {
    /// The upper 64 bits.
    pub upper: u64,
    /// The lower 64 bits.
    pub lower: u64,
}

const LOW_62: u64 = (1 << 62) - 1;
const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

impl SessionId {
    /// Makes an id from 128 random bits. The lower half is never 0.
    pub fn new(upper: u64, lower: u64) -> Self {
        SessionId { upper, lower: if lower == 0 { 1 } else { lower } }
    }

    /// Decodes 13 to 24 digits. Returns `None` for any other text.
    pub fn parse(text: &str) -> Option<SessionId> {
        let split = text.len().checked_sub(12).filter(|n| (1..=12).contains(n))?;
        let (a, b) = text.as_bytes().split_at(split);
        let (a, b) = (parse_digits(a)?, parse_digits(b)?);
        Some(SessionId { upper: a >> 2, lower: b & LOW_62 | a << 62 })
    }
}

fn parse_digits(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0u64, |number, digit| {
        let digit = (*digit as char).to_digit(36)?;
        Some(number.wrapping_mul(36).wrapping_add(u64::from(digit)))
    })
}

impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = [0; 20];
        let mut put = |digits: std::ops::Range<usize>, mut number: u64| {
            for at in digits.rev() {
                text[at] = DIGITS[(number % 36) as usize];
                number /= 36;
            }
        };
        put(0..8, self.upper << 2 | self.lower >> 62);
        put(8..20, self.lower & LOW_62);
        f.write_str(&String::from_utf8_lossy(&text))
    }
}

/// The internal id of a table. The MANIFEST records its first 128 bits, and cache keys are made from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct UniqueId([u64; 3]);

impl UniqueId {
    /// Makes the id. Returns `None` if the origin of the table is unknown: no database id, no file number, or
    /// a text that is not a session id.
    pub fn new(db_id: &[u8], session: &str, file_number: FileNumber) -> Option<UniqueId> {
        if db_id.is_empty() || file_number == FileNumber::ZERO {
            return None;
        }
        SessionId::parse(session).map(|session| UniqueId::of_session(db_id, session, file_number))
    }

    /// Makes an id even if a part is missing or malformed. Cache keys need such an id.
    pub fn forced(db_id: &[u8], session: &str, file_number: FileNumber) -> UniqueId {
        let session = SessionId::parse(session).unwrap_or_else(|| {
            let (upper, lower) = hash2x64(session.as_bytes(), 0);
            SessionId { upper, lower: if lower == 0 { upper | 1 } else { lower } }
        });
        UniqueId::of_session(db_id, session, file_number)
    }

    /// Returns the 192 bits of the id as three words.
    pub fn words(self) -> [u64; 3] {
        self.0
    }

    /// Returns the first 128 bits, as the MANIFEST records them.
    pub fn short(self) -> [u64; 2] {
        let UniqueId([first, second, _]) = self;
        [first, second]
    }

    fn of_session(db_id: &[u8], session: SessionId, file_number: FileNumber) -> UniqueId {
        let (high, low) = hash2x64(db_id, session.upper);
        UniqueId([session.lower, high ^ file_number.get(), low])
    }

    /// Returns the public id. It is as long as the internal id, and different internal ids have different
    /// public ids.
    pub fn external(&self) -> [u64; 3] {
        let [a, b, c] = self.0;
        let high = b.wrapping_add(17_391_078_804_906_429_400);
        let (high, low) = bijective2x64(high, a.wrapping_add(6_417_269_962_128_484_497));
        [low, high, c.wrapping_add(low).wrapping_add(high)]
    }

    /// Returns the 24 bytes of the public id.
    pub(crate) fn external_bytes(&self) -> [u8; 24] {
        let mut bytes = [0; 24];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(self.external()) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Returns the first 128 bits of the public id as text: two hexadecimal words with a dash.
    pub fn human(&self) -> String {
        let bytes = self.external_bytes();
        let groups = bytes[..16]
            .chunks_exact(8)
            .map(|chunk| chunk.iter().map(|byte| format!("{byte:02X}")).collect::<String>());
        groups.collect::<Vec<_>>().join("-")
    }
}
