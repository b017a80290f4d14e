//! The HTML of each page.

mod activity;
mod change;
mod compare;
mod data;
mod disk;
mod doctor;
mod layout;
mod live;
mod logs;
mod memory;
mod moments;
mod only_log;
mod options;
mod overview;
mod tree;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use env::Env;
use env::sync::Mutex;

use super::guard::{Asked, Target};
use crate::bundle;
use crate::model::live::{History, Live, Running, Sample};
use crate::model::places::others;
use crate::model::{Budget, Database, load_after};
use layout::{message, page};
use moments::Moments;

/// The period of reading the counters of a running database.
const SAMPLE_PERIOD: Duration = Duration::from_secs(2);

/// An answer of the server.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub kind: &'static str,
    pub body: String,
    /// The location and the cookie.
    pub redirect: Option<(&'static str, String)>,
}

const HTML: &str = "text/html; charset=utf-8";

impl Answer {
    /// Returns an answer for a request that gets no page.
    pub fn refusal(status: u16, why: &str) -> Answer {
        let kind = "text/plain; charset=utf-8";
        Answer { status, kind, body: format!("{status}: {why}\n"), redirect: None }
    }

    /// Returns an answer that sets the cookie.
    pub fn redirect(location: &'static str, cookie: String) -> Answer {
        Answer { status: 303, kind: HTML, body: String::new(), redirect: Some((location, cookie)) }
    }
}

/// The database that the pages show.
pub struct Site {
    env: Env,
    path: PathBuf,
    /// The directory or bundle that the pages compare with.
    other: Option<PathBuf>,
    /// The open database, if its process serves the pages.
    running: Option<Arc<dyn Running>>,
    cached: Mutex<Option<(Signature, Arc<Database>)>>,
    /// Held while the directory is read, so that only one read runs at a time.
    reading: Mutex<()>,
    moments: Mutex<Moments>,
    history: Mutex<History>,
}

/// The names, sizes and times of the files. If they change, the facts are read again.
type Signature = Vec<(String, u64, u64)>;

/// The input of a page.
pub(crate) struct View<'a> {
    pub env: &'a Env,
    pub dir: &'a std::path::Path,
    pub db: &'a Database,
    pub target: &'a Target,
    pub site: &'a Site,
    /// The facts of the process, if the process serves the pages.
    pub live: Option<Live>,
    /// The token of a change, if changes are allowed.
    pub token: Option<&'a str>,
}

impl View<'_> {
    /// Returns the parameter with this name, or 0.
    fn number(&self, name: &str) -> u64 {
        self.target.numbers.get(name).copied().unwrap_or(0)
    }

    /// Returns the numbers of the files that a running compaction reads. The source is the process, or the info log
    /// without a process.
    fn compacting(&self) -> std::collections::BTreeSet<u64> {
        match &self.live {
            Some(live) => live.compacting.iter().copied().collect(),
            None => self.db.log.running.iter().flat_map(|job| job.inputs.iter().copied()).collect(),
        }
    }

    /// Returns true if the files themselves can be opened.
    fn has_files(&self) -> bool {
        self.db.source == crate::model::Source::Directory
    }
}

impl Site {
    /// Returns the site of a directory, a bundle, or an info log.
    pub fn new(env: Env, path: PathBuf) -> Site {
        Site {
            env,
            path,
            other: None,
            running: None,
            cached: Mutex::new(None),
            reading: Mutex::new(()),
            moments: Mutex::new(Moments::default()),
            history: Mutex::new(History::new(SAMPLE_PERIOD.as_micros() as u64)),
        }
    }

    /// Makes the pages compare with a directory or a bundle.
    pub fn with_other(mut self, other: PathBuf) -> Site {
        self.other = Some(other);
        self
    }

    /// Makes the pages show the facts that only the process with the open database knows.
    pub fn with_running(mut self, running: Arc<dyn Running>) -> Site {
        self.running = Some(running);
        self
    }

    /// Returns the period of the samples. Returns `None` without a running database.
    pub(super) fn sample_period(&self) -> Option<Duration> {
        self.running.as_ref().map(|_| SAMPLE_PERIOD)
    }

    /// Adds a sample to the history.
    pub(super) fn sample(&self) {
        if let Some(running) = &self.running {
            let counters = running.counters();
            self.history.lock().add(counters);
        }
    }

