//! The verdicts over workers that end by a signal.

use super::*;

/// Runs a worker with this shell script until its process has ended. Returns the counts of the campaign.
fn counts_after(script: &str) -> Counts {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script);
    let mut worker = listen(command, 7, 0).unwrap();
    let mut counts = Counts::default();
    let replay = |_: u64| String::new();
    let ended = loop {
        match worker.lines.recv() {
            Ok(line) => take(&line, &mut worker, &mut counts, &replay),
            Err(_) => break RecvTimeoutError::Disconnected,
        }
    };
    assert!(end(&mut worker, ended, &mut counts, &replay), "the worker failed");
    counts
}

#[test]
fn crash_of_a_thread_of_rocksdb_is_no_failure() {
    let counts = counts_after("echo S 18; echo C rocksdb:low; kill -SEGV $$");
    assert_eq!((counts.failures, counts.peer_crashes), (0, vec![18]));
}

#[test]
fn crash_without_a_report_is_a_failure() {
    let counts = counts_after("echo S 18; kill -SEGV $$");
    assert_eq!((counts.failures, counts.failed_seeds, counts.peer_crashes), (1, vec![18], vec![]));
}

#[test]
fn report_of_an_earlier_seed_excuses_no_crash() {
    let counts = counts_after("echo C rocksdb:low; echo S 19; kill -SEGV $$");
    assert_eq!((counts.failures, counts.failed_seeds), (1, vec![19]));
}

#[test]
fn more_crashes_of_rocksdb_than_the_limit_fail_the_campaign() {
    let crashes = |n: u64| Counts { peer_crashes: (1..=n).collect(), ..Counts::default() };
    assert_eq!(faults_of_peer(&crashes(PEER_FAULTS_MAX)), None);
    assert!(faults_of_peer(&crashes(PEER_FAULTS_MAX + 1)).is_some());
    let long = Counts { seeds: 100, ..crashes(5) };
    assert_eq!(faults_of_peer(&long), None, "one seed in twenty");
}

#[test]
fn stop_of_all_processes_is_not_the_silence_of_a_worker() {
    let mut worker = listen(Command::new("true"), 1, 0).unwrap();
    worker.pass(Duration::from_secs(HANG_S * 2));
    assert!(worker.silent < Duration::from_secs(HANG_S));
    (0..HANG_S).for_each(|_| worker.pass(Duration::from_secs(1)));
    assert!(worker.silent >= Duration::from_secs(HANG_S));
    worker.child.wait().unwrap();
}
