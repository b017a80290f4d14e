//! Attacks on the server: forged requests and forms, malformed heads, slow clients, and contents that must stay text.

use std::io::{Read, Write};
use std::net::TcpStream;

use format::batch;
use ironstone::{Db, FamilyDescriptor, FamilyOptions, Options};

use crate::client::{Served, golden, serve, serve_counted};

/// A request of an attacker, without the secrets. `{host}` and `{cookie}` stand for the values that a real browser
/// sends.
struct Attack {
    name: &'static str,
    request: &'static str,
}

const ATTACKS: [Attack; 60] = [
    Attack { name: "no cookie", request: "GET / HTTP/1.1\r\nHost: {host}\r\n\r\n" },
    Attack { name: "wrong token", request: "GET /?token=00 HTTP/1.1\r\nHost: {host}\r\n\r\n" },
    Attack { name: "empty token", request: "GET /?token= HTTP/1.1\r\nHost: {host}\r\n\r\n" },
    Attack {
        name: "token on another page",
        request: "GET /tree?token={token} HTTP/1.1\r\nHost: {host}\r\n\r\n",
    },
    Attack { name: "empty cookie", request: "GET / HTTP/1.1\r\nHost: {host}\r\nCookie: {name}=\r\n\r\n" },
    Attack { name: "wrong cookie", request: "GET / HTTP/1.1\r\nHost: {host}\r\nCookie: {name}=0123\r\n\r\n" },
    Attack {
        name: "two cookies",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}; {name}=1\r\n\r\n",
    },
    Attack {
        name: "token as cookie",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nCookie: {name}={token}\r\n\r\n",
    },
    Attack {
        name: "rebinding: other host",
        request: "GET / HTTP/1.1\r\nHost: evil.example\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "rebinding: other host with the port",
        request: "GET / HTTP/1.1\r\nHost: evil.example:{port}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "rebinding: loopback in a name",
        request: "GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example:{port}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "rebinding with the first URL",
        request: "GET /?token={token} HTTP/1.1\r\nHost: evil.example:{port}\r\n\r\n",
    },
    Attack { name: "no host", request: "GET / HTTP/1.1\r\nCookie: {cookie}\r\n\r\n" },
    Attack {
        name: "two hosts",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nHost: evil.example\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "origin of another site",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nOrigin: https://evil.example\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "null origin",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nOrigin: null\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "origin of another port",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nOrigin: http://127.0.0.1:1\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "cross-site fetch",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nSec-Fetch-Site: cross-site\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "same-site fetch of another port",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nSec-Fetch-Site: same-site\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "embedded in a frame",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Dest: iframe\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "loaded as a script",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Dest: script\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "post",
        request: "POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack { name: "delete", request: "DELETE / HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n" },
    Attack {
        name: "options of CORS",
        request: "OPTIONS / HTTP/1.1\r\nHost: {host}\r\nOrigin: https://evil.example\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "smuggling: chunked body",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\nCookie: {cookie}\r\n\r\n0\r\n\r\n",
    },
    Attack {
        name: "smuggling: body",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 5\r\nCookie: {cookie}\r\n\r\nGET /",
    },
    Attack {
        name: "upgrade to a web socket",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "traversal",
        request: "GET /../../../../etc/passwd HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "encoded traversal",
        request: "GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "path as a number",
        request: "GET /file?number=../../etc/passwd HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "unknown parameter",
        request: "GET /file?path=/etc/passwd HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "whole URL of another site",
        request: "GET http://evil.example/ HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "null byte in the search text",
        request: "GET /wal?number=1&find=a%00b HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "parameter twice",
        request: "GET /file?number=1&number=2 HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "number above 64 bits",
        request: "GET /file?number=99999999999999999999 HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "method override",
        request: "GET /change HTTP/1.1\r\nHost: {host}\r\nX-HTTP-Method-Override: POST\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "folded header",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nX: a\r\n b\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "space before the colon of a header",
        request: "GET / HTTP/1.1\r\nHost : {host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "double slash before another host",
        request: "GET //evil.example/ HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "line break in the search text",
        request: "GET /wal?find=a%0d%0aSet-Cookie:x HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "host with a user before it",
        request: "GET / HTTP/1.1\r\nHost: evil.example@{host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "rebinding: loopback without the port",
        request: "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "rebinding: the address of all interfaces",
        request: "GET / HTTP/1.1\r\nHost: 0.0.0.0:{port}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "rebinding: name with a dot at its end",
        request: "GET / HTTP/1.1\r\nHost: localhost.:{port}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "rebinding: loopback as a number",
        request: "GET / HTTP/1.1\r\nHost: 2130706433:{port}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "two origins",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nOrigin: https://evil.example\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "empty origin",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nOrigin: \r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "origin of another scheme",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nOrigin: https://{host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "two fetch sites",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "loaded as an object",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Dest: object\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "loaded by a worker",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Dest: serviceworker\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "fragment in the target",
        request: "GET /#top HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "proxy to another host",
        request: "CONNECT evil.example:443 HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "trace of the cookie",
        request: "TRACE / HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "cookie of another port",
        request: "GET / HTTP/1.1\r\nHost: {host}\r\nCookie: ironstone_1={cookie}\r\n\r\n",
    },
    Attack {
        name: "token with another parameter",
        request: "GET /?token={token}&number=1 HTTP/1.1\r\nHost: {host}\r\n\r\n",
    },
    Attack {
        name: "signed number",
        request: "GET /file?number=-1 HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "encoded number",
        request: "GET /file?number=%31 HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "text that is not UTF-8",
        request: "GET /wal?number=1&find=%ff%fe HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    },
    Attack {
        name: "half of an encoded byte",
        request: "GET /wal?number=1&find=a%4 HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    },
];

/// Forged forms. `{form}` stands for the headers of a real browser, and `{change}` stands for the second token.
const FORGED_FORMS: [Attack; 18] = [
    Attack { name: "no second token", request: "{form}Content-Length: 17\r\n\r\ndo=flush&family=0" },
    Attack {
        name: "wrong second token",
        request: "{form}Content-Length: 29\r\n\r\ntoken=0123456&do=flush&family=0",
    },
    Attack {
        name: "first token as second token",
        request: "{form}Content-Length: 88\r\n\r\ntoken={token}&do=flush&family=0",
    },
    Attack {
        name: "two tokens",
        request: "{form}Content-Length: 159\r\n\r\ntoken={change}&token={change}&do=flush&family=0",
    },
    Attack {
        name: "no origin",
        request: "POST /change HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 88\r\n\r\ntoken={change}&do=flush&family=0",
    },
    Attack {
        name: "null origin",
        request: "POST /change HTTP/1.1\r\nHost: {host}\r\nOrigin: null\r\nCookie: {cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 88\r\n\r\ntoken={change}&do=flush&family=0",
    },
    Attack {
        name: "form of another site",
        request: "POST /change HTTP/1.1\r\nHost: {host}\r\nOrigin: https://evil.example\r\nCookie: {cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 88\r\n\r\ntoken={change}&do=flush&family=0",
    },
    Attack {
        name: "form without a cookie",
        request: "POST /change HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 88\r\n\r\ntoken={change}&do=flush&family=0",
    },
    Attack {
        name: "form after rebinding",
        request: "POST /change HTTP/1.1\r\nHost: evil.example:{port}\r\nOrigin: http://evil.example:{port}\r\nCookie: {cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 88\r\n\r\ntoken={change}&do=flush&family=0",
    },
    Attack {
        name: "text in place of a form",
        request: "POST /change HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nCookie: {cookie}\r\nContent-Type: text/plain\r\nContent-Length: 88\r\n\r\ntoken={change}&do=flush&family=0",
    },
    Attack { name: "huge form", request: "{form}Content-Length: 99999999999\r\n\r\ntoken=" },
    Attack { name: "form without a length", request: "{form}\r\ntoken={change}&do=flush&family=0" },
    Attack {
        name: "form with two lengths",
        request: "{form}Content-Length: 88\r\nContent-Length: 5\r\n\r\ntoken={change}&do=flush&family=0",
    },
    Attack {
        name: "smuggling: bytes after the form",
        request: "{form}Content-Length: 88\r\n\r\ntoken={change}&do=flush&family=0GET / HTTP/1.1\r\n\r\n",
    },
    Attack {
        name: "smuggling: chunked form",
        request: "{form}Transfer-Encoding: chunked\r\n\r\n58\r\ntoken={change}&do=flush&family=0\r\n0\r\n\r\n",
    },
    Attack {
        name: "path in a form",
        request: "{form}Content-Length: 102\r\n\r\ntoken={change}&do=flush&family=../../etc/passwd",
    },
    Attack {
        name: "option text in a form",
        request: "{form}Content-Length: 100\r\n\r\ntoken={change}&do=flush&family=0&text=x=1;y=2",
    },
    Attack {
        name: "unknown change",
        request: "{form}Content-Length: 90\r\n\r\ntoken={change}&do=destroy&family=0",
    },
];

/// The headers of an honest form.
const FORM: &str = "POST /change HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nSec-Fetch-Site: same-origin\r\n\
                    Sec-Fetch-Dest: document\r\nCookie: {cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\n";

fn fill(text: &str, site: &Served) -> String {
    let change = site.secrets.change.clone().unwrap_or_default();
    let text = text.replace("{form}", FORM).replace("{change}", &change);
    text.replace("{host}", &site.host())
        .replace("{cookie}", &site.cookie())
        .replace("{name}", &site.secrets.cookie_name())
        .replace("{token}", &site.secrets.entry)
        .replace("{port}", &site.secrets.port.to_string())
}

#[test]
fn forged_requests_get_no_page() {
    let site = serve(&golden("levels"));
    // The same request without the attack gets the page.
    let honest = "GET / HTTP/1.1\r\nHost: {host}\r\nSec-Fetch-Site: none\r\nSec-Fetch-Dest: document\r\nCookie: {cookie}\r\n\r\n";
    let reply = site.raw(fill(honest, &site).as_bytes()).unwrap();
    assert_eq!(reply.status, 200);
    assert!(reply.body.contains("Column families"));
    for attack in ATTACKS {
        let reply = site.raw(fill(attack.request, &site).as_bytes()).unwrap();
        assert!((400..500).contains(&reply.status), "{}: {}", attack.name, reply.status);
        assert!(
            !reply.body.contains('<') && !reply.head.contains("Set-Cookie"),
            "{}: {}",
            attack.name,
            reply.body
        );
    }
}

/// Returns a request in which the length of the body is correct.
fn with_length(request: &str) -> String {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let lines: Vec<String> = head
        .split("\r\n")
        .map(|line| match line.strip_prefix("Content-Length: ") {
            Some(_) => format!("Content-Length: {}", body.len()),
            None => line.to_string(),
        })
        .collect();
    format!("{}\r\n\r\n{body}", lines.join("\r\n"))
}

#[test]
fn forged_forms_change_nothing() {
    let (site, counts) = serve_counted();
    for attack in FORGED_FORMS {
        let mut request = fill(attack.request, &site);
        // These attacks have a wrong length.
        if !["huge form", "form with two lengths", "smuggling: bytes after the form"].contains(&attack.name) {
            request = with_length(&request);
        }
        let reply = site.raw(request.as_bytes());
        let status = reply.as_ref().map(|reply| reply.status);
        assert!(status.is_none_or(|status| (400..500).contains(&status)), "{}: {status:?}", attack.name);
        assert_eq!(counts.changes(), 0, "{}", attack.name);
    }
    // A page shows the token. An address never contains the token.
    for request in [
        "GET /change HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
        "GET /change?token={change}&do=flush&family=0 HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n",
    ] {
        assert_eq!(site.raw(fill(request, &site).as_bytes()).unwrap().status, 404);
    }
    // The same form without an attack makes the change.
    let honest = with_length(&fill("{form}Content-Length: 0\r\n\r\ntoken={change}&do=flush&family=0", &site));
    assert_eq!(site.raw(honest.as_bytes()).unwrap().status, 200);
    assert_eq!(counts.changes(), 1);
}

#[test]
fn forms_are_refused_by_a_server_without_changes() {
    let site = serve(&golden("levels"));
    let honest = with_length(&fill("{form}Content-Length: 0\r\n\r\ntoken=&do=flush&family=0", &site));
    assert_eq!(site.raw(honest.as_bytes()).unwrap().status, 405);
    for page in ["/live", "/doctor"] {
        assert!(!site.page(page).body.contains("method=\"post\""), "{page}");
    }
}

#[test]
fn first_address_sets_a_strict_cookie_and_pages_forbid_scripts() {
    let site = serve(&golden("levels"));
    let first =
        site.raw(fill("GET /?token={token} HTTP/1.1\r\nHost: {host}\r\n\r\n", &site).as_bytes()).unwrap();
    assert_eq!(first.status, 303);
    assert!(first.head.contains("; SameSite=Strict; HttpOnly"), "{}", first.head);
    assert!(first.head.contains("Location: /\r\n"));
    let page = site.page("/");
    for header in [
        "Content-Security-Policy: default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options: nosniff",
        "Referrer-Policy: same-origin",
        "Cache-Control: no-store",
    ] {
        assert!(page.head.contains(header), "{header} is not in {}", page.head);
    }
    assert!(!page.head.contains("Access-Control"));
    assert!(!page.body.contains(&site.secrets.cookie) && !page.body.contains(&site.secrets.entry));
}

#[test]
fn large_and_broken_heads_are_refused() {
    let site = serve(&golden("empty"));
    let long = format!(
        "GET /?{} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n",
        "a".repeat(3000),
        site.host(),
        site.cookie()
    );
    assert_eq!(site.raw(long.as_bytes()).unwrap().status, 414);
    let huge = format!("GET / HTTP/1.1\r\nHost: {}\r\nX: {}", site.host(), "a".repeat(40_000));
    assert_eq!(site.raw(huge.as_bytes()).unwrap().status, 431);
    let many = format!("GET / HTTP/1.1\r\nHost: {}\r\n{}\r\n", site.host(), "X: y\r\n".repeat(100));
    assert_eq!(site.raw(many.as_bytes()).unwrap().status, 431);
    for broken in [
        &b"\x00\x01\x02\r\n\r\n"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/1.0\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01",
    ] {
        let reply = site.raw(broken);
        assert!(reply.is_none_or(|reply| reply.status >= 400), "{broken:?}");
    }
}

#[test]
fn slow_clients_end_and_do_not_block_the_pages() {
    let site = serve(&golden("empty"));
    let mut slow: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", site.secrets.port)).unwrap();
            let _ = stream.write_all(b"GET / HT");
            stream
        })
        .collect();
    // The server closes each slow connection, with or without an answer.
    for stream in &mut slow {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(!String::from_utf8_lossy(&answer).contains("200 OK"));
    }
    drop(slow);
    let request = format!("GET / HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n", site.host(), site.cookie());
    // The limit of connections may reject the first requests.
    let answered = (0..1000).find_map(|_| site.raw(request.as_bytes()));
    assert_eq!(answered.map(|reply| reply.status), Some(200));
}

