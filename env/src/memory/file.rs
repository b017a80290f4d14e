//! A file in memory and its handles.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result};
use parking_lot::RwLock;

use super::Shared;
use crate::fs::{Append, RandomRead, SequentialRead, Syncer};

/// Something done to a file since its last sync.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Write { offset: u64, data: Arc<[u8]> },
    Truncate { size: u64 },
}

impl Op {
    pub(crate) fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Op::Write { offset, data } => write(to, *offset, data),
            Op::Truncate { size } => to.resize(*size as usize, 0),
        }
    }
}

pub(crate) fn write(to: &mut Vec<u8>, offset: u64, data: &[u8]) {
    let (start, end) = (offset as usize, offset as usize + data.len());
    if to.len() == start {
        return to.extend_from_slice(data);
    }
    if to.len() < end {
        to.resize(end, 0);
    }
    to[start..end].copy_from_slice(data);
}

#[derive(Clone, Debug, Default)]
pub(crate) struct FileState {
    /// Bytes are copied when they are changed while a fork of the disk holds them too.
    pub live: Arc<Vec<u8>>,
    pub durable: Arc<Vec<u8>>,
    pub unsynced: Vec<Op>,
    modified: u64,
}

#[derive(Debug)]
pub(crate) struct FileNode {
    pub state: RwLock<FileState>,
}

impl FileNode {
    pub(crate) fn new(now: u64) -> Self {
        FileNode { state: RwLock::new(FileState { modified: now, ..FileState::default() }) }
    }

    pub(crate) fn size(&self) -> u64 {
        self.state.read().live.len() as u64
    }

    pub(crate) fn modified(&self) -> u64 {
        self.state.read().modified
    }

    pub(crate) fn truncate(&self, size: u64, now: u64) {
        self.act(Op::Truncate { size }, now);
    }

    pub(crate) fn damage(&self, change: impl FnOnce(&mut Vec<u8>)) {
        let mut s = self.state.write();
        change(Arc::make_mut(&mut s.live));
        s.durable = s.live.clone();
        s.unsynced.clear();
    }

    /// The same file for another disk; bytes are shared until one of them changes.
    pub(crate) fn fork(&self) -> Self {
        FileNode { state: RwLock::new(self.state.read().clone()) }
    }

    /// Cuts the newest unsynced write to its first `bytes`. What programs see stays.
    pub(crate) fn tear(&self, bytes: usize) {
        if let Some(Op::Write { data, .. }) = self.state.write().unsynced.last_mut() {
            *data = Arc::from(&data[..bytes.min(data.len())]);
        }
    }

    pub(crate) fn forget_unsynced(&self) {
        self.state.write().unsynced.clear();
    }

    pub(crate) fn unsynced_bytes(&self) -> u64 {
        let s = self.state.read();
        s.unsynced.iter().map(|o| if let Op::Write { data, .. } = o { data.len() } else { 0 }).sum::<usize>()
            as u64
    }

    fn act(&self, op: Op, now: u64) {
        let mut s = self.state.write();
        op.apply(Arc::make_mut(&mut s.live));
        s.modified = now;
        s.unsynced.push(op);
    }

    fn sync(&self) {
        let s = &mut *self.state.write();
        if s.unsynced.is_empty() {
            return;
        }
        let durable = Arc::make_mut(&mut s.durable);
        s.unsynced.drain(..).for_each(|op| op.apply(durable));
    }

    fn read(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let s = self.state.read();
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(s.live.len());
        let n = buffer.len().min(s.live.len() - start);
        buffer[..n].copy_from_slice(&s.live[start..start + n]);
        n
    }
}

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
