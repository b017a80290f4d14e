//! Public calls that no other campaign makes. `simulate --calls` runs more seeds.

#[test]
fn every_call_answers_as_its_model() {
    for seed in 1..=75 {
        ironstone_sim::calls::seed(seed, 150).unwrap();
    }
}
