//! The records of accesses to the block cache: the facts about a block, its file and its lookup.

use std::ops::ControlFlow;

use base::stats::HistogramKind;
use format::block::{Block, BlockIter};
use format::handle::BlockHandle;
use format::trace::{BlockAccess, GetAccess, RecordType};

use super::access_trace::{Traced, in_sink, running};
use super::block_cache::CachedBlock;
use super::block_kind::BlockKind;
use super::fetch::data;
use super::file_source::Source;
use super::read_ctx::ReadCtx;

/// RocksDB's numbers of callers (`TableReaderCaller`).
const GET: u8 = 1;
const MULTI_GET: u8 = 2;
const ITERATOR: u8 = 3;
const VERIFY_CHECKSUM: u8 = 5;
const COMPACTION: u8 = 10;
const FLUSH: u8 = 12;
const UNCATEGORIZED: u8 = 14;

/// Returns RocksDB's number of the caller.
fn caller_of(ctx: &ReadCtx) -> u8 {
    match ctx.histogram {
        _ if ctx.for_compaction => COMPACTION,
        HistogramKind::FileReadGetMicros => GET,
        HistogramKind::FileReadMultigetMicros => MULTI_GET,
        HistogramKind::FileReadDbIteratorMicros => ITERATOR,
        HistogramKind::FileReadVerifyDbChecksumMicros => VERIFY_CHECKSUM,
        HistogramKind::FileReadCompactionMicros => COMPACTION,
        HistogramKind::FileReadFlushMicros => FLUSH,
        _ => UNCATEGORIZED,
    }
}

impl Source {
    /// Returns the facts for a record of an access, if a trace runs.
    #[inline]
    pub(super) fn traced(&self) -> Option<&Traced> {
        self.traced.as_ref().filter(|traced| traced.tracer.is_on())
    }

    /// Records an access to a block: a hit, or a block that was read after a miss.
    #[cold]
    pub(super) fn trace_access(
        &self,
        traced: &Traced,
        (block, handle, kind): (&CachedBlock, BlockHandle, BlockKind),
        ctx: &ReadCtx,
        is_hit: bool,
    ) {
        if in_sink() {
            return;
        }
        let record_type = match kind {
            BlockKind::Data => RecordType::DataBlock,
            BlockKind::Index => RecordType::IndexBlock,
            BlockKind::Filter | BlockKind::FilterIndex => RecordType::FilterBlock,
            BlockKind::Blob => return,
        };
        let caller = caller_of(ctx);
        let key = self.cache_key(handle).0.map(u64::to_ne_bytes).concat();
        let properties = &traced.properties;
        let running = running();
        let get = match &running {
            Some(running) if matches!(caller, GET | MULTI_GET) => {
                let (found, keys) = self.about(block, &running.key);
                Some(GetAccess {
                    id: running.id,
                    from_snapshot: running.from_snapshot,
                    key: &running.key,
                    data: (kind == BlockKind::Data).then_some((found.unwrap_or(0), keys, found.is_some())),
                })
            }
            _ => None,
        };
        traced.tracer.record(&BlockAccess {
            block: record_type,
            key: &key,
            size: block.memory_bytes() as u64,
            family: properties.column_family_id,
            family_name: &properties.column_family_name,
            level: self.counts.level,
            file: traced.file.get(),
            // A read without a number, as for a merge in a compaction, is not a call of the application.
            caller: if get.is_none() && matches!(caller, GET | MULTI_GET) { UNCATEGORIZED } else { caller },
            is_hit,
            no_insert: !ctx.fill_cache || ctx.cache_only,
            get,
        });
    }

    /// Returns the bytes of the entry that a lookup of `seek_key` finds in a data block, and the number of entries of the block.
    fn about(&self, block: &CachedBlock, seek_key: &[u8]) -> (Option<u64>, u64) {
        let Some(block) = data(block) else { return (None, 0) };
        let mut found = None;
        let visit = &mut |user_key: &[u8], _, value: std::ops::Range<usize>| {
            found = Some((user_key.len() + 8 + value.len()) as u64);
            ControlFlow::Break(())
        };
        if seek_key.len() >= 8 {
            // A damaged block has no entry here. The lookup itself reports the damage.
            let _ = block.visit_versions(&self.order, self.rewrite, seek_key, visit);
        }
        (found, entries(block.clone(), self))
    }
}

fn entries(block: Block, source: &Source) -> u64 {
    let mut iter = BlockIter::rewriting(block, source.rewrite);
    let mut count = 0;
    iter.seek_to_first();
    while iter.valid() {
        count += 1;
        iter.next();
    }
    count
}
