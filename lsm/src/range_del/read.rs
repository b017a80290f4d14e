//! Tombstones as readers at one sequence number see them.

/// A stretch of internal keys with one newest tombstone, as a reader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cover<'a> {
    /// Newest tombstone's sequence number over the stretch; 0 where there is none.
    pub seq: u64,
    /// Internal key where the stretch ends (exclusive); `None`: never.
    pub end: Option<&'a [u8]>,
}

/// One source's tombstones: a memtable's, a table's cut to the table's bounds, or a level's.
pub trait Coverage {
    /// What covers the position `internal_key`, and up to where that stays so.
    fn cover(&mut self, internal_key: &[u8]) -> Cover<'_>;
}
