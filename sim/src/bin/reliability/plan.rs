//! The list of campaigns: the request for each campaign, and the fields of its report that hold the
//! results.

use std::path::{Path, PathBuf};

use crate::Settings;

/// One campaign: the program, its arguments, and the fields of its report.
#[derive(Clone, Debug)]
pub struct Campaign {
    pub name: &'static str,
    /// The name of the counted unit.
    pub unit: &'static str,
    pub asked: u64,
    /// The field of the count in the report of the program.
    pub count: &'static str,
    /// The fields of the report that must be zero.
    pub bad: &'static [&'static str],
    pub program: PathBuf,
    pub arguments: Vec<String>,
    /// The reason why the campaign cannot run.
    pub missing: Option<&'static str>,
}

impl Campaign {
    fn new(
        name: &'static str,
        program: &str,
        text: &str,
        (asked, unit): (u64, &'static str),
        count: &'static str,
        bad: &'static [&'static str],
    ) -> Campaign {
        let program = std::env::current_exe()
            .map_or_else(|_| PathBuf::from(program), |path| path.with_file_name(program));
        let arguments = text.split_whitespace().map(str::to_string).collect();
        Campaign { name, unit, asked, count, bad, program, arguments, missing: None }
    }

    /// A campaign that needs the library of RocksDB.
    fn compared(self, library: &Path) -> Campaign {
        let missing = (!library.exists()).then_some("no library of RocksDB");
        Campaign { missing, ..self }
    }
}

/// Returns the campaigns, the longest first, so that the last campaign runs alone for a short time only.
pub fn campaigns(settings: &Settings) -> Vec<Campaign> {
    let [compared, transactions, turns] = comparisons(settings);
    let [crashes, calls, states, prepared, random, refusals] = simulations(settings);
    let Settings { seed, seconds, .. } = settings;
    let damaged = Campaign::new(
        "damaged files",
        "damage",
        &format!("--minutes {} --threads 1 --cases {}", *seconds as f64 / 60.0, settings.cases),
        (settings.cases, "cases"),
        "cases",
        &["bad"],
    );
    let scratch = settings.scratch.display();
    let killed = Campaign::new(
        "killed processes",
        "kills",
        &format!(
            "--seed {seed} --seconds {seconds} --kills {} --threads 1 --scratch {scratch}",
            settings.kills
        ),
        (settings.kills, "kills"),
        "kills",
        &["failures"],
    );
    let inputs = Campaign::new(
        "kept inputs of the fuzzer",
        "ironstone-fuzz",
        "corpus",
        (1, "inputs"),
        "inputs",
        &["failures"],
    );
    vec![
        compared,
        transactions,
        crashes,
        calls,
        states,
        damaged,
        turns,
        killed,
        prepared,
        random,
        refusals,
        inputs,
    ]
}

/// Returns the campaigns that compare with RocksDB: operations, transactions, and databases that both engines open in turn.
fn comparisons(settings: &Settings) -> [Campaign; 3] {
    let Settings { seed, seconds, .. } = settings;
    let peer = settings.peer.clone().unwrap_or_default();
    let library = peer.join("librocksdb.so");
    let tools = if peer.join("ldb").exists() && peer.join("sst_dump").exists() {
        format!("--tools {}", peer.display())
    } else {
        String::new()
    };
    let differ = format!(
        "--peer {} --seed {seed} --seconds {seconds} --scratch {} --threads 1",
        library.display(),
        settings.scratch.display()
    );
    let operations = settings.operations;
    let transactions = (operations / 100).max(1);
    let campaigns = [
        Campaign::new(
            "compared with RocksDB",
            "differ",
            &format!("{differ} --operations {operations}"),
            (operations, "operations"),
            "operations",
            &["differences"],
        ),
        Campaign::new(
            "transactions compared with RocksDB",
            "differ",
            &format!("{differ} --transactions --operations {transactions}"),
            (transactions, "operations"),
            "operations",
            &["differences"],
        ),
        Campaign::new(
            "in turns with RocksDB",
            "differ",
            &format!("{differ} --turns {tools} --rounds {}", settings.turns),
            (settings.turns, "turns"),
            "rounds",
            &["failures"],
        ),
    ];
    campaigns.map(|campaign| campaign.compared(&library))
}

/// Returns the campaigns of `simulate`: crashes and faults, calls, every crash of the scenes, prepared transactions, random operations,
/// and refused operations.
fn simulations(settings: &Settings) -> [Campaign; 6] {
    let Settings { seed, seconds, commit, cycles, states, .. } = settings;
    let simulate = format!("--seed {seed} --seconds {seconds} --commit {commit}");
    let runs = (cycles / 500).max(1);
    let run_mode = |name, mode, runs: u64| {
        let arguments = format!("--{mode} {simulate} --cycles {runs}");
        Campaign::new(name, "simulate", &arguments, (runs, "runs"), "runs", &["failures"])
    };
    [
        Campaign::new(
            "simulated crashes and faults",
            "simulate",
            &format!("--crash {simulate} --cycles {cycles}"),
            (*cycles, "cycles"),
            "cycles",
            &["failures"],
        ),
        run_mode("calls compared with models", "calls", runs),
        Campaign::new(
            "every crash and failing call",
            "simulate",
            &format!("--exhaustive {simulate} --cycles {states}"),
            (*states, "states"),
            "states",
            &["lost", "refused", "wrong", "panics", "hangs", "broken"],
        ),
        run_mode("prepared transactions in crashes", "prepared", 5 * runs),
        run_mode("random operations", "random", runs),
        run_mode("refused operations", "refusals", runs / 2 + 1),
    ]
}
