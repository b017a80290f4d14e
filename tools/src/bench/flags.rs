//! The command line in the syntax of gflags: `--name=value`, `-name value`, `--name`, `--noname`.
//!
//! A `-` inside a name stands for `_`. The built-in flags of gflags that are here: `--undefok`, `--flagfile`,
//! `--version`, `--help`.
//!
//! An unknown flag is an error, and the error lists all flags. A value of the wrong type is an error, and so is a
//! value for a feature that is not built. `--undefok` lists flags that are ignored instead.

use std::collections::{BTreeSet, HashMap};

use super::flag_table::{FLAGS, Row, Target, Type};

/// The parsed value of a flag.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(String),
}

/// All flags with their values.
#[derive(Clone, Debug)]
pub struct Flags {
    values: HashMap<&'static str, Value>,
    /// The flags of the command line.
    given: BTreeSet<&'static str>,
}

/// The reason why the command line runs no benchmark.
#[derive(Debug)]
pub enum Stop {
    /// The text for standard output. The program succeeds.
    Done(String),
    /// The text for standard error. The program fails.
    Failed(String),
}

impl From<String> for Stop {
    fn from(text: String) -> Stop {
        Stop::Failed(text)
    }
}

impl Flags {
    /// Reads the arguments after the program's name.
    ///
    /// # Errors
    /// [`Stop::Failed`] for an argument that is wrong or not known, and for `--help`. [`Stop::Done`] for `--version`.
    pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Flags, Stop> {
        let mut flags = Flags::defaults()?;
        let args = with_flag_files(args.into_iter().collect(), 0)?;
        let undefined_ok = undefined_ok(&args);
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let Some(body) = body(&arg) else {
                return Err(
                    format!("db_bench: unexpected argument '{arg}'; flags look like --num=1000").into()
                );
            };
            match body {
                "help" | "helpfull" => return Err(listing().into()),
                "version" => {
                    return Err(Stop::Done(format!("db_bench version {}", env!("CARGO_PKG_VERSION"))));
                }
                "undefok" => {
                    args.next();
                    continue;
                }
                _ if body.starts_with("undefok=") => continue,
                _ => {}
            }
            let (name, text) = match body.split_once('=') {
                Some((name, text)) => (name, Some(text)),
                None => (body, None),
            };
            flags.take(name, text, &mut args, &undefined_ok)?;
        }
        Ok(flags)
    }

    /// Takes one flag. A flag without `=` and of another type than boolean takes its value from `args`.
    fn take(
        &mut self,
        name: &str,
        text: Option<&str>,
        args: &mut impl Iterator<Item = String>,
        undefined_ok: &[String],
    ) -> Result<(), String> {
        let negated = name.strip_prefix("no");
        let listed = |name: &str| undefined_ok.iter().any(|ok| *ok == underscored(name));
        let ignored = listed(name) || negated.is_some_and(listed);
        let (row, text) = match find(name) {
            Some(row) => (row, text.map(String::from)),
            None => match negated.and_then(find) {
                Some(row) if row.kind() == Type::Bool && text.is_none() => (row, Some("false".to_string())),
                _ if ignored => return Ok(()),
                _ => return Err(format!("ERROR: unknown command line flag '{name}'\n{}", listing())),
            },
        };
        let text = match (text, row.kind()) {
            (Some(text), _) => text,
            (None, Type::Bool) => "true".to_string(),
            (None, _) => args.next().ok_or_else(|| format!("ERROR: flag '{name}' is missing its value"))?,
        };
        let value = read(row, &text)?;
        let default = read(row, &row.default())?;
        if !row.acted_on && value != default {
            if ignored {
                return Ok(());
            }
            return Err(format!(
                "ERROR: flag '{}' is known from RocksDB, but what it asks for is not built; only its default \
                 ({}) is accepted",
                row.name,
                row.default()
            ));
        }
        self.values.insert(row.name, value);
        self.given.insert(row.name);
        Ok(())
    }

    /// Returns the flags of an empty command line.
    ///
    /// # Errors
    /// A text if the default of a row does not have the type of the row.
    pub fn defaults() -> Result<Flags, String> {
        let mut values = HashMap::with_capacity(FLAGS.len());
        for row in FLAGS {
            values.insert(row.name, read(row, &row.default())?);
        }
        Ok(Flags { values, given: BTreeSet::new() })
    }

    /// Returns the flags of the command line, in the order of their names. Each name has flags beside it: this flag has its value there, and
    /// all other flags have their defaults.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, Flags)> + '_ {
        self.given.iter().filter_map(|name| {
            let mut alone = Flags::defaults().ok()?;
            alone.values.insert(name, self.values.get(name)?.clone());
            Some((*name, alone))
        })
    }

    /// Returns the value of an integer flag, or 0 if the name is not an integer flag.
    pub fn int(&self, name: &str) -> i64 {
        match self.values.get(name) {
            Some(Value::Int(value)) => *value,
            _ => {
                debug_assert!(false, "{name} is no integer flag");
                0
            }
        }
    }

    /// Returns the value of an integer flag that is a count. A negative value becomes 0.
    pub fn count(&self, name: &str) -> u64 {
        self.int(name).max(0).unsigned_abs()
    }

    /// Returns the value of a floating-point flag, or 0 if the name is not a floating-point flag.
    pub fn double(&self, name: &str) -> f64 {
        match self.values.get(name) {
            Some(Value::Double(value)) => *value,
            _ => {
                debug_assert!(false, "{name} is no floating-point flag");
                0.0
            }
        }
    }

    /// Returns the value of a boolean flag, or false if the name is not a boolean flag.
    pub fn bool(&self, name: &str) -> bool {
        match self.values.get(name) {
            Some(Value::Bool(value)) => *value,
            _ => {
                debug_assert!(false, "{name} is no boolean flag");
                false
            }
        }
    }

    /// Returns the value of a text flag, or an empty text if the name is not a text flag.
    pub fn text(&self, name: &str) -> &str {
        match self.values.get(name) {
            Some(Value::Text(value)) => value,
            _ => {
                debug_assert!(false, "{name} is no text flag");
                ""
            }
        }
    }

    /// Returns the options that flags set one by one, with the texts of the values.
    pub fn options(&self) -> impl Iterator<Item = (Target, String)> + '_ {
        FLAGS.iter().filter_map(|row| Some((row.option?, self.printed(row.name))))
    }

    /// Returns a flag's value in the form of an option string.
    pub fn printed(&self, name: &str) -> String {
        match self.values.get(name) {
            Some(Value::Bool(value)) => value.to_string(),
            Some(Value::Int(value)) => value.to_string(),
            Some(Value::Double(value)) => value.to_string(),
            Some(Value::Text(value)) => value.clone(),
            None => String::new(),
        }
    }
}

