//! Chooses the fault of a round: the failing call, or the call at which the machine stops.

use testkit::chance::Chance;

use super::{FORGETS, World};

impl World {
    /// Returns true if the failing calls of this seed are calls of flushes and compactions, in several column
    /// families.
    pub(super) fn is_of_tables(&self) -> bool {
        self.seed % 8 == 3
    }

    /// Returns a plan in which a call on an SST file of one column family fails. Writes of the other column families
    /// continue.
    pub(super) fn plan_of_tables(&mut self) -> String {
        let what =
            *self.chance.pick(&["create *.sst", "append *.sst", "sync *.sst", "read *.sst", "close *.sst"]);
        let sync = what.starts_with("sync");
        let errno = *self.chance.pick(&["EIO", "ENOSPC", "ENOSPC", if sync { FORGETS } else { "EMFILE" }]);
        let errno = self.marked().unwrap_or(errno);
        let n = 1 + self.chance.below(6);
        let last = n + 1 + self.chance.below(4);
        let more = *self.chance.pick(&["", "..", "..", "..LAST"]);
        let more = more.replace("LAST", &last.to_string());
        format!("{what} #{n}{more} {errno}")
    }

    /// Draws an error that says more than its error number; most often none. The draw does not move the chance forward.
    fn marked(&self) -> Option<&'static str> {
        let chance = &mut Chance::new(self.chance.clone().next() ^ 0x6d61_726b);
        chance.percent(20).then(|| *chance.pick(&["retryable", "retryable", "loss", "fenced"]))
    }

    /// Returns a plan with a crash at a call, with a failing call, or without a fault.
    pub(super) fn plan(&mut self, calls: u64) -> String {
        let n = 1 + self.chance.below(calls);
        match self.chance.below(10) {
            0..4 => format!("write * #{n} crash"),
            4 => format!("append * #{n} crash {}", self.chance.below(5000)),
            5 => String::new(),
            _ => {
                let what = *self.chance.pick(&[
                    "append *",
                    "sync *",
                    "create *",
                    "append *.log",
                    "sync *.log",
                    "append MANIFEST-*",
                    "sync MANIFEST-*",
                    "append *.sst",
                    "sync *.sst",
                    "create *.sst",
                    "create *.log",
                    "rename *",
                    "sync_dir *",
                    "read *",
                    "read *.sst",
                    "open *",
                    "unlink *",
                    "close *",
                    "append CURRENT*",
                    "append *.dbtmp",
                    "write *",
                ]);
                let n = if what == "write *" { n } else { 1 + self.chance.below(30) };
                let errno = match what.split_once(' ').map_or(what, |(op, _)| op) {
                    "append" => *self.chance.pick(&["EIO", "ENOSPC", "EMFILE", "EINTR", "torn 7"]),
                    "sync" => *self.chance.pick(&["EIO", "ENOSPC", "EINTR", FORGETS, FORGETS]),
                    _ => *self.chance.pick(&["EIO", "EIO", "ENOSPC", "EMFILE", "EINTR"]),
                };
                let errno = self.marked().unwrap_or(errno);
                let more = *self.chance.pick(&["", "", "..", ".."]);
                format!("{what} #{n}{more} {errno}")
            }
        }
    }
}
