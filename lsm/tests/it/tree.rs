//! Tests versions, candidate files and pickers, with versions as text.

use std::sync::Arc;

use base::ids::FileNumber;
use base::key::{InternalOrder, MAX_SEQUENCE};
use base::order::Order;
use base::{EpochNumber, Level, SequenceNumber};
use ironstone_lsm::draw;
use ironstone_lsm::pick::manual::{Request, Step, plan, plan_exactly, plan_files};
use ironstone_lsm::pick::score::Scores;
use ironstone_lsm::pick::{Ages, Options, Priority, Running, StopStyle, Style, Task, View, pick};
use ironstone_lsm::version::{BlobFile, BlobGarbage, Edit, Version};
use testkit::script::{self, Command};

/// Returns the value of `name=value`, or `default`. The value may end with `k`, `M` or `G`.
fn value_of(command: &Command<'_>, name: &str, default: u64) -> u64 {
    command.get(name).map_or(default, |text| draw::parse_bytes(text).expect(name))
}

/// The state of a page: the levels of a tree.
struct TreePage {
    version: Version,
    options: Options,
    running: Vec<Running>,
    oldest_snapshot: u64,
    now: u64,
}

impl TreePage {
    fn new() -> Self {
        TreePage {
            version: empty(7),
            options: Options { ages: Ages { ttl: 0, ..Ages::default() }, ..Options::default() },
            running: Vec::new(),
            oldest_snapshot: 0,
            now: 0,
        }
    }

