//! CURRENT and IDENTITY: small files that are never changed in place. A rename replaces the whole file.

use std::path::Path;

use base::{Error, FileNumber, Result};
use env::Env;
use format::names;

/// CURRENT holds one line with the name of a MANIFEST. A longer file is not a CURRENT file.
const CURRENT_BYTES_MAX: u64 = 4096;

/// Returns the number of the MANIFEST that CURRENT names.
///
/// # Errors
/// Corruption with the path of CURRENT. `PathNotFound` if CURRENT does not exist.
pub fn read_current(env: &Env, dir: &Path) -> Result<FileNumber> {
    let path = dir.join(names::CURRENT);
    let content = env.fs.read_all(&path, CURRENT_BYTES_MAX)?;
    names::parse_current(&content).map_err(|e| e.doing("reading CURRENT").file(&path))
}

/// Makes CURRENT name a MANIFEST. The MANIFEST must be durable.
pub fn write_current(env: &Env, dir: &Path, number: FileNumber) -> Result<()> {
    replace(env, dir, &names::temp(number), names::CURRENT, names::current_content(number).as_bytes())
}

/// Writes the id of the database to IDENTITY.
pub fn write_identity(env: &Env, dir: &Path, id: &str) -> Result<()> {
    replace(env, dir, names::IDENTITY_TEMP, names::IDENTITY, id.as_bytes())
}

pub(super) fn replace(env: &Env, dir: &Path, temp: &str, name: &str, content: &[u8]) -> Result<()> {
    let (temp, path) = (dir.join(temp), dir.join(name));
    let doing = |e: Error| e.doing(format!("writing {name}"));
    let written = env.fs.write_all(&temp, content, true).and_then(|()| env.fs.rename(&temp, &path));
    if let Err(error) = written {
        let _ = env.fs.unlink(&temp);
        return Err(doing(error));
    }
    env.fs.open_dir(dir).and_then(|d| d.sync()).map_err(doing)
}
