//! The names of a disk in memory: the live directories, the durable directories, and the journal of changes between
//! them.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use base::map::{HashMap, HashSet};

use super::node::FileNode;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct DirId(u64);

pub(crate) const ROOT: DirId = DirId(0);

#[derive(Clone)]
pub(crate) enum Entry {
    Dir(DirId),
    File(Arc<FileNode>),
}

/// The entries of a directory. The texts of names are shared, because forks and crashes copy all entries.
pub(crate) type Entries = BTreeMap<Arc<str>, Entry>;

/// Sets one name of a directory, or removes the name.
#[derive(Clone)]
pub(crate) struct Edit {
    pub dir: DirId,
    pub name: Arc<str>,
    pub to: Option<Entry>,
}

/// The edits of one operation. They become durable together.
pub(crate) type Change = Vec<Edit>;

pub(crate) struct Names {
    pub live: BTreeMap<DirId, Entries>,
    pub durable: BTreeMap<DirId, Entries>,
    /// The changes that are not durable yet, oldest first.
    pub journal: Vec<Change>,
    next_id: u64,
}

type Outcome<T> = Result<T, ErrorKind>;

impl Names {
    pub(crate) fn new() -> Self {
        let root = BTreeMap::from([(ROOT, Entries::new())]);
        Names { live: root.clone(), durable: root, journal: Vec::new(), next_id: 1 }
    }

    /// Returns a copy of all names for another disk. The copy has its own files.
    pub(crate) fn fork(&self) -> Self {
        let mut made: HashMap<*const FileNode, Arc<FileNode>> = HashMap::default();
        let mut copy = |entry: &mut Entry| {
            if let Entry::File(node) = entry {
                *node = made.entry(Arc::as_ptr(node)).or_insert_with(|| Arc::new(node.fork())).clone();
            }
        };
        let (mut live, mut durable, mut journal) =
            (self.live.clone(), self.durable.clone(), self.journal.clone());
        live.values_mut().chain(durable.values_mut()).flat_map(Entries::values_mut).for_each(&mut copy);
        journal.iter_mut().flatten().filter_map(|edit| edit.to.as_mut()).for_each(copy);
        Names { live, durable, journal, next_id: self.next_id }
    }

    /// Returns every file with its path and its bytes.
    pub(crate) fn image(&self) -> Vec<(PathBuf, Arc<Vec<u8>>)> {
        let mut out = Vec::new();
        let mut work = vec![(PathBuf::from("/"), ROOT)];
        while let Some((path, id)) = work.pop() {
            for (name, entry) in self.live.get(&id).into_iter().flatten() {
                match entry {
                    Entry::Dir(child) => work.push((path.join(&**name), *child)),
                    Entry::File(node) => out.push((path.join(&**name), node.state.read().live.clone())),
                }
            }
        }
        out
    }

    pub(crate) fn find(&self, path: &Path) -> Option<Entry> {
        match plain(path) {
            Some(text) => self.walk(text.split('/').filter(|name| !name.is_empty())),
            None => self.walk(parts(path).iter().map(String::as_str)),
        }
    }