/// Returns a flag without its dashes, or `None` if the argument is not a flag.
fn body(arg: &str) -> Option<&str> {
    arg.strip_prefix("--").or_else(|| arg.strip_prefix('-'))
}

/// Replaces each `--flagfile=LIST` by the flags in the files of the list: one flag on each line, `#` before a comment.
/// A file can name other files.
fn with_flag_files(args: Vec<String>, depth: usize) -> Result<Vec<String>, String> {
    let mut out = Vec::with_capacity(args.len());
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let list = match body(&arg) {
            Some("flagfile") => args.next().ok_or("ERROR: flag 'flagfile' is missing its value")?,
            Some(body) if body.starts_with("flagfile=") => body["flagfile=".len()..].to_string(),
            _ => {
                out.push(arg);
                continue;
            }
        };
        if depth == 8 {
            return Err(format!("ERROR: --flagfile={list}: files that name files are too deep"));
        }
        for path in list.split(',').filter(|path| !path.is_empty()) {
            let text = std::fs::read_to_string(path).map_err(|e| format!("ERROR: --flagfile={path}: {e}"))?;
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
            out.extend(with_flag_files(lines.map(String::from).collect(), depth + 1)?);
        }
    }
    Ok(out)
}

/// Returns the names in all lists of `--undefok`.
fn undefined_ok(args: &[String]) -> Vec<String> {
    let mut names = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        let list = match body(arg) {
            Some("undefok") => args.get(at + 1).map_or("", String::as_str),
            Some(body) => body.strip_prefix("undefok=").unwrap_or(""),
            None => "",
        };
        names.extend(list.split(',').filter(|name| !name.is_empty()).map(underscored));
    }
    names
}

fn underscored(name: &str) -> String {
    name.replace('-', "_")
}

fn find(name: &str) -> Option<&'static Row> {
    let by_name = |name: &str| FLAGS.iter().find(|row| row.name == name);
    by_name(name).or_else(|| by_name(&underscored(name)))
}

fn read(row: &Row, text: &str) -> Result<Value, String> {
    let wrong = || format!("ERROR: illegal value '{text}' specified for flag '{}'", row.name);
    match row.kind() {
        Type::Bool => match text.to_ascii_lowercase().as_str() {
            "true" | "t" | "1" | "yes" | "y" => Ok(Value::Bool(true)),
            "false" | "f" | "0" | "no" | "n" => Ok(Value::Bool(false)),
            _ => Err(wrong()),
        },
        // A size above i64::MAX means "no limit", and becomes i64::MAX.
        Type::Int => match integer(text) {
            Some(value) => {
                Ok(Value::Int(i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })))
            }
            None => Err(wrong()),
        },
        Type::Double => text.parse().map(Value::Double).map_err(|_| wrong()),
        Type::Text => Ok(Value::Text(text.to_string())),
    }
}

/// Reads a decimal number, or a hexadecimal number that starts with `0x`.
fn integer(text: &str) -> Option<i128> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) if !digits.starts_with(['+', '-']) => i128::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None => text.parse().ok(),
    }
}

/// Lists the benchmarks, then the flags with their defaults. A flag that sets an option has the doc of the option.
pub fn listing() -> String {
    let mut out = String::from("benchmarks:\n");
    for (name, what) in super::BENCHMARKS {
        out.push_str(&format!("  {name:24} {what}\n"));
    }
    out.push_str("benchmarks of RocksDB that are not built, and what they need:\n");
    for (names, needs) in super::MISSING {
        out.push_str(&format!("  {names}: {needs}\n"));
    }
    out.push_str("flags:\n");
    for row in FLAGS.iter().filter(|row| row.acted_on) {
        out.push_str(&format!("  --{}={}\n", row.name, row.default()));
        if row.option.is_some() {
            out.push_str(&format!("      {}\n", row.help()));
        }
    }
    out
}
