//! Decides whether the server answers a request. The decision is a pure function of the request and of the secrets.
//!
//! ```text
//!  bytes ─► httparse ─► Head ─► judge ─► Admit(Target)      a page
//!                                    ├─► Enter               the first URL: set the cookie, go to the first page
//!                                    ├─► ReadForm(bytes)     a change, if changes are allowed ─► form ─► Asked
//!                                    └─► Refuse(status)      everything else
//! ```
//! The server listens on the loopback address only. A page of another site can still send requests to this address,
//! so each request must satisfy four conditions. Its `Host` names the server. Its `Origin` and `Sec-Fetch-Site` name
//! no other site. It has the cookie. Its target is a fixed page, whose parameters are numbers or a search text. No
//! parameter is a path.
//!
//! A change is a POST to `/change`. The server rejects each POST unless it was started with changes. The POST must
//! also have an `Origin` of this server, the type of a form, a short body, and the second token. Only a page of this
//! server shows the token. The fields of the form are the token and numbers.

use std::collections::BTreeMap;

/// The largest length of the request line, and of the headers. A longer head is rejected.
pub const HEAD_BYTES_MAX: usize = 16 << 10;

/// The largest number of headers. More headers are rejected.
const HEADERS_MAX: usize = 64;

/// The largest length of a target. A longer target is rejected.
const TARGET_MAX: usize = 1024;

/// The largest length of a search text. A longer search text is rejected.
const FIND_MAX: usize = 100;

/// The secrets of one server.
#[derive(Clone, Debug)]
pub struct Secrets {
    pub port: u16,
    /// The token of the first URL.
    pub entry: String,
    /// The value of the cookie.
    pub cookie: String,
    /// The token of a change. `None` rejects each change.
    pub change: Option<String>,
}

/// The head of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    pub method: String,
    pub target: String,
    /// The names are in lower case.
    pub headers: Vec<(String, Vec<u8>)>,
}

/// A page with its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    pub page: String,
    pub numbers: BTreeMap<String, u64>,
    pub find: String,
}

/// The change that a form asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Flush the memtables of the column family with this id.
    Flush(u32),
    /// Compact the column family with this id.
    Compact(u32),
    /// Make the change of this finding. Its place in the list and the checksum of its text name the finding.
    Apply { finding: u64, check: u64 },
}

/// The decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Admit(Target),
    Enter,
    /// The request has a form of this many bytes.
    ReadForm(usize),
    Refuse(u16, &'static str),
}

/// All pages.
pub const PAGES: [&str; 18] = [
    "/",
    "/live",
    "/disk",
    "/compare",
    "/tree",
    "/files",
    "/file",
    "/block",
    "/logs",
    "/wal",
    "/manifest",
    "/record",
    "/options",
    "/memory",
    "/tombstones",
    "/activity",
    "/doctor",
    "/style.css",
];

/// The parameters that are numbers.
const NUMBERS: [&str; 10] =
    ["family", "number", "block", "from", "offset", "level", "manifest", "all", "before", "after"];

/// The largest length of a form in bytes. A longer form is rejected.
const FORM_MAX: usize = 512;

impl Secrets {
    /// Makes new secrets from the entropy of the system.
    ///
    /// # Errors
    /// An error of the system's entropy.
    pub fn new(port: u16) -> Result<Secrets, getrandom::Error> {
        let mut bytes = [0; 64];
        getrandom::fill(&mut bytes)?;
        let (entry, cookie) = bytes.split_at(32);
        let (entry, cookie) = (table::dump::hex(entry), table::dump::hex(cookie));
        Ok(Secrets { port, entry, cookie, change: None })
    }

    /// Creates the second token, which allows changes.
    ///
    /// # Errors
    /// Errors of the system's entropy.
    pub fn allow_changes(&mut self) -> Result<(), getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        self.change = Some(table::dump::hex(&bytes));
        Ok(())
    }

    /// Returns the name of the cookie. The ports of a host share cookies, so the name has the port.
    pub fn cookie_name(&self) -> String {
        format!("ironstone_{}", self.port)
    }
}

