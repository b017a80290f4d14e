//! The way of finished data blocks to the file and the index.
//!
//! ```text
//! straight   block ─► packer ─► sink, index
//! held       block ─► held until a dictionary can be made of a spread of them, then straight or batched
//! batched    blocks ─► packed by several threads at once ─► sink, index, in order
//! ```

use std::sync::Arc;

use base::Result;
use base::key::{InternalOrder, user_key};
use compress::{Compression, Dictionary};
use env::writer::FileWriter;
use format::filter::FilterBuilder;
use format::handle::BlockHandle;
use format::index_builder::{IndexBuilder, PreparedEntry};

use super::batch::Batch;
use super::held::Held;
use super::options::{BlockKind, WriterOptions};
use super::packer::{Packed, Packer};
use super::plan;
use super::sample::Sampler;
use super::sink::Sink;

/// Data blocks and index entries that are not written yet.
pub(super) struct Blocks {
    pub(super) sink: Sink,
    pub(super) index: IndexBuilder,
    pub(super) sampler: Sampler,
    pub(super) stats: DataStats,
    entry: PreparedEntry,
    data_packer: Packer,
    index_packer: Option<Packer>,
    packed: Vec<u8>,
    held: Option<Held>,
    batch: Option<Batch>,
    /// True if the filter gets a key only after the index entries of all earlier blocks. While blocks are
    /// held, their keys are held too.
    holds_keys: bool,
    /// The last key that was released to the filter.
    released_key: Vec<u8>,
    block_size: usize,
    order: InternalOrder,
}

/// The facts about data blocks for the properties.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DataStats {
    pub(super) blocks: u64,
    pub(super) rejected: u64,
    pub(super) bypassed: u64,
    /// The end of the last data block.
    pub(super) end: u64,
    pub(super) uncompressed: u64,
}

impl Blocks {
    pub(super) fn new(file: FileWriter, options: &WriterOptions, coupled_filter: bool) -> Result<Blocks> {
        let table = &*options.table;
        let index_packer = table.enable_index_compression.then(|| packer(options, None)).transpose()?;
        let base_context =
            if table.format_version >= 6 { (options.context_seed & 0x7fff_ffff).max(1) } else { 0 };
        let padding = plan::padding(table);
        let held = Held::new(options);
        let mut blocks = Blocks {
            sink: Sink::new(
                file,
                table.checksum,
                base_context,
                padding,
                options.resources.warm.clone(),
                options.resources.statistics.clone(),
            ),
            index: IndexBuilder::new(plan::index_kind(options), plan::index_config(options)),
            sampler: Sampler::new(options.block_compression.sample_one_in, options.context_seed)?,
            stats: DataStats::default(),
            entry: PreparedEntry::default(),
            data_packer: packer(options, None)?,
            index_packer,
            packed: Vec::new(),
            batch: None,
            holds_keys: coupled_filter && held.is_some(),
            held,
            released_key: Vec::new(),
            block_size: table.block_size.min(1 << 20) as usize,
            order: options.order.clone(),
        };
        if blocks.held.is_none() {
            blocks.start_batching(options, coupled_filter)?;
        }
        Ok(blocks)
    }

    /// Starts to compress on several threads, if the options ask for it and blocks are compressed. Not with
    /// coupled filter partitions, which need each index entry before the next key.
    fn start_batching(&mut self, options: &WriterOptions, coupled_filter: bool) -> Result<()> {
        let threads = options.block_compression.options.parallel_threads as usize;
        let Some(executor) = options.resources.executor.clone() else { return Ok(()) };
        // An embedded blob starts at the end of the file, so no block may wait for its compression.
        let embeds_blobs = options.embedded_blob_min_size.is_some();
        if threads <= 1 || coupled_filter || embeds_blobs || self.data_packer.is_off() {
            return Ok(());
        }
        base::invariant!(
            self.held.is_none(),
            "blocks are compressed in parallel before their dictionary is known"
        );
        let dictionary = self.data_packer.shared_dictionary();
        let packers = (0..threads).map(|_| packer(options, dictionary.clone())).collect::<Result<_>>()?;
        self.batch = Some(Batch::new(executor, packers));
        Ok(())
    }

