use super::*;

#[test]
fn time_of_a_line_counts_from_1970() {
    assert_eq!(time("1970/01/01-00:00:01.000002 x"), Some((1_000_002, "x")));
    assert_eq!(time("2024/02/29-12:00:00.000000 x"), Some((1_709_208_000_000_000, "x")));
    assert_eq!(time("no time"), None);
    assert_eq!(time("2024/02/29-12:00:00.00000é x"), None);
}

#[test]
fn jobs_stalls_and_messages_are_read() {
    let text = "\
2026/01/01-00:00:00.000000 1 RocksDB version: 6.29.5
2026/01/01-00:00:01.000000 1 EVENT_LOG_v1 {\"time_micros\": 10, \"job\": 3, \"event\": \"flush_started\", \"total_data_size\": 100, \"flush_reason\": \"Write Buffer Full\"}
2026/01/01-00:00:01.000000 1 EVENT_LOG_v1 {\"time_micros\": 12, \"cf_name\": \"users\", \"job\": 3, \"event\": \"table_file_creation\", \"file_number\": 7, \"file_size\": 80}
2026/01/01-00:00:01.000000 1 EVENT_LOG_v1 {\"time_micros\": 15, \"job\": 3, \"event\": \"flush_finished\"}
2026/01/01-00:00:02.000000 1 EVENT_LOG_v1 {\"time_micros\": 20, \"job\": 4, \"event\": \"compaction_started\", \"cf_name\": \"users\", \"compaction_reason\": \"LevelL0FilesNum\", \"input_data_size\": 300}
2026/01/01-00:00:03.000000 1 EVENT_LOG_v1 {\"time_micros\": 30, \"job\": 4, \"event\": \"compaction_finished\", \"output_level\": 1, \"total_output_size\": 160}
2026/01/01-00:00:04.000000 1 [WARN] [/column_family.cc:991] [users] Stalling writes because we have 20 level-0 files rate 16777216
2026/01/01-00:00:05.000000 1 [WARN] [/column_family.cc:931] [users] Stopping writes because of estimated pending compaction bytes 1
2026/01/01-00:00:06.000000 1 [ERROR] a fault
2026/01/01-00:00:06.000000 1 EVENT_LOG_v1 {\"time_micros\": 30, \"job\"
";
    let log = parse(text);
    assert_eq!(log.release.as_deref(), Some("6.29.5"));
    assert_eq!(log.jobs.len(), 2);
    assert_eq!((log.jobs[0].family.as_str(), log.jobs[0].output_bytes), ("users", 80));
    assert_eq!(log.write_amplification(), Some(3.0));
    let causes: Vec<_> = log.stalls.iter().map(|s| (s.kind, s.cause.as_str(), s.family.as_str())).collect();
    assert_eq!(
        causes,
        [
            (StallKind::Delayed, "level-0 files", "users"),
            (StallKind::Stopped, "pending compaction bytes", "users")
        ]
    );
    assert_eq!((log.warnings.len(), log.errors.len()), (2, 1));
    assert_eq!(log.running, []);
}

#[test]
fn snapshot_of_the_last_compactions_is_held_until_the_process_ends() {
    let started = |seq: i64, micros: u64| {
        format!(
            "2026/01/01-00:00:02.000000 1 EVENT_LOG_v1 {{\"time_micros\": {micros}, \"job\": {micros}, \"event\": \"compaction_started\", \"oldest_snapshot_seqno\": {seq}, \"input_data_size\": 300}}\n"
        )
    };
    let text = started(5, 1) + &started(9, 2) + &started(9, 3);
    let held = HeldSnapshot { seq: 9, compactions: 2, input_bytes: 600, first_micros: 2, last_micros: 3 };
    assert_eq!(parse(&text).held_snapshot, Some(held));
    assert_eq!(parse(&(text.clone() + &started(-1, 4))).held_snapshot, None);
    let reopened = text + "2026/01/01-00:00:03.000000 1 RocksDB version: 6.29.5\n";
    assert_eq!(parse(&reopened).held_snapshot, None);
}

#[test]
fn files_that_fifo_compaction_deletes_are_counted() {
    let text = "\
2026/01/01-00:00:02.000000 1 (Original Log Time 2026/01/01-00:00:01.9) [/db_impl.cc:4460] [default] Deleted 1 files
2026/01/01-00:00:03.000000 1 [other] Deleted 4 files
2026/01/01-00:00:04.000000 1 [default] Deleted some files
";
    assert_eq!(parse(text).fifo_deleted, 5);
}

#[test]
fn newest_events_are_kept_and_the_sums_are_of_all_events() {
    let mut text = String::new();
    for n in 0..10_000_u64 {
        let line = format!("2026/01/01-{:02}:{:02}:{:02}.000000 1", n / 3600, n / 60 % 60, n % 60);
        text.push_str(&format!(
            "{line} EVENT_LOG_v1 {{\"time_micros\": {}, \"job\": {n}, \"event\": \"compaction_finished\", \"total_output_size\": 7}}\n\
             {line} [WARN] [/column_family.cc:1] [default] Stalling writes because we have 20 level-0 files\n\
             {line} [ERROR] fault {n}\n",
            1_000_000 * (n + 1)
        ));
    }
    let log = parse(&text);
    for (kept, last) in [(log.jobs.len(), log.jobs.last().map(|job| job.job)), (log.errors.len(), Some(9999))]
    {
        assert_eq!((kept, last), (KEPT_MAX, Some(9999)));
    }
    assert!(
        log.errors[0].text.ends_with("fault 6000") && log.errors[KEPT_MAX - 1].text.ends_with("fault 9999")
    );
    let older = Older {
        compactions: 6000,
        compacted_bytes: 42_000,
        stalls: 6000,
        warnings: 6000,
        errors: 6000,
        ..Older::default()
    };
    assert_eq!(log.older, older);
    assert_eq!((log.written(), log.jobs_of(JobKind::Compaction)), ((0, 70_000), 10_000));
}

#[test]
fn stalls_have_the_time_of_the_events_also_in_another_time_zone() {
    // The writer is two hours ahead.
    let text = "\
2026/01/01-02:00:00.000000 1 [WARN] [a] Stalling writes because we have 20 level-0 files
2026/01/01-02:00:01.000000 1 EVENT_LOG_v1 {\"time_micros\": 1767225601000000, \"job\": 3, \"event\": \"flush_finished\"}
2026/01/01-02:00:02.000000 1 [WARN] [a] Stopping writes because we have 36 level-0 files
";
    let log = parse(text);
    assert_eq!(log.jobs[0].end_micros, 1_767_225_601_000_000);
    let times: Vec<_> = log.stalls.iter().map(|stall| stall.utc_micros).collect();
    assert_eq!(times, [Some(1_767_225_600_000_000), Some(1_767_225_602_000_000)]);
}

#[test]
fn job_without_an_end_is_running_until_the_next_open() {
    let started = "\
2026/01/01-00:00:02.000000 1 EVENT_LOG_v1 {\"time_micros\": 20, \"job\": 4, \"event\": \"compaction_started\", \"cf_name\": \"users\", \"compaction_reason\": \"LevelL0FilesNum\", \"files_L0\": [7, 9], \"files_L1\": [3], \"input_data_size\": 300}
";
    let running = parse(started).running;
    assert_eq!((running[0].kind, running[0].family.as_str()), (JobKind::Compaction, "users"));
    assert_eq!(running[0].inputs, [7, 9, 3]);
    let reopened = format!("{started}2026/01/01-00:00:03.000000 1 RocksDB version: 6.29.5\n");
    assert_eq!(parse(&reopened).running, []);
}

fn created(job: u64, file: u64, bytes: u64) -> String {
    format!(
        "2026/01/01-00:00:02.000000 1 EVENT_LOG_v1 {{\"time_micros\": 1, \"cf_name\": \"users\", \"job\": {job}, \"event\": \"table_file_creation\", \"file_number\": {file}, \"file_size\": {bytes}}}\n"
    )
}

fn event(job: u64, name: &str, fields: &str) -> String {
    format!(
        "2026/01/01-00:00:02.000000 1 EVENT_LOG_v1 {{\"time_micros\": 1, \"job\": {job}, \"event\": \"{name}\", {fields}}}\n"
    )
}

fn flush(job: u64, bytes: u64, levels: &str) -> String {
    let started = event(job, "flush_started", "\"flush_reason\": \"Write Buffer Full\"");
    started
        + &created(job, 10 + job, bytes)
        + &event(job, "flush_finished", &format!("\"lsm_state\": {levels}"))
}

#[test]
fn bytes_of_the_levels_are_known_after_each_job() {
    let started =
        "\"cf_name\": \"users\", \"files_L0\": [12, 11], \"compaction_reason\": \"LevelL0FilesNum\"";
    let text = [
        flush(1, 100, "[1, 0, 0]"),
        flush(2, 100, "[2, 0, 0]"),
        event(3, "compaction_started", started),
        flush(4, 50, "[3, 0, 0]"),
        created(3, 20, 150),
        event(3, "compaction_finished", "\"output_level\": 1, \"lsm_state\": [1, 1, 0]"),
        "2026/01/01-00:00:02.000000 1 (Original Log Time 2026/01/01-00:00:01.000000) [/db.cc:1679] [users] Moving 1 files to level-2\n".to_string(),
        event(5, "trivial_move", "\"destination_level\": 2, \"files\": 1, \"total_files_size\": 150"),
        flush(6, 60, "[2, 0, 1]"),
        // A file that the info log does not name, for example an ingested file.
        flush(7, 60, "[4, 0, 1]"),
    ]
    .concat();
    let trees: Vec<_> = parse(&text).jobs.iter().map(|job| (job.sorted_runs, job.tree_bytes)).collect();
    assert_eq!(
        trees,
        [
            (Some(1), Some((100, 100))),
            (Some(2), Some((200, 200))),
            (Some(3), Some((250, 250))),
            (Some(2), Some((200, 150))),
            (Some(3), Some((260, 150))),
            (Some(5), None),
        ]
    );
}

#[test]
fn message_of_ironstone_about_a_move_names_the_column_family() {
    let text = [
        flush(1, 100, "[1, 0]"),
        "2026/01/01-00:00:02.000000 1 [users] [JOB 2] Moving #11 to level-1 100 bytes\n".to_string(),
        event(2, "trivial_move", "\"destination_level\": 1, \"files\": 1, \"total_files_size\": 100"),
        flush(3, 10, "[1, 1]"),
    ]
    .concat();
    assert_eq!(parse(&text).jobs[1].tree_bytes, Some((110, 100)));
}
