//! `compare`: runs one command on Ironstone's tools and on RocksDB's tools, in turn, and prints the ratio of the speeds.
//!
//! A recipe ([`recipes`]) is a list of commands for `db_bench` or `filter_bench`. `--sample N` draws recipes instead
//! ([`sample`]). The runs alternate (ours, peer, ours, peer, ...), so a change of the machine's speed affects both
//! sides. A row is one report line of a command ([`rows`]). Its ratio is ours divided by the peer in speed, computed
//! for each pair of runs. The median of the pairs is printed, with the lowest and the highest pair. A ratio above 1 means
//! that Ironstone is faster.
//!
//! ```text
//! cargo build --release
//! target/release/compare --ours target/release --peer DIR [--runs N] [--db DIR] [--json FILE] RECIPE ...
//! ```
//!
//! Without the name of a recipe, the recipes of [`recipes::all`] run. A `*` at the end of a name stands for the rest of the
//! names: `'untuned-*'` runs the recipes of [`untuned`]. `draw-S-N` is recipe N of the sample with seed S, so a drawn recipe
//! can run again alone.
//!
//! `--peer DIR` holds RocksDB's `db_bench` and `filter_bench`. With a directory on a tmpfs (`--db /dev/shm/x`) the
//! figures exclude the disk. The exit status is 1 if a command failed on a side.

mod recipes;
mod rows;
mod sample;
mod untuned;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use recipes::{Program, Recipe, Step};
use rows::{Row, Unit};

const USAGE: &str = "usage: compare --peer DIR [--ours DIR] [--runs N] [--db DIR] [--json FILE] \
                     [--sample N [--seed S] | RECIPE ...]\n       \
                     compare --list [--sample N [--seed S]]";

/// The arguments of the command line.
struct Request {
    ours: PathBuf,
    peer: PathBuf,
    db: PathBuf,
    runs: usize,
    json: Option<PathBuf>,
    recipes: Vec<Recipe>,
}

/// The figures of one row on both sides, one for each run.
#[derive(Default)]
struct Pair {
    ours: Vec<f64>,
    peer: Vec<f64>,
}

/// A finished row.
struct Result {
    recipe: String,
    row: Row,
    pair: Pair,
    ratios: Vec<f64>,
}

/// Runs the program with the arguments after its name. Returns the exit status.
pub fn main(args: impl Iterator<Item = String>) -> i32 {
    match parse(args) {
        Ok(Some(request)) => run(&request),
        Ok(None) => 0,
        Err(message) => {
            eprintln!("compare: {message}\n{USAGE}");
            2
        }
    }
}

/// Parses the command line. Returns nothing if the line only asks for the list of recipes or for help.
fn parse(args: impl Iterator<Item = String>) -> std::result::Result<Option<Request>, String> {
    use lexopt::Arg::{Long, Short, Value};
    let mut parser = lexopt::Parser::from_args(args);
    let (mut ours, mut peer, mut json) = (PathBuf::from("target/release"), None, None);
    let (mut db, mut runs, mut sampled, mut seed) = (std::env::temp_dir().join("ironstone-compare"), 3, 0, 1);
    let mut list = false;
    let mut names = Vec::new();
    let text = |e: lexopt::Error| e.to_string();
    let number = |value: std::ffi::OsString| {
        let shown = value.to_string_lossy().into_owned();
        shown.parse::<u64>().map_err(|_| format!("{shown:?} is not a number"))
    };
    while let Some(arg) = parser.next().map_err(text)? {
        match arg {
            Long("ours") => ours = parser.value().map_err(text)?.into(),
            Long("peer") => peer = Some(PathBuf::from(parser.value().map_err(text)?)),
            Long("db") => db = parser.value().map_err(text)?.into(),
            Long("json") => json = Some(PathBuf::from(parser.value().map_err(text)?)),
            Long("runs") | Short('n') => runs = number(parser.value().map_err(text)?)?.max(1) as usize,
            Long("sample") => sampled = number(parser.value().map_err(text)?)?,
            Long("seed") => seed = number(parser.value().map_err(text)?)?,
            Long("list") => list = true,
            Long("help") | Short('h') => {
                println!("{USAGE}");
                return Ok(None);
            }
            Value(name) => names.push(name.to_string_lossy().into_owned()),
            other => return Err(text(other.unexpected())),
        }
    }
    if list {
        let recipes = if sampled > 0 { sample::draw(sampled, seed) } else { every() };
        recipes.iter().for_each(print_recipe);
        return Ok(None);
    }
    let peer = peer.ok_or("--peer names the directory of RocksDB's db_bench")?;
    let recipes = match (sampled, names.is_empty()) {
        (0, true) => recipes::all(),
        (0, false) => {
            names.iter().map(|name| named(name)).collect::<std::result::Result<Vec<_>, _>>()?.concat()
        }
        (count, true) => sample::draw(count, seed),
        (_, false) => return Err("--sample draws recipes; name no recipe with it".into()),
    };
    Ok(Some(Request { ours, peer, db, runs, json, recipes }))
}

