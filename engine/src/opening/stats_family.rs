//! The column family with RocksDB's statistics (`persist_stats_to_disk`). It is opened also if the caller does not
//! name it.
//!
//! Follows RocksDB `VersionEditHandler::OnColumnFamilyAdd` and `OptimizeForPersistentStats`.

use crate::components::FamilyDescriptor;
use crate::manifest::Recovered;
use crate::options::{CompressionType, FamilyOptions};

pub use crate::family::STATS_FAMILY as NAME;

/// Adds the column family of the statistics with its own options, if the database has this family and the
/// caller does not name it.
pub(super) fn add_stats_family(descriptors: &mut Vec<FamilyDescriptor>, recovered: &Recovered) {
    let there = recovered.families.values().any(|f| f.name == NAME);
    if !there || descriptors.iter().any(|d| d.name == NAME) {
        return;
    }
    descriptors.push(descriptor());
}

/// Returns the descriptor of this column family, with options of its own.
pub fn descriptor() -> FamilyDescriptor {
    let options = FamilyOptions {
        write_buffer_size: 2 << 20,
        target_file_size_base: 2 << 20,
        max_bytes_for_level_base: 10 << 20,
        soft_pending_compaction_bytes_limit: 256 << 20,
        hard_pending_compaction_bytes_limit: 1 << 30,
        compression: CompressionType::NONE,
        ..FamilyOptions::default()
    };
    FamilyDescriptor::new(NAME, options)
}
