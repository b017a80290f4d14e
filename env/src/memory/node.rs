//! A file of the disk in memory: its bytes, its durable bytes, and the operations between them.

use std::sync::Arc;

use parking_lot::RwLock;

/// An operation on a file since its last sync.
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
    /// The bytes that programs see. A change copies the bytes if a fork of the disk shares them.
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

    /// Returns a copy of the file for another disk. Both share the bytes until one of them changes.
    pub(crate) fn fork(&self) -> Self {
        FileNode { state: RwLock::new(self.state.read().clone()) }
    }

    /// Cuts the newest unsynced write to its first `bytes` bytes. The bytes that programs see do not change.
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

    pub(super) fn act(&self, op: Op, now: u64) {
        let mut s = self.state.write();
        op.apply(Arc::make_mut(&mut s.live));
        s.modified = now;
        s.unsynced.push(op);
    }

    pub(super) fn sync(&self) {
        let s = &mut *self.state.write();
        if s.unsynced.is_empty() {
            return;
        }
        let durable = Arc::make_mut(&mut s.durable);
        s.unsynced.drain(..).for_each(|op| op.apply(durable));
    }

    pub(super) fn read(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let s = self.state.read();
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(s.live.len());
        let n = buffer.len().min(s.live.len() - start);
        buffer[..n].copy_from_slice(&s.live[start..start + n]);
        n
    }
}
