//! `ironstone options`: options from memory, cores and a goal, each with its reason.
//!
//! The values are those of [`ironstone::Options::for_budget`]. The option text also holds the block cache, so a program in any
//! language, with RocksDB or with Ironstone, can use it.

use std::io::Write;
use std::path::Path;

use ironstone::{BudgetGoal, DerivedOption, Options, explain_options};

use inspect::{plan, words};

use super::Args;

const TABLE: &str = "block_based_table_factory.";

/// Prints the options of a budget: as a list with reasons, as one option text, or as JSON. `--out` writes an OPTIONS file.
pub(super) fn show(args: &Args, out: &mut dyn Write) -> Result<i32, String> {
    let flag = |name: &str| args.flags.get(name).ok_or_else(|| format!("options needs --{name}; see --help"));
    let memory = plan::parse_bytes(flag("memory")?).map_err(|e| format!("--memory: {}", e.message()))?;
    let cores = flag("cores")?;
    let cores: u32 = cores.parse().map_err(|_| format!("--cores: {cores:?} is no number of cores"))?;
    let name = args.flags.get("goal").map_or("latency", String::as_str);
    let goal = match name {
        "latency" => BudgetGoal::Latency,
        "throughput" => BudgetGoal::Throughput,
        other => return Err(format!("--goal: {other:?} is no goal; write latency or throughput")),
    };
    let options = explain_options(memory, cores, goal).map_err(|e| e.message().to_string())?;
    if let Some(file) = &args.out {
        let derived = Options::for_budget(memory, cores, goal).map_err(|e| e.message().to_string())?;
        return write_file(file, &derived, &options, out).map(|()| 0);
    }
    let text = text_of(&options);
    let written = if args.text {
        writeln!(out, "{text}")
    } else if args.json {
        let rows: Vec<_> = options
            .iter()
            .map(|row| serde_json::json!({ "name": row.name, "value": row.value, "reason": row.reason }))
            .collect();
        writeln!(out, "{:#}", serde_json::json!({ "options": rows, "text": text }))
    } else {
        list(&options, out, &format!("{} of memory, {cores} cores, goal {name}", words::bytes(memory)), &text)
    };
    written.map(|()| 0).map_err(|e| format!("writing the output: {e}"))
}

/// Writes an OPTIONS file. The format has no block cache, so the message names the cache.
fn write_file(
    file: &Path,
    options: &Options,
    rows: &[DerivedOption],
    out: &mut dyn Write,
) -> Result<(), String> {
    let text = engine::options::file::write(&options.db, [("default", &options.family)]);
    std::fs::File::create_new(file)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|e| format!("{}: {e}", file.display()))?;
    let cache = rows.iter().find(|row| row.name == "block_cache").map_or("", |row| row.value.as_str());
    let written = writeln!(
        out,
        "wrote {}; an OPTIONS file does not have the block cache, so set its capacity in the program: {cache} bytes",
        file.display()
    );
    written.map_err(|e| format!("writing the output: {e}"))
}

/// Returns the options as one option text.
fn text_of(options: &[DerivedOption]) -> String {
    let (mut plain, mut table) = (String::new(), String::new());
    for row in options {
        match row.name.strip_prefix(TABLE) {
            Some(field) => table += &format!("{field}={};", row.value),
            None if row.name == "block_cache" => table += &format!("block_cache={};", row.value),
            None => plain += &format!("{}={};", row.name, row.value),
        }
    }
    format!("{plain}block_based_table_factory={{{table}}}")
}

fn list(options: &[DerivedOption], out: &mut dyn Write, title: &str, text: &str) -> std::io::Result<()> {
    writeln!(out, "Options for {title}. All other options keep their defaults.")?;
    for row in options {
        let size = row.value.parse().ok().filter(|bytes| *bytes >= 1 << 16);
        let size = size.map_or(String::new(), |bytes| format!("  ({})", words::bytes(bytes)));
        writeln!(out, "\n{}={}{size}\n    {}", row.name, row.value, row.reason)?;
    }
    writeln!(
        out,
        "\nThe same as option text, for each interface of RocksDB and Ironstone that reads options from text:"
    )?;
    writeln!(out, "\n{text}")
}