    /// Makes a change and renders the result.
    pub(super) fn change(&self, asked: Asked) -> Answer {
        match (&self.running, self.database()) {
            (Some(running), Ok(db)) => change::answer(&db, running.as_ref(), asked),
            _ => Answer::refusal(409, "no process has the database open here"),
        }
    }

    /// Renders a page. `token` is the token of a change, if changes are allowed.
    pub fn answer(&self, target: &Target, token: Option<&str>) -> Answer {
        if target.page == "/style.css" {
            let body = include_str!("../style.css").to_string();
            return Answer { status: 200, kind: "text/css; charset=utf-8", body, redirect: None };
        }
        let db = match self.database() {
            Ok(db) => db,
            Err(error) => {
                let markup = message("The database is not readable", error.message());
                return Answer { status: 500, kind: HTML, body: markup.into_string(), redirect: None };
            }
        };
        let live = self.running.as_ref().map(|running| running.facts());
        let view = View { env: &self.env, dir: &self.path, db: &db, target, site: self, live, token };
        let (title, body) = only_log::render(&view).unwrap_or_else(|| match target.page.as_str() {
            "/live" => live::render(&view),
            "/disk" => disk::render(&view),
            "/compare" => compare::render(&view),
            "/tree" => tree::render(&view),
            "/files" => data::files(&view),
            "/file" => data::file(&view),
            "/block" => data::block(&view),
            "/logs" => logs::list(&view),
            "/wal" | "/manifest" => logs::records(&view),
            "/record" => logs::record(&view),
            "/options" => options::render(&view),
            "/memory" => memory::memory(&view),
            "/tombstones" => memory::tombstones(&view),
            "/activity" => activity::render(&view),
            "/doctor" => doctor::render(&view),
            _ => overview::render(&view),
        });
        let markup = page(&db, self.running.is_some(), &target.page, &title, &body);
        Answer { status: 200, kind: HTML, body: markup.into_string(), redirect: None }
    }

    /// Returns the facts. They come from memory if no file changed.
    fn database(&self) -> base::Result<Arc<Database>> {
        let _one = self.reading.lock();
        let before = self.cached.lock().clone();
        let signature = self.signature(before.as_ref().map(|(_, db)| &**db));
        if let Some((known, db)) = &before
            && *known == signature
        {
            return Ok(Arc::clone(db));
        }
        let before = before.map(|(_, db)| db);
        let db = Arc::new(read(&self.env, &self.path, before.as_deref())?);
        let signature = if before.is_none() { self.signature(Some(&db)) } else { signature };
        *self.cached.lock() = Some((signature, Arc::clone(&db)));
        self.moments.lock().add(Arc::clone(&db));
        Ok(db)
    }

    /// Returns the facts of the path that the pages compare with. Returns `None` without such a path.
    fn other(&self) -> Option<base::Result<Database>> {
        self.other.as_ref().map(|path| read(&self.env, path, None))
    }

    /// Returns the samples of the history, oldest first.
    fn samples(&self) -> Vec<Sample> {
        self.history.lock().samples().to_vec()
    }

    /// `before` has the options that name the other directories of the database.
    fn signature(&self, before: Option<&Database>) -> Signature {
        let names = self.env.fs.list(&self.path).unwrap_or_default();
        let of = |name: String| {
            let path = self.path.join(&name);
            // An SST file never changes after its last byte is written.
            let size = self.env.fs.file_size(&path).unwrap_or(0);
            let is_table = name.ends_with(".sst");
            let modified = if is_table { 0 } else { self.env.fs.modified(&path).unwrap_or(0) };
            (name, size, modified)
        };
        let others = before.map(|db| others(&self.env, &self.path, db, &mut Vec::new())).unwrap_or_default();
        let others = others.into_iter().map(|file| (file.name, file.size, file.modified));
        names.into_iter().map(of).chain(others).collect()
    }
}

/// Reads a directory, a bundle, or an info log.
fn read(env: &Env, path: &std::path::Path, before: Option<&Database>) -> base::Result<Database> {
    let is_bundle = !env.fs.is_dir(path)? && bundle::is_bundle(env, path)?;
    if is_bundle { bundle::read(env, path) } else { load_after(env, path, &Budget::PAGE, before) }
}