    fn walk<'a>(&self, names: impl Iterator<Item = &'a str>) -> Option<Entry> {
        let mut at = &Entry::Dir(ROOT);
        for name in names {
            let Entry::Dir(id) = at else { return None };
            at = self.live.get(id)?.get(name)?;
        }
        Some(at.clone())
    }

    pub(crate) fn create_file(&mut self, path: &Path, now: u64) -> Outcome<Arc<FileNode>> {
        let (dir, name) = self.parent(path)?;
        let node = Arc::new(FileNode::new(now));
        self.change(vec![Edit { dir, name, to: Some(Entry::File(node.clone())) }]);
        Ok(node)
    }

    pub(crate) fn create_dir(&mut self, path: &Path) -> Outcome<()> {
        if self.find(path).is_some() {
            return Err(ErrorKind::AlreadyExists);
        }
        let (dir, name) = self.parent(path)?;
        let id = DirId(self.next_id);
        self.next_id += 1;
        self.live.insert(id, Entries::new());
        self.durable.insert(id, Entries::new());
        self.change(vec![Edit { dir, name, to: Some(Entry::Dir(id)) }]);
        Ok(())
    }

    pub(crate) fn create_dir_all(&mut self, path: &Path) -> Outcome<()> {
        let mut so_far = PathBuf::from("/");
        for name in parts(path) {
            so_far.push(name);
            match self.find(&so_far) {
                Some(Entry::Dir(_)) => {}
                Some(Entry::File(_)) => return Err(ErrorKind::NotADirectory),
                None => self.create_dir(&so_far)?,
            }
        }
        Ok(())
    }

    pub(crate) fn rename(&mut self, old: &Path, new: &Path) -> Outcome<()> {
        let moved = self.find(old).ok_or(ErrorKind::NotFound)?;
        let (from, to) = (self.parent(old)?, self.parent(new)?);
        if from == to {
            return Ok(());
        }
        match (&moved, self.find(new)) {
            (Entry::File(_), Some(Entry::Dir(_))) => return Err(ErrorKind::IsADirectory),
            (Entry::Dir(_), Some(Entry::File(_))) => return Err(ErrorKind::NotADirectory),
            (Entry::Dir(_), Some(Entry::Dir(id))) if !self.is_empty(id) => {
                return Err(ErrorKind::DirectoryNotEmpty);
            }
            // Both names belong to the same file: as in POSIX, the rename changes nothing.
            (Entry::File(a), Some(Entry::File(b))) if Arc::ptr_eq(a, &b) => return Ok(()),
            _ => {}
        }
        if matches!(moved, Entry::Dir(_)) && normal(new).starts_with(normal(old)) {
            return Err(ErrorKind::InvalidInput);
        }
        self.change(vec![
            Edit { dir: from.0, name: from.1, to: None },
            Edit { dir: to.0, name: to.1, to: Some(moved) },
        ]);
        Ok(())
    }

    pub(crate) fn link(&mut self, source: &Path, target: &Path) -> Outcome<()> {
        let entry = match self.find(source).ok_or(ErrorKind::NotFound)? {
            Entry::Dir(_) => return Err(ErrorKind::PermissionDenied),
            file => file,
        };
        if self.find(target).is_some() {
            return Err(ErrorKind::AlreadyExists);
        }
        let (dir, name) = self.parent(target)?;
        self.change(vec![Edit { dir, name, to: Some(entry) }]);
        Ok(())
    }

    pub(crate) fn unlink(&mut self, path: &Path) -> Outcome<()> {
        match self.find(path).ok_or(ErrorKind::NotFound)? {
            Entry::Dir(_) => Err(ErrorKind::IsADirectory),
            Entry::File(_) => self.remove(path),
        }
    }

    pub(crate) fn remove_dir(&mut self, path: &Path) -> Outcome<()> {
        match self.find(path).ok_or(ErrorKind::NotFound)? {
            Entry::File(_) => Err(ErrorKind::NotADirectory),
            Entry::Dir(id) if !self.is_empty(id) => Err(ErrorKind::DirectoryNotEmpty),
            Entry::Dir(_) => self.remove(path),
        }
    }

    pub(crate) fn list(&self, path: &Path) -> Outcome<Vec<String>> {
        match self.find(path).ok_or(ErrorKind::NotFound)? {
            Entry::File(_) => Err(ErrorKind::NotADirectory),
            Entry::Dir(id) => {
                Ok(self.live.get(&id).map_or(Vec::new(), |e| e.keys().map(|name| name.to_string()).collect()))
            }
        }
    }

    pub(crate) fn links_of(&self, node: &Arc<FileNode>) -> u64 {
        self.files().filter(|f| Arc::ptr_eq(f, node)).count() as u64
    }

    pub(crate) fn total_bytes(&self) -> u64 {
        self.files().map(|f| f.size()).sum()
    }

    fn files(&self) -> impl Iterator<Item = &Arc<FileNode>> {
        self.live.values().flat_map(Entries::values).filter_map(|e| match e {
            Entry::File(f) => Some(f),
            Entry::Dir(_) => None,
        })
    }

    /// Makes every change of the directory durable, and the earlier changes that these changes depend on.
    pub(crate) fn sync(&mut self, dir: DirId) {
        let mut needed: HashSet<(DirId, Arc<str>)> = HashSet::default();
        let mut taken = vec![false; self.journal.len()];
        for (i, change) in self.journal.iter().enumerate().rev() {
            if change.iter().any(|e| e.dir == dir || needed.contains(&(e.dir, e.name.clone()))) {
                taken[i] = true;
                needed.extend(change.iter().map(|e| (e.dir, e.name.clone())));
            }
        }
        let mut taken = taken.into_iter();
        let durable = &mut self.durable;
        self.journal.retain(|change| {
            let take = taken.next().unwrap_or(false);
            if take {
                apply(durable, change);
            }
            !take
        });
    }

    fn remove(&mut self, path: &Path) -> Outcome<()> {
        let (dir, name) = self.parent(path)?;
        self.change(vec![Edit { dir, name, to: None }]);
        Ok(())
    }

    fn is_empty(&self, id: DirId) -> bool {
        self.live.get(&id).is_none_or(Entries::is_empty)
    }

    fn change(&mut self, change: Change) {
        apply(&mut self.live, &change);
        self.journal.push(change);
    }

    fn parent(&self, path: &Path) -> Outcome<(DirId, Arc<str>)> {
        let (dir, name) =
            match plain(path).map(|text| text.trim_end_matches('/')).and_then(|text| text.rsplit_once('/')) {
                Some((dir, name)) => (self.find(Path::new(dir)), Arc::from(name)),
                None => {
                    let mut all = parts(path);
                    let name = all.pop().ok_or(ErrorKind::AlreadyExists)?;
                    (self.walk(all.iter().map(String::as_str)), Arc::from(name))
                }
            };
        match dir {
            Some(Entry::Dir(id)) => Ok((id, name)),
            Some(Entry::File(_)) => Err(ErrorKind::NotADirectory),
            None => Err(ErrorKind::NotFound),
        }
    }
}

pub(crate) fn apply(to: &mut BTreeMap<DirId, Entries>, change: &Change) {
    for edit in change {
        let entries = to.entry(edit.dir).or_default();
        match &edit.to {
            Some(entry) => entries.insert(edit.name.clone(), entry.clone()),
            None => entries.remove(&edit.name),
        };
    }
}

/// Returns the path from the root, with `.` and `..` resolved.
pub(crate) fn normal(path: &Path) -> PathBuf {
    Path::new("/").join(parts(path).iter().collect::<PathBuf>())
}

/// Returns the path as text, if no part of the path is `.` or `..`.
fn plain(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let is_dots = |name: &str| name == "." || name == "..";
    (!(text.contains("/.") || text.starts_with('.')) || !text.split('/').any(is_dots)).then_some(text)
}

fn parts(path: &Path) -> Vec<String> {
    let mut out = Vec::new();
    for c in path.components() {
        match c {
            Component::Normal(name) => out.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => drop(out.pop()),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    out
}