/// Reads the head of a request. Returns the head and its length, or `Ok(None)` if the head is not complete.
///
/// # Errors
/// The status of a head that is rejected.
pub fn parse(bytes: &[u8]) -> Result<Option<(Head, usize)>, u16> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let len = match request.parse(bytes) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) if bytes.len() >= HEAD_BYTES_MAX => return Err(431),
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(431),
        Err(_) => return Err(400),
    };
    if request.version != Some(1) {
        return Err(505);
    }
    let headers = request.headers.iter().map(|h| (h.name.to_ascii_lowercase(), h.value.to_vec())).collect();
    let (method, target) = (request.method.unwrap_or_default(), request.path.unwrap_or_default());
    Ok(Some((Head { method: method.to_string(), target: target.to_string(), headers }, len)))
}

impl Head {
    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        self.headers.iter().filter(move |(n, _)| n == name).map(|(_, value)| value.as_slice())
    }
}

/// Decides about a request.
pub fn judge(head: &Head, secrets: &Secrets) -> Verdict {
    let may_change = head.method == "POST" && secrets.change.is_some();
    if head.method != "GET" && head.method != "HEAD" && !may_change {
        return Verdict::Refuse(405, "only GET and HEAD are answered");
    }
    if let Err(why) = check_origin(head, secrets) {
        return Verdict::Refuse(403, why);
    }
    if may_change {
        return judge_form(head, secrets);
    }
    if head.all("transfer-encoding").next().is_some()
        || head.all("content-length").any(|value| value != b"0")
        || head.all("upgrade").next().is_some()
    {
        return Verdict::Refuse(400, "a request has no body and no upgrade");
    }
    let token = head.target.strip_prefix("/?token=");
    if token.is_some_and(|token| same(token.as_bytes(), secrets.entry.as_bytes())) {
        return Verdict::Enter;
    }
    if !has_cookie(head, secrets) {
        return Verdict::Refuse(401, "open the address that the command printed");
    }
    match target(&head.target) {
        Ok(target) => Verdict::Admit(target),
        Err(status) => Verdict::Refuse(status, "there is no such page"),
    }
}

/// Decides about a POST. The body is read after this decision.
fn judge_form(head: &Head, secrets: &Secrets) -> Verdict {
    // A browser names the origin of each form, and `check_origin` has compared the name.
    if head.all("origin").count() != 1 {
        return Verdict::Refuse(403, "a change must name the page that it comes from");
    }
    if !has_cookie(head, secrets) {
        return Verdict::Refuse(401, "open the address that the command printed");
    }
    if head.target != "/change" {
        return Verdict::Refuse(404, "there is no such change");
    }
    let is_form = |value: &[u8]| value == b"application/x-www-form-urlencoded";
    if head.all("transfer-encoding").next().is_some()
        || head.all("upgrade").next().is_some()
        || head.all("expect").next().is_some()
        || head.all("content-type").count() != 1
        || !head.all("content-type").all(is_form)
    {
        return Verdict::Refuse(400, "a change is a form");
    }
    let lengths: Vec<&[u8]> = head.all("content-length").collect();
    let length = match lengths[..] {
        [text] if text.iter().all(u8::is_ascii_digit) => {
            std::str::from_utf8(text).ok().and_then(|text| text.parse().ok())
        }
        _ => None,
    };
    match length {
        Some(length) if length <= FORM_MAX => Verdict::ReadForm(length),
        Some(_) => Verdict::Refuse(413, "the form is too long"),
        None => Verdict::Refuse(411, "the form has no length"),
    }
}