#[test]
fn bytes_after_the_request_do_not_hold_the_connection() {
    let site = serve(&golden("empty"));
    let mut stream = TcpStream::connect(("127.0.0.1", site.secrets.port)).unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n", site.host(), site.cookie());
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"));
    // One byte at a time, each well within the time of the server. A connection that is open after 200 bytes would stay open for
    // 16384 bytes.
    let closed = (0..200).any(|_| {
        std::thread::park_timeout(std::time::Duration::from_millis(30));
        stream.write_all(b"x").is_err()
    });
    assert!(closed);
}

#[test]
fn huge_info_logs_and_huge_offsets_cost_one_part_of_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.db.create_if_missing = true;
    drop(Db::open(dir.path(), options).unwrap());
    let site = serve(dir.path());
    // 10 GiB of zeros: no page reads all of them.
    let file = std::fs::File::create(dir.path().join("000900.log")).unwrap();
    file.set_len(10 << 30).unwrap();
    for from in [0, 5 << 30, (10_u64 << 30) - 1] {
        let reply = site.page(&format!("/wal?number=900&from={from}&find=x"));
        assert_eq!(reply.status, 200);
        let is_cut = reply.body.contains("One page reads at most");
        assert_eq!(is_cut, from != (10 << 30) - 1, "{from}: {}", reply.body);
    }
    for target in
        ["/wal?number=900&from=18446744073709551615", "/record?number=900&offset=18446744073709551615"]
    {
        assert_eq!(site.page(target).status, 200);
    }
    // Without a search too.
    let env = env::Env::posix();
    let rows = ironstone_inspect::walk::records(
        &env,
        dir.path(),
        ironstone_inspect::walk::LogKind::Wal,
        900,
        0,
        "",
        10,
    );
    assert!(rows.unwrap().is_cut);
}

