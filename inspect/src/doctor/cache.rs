//! Rules about the block cache and about the index and filter blocks that live in it.

use super::finding::{Finding, Severity};
use super::{Facts, SMALL_BYTES, flag};
use crate::model::Database;
use crate::words;

/// A block cache of at most this size is small for a database that is four times as large.
const SMALL_CACHE: u64 = 4 << 20;

/// A shard of the block cache should hold at least this many bytes.
const SHARD_MIN: u64 = 512 << 10;

/// Index and filter blocks outside of the block cache are reported above this size.
const OUTSIDE_MAX: u64 = 1 << 30;

pub(super) fn database(db: &Database) -> Vec<Finding> {
    let rules: [fn(&Database) -> Option<Finding>; 5] =
        [block_cache, direct_reads, small_shards, strict_limit, outside_of_the_cache];
    rules.iter().filter_map(|rule| rule(db)).collect()
}

/// Returns the bytes of the index and filter blocks of the column families that keep these blocks in the block cache, or outside
/// of the block cache.
fn index_bytes(db: &Database, is_inside: bool) -> u64 {
    let families = db.families.iter().filter(|family| {
        let text = db.family_option(&family.name, "cache_index_and_filter_blocks");
        (text.as_deref() == Some("true")) == is_inside
    });
    let stats = families.flat_map(|family| family.files.iter().filter_map(|file| file.stats.as_ref()));
    stats.map(|stats| stats.index_bytes + stats.filter_bytes).sum()
}

fn block_cache(db: &Database) -> Option<Finding> {
    let capacity = db.log.stats.block_cache_bytes?;
    let held = index_bytes(db, true);
    let hits = db.log.stats.block_cache_hit_percent;
    let is_full = held > 0 && held * 2 > capacity;
    let misses = hits.is_some_and(|percent| percent < 50.0) && capacity * 4 < db.sst_bytes();
    let is_tiny = capacity <= SMALL_CACHE && capacity * 4 < db.sst_bytes();
    if !is_full && !misses && !is_tiny {
        return None;
    }
    let wish = (held * 4).max(db.sst_bytes() / 4).max(capacity * 4).max(32 << 20);
    let mut finding =
        Finding::new("small-block-cache", Severity::Warning, "The block cache is small".to_string())
            .evidence(format!("the block cache has {}", words::bytes(capacity)))
            .evidence(format!("index and filter blocks in the cache have {}", words::bytes(held)))
            .evidence(format!("the SST files have {}", words::bytes(db.sst_bytes())));
    if let Some(percent) = hits {
        finding = finding.evidence(format!("the cache answered {percent:.0} % of the lookups"));
    }
    Some(
        finding
            .cost("Blocks leave the cache before their next use, so most reads go to the disk.")
            .action(format!("Open the database with a block cache of about {}.", words::bytes(wish))),
    )
}

/// Reports direct reads with a small block cache: no other cache holds the blocks.
fn direct_reads(db: &Database) -> Option<Finding> {
    let capacity = db.log.stats.block_cache_bytes?;
    if flag(db, "use_direct_reads") != Some(true) || capacity > 64 << 20 || capacity * 4 >= db.sst_bytes() {
        return None;
    }
    let title = "Reads bypass the page cache, and the block cache is small".to_string();
    Some(
        Finding::new("direct-reads", Severity::Warning, title)
            .evidence("use_direct_reads=true")
            .evidence(format!("the block cache has {}", words::bytes(capacity)))
            .evidence(format!("the SST files have {}", words::bytes(db.sst_bytes())))
            .cost("Only the block cache keeps blocks in memory, so almost every read goes to the disk.")
            .reopen("use_direct_reads=false"),
    )
}

fn small_shards(db: &Database) -> Option<Finding> {
    let (capacity, bits) = (db.log.stats.block_cache_bytes?, db.log.stats.cache_shard_bits?);
    let shard = capacity >> bits.min(63);
    if bits < 5 || shard >= SHARD_MIN || capacity * 4 < db.sst_bytes() && capacity <= SMALL_CACHE {
        return None;
    }
    Some(
        Finding::new("cache-shards", Severity::Warning, "The block cache has too many shards".to_string())
            .evidence(format!("num_shard_bits : {bits}, so {} shards", 1_u64 << bits.min(63)))
            .evidence(format!(
                "the block cache has {}, a shard has {}",
                words::bytes(capacity),
                words::bytes(shard)
            ))
            .cost("A few blocks fill a shard, so used blocks leave the cache while other shards are empty.")
            .action(
                "Create the block cache with num_shard_bits=-1, so that each shard has at least 512 KiB.",
            ),
    )
}