/// Reads a form: the second token, the change, and numbers. Each occurs at most once.
///
/// # Errors
/// The status of a form that is rejected.
pub fn form(body: &[u8], secrets: &Secrets) -> Result<Asked, u16> {
    let text = std::str::from_utf8(body).map_err(|_| 400_u16)?;
    let mut fields = BTreeMap::new();
    for pair in text.split('&') {
        let (name, value) = pair.split_once('=').ok_or(400_u16)?;
        if fields.insert(name, value).is_some() {
            return Err(400);
        }
    }
    let token = fields.remove("token").ok_or(403_u16)?;
    let is_ours = secrets.change.as_ref().is_some_and(|own| same(own.as_bytes(), token.as_bytes()));
    if !is_ours {
        return Err(403);
    }
    let action = fields.remove("do").ok_or(400_u16)?;
    let mut number = |name: &str| -> Result<u64, u16> {
        let value = fields.remove(name).ok_or(400_u16)?;
        let is_number = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
        if is_number { value.parse().map_err(|_| 400) } else { Err(400) }
    };
    let asked = match action {
        "flush" => Asked::Flush(u32::try_from(number("family")?).map_err(|_| 400_u16)?),
        "compact" => Asked::Compact(u32::try_from(number("family")?).map_err(|_| 400_u16)?),
        "apply" => Asked::Apply { finding: number("finding")?, check: number("check")? },
        _ => return Err(400),
    };
    if fields.is_empty() { Ok(asked) } else { Err(400) }
}

fn check_origin(head: &Head, secrets: &Secrets) -> Result<(), &'static str> {
    let hosts = [format!("127.0.0.1:{}", secrets.port), format!("localhost:{}", secrets.port)];
    let named: Vec<&[u8]> = head.all("host").collect();
    if named.len() != 1 || hosts.iter().all(|host| host.as_bytes() != named[0]) {
        return Err("the request names another host");
    }
    let is_own = |origin: &[u8]| hosts.iter().any(|host| format!("http://{host}").as_bytes() == origin);
    if !head.all("origin").all(is_own) {
        return Err("the request comes from another site");
    }
    if !head.all("sec-fetch-site").all(|site| site == b"same-origin" || site == b"none") {
        return Err("the request comes from another site");
    }
    let is_page = |dest: &[u8]| matches!(dest, b"document" | b"style" | b"empty" | b"image");
    if !head.all("sec-fetch-dest").all(is_page) {
        return Err("a page cannot be embedded");
    }
    Ok(())
}

fn has_cookie(head: &Head, secrets: &Secrets) -> bool {
    let name = secrets.cookie_name();
    let mut found = Vec::new();
    for value in head.all("cookie") {
        for pair in value.split(|byte| *byte == b';') {
            let pair = pair.trim_ascii();
            let at = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
            if pair[..at] == *name.as_bytes() {
                found.push(pair.get(at + 1..).unwrap_or_default());
            }
        }
    }
    found.len() == 1 && same(found[0], secrets.cookie.as_bytes())
}

/// Compares bytes. The time does not depend on the content.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (x, y)| sum | (x ^ y)) == 0
}

/// Reads a target: a fixed page and known parameters. Each parameter occurs at most once.
fn target(text: &str) -> Result<Target, u16> {
    if text.len() > TARGET_MAX {
        return Err(414);
    }
    let (page, query) = text.split_once('?').unwrap_or((text, ""));
    if !PAGES.contains(&page) {
        return Err(404);
    }
    let mut out = Target { page: page.to_string(), ..Target::default() };
    let mut has_find = false;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or(400_u16)?;
        if name == "find" && !has_find {
            has_find = true;
            out.find = decode(value)?;
        } else if NUMBERS.contains(&name) && !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
            let number = value.parse().map_err(|_| 400_u16)?;
            if out.numbers.insert(name.to_string(), number).is_some() {
                return Err(400);
            }
        } else {
            return Err(400);
        }
    }
    Ok(out)
}

/// Decodes a search text. The text is compared with bytes, and is shown as text.
fn decode(value: &str) -> Result<String, u16> {
    let (mut out, mut rest) = (Vec::new(), value.as_bytes());
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        match first {
            b'+' => out.push(b' '),
            b'%' => {
                let hex = |byte: Option<&u8>| byte.and_then(|b| (*b as char).to_digit(16)).ok_or(400_u16);
                let byte = hex(rest.first())? << 4 | hex(rest.get(1))?;
                out.push(byte as u8);
                rest = &rest[2..];
            }
            byte => out.push(*byte),
        }
    }
    let text = String::from_utf8(out).map_err(|_| 400_u16)?;
    if text.chars().count() > FIND_MAX || text.chars().any(char::is_control) { Err(400) } else { Ok(text) }
}
