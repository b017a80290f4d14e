//! Crashes and failing calls at random places: the durable writes exist, and the rest is one prefix of the attempted
//! writes.
//!
//! `IRONSTONE_SEED=n` runs only seed n. The campaign is `simulate --crash --seed n --seconds s`.

use ironstone_sim::crash;

#[test]
fn a_crash_leaves_a_prefix_with_all_that_was_durable() {
    let only = std::env::var("IRONSTONE_SEED").ok().and_then(|s| s.parse::<u64>().ok());
    let seeds = only.map_or(1000..1060, |n| n..n + 1);
    let mut cycles = 0;
    for seed in seeds {
        match crash::seed(seed, 100) {
            Ok(ran) => cycles += ran.cycles,
            Err(words) => {
                panic!("{words}\nrun it again: IRONSTONE_SEED={seed} cargo test -p ironstone --test it crash")
            }
        }
    }
    assert!(cycles > 50 || only.is_some(), "{cycles} recoveries");
}
