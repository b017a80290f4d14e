//! The OPTIONS file as rows: the value, default, unit and effect of each option.
//!
//! The sections are read without the checks of an open. The pages can then show an OPTIONS file of another release,
//! or of an application with its own objects. A text that may be a secret is replaced before a row is made.

use std::path::Path;

use base::{Error, Result};
use env::{Env, ReadHints};
use format::options_ini::{self, Title};
use options::{DbOptions, FamilyOptions};
use serde::{Deserialize, Serialize};
use table::options::OPTIONS as TABLE_ROWS;

/// The largest size of an OPTIONS file in bytes. A larger file is not read.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// The text that lets the engine choose an age, and the texts of the ages that the engine chooses.
const AGE_AUTO_TEXT: &str = "18446744073709551614";
const AGES_CHOSEN: [&str; 2] = ["2592000", "0"];

/// The largest length of a value. The rest is cut off.
const VALUE_MAX: usize = 2000;

/// The options of a database.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OptionsText {
    /// The name of the file: an OPTIONS file, or `LOG`.
    pub file: String,
    /// The release that wrote the file.
    pub release: String,
    pub sections: Vec<OptionSection>,
}

impl OptionsText {
    /// Returns the first number of the release of RocksDB that wrote the options. Returns 0 if the release is unknown.
    pub fn major_release(&self) -> u32 {
        self.release.split('.').next().and_then(|text| text.parse().ok()).unwrap_or(0)
    }
}

/// The scope of an option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    Database,
    /// A column family, by name.
    Family(String),
    /// The table options of a column family.
    Table(String),
}

/// The options of one scope.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OptionSection {
    pub scope: Scope,
    pub rows: Vec<OptionRow>,
}

/// One option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionRow {
    pub name: String,
    pub value: String,
    /// The default of RocksDB 11.8.1. `None` for an option that this release does not know.
    pub default: Option<String>,
    pub effect: String,
    pub unit: String,
    /// True if the option may change while the database is open.
    pub live: bool,
}

impl OptionRow {
    /// Returns true if the value differs from the default.
    pub fn differs(&self) -> bool {
        self.default.as_ref().is_none_or(|default| !same_value(&self.value, default))
    }

    /// Returns the default for people.
    pub fn default_text(&self) -> &str {
        match self.default.as_deref() {
            Some(AGE_AUTO_TEXT) => "automatic",
            Some(default) => default,
            None => "-",
        }
    }

    /// Returns the value and the default. If both have fields, returns only the fields of the value that differ, and their defaults.
    pub fn difference(&self) -> (String, String) {
        let fields = |text: &str| options_ini::parse_map(text).ok().filter(|_| text.starts_with('{'));
        let whole = || (self.value.clone(), self.default_text().to_string());
        let (Some(own), Some(defaults)) = (fields(&self.value), fields(self.default_text())) else {
            return whole();
        };
        let default_of =
            |name: &str| defaults.iter().find(|(other, _)| other == name).map(|(_, value)| value);
        let text_of =
            |name: &str, value: Option<&String>| format!("{name}={}; ", value.map_or("-", String::as_str));
        let (mut values, mut of_defaults) = (String::new(), String::new());
        for (name, value) in &own {
            let default = default_of(name);
            if default.is_none_or(|default| !same_value(value, default)) {
                values += &text_of(name, Some(value));
                of_defaults += &text_of(name, default);
            }
        }
        match values.is_empty() {
            true => whole(),
            false => (values.trim_end().to_string(), of_defaults.trim_end().to_string()),
        }
    }
}

/// Reads an OPTIONS file.
///
/// # Errors
/// Corruption if the text is not an OPTIONS file. Errors of the file system.
pub(super) fn load(env: &Env, path: &Path, name: &str) -> Result<OptionsText> {
    let file = env.fs.open_random(path, &ReadHints::default())?;
    let size = file.size()?;
    if size > FILE_BYTES_MAX {
        return Err(Error::corruption(format!(
            "the OPTIONS file has {size} bytes; {FILE_BYTES_MAX} are allowed"
        )));
    }
    let mut bytes = vec![0; size as usize];
    let read = file.read_at(0, &mut bytes)?;
    let text = String::from_utf8_lossy(&bytes[..read]);
    from_text(&text, name)
}

