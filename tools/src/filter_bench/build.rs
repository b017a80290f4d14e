//! Builds the filters, and measures the time.

use std::time::Instant;

use kernel::filter::{BitsPerKey, Filter, KeyHashes, bloom_legacy, bloom_local, bloom_plain, ribbon};
use kernel::hash;
use mem::shelf::{Piece, Shelf};

use super::flags::{Flags, Impl};
use super::general::general;
use super::keys::KeyMaker;
use super::twister::{Twister, fast_range};

/// A filter and the results of its queries.
pub struct Built {
    pub filter_id: u32,
    pub keys_added: u32,
    pub kind: Kind,
    pub bits: Piece,
    pub outside_queries: u64,
    pub false_positives: u64,
}

/// The format of the filter.
#[derive(Clone, Copy)]
pub enum Kind {
    Table(Filter),
    Plain(bloom_plain::Layout),
}

/// The number of probes of a plain table's filter.
const PLAIN_PROBES: u8 = 6;

struct Builder {
    hashes: KeyHashes,
    ribbon: ribbon::Builder,
    payload: Vec<u8>,
}

impl Builder {
    fn new() -> Builder {
        Builder { hashes: KeyHashes::new(), ribbon: ribbon::Builder::new(), payload: Vec::new() }
    }
}

/// Builds all filters. Returns the filters, and the stored bits for each key.
pub fn build(flags: &Flags, dice: &mut Twister) -> Result<(Vec<Built>, f64), String> {
    let most_keys = match flags.m_keys_total_max > 0.0 {
        true => (1e6 * flags.m_keys_total_max) as usize,
        false => usize::MAX,
    };
    let memory_mb = flags.working_mem_size_mb / if flags.best_case && !flags.quick { 10.0 } else { 1.0 };
    let most_bytes = match flags.m_keys_total_max > 0.0 {
        true => usize::MAX,
        false => (1_048_576.0 * memory_mb) as usize,
    };
    let variance = 1 + 2 * (flags.vary_key_count_ratio * f64::from(flags.average_keys_per_filter)) as u32;
    println!("Building...");
    let shelf = Shelf::new();
    let mut key_maker = KeyMaker::new(flags, 1);
    let mut builder = Builder::new();
    let mut built = Vec::new();
    let (mut bytes, mut keys, mut memory) = (0, 0usize, 0);
    let start = Instant::now();
    while (memory_mb == 0.0 || bytes < most_bytes) && keys < most_keys {
        let filter_id = dice.next();
        let wanted = (flags.average_keys_per_filter + fast_range(dice.next(), variance)) - variance / 2;
        let keys_added = (wanted as usize).min(most_keys - keys) as u32;
        if flags.new_builder {
            builder = Builder::new();
        }
        let kind = one(flags, &mut builder, &mut key_maker, filter_id, keys_added)?;
        let bits = shelf.keep(&builder.payload);
        bytes += bits.len();
        memory += bits.memory_usage_bytes();
        keys += keys_added as usize;
        built.push(Built { filter_id, keys_added, kind, bits, outside_queries: 0, false_positives: 0 });
    }
    let nanos = start.elapsed().as_nanos() as f64 / keys as f64;
    println!("Build avg ns/key: {}", general(nanos));
    println!("Number of filters: {}", built.len());
    println!("Total size (MB): {}", general(bytes as f64 / 1_048_576.0));
    println!("Reported total allocated memory (MB): {}", general(memory as f64 / 1_048_576.0));
    println!("Reported internal fragmentation: {}%", general((memory - bytes) as f64 * 100.0 / bytes as f64));
    let bits_per_key = bytes as f64 * 8.0 / keys as f64;
    println!("Bits/key stored: {}", general(bits_per_key));
    Ok((built, bits_per_key))
}

fn one(
    flags: &Flags,
    builder: &mut Builder,
    keys: &mut KeyMaker,
    filter: u32,
    count: u32,
) -> Result<Kind, String> {
    let Builder { hashes, ribbon, payload } = builder;
    if flags.use_plain_table_bloom {
        let bits = (f64::from(count) * flags.bits_per_key) as u32;
        let layout = bloom_plain::Layout::new(bits, PLAIN_PROBES, flags.locality()?);
        payload.clear();
        payload.resize(layout.len_bytes(), 0);
        (0..count).for_each(|i| layout.add(payload, hash::slice_hash(keys.get(filter, i))));
        return Ok(Kind::Plain(layout));
    }
    let bits = BitsPerKey::new(flags.bits_per_key).ok_or("-bits_per_key below 0.5 makes no filter")?;
    let kind = flags.filter()?;
    hashes.clear();
    match kind {
        Impl::Legacy => (0..count).for_each(|i| hashes.add(u64::from(hash::bloom_hash(keys.get(filter, i))))),
        _ => (0..count).for_each(|i| hashes.add(hash::hash64(keys.get(filter, i)))),
    }
    let mut hashes = hashes.as_slice();
    // A Ribbon filter always fits its columns to its memory. The flag fits a Bloom filter to its memory: the filter
    // gets the number of probes that suits its rounded length.
    let fitted =
        if flags.optimize_filters_for_memory { bloom_local::fitted(hashes.len(), bits) } else { bits };
    match kind {
        Impl::Legacy => *payload = bloom_legacy::build(hashes, bits),
        Impl::Bloom => bloom_local::build_into(hashes, fitted, payload),
        Impl::Ribbon if refused(flags, hashes.len()) => bloom_local::build_into(hashes, fitted, payload),
        Impl::Ribbon => ribbon.build_into(hashes, bits, payload),
    }
    let parsed = Filter::parse(payload);
    if !flags.detect_filter_construct_corruption {
        hashes = &[];
    }
    if hashes.iter().any(|&hash| !parsed.may_match(payload, hash)) {
        eprintln!("ERROR: Corruption: Corrupted filter content");
    }
    Ok(Kind::Table(parsed))
}

/// Returns true if a cache with `-block_cache_capacity_MB` rejects the memory that a Ribbon filter needs for its
/// construction. As in RocksDB, the filter is then a Bloom filter. The cache is charged in steps of 256 KiB. A cache
/// without a strict limit never rejects a charge.
fn refused(flags: &Flags, entries: usize) -> bool {
    const STEP: usize = 256 << 10;
    let charge = |bytes: usize| bytes.next_multiple_of(STEP);
    let capacity = flags.block_cache_capacity_MB as usize * 1_048_576;
    flags.charge_filter_construction
        && flags.strict_capacity_limit
        && charge(entries * 8) + charge(entries * 21) > capacity
}
