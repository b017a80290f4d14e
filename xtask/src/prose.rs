//! Counts sentences in which pronouns stand in the place of nouns.
//!
//! A sentence of a comment (`//`, `///`, `//!`) or of a document under `docs/` is counted if it has 14 words or more. It
//! is heavy if more than 22 % of its words are pronouns, relative words or indefinite words. Code between backticks
//! counts as one word. A crate, a module of `engine` or the documents may have [`HEAVY_PERCENT_MAX`] heavy sentences.
//!
//! The count is a coarse measure: a writer can pass it with short sentences that say nothing. LevelDB, Pebble, memchr
//! and lsm-tree have 0.7 % to 2.3 %.

use std::collections::BTreeMap;
use std::path::Path;

/// Words that count as pronouns.
const PRONOUNS: [&str; 54] = [
    "what",
    "that",
    "who",
    "whom",
    "whose",
    "which",
    "it",
    "its",
    "itself",
    "one",
    "ones",
    "those",
    "these",
    "this",
    "they",
    "them",
    "their",
    "theirs",
    "he",
    "she",
    "nobody",
    "nothing",
    "somebody",
    "someone",
    "something",
    "anybody",
    "anything",
    "everybody",
    "everything",
    "other",
    "others",
    "another",
    "each",
    "both",
    "all",
    "any",
    "none",
    "some",
    "such",
    "so",
    "then",
    "there",
    "here",
    "where",
    "whoever",
    "whatever",
    "whichever",
    "else",
    "same",
    "former",
    "latter",
    "everyone",
    "anyone",
    "noone",
];

/// A shorter sentence is not counted.
const WORDS_MIN: usize = 14;

/// A sentence is heavy if more of its words are pronouns.
const PRONOUN_PERCENT_MAX: usize = 22;

/// A room fails if more of its counted sentences are heavy.
const HEAVY_PERCENT_MAX: f64 = 3.0;

/// A room with fewer counted sentences is reported with its crate only.
const SENTENCES_MIN: usize = 20;

/// The counted sentences of one room.
#[derive(Default)]
pub struct Room {
    pub heavy: usize,
    pub counted: usize,
    /// Place and text of each heavy sentence.
    pub worst: Vec<(String, String)>,
}

impl Room {
    /// Returns the share of heavy sentences in percent.
    pub fn percent(&self) -> f64 {
        100.0 * self.heavy as f64 / self.counted.max(1) as f64
    }
}

/// Adds a fault for each room whose share of heavy sentences is above the limit.
pub fn check(root: &Path, faults: &mut Vec<String>) {
    for (name, room) in rooms(root) {
        let limited = room.counted >= SENTENCES_MIN;
        if limited && room.percent() > HEAVY_PERCENT_MAX {
            faults.push(format!(
                "{name}: {} of {} long sentences are mostly pronouns ({:.1} %, limit {HEAVY_PERCENT_MAX} %); \
                 `cargo xtask prose` lists them",
                room.heavy,
                room.counted,
                room.percent()
            ));
        }
    }
}

/// Prints each room with its share, and each heavy sentence with its place.
pub fn report(root: &Path) {
    let rooms = rooms(root);
    for (name, room) in &rooms {
        for (place, sentence) in &room.worst {
            println!("{place}: {sentence}");
        }
        println!("{name}: {} of {} ({:.1} %)", room.heavy, room.counted, room.percent());
    }
    let heavy: usize = rooms.values().map(|room| room.heavy).sum();
    let counted: usize = rooms.values().map(|room| room.counted).sum();
    println!("all: {heavy} of {counted} ({:.1} %)", 100.0 * heavy as f64 / counted.max(1) as f64);
}

/// Counts the sentences of all crates and documents, by room: a crate, a module of `engine`, or `docs`.
pub fn rooms(root: &Path) -> BTreeMap<String, Room> {
    let mut rooms = BTreeMap::new();
    for name in crate::text::CRATES {
        for path in crate::rust_files(&root.join(name)) {
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let place = crate::shown(root, &path);
            for (line, block) in comments(&text) {
                count(rooms.entry(room_of(&place)).or_default(), &format!("{place}:{line}"), &block);
            }
        }
    }
    for path in documents(root) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let prose: Vec<&str> = text.lines().filter(|line| !line.starts_with('|')).collect();
        count(rooms.entry("docs".into()).or_default(), &crate::shown(root, &path), &prose.join("\n"));
    }
    rooms
}

