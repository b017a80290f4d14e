//! The HTML of each page.

mod activity;
mod data;
mod doctor;
mod layout;
mod logs;
mod memory;
mod options;
mod overview;
mod tree;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use env::Env;

use super::guard::Target;
use crate::bundle;
use crate::model::{Budget, Database, load};
use layout::{message, page};

/// An answer of the server.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub kind: &'static str,
    pub body: String,
    /// Location and cookie.
    pub redirect: Option<(&'static str, String)>,
}

const HTML: &str = "text/html; charset=utf-8";

impl Answer {
    /// Returns an answer in place of a page.
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
    cached: Mutex<Option<(Signature, Arc<Database>)>>,
}

/// Names, sizes and times of the files: the facts are read again if the signature changes.
type Signature = Vec<(String, u64, u64)>;

/// What a page is made of.
pub(crate) struct View<'a> {
    pub env: &'a Env,
    pub dir: &'a std::path::Path,
    pub db: &'a Database,
    pub target: &'a Target,
}

impl View<'_> {
    /// Returns a parameter, or 0.
    fn number(&self, name: &str) -> u64 {
        self.target.numbers.get(name).copied().unwrap_or(0)
    }

    /// Returns true if the files themselves can be opened.
    fn has_files(&self) -> bool {
        self.db.source == crate::model::Source::Directory
    }
}

impl Site {
    /// Returns the site of a directory, a bundle, or an info log.
    pub fn new(env: Env, path: PathBuf) -> Site {
        Site { env, path, cached: Mutex::new(None) }
    }

    /// Renders a page.
    pub fn answer(&self, target: &Target) -> Answer {
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
        let view = View { env: &self.env, dir: &self.path, db: &db, target };
        let (title, body) = match target.page.as_str() {
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
        };
        let markup = page(&db, &target.page, &title, &body);
        Answer { status: 200, kind: HTML, body: markup.into_string(), redirect: None }
    }

    /// Returns the facts, from memory if no file changed.
    fn database(&self) -> base::Result<Arc<Database>> {
        let signature = self.signature();
        if let Ok(cached) = self.cached.lock()
            && let Some((known, db)) = &*cached
            && *known == signature
        {
            return Ok(Arc::clone(db));
        }
        let is_bundle = !self.env.fs.is_dir(&self.path)? && bundle::is_bundle(&self.env, &self.path)?;
        let db = match is_bundle {
            true => bundle::read(&self.env, &self.path)?,
            false => load(&self.env, &self.path, &Budget::PAGE)?,
        };
        let db = Arc::new(db);
        if let Ok(mut cached) = self.cached.lock() {
            *cached = Some((signature, Arc::clone(&db)));
        }
        Ok(db)
    }

    fn signature(&self) -> Signature {
        let names = self.env.fs.list(&self.path).unwrap_or_default();
        let of = |name: String| {
            let path = self.path.join(&name);
            (name, self.env.fs.file_size(&path).unwrap_or(0), self.env.fs.modified(&path).unwrap_or(0))
        };
        names.into_iter().map(of).collect()
    }
}
