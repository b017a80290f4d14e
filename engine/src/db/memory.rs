//! The memory of a database, as a tree by holder.

use std::fmt;

use mem::budget::Holder;
use mem::cache::Role;
use table::sst::BlockCache;

use super::Db;
use crate::family::Family;
use crate::sync::Arc;

/// The property that has the tree as text. Does not exist in RocksDB.
pub(super) const PROPERTY: &str = "ironstone.memory";

const MIB: u64 = 1 << 20;

/// One holder of memory. The bytes of a holder with parts are the sum of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryHolder {
    /// The name of the holder.
    pub name: String,
    /// The bytes of the holder, its parts included.
    pub bytes: u64,
    /// The parts of the holder. Empty for a holder without parts.
    pub parts: Vec<MemoryHolder>,
}

impl MemoryHolder {
    fn leaf(name: impl Into<String>, bytes: u64) -> MemoryHolder {
        MemoryHolder { name: name.into(), bytes, parts: Vec::new() }
    }

    fn of(name: impl Into<String>, parts: Vec<MemoryHolder>) -> MemoryHolder {
        MemoryHolder { name: name.into(), bytes: parts.iter().map(|part| part.bytes).sum(), parts }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        writeln!(f, "{:>14} {:indent$}{}", self.bytes, "", self.name, indent = depth * 2)?;
        self.parts.iter().try_for_each(|part| part.write(f, depth + 1))
    }
}

impl fmt::Display for MemoryHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

/// Returns the memory of a database as a tree by holder, in bytes. A block cache of several column families, or of several databases,
/// counts once. Memory that is charged to a block cache but held elsewhere counts where it is held.
///
/// Cost: one walk over the block caches.
pub fn memory(db: &Db) -> MemoryHolder {
    let families = db.families();
    let options = db.inner.tools.options.load_full();
    let mut caches: Vec<Arc<BlockCache>> = options.row_cache.iter().cloned().collect();
    for family in &families {
        let parts = family.pin_owned().parts.clone();
        for cache in [parts.caches.blocks.clone(), parts.caches.blobs.clone().map(|blobs| blobs.cache)]
            .into_iter()
            .flatten()
        {
            if !caches.iter().any(|known| Arc::ptr_eq(known, &cache)) {
                caches.push(cache);
            }
        }
    }
    let memtables =
        families.iter().map(|family| memtables_of(family, &|name| db.properties().number(family, name)));
    let memtables = MemoryHolder::of("memtables", memtables.collect());
    let caches = caches.iter().enumerate().map(|(at, cache)| cache_of(at, cache)).collect();
    let default = families.iter().find(|family| family.name() == "default");
    let readers =
        default.and_then(|family| db.properties().number(family, "rocksdb.estimate-table-readers-mem"));
    let budget = options.memory_budget.as_ref();
    let held = |holder| budget.map_or(0, |budget| budget.held(holder) as u64);
    let parts = vec![
        memtables,
        MemoryHolder::leaf("iterators, by the memory budget", held(Holder::Iterators)),
        MemoryHolder::leaf(
            "buffers of flushes and compactions, by the memory budget",
            held(Holder::JobBuffers),
        ),
        MemoryHolder::leaf("buffer of the WAL", crate::wal::buffer_bytes(&db.inner.wals) as u64),
        MemoryHolder::of("caches", caches),
        MemoryHolder::leaf("open SST files outside of the block caches", readers.unwrap_or(0)),
        MemoryHolder::leaf(
            "memory that is kept for the next blocks, in the whole process",
            mem::bytes::kept_bytes() as u64,
        ),
    ];
    MemoryHolder::of("database", parts)
}

fn memtables_of(family: &Family, property: &dyn Fn(&str) -> Option<u64>) -> MemoryHolder {
    let pinned = family.pin_owned();
    let used = |mem: &mem::memtable::MemTable| mem.memory_used() as u64;
    let all = property("rocksdb.size-all-mem-tables").unwrap_or(0);
    let unflushed = property("rocksdb.cur-size-all-mem-tables").unwrap_or(0);
    let mut parts = vec![MemoryHolder::leaf("active memtable", used(&pinned.mem))];
    let waiting =
        pinned.imm.iter().map(|mem| MemoryHolder::leaf("immutable memtable, waits for a flush", used(mem)));
    parts.extend(waiting);
    // Writes between the two reads of properties can make the second sum the larger one.
    let kept = all.saturating_sub(unflushed);
    if kept > 0 {
        let holder =
            "flushed memtables, kept by an iterator, a pinned value, or the history for transactions";
        parts.push(MemoryHolder::leaf(holder, kept));
    }
    MemoryHolder::of(format!("column family {}", family.name()), parts)
}

fn cache_of(at: usize, cache: &Arc<BlockCache>) -> MemoryHolder {
    let held = cache.entry_bytes();
    let roles = Role::ALL.iter().map(|role| MemoryHolder::leaf(role.name(), held[*role as usize] as u64));
    let mut parts: Vec<MemoryHolder> = roles.filter(|part| part.bytes > 0).collect();
    parts.push(MemoryHolder::leaf("hash table", cache.table_bytes() as u64));
    let capacity = match cache.capacity() as u64 {
        bytes if bytes >= MIB && bytes.is_multiple_of(MIB) => format!("{} MiB", bytes / MIB),
        bytes => format!("{bytes} bytes"),
    };
    MemoryHolder::of(format!("cache {} with a capacity of {capacity}", at + 1), parts)
}