/// Returns every recipe that has a name.
fn every() -> Vec<Recipe> {
    [recipes::all(), recipes::growth(), untuned::all()].concat()
}

/// Returns the recipe of this name, or all recipes that begin with the text before a `*` at its end. `draw-S-N` is recipe
/// N of the sample with seed S.
///
/// # Errors
/// A message, if no recipe has the name.
fn named(name: &str) -> std::result::Result<Vec<Recipe>, String> {
    if let Some(recipe) = sample::named(name) {
        return Ok(vec![recipe]);
    }
    let meant = |recipe: &Recipe| match name.strip_suffix('*') {
        Some(begin) => recipe.name.starts_with(begin),
        None => recipe.name == name,
    };
    let found: Vec<Recipe> = every().into_iter().filter(meant).collect();
    if found.is_empty() { Err(format!("no recipe {name:?}; --list shows them")) } else { Ok(found) }
}

fn print_recipe(recipe: &Recipe) {
    for step in &recipe.steps {
        println!("{}: {} {}", recipe.name, step.program.name(), step.flags);
    }
}

fn run(request: &Request) -> i32 {
    if let Err(e) = std::fs::create_dir_all(&request.db) {
        eprintln!("compare: creating {}: {e}", request.db.display());
        return 2;
    }
    for folder in [&request.ours, &request.peer] {
        if let Err(e) = check_starts(folder) {
            eprintln!("compare: {e}");
            return 2;
        }
    }
    let (mut results, mut failures) = (Vec::new(), Vec::new());
    for recipe in &request.recipes {
        results.extend(run_recipe(request, recipe, &mut failures));
    }
    print_summary(&results);
    print_flags_of_slow_rows(&results, &request.recipes);
    if let Some(path) = &request.json
        && let Err(e) = std::fs::write(path, json(&results))
    {
        failures.push(format!("writing {}: {e}", path.display()));
    }
    failures.iter().for_each(|failure| println!("FAILED {failure}"));
    i32::from(!failures.is_empty())
}

/// Starts the `db_bench` of a directory without a benchmark, so that a missing program or library is reported once.
///
/// # Errors
/// A message with the program and the cause.
fn check_starts(folder: &Path) -> std::result::Result<(), String> {
    let program = folder.join(Program::DbBench.name());
    let output = Command::new(&program)
        .arg("--version")
        .output()
        .map_err(|e| format!("starting {}: {e}", program.display()))?;
    // The dynamic loader ends a program with status 127 if a library is missing.
    if output.status.code() == Some(127) {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("starting {}: {}", program.display(), text.trim()));
    }
    Ok(())
}

/// Runs a recipe on both sides, prints its rows, and returns them.
fn run_recipe(request: &Request, recipe: &Recipe, failures: &mut Vec<String>) -> Vec<Result> {
    let mut pairs: BTreeMap<Row, Pair> = BTreeMap::new();
    for _ in 0..request.runs {
        for (side, folder) in [("ours", &request.ours), ("peer", &request.peer)] {
            let db = request.db.join(side);
            for (number, step) in recipe.steps.iter().enumerate() {
                if !step.keep {
                    let _ = std::fs::remove_dir_all(&db);
                }
                let rows = match run_step(folder, step, &db, side == "peer") {
                    Ok(rows) => rows,
                    Err(e) => {
                        failures.push(format!("{} on {side}: {e}", recipe.name));
                        continue;
                    }
                };
                for (mut row, figure) in rows {
                    if step.quiet || row.unit == Unit::CpuSeconds && !step.cpu {
                        continue;
                    }
                    if recipe.steps.len() > 1 {
                        row.name = format!("{number}:{}", row.name);
                    }
                    let pair = pairs.entry(row).or_default();
                    if side == "ours" { &mut pair.ours } else { &mut pair.peer }.push(figure);
                }
            }
            let _ = std::fs::remove_dir_all(&db);
        }
    }
    finish(recipe, pairs, failures)
}

