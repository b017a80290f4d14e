//! What a block is for: how the block is parsed, and how the cache accounts for the block.

use mem::cache::Role;

/// The use of a block. It decides how the block is parsed, and for which role the block cache counts the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Data,
    Index,
    /// The index over filter partitions.
    FilterIndex,
    Filter,
    /// A value between data blocks.
    Blob,
}

impl BlockKind {
    pub(super) fn role(self) -> Role {
        match self {
            BlockKind::Data => Role::DataBlock,
            BlockKind::Index => Role::IndexBlock,
            BlockKind::FilterIndex => Role::FilterMetaBlock,
            BlockKind::Filter => Role::FilterBlock,
            BlockKind::Blob => Role::BlobValue,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            BlockKind::Data => "data",
            BlockKind::Index => "index",
            BlockKind::FilterIndex => "filter index",
            BlockKind::Filter => "filter",
            BlockKind::Blob => "blob",
        }
    }
}
