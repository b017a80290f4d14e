//! Random operations with random options: every answer equals the model's.
//!
//! `IRONSTONE_SEED=n` runs only seed n (and reduces its script with `IRONSTONE_REDUCE=1`). The campaign is `simulate
//! --random --seed n --seconds s`.

use ironstone_sim::random;

const OPERATIONS: usize = 250;

fn run(seeds: std::ops::Range<u64>) {
    let only = std::env::var("IRONSTONE_SEED").ok().and_then(|s| s.parse::<u64>().ok());
    let seeds = only.map_or(seeds, |n| n..n + 1);
    for seed in seeds {
        if let Err(words) = random::seed(seed, OPERATIONS) {
            panic!("{words}\nrun it again: IRONSTONE_SEED={seed} cargo test -p ironstone --test it random");
        }
    }
}

#[test]
fn no_option_changes_an_answer() {
    run(100..124);
}

#[test]
fn nor_do_others() {
    run(200..224);
}
