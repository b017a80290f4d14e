//! A file that counts the bytes of its reads.

use std::path::Path;

use base::Result;
use env::fs::{Pattern, RandomRead, ReadRequest};

use crate::sync::{Arc, AtomicU64, Ordering};

/// A file for reads. Read-ahead of the system into the page cache does not count.
#[derive(Debug)]
pub struct CountedRead {
    file: Arc<dyn RandomRead>,
    bytes: AtomicU64,
}

impl CountedRead {
    /// Makes a file that reads from `file` and has counted nothing.
    pub fn new(file: Arc<dyn RandomRead>) -> Arc<Self> {
        Arc::new(CountedRead { file, bytes: AtomicU64::new(0) })
    }

    /// Returns the bytes of all reads.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl RandomRead for CountedRead {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let len = buffer.len();
        let read = self.file.read_at(offset, buffer)?;
        base::invariant!(read <= len, "a read into {len} bytes returned {read} bytes");
        self.add(read);
        Ok(read)
    }

    fn read_to(&self, offset: u64, length: usize, buffer: &mut Vec<u8>) -> Result<()> {
        self.file.read_to(offset, length, buffer)?;
        self.add(buffer.len());
        Ok(())
    }

    fn multi_read(&self, requests: &mut [ReadRequest<'_>]) {
        self.file.multi_read(requests);
        requests.iter().for_each(|request| self.add(*request.outcome.as_ref().unwrap_or(&0)));
    }

    fn read_ready(&self, offset: u64, buffer: &mut [u8]) -> bool {
        let ready = self.file.read_ready(offset, buffer);
        if ready {
            self.add(buffer.len());
        }
        ready
    }

    fn size(&self) -> Result<u64> {
        self.file.size()
    }

    fn path(&self) -> &Path {
        self.file.path()
    }

    fn prefetch(&self, offset: u64, length: u64) -> bool {
        self.file.prefetch(offset, length)
    }

    fn advise(&self, pattern: Pattern) {
        self.file.advise(pattern);
    }

    fn invalidate(&self, offset: u64, length: u64) {
        self.file.invalidate(offset, length);
    }

    fn alignment(&self) -> usize {
        self.file.alignment()
    }
}
