//! Options from a budget: their sums, their texts, and RocksDB's answer to their texts.
//!
//! `IRONSTONE_PEER` names RocksDB's library; without the variable the test prints that it was skipped.

use ironstone::{BUDGET_MEMORY_MIN, BudgetGoal, Db, Options, explain_options};

const GOALS: [BudgetGoal; 2] = [BudgetGoal::Latency, BudgetGoal::Throughput];

fn budgets() -> impl Iterator<Item = (u64, u32, BudgetGoal)> {
    let sizes = [BUDGET_MEMORY_MIN, 32 << 20, 100_000_001, 1 << 30, 64 << 30, u64::MAX / 16];
    sizes.into_iter().flat_map(|memory| {
        [1, 2, 4, 7, 64, u32::MAX]
            .into_iter()
            .flat_map(move |cores| GOALS.into_iter().map(move |goal| (memory, cores, goal)))
    })
}

#[test]
fn memtables_and_block_cache_stay_below_the_budget() {
    for (memory, cores, goal) in budgets() {
        let options = explain_options(memory, cores, goal).unwrap();
        let number = |name: &str| -> u64 {
            options.iter().find(|option| option.name == name).unwrap().value.parse().unwrap()
        };
        let (memtables, cache) = (number("db_write_buffer_size"), number("block_cache"));
        assert!(memtables + cache <= memory - memory / 8, "{memory} {cores} {goal:?}");
        assert!(memtables + cache >= memory / 2, "{memory} {cores} {goal:?}");
        assert!(number("write_buffer_size") * number("max_write_buffer_number") <= memtables.max(3 << 19));
        assert!(number("level0_slowdown_writes_trigger") < number("level0_stop_writes_trigger"));
        assert!(options.iter().all(|option| option.reason.ends_with('.')));
    }
}

#[test]
fn options_have_the_explained_values() {
    for (memory, cores, goal) in budgets() {
        // A block cache of many gigabytes needs the memory of its hash table at once.
        if memory > 1 << 30 {
            continue;
        }
        let made = Options::for_budget(memory, cores, goal).unwrap();
        for option in explain_options(memory, cores, goal).unwrap() {
            let value = match option.name.strip_prefix("block_based_table_factory.") {
                Some(field) => made.family.table_factory.get(field),
                None if option.name == "block_cache" => {
                    made.block_cache.as_ref().map(|cache| cache.capacity().to_string())
                }
                None => made.db.get(option.name).or_else(|| made.family.get(option.name)),
            };
            assert_eq!(value.as_deref(), Some(option.value.as_str()), "{}", option.name);
        }
        let mut options = made;
        options.db.env = Options::in_memory().db.env;
        options.db.create_if_missing = true;
        let db = Db::open("data", options).unwrap();
        db.put(b"k", b"v").unwrap();
        db.flush().unwrap();
        assert!(db.get(b"k").unwrap().is_some());
    }
}

#[test]
fn budgets_without_memory_or_cores_are_refused() {
    for (memory, cores) in [(0, 4), (BUDGET_MEMORY_MIN - 1, 4), (1 << 30, 0)] {
        let error = Options::for_budget(memory, cores, BudgetGoal::Latency).err().unwrap();
        assert!(error.message().contains("a budget of"), "{error}");
    }
}

#[test]
fn rocksdb_accepts_the_texts() {
    let Some(path) = std::env::var_os("IRONSTONE_PEER") else {
        eprintln!("SKIPPED: set IRONSTONE_PEER to RocksDB's library");
        return;
    };
    let library = peer::Library::load(path.as_ref()).unwrap();
    assert!(library.options("no_such_option=1").is_err());
    for (memory, cores, goal) in budgets() {
        for option in explain_options(memory, cores, goal).unwrap() {
            if let Some(text) = option.text() {
                library.options(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            }
        }
    }
}
