//! Prints the results of all campaigns, as a table and as JSON.

use serde_json::{Value, json};

use crate::Settings;
use crate::job::Done;

fn verdict(one: &Done) -> String {
    match &one.fault {
        Some(why) if one.is_missing() => format!("not run: {why}"),
        Some(why) => format!("failed: {why}"),
        None if one.bad > 0 => "failed".to_string(),
        None => "holds".to_string(),
    }
}

/// Returns a line about one campaign.
pub fn sentence(one: &Done) -> String {
    let Done { campaign, count, bad, seconds, .. } = one;
    format!("{}: {count} {}, {bad} bad in {seconds:.1} s: {}", campaign.name, campaign.unit, verdict(one))
}

/// Returns the table.
pub fn text(all: &[Done], seconds: f64) -> String {
    let mut out = format!(
        "{:30} {:>12} {:12} {:>5} {:>8}  {}\n",
        "campaign", "count", "of", "bad", "seconds", "verdict"
    );
    for one in all {
        let Done { campaign, count, bad, seconds, .. } = one;
        let row = format!(
            "{:30} {count:>12} {:12} {bad:>5} {seconds:>8.1}  {}\n",
            campaign.name,
            campaign.unit,
            verdict(one)
        );
        out.push_str(&row);
    }
    out.push_str(&format!(
        "{:30} {:>12} {:12} {:>5} {seconds:>8.1}\n",
        "all",
        "",
        "",
        all.iter().map(|one| one.bad).sum::<u64>()
    ));
    out
}

/// Returns the results as JSON, with the report of each program.
pub fn json(settings: &Settings, all: &[Done], seconds: f64) -> String {
    let campaigns: Vec<Value> = all
        .iter()
        .map(|one| {
            json!({
                "name": one.campaign.name,
                "unit": one.campaign.unit,
                "asked": one.campaign.asked,
                "count": one.count,
                "bad": one.bad,
                "seconds": (one.seconds * 10.0).round() / 10.0,
                "verdict": verdict(one),
                "report": one.report,
            })
        })
        .collect();
    let all = json!({
        "commit": settings.commit,
        "first_seed": settings.seed,
        "at_once": settings.at_once,
        "seconds": (seconds * 10.0).round() / 10.0,
        "campaigns": campaigns,
    });
    format!("{all:#}\n")
}
