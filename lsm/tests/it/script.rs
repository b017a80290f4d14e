//! Runs a script: blocks of a command line, input lines, `----`, and the expected text.

use std::fmt::Write as _;
use std::path::PathBuf;

/// One command: its words and its input lines.
pub struct Command<'a> {
    pub name: &'a str,
    args: Vec<&'a str>,
    pub input: &'a str,
}

impl<'a> Command<'a> {
    /// Returns the value of `name=value`.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.args.iter().find_map(|a| a.strip_prefix(name)?.strip_prefix('='))
    }

    pub fn number(&self, name: &str, default: u64) -> u64 {
        self.get(name).map_or(default, |v| ironstone_lsm::draw::parse_bytes(v).expect(name))
    }

    pub fn has(&self, flag: &str) -> bool {
        self.args.contains(&flag)
    }

    /// Returns all words of the form `name=value`.
    pub fn pairs(&self) -> impl Iterator<Item = (&'a str, &'a str)> + '_ {
        self.args.iter().filter_map(|a| a.split_once('='))
    }

    pub fn words(&self) -> &[&'a str] {
        &self.args
    }
}

/// Checks every block of `testdata/<name>`. If `IRONSTONE_REWRITE` is set, writes the actual results into the
/// file.
pub fn run(name: &str, mut answer: impl FnMut(&Command<'_>) -> String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/testdata").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let rewrite = std::env::var_os("IRONSTONE_REWRITE").is_some();
    let mut out = String::new();
    let mut failures = String::new();
    let mut lines = text.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        if line.trim().is_empty() || line.starts_with('#') {
            writeln!(out, "{line}").unwrap();
            continue;
        }
        let mut input = String::new();
        let mut expected = String::new();
        let mut in_answer = false;
        while let Some((_, l)) = lines.next_if(|(_, l)| !l.trim().is_empty()) {
            if l == "----" && !in_answer {
                in_answer = true;
            } else {
                let part = if in_answer { &mut expected } else { &mut input };
                writeln!(part, "{l}").unwrap();
            }
        }
        let mut words = line.split_whitespace();
        let command = Command { name: words.next().unwrap(), args: words.collect(), input: &input };
        let mut got = answer(&command);
        if !got.is_empty() && !got.ends_with('\n') {
            got.push('\n');
        }
        if got != expected {
            write!(
                failures,
                "{}:{}: {line}\n{input}--- expected\n{expected}--- got\n{got}",
                path.display(),
                at + 1
            )
            .unwrap();
        }
        writeln!(out, "{line}\n{input}----\n{got}").unwrap();
        // The blank line after the block was already written.
        lines.next_if(|(_, l)| l.trim().is_empty());
    }
    if rewrite {
        std::fs::write(&path, out.trim_end().to_string() + "\n").unwrap();
    } else {
        assert!(failures.is_empty(), "{failures}");
    }
}