/// Returns the room of a file: `engine/write` for `engine/src/write/group.rs`, and the crate for all other files.
fn room_of(place: &str) -> String {
    let parts: Vec<&str> = place.split('/').collect();
    match parts[..] {
        ["engine", _, module, ..] => format!("engine/{}", module.trim_end_matches(".rs")),
        [name, ..] => name.to_string(),
        [] => String::new(),
    }
}

/// Returns the documents of the project: `docs/`, `unreleased/`, and the two files of the root.
fn documents(root: &Path) -> Vec<std::path::PathBuf> {
    let mut found = vec![root.join("README.md"), root.join("CONTRIBUTING.md")];
    let mut waiting = vec![root.join("docs"), root.join("unreleased")];
    while let Some(dir) = waiting.pop() {
        let Ok(entries) = std::fs::read_dir(&dir) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|e| e == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// Returns the comment blocks of a source file, each with the number of its first line.
fn comments(text: &str) -> Vec<(usize, String)> {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            open = false;
            continue;
        };
        let comment = comment.strip_prefix(['/', '!']).unwrap_or(comment);
        let comment = comment.strip_prefix(' ').unwrap_or(comment);
        if !open {
            blocks.push((index + 1, String::new()));
            open = true;
        }
        if let Some((_, block)) = blocks.last_mut() {
            block.push_str(comment);
            block.push('\n');
        }
    }
    blocks
}

fn count(room: &mut Room, place: &str, text: &str) {
    for sentence in sentences(text) {
        let words: Vec<&str> = sentence
            .split(|c: char| !c.is_ascii_alphabetic() && c != '\'')
            .filter(|word| !word.is_empty())
            .collect();
        if words.len() < WORDS_MIN {
            continue;
        }
        room.counted += 1;
        let pronouns = words.iter().filter(|w| PRONOUNS.contains(&w.to_ascii_lowercase().as_str())).count();
        if pronouns * 100 > words.len() * PRONOUN_PERCENT_MAX {
            room.heavy += 1;
            room.worst.push((place.to_string(), sentence.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
    }
}

/// Splits a text at ends of sentences, colons, semicolons and empty lines. Leaves out fenced code.
fn sentences(text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    for (index, part) in text.split("```").enumerate() {
        if index % 2 == 0 {
            split_prose(&without_code(part), &mut out);
        }
        out.push(String::new());
    }
    out
}

/// Replaces each run of code between backticks by one word.
fn without_code(text: &str) -> String {
    let mut out = String::new();
    for (index, part) in text.split('`').enumerate() {
        out.push_str(if index % 2 == 0 { part } else { "X" });
    }
    out
}

fn split_prose(text: &str, out: &mut Vec<String>) {
    let mut previous = ' ';
    for line in text.split('\n') {
        if line.trim().is_empty() {
            out.push(String::new());
        }
        for c in line.chars().chain(['\n']) {
            if c.is_whitespace() && matches!(previous, '.' | '!' | '?' | ':' | ';') {
                out.push(String::new());
            }
            if let Some(last) = out.last_mut() {
                last.push(c);
            }
            previous = c;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heavy(text: &str) -> (usize, usize) {
        let mut room = Room::default();
        count(&mut room, "here", text);
        (room.heavy, room.counted)
    }

    #[test]
    fn a_sentence_of_pronouns_is_heavy() {
        let text = "Whether that is one of those that nobody else has, or what it was before it was this.";
        assert_eq!(heavy(text), (1, 1));
    }

    #[test]
    fn a_sentence_of_nouns_is_not_heavy() {
        let text =
            "The reader compares the checksum of each block with the checksum in the trailer of the block.";
        assert_eq!(heavy(text), (0, 1));
    }

    #[test]
    fn short_sentences_and_code_are_not_counted() {
        assert_eq!(
            heavy("What it is. Who it was. ```let that = which + what + those + these + it + one;```"),
            (0, 0)
        );
    }

    #[test]
    fn a_comment_block_knows_its_first_line() {
        assert_eq!(comments("fn f() {}\n// one\n// two\nlet x;\n"), [(2, "one\ntwo\n".to_string())]);
    }
}
