//! Draws one value over time as a line. Its least, last and greatest value are written in words.

use maud::{Markup, html};

use super::axis;

/// The width and height of the drawing in its own units.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 60.0;

/// A value over time. `times` are microseconds since 1970 in increasing order. Each time has one value.
pub struct Curve<'a> {
    pub name: &'a str,
    pub unit: &'a str,
    pub times: &'a [u64],
    /// `None` if the value is unknown at that time.
    pub values: Vec<Option<f64>>,
}

/// Draws a curve. The axis of values starts at 0.
pub fn curve(curve: &Curve<'_>) -> Markup {
    let known: Vec<f64> = curve.values.iter().flatten().copied().filter(|value| value.is_finite()).collect();
    let Some(last) = known.last().copied() else {
        return html! { p { strong { (curve.name) } ": not known yet." } };
    };
    let most = known.iter().copied().fold(0.0_f64, f64::max);
    let least = known.iter().copied().fold(f64::INFINITY, f64::min);
    let (first_at, last_at) =
        (curve.times.first().copied().unwrap_or(0), curve.times.last().copied().unwrap_or(0));
    let text = format!("{} between {least:.1} and {most:.1}, now {last:.1}", curve.name);
    html! {
        figure class="curve" {
            figcaption { strong { (curve.name) } " now " (format!("{last:.1}")) " "
                span class="muted" { "from " (format!("{least:.1}")) " to " (format!("{most:.1}")) "; " (curve.unit) } }
            div class="plot" {
                span class="scale" { span { (format!("{most:.1}")) } span { "0" } }
                svg class="curve" viewBox="0 0 1000 64" preserveAspectRatio="none" role="img" height="88" aria-label=(text) {
                    rect class="ground" width="1000" height="64" {}
                    @for part in parts(curve, most) {
                        polygon class="area" points=(area(&part)) {}
                        polyline class="line" points=(part) {}
                    }
                }
                span {} (axis(first_at, last_at))
            }
        }
    }
}

/// Returns the corners of the area below a part of the line.
fn area(line: &str) -> String {
    let x = |point: Option<&str>| point.and_then(|p| p.split(',').next()).unwrap_or("0").to_string();
    let (first, last) = (x(line.split(' ').next()), x(line.split(' ').next_back()));
    format!("{first},64 {line} {last},64")
}

/// Returns the points of each part of the line. An unknown value ends a part.
fn parts(curve: &Curve<'_>, most: f64) -> Vec<String> {
    let (first, last) = (curve.times.first().copied().unwrap_or(0), curve.times.last().copied().unwrap_or(0));
    let span = last.saturating_sub(first).max(1) as f64;
    let (mut parts, mut part) = (Vec::new(), Vec::new());
    for (time, value) in curve.times.iter().zip(&curve.values) {
        match value.filter(|value| value.is_finite()) {
            Some(value) => {
                let x = time.saturating_sub(first) as f64 / span * WIDTH;
                let y = 2.0 + HEIGHT * (1.0 - value / most.max(f64::MIN_POSITIVE));
                part.push(format!("{x:.1},{y:.1}"));
            }
            None => parts.push(std::mem::take(&mut part)),
        }
    }
    parts.push(part);
    // A single point has no line, so it becomes a short line.
    let short = |part: &Vec<String>| match part.as_slice() {
        [point] => format!("{point} {point}"),
        points => points.join(" "),
    };
    parts.iter().filter(|part| !part.is_empty()).map(short).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_value_divides_the_line_and_the_greatest_value_is_at_the_top() {
        let values = vec![Some(0.0), Some(2.0), None, Some(4.0)];
        let line = Curve { name: "n", unit: "u", times: &[0, 10, 20, 30], values };
        let parts = parts(&line, 4.0);
        assert_eq!(parts, ["0.0,62.0 333.3,32.0", "1000.0,2.0 1000.0,2.0"]);
        assert_eq!(area(&parts[0]), "0.0,64 0.0,62.0 333.3,32.0 333.3,64");
    }
}
