//! The content of the block cache, by role.

use std::collections::BTreeMap;

use mem::cache::Role;

use super::human::bytes;
use crate::family::Family;
use crate::sync::Arc;

pub(super) fn text(family: &Family) -> Option<String> {
    let cache = family.parts().caches.blocks.clone()?;
    let mut out = format!(
        "Block cache {} capacity: {} seed: 0 usage: {} table_size: {} occupancy: {} collections: 1 last_copies: 0 last_secs: 0 secs_since: 0\n\
         Block cache entry stats(count,size,portion):",
        id(&cache),
        bytes(cache.capacity() as u64),
        bytes(cache.usage() as u64),
        cache.table_bytes() / 64,
        cache.occupancy()
    );
    let usage = cache.role_usage();
    for role in Role::ALL {
        let of_role = usage[role as usize];
        if of_role.count > 0 {
            let size = bytes(of_role.bytes as u64);
            let percent = percent(of_role.bytes, cache.capacity());
            out += &format!(" {}({},{size},{percent:.6}%)", role.camel_name(), of_role.count);
        }
    }
    out.push('\n');
    Some(out)
}

pub(super) fn map(family: &Family) -> Option<BTreeMap<String, String>> {
    let cache = family.parts().caches.blocks.clone()?;
    let mut map = BTreeMap::from([
        ("id".to_string(), id(&cache)),
        ("capacity".to_string(), cache.capacity().to_string()),
        ("secs_for_last_collection".to_string(), "0.000000".to_string()),
        ("secs_since_last_collection".to_string(), "0".to_string()),
    ]);
    let usage = cache.role_usage();
    for role in Role::ALL {
        let of_role = usage[role as usize];
        map.insert(format!("count.{}", role.name()), of_role.count.to_string());
        map.insert(format!("bytes.{}", role.name()), of_role.bytes.to_string());
        map.insert(
            format!("percent.{}", role.name()),
            format!("{:.6}", percent(of_role.bytes, cache.capacity())),
        );
    }
    Some(map)
}

/// Returns the id of a block cache: kind, address and process, as in RocksDB.
fn id(cache: &Arc<table::sst::BlockCache>) -> String {
    let name = cache.options().name();
    format!("{name}@{:p}#{}", Arc::as_ptr(cache), env::posix::process_id())
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}