    /// Keeps the key if the filter must wait for it. Returns true if the key was kept.
    #[inline]
    pub(super) fn holds_key(&mut self, key: &[u8]) -> bool {
        if self.holds_keys
            && let Some(held) = &mut self.held
        {
            held.hold_key(key);
            return true;
        }
        false
    }

    /// Takes a finished data block. Leaves a buffer for the next block.
    pub(super) fn data_block(
        &mut self,
        payload: &mut Vec<u8>,
        last_key: &[u8],
        next_key: Option<&[u8]>,
    ) -> Result<()> {
        base::invariant!(
            !payload.is_empty() && !last_key.is_empty(),
            "a data block has {} bytes and a last key of {} bytes",
            payload.len(),
            last_key.len()
        );
        if let Some(held) = &mut self.held {
            let mut entry = PreparedEntry::default();
            self.index.prepare(last_key, next_key, &mut entry);
            check_separator(&self.order, &entry, last_key, next_key);
            held.hold(std::mem::replace(payload, Vec::with_capacity(self.block_size + 1024)), entry);
            return Ok(());
        }
        let mut entry = std::mem::take(&mut self.entry);
        self.index.prepare(last_key, next_key, &mut entry);
        check_separator(&self.order, &entry, last_key, next_key);
        let done = self.block(payload, &mut entry);
        self.entry = entry;
        done
    }

    /// Compresses and writes a block whose index key is known, now or with its batch.
    fn block(&mut self, payload: &mut Vec<u8>, entry: &mut PreparedEntry) -> Result<()> {
        base::invariant!(self.held.is_none(), "a block is written before the dictionary is known");
        if let Some(batch) = &mut self.batch {
            batch.bytes += payload.len() as u64;
            let slot = batch.slot();
            std::mem::swap(&mut slot.payload, payload);
            std::mem::swap(&mut slot.entry, entry);
            return if batch.is_full() { self.flush_batch() } else { Ok(()) };
        }
        let mut packed = std::mem::take(&mut self.packed);
        let outcome = self.data_packer.pack(payload, &mut packed)?;
        let written = self.write_data(outcome, payload, &mut packed, entry);
        self.packed = packed;
        written
    }

    fn write_data(
        &mut self,
        outcome: Packed,
        payload: &mut Vec<u8>,
        packed: &mut Vec<u8>,
        entry: &PreparedEntry,
    ) -> Result<()> {
        base::invariant!(!payload.is_empty(), "an empty data block is written");
        base::invariant!(
            self.stats.end <= self.sink.offset(),
            "the data block before ends at {}, after the end of the file at {}",
            self.stats.end,
            self.sink.offset()
        );
        self.stats.blocks += 1;
        self.stats.uncompressed += payload.len() as u64;
        self.stats.rejected += u64::from(outcome == Packed::Rejected);
        self.stats.bypassed += u64::from(outcome == Packed::Bypassed);
        let (handle, gap) = match outcome {
            Packed::Compressed(kind) => self.sink.write_data(packed, kind, Some(payload))?,
            Packed::Rejected | Packed::Bypassed => self.sink.write_data(payload, 0, None)?,
        };
        self.stats.end = self.sink.offset();
        base::invariant!(handle.end() <= self.stats.end, "the data block {handle:?} ends after the file");
        self.index.add(entry, handle, gap);
        Ok(())
    }

    fn flush_batch(&mut self) -> Result<()> {
        let Some(mut batch) = self.batch.take() else { return Ok(()) };
        batch.pack();
        let used = batch.used;
        base::invariant!(used <= batch.slots.len(), "{used} blocks in {} slots", batch.slots.len());
        for slot in &mut batch.slots[..used] {
            let outcome = slot.outcome.take().unwrap_or(Ok(Packed::Bypassed))?;
            self.write_data(outcome, &mut slot.payload, &mut slot.packed, &slot.entry)?;
        }
        batch.clear();
        self.batch = Some(batch);
        Ok(())
    }

