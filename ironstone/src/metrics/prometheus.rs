//! Metrics for Prometheus: a collector of the crate `prometheus-client`.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::{MetricKind, Sample};
use crate::Db;

/// Reads the metrics of a database at each scrape. The collector keeps the database open.
///
/// ```
/// # let db = ironstone::Db::open("data", ironstone::Options::in_memory())?;
/// let mut registry = prometheus_client::registry::Registry::default();
/// registry.register_collector(Box::new(ironstone::metrics::DbCollector::new(&db)));
/// let mut text = String::new();
/// prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
/// assert!(text.contains("ironstone_level_files{column_family=\"default\",level=\"0\"} 0"));
/// # Ok::<(), ironstone::Error>(())
/// ```
#[derive(Debug)]
pub struct DbCollector {
    db: Db,
}

impl DbCollector {
    /// Returns the collector of a database.
    pub fn new(db: &Db) -> DbCollector {
        DbCollector { db: db.clone() }
    }
}

impl Collector for DbCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let samples = self.db.metrics().samples();
        for of_metric in samples.chunk_by(|a, b| a.description == b.description) {
            encode(&mut encoder, of_metric)?;
        }
        Ok(())
    }
}

/// Encodes the samples of one metric.
fn encode(encoder: &mut DescriptorEncoder<'_>, samples: &[Sample]) -> Result<(), fmt::Error> {
    let Some(first) = samples.first() else { return Ok(()) };
    let (name, help) = (first.description.name, first.description.help);
    let counter = ConstCounter::new(0u64);
    let gauge = ConstGauge::new(0u64);
    let kind = match first.description.kind {
        MetricKind::Counter => counter.metric_type(),
        MetricKind::Gauge => gauge.metric_type(),
    };
    let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
    for sample in samples {
        let family = metric.encode_family(&sample.labels)?;
        match first.description.kind {
            MetricKind::Counter => ConstCounter::new(sample.value).encode(family)?,
            MetricKind::Gauge => ConstGauge::new(sample.value).encode(family)?,
        }
    }
    Ok(())
}
