//! The damage sweep: damages one place of a small database, opens the database, and reads everything.
//!
//! ```text
//!  fixture   databases of every kind that has a promise: closed, idle, killed after a sync
//!  cases     every bit of every byte, sectors, cuts at every byte, missing files, swapped files, older files
//!  judge     opens the database, reads it in every way, compares with every state that the database ever had
//! ```
//! A part of the cases is repaired instead.
//!
//! The rules: no damage may be silent, no case may panic or hang, an open that fails may delete no file, and an error
//! must name file and offset.

pub mod cases;
pub mod fixture;
pub mod judge;

use std::collections::BTreeMap;

/// The result of a case, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A panic.
    Crash,
    /// No error, but rows of no state that the database ever had, or different rows by different ways of reading.
    Wrong,
    /// An error, after a wrong row.
    WrongBeforeError,
    /// No error, but the rows of an older state.
    Rollback,
    /// A wrong answer of a get, while the scan is correct or fails.
    GetLie,
    /// The open failed or read all rows, but deleted a necessary file.
    Deleted,
    /// An error without file and offset.
    Unplaced,
    /// An error. Every row before the error was correct.
    Detected,
    /// No error, and the correct rows.
    Harmless,
}

impl Class {
    /// All classes, worst first.
    pub const ALL: [Class; 9] = [
        Class::Crash,
        Class::Wrong,
        Class::WrongBeforeError,
        Class::Rollback,
        Class::GetLie,
        Class::Deleted,
        Class::Unplaced,
        Class::Detected,
        Class::Harmless,
    ];

    /// Returns true if the result breaks a promise.
    pub fn is_bad(self) -> bool {
        self < Class::Detected
    }

    /// Returns the word of the class in the report.
    pub fn name(self) -> &'static str {
        match self {
            Class::Crash => "crash",
            Class::Wrong => "wrong",
            Class::WrongBeforeError => "wrong+err",
            Class::Rollback => "rollback",
            Class::GetLie => "get-lie",
            Class::Deleted => "deleted",
            Class::Unplaced => "unplaced",
            Class::Detected => "detected",
            Class::Harmless => "harmless",
        }
    }
}

/// The numbers of cases by fixture, kind of damage, kind of file, and class.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub counts: BTreeMap<(&'static str, &'static str, &'static str, Class), u64>,
    /// Descriptions of the first bad cases of each kind.
    pub bad: Vec<((&'static str, &'static str, Class), String)>,
}

impl Tally {
    const BAD_MAX: usize = 4;

    /// Counts one case.
    pub fn add(&mut self, fixture: &'static str, kind: &'static str, file: &'static str, class: Class) {
        *self.counts.entry((fixture, kind, file, class)).or_default() += 1;
    }

    /// Keeps the description of a bad case, unless there are enough descriptions for its damage, file and class.
    pub fn tell(&mut self, kind: &'static str, file: &'static str, class: Class, words: impl Into<String>) {
        let key = (kind, file, class);
        if self.bad.iter().filter(|(k, _)| *k == key).count() < Self::BAD_MAX {
            self.bad.push((key, words.into()));
        }
    }

    /// Adds the counts of another tally. Keeps its descriptions up to the limit.
    pub fn merge(&mut self, other: Tally) {
        for (key, count) in other.counts {
            *self.counts.entry(key).or_default() += count;
        }
        other.bad.into_iter().for_each(|((kind, file, class), words)| self.tell(kind, file, class, words));
    }

    /// Returns the number of cases of this class.
    pub fn of(&self, class: Class) -> u64 {
        self.counts.iter().filter(|(key, _)| key.3 == class).map(|(_, n)| n).sum()
    }

    /// Returns the number of all cases.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Returns the number of cases that break a promise.
    pub fn bad(&self) -> u64 {
        Class::ALL.into_iter().filter(|c| c.is_bad()).map(|c| self.of(c)).sum()
    }

    /// Returns the numbers as JSON: totals by class, and the numbers of each fixture by damage and file.
    pub fn json(&self) -> String {
        let classes = |of: &dyn Fn(Class) -> u64| {
            let list = Class::ALL.map(|c| format!("\"{}\": {}", c.name(), of(c)));
            format!("{{{}}}", list.join(", "))
        };
        let mut rows: Vec<_> =
            self.counts.keys().map(|(fixture, kind, file, _)| (*fixture, *kind, *file)).collect();
        rows.dedup();
        let rows: Vec<String> = rows
            .into_iter()
            .map(|(fixture, kind, file)| {
                let of = |class| self.counts.get(&(fixture, kind, file, class)).copied().unwrap_or(0);
                format!("    {{\"fixture\": \"{fixture}\", \"damage\": \"{kind}\", \"file\": \"{file}\", \"cases\": {}}}", classes(&of))
            })
            .collect();
        format!(
            "  \"cases\": {},\n  \"bad\": {},\n  \"classes\": {},\n  \"rows\": [\n{}\n  ]",
            self.total(),
            self.bad(),
            classes(&|class| self.of(class)),
            rows.join(",\n")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::cases::{Damage, all};
    use super::judge::How;
    use super::{fixture, judge};

    #[test]
    fn a_file_in_place_of_another_is_reported_with_its_name_or_does_no_harm() {
        let mut bad = Vec::new();
        for fixture in fixture::Fixture::all() {
            let mut machine = fixture::machine(&fixture.files);
            let others = all(&fixture).into_iter().filter(|case| matches!(case.damage, Damage::Other { .. }));
            for (case, how) in others.flat_map(|case| [(case.clone(), How::Reading), (case, How::Writing)]) {
                let Some(judged) = judge::case(&fixture, &mut machine, &case, how) else { continue };
                if judged.class.is_bad() {
                    bad.push(format!("{} {case:?}: {}: {}", fixture.name, judged.class.name(), judged.why));
                }
            }
        }
        assert!(bad.is_empty(), "{}", bad.join("\n"));
    }
}
