//! Checks that `docs/options.md` is the text that the rows make.

use std::fmt::Write;
use std::path::Path;

use crate::*;

const HEAD: &str = "# Options

`cargo xtask options` writes this file from the rows of the crate `options` and of `table::options`. Do not edit the file.

- *live*: the option may change while the database is open. *fixed*: the option is set at open.
- *since*: the first release of RocksDB whose OPTIONS files hold the option. 5.18 stands for older releases too. With the
  option `compat`, OPTIONS files hold only the options of the named release.
- A size may have the suffix K, M, G or T, for powers of 1024.
";

fn cell(text: &str) -> String {
    text.trim().replace('|', "\\|")
}

fn table<T: Default>(out: &mut String, title: &str, rows: &[Row<T>]) {
    let _ = write!(
        out,
        "\n## {title}\n\n| option | default | unit | range | | since | effect |\n|---|---|---|---|---|---|---|\n"
    );
    for row in rows {
        let default = match row.default_text() {
            empty if empty.is_empty() => "empty".to_string(),
            text => format!("`{}`", cell(&text)),
        };
        let range = if row.range.is_empty() { String::new() } else { format!("`{}`", cell(row.range)) };
        let live = if row.is_mutable() { "live" } else { "fixed" };
        let since = if row.written { row.since.to_string() } else { String::new() };
        let doc = cell(row.doc);
        let _ = writeln!(
            out,
            "| `{}` | {default} | {} | {range} | {live} | {since} | {doc} |",
            row.name,
            cell(row.unit)
        );
    }
}

fn hints<T>(out: &mut String, rows: &[Row<T>], names: &[&str]) {
    for row in rows.iter().filter(|row| names.contains(&row.name)) {
        let why = row.doc.trim().trim_start_matches("Has no effect:").trim();
        let _ = writeln!(out, "| `{}` | {} |", row.name, cell(why));
    }
}

fn text() -> String {
    let mut out = HEAD.to_string();
    table(&mut out, "Database", DbOptions::ROWS);
    table(&mut out, "Column family", FamilyOptions::ROWS);
    table(&mut out, "Block-based table", ::table::options::OPTIONS);
    table(&mut out, "Plain table", ::table::options::PLAIN_OPTIONS);
    table(&mut out, "Cuckoo table", ::table::options::CUCKOO_OPTIONS);
    out.push_str(
        "\n## Options without effect\n\nThese options are accepted and have no effect. They change speed or housekeeping in \
         RocksDB, and never results. The\nopen names those that are not at their defaults in one line of the info \
         log.\n\n| option | reason |\n|---|---|\n",
    );
    hints(&mut out, DbOptions::ROWS, HINTS);
    hints(&mut out, FamilyOptions::ROWS, HINTS);
    hints(&mut out, ::table::options::OPTIONS, TABLE_HINTS);
    hints(&mut out, ::table::options::PLAIN_OPTIONS, TABLE_HINTS);
    out.push_str("\nFields of nested options:\n\n| field | reason |\n|---|---|\n");
    for (option, field, reason) in crate::FIELD_HINTS {
        out.push_str(&format!("| `{option}.{field}` | {reason}. |\n"));
    }
    out.push_str("\nFields of the options of calls:\n\n| field | reason |\n|---|---|\n");
    for (owner, field, reason) in crate::CALL_HINTS {
        out.push_str(&format!("| `{owner}::{field}` | {reason}. |\n"));
    }
    out
}

/// If the environment variable `IRONSTONE_WRITE_OPTIONS` is set, the test writes the file.
#[test]
fn docs_hold_every_option() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/options.md");
    let expected = text();
    if std::env::var_os("IRONSTONE_WRITE_OPTIONS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = expected.lines().zip(found.lines()).find(|(a, b)| a != b);
    assert!(found == expected, "docs/options.md differs, run `cargo xtask options`: {differs:?}");
}
