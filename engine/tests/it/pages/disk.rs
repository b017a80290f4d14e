//! Commands about the files of a page: they show and damage the bytes on the disk.

use std::path::{Path, PathBuf};

use env::fs::FileSystem;

use super::draw;
use super::observe::lines;
use super::world::World;

/// Longer files are an error of the page.
const LIMIT_BYTES: u64 = 1 << 24;

impl World {
    fn names(&self) -> Vec<String> {
        let mut names = self.disk.list(Path::new("/db")).unwrap_or_default();
        names.sort();
        names
    }

    fn bytes(&self, path: &Path) -> base::Result<Vec<u8>> {
        (&self.disk as &dyn FileSystem).read_all(path, LIMIT_BYTES)
    }

    /// Returns the path of a file. `NAME*` is the last file with this start, `*NAME` is the last file with this end.
    fn file(&self, name: &str) -> PathBuf {
        let fits = |other: &&String| match (name.strip_suffix('*'), name.strip_prefix('*')) {
            (Some(start), _) => other.starts_with(start),
            (_, Some(end)) => other.ends_with(end),
            _ => *other == name,
        };
        let names = self.names();
        self.path(names.iter().rfind(fits).map_or(name, String::as_str))
    }

    fn damage(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        assert!(self.disk.damage(&self.file(name), change), "no file {name}");
    }

    /// Runs a command about files. Returns `None` if the command is another one.
    pub fn on_disk(&mut self, words: &[&str]) -> base::Result<Option<String>> {
        let at = |word: &str, len: usize| {
            let at: i64 = word.parse().expect("an offset");
            if at < 0 { len - at.unsigned_abs() as usize } else { at as usize }
        };
        match words {
            ["files"] => return Ok(Some(self.names().join(" "))),
            ["files", part] => {
                let names = self.names().into_iter();
                let names = names.filter(|name| name.ends_with(part) || name.starts_with(part));
                return Ok(Some(names.collect::<Vec<_>>().join(" ")));
            }
            ["size", name] => return Ok(Some(self.bytes(&self.file(name))?.len().to_string())),
            ["wals"] => {
                let names =
                    self.names().into_iter().filter_map(|name| name.strip_suffix(".log")?.parse().ok());
                let draw = |number: u64| {
                    let bytes = self.bytes(&self.path(&format!("{number:06}.log"))).unwrap_or_default();
                    draw::wal(number, &bytes).trim_end().to_string()
                };
                return Ok(Some(lines(names.map(draw))));
            }
            ["manifest"] => return Ok(Some(draw::manifest(&self.bytes(&self.file("MANIFEST-*"))?))),
            ["show", name] => {
                let text = String::from_utf8_lossy(&self.bytes(&self.file(name))?).into_owned();
                return Ok(Some(text));
            }
            ["flip", name, offset, bit] => {
                let bit: u32 = bit.parse().expect("a bit");
                self.damage(name, |bytes| {
                    let at = at(offset, bytes.len());
                    bytes[at] ^= 1 << bit;
                });
            }
            ["cut", name, len] => self.damage(name, |bytes| bytes.truncate(at(len, bytes.len()))),
            ["zero", name, from, to] => self.damage(name, |bytes| {
                let (from, to) = (at(from, bytes.len()), at(to, bytes.len()));
                bytes[from..to].fill(0);
            }),
            ["write-over", name, offset, text] => self.damage(name, |bytes| {
                let at = at(offset, bytes.len());
                bytes[at..at + text.len()].copy_from_slice(text.as_bytes());
            }),
            ["add-zeros", name, count] => {
                let count: usize = count.parse().expect("a count");
                self.damage(name, |bytes| bytes.resize(bytes.len() + count, 0));
            }
            ["repeat", name, from, to] => self.damage(name, |bytes| {
                let part = bytes[at(from, bytes.len())..at(to, bytes.len())].to_vec();
                bytes.extend_from_slice(&part);
            }),
            ["remove", name] => self.disk.unlink(&self.file(name))?,
            ["copy", from, to] => {
                let bytes = self.bytes(&self.file(from))?;
                self.store(to, &bytes)?;
            }
            ["write", name, text @ ..] => self.store(name, text.join(" ").as_bytes())?,
            _ => return Ok(None),
        }
        Ok(Some(String::new()))
    }

    fn store(&self, name: &str, bytes: &[u8]) -> base::Result<()> {
        let mut file = self.disk.create(&self.path(name), &env::AppendHints::default())?;
        file.append(bytes)?;
        file.sync()?;
        self.disk.open_dir(Path::new("/db"))?.sync()
    }
}
