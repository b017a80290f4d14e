//! The pages in a real browser.
//!
//! The test drives Chromium through `chromedriver`. If either is missing, the test prints a message and is skipped.
//! `IRONSTONE_SCREENSHOTS=DIR` writes an image of each page. `IRONSTONE_AXE=FILE` names the file `axe.min.js` of
//! axe-core. If the variable is set, each page must also pass the checks of axe-core.
//!
//! The folder `structure` has the visible elements of each page of a golden database, with their places in twelfths of the width.
//! `IRONSTONE_REWRITE=1` writes the folder anew.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ironstone::inspector::{Inspector, InspectorOptions};
use ironstone::{CompactRangeOptions, Db, Options};
use serde_json::{Value, json};

use crate::client::{golden, serve};

/// A session of the driver. The driver and all processes of the browser end when the value is dropped.
struct Browser {
    driver: Child,
    port: u16,
    session: String,
    /// The profile of the browser. The command line of each process of the browser names it.
    profile: tempfile::TempDir,
}

impl Browser {
    /// Starts the browser, or returns `None` if the machine has none.
    fn start(dark: bool, width: u32) -> Option<Browser> {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut lines = BufReader::new(driver.stdout.take()?).lines();
        let port = lines.find_map(|line| {
            let line = line.ok()?;
            let (_, rest) = line.split_once("successfully on port ")?;
            rest.trim_end_matches('.').parse().ok()
        })?;
        let profile = tempfile::tempdir().unwrap();
        let user_data = format!("--user-data-dir={}", profile.path().display());
        let mut browser = Browser { driver, port, session: String::new(), profile };
        let mut args = vec![
            user_data,
            "--headless".to_string(),
            "--no-sandbox".to_string(),
            "--disable-gpu".to_string(),
            "--disable-quic".to_string(),
            "--no-first-run".to_string(),
            "--disable-background-networking".to_string(),
            "--hide-scrollbars".to_string(),
            format!("--window-size={width},900"),
        ];
        if dark {
            args.push("--force-dark-mode".to_string());
            args.push("--blink-settings=preferredColorScheme=0".to_string());
        }
        // On a loaded machine, the checks of a page can take minutes.
        let timeouts = json!({ "script": 600_000, "pageLoad": 600_000 });
        let options = json!({ "goog:chromeOptions": { "args": args }, "timeouts": timeouts });
        let wish = json!({ "capabilities": { "alwaysMatch": options } });
        let answer = browser.call("POST", "/session", &wish);
        browser.session = answer["sessionId"].as_str()?.to_string();
        Some(browser)
    }

