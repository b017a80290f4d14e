//! Reads the declarations of the crate `c`: the macros of `c/src/abi/macros.rs`, by their text.
//!
//! The source is formatted: a macro call begins at column 0 and ends with a line that begins with `}` or `)`. The
//! content of a call is indented by four spaces.

use super::types::{c_type, parameters, row_type};

/// A C function.
pub struct Function {
    pub doc: Vec<String>,
    pub name: String,
    pub ret: String,
    pub parameters: Vec<String>,
}

/// A typedef of a function pointer, or a constant.
pub struct Other {
    pub doc: Vec<String>,
    pub text: String,
}

/// The declarations of one source file, in its order.
#[derive(Default)]
pub struct Section {
    pub title: String,
    pub functions: Vec<Function>,
    pub others: Vec<Other>,
}

/// Reads one source file.
pub fn section(source: &str) -> Section {
    let title = source.lines().next().unwrap_or_default().trim_start_matches("//!").trim().to_string();
    let mut found = Section { title, ..Section::default() };
    let mut lines = source.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((call, rest)) = line.split_once('!') else { continue };
        let body = |end: char| -> String {
            let mut body = rest.to_string();
            let mut lines = lines.clone();
            while !body.trim_end().ends_with(&format!("{end};")) || end != ')' {
                let Some(next) = lines.next() else { break };
                if next.starts_with(end) {
                    break;
                }
                body.push('\n');
                body.push_str(next);
            }
            body
        };
        match call {
            "c_api" | "c_missing" => functions(&body('}'), &mut found.functions),
            "lifetime" => lifetime(&body(')'), &mut found.functions),
            "accessors" => rows(&body('}'), " => ", &mut found.functions),
            "plain_options" => plain_options(&body('}'), &mut found.functions),
            "facts" => facts(&body('}'), &mut found.functions),
            "byte_facts" => byte_facts(&body('}'), &mut found.functions),
            _ => {}
        }
    }
    callbacks(source, &mut found.others);
    found
}

/// Adds the functions of `c_api!` and `c_missing!`.
fn functions(body: &str, found: &mut Vec<Function>) {
    let mut doc = Vec::new();
    let mut lines = body.lines();
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix("    ///") {
            doc.push(text.trim().to_string());
            continue;
        }
        let Some(mut declaration) = line.strip_prefix("    fn ").map(str::to_string) else {
            if line.starts_with("    }") {
                doc.clear();
            }
            continue;
        };
        while !declaration.ends_with('{') && !declaration.ends_with(';') {
            let Some(next) = lines.next() else { break };
            declaration.push(' ');
            declaration.push_str(next.trim());
        }
        found.push(function(std::mem::take(&mut doc), &declaration));
    }
}

fn function(doc: Vec<String>, declaration: &str) -> Function {
    let (name, rest) = declaration.split_once('(').unwrap_or((declaration, ""));
    let end = closing(rest);
    let (inside, after) = rest.split_at(end);
    let ret = after.trim_start_matches(')').trim().trim_end_matches(['{', ';']).trim();
    let parameters = split(inside).iter().flat_map(|parameter| parameters(parameter)).collect();
    let ret = c_type(ret.trim_start_matches("->"));
    Function { doc, name: name.trim().to_string(), ret, parameters }
}

