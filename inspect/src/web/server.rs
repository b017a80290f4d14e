//! The server of the pages. It listens on loopback only, gives one answer for each connection, and limits sizes,
//! times and connections.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::guard::{self, HEAD_BYTES_MAX, Secrets, Verdict};
use super::pages::{Answer, Site};

/// The largest number of connections. More connections are closed.
const CONNECTIONS_MAX: usize = 32;
/// The pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// The time in which a client must send the head of its request.
const HEAD_TIME_MAX: Duration = Duration::from_secs(5);

/// The time in which a client must read the whole answer.
const WRITE_TIME_MAX: Duration = Duration::from_secs(10);

/// The time for which the server reads what a client sends after its request.
const DRAIN_TIME_MAX: Duration = Duration::from_millis(200);

/// The largest size of a page in bytes. A larger page is replaced by a message.
const PAGE_BYTES_MAX: usize = 16 << 20;

/// A server that is bound to a port and does not run yet.
pub struct Server {
    listener: TcpListener,
    secrets: Arc<Secrets>,
    site: Arc<Site>,
    head_time_max: Duration,
    answer_time_max: Duration,
    stopped: Arc<AtomicBool>,
}

/// A server that runs on its own threads. The server ends when the value is dropped: the drop closes the connections and waits
/// for the pages that are being made.
pub struct Serving {
    url: String,
    port: u16,
    stopped: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Serving {
    /// Returns the address to open in the browser. The address has the token.
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // The connection wakes the thread that accepts connections.
        let woken = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let (Ok(_), Some(thread)) = (woken, self.accepting.take()) {
            // The panic handler has printed a panic of the thread.
            let _ = thread.join();
        }
    }
}

impl Server {
    /// Binds a port of 127.0.0.1. The system chooses the port.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn bind(site: Site) -> std::io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let secrets = Secrets::new(listener.local_addr()?.port()).map_err(std::io::Error::other)?;
        let (secrets, site) = (Arc::new(secrets), Arc::new(site));
        let stopped = Arc::new(AtomicBool::new(false));
        let (head_time_max, answer_time_max) = (HEAD_TIME_MAX, WRITE_TIME_MAX);
        Ok(Server { listener, secrets, site, head_time_max, answer_time_max, stopped })
    }

    /// Allows changes. The pages of a running database then show forms, and the server accepts the forms.
    ///
    /// # Errors
    /// Errors of the system's entropy.
    pub fn allow_changes(mut self) -> std::io::Result<Server> {
        Arc::make_mut(&mut self.secrets).allow_changes().map_err(std::io::Error::other)?;
        Ok(self)
    }

    /// Sets the time in which a client must send its request. Default: 5 seconds.
    pub fn with_head_time(mut self, limit: Duration) -> Server {
        self.head_time_max = limit;
        self
    }

    /// Sets the time in which a client must read the whole answer. Default: 10 seconds.
    pub fn with_answer_time(mut self, limit: Duration) -> Server {
        self.answer_time_max = limit;
        self
    }

    /// Returns the address to open in the browser. The address has the token.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.secrets.port, self.secrets.entry)
    }

    /// Returns the secrets, for tests.
    pub fn secrets(&self) -> Arc<Secrets> {
        Arc::clone(&self.secrets)
    }

    /// Answers requests on threads of the server. The threads end when the result is dropped.
    ///
    /// # Errors
    /// Errors of the system, if a thread cannot start.
    pub fn start(self) -> std::io::Result<Serving> {
        let (url, port, stopped) = (self.url(), self.secrets.port, Arc::clone(&self.stopped));
        let thread = std::thread::Builder::new().name("inspector".to_string()).spawn(move || {
            // The thread ends with the listener. The listener then serves no page.
            let _ = self.run();
        })?;
        Ok(Serving { url, port, stopped, accepting: Some(thread) })
    }

    /// Answers requests until the process ends.
    ///
    /// # Errors
    /// The error of the listener that ends the server.
    pub fn run(self) -> std::io::Result<()> {
        let open = Arc::new(AtomicUsize::new(0));
        let mut pages = Pages::default();
        let _samples = Sampler::start(&self.site);
        for stream in self.listener.incoming() {
            if self.stopped.load(Ordering::SeqCst) {
                break;
            }
            let Ok(stream) = stream else {
                // A client may close its connection before the server accepts it. If no file descriptor is free, each
                // accept fails immediately, and the pause keeps the thread from using a whole processor.
                std::thread::park_timeout(ACCEPT_PAUSE);
                continue;
            };
            let slot = Slot::take(&open);
            if slot.others >= CONNECTIONS_MAX {
                continue;
            }
            let (secrets, site) = (Arc::clone(&self.secrets), Arc::clone(&self.site));
            let limit = (self.head_time_max, self.answer_time_max);
            // If no second descriptor is free or no thread can start, the connection is closed.
            let Ok(connection) = stream.try_clone() else { continue };
            let thread = std::thread::Builder::new().name("page".to_string()).spawn(move || {
                let _slot = slot;
                let _closes = stream.try_clone().ok().map(Closes);
                answer(stream, &secrets, &site, limit);
            });
            pages.remove_ended();
            if let Ok(thread) = thread {
                pages.running.push((thread, connection));
            }
        }
        Ok(())
    }
}

