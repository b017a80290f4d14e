//! The bytes of an SST file without blocks.
//!
//! ```text
//! whole   the file was read into memory when it was opened, and its size is charged to the block cache
//! pages   the file is read in pages of 16 KiB through the block cache
//! scan    the file is read in pieces of 256 KiB, past the block cache
//! ```
//! RocksDB maps such files into memory. A memory map turns an I/O error into a signal, so these files are
//! read by calls. A [`Window`] holds the bytes of the last read. Most reads are inside the window and then
//! cost two comparisons.

use std::ops::Range;
use std::sync::Arc;

use base::stats::{Statistics, Stopwatch};
use base::{Error, Pinned, Result};
use env::fs::RandomRead;
use mem::cache::{Priority, Reservation, Role};

use crate::sst::block_cache::{BlockCache, CachedBlock, Other};
use crate::sst::cache_key::CacheKeyBase;
use crate::sst::{OpenOptions, ReadCtx};

/// Size of a page in bytes. A page is one entry of the block cache.
const PAGE: u64 = 16 << 10;
/// Bytes of one read of a scan.
const PIECE: u64 = 256 << 10;

/// The bytes of an SST file without blocks. Any thread may use it.
pub(crate) struct FileBytes {
    file: Arc<dyn RandomRead>,
    size: u64,
    whole: Option<(Arc<[u8]>, Option<Reservation>)>,
    cache: Option<Arc<BlockCache>>,
    keys: CacheKeyBase,
    statistics: Option<Arc<Statistics>>,
}

/// How a window moves through the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Pages, through the block cache.
    Random,
    /// Large pieces in file order, without the block cache.
    Scan,
}

/// The bytes of the last read of one reader.
#[derive(Clone)]
pub(crate) struct Window {
    /// `None` before the first read, so that a new window needs no allocation.
    bytes: Option<Arc<[u8]>>,
    /// The start of the bytes in the file.
    start: u64,
    end: u64,
    access: Access,
}

impl Window {
    pub(crate) fn new(access: Access) -> Window {
        Window { bytes: None, start: 0, end: 0, access }
    }

    /// Returns the window of an iterator with these options.
    pub(crate) fn for_iterator(ctx: &ReadCtx) -> Window {
        Window::new(if ctx.for_compaction || !ctx.fill_cache { Access::Scan } else { Access::Random })
    }

    #[inline]
    pub(crate) fn get(&self, range: Range<usize>) -> &[u8] {
        self.bytes.as_deref().and_then(|bytes| bytes.get(range)).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn bytes(&self) -> Option<&Arc<[u8]>> {
        self.bytes.as_ref()
    }

    fn set(&mut self, bytes: Arc<[u8]>, start: u64) {
        base::invariant!(start.checked_add(bytes.len() as u64).is_some(), "a window begins at {start}");
        (self.start, self.end) = (start, start + bytes.len() as u64);
        self.bytes = Some(bytes);
    }

    /// Returns the bytes of a range as a pinned value, which stays valid after the window moves. Does not
    /// copy.
    pub(crate) fn pin(&self, range: Range<usize>) -> Pinned {
        self.bytes
            .as_ref()
            .map_or_else(|| Pinned::from_vec(Vec::new()), |bytes| Pinned::bytes(bytes.clone(), range))
    }
}

impl FileBytes {
    /// Opens a file of `size` bytes. Reads the file into memory, if the options ask for it and the block
    /// cache accepts the charge.
    ///
    /// # Errors
    /// Errors of the file.
    pub(crate) fn open(
        file: Arc<dyn RandomRead>,
        size: u64,
        keys: CacheKeyBase,
        options: &OpenOptions,
    ) -> Result<FileBytes> {
        let mut bytes = FileBytes {
            file,
            size,
            whole: None,
            cache: options.cache.clone(),
            keys,
            statistics: options.statistics.clone(),
        };
        if options.other.resident
            && let Ok(len) = usize::try_from(size)
        {
            // A block cache with a strict limit may reject the charge. The file is then read in pages.
            let charge = match &bytes.cache {
                Some(cache) => cache.reserve(Role::Misc, len).map(Some),
                None => Ok(None),
            };
            if let Ok(charge) = charge {
                let all = bytes.read(0, len, &ReadCtx::default())?;
                bytes.whole = Some((all, charge));
            }
        }
        Ok(bytes)
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn file(&self) -> &Arc<dyn RandomRead> {
        &self.file
    }

    /// Returns the bytes of memory outside of the block cache.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.whole.as_ref().map_or(0, |(bytes, _)| bytes.len())
    }