const SCRIPT: &str = "<script>alert(1)</script>";

#[test]
fn scripts_in_keys_names_and_options_are_text() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("<img src=x onerror=alert(1)>");
    let mut options = Options::default();
    options.db.create_if_missing = true;
    options.db.create_missing_column_families = true;
    let users = FamilyDescriptor::new(SCRIPT, FamilyOptions::default());
    let db = Db::open_with_families(&path, options, vec![users]).unwrap();
    let family = db.family(SCRIPT).unwrap();
    family.put(SCRIPT.as_bytes(), b"\"><svg onload=alert(2)>").unwrap();
    family.delete(b"<b onmouseover=alert(3)>").unwrap();
    family.flush().unwrap();
    db.put(b"</pre><script>alert(4)</script>", SCRIPT.as_bytes()).unwrap();
    drop(db);
    std::fs::write(
        path.join("LOG"),
        format!(
            "2026/01/01-00:00:00.000000 1 [WARN] {SCRIPT}\n2026/01/01-00:00:00.000000 1 [ERROR] {SCRIPT}\n"
        ),
    )
    .unwrap();
    let site = serve(&path);
    let mut bodies = Vec::new();
    for page in [
        "/",
        "/live",
        "/tree",
        "/files",
        "/logs",
        "/options?all=1",
        "/memory",
        "/disk",
        "/tombstones",
        "/activity",
        "/doctor",
        "/compare",
    ] {
        bodies.push(site.page(page).body);
    }
    let facts =
        ironstone_inspect::model::load(&env::Env::posix(), &path, &ironstone_inspect::model::Budget::PAGE)
            .unwrap();
    let file = facts.families[1].files[0].number;
    bodies.push(site.page(&format!("/file?number={file}")).body);
    bodies.push(site.page(&format!("/block?number={file}")).body);
    let wal = facts.files.iter().rfind(|f| f.name.ends_with(".log")).unwrap().number;
    bodies.push(site.page(&format!("/wal?number={wal}&find=%3Cscript%3E")).body);
    bodies.push(site.page(&format!("/record?number={wal}&offset=0")).body);
    let escaped = bodies.iter().filter(|body| body.contains("&lt;script&gt;")).count();
    assert!(escaped >= 6, "only {escaped} pages show the text");
    for body in bodies {
        // A text of the database is never inside a tag, so it cannot end an attribute.
        for tag in body.split('<').skip(1).map(|part| part.split('>').next().unwrap()) {
            assert!(!tag.contains("alert("), "{tag} in {body}");
        }
    }
}

