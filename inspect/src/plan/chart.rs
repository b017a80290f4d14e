//! The curves of a forecast as SVG.

use maud::html;

use super::{Forecast, Sample};

/// A curve: its title, its colour, and the value of a sample.
type Curve = (&'static str, &'static str, fn(&Sample) -> f64);

const CURVES: [Curve; 4] = [
    ("Write amplification", "#b8400f", |sample| sample.write_amplification),
    ("Space amplification", "#3d7ea6", |sample| sample.space_amplification),
    ("Sorted runs (read amplification)", "#7b3fa0", |sample| sample.sorted_runs as f64),
    ("Share of time in which writers wait", "#b3261e", |sample| sample.stalled),
];

/// Returns the curves as an SVG document, over the bytes written.
pub fn svg(forecast: &Forecast) -> String {
    let end = forecast.samples.iter().map(|sample| sample.written_bytes).max().unwrap_or(1).max(1) as f64;
    let drawing = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 640" font-family="sans-serif" font-size="13" role="img"
            aria-label="Write, space and read amplification and stalls over the bytes written" {
            rect width="900" height="640" fill="#ffffff" {}
            @for (at, (title, colour, value)) in CURVES.iter().enumerate() {
                @let top = at as f64 * 155.0 + 30.0;
                @let most = forecast.samples.iter().map(value).fold(0.0_f64, f64::max).max(1e-9);
                text x="60" y=(top - 8.0) fill="#1c1b1a" { (title) }
                text x="52" y=(top + 10.0) fill="#5d5954" text-anchor="end" { (format!("{most:.1}")) }
                text x="52" y=(top + 110.0) fill="#5d5954" text-anchor="end" { "0" }
                rect x="60" y=(top) width="820" height="110" fill="#f4f1ec" {}
                @let points: Vec<String> = forecast.samples.iter().map(|sample| {
                    let x = 60.0 + sample.written_bytes as f64 / end * 820.0;
                    format!("{x:.1},{:.1}", top + 110.0 - value(sample) / most * 104.0)
                }).collect();
                polyline points=(points.join(" ")) fill="none" stroke=(colour) stroke-width="2" {}
            }
            text x="880" y="632" fill="#5d5954" text-anchor="end" { (crate::words::bytes(end as u64)) " written" }
        }
    };
    drawing.into_string()
}
