//! Runs the programs that kill and load processes for a short time, and checks that they detect lost data.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test")]

use std::process::Command;

use ironstone_sim::life::{self, World};

#[track_caller]
fn passes(program: &str, arguments: &[&str]) {
    let scratch = tempfile::tempdir().unwrap();
    let out = Command::new(program).arg("--scratch").arg(scratch.path()).args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{arguments:?}: {}\n{text}", out.status);
    assert!(text.lines().last().is_some_and(|line| line.contains("\"failures\":0")), "{text}");
}

#[test]
fn acknowledged_writes_of_a_killed_process_survive() {
    passes(env!("CARGO_BIN_EXE_kills"), &["--kills", "12", "--seconds", "600", "--seed", "7"]);
}

#[test]
fn threads_under_stress_read_what_they_wrote() {
    passes(env!("CARGO_BIN_EXE_stress"), &["--seconds", "2", "--threads", "2", "--quiet"]);
}

#[test]
fn a_state_before_the_last_acknowledged_step_is_a_loss() {
    let steps = life::steps(3, 60);
    let mut worlds = vec![World::default()];
    for step in &steps {
        let mut next = worlds[worlds.len() - 1].clone();
        life::apply(&mut next, step);
        worlds.push(next);
    }
    let changed = (1..=steps.len()).rev().find(|i| worlds[*i] != worlds[i - 1]).unwrap();
    let settle =
        |durable, attempted, found: &World| life::settle(&worlds[0], &steps, durable, attempted, found);
    assert_eq!(settle(changed, changed, &worlds[changed]), Ok(changed));
    assert!(settle(changed, steps.len(), &worlds[changed - 1]).is_err());
    assert!(settle(0, changed - 1, &worlds[changed]).is_err());
}
