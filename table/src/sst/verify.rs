//! Verifies the checksums of all blocks of a table.

use base::Result;
use base::stats::Stopwatch;
use format::handle::BlockHandle;
use format::trailer;

use super::block_kind::BlockKind;
use super::fetch::index;
use super::filter_reader::FilterBlocks;
use super::index_reader::IndexReader;
use super::prefetch::{ReadAhead, SystemHelp};
use super::read_ctx::ReadCtx;
use super::reader::Reader;

/// Read-ahead size of a scan over all blocks, in bytes, if the caller sets no other size.
const READAHEAD: usize = 256 * 1024;

impl Reader {
    /// Reads every block from the file and verifies its checksum. Inserts no block into the cache.
    ///
    /// # Errors
    /// Corruption with the offset of the first corrupt block. Errors of the file.
    pub fn verify_checksums(&self, ctx: &ReadCtx) -> Result<()> {
        let readahead = if ctx.readahead_size > 0 { ctx.readahead_size } else { READAHEAD };
        let mut ahead =
            ReadAhead::new(&self.table_options, readahead, self.source.size, SystemHelp::default());
        let once = ReadCtx { fill_cache: false, verify_checksums: true, cache_only: false, ..ctx.clone() };
        for handle in self.metaindex.entries.values() {
            self.check(*handle, BlockKind::Index, &once, &mut ahead)?;
        }
        self.check(self.index.handle, BlockKind::Index, &once, &mut ahead)?;
        self.check_partitions(&self.index, &once, &mut ahead)?;
        if let FilterBlocks::Partitioned(top) = &self.filter.blocks {
            self.check_partitions(top, &once, &mut ahead)?;
        }
        let mut outcome = Ok(());
        self.each_block(&once, |_, _, handle| {
            if outcome.is_ok() {
                outcome = self.check(handle, BlockKind::Data, &once, &mut ahead);
            }
        })?;
        outcome
    }

    fn check_partitions(&self, reader: &IndexReader, ctx: &ReadCtx, ahead: &mut ReadAhead) -> Result<()> {
        if !reader.partitioned {
            return Ok(());
        }
        let root = reader.root(&self.source, ctx)?;
        let Some(top) = index(&root) else { return Err(self.source.wrong_kind(reader.handle, reader.kind)) };
        (0..top.len()).try_for_each(|at| self.check(top.handle(at), reader.kind, ctx, ahead))
    }

    fn check(
        &self,
        handle: BlockHandle,
        kind: BlockKind,
        ctx: &ReadCtx,
        ahead: &mut ReadAhead,
    ) -> Result<()> {
        let source = &self.source;
        let began = source.counts.times_reads().then(Stopwatch::start);
        let raw = source
            .raw(handle, Some(ahead), ctx.limits.as_deref())
            .map_err(|e| source.blame(e, handle, kind))?;
        base::invariant!(
            raw.len() == handle.size as usize + trailer::LEN,
            "the block {handle} is checked in {} bytes",
            raw.len()
        );
        if let Some(began) = began {
            source.counts.check_took(began.micros(), ctx);
        }
        let verified = trailer::verify(source.checksum, source.base_context, handle.offset, &raw);
        match source.counts.verified(verified) {
            Ok(_) => Ok(()),
            // Only the properties block may have a wrong checksum, after the open has checked and accepted
            // it.
            Err(_) if Some(handle) == self.forgiven => Ok(()),
            Err(error) => Err(source.blame(error, handle, kind)),
        }
    }
}
