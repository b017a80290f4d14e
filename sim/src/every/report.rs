//! What a campaign came to: figures, and each failure with the name that replays it.

use std::collections::BTreeMap;
use std::time::Instant;

#[derive(Clone, Debug, Default)]
pub struct Report {
    pub seed: u64,
    /// File-system calls of the scenes.
    pub calls: u64,
    /// Crashes and failing calls whose outcome was judged.
    pub states: u64,
    /// Of them, crashes of a recovery.
    pub deep: u64,
    /// Databases opened: equal disks are opened once.
    pub opened: u64,
    /// Scenes played with a failing call.
    pub fault_runs: u64,
    /// Openings refused, as RocksDB refuses them, where a crash left a former file's bytes behind the MANIFEST.
    pub doubted: u64,
    /// By kind: lost, refused, wrong, panicked, hung, broken.
    pub failures: BTreeMap<&'static str, u64>,
    /// Whether every crash, one deep, and every failing call was gone through.
    pub complete: bool,
    failures_max: u64,
    told: Vec<String>,
}

impl Report {
    pub fn new(seed: u64, failures_max: u64) -> Report {
        Report { seed, failures_max, complete: true, ..Report::default() }
    }

    pub(super) fn judge(&mut self, name: &str, judged: Result<(), (&'static str, String)>, what: &str) {
        if let Err((kind, words)) = judged {
            // Bytes of a former file behind the MANIFEST's last sync cannot be told from damage of its last record.
            if kind == "refused" && name.contains("~stale") && words.contains("reading the MANIFEST") {
                self.doubted += 1;
                return;
            }
            *self.failures.entry(kind).or_default() += 1;
            if self.told.len() < 20 {
                println!("FAILED {name} ({what}): {kind}: {words}\nrun it again: simulate --state '{name}'");
                self.told.push(name.to_string());
            }
        }
    }

    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }

    pub(super) fn is_enough(&self, until: Instant) -> bool {
        self.failed() >= self.failures_max || Instant::now() >= until
    }

    /// One line of JSON.
    pub fn json(&self, commit: &str, seconds: f64) -> String {
        let of = |kind: &str| self.failures.get(kind).copied().unwrap_or(0);
        format!(
            "{{\"mode\":\"exhaustive\",\"commit\":\"{commit}\",\"seed\":{},\"seconds\":{seconds:.1},\"calls\":{},\
             \"states\":{},\"deep\":{},\"opened\":{},\"fault_runs\":{},\"doubted\":{},\"complete\":{},\"lost\":{},\"refused\":{},\
             \"wrong\":{},\"panics\":{},\"hangs\":{},\"broken\":{},\"failed\":[{}]}}",
            self.seed,
            self.calls,
            self.states,
            self.deep,
            self.opened,
            self.fault_runs,
            self.doubted,
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
