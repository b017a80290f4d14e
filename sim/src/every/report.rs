//! The result of a campaign: counts, and each failure with the name that repeats it.

use std::collections::BTreeMap;

/// The result of one campaign.
#[derive(Clone, Debug, Default)]
pub struct Report {
    pub seed: u64,
    /// The file-system calls of the scenes.
    pub calls: u64,
    /// The crashes and failing calls that were judged.
    pub states: u64,
    /// The judged crashes of recoveries. `states` includes them.
    pub deep: u64,
    /// The opens. Equal disks are opened once.
    pub opened: u64,
    /// The opens that ran twice, with equal calls expected.
    pub run_twice: u64,
    /// The runs of scenes with a failing call.
    pub fault_runs: u64,
    /// The failures by kind: lost, refused, wrong, panicked, hung, broken.
    pub failures: BTreeMap<&'static str, u64>,
    /// True if every crash and every failing call was judged. Crashes of recoveries do not count.
    pub complete: bool,
    told: Vec<String>,
}

impl Report {
    /// Makes an empty report. It is complete until a state is left out.
    pub fn new(seed: u64) -> Report {
        Report { seed, complete: true, ..Report::default() }
    }

    /// Adds the counts of another report.
    pub(super) fn add(&mut self, other: Report) {
        self.calls += other.calls;
        self.states += other.states;
        self.deep += other.deep;
        self.opened += other.opened;
        self.run_twice += other.run_twice;
        self.fault_runs += other.fault_runs;
        self.complete &= other.complete;
        other.failures.into_iter().for_each(|(kind, n)| *self.failures.entry(kind).or_default() += n);
        self.told.extend(other.told);
    }

    pub(super) fn judge(&mut self, name: &str, judged: Result<(), (&'static str, String)>, what: &str) {
        if let Err((kind, words)) = judged {
            *self.failures.entry(kind).or_default() += 1;
            if self.told.len() < 20 {
                println!("FAILED {name} ({what}): {kind}: {words}\nrun it again: simulate --state '{name}'");
                self.told.push(name.to_string());
            }
        }
    }

    /// Returns the number of failures of all kinds.
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    /// Returns the report as one line of JSON.
    pub fn json(&self, commit: &str, seconds: f64) -> String {
        let of = |kind: &str| self.failures.get(kind).copied().unwrap_or(0);
        format!(
            "{{\"mode\":\"exhaustive\",\"commit\":\"{commit}\",\"seed\":{},\"seconds\":{seconds:.1},\"calls\":{},\
             \"states\":{},\"deep\":{},\"opened\":{},\"run_twice\":{},\"fault_runs\":{},\"complete\":{},\"lost\":{},\"refused\":{},\
             \"wrong\":{},\"panics\":{},\"hangs\":{},\"broken\":{},\"failed\":[{}]}}",
            self.seed,
            self.calls,
            self.states,
            self.deep,
            self.opened,
            self.run_twice,
            self.fault_runs,
            self.complete,
            of("lost"),
            of("refused"),
            of("wrong"),
            of("panicked"),
            of("hung"),
            of("broken"),
            self.told.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(",")
        )
    }
}
