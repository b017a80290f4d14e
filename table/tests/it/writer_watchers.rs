//! The observers of a table writer: collectors, the cache warmer, the ledger.

use std::sync::{Arc, Mutex};

use base::key::append_internal;
use base::{Error, Result, SequenceNumber, ValueType};
use compress::{Compression, CompressionOptions};
use ironstone_table::options::{BlockBasedTableOptions, Charged, FilterPolicy};
use ironstone_table::sst::writer::{
    BlockCompression, BlockKind, Collecting, CollectorContext, CollectorFactory, Resources,
    TablePropertiesCollector, WarmCache, WriterOptions,
};
use mem::cache::{Ledger, Role};

use crate::support::write;

fn key(i: u64) -> Vec<u8> {
    let mut key = Vec::new();
    append_internal(&mut key, format!("key{i:06}").as_bytes(), SequenceNumber::new(i), ValueType::Value);
    key
}

/// Counts entries and blocks. Fails at the entry with the number `fails_at`.
struct Counter {
    fails_at: Option<u64>,
}

impl CollectorFactory for Counter {
    fn name(&self) -> &str {
        "Counter"
    }

    fn create(&self, _: CollectorContext) -> Option<Box<dyn TablePropertiesCollector>> {
        Some(Box::new(Counting { fails_at: self.fails_at, entries: 0, blocks: 0 }))
    }
}

struct Counting {
    fails_at: Option<u64>,
    entries: u64,
    blocks: u64,
}

impl TablePropertiesCollector for Counting {
    fn name(&self) -> &str {
        "Counter"
    }

    fn add(&mut self, _: &[u8], _: &[u8], _: u64) -> Result<()> {
        self.entries += 1;
        if self.fails_at == Some(self.entries) { Err(Error::aborted("no more")) } else { Ok(()) }
    }

    fn block_added(&mut self, _: u64, _: u64, _: u64) {
        self.blocks += 1;
    }

    fn finish(&mut self) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let text = format!("{} in {}", self.entries, self.blocks);
        Ok(vec![(format!("test.count.{:?}", self.fails_at).into_bytes(), text.into_bytes())])
    }

    fn need_compact(&self) -> bool {
        true
    }
}

#[test]
fn collectors_see_all_and_a_failing_one_is_dropped() {
    let options = WriterOptions {
        collecting: Collecting {
            factories: vec![Arc::new(Counter { fails_at: None }), Arc::new(Counter { fails_at: Some(7) })],
            old_before: None,
        },
        ..WriterOptions::default()
    };
    let (_, table) =
        write(options, |writer| (0..1000).for_each(|i| writer.add(&key(i), &[b'v'; 50]).unwrap()));
    let blocks = table.properties.num_data_blocks;
    assert!(blocks > 5);
    let expected = format!("1000 in {blocks}");
    assert_eq!(table.properties.user("test.count.None"), Some(expected.as_bytes()));
    assert_eq!(table.properties.user("test.count.Some(7)"), None);
    assert_eq!(table.properties.property_collectors_names, b"[Counter,Counter]");
    assert!(table.needs_compaction);
}

#[derive(Default)]
struct Seen(Mutex<Vec<(BlockKind, u64, usize)>>);

impl WarmCache for Seen {
    fn block_written(&self, kind: BlockKind, offset: u64, payload: &[u8]) {
        self.0.lock().unwrap().push((kind, offset, payload.len()));
    }
}

#[test]
fn the_cache_warmer_sees_blocks_as_readers_will() {
    let seen = Arc::new(Seen::default());
    let options = WriterOptions {
        resources: Resources { warm: Some(seen.clone()), ..Resources::default() },
        block_compression: BlockCompression { kind: Compression::Snappy, ..BlockCompression::default() },
        ..WriterOptions::default()
    };
    let (bytes, table) =
        write(options, |writer| (0..500).for_each(|i| writer.add(&key(i), &[b'v'; 90]).unwrap()));
    let seen = seen.0.lock().unwrap();
    let data: Vec<_> = seen.iter().filter(|(kind, ..)| *kind == BlockKind::Data).collect();
    assert_eq!(data.len() as u64, table.properties.num_data_blocks);
    // The bytes are more than in the file, because the blocks are passed uncompressed.
    assert!(data.iter().map(|(.., len)| len).sum::<usize>() > bytes.len());
    let kinds: Vec<_> = seen.iter().map(|(kind, ..)| *kind).filter(|kind| *kind != BlockKind::Data).collect();
    assert_eq!(kinds, [BlockKind::Index, BlockKind::Properties, BlockKind::Metaindex]);
}

/// A ledger that accepts a limited number of bytes.
struct Purse {
    left: Mutex<usize>,
    peak: Mutex<[usize; mem::cache::ROLES]>,
    held: Mutex<[usize; mem::cache::ROLES]>,
}

impl Purse {
    fn of(bytes: usize) -> Arc<Self> {
        Arc::new(Purse { left: Mutex::new(bytes), peak: Mutex::default(), held: Mutex::default() })
    }
}

impl Ledger for Purse {
    fn charge(&self, role: Role, bytes: usize, force: bool) -> Result<()> {
        let mut left = self.left.lock().unwrap();
        if *left < bytes && !force {
            return Err(Error::aborted("no memory left"));
        }
        *left = left.saturating_sub(bytes);
        let held = &mut self.held.lock().unwrap()[role as usize];
        *held += bytes;
        let peak = &mut self.peak.lock().unwrap()[role as usize];
        *peak = (*peak).max(*held);
        Ok(())
    }

    fn discharge(&self, role: Role, bytes: usize) {
        *self.left.lock().unwrap() += bytes;
        self.held.lock().unwrap()[role as usize] -= bytes;
    }
}

#[test]
fn buffers_are_charged_and_given_back() {
    let purse = Purse::of(1 << 30);
    let mut table = BlockBasedTableOptions {
        filter_policy: Some(FilterPolicy::ribbon(10.0, -1)),
        ..BlockBasedTableOptions::default()
    };
    table.cache_usage_options.filter_construction = Charged::Enabled;
    let options = WriterOptions {
        table: Arc::new(table),
        block_compression: BlockCompression {
            kind: Compression::Zstd,
            options: CompressionOptions { max_dict_bytes: 4096, ..CompressionOptions::default() },
            ..BlockCompression::default()
        },
        resources: Resources { ledger: Some(purse.clone()), ..Resources::default() },
        ..WriterOptions::default()
    };
    let fill = |writer: &mut ironstone_table::sst::Writer| {
        (0..20_000).for_each(|i| writer.add(&key(i), format!("value{i}").as_bytes()).unwrap());
    };
    let (rich, _) = write(options.clone(), fill);
    let peak = *purse.peak.lock().unwrap();
    assert!(peak[Role::CompressionDictionaryBuildingBuffer as usize] > 300_000);
    assert!(peak[Role::FilterConstruction as usize] > 20_000 * 8);
    assert_eq!(*purse.held.lock().unwrap(), [0; mem::cache::ROLES]);

    // With a small ledger, the dictionary has fewer samples, and a Bloom filter replaces the Ribbon filter.
    let purse = Purse::of(100_000);
    let (poor, table) = write(
        WriterOptions {
            resources: Resources { ledger: Some(purse), ..options.resources.clone() },
            ..options
        },
        fill,
    );
    assert_ne!(rich.len(), poor.len());
    assert_eq!(table.properties.filter_size, 25_024 + 5);
}
