//! The options of an open.

use testkit::chance::Chance;

use crate::sample::{self, Fixed};

/// The options of the last open, and the options that stay for the life of the database.
#[derive(Clone)]
pub(super) struct Setup {
    pub fixed: Fixed,
    /// The drawn options as text.
    pub text: String,
    /// The drawn options, before the recovery mode was set.
    options: Option<ironstone::Options>,
    /// The option `paranoid_checks`.
    pub paranoid: bool,
    /// The length of the prefix that the prefix extractor returns.
    pub prefix: Option<usize>,
}

impl Setup {
    /// Draws the options that stay.
    pub fn draw(chance: &mut Chance) -> Setup {
        Setup { fixed: Fixed::draw(chance), text: String::new(), options: None, paranoid: true, prefix: None }
    }

    /// Returns the options of the next open, without a recovery mode. A fork is mostly opened with the options from
    /// before the crash.
    pub fn options(&mut self, is_branch: bool, chance: &mut Chance) -> ironstone::Options {
        if let Some(options) = self.options.clone().filter(|_| is_branch && chance.percent(88)) {
            return options;
        }
        self.fixed.timestamps = self.fixed.timestamps.next(chance);
        let direct = sample::rare::direct_writes(chance.clone().next(), self.fixed);
        let (sample, mut options) = sample::small(chance, self.fixed);
        options.update(&direct).unwrap_or_else(|error| panic!("{direct}: {error}"));
        (self.text, self.prefix) = (sample.text + &direct, sample.prefix);
        self.options = Some(options.clone());
        options
    }
}
