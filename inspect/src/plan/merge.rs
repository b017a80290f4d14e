//! The expected output of a merge of files with random keys.

/// A range of the key space with some of its keys: the range of a file, or of a part of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    /// The first key.
    pub low: u64,
    /// The key after the last key.
    pub high: u64,
    /// Expected entries.
    pub entries: f64,
}

impl Span {
    fn density(&self) -> f64 {
        (self.entries / self.high.saturating_sub(self.low).max(1) as f64).clamp(0.0, 1.0)
    }
}

/// Returns the merge of the inputs as spans in key order. A span ends where an input starts or ends.
pub(super) fn merge(inputs: &[Span]) -> Vec<Span> {
    let mut ends: Vec<(u64, usize, bool)> = Vec::with_capacity(2 * inputs.len());
    for (at, input) in inputs.iter().enumerate() {
        ends.push((input.low, at, true));
        ends.push((input.high, at, false));
    }
    ends.sort_unstable();
    let mut open: Vec<usize> = Vec::new();
    let mut out: Vec<Span> = Vec::new();
    let mut low = 0;
    for (place, at, starts) in ends {
        if place > low && !open.is_empty() {
            let misses: f64 = open.iter().map(|input| 1.0 - inputs[*input].density()).product();
            out.push(Span { low, high: place, entries: (place - low) as f64 * (1.0 - misses) });
        }
        low = place;
        match starts {
            true => open.push(at),
            false => open.retain(|other| *other != at),
        }
    }
    out
}

/// Splits the spans at these places. The entries of a span are even in its range.
pub(super) fn split(spans: &[Span], places: &[u64]) -> Vec<Span> {
    let mut out = Vec::with_capacity(spans.len());
    for span in spans {
        let width = span.high.saturating_sub(span.low).max(1) as f64;
        let first = places.partition_point(|place| *place <= span.low);
        let inside = places[first..].iter().copied().take_while(|place| *place < span.high);
        let mut low = span.low;
        for high in inside.chain([span.high]) {
            if high > low {
                out.push(Span { low, high, entries: span.entries * (high - low) as f64 / width });
                low = high;
            }
        }
    }
    out
}

/// Returns the expected number of different keys in `writes` random writes over `keys` keys.
pub(super) fn distinct(writes: f64, keys: f64) -> f64 {
    keys * (1.0 - (-writes / keys).exp())
}