fn finish(recipe: &Recipe, pairs: BTreeMap<Row, Pair>, failures: &mut Vec<String>) -> Vec<Result> {
    let mut results = Vec::new();
    for (row, pair) in pairs {
        if pair.ours.is_empty() || pair.peer.is_empty() {
            failures.push(format!("{}: only one side printed the row {}", recipe.name, row.name));
            continue;
        }
        let mut ratios: Vec<f64> =
            pair.ours.iter().zip(&pair.peer).map(|(ours, peer)| row.unit.ratio(*ours, *peer)).collect();
        ratios.sort_by(f64::total_cmp);
        println!(
            "{:18} {:34} {:6} ours {:>12}  peer {:>12}  ratio {:6.2}  ({:.2}..{:.2})",
            recipe.name,
            row.name,
            row.unit.shown(),
            shown(median(&pair.ours)),
            shown(median(&pair.peer)),
            median(&ratios),
            ratios[0],
            ratios[ratios.len() - 1]
        );
        results.push(Result { recipe: recipe.name.clone(), row, pair, ratios });
    }
    results
}

/// Runs one command and returns its rows. The last row is the CPU time of the process.
fn run_step(
    folder: &Path,
    step: &Step,
    db: &Path,
    peer: bool,
) -> std::result::Result<Vec<(Row, f64)>, String> {
    let flags = if peer { step.peer_flags() } else { step.flags.clone() };
    let program = folder.join(step.program.name());
    let mut command = Command::new(&program);
    command.args(flags.split_whitespace());
    if step.program == Program::DbBench {
        command.arg(format!("--db={}", db.display()));
    }
    let before = cpu_seconds_of_children();
    let output = command.output().map_err(|e| format!("starting {}: {e}", program.display()))?;
    let cpu = cpu_seconds_of_children() - before;
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let end: String = text.trim().chars().rev().take(300).collect::<Vec<_>>().into_iter().rev().collect();
        return Err(format!("{} {flags}: {}: {end}", step.program.name(), output.status));
    }
    let mut rows = rows::parse(&text);
    rows.push((Row { name: "whole process".into(), unit: Unit::CpuSeconds }, cpu));
    Ok(rows)
}

/// Returns the user and system time of the finished child processes, from `/proc/self/stat` (100 ticks a second).
/// Returns 0 on systems without this file.
fn cpu_seconds_of_children() -> f64 {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return 0.0 };
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    // The fields after the name: state is the first, so cutime (16) and cstime (17) have the indexes 13 and 14.
    let ticks: u64 = [13, 14].iter().filter_map(|at| fields.get(*at)?.parse::<u64>().ok()).sum();
    ticks as f64 / 100.0
}

/// Formats a figure: whole numbers from 1,000 on, four digits after the point below.
fn shown(figure: f64) -> String {
    if figure >= 1_000.0 { format!("{figure:.0}") } else { format!("{figure:.4}") }
}

fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        len if len % 2 == 1 => sorted[len / 2],
        len => (sorted[len / 2 - 1] + sorted[len / 2]) / 2.0,
    }
}

fn print_summary(results: &[Result]) {
    let mut speeds: Vec<(f64, String)> = results
        .iter()
        .filter(|r| r.row.unit.is_speed())
        .map(|r| (median(&r.ratios), format!("{} {}", r.recipe, r.row.name)))
        .filter(|(ratio, _)| ratio.is_finite() && *ratio > 0.0)
        .collect();
    if speeds.is_empty() {
        return;
    }
    speeds.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mean = (speeds.iter().map(|(ratio, _)| ratio.ln()).sum::<f64>() / speeds.len() as f64).exp();
    println!("rows {}, geometric mean {mean:.2}, lowest {:.2}", speeds.len(), speeds[0].0);
    for (ratio, name) in speeds.iter().take(10).take_while(|(ratio, _)| *ratio < 1.0) {
        println!("below 1: {ratio:.2} {name}");
    }
}

/// Prints the commands of each recipe that has a row below 1, so that a reader can repeat the row.
fn print_flags_of_slow_rows(results: &[Result], recipes: &[Recipe]) {
    let slow = |recipe: &Recipe| {
        results.iter().any(|r| r.recipe == recipe.name && r.row.unit.is_speed() && median(&r.ratios) < 1.0)
    };
    recipes.iter().filter(|recipe| slow(recipe)).for_each(print_recipe);
}

/// Formats the results as a JSON array, one object for each row.
fn json(results: &[Result]) -> String {
    let rows: Vec<serde_json::Value> = results
        .iter()
        .map(|r| {
            serde_json::json!({
                "recipe": r.recipe, "row": r.row.name, "unit": r.row.unit.shown(),
                "ours": r.pair.ours, "peer": r.pair.peer, "ratio": median(&r.ratios),
            })
        })
        .collect();
    serde_json::Value::Array(rows).to_string()
}

#[cfg(test)]
mod tests;