    /// Returns true if blocks are held and no more blocks should be held.
    pub(super) fn holds_enough(&self) -> bool {
        self.held.as_ref().is_some_and(Held::is_full)
    }

    /// Makes the dictionary and writes the held blocks.
    pub(super) fn release(
        &mut self,
        options: &WriterOptions,
        mut filter: Option<&mut FilterBuilder>,
    ) -> Result<()> {
        let Some(mut held) = self.held.take() else { return Ok(()) };
        if !held.blocks.is_empty() {
            self.data_packer = packer(options, held.dictionary(options)?)?;
        }
        let coupled = filter.as_ref().is_some_and(|filter| filter.is_coupled());
        self.start_batching(options, coupled)?;
        for mut block in held.blocks.drain(..) {
            if let Some(filter) = filter.as_deref_mut().filter(|_| self.holds_keys) {
                block.release_keys(filter, self.index.partitions(), &mut self.released_key)?;
            }
            self.block(&mut block.payload, &mut block.entry)?;
        }
        Ok(())
    }

    /// Writes all blocks that are held or wait for compression.
    pub(super) fn finish(
        &mut self,
        options: &WriterOptions,
        filter: Option<&mut FilterBuilder>,
    ) -> Result<()> {
        self.release(options, filter)?;
        self.flush_batch()?;
        base::invariant!(self.held.is_none(), "blocks are held after the end of the data");
        base::invariant!(
            self.bytes_in_flight() == 0,
            "blocks wait for compression after the end of the data"
        );
        Ok(())
    }

    /// Returns the bytes that are held or wait for compression.
    pub(super) fn bytes_in_flight(&self) -> u64 {
        self.batch.as_ref().map_or(0, |batch| batch.bytes)
    }

    pub(super) fn dictionary(&self) -> &[u8] {
        self.data_packer.dictionary()
    }

    /// Returns the compression type of compressed data blocks.
    pub(super) fn data_kind(&self) -> Compression {
        self.data_packer.stored_kind()
    }

    /// Returns the parts that are necessary to write the index: the index, its destination and its
    /// compressor.
    pub(super) fn for_index(&mut self) -> (&mut IndexBuilder, &mut Sink, Option<&mut Packer>, &mut Vec<u8>) {
        (&mut self.index, &mut self.sink, self.index_packer.as_mut(), &mut self.packed)
    }
}

/// A key of the index that is not between two blocks hides entries of one of the blocks from lookups.
fn check_separator(order: &InternalOrder, entry: &PreparedEntry, last_key: &[u8], next_key: Option<&[u8]>) {
    let compare = |a, b| order.user.compare_without_timestamp(user_key(a), user_key(b));
    base::invariant!(
        compare(last_key, entry.separator()).is_le(),
        "the index key {:02x?} is before the last key {last_key:02x?} of its block",
        entry.separator()
    );
    base::invariant!(
        next_key.is_none_or(|next| compare(entry.separator(), next).is_le()),
        "the index key {:02x?} is after the first key {next_key:02x?} of the next block",
        entry.separator()
    );
}

fn packer(options: &WriterOptions, dictionary: Option<Arc<Dictionary>>) -> Result<Packer> {
    let verify = options.table.verify_compression;
    Packer::new(
        options.block_compression.kind,
        &options.block_compression.options,
        dictionary,
        verify,
        options.resources.statistics.clone(),
    )
}

/// Writes a block of the index. Compresses it if the options ask for it and it becomes smaller.
pub(super) fn write_index_block(
    sink: &mut Sink,
    packer: Option<&mut Packer>,
    packed: &mut Vec<u8>,
    payload: &mut Vec<u8>,
) -> Result<BlockHandle> {
    if let Some(packer) = packer
        && let Packed::Compressed(kind) = packer.pack(payload, packed)?
    {
        return sink.write(BlockKind::Index, packed, kind, Some(payload));
    }
    sink.write(BlockKind::Index, payload, 0, None)
}
