//! x
use std::path::{Path, PathBuf};
use std::sync::Arc;
use base::Result;
use crate::fs::*;

#[derive(Debug)]
pub struct PosixFs {}

pub fn thread_cpu_nanos() -> u64 { 0 }
pub fn local_offset_seconds(_: u64) -> i64 { 0 }
pub fn entropy() -> u64 { 0 }
impl PosixFs { pub fn new() -> Self { PosixFs {} } }
impl FileSystem for PosixFs {
    fn name(&self) -> &'static str { todo!() }
    fn open_random(&self, _: &Path, _: &ReadHints) -> Result<Arc<dyn RandomRead>> { todo!() }
    fn open_sequential(&self, _: &Path) -> Result<Box<dyn SequentialRead>> { todo!() }
    fn create(&self, _: &Path, _: &AppendHints) -> Result<Box<dyn Append>> { todo!() }
    fn reopen(&self, _: &Path, _: &AppendHints) -> Result<Box<dyn Append>> { todo!() }
    fn reuse(&self, _: &Path, _: &Path, _: &AppendHints) -> Result<Box<dyn Append>> { todo!() }
    fn open_dir(&self, _: &Path) -> Result<Arc<dyn Dir>> { todo!() }
    fn rename(&self, _: &Path, _: &Path) -> Result<()> { todo!() }
    fn link(&self, _: &Path, _: &Path) -> Result<()> { todo!() }
    fn unlink(&self, _: &Path) -> Result<()> { todo!() }
    fn list(&self, _: &Path) -> Result<Vec<String>> { todo!() }
    fn exists(&self, _: &Path) -> Result<bool> { todo!() }
    fn is_dir(&self, _: &Path) -> Result<bool> { todo!() }
    fn create_dir_all(&self, _: &Path) -> Result<()> { todo!() }
    fn create_dir(&self, _: &Path) -> Result<()> { todo!() }
    fn remove_dir(&self, _: &Path) -> Result<()> { todo!() }
    fn file_size(&self, _: &Path) -> Result<u64> { todo!() }
    fn modified(&self, _: &Path) -> Result<u64> { todo!() }
    fn link_count(&self, _: &Path) -> Result<u64> { todo!() }
    fn truncate(&self, _: &Path, _: u64) -> Result<()> { todo!() }
    fn lock(&self, _: &Path) -> Result<Box<dyn FileLock>> { todo!() }
    fn free_space(&self, _: &Path) -> Result<u64> { todo!() }
    fn same_file(&self, _: &Path, _: &Path) -> Result<bool> { todo!() }
    fn canonicalize(&self, _: &Path) -> Result<PathBuf> { todo!() }
}