fn from_text(text: &str, name: &str) -> Result<OptionsText> {
    let parsed = options_ini::parse(text)?;
    let version = parsed.rocksdb_version.0;
    let mut out = OptionsText {
        file: name.to_string(),
        release: format!("{}.{}.{}", version[0], version[1], version[2]),
        sections: Vec::new(),
    };
    for section in parsed.sections {
        let scope = match section.title {
            Title::DbOptions => Scope::Database,
            Title::CfOptions(family) => Scope::Family(family),
            Title::TableOptions { family, .. } => Scope::Table(family),
            Title::Version => continue,
        };
        let mut rows: Vec<OptionRow> =
            section.statements.iter().map(|(name, value)| row(&scope, name, value)).collect();
        derive_defaults(&mut rows);
        out.sections.push(OptionSection { scope, rows });
    }
    Ok(out)
}

fn row(scope: &Scope, name: &str, value: &str) -> OptionRow {
    let (default, effect, unit, live) = match scope {
        Scope::Database if name == "listeners" => {
            let effect = "Objects of the application that receive events. They do not change the data.";
            (Some(String::new()), effect.to_string(), String::new(), false)
        }
        Scope::Database => describe(DbOptions::row(name)),
        Scope::Family(_) => describe(FamilyOptions::row(name)),
        Scope::Table(_) => describe(TABLE_ROWS.iter().find(|row| row.name == name)),
    };
    OptionRow { name: name.to_string(), value: redact(name, value), default, effect, unit, live }
}

/// Replaces the default 0 of options for which an open writes a computed value. The computed value is then no change of the user.
fn derive_defaults(rows: &mut [OptionRow]) {
    let number = |name: &str| rows.iter().find(|row| row.name == name)?.value.parse::<u64>().ok();
    let arena = number("write_buffer_size").map(|size| (size / 8).min(1 << 20).next_multiple_of(4096));
    let compaction = number("target_file_size_base").map(|size| size.saturating_mul(25));
    let computed = [
        ("arena_block_size", arena),
        ("max_compaction_bytes", compaction),
        ("delayed_write_rate", Some(16 << 20)),
    ];
    for (name, value) in computed {
        let row = rows.iter_mut().find(|row| row.name == name && row.default.as_deref() == Some("0"));
        if let (Some(row), Some(value)) = (row, value) {
            row.default = Some(value.to_string());
        }
    }
}

fn describe<T: Default>(row: Option<&base::option::Row<T>>) -> (Option<String>, String, String, bool) {
    match row {
        Some(row) => {
            (Some(row.default_text()), row.doc.trim().to_string(), row.unit.to_string(), row.is_mutable())
        }
        None => (
            None,
            "An option that Ironstone does not know, from another release or a plugin.".to_string(),
            String::new(),
            false,
        ),
    }
}

/// Compares two texts of a value. Numbers compare by value, and `{}` and `nullptr` compare as empty.
fn same_value(a: &str, b: &str) -> bool {
    let empty = |text: &str| matches!(text.trim(), "" | "{}" | "nullptr");
    let number = |text: &str| text.trim().parse::<f64>().ok();
    a.trim() == b.trim()
        || b == AGE_AUTO_TEXT && AGES_CHOSEN.contains(&a)
        || empty(a) && empty(b)
        || number(a).is_some() && number(a) == number(b)
}

/// Parts of a name that mark a secret. The name is compared in lower case and without `_`, `-`, `.` and spaces.
const SECRET_PARTS: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "token",
    "credential",
    "apikey",
    "accesskey",
    "privatekey",
    "signature",
    "authorization",
];

/// Ends of a name that mark a secret: `encryption_key`, `sas_keys`, `client_auth`.
const SECRET_ENDS: [&str; 4] = ["key", "keys", "auth", "cert"];

/// Returns true if the value of this name may be a secret. The options of RocksDB are no secrets.
fn is_secret(name: &str) -> bool {
    let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let is_known = DbOptions::row(name).is_some()
        || FamilyOptions::row(name).is_some()
        || TABLE_ROWS.iter().any(|row| row.name == name);
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    !is_known
        && (SECRET_PARTS.iter().any(|part| plain.contains(part))
            || SECRET_ENDS.iter().any(|end| plain.ends_with(end)))
}

/// The largest number of parts of a value. The rest is cut off.
const PARTS_MAX: usize = 10_000;

/// Returns the value of an option without secrets. A value is removed if its name, or a name inside the value, is the name of a
/// password, a token, a credential or a key. A name inside the value ends at `=` or `:`. The user part of an address
/// `scheme://user:password@host` is removed.
pub fn redact(name: &str, value: &str) -> String {
    if is_secret(name) {
        return "<redacted>".to_string();
    }
    let mut out = String::new();
    for (at, part) in without_users(value).split_inclusive([';', '{', '}', ',', '&', '?']).enumerate() {
        if at == PARTS_MAX {
            out.push_str("...");
            break;
        }
        match part.split_once(['=', ':']) {
            Some((inner, rest)) if is_secret(inner) && !rest.is_empty() => {
                let end = rest.chars().last().filter(|c| ";{},&?".contains(*c));
                out.push_str(&part[..=inner.len()]);
                out.push_str("<redacted>");
                out.extend(end);
            }
            _ => out.push_str(part),
        }
    }
    if out.len() > VALUE_MAX {
        out = out.chars().take(VALUE_MAX).collect::<String>() + "...";
    }
    out
}