    /// Returns the processes of the browser.
    fn processes(&self) -> Vec<String> {
        let profile = self.profile.path().to_string_lossy().into_owned();
        let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let names = all.filter_map(|entry| entry.file_name().into_string().ok());
        names
            .filter(|name| name.parse::<u32>().is_ok())
            .filter(|pid| {
                let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                String::from_utf8_lossy(&line).contains(&profile)
            })
            .collect()
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if method == "GET" { String::new() } else { body.to_string() };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.port,
            body.len()
        );
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            if let Some(n) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = n.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer).unwrap();
        serde_json::from_slice::<Value>(&answer).unwrap()["value"].take()
    }

    fn open(&self, url: &str) {
        let answer = self.call("POST", &format!("/session/{}/url", self.session), &json!({ "url": url }));
        assert!(answer.is_null(), "{answer}");
    }

    fn run(&self, script: &str) -> Value {
        let path = format!("/session/{}/execute/sync", self.session);
        self.call("POST", &path, &json!({ "script": script, "args": [] }))
    }

    /// Returns the faults of the open page that this file checks, and the faults of axe-core if the variable names
    /// its file.
    fn faults(&self) -> Vec<String> {
        let mut faults: Vec<String> = serde_json::from_value(self.run(ACCESSIBILITY)).unwrap();
        let Some(file) = std::env::var_os("IRONSTONE_AXE") else { return faults };
        let source = std::fs::read_to_string(file).unwrap();
        let script = format!(
            "{source}; const done = arguments[arguments.length - 1]; \
             axe.run(document, {{ resultTypes: ['violations'] }}).then( \
             r => done(r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html).join(' | '))), \
             e => done(['axe-core failed: ' + e]));"
        );
        let path = format!("/session/{}/execute/async", self.session);
        let found = self.call("POST", &path, &json!({ "script": script, "args": [] }));
        faults.extend(
            serde_json::from_value::<Vec<String>>(found.clone()).unwrap_or_else(|_| panic!("{found}")),
        );
        faults
    }

    fn image(&self, file: &str) {
        let Some(dir) = std::env::var_os("IRONSTONE_SCREENSHOTS") else { return };
        let width = self.run("return window.innerWidth").as_u64().unwrap_or(1200);
        let path = format!("/session/{}/window/rect", self.session);
        // The height of a page is at least the height of the window, so a high window would stay high.
        self.call("POST", &path, &json!({ "width": width, "height": 700 }));
        let height =
            self.run("return document.documentElement.scrollHeight").as_u64().unwrap_or(900).clamp(700, 3000);
        self.call("POST", &path, &json!({ "width": width, "height": height + 10 }));
        let answer = self.call("GET", &format!("/session/{}/screenshot", self.session), &Value::Null);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(Path::new(&dir).join(file), base64(answer.as_str().unwrap_or_default())).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // A panic here after a failed test would end the whole program, so faults are ignored and the processes are killed.
        if !self.session.is_empty() && !std::thread::panicking() {
            self.call("DELETE", &format!("/session/{}", self.session), &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
        // The driver does not wait for the last processes of the browser. A process that ends starts no other process.
        for _ in 0..1000 {
            let processes = self.processes();
            if processes.is_empty() {
                break;
            }
            let _ = Command::new("kill").arg("-KILL").args(&processes).stderr(Stdio::null()).status();
        }
    }
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| -> Option<u32> {
        let place = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
            .iter()
            .position(|b| *b == byte)?;
        Some(place as u32)
    };
    let digits: Vec<u32> = text.bytes().filter_map(digit).collect();
    let mut out = Vec::new();
    for group in digits.chunks(4) {
        let bits = group.iter().fold(0, |sum, digit| sum << 6 | digit) << (6 * (4 - group.len()));
        out.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    out
}

/// A script that returns the faults of a page for screen readers, for the keyboard and for small screens. The
/// contrast of each text is computed from the colour of the text and the colour of the nearest background.
const ACCESSIBILITY: &str = r#"
const faults = [];
const all = (selector) => Array.from(document.querySelectorAll(selector));
if (document.documentElement.lang !== 'en') faults.push('language');
if (!document.title) faults.push('title');
if (all('h1').length !== 1) faults.push('one h1');
if (all('main').length !== 1) faults.push('one main');
if (!all('a.skip').length) faults.push('skip link');
for (const e of all('svg:not([aria-hidden])')) if (!e.getAttribute('aria-label')) faults.push('svg without label');
for (const e of all('a')) if (!(e.textContent.trim() || e.getAttribute('aria-label'))) faults.push('link without text');
for (const e of all('th')) if (!e.getAttribute('scope')) faults.push('th without scope');
for (const e of all('input:not([type=hidden])')) if (!document.querySelector('label[for=' + e.id + ']')) faults.push('input without label');
const ids = new Set();
for (const e of all('[id]')) { if (ids.has(e.id)) faults.push('id twice ' + e.id); ids.add(e.id); }
if (all('script').length) faults.push('script');
if (all('[style]').length) faults.push('inline style');
let level = 0;
for (const e of all('h1,h2,h3')) { const n = +e.tagName[1]; if (n > level + 1) faults.push('heading skips'); level = n; }
for (const e of all('table.stacked')) if (e.parentElement.scrollWidth > e.parentElement.clientWidth + 1 && window.innerWidth <= 640) faults.push('table is wider than the screen');
if (document.documentElement.scrollWidth > window.innerWidth + 1) faults.push('page is wider than the screen: ' + document.documentElement.scrollWidth);
const numbers = (text) => text.match(/[\d.]+/g).map(Number);
const light = (rgb) => { const [r, g, b] = rgb.slice(0, 3).map(v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const ground = (e) => { for (; e; e = e.parentElement) { const c = numbers(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
const seen = new Set();
for (const e of all('body *')) {
  if (e.closest('svg') || !Array.from(e.childNodes).some(n => n.nodeType === 3 && n.textContent.trim())) continue;
  const a = light(numbers(getComputedStyle(e).color)), b = light(ground(e));
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) seen.add('contrast ' + ratio.toFixed(1) + ' of ' + e.tagName + '.' + e.className);
}
return faults.concat(Array.from(seen));
"#;

/// A script that returns the visible elements of a page in their order: the tag, the classes, the number of cells of a row, and the left
/// side and the width in twelfths of the width of the page. Equal lines become one line with their number. Text and fonts do not count, so
/// the columns of a table have no places.
const STRUCTURE: &str = r#"
const width = document.documentElement.clientWidth, lines = [];
for (const e of document.querySelectorAll('body *')) {
  const tag = e.tagName.toLowerCase(), box = e.getBoundingClientRect();
  const counts = ['header', 'nav', 'main', 'section', 'h1', 'h2', 'h3', 'form', 'table', 'tr', 'svg', 'dl', 'ul', 'ol', 'pre', 'div'].includes(tag);
  if (!counts || e.parentElement.closest('svg') || box.width < 2 || box.height < 2) continue;
  const twelfths = (n) => Math.round(12 * n / width);
  const inTable = tag === 'table' || e.closest('table');
  const place = tag === 'tr' ? ' ' + e.cells.length + ' cells' : inTable ? '' : ' ' + twelfths(box.left) + '+' + twelfths(box.width);
  const name = [tag].concat(Array.from(e.classList)).join('.');
  let depth = 0;
  for (let p = e.parentElement; p && p !== document.body; p = p.parentElement) depth++;
  const line = ' '.repeat(2 * depth) + name + place;
  const last = lines[lines.length - 1];
  if (last && last.line === line) last.times++; else lines.push({ line, times: 1 });
}
return lines.map(l => l.times > 1 ? l.line + ' x' + l.times : l.line).join('\n');
"#;

/// Compares the structure of pages with the stored structure. The environment variable `IRONSTONE_REWRITE` stores it.
fn compare_structure(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/structure").join(file);
    if std::env::var_os("IRONSTONE_REWRITE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        return std::fs::write(path, text).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap();
    for (line, (found, expected)) in text.lines().zip(stored.lines()).enumerate() {
        assert_eq!(found, expected, "{file}, line {}", line + 1);
    }
    assert_eq!(text.lines().count(), stored.lines().count(), "{file}");
}

/// Makes a database with levels, tombstones, a WAL and background jobs.
fn busy(path: &Path) {
    let mut options = Options::default();
    options.db.create_if_missing = true;
    options
        .update("write_buffer_size=262144;target_file_size_base=262144;max_bytes_for_level_base=1048576")
        .unwrap();
    let db = Db::open(path, options).unwrap();
    let mut state = 1_u64;
    for n in 0..24_000_u64 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(n);
        let key = format!("user{:06}", state >> 33 & 0xffff);
        match n % 5 {
            0 => db.delete(key.as_bytes()).unwrap(),
            _ => db.put(key.as_bytes(), format!("{state:032x}").repeat(6).as_bytes()).unwrap(),
        }
        if n == 18_000 {
            db.compact_range(Some(b"user000000"), Some(b"user040000"), &CompactRangeOptions::default())
                .unwrap();
        }
    }
    db.put(b"last", b"write").unwrap();
}

const PAGES: [(&str, &str); 12] = [
    ("/", "overview"),
    ("/live", "now"),
    ("/disk", "disk"),
    ("/compare", "compare"),
    ("/doctor", "findings"),
    ("/tree", "tree"),
    ("/files", "files"),
    ("/logs", "logs"),
    ("/options", "options"),
    ("/memory", "memory"),
    ("/tombstones", "tombstones"),
    ("/activity", "activity"),
];

#[test]
fn pages_are_accessible_in_a_browser_light_dark_and_on_a_phone() {
    let dir = tempfile::tempdir().unwrap();
    let live = dir.path().join("shop");
    busy(&live);
    let damaged = golden("corrupt").join("sst-missing");
    let sources = [
        ("busy", live.as_path(), true),
        ("levels", &golden("levels"), false),
        ("cfs", &golden("cfs"), false),
        ("damaged", &damaged, false),
    ];
    for (look, dark, width) in [("light", false, 1200), ("dark", true, 1200), ("phone", false, 500)] {
        let Some(browser) = Browser::start(dark, width) else {
            eprintln!("skipped: chromium or chromedriver is missing");
            return;
        };
        for (name, path, deep) in sources {
            let site = serve(path);
            browser.open(&site.url);
            let root = format!("http://127.0.0.1:{}", site.secrets.port);
            let address = browser.run("return location.href");
            assert_eq!(address, json!(format!("{root}/")), "the token stays out of the address");
            let mut pages: Vec<(String, &str)> =
                PAGES.iter().map(|(page, name)| (page.to_string(), *name)).collect();
            if deep {
                pages.extend(deep_pages(path));
            }
            let mut structure = String::new();
            for (page, title) in pages {
                browser.open(&format!("{root}{page}"));
                assert_eq!(browser.faults(), [""; 0], "{name} {page} {look}");
                let elements = browser.run(STRUCTURE);
                structure.push_str(&format!("{page}\n{}\n", elements.as_str().unwrap()));
                if deep || title == "overview" || title == "tree" {
                    browser.image(&format!("{name}-{title}-{look}.png"));
                }
            }
            if !deep {
                // Dark pages have the structure of light pages.
                let size = if width < 640 { "phone" } else { "wide" };
                compare_structure(&format!("{name}-{size}.txt"), &structure);
            }
        }
    }
}

#[test]
fn pages_of_a_running_database_are_accessible_during_a_load() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("live shop");
    busy(&path);
    let mut options = Options::default();
    options
        .update("write_buffer_size=262144;target_file_size_base=262144;level0_slowdown_writes_trigger=6;level0_file_num_compaction_trigger=4")
        .unwrap();
    let db = Db::open(&path, options).unwrap();
    let (pages, opened) = std::sync::mpsc::channel();
    let load = &db;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut n = 0_u64;
            while opened.recv().is_ok() {
                for _ in 0..WRITES_PER_PAGE {
                    let key = format!("user{:06}", n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44);
                    load.put(key.as_bytes(), &[n as u8; 200]).unwrap();
                    n += 1;
                }
            }
        });
        // The load ends with the visit, because the visit owns the channel.
        visit_live(&db, pages);
    });
}

/// The writes of the load for each page that the browser opens: some flushes, so background jobs run during the page. A load
/// without a limit would take the processors from the browser.
const WRITES_PER_PAGE: u64 = 4_000;

fn visit_live(db: &Db, pages: std::sync::mpsc::Sender<()>) {
    let allowed = InspectorOptions { allow_changes: true };
    for (look, dark, width) in [("light", false, 1200), ("dark", true, 1200), ("phone", false, 500)] {
        let Some(browser) = Browser::start(dark, width) else {
            eprintln!("skipped: chromium or chromedriver is missing");
            return;
        };
        let inspector = Inspector::serve(db, &allowed).unwrap();
        browser.open(inspector.url());
        let (root, _) = inspector.url().split_once("/?").unwrap();
        // Opens a few pages first, because the curves need samples and the comparison needs two times.
        for (page, title) in PAGES.iter().chain(&PAGES).skip(PAGES.len() / 2) {
            pages.send(()).unwrap();
            browser.open(&format!("{root}{page}"));
            assert_eq!(browser.faults(), [""; 0], "{page} {look}");
            browser.image(&format!("running-{title}-{look}.png"));
        }
        // A form works in a browser, because a browser sends the origin.
        browser.open(&format!("{root}/live"));
        browser.run("Array.from(document.querySelectorAll('button')).find(b => b.textContent.startsWith('Flush')).click()");
        let heading = (0..200).find_map(|_| {
            let text = browser.run("return document.querySelector('h1').textContent");
            (text == "Done").then_some(())
        });
        assert!(heading.is_some(), "{}", browser.run("return document.body.textContent"));
        assert_eq!(browser.faults(), [""; 0], "the answer to a form, {look}");
    }
}

/// Returns the pages of single files of the database.
fn deep_pages(path: &Path) -> Vec<(String, &'static str)> {
    let db =
        ironstone_inspect::model::load(&env::Env::posix(), path, &ironstone_inspect::model::Budget::PAGE)
            .unwrap();
    let file = db.families[0].files[0].number;
    let wal = db.files.iter().rfind(|f| f.name.ends_with(".log")).unwrap().number;
    let manifest = db.manifest.as_ref().unwrap().number;
    vec![
        (format!("/file?number={file}"), "file"),
        (format!("/block?number={file}&block=1"), "block"),
        (format!("/wal?number={wal}"), "wal"),
        (format!("/record?number={wal}&offset=0"), "record"),
        (format!("/manifest?number={manifest}&find=add"), "manifest"),
    ]
}
