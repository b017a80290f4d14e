//! Metrics for OpenTelemetry: observable instruments of a meter.

use std::sync::Arc;
use std::time::Duration;

use env::sync::Mutex;
use opentelemetry::KeyValue;
use opentelemetry::metrics::{AsyncInstrument, Meter};

use super::{Description, MetricKind, Sample};
use crate::Db;

/// A collection calls one callback for each metric. Callbacks within this time share one read of the metrics.
const SHARED: Duration = Duration::from_millis(100);

/// Creates an observable instrument of `meter` for each metric of the database. The instruments keep the database open
/// until the meter's provider is shut down and dropped.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// let meter = opentelemetry::global::meter("ironstone");
/// ironstone::metrics::observe(&db, &meter);
/// # Ok::<(), ironstone::Error>(())
/// ```
pub fn observe(db: &Db, meter: &Meter) {
    let source = Arc::new(Source { db: db.clone(), last: Mutex::new(None) });
    for description in Description::ALL {
        let source = source.clone();
        let report = move |instrument: &dyn AsyncInstrument<u64>| source.report(description, instrument);
        match description.kind {
            MetricKind::Counter => {
                let builder = meter.u64_observable_counter(description.name);
                let builder = builder.with_description(description.help).with_unit(description.unit);
                builder.with_callback(report).build();
            }
            MetricKind::Gauge => {
                let builder = meter.u64_observable_gauge(description.name);
                let builder = builder.with_description(description.help).with_unit(description.unit);
                builder.with_callback(report).build();
            }
        }
    }
}

/// The samples of the last collection, with the time when they were read.
struct Source {
    db: Db,
    last: Mutex<Option<(u64, Arc<Vec<Sample>>)>>,
}

impl Source {
    fn samples(&self) -> Arc<Vec<Sample>> {
        let now_us = self.db.engine().env().clock.now_micros();
        let mut last = self.last.lock();
        match &*last {
            Some((at_us, samples)) if u128::from(now_us.abs_diff(*at_us)) < SHARED.as_micros() => {
                samples.clone()
            }
            _ => {
                let samples = Arc::new(self.db.metrics().samples());
                *last = Some((now_us, samples.clone()));
                samples
            }
        }
    }

    fn report(&self, description: &'static Description, instrument: &dyn AsyncInstrument<u64>) {
        for sample in self.samples().iter().filter(|sample| sample.description == description) {
            let labels = sample.labels.iter().map(|(name, value)| KeyValue::new(*name, value.clone()));
            instrument.observe(sample.value, &labels.collect::<Vec<_>>());
        }
    }
}