/// Returns a text without the user parts of its addresses.
fn without_users(text: &str) -> String {
    let mut parts = text.split("://");
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let host = part.split(['/', ';', ',', '}', '?']).next().unwrap_or_default();
        out.push_str("://");
        match host.rfind('@') {
            Some(at) => out.push_str(&format!("<redacted>{}", &part[at..])),
            None => out.push_str(part),
        }
    }
    out
}

/// Reads the options that the info log prints at the open, for an info log without its OPTIONS file.
#[derive(Default)]
pub(super) struct LogOptions {
    scope: Option<Scope>,
    sections: Vec<OptionSection>,
    in_table: bool,
}

impl LogOptions {
    /// Discards the options of an earlier open.
    pub(super) fn restart(&mut self) {
        *self = LogOptions { scope: Some(Scope::Database), ..LogOptions::default() };
    }

    pub(super) fn line(&mut self, line: &str) {
        if self.scope.is_none() {
            return;
        }
        if let Some((_, rest)) = line.split_once("Options for column family [") {
            let family = rest.split(']').next().unwrap_or_default().to_string();
            self.scope = Some(Scope::Family(family));
        } else if let Some((_, rest)) = line.split_once("Options.") {
            self.in_table = rest.starts_with("table_factory");
            if let Some((name, value)) = rest.split_once(':') {
                let scope = self.scope.clone().unwrap_or(Scope::Database);
                self.add(scope, name.trim(), value.trim());
            }
        } else if let (Some(Scope::Family(family)), Some((name, value))) = (&self.scope, line.split_once(':'))
        {
            let name = name.rsplit(['(', ' ']).find(|part| !part.is_empty()).unwrap_or_default();
            let is_row = TABLE_ROWS.iter().any(|row| row.name == name);
            if is_row {
                self.add(Scope::Table(family.clone()), name, value.trim());
            }
        }
    }

    fn add(&mut self, scope: Scope, name: &str, value: &str) {
        let mut new = row(&scope, name, value);
        let Some(default) = &new.default else { return };
        // The info log prints flags as 0 and 1, and other values with its own texts.
        match (default.as_str(), value) {
            ("true" | "false", "1") => new.value = "true".to_string(),
            ("true" | "false", "0") => new.value = "false".to_string(),
            (default, value) if default.parse::<f64>().is_err() || value.parse::<f64>().is_err() => {
                if !value.starts_with('k') {
                    return;
                }
            }
            _ => {}
        }
        let section = match self.sections.iter_mut().position(|section| section.scope == scope) {
            Some(at) => &mut self.sections[at],
            None => {
                self.sections.push(OptionSection { scope, rows: Vec::new() });
                let last = self.sections.len() - 1;
                &mut self.sections[last]
            }
        };
        if section.rows.len() < 400 && section.rows.iter().all(|row| row.name != new.name) {
            section.rows.push(new);
        }
    }

