//! A file system around another file system. A hook decides before each call and observes its outcome.
//!
//! [`crate::fault`], [`crate::meter`] and [`crate::timed`] are such hooks.

mod op;

use std::any::Any;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Error, Result};

use crate::fs::{
    Append, AppendHints, Dir, FileLock, FileSystem, Pattern, RandomRead, ReadHints, ReadRequest,
    SequentialRead, Syncer,
};

pub use op::Op;

/// Distinguishes the calls of one operation, for times of single calls. Fault plans and meters do not use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// All other calls.
    #[default]
    Other,
    /// [`Op::Open`] of a file that is read from its start to its end.
    Sequential,
    /// [`Op::Open`] of a directory.
    Directory,
    /// [`Op::Status`]: does the file exist?
    Exists,
    /// [`Op::Status`]: the time of the last change.
    Modified,
    /// [`Op::CreateDir`] that fails if the directory exists.
    NewDirectory,
    /// [`Op::Sync`] of the bytes and of all metadata of a file.
    Fsync,
}

/// The kind of a handle that a file system returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandleKind {
    /// A file that is open for reads at any offset.
    Random,
    /// A file that is read from its start to its end.
    Sequential,
    /// A file that is written at its end.
    Append,
    /// A second handle of a file that is written, for syncs from another thread.
    Syncer,
    /// A directory.
    Dir,
}

/// A call that a hook decides or observes.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The operation.
    pub op: Op,
    /// Distinguishes the calls of `op`.
    pub detail: Detail,
    /// The file or the directory. For a rename, a link and a reuse of a file: the new path.
    pub path: &'a Path,
    /// The offset of a read or an append. 0 for other calls.
    pub offset: u64,
    /// The requested bytes. After a read: the bytes that were read.
    pub bytes: usize,
}

/// The decision of a hook about a call.
#[derive(Debug)]
pub enum Verdict {
    /// The call runs unchanged.
    Go,
    /// The call processes only this number of bytes, and fails if there is an error. Without an error, a read is
    /// short, and an append reports success without the remaining bytes. For calls without bytes and without an
    /// error: the call runs unchanged.
    Part(usize, Option<base::Error>),
    /// The call does nothing and fails with this error.
    Fail(base::Error),
    /// The call does nothing and reports success. Calls that return a result run unchanged; a read returns 0 bytes.
    Skip,
}

