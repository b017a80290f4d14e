//! Estimates from the index of a table, without its data: offsets, sizes, and split points.

use base::Result;

use super::index_reader::IndexCursor;
use super::read_ctx::ReadCtx;
use super::reader::Reader;

impl Reader {
    /// Returns the approximate file offset of an internal key. It is the offset among the data blocks, scaled
    /// so that the end of the data is the end of the file. In a file without data it is the middle of the
    /// file.
    ///
    /// # Errors
    /// Corruption or errors of the file.
    pub fn approximate_offset_of(&self, key: &[u8], ctx: &ReadCtx) -> Result<u64> {
        if self.data_size() == 0 {
            // A file without data blocks gives no information about the position of a key.
            return Ok(self.source.size / 2);
        }
        let offset = self.data_offset_of(key, ctx)?;
        Ok(self.stretch(offset))
    }

    /// Returns the approximate number of file bytes between two internal keys. For a file without data,
    /// returns its size.
    ///
    /// # Errors
    /// Corruption or errors of the file.
    pub fn approximate_size(&self, start: &[u8], end: &[u8], ctx: &ReadCtx) -> Result<u64> {
        if self.data_size() == 0 {
            return Ok(self.source.size);
        }
        let (from, to) = (self.data_offset_of(start, ctx)?, self.data_offset_of(end, ctx)?);
        // The user may pass a range that ends before its start.
        Ok(self.stretch(to.saturating_sub(from)))
    }

    /// Returns user keys that split the table into at most `count` pieces of similar size, in order. Each key
    /// comes with the bytes of the piece before it.
    ///
    /// # Errors
    /// Corruption or errors of the file.
    pub fn anchors(&self, count: usize, ctx: &ReadCtx) -> Result<Vec<(Vec<u8>, u64)>> {
        let step = self.data_size() / count.max(1) as u64;
        let mut anchors = Vec::new();
        let mut bytes = 0;
        let mut pending = Vec::new();
        self.each_block(ctx, |user_key, _, handle| {
            bytes += handle.size;
            pending = user_key.to_vec();
            if bytes > step {
                anchors.push((std::mem::take(&mut pending), std::mem::take(&mut bytes)));
            }
        })?;
        if bytes > 0 {
            anchors.push((pending, bytes));
        }
        base::invariant!(
            anchors.iter().all(|(_, bytes)| *bytes > 0),
            "one of {} parts of a table has no bytes",
            anchors.len()
        );
        Ok(anchors)
    }

    /// Calls `f` for every data block in order. `f` gets the separator after the block as a user key, the trailer of
    /// the separator if the index has trailers, and the handle of the block.
    ///
    /// # Errors
    /// Corruption or errors of the file.
    pub fn each_block(
        &self,
        ctx: &ReadCtx,
        mut f: impl FnMut(&[u8], Option<u64>, format::handle::BlockHandle),
    ) -> Result<()> {
        let mut cursor = IndexCursor::default();
        let mut key = Vec::new();
        cursor.seek_to_first(&self.index, &self.source, ctx)?;
        while let Some(index) = cursor.index().filter(|index| cursor.at < index.len()) {
            key.clear();
            let trailer = index.separator(cursor.at, &mut key);
            f(&key, trailer, index.handle(cursor.at));
            cursor.next(&self.index, &self.source, ctx)?;
        }
        Ok(())
    }

    fn data_offset_of(&self, key: &[u8], ctx: &ReadCtx) -> Result<u64> {
        let mut cursor = IndexCursor::default();
        cursor.seek(&self.index, &self.source, ctx, key)?;
        Ok(if cursor.valid() { cursor.handle().offset } else { self.data_size() })
    }

    fn data_size(&self) -> u64 {
        match self.properties.data_size {
            0 if self.properties.num_entries <= self.properties.num_range_deletions => 0,
            0 => self.data_end,
            size => size.min(self.source.size),
        }
    }

    /// Scales a number of data bytes so that all data bytes correspond to the whole file.
    fn stretch(&self, bytes: u64) -> u64 {
        let data = self.data_size();
        if data == 0 {
            return 0;
        }
        let ratio = bytes as f64 / data as f64;
        // Damaged handles may be behind the data.
        let stretched = (ratio.min(1.0) * self.source.size as f64) as u64;
        base::invariant!(
            stretched <= self.source.size,
            "{stretched} of {} bytes are estimated",
            self.source.size
        );
        stretched
    }
}
