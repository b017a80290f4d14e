//! The pages of a running database: memory, jobs, slow operations, curves, changes, and two times that are compared.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;

use ironstone::inspector::{Inspector, InspectorOptions};
use ironstone::{Db, Options, Secondary};

use crate::client::{Served, client_of};

fn open(path: &std::path::Path, text: &str) -> Db {
    let mut options = Options::default();
    options.db.create_if_missing = true;
    options.update(text).unwrap();
    Db::open(path, options).unwrap()
}

fn fill(db: &Db, from: u64, count: u64) {
    for n in from..from + count {
        db.put(format!("user{:08}", n * 7919 % 100_000).as_bytes(), &[n as u8; 300]).unwrap();
    }
}

/// Sends the first form whose text contains `part`, from this page.
fn send_form(site: &Served, page: &str, part: &str) -> (u16, String) {
    let body = site.page(page).body;
    let form = body.split("<form method=\"post\"").skip(1).find(|form| {
        let end = form.find("</form>").unwrap();
        form[..end].contains(part)
    });
    let form = form.unwrap_or_else(|| panic!("{page} has no form with {part}: {body}"));
    let form = &form[..form.find("</form>").unwrap()];
    let fields: Vec<String> = form
        .split("<input ")
        .skip(1)
        .map(|input| {
            let of = |name: &str| {
                let (_, rest) = input.split_once(&format!("{name}=\"")).unwrap();
                rest.split('"').next().unwrap().to_string()
            };
            format!("{}={}", of("name"), of("value"))
        })
        .collect();
    let text = fields.join("&");
    let host = site.host();
    let request = format!(
        "POST /change HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nSec-Fetch-Site: same-origin\r\nCookie: {}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{text}",
        site.cookie(),
        text.len()
    );
    let reply = site.raw(request.as_bytes()).unwrap();
    (reply.status, reply.body)
}

#[test]
fn running_database_shows_its_memory_its_state_and_what_readers_keep() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path(), "");
    fill(&db, 0, 2000);
    db.flush().unwrap();
    fill(&db, 2000, 1000);
    let snapshot = db.snapshot();
    let inspector = Inspector::serve(&db, &InspectorOptions::default()).unwrap();
    let site = client_of(inspector.url());
    let memory = site.page("/memory").body;
    for holder in ["active memtable", "caches", "open SST files"] {
        assert!(memory.contains(holder), "{holder}: {memory}");
    }
    let now = site.page("/live").body;
    for fact in ["not delayed", "No flush and no compaction is running", "Why are operations slow?"] {
        assert!(now.contains(fact), "{fact}: {now}");
    }
    assert!(site.page("/disk").body.contains("1 snapshot, the oldest made"));
    let first = site.page("/").body;
    assert!(first.contains("running database, read"));
    assert!(
        first.contains("No flush and no compaction is running</a>, and writers are not delayed."),
        "{first}"
    );
    drop(snapshot);
    assert!(site.page("/disk").body.contains("0 snapshots"));
}

#[test]
fn hot_levels_and_the_levels_of_lookups_are_shown() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.db.create_if_missing = true;
    options.db.statistics = Some(Arc::new(ironstone::Statistics::new()));
    let db = Db::open(dir.path(), options).unwrap();
    for _ in 0..3 {
        fill(&db, 0, 2000);
        db.flush().unwrap();
        db.compact_range(None, None, &Default::default()).unwrap();
    }
    fill(&db, 0, 10);
    for n in 0..40_u64 {
        assert!(db.get(format!("user{:08}", n * 7919 % 100_000).as_bytes()).unwrap().is_some());
    }
    let inspector = Inspector::serve(&db, &InspectorOptions::default()).unwrap();
    let now = client_of(inspector.url()).page("/live").body;
    for row in [
        "<th scope=\"row\">L6 <span class=\"muted\">default</span></th>",
        "<th scope=\"row\">memtables</th><td class=\"num\">10</td><td class=\"num\">25 %</td>",
        "<th scope=\"row\">level 2 and deeper</th><td class=\"num\">30</td><td class=\"num\">75 %</td>",
    ] {
        assert!(now.contains(row), "{row}: {now}");
    }
    drop(inspector);
    drop(db);
    let without = open(dir.path(), "");
    let inspector = Inspector::serve(&without, &InspectorOptions::default()).unwrap();
    assert!(
        client_of(inspector.url())
            .page("/live")
            .body
            .contains("Without statistics, the levels of lookups are not known")
    );
}