/// A hook of a file system. Any thread may call a hook.
pub trait Hook: Send + Sync + fmt::Debug + 'static {
    /// Returns the name of the hook, for the description of the file system.
    fn name(&self) -> &'static str;

    /// Returns true if the hook lets all calls run unchanged and observes no call at present. Then calls skip the hook.
    /// Default: false.
    #[inline]
    fn is_idle(&self) -> bool {
        false
    }

    /// Returns the tracer of file operations, if the hook is one. Default: `None`.
    fn io_tracer(&self) -> Option<&dyn Any> {
        None
    }

    /// Decides what happens to a call. Runs before the call, on the thread of the caller.
    fn before(&self, call: &Call<'_>) -> Verdict;

    /// Learns the outcome of a call: its error, or `None` after success. Default: does nothing.
    fn after(&self, _call: &Call<'_>, _error: Option<&Error>) {}

    /// Learns that a handle was dropped. Readers and directories have no call that closes them. Default: does nothing.
    fn dropped(&self, _kind: HandleKind) {}
}

/// A file system with a hook.
#[derive(Debug)]
pub struct Hooked<H: Hook> {
    inner: Arc<dyn FileSystem>,
    hook: Arc<H>,
}

impl<H: Hook> Hooked<H> {
    /// Puts `hook` in front of every call of `inner`.
    pub fn new(inner: Arc<dyn FileSystem>, hook: Arc<H>) -> Self {
        Hooked { inner, hook }
    }

    /// Returns the hook.
    pub fn hook(&self) -> &Arc<H> {
        &self.hook
    }

    /// Returns the inner file system, which the hook does not see.
    pub fn inner(&self) -> &Arc<dyn FileSystem> {
        &self.inner
    }

    fn run<T>(&self, op: Op, path: &Path, act: impl FnOnce(&dyn FileSystem) -> Result<T>) -> Result<T> {
        self.run_as((op, Detail::Other), path, act)
    }

    fn run_as<T>(
        &self,
        (op, detail): (Op, Detail),
        path: &Path,
        act: impl FnOnce(&dyn FileSystem) -> Result<T>,
    ) -> Result<T> {
        around(&*self.hook, Call { op, detail, path, offset: 0, bytes: 0 }, || act(&*self.inner))
    }

    fn handle<T>(&self, kind: HandleKind, inner: T, path: &Path) -> Handle<T, H> {
        Handle { kind, inner, hook: self.hook.clone(), path: path.to_path_buf(), offset: 0 }
    }

    fn append(&self, inner: Box<dyn Append>, path: &Path) -> Box<dyn Append> {
        Box::new(self.handle(HandleKind::Append, inner, path))
    }
}

/// Runs a call that returns a result and moves no bytes. The call cannot be skipped, because a skipped call has no
/// result.
fn around<T>(hook: &impl Hook, call: Call<'_>, act: impl FnOnce() -> Result<T>) -> Result<T> {
    if hook.is_idle() {
        return act();
    }
    match hook.before(&call) {
        Verdict::Fail(e) | Verdict::Part(_, Some(e)) => {
            hook.after(&call, Some(&e));
            Err(e)
        }
        Verdict::Go | Verdict::Part(_, None) | Verdict::Skip => {
            let outcome = act();
            hook.after(&call, outcome.as_ref().err());
            outcome
        }
    }
}

fn around_unit(hook: &impl Hook, call: Call<'_>, act: impl FnOnce() -> Result<()>) -> Result<()> {
    if hook.is_idle() {
        return act();
    }
    match hook.before(&call) {
        Verdict::Fail(e) | Verdict::Part(_, Some(e)) => {
            hook.after(&call, Some(&e));
            Err(e)
        }
        Verdict::Skip => {
            hook.after(&call, None);
            Ok(())
        }
        Verdict::Go | Verdict::Part(_, None) => {
            let outcome = act();
            hook.after(&call, outcome.as_ref().err());
            outcome
        }
    }
}

fn around_read(
    hook: &impl Hook,
    mut call: Call<'_>,
    buffer: &mut [u8],
    read: impl FnOnce(&mut [u8]) -> Result<usize>,
) -> Result<usize> {
    if hook.is_idle() {
        return read(buffer);
    }
    let outcome = match hook.before(&call) {
        Verdict::Go => read(buffer),
        Verdict::Skip => Ok(0),
        Verdict::Fail(e) => Err(e),
        Verdict::Part(n, error) => {
            let n = n.min(buffer.len());
            let outcome = read(&mut buffer[..n]);
            error.map_or(outcome, Err)
        }
    };
    call.bytes = *outcome.as_ref().unwrap_or(&0);
    hook.after(&call, outcome.as_ref().err());
    outcome
}

impl<H: Hook> FileSystem for Hooked<H> {
    fn name(&self) -> &'static str {
        self.hook.name()
    }

    fn open_random(&self, path: &Path, hints: &ReadHints) -> Result<Arc<dyn RandomRead>> {
        let file = self.run(Op::Open, path, |fs| fs.open_random(path, hints))?;
        Ok(Arc::new(self.handle(HandleKind::Random, file, path)))
    }

    fn open_sequential(&self, path: &Path) -> Result<Box<dyn SequentialRead>> {
        let file = self.run_as((Op::Open, Detail::Sequential), path, |fs| fs.open_sequential(path))?;
        Ok(Box::new(self.handle(HandleKind::Sequential, file, path)))
    }

    fn create(&self, path: &Path, hints: &AppendHints) -> Result<Box<dyn Append>> {
        let file = self.run(Op::Create, path, |fs| fs.create(path, hints))?;
        Ok(self.append(file, path))
    }

    fn create_new(&self, path: &Path, hints: &AppendHints) -> Result<Box<dyn Append>> {
        let file = self.run(Op::Create, path, |fs| fs.create_new(path, hints))?;
        Ok(self.append(file, path))
    }

    fn reopen(&self, path: &Path, hints: &AppendHints) -> Result<Box<dyn Append>> {
        let file = self.run(Op::Reopen, path, |fs| fs.reopen(path, hints))?;
        Ok(self.append(file, path))
    }

    fn reuse(&self, old: &Path, new: &Path, hints: &AppendHints) -> Result<Box<dyn Append>> {
        let file = self.run(Op::Reuse, new, |fs| fs.reuse(old, new, hints))?;
        Ok(self.append(file, new))
    }

    fn open_dir(&self, path: &Path) -> Result<Arc<dyn Dir>> {
        let dir = self.run_as((Op::Open, Detail::Directory), path, |fs| fs.open_dir(path))?;
        Ok(Arc::new(self.handle(HandleKind::Dir, dir, path)))
    }

    fn rename(&self, old: &Path, new: &Path) -> Result<()> {
        // The hook gets the new path: a fault plan names the file that a rename creates, for example CURRENT.
        let call = Call { op: Op::Rename, detail: Detail::Other, path: new, offset: 0, bytes: 0 };
        around_unit(&*self.hook, call, || self.inner.rename(old, new))
    }

    fn link(&self, source: &Path, target: &Path) -> Result<()> {
        self.run(Op::Link, target, |fs| fs.link(source, target))
    }

    fn unlink(&self, path: &Path) -> Result<()> {
        let call = Call { op: Op::Unlink, detail: Detail::Other, path, offset: 0, bytes: 0 };
        around_unit(&*self.hook, call, || self.inner.unlink(path))
    }

    fn list(&self, path: &Path) -> Result<Vec<String>> {
        self.run(Op::List, path, |fs| fs.list(path))
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        self.run_as((Op::Status, Detail::Exists), path, |fs| fs.exists(path))
    }

    fn is_dir(&self, path: &Path) -> Result<bool> {
        self.run(Op::Status, path, |fs| fs.is_dir(path))
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        self.run(Op::CreateDir, path, |fs| fs.create_dir_all(path))
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        self.run_as((Op::CreateDir, Detail::NewDirectory), path, |fs| fs.create_dir(path))
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.run(Op::RemoveDir, path, |fs| fs.remove_dir(path))
    }

    fn file_size(&self, path: &Path) -> Result<u64> {
        self.run(Op::Status, path, |fs| fs.file_size(path))
    }

    fn modified(&self, path: &Path) -> Result<u64> {
        self.run_as((Op::Status, Detail::Modified), path, |fs| fs.modified(path))
    }

    fn link_count(&self, path: &Path) -> Result<u64> {
        self.run(Op::Status, path, |fs| fs.link_count(path))
    }

    fn truncate(&self, path: &Path, size: u64) -> Result<()> {
        self.run(Op::Truncate, path, |fs| fs.truncate(path, size))
    }

    fn lock(&self, path: &Path) -> Result<Box<dyn FileLock>> {
        self.run(Op::Lock, path, |fs| fs.lock(path))
    }

    fn free_space(&self, path: &Path) -> Result<u64> {
        self.run(Op::Status, path, |fs| fs.free_space(path))
    }

    fn same_file(&self, a: &Path, b: &Path) -> Result<bool> {
        self.run(Op::Status, a, |fs| fs.same_file(a, b))
    }

    fn io_tracer(&self) -> Option<&dyn Any> {
        self.hook.io_tracer().or_else(|| self.inner.io_tracer())
    }

    fn host_name(&self) -> String {
        self.inner.host_name()
    }

    fn canonicalize(&self, path: &Path) -> Result<PathBuf> {
        self.run(Op::Status, path, |fs| fs.canonicalize(path))
    }
}

