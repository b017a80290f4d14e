//! Converts Rust types and the words of `c_api!` to C types.

/// Returns the C type of a Rust type.
pub fn c_type(rust: &str) -> String {
    let rust = rust.trim();
    for (prefix, pointer) in [("*const ", "const"), ("*mut ", "mut")] {
        let Some(pointee) = rust.strip_prefix(prefix) else { continue };
        let inner = c_type(pointee);
        return match (pointer, inner.ends_with('*')) {
            ("mut", _) => format!("{inner}*"),
            (_, true) => format!("{inner} const*"),
            (_, false) => format!("const {inner}*"),
        };
    }
    if let Some(inner) = between(rust, "Option<") {
        return c_type(inner);
    }
    if let Some(inner) = between(rust, "Owned<").or_else(|| between(rust, "OwnedBox<")) {
        return format!("{inner}*");
    }
    if let Some(inner) = between(rust, "ConstOwned<").or_else(|| between(rust, "Ref<")) {
        return format!("const {inner}*");
    }
    let name = rust.rsplit("::").next().unwrap_or(rust);
    match name {
        "" | "()" | "c_void" => "void",
        "Flag" | "flag" | "u8" => "unsigned char",
        "Success" | "i32" | "c_int" => "int",
        "Text" => "const char*",
        "Buffer" => "char*",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "i64" => "int64_t",
        "usize" => "size_t",
        "f64" => "double",
        "c_char" | "char" => "char",
        "c_ulonglong" => "unsigned long long",
        other => other,
    }
    .to_string()
}

fn between<'a>(text: &'a str, open: &str) -> Option<&'a str> {
    text.strip_prefix(open)?.strip_suffix('>')
}

/// Returns the C parameters of one parameter of `c_api!`.
pub fn parameters(parameter: &str) -> Vec<String> {
    let parameter = parameter.trim();
    if parameter == "err" {
        return vec!["char** errptr".to_string()];
    }
    let (name, words) = parameter.split_once(':').unwrap_or((parameter, ""));
    let (name, words) = (name.trim(), words.trim());
    let strings = format!("const char* const* {name}");
    let sizes = format!("const size_t* {name}_sizes");
    if let Some(raw) = words.strip_prefix("raw(") {
        return vec![declared(&c_type(raw.strip_suffix(')').unwrap_or(raw)), name)];
    }
    match words.split_once(' ') {
        Some(("in" | "cmut" | "inmaybe" | "cown", handle)) => vec![format!("const {handle}* {name}")],
        Some(("out", place)) => vec![format!("{}* {name}", c_type(place))],
        Some(("call", function)) => vec![format!("{function} {name}")],
        Some((_, handle)) => vec![format!("{handle}* {name}")],
        None => match words {
            "bytes" | "bound" => vec![format!("const char* {name}"), format!("size_t {name}_len")],
            "mbound" => vec![format!("char* {name}"), format!("size_t {name}_len")],
            "text" | "path" => vec![format!("const char* {name}")],
            "slices" | "keys" => vec![format!("size_t num_{name}"), strings, sizes],
            "islices" => vec![format!("int num_{name}"), strings, sizes],
            "ranges" => vec![
                format!("int num_{name}"),
                "const char* const* start_keys".to_string(),
                "const size_t* start_keys_sizes".to_string(),
                "const char* const* limit_keys".to_string(),
                "const size_t* limit_keys_sizes".to_string(),
            ],
            "u8" => vec![format!("uint8_t {name}")],
            number => vec![declared(&c_type(number), name)],
        },
    }
}

fn declared(c_type: &str, name: &str) -> String {
    format!("{c_type} {name}")
}

/// Returns the C type of the value of an option row.
pub fn row_type(word: &str) -> String {
    if word == "u8" { "uint8_t".to_string() } else { c_type(word) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_read_from_the_outside_in() {
        assert_eq!(c_type("*const *const c_char"), "const char* const*");
        assert_eq!(c_type("*mut *const rocksdb_dbpath_t"), "const rocksdb_dbpath_t**");
        assert_eq!(c_type("*const std::ffi::c_char"), "const char*");
        assert_eq!(c_type("Option<Owned<rocksdb_t>>"), "rocksdb_t*");
    }

    #[test]
    fn one_word_can_be_several_parameters() {
        assert_eq!(parameters("key: bytes"), ["const char* key", "size_t key_len"]);
        assert_eq!(parameters("err"), ["char** errptr"]);
        assert_eq!(parameters("options: in rocksdb_options_t"), ["const rocksdb_options_t* options"]);
    }
}
