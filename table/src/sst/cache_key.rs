//! The cache keys of a file's blocks.
//!
//! They are made from the first two words of the file's unique id, so that a block has the same key for every
//! reader of the file. The words are combined so that the offset of a block can be mixed in. Facts: RocksDB
//! `cache/cache_key.cc`.

use base::{Error, FileNumber, Result};
use format::properties::Properties;
use mem::cache::CacheKey;

use crate::unique_id::UniqueId;

/// The common part of the cache keys of one file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheKeyBase {
    high: u64,
    low: u64,
}

impl CacheKeyBase {
    /// Makes the base for the SST file with this unique id.
    pub fn new(id: &UniqueId) -> CacheKeyBase {
        let [session, file, _] = id.words();
        let session = if session == 0 { file } else { session };
        let high = downward_involution(session) ^ file.reverse_bits();
        let low = session.reverse_bits();
        if high == 0 { CacheKeyBase { high: low, low: high } } else { CacheKeyBase { high, low } }
    }

    /// Returns the key of the block at `offset`.
    #[inline]
    pub fn at(self, offset: u64) -> CacheKey {
        CacheKey::new(self.high, self.low ^ (offset >> 2))
    }
}

/// Mixes high bits into low bits. The function is its own inverse.
fn downward_involution(mut bits: u64) -> u64 {
    bits ^= bits >> 32;
    bits ^= (bits & 0xffff_0000_ffff_0000) >> 16;
    bits ^= (bits & 0xff00_ff00_ff00_ff00) >> 8;
    bits ^= (bits & 0xf0f0_f0f0_f0f0_f0f0) >> 4;
    bits ^= (bits & 0xcccc_cccc_cccc_cccc) >> 2;
    bits ^ (bits & 0xaaaa_aaaa_aaaa_aaaa) >> 1
}

/// Returns the internal unique id from the properties of a table.
pub(crate) fn own_id(properties: &Properties) -> Option<UniqueId> {
    let session = std::str::from_utf8(&properties.db_session_id).ok()?;
    UniqueId::new(&properties.db_id, session, FileNumber::new(properties.original_file_number))
}

/// Checks that the properties have the id whose first two words are in the MANIFEST. (0, 0) means that the
/// MANIFEST has no id.
pub(crate) fn check_id(properties: &Properties, expected: [u64; 2]) -> Result<()> {
    let found = own_id(properties).map_or([0; 2], UniqueId::short);
    if expected == [0; 2] || found == expected {
        return Ok(());
    }
    Err(Error::corruption(format!(
        "mismatched unique id: the MANIFEST says {:016X}-{:016X}, the table {:016X}-{:016X}",
        expected[0], expected[1], found[0], found[1]
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected keys are RocksDB's, at offsets 0 and 4096 of file 42 of a session.
    #[test]
    fn keys_are_rocksdbs() {
        let id = UniqueId::forced(
            b"e2a3b4c5-1111-4222-8333-444455556666",
            "0123456789ABCDEFGHIJ",
            FileNumber::new(42),
        );
        let base = CacheKeyBase::new(&id);
        assert_eq!(base.at(0), CacheKey::new(0x010d_e0d8_fff2_08df, 0xd5cf_47c6_9051_a8f3));
        assert_eq!(base.at(4096), CacheKey::new(0x010d_e0d8_fff2_08df, 0xd5cf_47c6_9051_acf3));
    }
}