#[test]
fn huge_keys_values_and_batches_make_small_pages() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("huge");
    let mut options = Options::default();
    options.db.create_if_missing = true;
    let db = Db::open(&path, options).unwrap();
    db.put(&vec![b'k'; 3 << 20], &vec![b'v'; 5 << 20]).unwrap();
    db.flush().unwrap();
    let mut batch = ironstone::WriteBatch::new();
    for n in 0..50_000_u32 {
        batch.put(&n.to_be_bytes(), b"<b>");
    }
    db.write(batch).unwrap();
    drop(db);
    let site = serve(&path);
    let facts =
        ironstone_inspect::model::load(&env::Env::posix(), &path, &ironstone_inspect::model::Budget::PAGE)
            .unwrap();
    let file = facts.families[0].files[0].number;
    let wal = facts.files.iter().rfind(|f| f.name.ends_with(".log")).unwrap().number;
    for page in [
        "/tree".to_string(),
        format!("/file?number={file}"),
        format!("/block?number={file}"),
        format!("/wal?number={wal}"),
        format!("/record?number={wal}&offset=0"),
        format!("/wal?number={wal}&from=18446744073709551615"),
        format!("/block?number={file}&block=18446744073709551615&from=18446744073709551615"),
        "/files?from=18446744073709551615".to_string(),
    ] {
        let reply = site.page(&page);
        assert_eq!(reply.status, 200, "{page}");
        assert!(reply.body.len() < 600_000, "{page}: {} bytes", reply.body.len());
    }
    assert_eq!(batch::HEADER_LEN, 12);
}