/// Closes a connection at the drop, also after a panic: [`Pages`] has a descriptor of the connection too.
struct Closes(TcpStream);

impl Drop for Closes {
    fn drop(&mut self) {
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }
}

/// The threads that answer requests, with their connections. The drop closes the connections and waits for the threads.
#[derive(Default)]
struct Pages {
    running: Vec<(JoinHandle<()>, TcpStream)>,
}

impl Pages {
    /// Removes the threads that ended, which closes their connections.
    fn remove_ended(&mut self) {
        self.running.retain(|(thread, _)| !thread.is_finished());
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        for (thread, connection) in self.running.drain(..) {
            // An error means that the client has closed the connection.
            let _ = connection.shutdown(std::net::Shutdown::Both);
            // The panic handler has printed a panic of the thread.
            let _ = thread.join();
        }
    }
}

/// The thread that reads the counters of a running database once in each period.
struct Sampler {
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Starts the thread, unless the site has no running database.
    fn start(site: &Arc<Site>) -> Sampler {
        let stopped = Arc::new(AtomicBool::new(false));
        let Some(period) = site.sample_period() else { return Sampler { stopped, thread: None } };
        let (site, ends) = (Arc::clone(site), Arc::clone(&stopped));
        let thread = std::thread::Builder::new().name("inspector samples".to_string()).spawn(move || {
            while !ends.load(Ordering::SeqCst) {
                site.sample();
                std::thread::park_timeout(period);
            }
        });
        Sampler { stopped, thread: thread.ok() }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The panic handler has printed a panic of the thread.
            let _ = thread.join();
        }
    }
}

/// A counted connection.
struct Slot {
    open: Arc<AtomicUsize>,
    others: usize,
}

