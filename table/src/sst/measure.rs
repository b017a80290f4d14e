//! What can be said of a table without reading its data: offsets, sizes, where to split it.

use base::Result;

use super::index_reader::IndexCursor;
use super::read_ctx::ReadCtx;
use super::reader::Reader;

impl Reader {
    /// Where in the file the data of an internal key would start, about: offset among the data blocks,
    /// stretched so that the end of the data is the end of the file. In a file without data, its middle.
    ///
    /// # Errors
    /// Corruption or errors of the file.
    pub fn approximate_offset_of(&self, key: &[u8], ctx: &ReadCtx) -> Result<u64> {
        if self.data_size() == 0 {
            // Nothing is known of where in it a key would lie.
            return Ok(self.source.size / 2);
        }
        let offset = self.data_offset_of(key, ctx)?;
        Ok(self.stretch(offset))
    }

    /// Bytes of the file between two internal keys, about; of a file without data, all of them.
    ///
    /// # Errors
    /// Corruption or errors of the file.
    pub fn approximate_size(&self, start: &[u8], end: &[u8], ctx: &ReadCtx) -> Result<u64> {
        if self.data_size() == 0 {
            return Ok(self.source.size);
        }
        let (from, to) = (self.data_offset_of(start, ctx)?, self.data_offset_of(end, ctx)?);
        Ok(self.stretch(to.saturating_sub(from)))
    }

    /// User keys that split the table into at most `count` pieces of about the same size, in order, each
    /// with the bytes of the piece before it.
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
        Ok(anchors)
    }

    /// Calls `f` for every data block in order: the separator behind it as a user key, the separator's
    /// trailer if the index has them, and the block's place.
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

    /// Spreads the file's metadata over its data.
    fn stretch(&self, bytes: u64) -> u64 {
        let data = self.data_size();
        if data == 0 {
            return 0;
        }
        let ratio = bytes as f64 / data as f64;
        (ratio.min(1.0) * self.source.size as f64) as u64
    }
}
