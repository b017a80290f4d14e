//! The list of campaigns: the request for each campaign, and the fields of its report that hold the
//! results.

use std::path::PathBuf;

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

/// Returns the campaigns, the longest first, so that the last campaign runs alone for a short time only.
pub fn campaigns(settings: &Settings) -> Vec<Campaign> {
    let beside = |name: &str| {
        std::env::current_exe().map_or_else(|_| PathBuf::from(name), |path| path.with_file_name(name))
    };
    let campaign = |name, program: &str, text: String, asked, unit, count, bad| Campaign {
        name,
        unit,
        asked,
        count,
        bad,
        program: beside(program),
        arguments: text.split_whitespace().map(str::to_string).collect(),
        missing: None,
    };
    let Settings { seed, seconds, commit, .. } = settings;
    let scratch = settings.scratch.display();
    let peer = settings.peer.clone().unwrap_or_default();
    let library = peer.join("librocksdb.so");
    let compared = |mut campaign: Campaign| {
        if !library.exists() {
            campaign.missing = Some("no library of RocksDB");
        }
        campaign
    };
    let tools = if peer.join("ldb").exists() && peer.join("sst_dump").exists() {
        format!("--tools {}", peer.display())
    } else {
        String::new()
    };
    let differ = format!(
        "--peer {} --seed {seed} --seconds {seconds} --scratch {scratch} --threads 1",
        library.display()
    );
    let transactions = (settings.operations / 100).max(1);
    let simulate = format!("--seed {seed} --seconds {seconds} --commit {commit}");
    vec![
        compared(campaign(
            "compared with RocksDB",
            "differ",
            format!("{differ} --operations {}", settings.operations),
            settings.operations,
            "operations",
            "operations",
            &["differences"],
        )),
        compared(campaign(
            "transactions compared with RocksDB",
            "differ",
            format!("{differ} --transactions --operations {transactions}"),
            transactions,
            "operations",
            "operations",
            &["differences"],
        )),
        campaign(
            "simulated crashes and faults",
            "simulate",
            format!("--crash {simulate} --cycles {}", settings.cycles),
            settings.cycles,
            "cycles",
            "cycles",
            &["failures"],
        ),
        campaign(
            "calls compared with models",
            "simulate",
            format!("--calls {simulate} --cycles {}", (settings.cycles / 500).max(1)),
            (settings.cycles / 500).max(1),
            "runs",
            "runs",
            &["failures"],
        ),
        campaign(
            "every crash and failing call",
            "simulate",
            format!("--exhaustive {simulate} --cycles {}", settings.states),
            settings.states,
            "states",
            "states",
            &["lost", "refused", "wrong", "panics", "hangs", "broken"],
        ),
        campaign(
            "damaged files",
            "damage",
            format!("--minutes {} --threads 1 --cases {}", *seconds as f64 / 60.0, settings.cases),
            settings.cases,
            "cases",
            "cases",
            &["bad"],
        ),
        compared(campaign(
            "in turns with RocksDB",
            "differ",
            format!("{differ} --turns {tools} --rounds {}", settings.turns),
            settings.turns,
            "turns",
            "rounds",
            &["failures"],
        )),
        campaign(
            "killed processes",
            "kills",
            format!(
                "--seed {seed} --seconds {seconds} --kills {} --threads 1 --scratch {scratch}",
                settings.kills
            ),
            settings.kills,
            "kills",
            "kills",
            &["failures"],
        ),
        campaign(
            "kept inputs of the fuzzer",
            "ironstone-fuzz",
            "corpus".to_string(),
            1,
            "inputs",
            "inputs",
            &["failures"],
        ),
    ]
}
