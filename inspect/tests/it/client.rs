//! A client of the server: raw requests over TCP, and helpers to make directories.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use env::Env;
use ironstone_inspect::model::live::{Change, Counters, Live, Running};
use ironstone_inspect::web::guard::Secrets;
use ironstone_inspect::web::pages::Site;
use ironstone_inspect::web::server::Server;

/// A running server. Its thread ends with the process.
pub struct Served {
    pub secrets: Arc<Secrets>,
    pub url: String,
}

/// The answer of the server.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// Starts a server for a path.
pub fn serve(path: &Path) -> Served {
    let server = Server::bind(Site::new(Env::posix(), path.to_path_buf())).unwrap();
    start(server.with_head_time(Duration::from_millis(1500)))
}

/// A running database that counts changes and does not make them.
#[derive(Default)]
pub struct Counts {
    changes: std::sync::atomic::AtomicU64,
}

impl Counts {
    /// Returns the number of changes that the server asked for.
    pub fn changes(&self) -> u64 {
        self.changes.load(std::sync::atomic::Ordering::SeqCst)
    }
}

impl Running for Counts {
    fn facts(&self) -> Live {
        Live::default()
    }

    fn counters(&self) -> Counters {
        Counters::default()
    }

    fn change(&self, _change: &Change) -> Result<String, String> {
        self.changes.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        Ok("done".to_string())
    }
}

/// Starts a server for a golden database that allows changes.
pub fn serve_counted() -> (Served, Arc<Counts>) {
    let counts = Arc::new(Counts::default());
    let running: Arc<dyn Running> = Arc::clone(&counts) as Arc<dyn Running>;
    let site = Site::new(Env::posix(), golden("levels")).with_running(running);
    let server = Server::bind(site).unwrap().allow_changes().unwrap();
    (start(server.with_head_time(Duration::from_millis(1500))), counts)
}

/// Runs a server on a thread that ends with the process.
pub fn start(server: Server) -> Served {
    let (secrets, url) = (server.secrets(), server.url());
    std::thread::spawn(move || server.run());
    Served { secrets, url }
}

/// Returns the client of a server. `url` is the first address of the server.
pub fn client_of(url: &str) -> Served {
    let (root, entry) = url.split_once("/?token=").unwrap();
    let port: u16 = root.rsplit(':').next().unwrap().parse().unwrap();
    let mut secrets = Secrets { port, entry: entry.to_string(), cookie: String::new(), change: None };
    let first = Served { secrets: Arc::new(secrets.clone()), url: url.to_string() };
    let request = format!("GET /?token={entry} HTTP/1.1\r\nHost: {}\r\n\r\n", first.host());
    let head = first.raw(request.as_bytes()).unwrap().head;
    let (_, cookie) = head.split_once(&format!("{}=", secrets.cookie_name())).unwrap();
    secrets.cookie = cookie.split(';').next().unwrap().to_string();
    Served { secrets: Arc::new(secrets), url: url.to_string() }
}

impl Served {
    /// Sends bytes and returns the answer. Returns `None` if the server closes the connection without an answer.
    pub fn raw(&self, bytes: &[u8]) -> Option<Reply> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.secrets.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // The server may close the connection before it has read all bytes.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Reply { status, head: head.to_string(), body: body.to_string() })
    }

    /// Returns the value of the `Host` header.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.secrets.port)
    }

    /// Returns the value of the `Cookie` header.
    pub fn cookie(&self) -> String {
        format!("{}={}", self.secrets.cookie_name(), self.secrets.cookie)
    }

    /// Requests a page as a browser with the cookie does.
    pub fn page(&self, target: &str) -> Reply {
        let text = format!(
            "GET {target} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\nSec-Fetch-Site: same-origin\r\n\r\n",
            self.host(),
            self.cookie()
        );
        self.raw(text.as_bytes()).unwrap()
    }
}

/// Returns the path of a golden database.
pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/golden").join(name)
}

/// Returns the golden databases that consist of one sound directory.
pub fn sound_databases() -> Vec<PathBuf> {
    let root = golden("");
    let mut names: Vec<String> = std::fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| root.join(name).join("CURRENT").exists())
        .collect();
    names.sort();
    names.into_iter().map(|name| root.join(name)).collect()
}

/// Returns the names and bytes of the files of a directory.
pub fn content(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            out.push((
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read(&path).unwrap(),
            ));
        }
    }
    out.sort();
    out
}