impl Slot {
    fn take(open: &Arc<AtomicUsize>) -> Slot {
        Slot { open: Arc::clone(open), others: open.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

fn answer(
    mut stream: TcpStream,
    secrets: &Secrets,
    site: &Site,
    (limit, answer_limit): (Duration, Duration),
) {
    let read = read_head(&mut stream, limit);
    let (answer, is_head) = match read {
        Ok((head, rest)) => {
            let body = Body { stream: &mut stream, rest, limit };
            (decide(&head, body, secrets, site), head.method == "HEAD")
        }
        Err(status) => (Answer::refusal(status, "the request is not valid"), false),
    };
    // If the client is gone, the answer is lost.
    if write_within(&mut stream, &bytes_of(&answer, is_head), answer_limit).is_ok() {
        let _ = stream.shutdown(std::net::Shutdown::Write);
        drain(&mut stream);
    }
    // The server has a second descriptor of the connection.
    let _ = stream.shutdown(std::net::Shutdown::Both);
}

/// Writes the answer. Fails if the client does not read all bytes within `limit`: a client that reads one byte at a time does not
/// extend the time.
fn write_within(stream: &mut TcpStream, bytes: &[u8], limit: Duration) -> std::io::Result<()> {
    let start = Instant::now();
    let mut at = 0;
    while at < bytes.len() {
        let left = limit.checked_sub(start.elapsed()).filter(|left| !left.is_zero());
        stream.set_write_timeout(Some(left.ok_or(std::io::ErrorKind::TimedOut)?))?;
        match stream.write(&bytes[at..]) {
            Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
            Ok(written) => at += written,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    stream.flush()
}

/// Reads the rest of the client's data for a short time. The system would discard the answer if data were unread. A client that sends
/// one byte at a time does not extend the time.
fn drain(stream: &mut TcpStream) {
    let start = Instant::now();
    let (mut buffer, mut total) = ([0; 4096], 0);
    while let Some(left) = DRAIN_TIME_MAX.checked_sub(start.elapsed()).filter(|left| !left.is_zero()) {
        if stream.set_read_timeout(Some(left)).is_err() {
            return;
        }
        match stream.read(&mut buffer) {
            Ok(read) if read > 0 && total <= HEAD_BYTES_MAX => total += read,
            _ => return,
        }
    }
}

/// Reads the head of a request. Returns the head, and the bytes of the body that arrived with it.
fn read_head(stream: &mut TcpStream, limit: Duration) -> Result<(guard::Head, Vec<u8>), u16> {
    let start = Instant::now();
    let mut bytes = Vec::new();
    loop {
        read_some(stream, start, limit, &mut bytes)?;
        // Bytes after the head are the start of the body.
        if let Some((head, len)) = guard::parse(&bytes)? {
            return if len > HEAD_BYTES_MAX { Err(431) } else { Ok((head, bytes.split_off(len))) };
        }
        if bytes.len() > HEAD_BYTES_MAX {
            return Err(431);
        }
    }
}

/// Reads the next bytes of the client. Fails if they do not arrive within `limit` after `start`.
fn read_some(
    stream: &mut TcpStream,
    start: Instant,
    limit: Duration,
    bytes: &mut Vec<u8>,
) -> Result<(), u16> {
    let mut buffer = [0; 4096];
    loop {
        let left = limit.checked_sub(start.elapsed()).filter(|left| !left.is_zero()).ok_or(408_u16)?;
        stream.set_read_timeout(Some(left)).map_err(|_| 408_u16)?;
        match stream.read(&mut buffer) {
            Ok(0) => return Err(400),
            Ok(n) => {
                bytes.extend_from_slice(&buffer[..n]);
                return Ok(());
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return Err(408),
        }
    }
}

/// The body of a request that is not read yet.
struct Body<'a> {
    stream: &'a mut TcpStream,
    rest: Vec<u8>,
    limit: Duration,
}

impl Body<'_> {
    /// Reads a body of exactly `len` bytes.
    fn read(mut self, len: usize) -> Result<Vec<u8>, u16> {
        let start = Instant::now();
        while self.rest.len() < len {
            read_some(self.stream, start, self.limit, &mut self.rest)?;
        }
        if self.rest.len() == len { Ok(self.rest) } else { Err(400) }
    }
}

fn decide(head: &guard::Head, body: Body<'_>, secrets: &Secrets, site: &Site) -> Answer {
    match guard::judge(head, secrets) {
        Verdict::Refuse(status, why) => Answer::refusal(status, why),
        Verdict::Enter => {
            let cookie =
                format!("{}={}; Path=/; SameSite=Strict; HttpOnly", secrets.cookie_name(), secrets.cookie);
            Answer::redirect("/", cookie)
        }
        Verdict::ReadForm(len) => match body.read(len).and_then(|bytes| guard::form(&bytes, secrets)) {
            Ok(asked) => site.change(asked),
            Err(status) => Answer::refusal(status, "the change is not valid"),
        },
        Verdict::Admit(target) => {
            let answer = site.answer(&target, secrets.change.as_deref());
            if answer.body.len() > PAGE_BYTES_MAX {
                return Answer::refusal(500, "the page is too large");
            }
            answer
        }
    }
}

/// The headers of every answer. A script cannot run, another site cannot embed a page, and no page is stored. With
/// `same-origin`, a browser names the origin of a form of these pages, and names no page to another site.
const HEADERS: &str = "\
Content-Security-Policy: default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'\r\n\
X-Content-Type-Options: nosniff\r\n\
X-Frame-Options: DENY\r\n\
Referrer-Policy: same-origin\r\n\
Cache-Control: no-store\r\n\
Cross-Origin-Opener-Policy: same-origin\r\n\
Cross-Origin-Resource-Policy: same-origin\r\n\
Permissions-Policy: camera=(), microphone=(), geolocation=()\r\n\
Connection: close\r\n";

fn bytes_of(answer: &Answer, is_head: bool) -> Vec<u8> {
    let mut out = format!("HTTP/1.1 {} {}\r\n", answer.status, reason(answer.status));
    out.push_str(HEADERS);
    out.push_str(&format!("Content-Type: {}\r\nContent-Length: {}\r\n", answer.kind, answer.body.len()));
    if let Some((location, cookie)) = &answer.redirect {
        out.push_str(&format!("Location: {location}\r\nSet-Cookie: {cookie}\r\n"));
    }
    out.push_str("\r\n");
    let mut bytes = out.into_bytes();
    if !is_head {
        bytes.extend_from_slice(answer.body.as_bytes());
    }
    bytes
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        303 => "See Other",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        414 => "URI Too Long",
        431 => "Request Header Fields Too Large",
        505 => "HTTP Version Not Supported",
        _ => "Internal Server Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_that_reads_slowly_but_steadily_does_not_extend_the_time_of_an_answer() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let reader = std::thread::spawn(move || {
            let mut buffer = vec![0; 256 << 10];
            // The reads end when the server closes the connection.
            while client.read(&mut buffer).is_ok_and(|read| read > 0) {
                std::thread::park_timeout(Duration::from_millis(5));
            }
        });
        let answer = vec![b'x'; 256 << 20];
        let written = write_within(&mut server, &answer, Duration::from_millis(200));
        drop(server);
        assert!(written.is_err(), "256 MiB passed a client that reads 50 MiB a second");
        reader.join().unwrap();
    }
}
