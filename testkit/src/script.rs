//! Pages: scripts of commands with the expected text. This is the one runner of all pages.
//!
//! A page has one of two layouts. [`dialogue`] is for long histories: each command is one line, and its answer follows.
//! [`blocks`] is for commands with input lines.
//!
//! ```text
//! # a comment                          # a comment
//! > put a 1                            pick now=7
//! > get a                              L0
//! 1                                      1[a#1,SET-b#2,SET] size=10
//!                                      ----
//!                                      no compaction
//! ```
//! A run compares each answer with the page, and fails with the first differences. With the environment variable
//! `IRONSTONE_REWRITE=1`, a run writes the answers into the page instead. Review the difference as a part of the change.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A failing page shows at most this number of lines that differ.
const SHOWN_MAX: usize = 12;

/// One command of a page: its words and its input lines.
pub struct Command<'a> {
    pub name: &'a str,
    args: Vec<&'a str>,
    pub input: &'a str,
}

impl<'a> Command<'a> {
    /// Splits a line into the name of the command and its words. Returns `None` for a line without words.
    pub fn new(line: &'a str, input: &'a str) -> Option<Command<'a>> {
        let mut words = line.split_whitespace();
        Some(Command { name: words.next()?, args: words.collect(), input })
    }

    /// Returns the value of `name=value`.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.args.iter().find_map(|a| a.strip_prefix(name)?.strip_prefix('='))
    }

    /// Returns true if a word is `flag`.
    pub fn has(&self, flag: &str) -> bool {
        self.args.contains(&flag)
    }

    /// Returns all words of the form `name=value`.
    pub fn pairs(&self) -> impl Iterator<Item = (&'a str, &'a str)> + '_ {
        self.args.iter().filter_map(|a| a.split_once('='))
    }

    /// Returns the words after the name.
    pub fn words(&self) -> &[&'a str] {
        &self.args
    }
}

/// Runs a page of blocks: a command line, input lines, `----`, and the expected text up to an empty line. Panics if an
/// answer differs from the page.
pub fn blocks(path: &Path, mut answer: impl FnMut(&Command<'_>) -> String) {
    let text = read(path);
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim().is_empty() || line.starts_with('#') {
            writeln!(out, "{line}").expect("a text");
            continue;
        }
        let mut input = String::new();
        let mut in_answer = false;
        while let Some(line) = lines.next_if(|line| !line.trim().is_empty()) {
            if line == "----" {
                in_answer = true;
            } else if !in_answer {
                writeln!(input, "{line}").expect("a text");
            }
        }
        let command = Command::new(line, &input).expect("a command");
        let answer = answer(&command);
        writeln!(out, "{line}\n{input}----").expect("a text");
        push(&mut out, &answer);
        if lines.next_if(|line| line.trim().is_empty()).is_some() {
            out.push('\n');
        }
    }
    finish(path, &text, &out);
}

/// Runs a page of lines: a command after `> `, then the lines of its answer. Panics if an answer differs from the page.
pub fn dialogue(path: &Path, mut answer: impl FnMut(&str) -> String) {
    let text = read(path);
    let mut out = String::new();
    for line in text.lines().filter(|line| line.is_empty() || line.starts_with(['>', '#'])) {
        writeln!(out, "{line}").expect("a text");
        if let Some(command) = line.strip_prefix("> ") {
            push(&mut out, &answer(command));
        }
    }
    finish(path, &text, &out);
}

/// Returns the pages of a directory and of its subdirectories, by name.
pub fn pages(dir: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() { out.extend(pages(&path)) } else { out.push(path) }
    }
    assert!(!out.is_empty(), "{} has no page", dir.display());
    out.sort();
    out
}

fn push(out: &mut String, answer: &str) {
    let answer = answer.trim_end();
    if !answer.is_empty() {
        out.push_str(answer);
        out.push('\n');
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn finish(path: &Path, expected: &str, got: &str) {
    if std::env::var_os("IRONSTONE_REWRITE").is_some() {
        return std::fs::write(path, got).expect("a page that can be written");
    }
    if let Some(differences) = differences(expected, got) {
        panic!("{}:\n{differences}", path.display());
    }
}

/// Returns the first lines that differ, or `None` if the texts are equal.
fn differences(expected: &str, got: &str) -> Option<String> {
    let at = expected.lines().zip(got.lines()).take_while(|(a, b)| a == b).count();
    if (expected.lines().count(), got.lines().count()) == (at, at) {
        return None;
    }
    let mut out = format!("line {}\n", at + 1);
    for (sign, text) in [('-', expected), ('+', got)] {
        for line in text.lines().skip(at).take(SHOWN_MAX) {
            writeln!(out, "{sign} {line}").expect("a text");
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("page");
        std::fs::write(&path, text).unwrap();
        (dir, path)
    }

    #[test]
    fn a_page_with_the_right_answers_passes() {
        let (_dir, path) = page("# sums\n\n> 1 2\n3\n> 4 4\n8\n");
        dialogue(&path, |line| line.split(' ').map(|n| n.parse::<u32>().unwrap()).sum::<u32>().to_string());
        let (_dir, path) = page("count\na\nb\n----\n2\n\ncount\n----\n0\n");
        blocks(&path, |command| command.input.lines().count().to_string());
    }

    #[test]
    #[should_panic(expected = "line 2\n- 3\n+ 4\n")]
    fn a_wrong_answer_fails_the_page_with_its_line() {
        let (_dir, path) = page("> 1 2\n3\n");
        dialogue(&path, |_| "4".to_string());
    }

    #[test]
    #[should_panic(expected = "line 4\n- more\n")]
    fn a_missing_line_of_an_answer_fails_the_page() {
        let (_dir, path) = page("count\n----\n0\nmore\n");
        blocks(&path, |_| "0".to_string());
    }

    #[test]
    fn words_of_a_command_are_flags_and_pairs() {
        let command = Command::new("pick now=7 quietly", "").unwrap();
        assert_eq!((command.name, command.get("now"), command.has("quietly")), ("pick", Some("7"), true));
        assert_eq!(command.pairs().collect::<Vec<_>>(), [("now", "7")]);
        assert_eq!(command.words(), ["now=7", "quietly"]);
    }
}