    pub(super) fn into_text(self) -> Option<OptionsText> {
        (!self.sections.is_empty()).then(|| OptionsText {
            file: "LOG".to_string(),
            release: String::new(),
            sections: self.sections,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_options_are_redacted() {
        assert_eq!(redact("write_buffer_size", "67108864"), "67108864");
        assert_eq!(redact("s3_secret", "abc"), "<redacted>");
        assert_eq!(
            redact("env", "{uri=s3://me:pw@host/path;password=abc;id=X}"),
            "{uri=s3://<redacted>@host/path;password=<redacted>;id=X}"
        );
        for name in [
            "encryption_key",
            "api_key",
            "Api-Key",
            "passphrase",
            "db_pwd",
            "token",
            "oauthToken",
            "credential",
            "aws_credentials",
            "secret",
            "sas_keys",
            "client_auth",
            "kms.key",
            "tls_cert",
        ] {
            assert_eq!(redact(name, "hunter2"), "<redacted>", "{name}");
            assert_eq!(
                redact("env", &format!("{{id=X;{name}=hunter2;a=1}}")),
                format!("{{id=X;{name}=<redacted>;a=1}}")
            );
            assert_eq!(
                redact("env", &format!("{{a={{{name}=hunter2;}};b=2}}")),
                format!("{{a={{{name}=<redacted>;}};b=2}}")
            );
        }
        assert_eq!(
            redact("env", "https://h/p?sig=1&token=hunter2&x=1"),
            "https://h/p?sig=1&token=<redacted>&x=1"
        );
        assert_eq!(
            redact("env", "{uri=a://u:hunter2@h1;other=b://u:hunter2@h2}"),
            "{uri=a://<redacted>@h1;other=b://<redacted>@h2}"
        );
        assert_eq!(redact("env", "{password:hunter2;}"), "{password:<redacted>;}");
        assert!(!redact("x", &"a=1;".repeat(20_000)).contains(&"a=1;".repeat(10_001)));
    }

    #[test]
    fn options_of_rocksdb_are_no_secrets() {
        let names =
            DbOptions::ROWS.iter().map(|row| row.name).chain(FamilyOptions::ROWS.iter().map(|row| row.name));
        for name in names.chain(TABLE_ROWS.iter().map(|row| row.name)) {
            assert_eq!(redact(name, "8"), "8", "{name}");
            assert_eq!(redact("table", &format!("{{{name}=8;}}")), format!("{{{name}=8;}}"));
        }
    }

    #[test]
    fn rows_show_the_difference_from_the_default() {
        let text = "[Version]\n  rocksdb_version=11.8.1\n  options_file_version=1.1\n[DBOptions]\n  max_open_files=20\n  \
                    max_background_jobs=2\n[CFOptions \"default\"]\n  write_buffer_size=67108864\n  from_the_future=1\n";
        let options = from_text(text, "OPTIONS-000007").unwrap();
        let differs: Vec<_> = options
            .sections
            .iter()
            .flat_map(|s| &s.rows)
            .filter(|r| r.differs())
            .map(|r| r.name.as_str())
            .collect();
        assert_eq!(differs, ["max_open_files", "from_the_future"]);
    }

    #[test]
    fn values_that_an_open_computes_are_no_difference() {
        let text = |arena: u64, rate: u64| {
            format!(
                "[Version]\n  rocksdb_version=11.8.1\n  options_file_version=1.1\n[DBOptions]\n  delayed_write_rate={rate}\n\
                 [CFOptions \"default\"]\n  write_buffer_size=1048576\n  target_file_size_base=67108864\n  \
                 arena_block_size={arena}\n  max_compaction_bytes=1677721600\n"
            )
        };
        let differs = |arena, rate| -> Vec<String> {
            let options = from_text(&text(arena, rate), "OPTIONS-000007").unwrap();
            let rows = options.sections.into_iter().flat_map(|section| section.rows);
            rows.filter(OptionRow::differs).map(|row| row.name).collect()
        };
        assert_eq!(differs(131_072, 16_777_216), ["write_buffer_size"]);
        assert_eq!(differs(65_536, 1000), ["delayed_write_rate", "write_buffer_size", "arena_block_size"]);
    }

    #[test]
    fn options_of_an_info_log_are_read() {
        let mut log = LogOptions::default();
        log.restart();
        for line in [
            "1                         Options.max_open_files: 20",
            "1                         Options.create_if_missing: 1",
            "1 --------------- Options for column family [users]:",
            "1         Options.write_buffer_size: 65536",
            "1            Options.table_factory: BlockBasedTable",
            "1            table_factory options:   flush_block_policy_factory: FlushBlockBySizePolicyFactory (0x1)",
            "  cache_index_and_filter_blocks: 1",
            "  block_size: 512",
        ] {
            log.line(line);
        }
        let text = log.into_text().unwrap();
        let rows: Vec<_> =
            text.sections.iter().flat_map(|s| &s.rows).map(|r| format!("{}={}", r.name, r.value)).collect();
        assert_eq!(
            rows,
            [
                "max_open_files=20",
                "create_if_missing=true",
                "write_buffer_size=65536",
                "cache_index_and_filter_blocks=true",
                "block_size=512"
            ]
        );
    }

    #[test]
    fn only_the_fields_that_differ_are_shown() {
        let row = |name: &str, value: &str| row(&Scope::Family("a".to_string()), name, value);
        let of = |name: &str, value: &str| row(name, value).difference();
        let (value, default) =
            of("compaction_options_fifo", "{max_table_files_size=0;allow_compaction=false;new_field=7;}");
        assert_eq!(value, "max_table_files_size=0; new_field=7;");
        assert_eq!(default, "max_table_files_size=1073741824; new_field=-;");
        assert_eq!(of("write_buffer_size", "1024"), ("1024".to_string(), "67108864".to_string()));
        assert_eq!(of("prefix_extractor", "{id=x;}").0, "{id=x;}");
    }

    #[test]
    fn listeners_are_objects_of_the_application() {
        let row = row(&Scope::Database, "listeners", "{A:A}");
        assert!(row.effect.starts_with("Objects of the application"), "{row:?}");
    }
}