    fn view(&self) -> View<'_> {
        View {
            version: &self.version,
            running: &self.running,
            oldest_snapshot: SequenceNumber::new(self.oldest_snapshot),
            full_history_ts_low: None,
            young_after: None,
        }
    }

    fn answer(&mut self, command: &Command<'_>) -> String {
        match command.name {
            "tree" => {
                match draw::parse_version(command.input, order(), value_of(command, "levels", 7) as usize) {
                    Ok(version) => {
                        self.version = version;
                        self.running.clear();
                        draw::version(&self.version)
                    }
                    Err(error) => error.to_string(),
                }
            }
            "options" => {
                command.pairs().for_each(|(name, value)| self.set_option(name, value));
                String::new()
            }
            "apply" => {
                let edits: Vec<Edit> = command.input.split("then\n").map(parse_edit).collect();
                match self.version.apply(&edits) {
                    Ok(version) => {
                        self.version = version;
                        draw::version(&self.version)
                    }
                    Err(error) => error.to_string(),
                }
            }
            "infer-epochs" => {
                if let Some(version) =
                    self.version.infer_epochs(EpochNumber::new(value_of(command, "first", 1)))
                {
                    self.version = version;
                }
                format!("{}next {}", draw::version(&self.version), self.version.next_epoch())
            }
            "candidates" => {
                let seq = value_of(command, "seq", MAX_SEQUENCE.get());
                command
                    .words()
                    .iter()
                    .filter(|w| !w.contains('='))
                    .map(|key| {
                        let found: Vec<String> = self
                            .version
                            .candidates(key.as_bytes(), SequenceNumber::new(seq))
                            .map(|(level, file)| format!(" {level}:{}", file.number))
                            .collect();
                        format!("{key}:{}\n", found.concat())
                    })
                    .collect()
            }
            "scores" => self.scores(),
            "pick" => {
                self.now = value_of(command, "now", self.now);
                self.oldest_snapshot = value_of(command, "snapshot", self.oldest_snapshot);
                match pick(&self.view(), &self.options, self.now) {
                    None => "nothing".to_string(),
                    Some(task) => {
                        let text = show(&task);
                        if command.has("start") {
                            task.reserve();
                            self.running.push(task.running(&self.version));
                        }
                        text
                    }
                }
            }
            "plan" => self.plan(command),
            "plan-files" => {
                let numbers: Vec<FileNumber> =
                    command.words().iter().filter_map(|w| w.parse().ok()).map(FileNumber::new).collect();
                let to = Level::from_index(value_of(command, "to", 1) as usize);
                let view = self.view();
                let planned = if command.has("exactly") {
                    plan_exactly("x", &view, &self.options, &numbers, to, self.now)
                } else {
                    plan_files("x", &view, &self.options, &numbers, (to, false), self.now)
                };
                match planned {
                    Ok(task) => show(&task),
                    Err(error) => error.to_string(),
                }
            }
            other => panic!("unknown command {other}"),
        }
    }

    fn plan(&self, command: &Command<'_>) -> String {
        let mut request = Request {
            begin: command.get("begin").map(|k| k.as_bytes().to_vec()),
            end: command.get("end").map(|k| k.as_bytes().to_vec()),
            input_level: Level::from_index(value_of(command, "level", 0) as usize),
            all_levels: command.has("all"),
            output_level: command.get("to").map(|l| Level::new(l.parse().unwrap())),
            max_file_number: command.get("before").map(|n| FileNumber::new(n.parse().unwrap())),
            ..Request::default()
        };
        let mut out = String::new();
        loop {
            match plan(&self.view(), &self.options, &request, self.now) {
                Step::Nothing => return out + "nothing",
                Step::Conflict => return out + "conflict",
                Step::Do(task, rest) => {
                    out.push_str(&show(&task));
                    out.push('\n');
                    let Some(rest) = rest else { return out };
                    out.push_str(&format!("then from {}\n", rest.escape_ascii()));
                    request.begin = Some(rest);
                }
            }
        }
    }

    fn scores(&self) -> String {
        let scores = Scores::compute(&self.view(), &self.options, self.now);
        let mut out =
            format!("base {} pending {}\n", scores.base_level, draw::bytes(scores.estimated_pending_bytes));
        for (level, score) in &scores.by_level {
            if *score > 0.0 {
                let target = scores.max_bytes.get(level.index()).copied().unwrap_or(0);
                out.push_str(&format!("{level} {score:.3} of {}\n", draw::bytes(target)));
            }
        }
        out
    }

    fn set_option(&mut self, name: &str, value: &str) {
        let o = &mut self.options;
        let number = || draw::parse_bytes(value).unwrap();
        match name {
            "style" => {
                o.style = match value {
                    "level" => Style::Level,
                    "universal" => Style::Universal,
                    "fifo" => Style::Fifo,
                    _ => Style::None,
                };
                o.sizes.level_compaction_dynamic_level_bytes &= o.style == Style::Level;
            }
            "pri" => {
                o.priority = match value {
                    "size" => Priority::ByCompensatedSize,
                    "largest-seq" => Priority::OldestLargestSeqFirst,
                    "smallest-seq" => Priority::OldestSmallestSeqFirst,
                    "overlap" => Priority::MinOverlappingRatio,
                    "round-robin" => Priority::RoundRobin,
                    _ => panic!("{value}"),
                }
            }
            "dynamic" => o.sizes.level_compaction_dynamic_level_bytes = value == "true",
            "base" => o.sizes.max_bytes_for_level_base = number(),
            "multiplier" => o.sizes.max_bytes_for_level_multiplier = number() as f64,
            "file" => o.files.target_file_size_base = number(),
            "l0" => o.triggers.level0_file_num_compaction_trigger = number() as i32,
            "max" => o.files.max_compaction_bytes = number(),
            "ttl" => o.ages.ttl = number(),
            "period" => o.ages.periodic_compaction_seconds = number(),
            "offpeak" => {
                let hours = value.split_once('-').map(|(a, b)| (a.parse().unwrap(), b.parse().unwrap()));
                o.ages.offpeak = hours;
            }
            "size-ratio" => o.universal.size_ratio = number() as u32,
            "space-amp" => o.universal.max_size_amplification_percent = number() as u32,
            "min-width" => o.universal.min_merge_width = number() as u32,
            "max-width" => o.universal.max_merge_width = number() as u32,
            "stop" => {
                o.universal.stop_style =
                    if value == "similar" { StopStyle::SimilarSize } else { StopStyle::TotalSize };
            }
            "move" => o.universal.allow_trivial_move = value == "true",
            "incremental" => o.universal.incremental = value == "true",
            "max-read-amp" => o.universal.max_read_amp = value.parse().unwrap(),
            "fifo-size" => o.fifo.max_table_files_size = number(),
            "ingest-behind" => o.allow_ingest_behind = value == "true",
            "fifo-compact" => o.fifo.allow_compaction = value == "true",
            "write-buffer" => o.buffers.write_buffer_size = number(),
            "compression" => {
                let levels = value.split(',').filter(|v| !v.is_empty());
                o.codecs.compression_per_level = levels.map(|v| v.parse().unwrap()).collect();
            }
            _ => panic!("unknown option {name}"),
        }
    }
}

