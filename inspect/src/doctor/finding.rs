//! One finding of the doctor.

use serde::Serialize;

/// The weight of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Severity {
    /// Costs speed or space.
    Advice,
    /// Costs much, or soon stops writers.
    Warning,
    /// Data is lost, or will be lost.
    Critical,
}

impl Severity {
    /// Returns the word for people.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Advice => "advice",
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        }
    }
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of the rule.
    pub rule: &'static str,
    pub severity: Severity,
    /// The column family. `None` stands for the whole database.
    pub family: Option<String>,
    pub title: String,
    pub evidence: Vec<String>,
    pub cost: String,
    pub change: Change,
}

/// The change that removes the cause of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Change {
    /// The option text for `set_options` of the column family. If the finding names no column family, the text is for
    /// `set_db_options`. The database may stay open.
    Live(String),
    /// The option text. It takes effect at the next open of the database.
    Reopen(String),
    /// An action in words.
    Action(String),
}

impl Finding {
    /// Returns a finding without evidence, cost or change.
    pub(crate) fn new(rule: &'static str, severity: Severity, title: String) -> Finding {
        Finding {
            rule,
            severity,
            family: None,
            title,
            evidence: Vec::new(),
            cost: String::new(),
            change: Change::Action(String::new()),
        }
    }

    pub(crate) fn family(mut self, name: &str) -> Finding {
        self.family = Some(name.to_string());
        self
    }

    pub(crate) fn evidence(mut self, text: impl Into<String>) -> Finding {
        self.evidence.push(text.into());
        self
    }

    pub(crate) fn cost(mut self, text: impl Into<String>) -> Finding {
        self.cost = text.into();
        self
    }

    pub(crate) fn live(mut self, text: impl Into<String>) -> Finding {
        self.change = Change::Live(text.into());
        self
    }

    pub(crate) fn reopen(mut self, text: impl Into<String>) -> Finding {
        self.change = Change::Reopen(text.into());
        self
    }

    pub(crate) fn action(mut self, text: impl Into<String>) -> Finding {
        self.change = Change::Action(text.into());
        self
    }
}

impl Finding {
    /// Returns the name of the function that takes the option text of a live change. RocksDB has one function for the options of a column
    /// family and one for the options of the database.
    pub fn setter(&self) -> &'static str {
        match self.family {
            Some(_) => "set_options",
            None => "set_db_options",
        }
    }

    /// Returns the change as a sentence.
    pub fn change_sentence(&self) -> String {
        match &self.change {
            Change::Live(text) => format!("{}: {text}", self.setter()),
            Change::Reopen(text) => format!("set and reopen: {text}"),
            Change::Action(text) => text.clone(),
        }
    }
}