/// Returns the position of the parenthesis that closes the list.
fn closing(text: &str) -> usize {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Splits a list at the commas that are outside of parentheses.
fn split(list: &str) -> Vec<String> {
    let mut items = vec![String::new()];
    let mut depth = 0;
    for c in list.chars() {
        match c {
            '(' | '<' => depth += 1,
            ')' | '>' => depth -= 1,
            _ => {}
        }
        match (c, depth, items.last_mut()) {
            (',', 0, _) => items.push(String::new()),
            (_, _, Some(item)) => item.push(c),
            _ => {}
        }
    }
    items.retain(|item| !item.trim().is_empty());
    items.iter().map(|item| item.trim().to_string()).collect()
}

fn lifetime(body: &str, found: &mut Vec<Function>) {
    let inside = body.trim().trim_start_matches('(').trim_end_matches(';').trim_end_matches(')');
    if let [handle, create, destroy] = &split(inside)[..] {
        found.push(simple(Vec::new(), create, &format!("{handle}*"), &[]));
        found.push(simple(Vec::new(), destroy, "void", &[format!("{handle}* handle")]));
    }
}

fn simple(doc: Vec<String>, name: &str, ret: &str, parameters: &[String]) -> Function {
    Function { doc, name: name.to_string(), ret: ret.to_string(), parameters: parameters.to_vec() }
}

/// Returns the handle and the prefix of a table: `rocksdb_options_t, "rocksdb_options_"`.
fn table_head(body: &str) -> Option<(String, String)> {
    let line = body.lines().find(|line| line.contains("_t, \"rocksdb_"))?;
    let (handle, rest) = line.trim().split_once(", \"")?;
    Some((handle.to_string(), rest.split('"').next()?.to_string()))
}

/// Returns the rows of a table with their docs. A row can have several lines.
fn table_rows(body: &str) -> Vec<(Vec<String>, String)> {
    let (mut rows, mut doc, mut row) = (Vec::new(), Vec::new(), String::new());
    let after_head = body.lines().skip_while(|line| !line.contains("_t, \"rocksdb_")).skip(1);
    for line in after_head {
        if let Some(text) = line.strip_prefix("    ///") {
            doc.push(text.trim().to_string());
        } else if !line.trim().is_empty() {
            row.push_str(line.trim());
            row.push(' ');
            if row.trim_end().ends_with(';') {
                rows.push((std::mem::take(&mut doc), std::mem::take(&mut row)));
            }
        }
    }
    rows
}

/// Adds setters and getters: `name: set / get => place;`.
fn rows(body: &str, arrow: &str, found: &mut Vec<Function>) {
    let Some((handle, prefix)) = table_head(body) else { return };
    for (doc, row) in table_rows(body) {
        let Some((left, _)) = row.split_once(arrow) else { continue };
        let Some((name, words)) = left.split_once(':') else { continue };
        let (set, get) = words.split_once('/').unwrap_or((words, words));
        let (name, set, get) = (name.trim(), set.trim(), get.trim());
        if set != "none" {
            let parameters = [format!("{handle}* handle"), format!("{} value", row_type(set))];
            found.push(simple(doc.clone(), &format!("{prefix}set_{name}"), "void", &parameters));
        }
        if get != "none" {
            let doc = if set == "none" { doc } else { Vec::new() };
            let parameters = [format!("const {handle}* handle")];
            found.push(simple(doc, &format!("{prefix}get_{name}"), &row_type(get), &parameters));
        }
    }
}

fn plain_options(body: &str, found: &mut Vec<Function>) {
    let Some((handle, _)) = table_head(body) else { return };
    if let Some(line) = body.lines().find(|line| line.contains("@create ")) {
        let names = line.trim().trim_start_matches("@create ").trim_end_matches(';');
        lifetime(&format!("({handle}, {names});"), found);
    }
    // The fields of `@with` and the lifetime are no rows.
    let mut inside = false;
    let kept = body.lines().filter(|line| {
        inside |= line.contains("@with {");
        let keep = !inside && !line.contains("@create ");
        inside &= line.trim() != "}";
        keep
    });
    rows(&kept.collect::<Vec<_>>().join("\n"), " = ", found);
}

/// Adds getters of one fact: `name: type => value;`.
fn facts(body: &str, found: &mut Vec<Function>) {
    let Some((handle, prefix)) = table_head(body) else { return };
    for (doc, row) in table_rows(body) {
        let Some((left, _)) = row.split_once(" => ") else { continue };
        let Some((name, ret)) = left.split_once(": ") else { continue };
        let parameters = [format!("const {handle}* handle")];
        found.push(simple(doc, &format!("{prefix}{}", name.trim()), &c_type(ret), &parameters));
    }
}

/// Adds getters of bytes: `name => value;`.
fn byte_facts(body: &str, found: &mut Vec<Function>) {
    let Some((handle, prefix)) = table_head(body) else { return };
    for (doc, row) in table_rows(body) {
        let Some((name, _)) = row.split_once(" => ") else { continue };
        let parameters = [format!("const {handle}* handle"), "size_t* size".to_string()];
        found.push(simple(doc, &format!("{prefix}{}", name.trim()), "const char*", &parameters));
    }
}

/// Adds the types of callbacks.
fn callbacks(source: &str, found: &mut Vec<Other>) {
    let mut doc = Vec::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if let Some(text) = line.strip_prefix("///") {
            doc.push(text.trim().to_string());
            continue;
        }
        let Some(mut declaration) = line.strip_prefix("pub type ").map(str::to_string) else {
            doc.clear();
            continue;
        };
        while !declaration.ends_with(';') {
            let Some(next) = lines.next() else { break };
            declaration.push(' ');
            declaration.push_str(next.trim());
        }
        let doc = std::mem::take(&mut doc);
        let Some((name, rest)) = declaration.split_once(" = unsafe extern \"C-unwind\" fn(") else {
            continue;
        };
        let end = closing(rest);
        let (inside, after) = rest.split_at(end);
        let ret = c_type(after.trim_start_matches(')').trim_end_matches(';').trim().trim_start_matches("->"));
        let parameters: Vec<String> = split(inside)
            .iter()
            .filter_map(|parameter| parameter.split_once(':'))
            .map(|(name, rust)| format!("{} {}", c_type(rust), name.trim()))
            .collect();
        let text = format!("typedef {ret} (*{name})({});", parameters.join(", "));
        found.push(Other { doc, text });
    }
}
