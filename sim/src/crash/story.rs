//! The story of a run: the steps of the rig as text, printed with a failure.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use env::Env;
use parking_lot::Mutex;

/// The text of a run. A fork of the world adds to the text of its origin.
#[derive(Clone)]
pub(super) struct Story {
    text: Arc<Mutex<String>>,
    /// True if the story also has the files and the info log (`IRONSTONE_STORY`).
    pub at_length: bool,
}

impl Story {
    pub fn new() -> Story {
        Story { text: Arc::default(), at_length: std::env::var_os("IRONSTONE_STORY").is_some() }
    }

    /// Adds a line.
    pub fn tell(&self, line: impl AsRef<str>) {
        let mut text = self.text.lock();
        text.push_str(line.as_ref());
        text.push('\n');
    }

    /// Returns the text.
    pub fn text(&self) -> String {
        self.text.lock().clone()
    }

    /// Returns the length of the text, for [`Story::cut`].
    pub fn len(&self) -> usize {
        self.text.lock().len()
    }

    /// Removes the text after the first `len` bytes.
    pub fn cut(&self, len: usize) {
        self.text.lock().truncate(len);
    }

    /// Adds the files and the info log of the database, for the search for the cause of a failure.
    pub fn tell_files(&self, env: &Env) {
        let (dir, fs) = (Path::new("/db"), &env.fs);
        let names = fs.list(dir).unwrap_or_default();
        for name in names.iter().filter(|n| n.ends_with(".log")) {
            let bytes = fs.read_all(&dir.join(name), 1 << 20).unwrap_or_default();
            self.tell(format!("  {name}: {}", testkit::hex::upper(&bytes[..bytes.len().min(400)])));
        }
        for name in &names {
            self.tell(format!("  {name} {:?}", fs.file_size(&dir.join(name))));
        }
        if let Some(kept) = std::env::var_os("IRONSTONE_STORY").map(PathBuf::from).filter(|dir| dir.is_dir())
        {
            let to = kept.join(format!("{:02}", std::fs::read_dir(&kept).map_or(0, Iterator::count)));
            let _ = std::fs::create_dir(&to);
            for name in &names {
                let bytes = fs.read_all(&dir.join(name), 1 << 26).unwrap_or_default();
                let _ = std::fs::write(to.join(name), bytes);
            }
            self.tell(format!("  the files are in {}", to.display()));
        }
        let log = names.iter().find(|n| *n == "LOG").map(|n| fs.read_all(&dir.join(n), 1 << 20));
        if let Some(Ok(log)) = log {
            let text = String::from_utf8_lossy(&log).into_owned();
            text.lines().filter(|l| !l.contains("Options")).for_each(|l| self.tell(l));
        }
    }
}