#[test]
fn server_ends_with_the_inspector_and_releases_the_database() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path(), "");
    let inspector = Inspector::serve(&db, &InspectorOptions::default()).unwrap();
    let port = client_of(inspector.url()).secrets.port;
    drop(inspector);
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
    drop(db);
    open(dir.path(), "").put(b"k", b"v").unwrap();
}

#[test]
fn forms_flush_and_compact_and_appear_only_if_changes_are_allowed() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path(), "disable_auto_compactions=true");
    fill(&db, 0, 500);
    let quiet = Inspector::serve(&db, &InspectorOptions::default()).unwrap();
    assert!(!client_of(quiet.url()).page("/live").body.contains("method=\"post\""));
    let inspector = Inspector::serve(&db, &InspectorOptions { allow_changes: true }).unwrap();
    let site = client_of(inspector.url());
    assert_eq!(send_form(&site, "/live", "Flush default").0, 200);
    assert_eq!(db.property("rocksdb.num-files-at-level0").as_deref(), Some("1"));
    fill(&db, 0, 500);
    assert_eq!(send_form(&site, "/live", "Flush default").0, 200);
    assert_eq!(db.property("rocksdb.num-files-at-level0").as_deref(), Some("2"));
    assert_eq!(send_form(&site, "/live", "Compact default").0, 200);
    assert_eq!(db.property("rocksdb.num-files-at-level0").as_deref(), Some("0"));
}

#[test]
fn change_of_a_finding_is_made_by_its_form() {
    let dir = tempfile::tempdir().unwrap();
    let text = "disable_auto_compactions=true;level0_slowdown_writes_trigger=6;compression=kNoCompression";
    let db = open(dir.path(), text);
    for n in 0..10 {
        fill(&db, n * 1000, 1000);
        db.flush().unwrap();
    }
    let inspector = Inspector::serve(&db, &InspectorOptions { allow_changes: true }).unwrap();
    let site = client_of(inspector.url());
    assert!(site.page("/doctor").body.contains("compaction-off"));
    assert!(db.options().disable_auto_compactions);
    let (status, body) = send_form(&site, "/doctor", "value=\"apply\"");
    assert_eq!(status, 200, "{body}");
    let mut rounds = 0;
    while db.options().disable_auto_compactions && rounds < 5 {
        assert_eq!(send_form(&site, "/doctor", "value=\"apply\"").0, 200);
        rounds += 1;
    }
    assert!(!db.options().disable_auto_compactions);
}

#[test]
fn two_times_of_a_running_database_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path(), "");
    fill(&db, 0, 1000);
    db.flush().unwrap();
    let inspector = Inspector::serve(&db, &InspectorOptions::default()).unwrap();
    let site = client_of(inspector.url());
    assert!(site.page("/compare").body.contains("Only one time is known"));
    // The pages show times in whole seconds.
    let second = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let before = second();
    while second() == before {
        std::thread::yield_now();
    }
    fill(&db, 1000, 1000);
    db.flush().unwrap();
    let body = site.page("/compare").body;
    assert!(body.contains("New: 1 SST file"), "{body}");
    assert!(body.contains("The options are the same"), "{body}");
}

#[test]
fn secondary_serves_the_writes_of_the_writer_and_refuses_changes() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path(), "");
    fill(&db, 0, 100);
    let secondary = Arc::new(Secondary::open(dir.path(), Options::default()).unwrap());
    let refused = Inspector::serve_secondary(&secondary, &InspectorOptions { allow_changes: true });
    assert!(refused.is_err());
    let inspector = Inspector::serve_secondary(&secondary, &InspectorOptions::default()).unwrap();
    let site = client_of(inspector.url());
    let before = secondary.view().latest_sequence();
    fill(&db, 100, 100);
    db.flush_wal(false).unwrap();
    assert!(site.page("/memory").body.contains("active memtable"));
    assert!(secondary.view().latest_sequence() > before, "the page catches up with the writer");
}

#[test]
fn dropped_inspector_holds_the_database_no_longer_though_a_client_is_slow() {
    let dir = tempfile::tempdir().unwrap();
    let db = open(dir.path(), "");
    let inspector = Inspector::serve(&db, &InspectorOptions::default()).unwrap();
    let site = client_of(inspector.url());
    let mut slow = TcpStream::connect(site.host()).unwrap();
    slow.write_all(b"GET / HT").unwrap();
    // The server accepts connections in their order: a thread waits for the rest of the slow request now.
    assert_eq!(site.page("/").status, 200);
    drop(inspector);
    drop(db);
    drop(open(dir.path(), ""));
    drop(slow);
}