fn show(task: &Task) -> String {
    let mut out = task.to_string();
    if !task.grandparents.is_empty() {
        let numbers: Vec<String> = task.grandparents.iter().map(|f| f.number.to_string()).collect();
        out.push_str(&format!(" grandparents {}", numbers.join(",")));
    }
    if let Some(cursor) = &task.next_cursor {
        out.push_str(&format!(" cursor {}", draw::key(cursor)));
    }
    out
}

fn order() -> InternalOrder {
    InternalOrder::new(Order::Bytewise)
}

fn empty(levels: usize) -> Version {
    Version::empty(order(), levels)
}

/// Parses lines such as `- L0 12`, `+ L1 13[a#1,SET-b#2,SET]`, `cursor L1 b#2,SET`, `+ blob 5 count=2
/// bytes=90`, `garbage 5 1 45`.
fn parse_edit(text: &str) -> Edit {
    let mut edit = Edit::default();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let level = |word: &str| Level::new(word.trim_start_matches('L').parse().unwrap());
        let number = |word: &str| word.rsplit('=').next().unwrap().parse::<u64>().unwrap();
        match words[..] {
            ["+", "blob", n, count, bytes] => edit.blobs_added.push(BlobFile {
                number: FileNumber::new(number(n)),
                total_count: number(count),
                total_bytes: number(bytes),
                ..BlobFile::default()
            }),
            ["garbage", n, count, bytes] => edit.blob_garbage.push(BlobGarbage {
                number: FileNumber::new(number(n)),
                count: number(count),
                bytes: number(bytes),
            }),
            ["-", l, n] => edit.deleted.push((level(l), FileNumber::new(number(n)))),
            ["cursor", l, key] => edit.cursors.push((level(l), draw::parse_key(key).unwrap())),
            ["+", l, ..] => {
                let file = line.split_once(l).unwrap().1;
                edit.added.push((level(l), Arc::new(draw::parse_file(file).unwrap())));
            }
            _ => panic!("unknown edit {line}"),
        }
    }
    edit
}

fn run(name: &str) {
    let mut world = TreePage::new();
    script::blocks(&crate::page(name), |command| world.answer(command));
}

#[test]
fn version_apply() {
    run("version_apply");
}

#[test]
fn candidates() {
    run("candidates");
}

#[test]
fn leveled() {
    run("leveled");
}

#[test]
fn universal() {
    run("universal");
}

#[test]
fn fifo() {
    run("fifo");
}

#[test]
fn manual() {
    run("manual");
}