/// Without checksums, no mismatch rejects a changed block. Each place of the file once claims a length of 4 GiB.
#[test]
fn keys_of_4_gib_make_small_pages() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.update("create_if_missing=true;compression=kNoCompression").unwrap();
    options.update("block_based_table_factory={checksum=kNoChecksum;block_size=64}").unwrap();
    let db = Db::open(dir.path(), options).unwrap();
    for key in [b"apple", b"bread", b"cream"] {
        db.put(key, &[b'v'; 40]).unwrap();
    }
    db.flush().unwrap();
    drop(db);
    let facts = ironstone_inspect::model::load(
        &env::Env::posix(),
        dir.path(),
        &ironstone_inspect::model::Budget::PAGE,
    );
    let number = facts.unwrap().families[0].files[0].number;
    let path = dir.path().join(format!("{number:06}.sst"));
    let sound = std::fs::read(&path).unwrap();
    let site = serve(dir.path());
    let shown = site.page(&format!("/block?number={number}")).body;
    assert!(shown.contains("apple"), "{shown}");
    // The footer has 53 bytes at the end. The data blocks are at the start.
    let places = (0..200).chain((200..sound.len() - 53).step_by(11));
    for place in places.filter(|place| place + 5 < sound.len()) {
        let mut hostile = sound.clone();
        hostile[place..place + 5].copy_from_slice(&[0xff, 0xff, 0xff, 0xff, 0x0f]);
        std::fs::write(&path, &hostile).unwrap();
        for page in [format!("/file?number={number}"), format!("/block?number={number}")] {
            let reply = site.page(&page);
            assert_eq!(reply.status, 200, "{place}: {page}");
            assert!(reply.body.len() < 600_000, "{place}: {page}: {} bytes", reply.body.len());
        }
    }
}
