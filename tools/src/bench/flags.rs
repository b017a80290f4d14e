//! The command line in the syntax of gflags: `--name=value`, `-name value`, `--name`, `--noname`.
//!
//! An unknown flag is an error, and the error lists all flags. A value of the wrong type is an error, and so is a
//! value for a feature that is not built.

use std::collections::HashMap;

use super::flag_table::{FLAGS, Row, Type};

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
}

impl Flags {
    /// Reads the arguments after the program's name.
    ///
    /// # Errors
    /// The text to print on standard error; the program then exits with 1.
    pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Flags, String> {
        let mut flags = Flags::defaults()?;
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let Some(body) = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-')) else {
                return Err(format!("db_bench: unexpected argument '{arg}'; flags look like --num=1000"));
            };
            if body == "help" || body == "helpfull" {
                return Err(listing());
            }
            let (name, mut text) = match body.split_once('=') {
                Some((name, text)) => (name, Some(text.to_string())),
                None => (body, None),
            };
            let row = match find(name) {
                Some(row) => row,
                None => match name.strip_prefix("no").and_then(find) {
                    Some(row) if row.kind == Type::Bool && text.is_none() => {
                        text = Some("false".to_string());
                        row
                    }
                    _ => return Err(format!("ERROR: unknown command line flag '{name}'\n{}", listing())),
                },
            };
            let text = match (text, row.kind) {
                (Some(text), _) => text,
                (None, Type::Bool) => "true".to_string(),
                (None, _) => {
                    args.next().ok_or_else(|| format!("ERROR: flag '{name}' is missing its value"))?
                }
            };
            let value = read(row, &text)?;
            let default = read(row, row.default)?;
            if !row.acted_on && value != default {
                return Err(format!(
                    "ERROR: flag '{}' is known from RocksDB, but what it asks for is not built; only its default \
                     ({}) is accepted",
                    row.name, row.default
                ));
            }
            flags.values.insert(row.name, value);
        }
        Ok(flags)
    }

    fn defaults() -> Result<Flags, String> {
        let mut values = HashMap::with_capacity(FLAGS.len());
        for row in FLAGS {
            values.insert(row.name, read(row, row.default)?);
        }
        Ok(Flags { values })
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

fn find(name: &str) -> Option<&'static Row> {
    FLAGS.iter().find(|row| row.name == name)
}

fn read(row: &Row, text: &str) -> Result<Value, String> {
    let wrong = || format!("ERROR: illegal value '{text}' specified for flag '{}'", row.name);
    match row.kind {
        Type::Bool => match text {
            "true" | "t" | "1" | "yes" | "y" => Ok(Value::Bool(true)),
            "false" | "f" | "0" | "no" | "n" => Ok(Value::Bool(false)),
            _ => Err(wrong()),
        },
        // A size above i64::MAX means "no limit", and becomes i64::MAX.
        Type::Int => match text.parse::<i128>() {
            Ok(value) => {
                Ok(Value::Int(i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })))
            }
            Err(_) => Err(wrong()),
        },
        Type::Double => text.parse().map(Value::Double).map_err(|_| wrong()),
        Type::Text => Ok(Value::Text(text.to_string())),
    }
}

/// Lists the benchmarks, then the flags with their defaults.
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
        out.push_str(&format!("  --{}={}\n", row.name, row.default));
    }
    out
}
