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
    let crashes = |n: u64| (1..=n).collect::<Vec<u64>>();
    assert_eq!(faults_of_peer(0, &[], &crashes(PEER_FAULTS_MAX)), None);
    assert!(faults_of_peer(0, &[], &crashes(PEER_FAULTS_MAX + 1)).is_some());
    assert!(faults_of_peer(0, &[1], &crashes(PEER_FAULTS_MAX)).is_some());
    assert_eq!(faults_of_peer(100, &[], &crashes(5)), None, "one seed in twenty");
}

#[test]
fn stop_of_all_processes_is_not_the_silence_of_a_worker() {
    let mut worker = listen(Command::new("true"), 1, 0).unwrap();
    worker.hear("H RocksDB 1 flush");
    worker.pass(AFTER_LATE * 2);
    assert!(!worker.is_hung());
    (0..AFTER_LATE.as_secs()).for_each(|_| worker.pass(Duration::from_secs(1)));
    assert!(worker.is_hung());
    worker.child.wait().unwrap();
}

/// A turn of the watch takes one second, or more on a busy machine. A known hang of RocksDB then had no line of the watch.
#[test]
fn watch_of_a_worker_speaks_before_the_parent_gives_up() {
    let mut worker = listen(Command::new("true"), 1, 0).unwrap();
    let turn = Duration::from_secs(4);
    for _ in 0..watch::LATE.as_secs() {
        worker.pass(turn);
        assert!(!worker.is_hung());
    }
    worker.hear("H RocksDB 1 flush");
    assert!(!worker.is_hung());
    worker.hear("B");
    worker.pass(AFTER_LATE);
    assert!(!worker.is_hung(), "the operation ended");
    (0..=SILENT_MAX.as_secs()).for_each(|_| worker.pass(Duration::from_secs(1)));
    assert!(worker.is_hung(), "the watch does not run");
    worker.child.wait().unwrap();
}