    /// Reads `len` bytes from `offset` into the window. Returns their location in the window.
    ///
    /// # Errors
    /// Corruption after the end of the file. Incomplete if `ctx` allows memory only and the bytes are not in
    /// memory. Errors of the file.
    #[inline]
    pub(crate) fn at(
        &self,
        window: &mut Window,
        offset: u64,
        len: usize,
        ctx: &ReadCtx,
    ) -> Result<Range<usize>> {
        if offset >= window.start && offset.saturating_add(len as u64) <= window.end {
            let start = (offset - window.start) as usize;
            return Ok(start..start + len);
        }
        self.load(window, offset, len, ctx)
    }

    #[cold]
    fn load(&self, window: &mut Window, offset: u64, len: usize, ctx: &ReadCtx) -> Result<Range<usize>> {
        let end = offset.saturating_add(len as u64);
        if end > self.size {
            let what = format!("{len} bytes at offset {offset} of a file of {} bytes", self.size);
            return Err(Error::corruption(what).at(offset));
        }
        if let Some((bytes, _)) = &self.whole {
            window.set(bytes.clone(), 0);
            let start = offset as usize;
            return Ok(start..start + len);
        }
        if window.access == Access::Scan && !ctx.cache_only {
            let piece = PIECE.max(len as u64).min(self.size - offset);
            base::invariant!(len as u64 <= piece, "a window of {piece} bytes is loaded for {len} bytes");
            window.set(self.read(offset, piece as usize, ctx)?, offset);
            return Ok(0..len);
        }
        let page = self.page(offset / PAGE, ctx)?;
        let start = offset % PAGE;
        if start + len as u64 <= page.len() as u64 {
            window.set(page, offset - start);
            return Ok(start as usize..start as usize + len);
        }
        let mut joined = Vec::with_capacity(len);
        joined.extend_from_slice(page.get(start as usize..).unwrap_or_default());
        while joined.len() < len {
            let page = self.page((offset + joined.len() as u64) / PAGE, ctx)?;
            joined.extend_from_slice(&page[..page.len().min(len - joined.len())]);
        }
        window.set(joined.into(), offset);
        Ok(0..len)
    }

    fn page(&self, number: u64, ctx: &ReadCtx) -> Result<Arc<[u8]>> {
        let offset = number * PAGE;
        base::invariant!(
            offset <= self.size,
            "page {number} begins at {offset}, and the file has {} bytes",
            self.size
        );
        let len = PAGE.min(self.size.saturating_sub(offset)) as usize;
        let key = self.keys.at(offset);
        if let Some(handle) = self.cache.as_ref().and_then(|cache| cache.lookup(&key))
            && let CachedBlock::Other(other) = &*handle
            && let Other::Raw(bytes) = &**other
            && bytes.len() == len
        {
            return Ok(bytes.clone());
        }
        if ctx.cache_only {
            return Err(Error::incomplete("no blocking io"));
        }
        let bytes = self.read(offset, len, ctx)?;
        if let Some(cache) = self.cache.as_ref().filter(|_| ctx.fill_cache) {
            let page = CachedBlock::from(Other::Raw(bytes.clone()));
            let charge = page.memory_bytes();
            // A full cache with a strict limit rejects the page. The next reader reads the page from the file.
            let _ = cache.insert(&key, page, charge, Priority::Low, Role::DataBlock);
        }
        Ok(bytes)
    }

    fn read(&self, offset: u64, len: usize, ctx: &ReadCtx) -> Result<Arc<[u8]>> {
        base::invariant!(
            offset.checked_add(len as u64).is_some_and(|end| end <= self.size),
            "{len} bytes at {offset} are read, and the file has {} bytes",
            self.size
        );
        let mut bytes: Arc<[u8]> = std::iter::repeat_n(0, len).collect();
        let Some(buffer) = Arc::get_mut(&mut bytes) else {
            return Err(Error::corruption("a new buffer is shared"));
        };
        let began = self.statistics.as_ref().map(|_| Stopwatch::start());
        let mut access = || self.file.read_at(offset, buffer);
        let got = match &ctx.limits {
            Some(limits) => limits.around(len, &mut access)?,
            None => access()?,
        };
        if let (Some(statistics), Some(began)) = (&self.statistics, began) {
            statistics.measure(base::stats::HistogramKind::SstReadMicros, began.micros());
        }
        if got < len {
            let what =
                format!("the file has {} bytes where {} were expected", offset + got as u64, self.size);
            return Err(Error::corruption(what).at(offset + got as u64));
        }
        Ok(bytes)
    }
}