/// A handle of a file or a directory, with the hook.
struct Handle<T, H: Hook> {
    kind: HandleKind,
    inner: T,
    hook: Arc<H>,
    path: PathBuf,
    /// The position of a sequential read.
    offset: u64,
}

impl<T, H: Hook> Drop for Handle<T, H> {
    fn drop(&mut self) {
        self.hook.dropped(self.kind);
    }
}

impl<T, H: Hook> Handle<T, H> {
    fn call(&self, op: Op, offset: u64, bytes: usize) -> Call<'_> {
        Call { op, detail: Detail::Other, path: &self.path, offset, bytes }
    }
}

impl<T: fmt::Debug, H: Hook> fmt::Debug for Handle<T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<H: Hook> RandomRead for Handle<Arc<dyn RandomRead>, H> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        if self.hook.is_idle() {
            return self.inner.read_at(offset, buffer);
        }
        let call = self.call(Op::Read, offset, buffer.len());
        around_read(&*self.hook, call, buffer, |b| self.inner.read_at(offset, b))
    }

    fn read_to(&self, offset: u64, length: usize, buffer: &mut Vec<u8>) -> Result<()> {
        if self.hook.is_idle() {
            return self.inner.read_to(offset, length, buffer);
        }
        buffer.resize(length, 0);
        let got = self.read_at(offset, buffer)?;
        buffer.truncate(got);
        Ok(())
    }

    fn multi_read(&self, requests: &mut [ReadRequest<'_>]) {
        if self.hook.is_idle() {
            return self.inner.multi_read(requests);
        }
        // Run the requests one by one, because the hook decides about each request.
        for r in requests {
            r.outcome = self.read_at(r.offset, r.buffer);
        }
    }

    fn read_ready(&self, offset: u64, buffer: &mut [u8]) -> bool {
        if self.hook.is_idle() {
            return self.inner.read_ready(offset, buffer);
        }
        self.prefetch(offset, buffer.len() as u64);
        false
    }

    fn size(&self) -> Result<u64> {
        around(&*self.hook, self.call(Op::Status, 0, 0), || self.inner.size())
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn prefetch(&self, offset: u64, length: u64) -> bool {
        self.inner.prefetch(offset, length)
    }

    fn advise(&self, pattern: Pattern) {
        self.inner.advise(pattern);
    }

    fn invalidate(&self, offset: u64, length: u64) {
        self.inner.invalidate(offset, length);
    }

    fn alignment(&self) -> usize {
        self.inner.alignment()
    }
}

impl<H: Hook> SequentialRead for Handle<Box<dyn SequentialRead>, H> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let (inner, hook) = (&mut self.inner, &*self.hook);
        let call = Call {
            op: Op::Read,
            detail: Detail::Other,
            path: &self.path,
            offset: self.offset,
            bytes: buffer.len(),
        };
        let n = around_read(hook, call, buffer, |b| inner.read(b))?;
        self.offset += n as u64;
        Ok(n)
    }

    fn skip(&mut self, bytes: u64) -> Result<()> {
        self.offset = self.offset.saturating_add(bytes);
        self.inner.skip(bytes)
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl<H: Hook> Handle<Box<dyn Append>, H> {
    fn act(&mut self, op: Op, act: impl FnOnce(&mut dyn Append) -> Result<()>) -> Result<()> {
        self.act_as((op, Detail::Other), act)
    }

    fn act_as(
        &mut self,
        (op, detail): (Op, Detail),
        act: impl FnOnce(&mut dyn Append) -> Result<()>,
    ) -> Result<()> {
        let (inner, hook) = (&mut *self.inner, &*self.hook);
        if hook.is_idle() {
            return act(inner);
        }
        let call = Call { op, detail, path: &self.path, offset: inner.size(), bytes: 0 };
        around_unit(hook, call, || act(inner))
    }
}

impl<H: Hook> Append for Handle<Box<dyn Append>, H> {
    fn append(&mut self, data: &[u8]) -> Result<()> {
        if self.hook.is_idle() {
            return self.inner.append(data);
        }
        let call = self.call(Op::Append, self.inner.size(), data.len());
        let verdict = self.hook.before(&call);
        let outcome = match verdict {
            Verdict::Go => self.inner.append(data),
            Verdict::Fail(e) => Err(e),
            Verdict::Skip => Ok(()),
            Verdict::Part(n, error) => {
                let outcome = self.inner.append(&data[..n.min(data.len())]);
                error.map_or(outcome, Err)
            }
        };
        let call = self.call(Op::Append, self.inner.size(), data.len());
        self.hook.after(&call, outcome.as_ref().err());
        outcome
    }

    fn flush(&mut self) -> Result<()> {
        self.act(Op::Flush, |f| f.flush())
    }

    fn sync(&mut self) -> Result<()> {
        self.act(Op::Sync, |f| f.sync())
    }

    fn fsync(&mut self) -> Result<()> {
        self.act_as((Op::Sync, Detail::Fsync), |f| f.fsync())
    }

    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn range_sync(&mut self, offset: u64, length: u64, strict: bool) -> Result<()> {
        self.act(Op::RangeSync, |f| f.range_sync(offset, length, strict))
    }

    fn preallocate(&mut self, offset: u64, length: u64) -> Result<()> {
        self.act(Op::Preallocate, |f| f.preallocate(offset, length))
    }

    fn truncate(&mut self, size: u64) -> Result<()> {
        self.act(Op::Truncate, |f| f.truncate(size))
    }

    fn invalidate(&mut self, offset: u64, length: u64) {
        self.inner.invalidate(offset, length);
    }

    fn syncer(&self) -> Arc<dyn Syncer> {
        Arc::new(Handle {
            kind: HandleKind::Syncer,
            inner: self.inner.syncer(),
            hook: self.hook.clone(),
            path: self.path.clone(),
            offset: 0,
        })
    }

    fn close(&mut self) -> Result<()> {
        self.act(Op::Close, |f| f.close())
    }
}

impl<H: Hook> Syncer for Handle<Arc<dyn Syncer>, H> {
    fn sync(&self) -> Result<()> {
        around_unit(&*self.hook, self.call(Op::Sync, 0, 0), || self.inner.sync())
    }
}

impl<H: Hook> Dir for Handle<Arc<dyn Dir>, H> {
    fn sync(&self) -> Result<()> {
        around_unit(&*self.hook, self.call(Op::SyncDir, 0, 0), || self.inner.sync())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}
