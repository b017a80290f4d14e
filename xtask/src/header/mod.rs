//! `cargo xtask header`: writes `c/include/rocksdb/c.h` from the declarations in the crate `c`.
//! `cargo xtask header --check` fails if the file differs.
//!
//! The order of the header is the order of the modules in `c/src/lib.rs`. Each source file is a section.

mod read;
mod types;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use read::{Function, Other, Section};

const HEAD: &str = include_str!("head.txt");

/// Writes the header, or compares it.
pub fn run(root: &Path, check: bool, faults: &mut Vec<String>) {
    let crate_dir = root.join("c");
    let header = text(&crate_dir.join("src"));
    let path = crate_dir.join("include/rocksdb/c.h");
    if check {
        if std::fs::read_to_string(&path).ok().as_deref() != Some(&header) {
            faults.push(
                "c/include/rocksdb/c.h: not the text of the declarations; run `cargo xtask header`"
                    .to_string(),
            );
        }
    } else if let Err(error) = std::fs::write(&path, header) {
        faults.push(format!("{}: {error}", path.display()));
    }
}

/// Returns the text of the header.
fn text(src: &Path) -> String {
    let sections: Vec<Section> = modules(src, "lib.rs")
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .map(|source| read::section(&source))
        .collect();
    let mut out = String::from(HEAD);
    write_types(&mut out, &sections);
    write_constants(&mut out, &std::fs::read_to_string(src.join("constants.rs")).unwrap_or_default());
    out.push_str("\n/* The functions that a program hands in. */\n");
    for other in sections.iter().flat_map(|section| &section.others) {
        write_doc(&mut out, &other.doc);
        write_wrapped(&mut out, &other.text);
    }
    for section in sections.iter().filter(|section| !section.functions.is_empty()) {
        let _ = write!(out, "\n/* ---- {} ---- */\n", section.title.trim_end_matches('.'));
        section.functions.iter().for_each(|function| write_function(&mut out, function));
    }
    out.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    out
}

/// Returns the source files in the order of the `mod` lines, depth first.
fn modules(dir: &Path, file: &str) -> Vec<PathBuf> {
    let source = std::fs::read_to_string(dir.join(file)).unwrap_or_default();
    let mut found = vec![dir.join(file)];
    for line in source.lines() {
        let name = line.trim_start_matches("pub(crate) ").trim_start_matches("pub ").strip_prefix("mod ");
        let Some(name) = name.and_then(|name| name.strip_suffix(';')) else { continue };
        if name == "abi" {
            continue;
        }
        if dir.join(name).is_dir() {
            found.extend(modules(&dir.join(name), "mod.rs"));
        } else {
            found.push(dir.join(format!("{name}.rs")));
        }
    }
    found
}

/// Writes the opaque types, and the one struct whose fields C programs use.
fn write_types(out: &mut String, sections: &[Section]) {
    let mut names = BTreeSet::new();
    let mut note = |text: &str| {
        for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
            if word.starts_with("rocksdb_") && (word.ends_with("_t") || word == "rocksdb_t") {
                names.insert(word.to_string());
            }
        }
    };
    for section in sections {
        section.others.iter().for_each(|other: &Other| note(&other.text));
        for function in &section.functions {
            note(&function.ret);
            function.parameters.iter().for_each(|parameter| note(parameter));
        }
    }
    names.remove("rocksdb_slice_t");
    out.push_str("\n/* Handles. */\n");
    for name in names {
        let _ = writeln!(out, "typedef struct {name} {name};");
    }
    out.push_str("\n/* Bytes that belong to a handle, or to the program. */\n");
    out.push_str(
        "typedef struct rocksdb_slice_t {\n  const char* data;\n  size_t size;\n} rocksdb_slice_t;\n",
    );
}

/// Writes the enums of `c/src/constants.rs`, and the counters of the perf context.
fn write_constants(out: &mut String, source: &str) {
    let mut open = false;
    for line in source.lines() {
        let line = line.trim();
        if let Some(doc) = line.strip_prefix("/// ").filter(|_| source.contains("constants! {")) {
            let of_metrics =
                ["perf context, by the number", "with `rocksdb_`", "`rocksdb_total_metric_count`"];
            if !of_metrics.iter().any(|text| doc.contains(text)) {
                let _ = write!(out, "\n/* {doc} */\n");
            }
        } else if line == "{" {
            out.push_str("enum {\n");
            open = true;
        } else if line == "}" && open {
            out.push_str("};\n");
            open = false;
        } else if open && line.contains(" = ") {
            let _ = writeln!(out, "  {},", line.trim_end_matches(';'));
        }
    }
    let metrics: Vec<&str> = source
        .lines()
        .skip_while(|line| !line.starts_with("pub const PERF_METRICS"))
        .filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\","))
        .collect();
    out.push_str("\n/* Counters of the perf context. */\nenum {\n");
    for (number, metric) in metrics.iter().enumerate() {
        let _ = writeln!(out, "  rocksdb_{metric} = {number},");
    }
    let total = source.lines().find_map(|line| line.strip_prefix("pub const TOTAL_METRIC_COUNT: usize = "));
    let total = total.map_or("", |total| total.trim_end_matches(';'));
    let _ = writeln!(out, "  rocksdb_total_metric_count = {total},\n}};");
}

fn write_function(out: &mut String, function: &Function) {
    write_doc(out, &function.doc);
    let parameters =
        if function.parameters.is_empty() { "void".to_string() } else { function.parameters.join(", ") };
    write_wrapped(
        out,
        &format!("extern ROCKSDB_LIBRARY_API {} {}({parameters});", function.ret, function.name),
    );
}

fn write_doc(out: &mut String, doc: &[String]) {
    match doc {
        [] => {}
        [line] => {
            let _ = writeln!(out, "/* {line} */");
        }
        lines => {
            let _ = writeln!(out, "/* {} */", lines.join("\n   "));
        }
    }
}

/// Writes a declaration in lines of at most 100 columns.
fn write_wrapped(out: &mut String, declaration: &str) {
    let mut line = String::new();
    for word in declaration.split_inclusive(", ") {
        if !line.is_empty() && line.len() + word.trim_end().len() > 100 {
            let _ = writeln!(out, "{}", line.trim_end());
            line = "    ".to_string();
        }
        line.push_str(word);
    }
    let _ = writeln!(out, "{}", line.trim_end());
}
