//! A file's bytes in another one.

use std::path::Path;

use base::Result;
use env::{AppendHints, FileSystem};

const CHUNK_LEN: usize = 256 << 10;

/// Makes `to` what `from` is, and syncs it, but not its name. Its size.
pub fn copy(fs: &dyn FileSystem, from: &Path, to: &Path) -> Result<u64> {
    let mut source = fs.open_sequential(from)?;
    let mut target = fs.create(to, &AppendHints::default())?;
    let mut buffer = vec![0; CHUNK_LEN];
    loop {
        let got = source.read(&mut buffer)?;
        if got == 0 {
            break;
        }
        target.append(&buffer[..got])?;
    }
    target.sync()?;
    let size = target.size();
    target.close()?;
    Ok(size)
}
