//! What other programs read of an open database: the pages of the inspector, and the metrics for Prometheus and OpenTelemetry.
//!
//! ```text
//!  pages       GET over TCP ─► the snapshots of the model; a page of a secondary instance catches up with the writer
//!  Prometheus  the text of a scrape ─► the entries and the files of the model
//!  OpenTelemetry  the callbacks of the instruments ─► the same entries and files
//! ```
//! The worlds `observed` and `forms` call these functions.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use ironstone::inspector::{Inspector, InspectorOptions};
use ironstone::metrics::{DbCollector, Description, observe};
use ironstone::{Db, Kind, Secondary};
use opentelemetry::KeyValue;
use opentelemetry::metrics::{
    AsyncInstrument, AsyncInstrumentBuilder, Callback, InstrumentProvider, Meter, ObservableCounter,
    ObservableGauge,
};
use parking_lot::Mutex;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use super::{same, told};

/// The numbers of the model that the collectors must report.
pub(super) struct Expected {
    /// The entries of all write batches.
    pub entries: u64,
    /// The SST files of all column families.
    pub files: u64,
    pub snapshots: u64,
}

/// Compares the pages of a database with the model.
///
/// # Errors
/// The difference, or the failure of a request.
pub(super) fn compare_pages(db: &Db, expected: &Expected) -> Result<(), String> {
    let inspector =
        Inspector::serve(db, &InspectorOptions::default()).map_err(told("the server of the pages"))?;
    let page = Client::of(&inspector)?.page("/disk")?;
    let plural = if expected.snapshots == 1 { "" } else { "s" };
    let words = format!("{} snapshot{plural}", expected.snapshots);
    same("a page with the snapshots", &page.contains(&words), &true)
}

/// Requests a page of a secondary instance. The instance has the newest rows of the writer afterwards.
///
/// # Errors
/// The failure of the request.
pub(super) fn catch_up_by_page(secondary: &Arc<Secondary>) -> Result<(), String> {
    let changing = InspectorOptions { allow_changes: true };
    let refused = Inspector::serve_secondary(secondary, &changing).map(drop).map_err(|error| error.kind());
    same("changes of a secondary instance", &refused, &Err(Kind::InvalidArgument))?;
    let inspector = Inspector::serve_secondary(secondary, &InspectorOptions::default());
    let inspector = inspector.map_err(told("the server of the pages of a secondary instance"))?;
    let page = Client::of(&inspector)?.page("/disk")?;
    same("a page of a secondary instance", &page.contains("0 snapshots"), &true)
}

/// Compares the metrics for Prometheus and OpenTelemetry with the model.
///
/// # Errors
/// The first difference.
pub(super) fn compare_collectors(db: &Db, expected: &Expected) -> Result<(), String> {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(DbCollector::new(db)));
    let mut text = String::new();
    encode(&mut text, &registry).map_err(|error| error.to_string())?;
    let sum_of = |name: &str| {
        let lines = text.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum::<u64>()
    };
    same("entries for Prometheus", &sum_of("ironstone_user_keys_total"), &expected.entries)?;
    same("files for Prometheus", &sum_of("ironstone_level_files"), &expected.files)?;
    let instruments = Arc::new(Instruments::default());
    observe(db, &Meter::new(instruments.clone()));
    let all = instruments.all.lock();
    same("instruments", &all.len(), &Description::ALL.len())?;
    let sums: BTreeMap<&str, u64> = all.iter().map(|(name, report)| (&name[..], Sum::of(report))).collect();
    same("entries for OpenTelemetry", &sums.get("ironstone_user_keys"), &Some(&expected.entries))?;
    same("files for OpenTelemetry", &sums.get("ironstone_level_files"), &Some(&expected.files))
}

/// The instruments of a meter, with their callbacks.
#[derive(Default)]
struct Instruments {
    all: Mutex<Vec<(String, Callback<u64>)>>,
}

impl Instruments {
    fn add<I>(&self, builder: AsyncInstrumentBuilder<'_, I, u64>) {
        let name = builder.name.into_owned();
        self.all.lock().extend(builder.callbacks.into_iter().map(|report| (name.clone(), report)));
    }
}

impl InstrumentProvider for Instruments {
    fn u64_observable_counter(
        &self,
        builder: AsyncInstrumentBuilder<'_, ObservableCounter<u64>, u64>,
    ) -> ObservableCounter<u64> {
        self.add(builder);
        ObservableCounter::new()
    }

    fn u64_observable_gauge(
        &self,
        builder: AsyncInstrumentBuilder<'_, ObservableGauge<u64>, u64>,
    ) -> ObservableGauge<u64> {
        self.add(builder);
        ObservableGauge::new()
    }
}

/// The sum of the values of one instrument.
#[derive(Default)]
struct Sum(Mutex<u64>);

impl Sum {
    fn of(report: &Callback<u64>) -> u64 {
        let sum = Sum::default();
        report(&sum);
        sum.0.into_inner()
    }
}

impl AsyncInstrument<u64> for Sum {
    fn observe(&self, value: u64, _labels: &[KeyValue]) {
        *self.0.lock() += value;
    }
}

/// A browser with the cookie of the pages.
struct Client {
    host: String,
    cookie: String,
}

impl Client {
    /// Exchanges the token of the address for a cookie.
    fn of(inspector: &Inspector) -> Result<Client, String> {
        let (root, token) = inspector.url().split_once("/?token=").ok_or("an address without a token")?;
        let host = root.trim_start_matches("http://").to_string();
        let head = request(&host, &format!("GET /?token={token} HTTP/1.1\r\nHost: {host}\r\n\r\n"))?;
        let cookie = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("set-cookie").then(|| value.split(';').next())?
        });
        let cookie = cookie.ok_or("an answer without a cookie")?.trim().to_string();
        Ok(Client { host, cookie })
    }

    fn page(&self, target: &str) -> Result<String, String> {
        let Client { host, cookie } = self;
        let text = format!(
            "GET {target} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nSec-Fetch-Site: same-origin\r\n\r\n"
        );
        let answer = request(host, &text)?;
        same("the status of a page", &answer.split(' ').nth(1), &Some("200"))?;
        Ok(answer)
    }
}

/// Sends a request over TCP. Returns the answer with its head.
fn request(host: &str, text: &str) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("{host}: {error}");
    let mut stream = TcpStream::connect(host).map_err(failed)?;
    stream.write_all(text.as_bytes()).map_err(failed)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(failed)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