#[test]
fn entries_of_a_timestamped_key_are_searched_in_the_file_after_the_boundary() {
    let order = InternalOrder::new(Order::by_name("leveldb.BytewiseComparator.u64ts").unwrap());
    let internal = |user: &str, timestamp: u64| {
        let stamped = [user.as_bytes(), &timestamp.to_le_bytes()].concat();
        base::key::seek_key(&stamped, SequenceNumber::new(1))
    };
    let mut edit = Edit::default();
    for (number, from, to) in [(1, ("a", 9), ("k", 5)), (2, ("k", 4), ("z", 1))] {
        let file = ironstone_lsm::file_meta::FileMetaData::new(
            FileNumber::new(number),
            1,
            &internal(from.0, from.1),
            &internal(to.0, to.1),
        );
        edit.added.push((Level::new(1), Arc::new(file.into())));
    }
    let version = Version::empty(order, 3).apply(&[edit]).unwrap();
    let files = |user: &str, timestamp: u64| -> Vec<u64> {
        let stamped = [user.as_bytes(), &timestamp.to_le_bytes()].concat();
        version.candidates(&stamped, SequenceNumber::new(9)).map(|(_, f)| f.number.get()).collect()
    };
    assert_eq!(files("k", 7), [1, 2]);
    assert_eq!(files("k", 4), [2]);
    assert_eq!(files("b", 7), [1]);
}

mod candidates_by_search {
    use base::key;
    use ironstone_lsm::file_meta::FileMetaData;
    use proptest::prelude::*;

    use super::*;

    /// Keys of about eight bytes. Many have equal heads.
    fn user_key() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            prop::collection::vec(0u8..3, 0..4),
            prop::collection::vec(0u8..3, 0..4).prop_map(|tail| [b"eight by".as_slice(), &tail].concat()),
        ]
    }

    fn internal(user: &[u8], seq: u64) -> Vec<u8> {
        let mut out = Vec::new();
        key::append_internal(&mut out, user, SequenceNumber::new(seq), key::ValueType::Value);
        out
    }

    proptest! {
        #[test]
        fn a_search_finds_what_a_walk_finds(
            boundaries in prop::collection::vec((user_key(), 1u64..4), 0..16),
            l0 in prop::collection::vec((user_key(), user_key()), 0..4),
            wanted in user_key(),
            seq in 0u64..5,
            reverse in any::<bool>(),
        ) {
            let order = InternalOrder::new(if reverse { Order::Reverse } else { Order::Bytewise });
            let mut edit = Edit::default();
            let mut number = 0;
            let mut add = |level, a: &[u8], b: &[u8], epoch| {
                number += 1;
                let mut file = FileMetaData::new(FileNumber::new(number), 1, a, b);
                file.epoch_number = EpochNumber::new(epoch);
                edit.added.push((level, Arc::new(file.into())));
            };
            for (i, (a, b)) in l0.iter().enumerate() {
                let (a, b) = if order.user.compare(a, b).is_gt() { (b, a) } else { (a, b) };
                add(Level::ZERO, &internal(a, 9), &internal(b, 9), i as u64 + 2);
            }
            let mut keys: Vec<Vec<u8>> = boundaries.iter().map(|(k, s)| internal(k, *s)).collect();
            keys.sort_by(|a, b| order.compare(a, b));
            keys.dedup();
            keys.chunks_exact(2).for_each(|pair| add(Level::new(1), &pair[0], &pair[1], 1));
            let version = Version::empty(order.clone(), 3).apply(&[edit]).unwrap();
            let found: Vec<u64> = version.candidates(&wanted, SequenceNumber::new(seq)).map(|(_, f)| f.number.get()).collect();
            let lookup = key::seek_key(&wanted, SequenceNumber::new(seq));
            let by_walk: Vec<u64> = version
                .files()
                .filter(|(level, f)| {
                    let (a, b) = (f.smallest_user_key(), f.largest_user_key());
                    let inside = order.user.compare(a, &wanted).is_le() && order.user.compare(&wanted, b).is_le();
                    inside && (*level == Level::ZERO || order.compare(&lookup, &f.largest).is_le())
                })
                .map(|(_, f)| f.number.get())
                .collect();
            prop_assert_eq!(found, by_walk);
        }
    }
}
