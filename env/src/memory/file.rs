//! A file in memory and its handles.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result};

use super::node::{FileNode, Op};
use super::shared::Shared;
use crate::fs::{Append, RandomRead, SequentialRead, Syncer};

pub(super) struct MemoryRead {
    shared: Arc<Shared>,
    generation: u64,
    node: Arc<FileNode>,
    path: PathBuf,
    offset: u64,
}

impl MemoryRead {
    pub(super) fn new(shared: Arc<Shared>, node: Arc<FileNode>, path: &Path) -> Self {
        let generation = shared.generation();
        MemoryRead { shared, generation, node, path: path.to_path_buf(), offset: 0 }
    }
}

impl RandomRead for MemoryRead {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.shared.alive(self.generation, &self.path)?;
        Ok(self.node.read(offset, buffer))
    }

    fn size(&self) -> Result<u64> {
        self.shared.alive(self.generation, &self.path)?;
        Ok(self.node.size())
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn prefetch(&self, _offset: u64, _length: u64) -> bool {
        true
    }
}

impl SequentialRead for MemoryRead {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let n = self.read_at(self.offset, buffer)?;
        self.offset += n as u64;
        Ok(n)
    }

    fn skip(&mut self, bytes: u64) -> Result<()> {
        self.offset = self.offset.saturating_add(bytes);
        Ok(())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

pub(super) struct MemoryAppend {
    handle: MemorySyncer,
    size: u64,
    closed: bool,
}

impl MemoryAppend {
    pub(super) fn new(shared: Arc<Shared>, node: Arc<FileNode>, path: &Path, size: u64) -> Self {
        let generation = shared.generation();
        let handle = MemorySyncer { shared, generation, node, path: path.to_path_buf() };
        MemoryAppend { handle, size, closed: false }
    }

    fn act(&mut self, op: Op) -> Result<()> {
        self.open()?;
        self.handle.node.act(op, self.handle.shared.clock.now_seconds());
        Ok(())
    }

    fn open(&self) -> Result<()> {
        if self.closed {
            return Err(Error::io_error("the file is closed").file(&self.handle.path));
        }
        self.handle.shared.alive(self.handle.generation, &self.handle.path)
    }
}

impl Append for MemoryAppend {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        self.act(Op::Write { offset: self.size, data: Arc::from(data) })?;
        self.size += data.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        self.open()
    }

    fn sync(&mut self) -> Result<()> {
        self.open()?;
        self.handle.sync()
    }

    fn fsync(&mut self) -> Result<()> {
        self.sync()
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn path(&self) -> &Path {
        &self.handle.path
    }

    fn truncate(&mut self, size: u64) -> Result<()> {
        self.act(Op::Truncate { size })?;
        self.size = size;
        Ok(())
    }

    fn syncer(&self) -> Arc<dyn Syncer> {
        Arc::new(self.handle.clone())
    }

    fn close(&mut self) -> Result<()> {
        self.closed = true;
        Ok(())
    }
}

#[derive(Clone)]
struct MemorySyncer {
    shared: Arc<Shared>,
    generation: u64,
    node: Arc<FileNode>,
    path: PathBuf,
}

impl Syncer for MemorySyncer {
    fn sync(&self) -> Result<()> {
        self.shared.alive(self.generation, &self.path)?;
        self.node.sync();
        Ok(())
    }
}

impl fmt::Debug for MemoryAppend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryAppend({})", self.handle.path.display())
    }
}

debug_by_path! { MemoryRead MemorySyncer }