fn strict_limit(db: &Database) -> Option<Finding> {
    let capacity = db.log.stats.block_cache_bytes?;
    if db.log.stats.cache_is_strict != Some(true) || capacity > 256 << 20 && capacity * 16 > db.sst_bytes() {
        return None;
    }
    let title = "Reads fail if the block cache is full".to_string();
    Some(
        Finding::new("strict-cache-limit", Severity::Warning, title)
            .evidence("strict_capacity_limit : 1")
            .evidence(format!("the block cache has {}", words::bytes(capacity)))
            .evidence(format!("index and filter blocks in the cache have {}", words::bytes(index_bytes(db, true))))
            .cost("Iterators pin blocks. If pinned blocks fill the cache, a read returns the error Incomplete or MemoryLimit.")
            .action("Create the block cache without strict_capacity_limit, or make the cache much larger."),
    )
}

fn outside_of_the_cache(db: &Database) -> Option<Finding> {
    let (held, capacity) = (index_bytes(db, false), db.log.stats.block_cache_bytes.unwrap_or(0));
    if held < OUTSIDE_MAX || held < capacity {
        return None;
    }
    let title = format!("{} of index and filter blocks are outside of the block cache", words::bytes(held));
    Some(
        Finding::new("index-memory", Severity::Advice, title)
            .evidence("cache_index_and_filter_blocks=false")
            .evidence(format!("the block cache has {}", words::bytes(capacity)))
            .cost("This memory grows with the data and has no limit: max_open_files=-1 keeps all files open.")
            .action("Set cache_index_and_filter_blocks=true with partitioned indexes and filters, or limit max_open_files."),
    )
}

pub(super) fn family(facts: &Facts<'_>) -> Vec<Finding> {
    let is_block_based = facts.text("table_factory").is_none_or(|name| name.contains("BlockBased"));
    if !facts.db.knows_options() || !is_block_based {
        return Vec::new();
    }
    let rules: [fn(&Facts<'_>) -> Option<Finding>; 3] = [cache_off, unpinned, large_index];
    rules.iter().filter_map(|rule| rule(facts)).collect()
}

fn cache_off(facts: &Facts<'_>) -> Option<Finding> {
    if facts.text("no_block_cache").as_deref() != Some("true") {
        return None;
    }
    Some(
        facts
            .finding("no-block-cache", Severity::Warning, "There is no block cache".to_string())
            .evidence("no_block_cache=true")
            .cost("Each read verifies and decompresses its block again.")
            .reopen("block_based_table_factory={no_block_cache=false;}"),
    )
}

/// Reports index and filter blocks that data blocks can push out of the block cache.
fn unpinned(facts: &Facts<'_>) -> Option<Finding> {
    let is_pinned = facts.is_on("cache_index_and_filter_blocks_with_high_priority")
        || facts.is_on("pin_l0_filter_and_index_blocks_in_cache")
            && facts.is_on("pin_top_level_index_and_filter");
    if !facts.is_on("cache_index_and_filter_blocks") || is_pinned {
        return None;
    }
    let title = "Data blocks push index and filter blocks out of the block cache".to_string();
    Some(
        facts
            .finding("unprotected-index", Severity::Advice, title)
            .evidence("cache_index_and_filter_blocks=true")
            .evidence("cache_index_and_filter_blocks_with_high_priority=false")
            .cost("A scan replaces the index and the filter of a file. The next lookup reads and verifies large blocks again.")
            .live("block_based_table_factory={cache_index_and_filter_blocks_with_high_priority=true;}"),
    )
}

/// Reports an index that is large compared with its data.
fn large_index(facts: &Facts<'_>) -> Option<Finding> {
    let files = || facts.family.files.iter().filter_map(|file| file.stats.as_ref());
    let index: u64 = files().map(|stats| stats.index_bytes).sum();
    let data: u64 = files().map(|stats| stats.data_bytes).sum();
    let size = facts.number("block_size")?;
    // The rule about the size of blocks reports blocks below 1 KiB.
    if index < SMALL_BYTES
        || index * 10 < data
        || size < 1024.0
        || facts.text("index_type")? == "kTwoLevelIndexSearch"
    {
        return None;
    }
    Some(
        facts
            .finding("large-index", Severity::Advice, "The index is large compared with the data".to_string())
            .evidence(format!(
                "indexes have {}, data blocks have {}",
                words::bytes(index),
                words::bytes(data)
            ))
            .evidence(format!("block_size={size}"))
            .cost("The index uses memory that data blocks could use, and an open file reads its whole index.")
            .live("block_based_table_factory={block_size=16384;}"),
    )
}
