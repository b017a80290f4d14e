//! The commands of the fuzzer:
//!
//! - `ironstone-fuzz seed DIR`: writes first inputs for every target from `fixtures/`, as `DIR/TARGET/NAME`.
//! - `ironstone-fuzz unpack DIR`: writes the packed inputs, as `DIR/TARGET/pack-N`.
//! - `ironstone-fuzz pack DIR`: packs the corpora `DIR/TARGET/*` into `fixtures/fuzz/TARGET.pack`, smallest inputs
//!   first, up to the share of each target.
//! - `ironstone-fuzz corpus`: replays every packed input, and prints the result as JSON.
//! - `ironstone-fuzz replay TARGET FILE`: replays one input.
//! - `ironstone-fuzz targets`: prints the names of the targets, and the length of the longest input of each.
//! - `ironstone-fuzz mutate SECONDS SEED [TARGET]`: changes packed inputs at random, for this time for each target.
//!   The first input that breaks a promise is written to `finding-TARGET` and ends the target.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a program")]

use base::WalNumber;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::time::Instant;

use env::rng::SeededRng;
use format::wide::Column;
use ironstone_fuzz::mutate::mutate;
use ironstone_fuzz::{ALL, archive, corpus, find, meter, pack};

#[global_allocator]
static METER: meter::Meter = meter::Meter;

/// The bytes of the packed inputs of one target in the repository.
const SHARE: usize = 220_000;
/// Larger files are not used as seeds.
const SEED_MAX: u64 = 40_000;

const USAGE: &str = "usage: ironstone-fuzz seed DIR | unpack DIR | pack DIR | corpus | replay TARGET FILE | targets | \
                     mutate SECONDS SEED [TARGET]";

/// A command with its arguments.
enum Command {
    Seed(PathBuf),
    Unpack(PathBuf),
    Pack(PathBuf),
    Corpus,
    Targets,
    Replay { target: String, file: PathBuf },
    Mutate { seconds: u64, seed: u64, target: Option<String> },
}

fn parse(mut arguments: lexopt::Parser) -> Result<Command, lexopt::Error> {
    use lexopt::prelude::*;
    let command = arguments.value()?.string()?;
    let command = match &command[..] {
        "seed" => Command::Seed(arguments.value()?.into()),
        "unpack" => Command::Unpack(arguments.value()?.into()),
        "pack" => Command::Pack(arguments.value()?.into()),
        "corpus" => Command::Corpus,
        "targets" => Command::Targets,
        "replay" => Command::Replay { target: arguments.value()?.string()?, file: arguments.value()?.into() },
        "mutate" => {
            let (seconds, seed) = (arguments.value()?.parse()?, arguments.value()?.parse()?);
            let target = match arguments.next()? {
                Some(Value(target)) => Some(target.string()?),
                Some(argument) => return Err(argument.unexpected()),
                None => None,
            };
            Command::Mutate { seconds, seed, target }
        }
        _ => return Err(Value(command.into()).unexpected()),
    };
    match arguments.next()? {
        Some(argument) => Err(argument.unexpected()),
        None => Ok(command),
    }
}

fn main() -> std::io::Result<()> {
    let command = parse(lexopt::Parser::from_env()).unwrap_or_else(|error| {
        eprintln!("{error}\n{USAGE}");
        exit(2);
    });
    match command {
        Command::Seed(dir) => seed(&dir),
        Command::Unpack(dir) => unpack_all(&dir),
        Command::Pack(dir) => pack_all(&dir),
        Command::Mutate { seconds, seed, target } => mutate_all(seconds, seed, target.as_deref()),
        Command::Corpus => replay_all(),
        Command::Targets => {
            ALL.iter().for_each(|target| println!("{} {}", target.name, target.len));
            Ok(())
        }
        Command::Replay { target, file } => {
            find(&target).check(&std::fs::read(file)?);
            Ok(())
        }
    }
}

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

fn seed(dir: &Path) -> std::io::Result<()> {
    for target in ALL {
        std::fs::create_dir_all(dir.join(target.name))?;
    }
    let keep = |target: &str, name: &str, bytes: &[u8]| std::fs::write(dir.join(target).join(name), bytes);
    for text in
        ["1.5", "kNoCompression", "4KB;{a=b}", "max_open_files=20;write_buffer_size=1M", "000012.sst", "LOCK"]
    {
        for target in ["option_strings", "names", "options_ini"] {
            keep(target, text, text.as_bytes())?;
        }
    }
    let strings = "table_factory={block_size=8k;filter_policy=bloomfilter:10:false};compression_opts={level=3;max_dict_bytes=4k}";
    keep("option_strings", "nested", strings.as_bytes())?;
    for columns in
        [&[][..], &[("", "v")], &[("", "v"), ("a", "1"), ("long-name", "")], &[("a", ""), ("b", "2")]]
    {
        let columns: Vec<_> =
            columns.iter().map(|(n, v)| Column::inline(n.as_bytes(), v.as_bytes())).collect();
        let mut bytes = Vec::new();
        if format::wide::encode(&columns, &mut bytes).is_ok() {
            keep("wide", &columns.len().to_string(), &bytes)?;
        }
    }
    let mut databases: Vec<_> =
        std::fs::read_dir(fixtures().join("golden"))?.filter_map(Result::ok).collect();
    databases.sort_by_key(std::fs::DirEntry::file_name);
    for database in databases.iter().filter(|entry| entry.path().is_dir()) {
        let label = database.file_name().to_string_lossy().into_owned();
        let mut all = Vec::new();
        let mut files: Vec<_> = std::fs::read_dir(database.path())?.filter_map(Result::ok).collect();
        files.sort_by_key(std::fs::DirEntry::file_name);
        for file in files {
            let name = file.file_name().to_string_lossy().into_owned();
            if !file.metadata()?.is_file() || name.starts_with("LOG") || name == "LOCK" {
                continue;
            }
            let bytes = std::fs::read(file.path())?;
            if bytes.len() as u64 <= SEED_MAX {
                let seed = format!("{label}-{name}");
                seed_file(&keep, &seed, &name, &bytes)?;
            }
            if !name.starts_with("OPTIONS-") {
                all.push((name, bytes));
            }
        }
        let archived = archive::write(all.iter().map(|(name, bytes)| (&name[..], &bytes[..])));
        if archived.len() as u64 <= SEED_MAX {
            keep("directory", &label, &archived)?;
        }
    }
    Ok(())
}

fn seed_file(
    keep: &impl Fn(&str, &str, &[u8]) -> std::io::Result<()>,
    seed: &str,
    name: &str,
    bytes: &[u8],
) -> std::io::Result<()> {
    if name.starts_with("MANIFEST-") {
        keep("manifest", seed, bytes)?;
        for (i, record) in records(name, bytes).iter().enumerate().take(6) {
            keep("edit", &format!("{seed}-{i}"), record)?;
        }
    } else if name.ends_with(".log") {
        keep("wal", seed, bytes)?;
        for (i, record) in records(name, bytes).iter().enumerate().take(6) {
            keep("batch", &format!("{seed}-{i}"), record)?;
        }
    } else if name == "CURRENT" || name == "IDENTITY" {
        keep("names", seed, bytes)?;
    } else if name.starts_with("OPTIONS-") {
        keep("options", seed, bytes)?;
        keep("options_ini", seed, bytes)?;
    } else if name.ends_with(".blob") {
        keep("blob", seed, bytes)?;
        keep("blob", &format!("{seed}-record"), bytes.get(30..).unwrap_or_default())?;
        keep("blob", &format!("{seed}-footer"), &bytes[bytes.len().saturating_sub(32)..])?;
    } else if name.ends_with(".sst") {
        seed_table(keep, seed, bytes)?;
    }
    Ok(())
}

/// Returns the records of a WAL or a MANIFEST with this name.
fn records(name: &str, bytes: &[u8]) -> Vec<Vec<u8>> {
    use format::wal::{Item, Reader, ReaderOptions};
    let number = name.split('.').next().and_then(|n| n.parse().ok()).unwrap_or(0);
    let options = ReaderOptions { wal_number: WalNumber::new(number), ..ReaderOptions::default() };
    let mut reader = Reader::new(bytes, options);
    let mut out = Vec::new();
    while let Ok(item) = reader.next() {
        match item {
            Item::Record { bytes, .. } => out.push(bytes.to_vec()),
            Item::EndOfLog => break,
            _ => {}
        }
    }
    out
}

/// Keeps an SST file and its blocks as inputs of their decoders.
fn seed_table(
    keep: &impl Fn(&str, &str, &[u8]) -> std::io::Result<()>,
    seed: &str,
    bytes: &[u8],
) -> std::io::Result<()> {
    keep("table", seed, bytes)?;
    keep("footer", seed, &bytes[bytes.len().saturating_sub(53)..])?;
    ironstone_fuzz::repair::parts(bytes, |part, content| {
        let at = format!("{seed}-{}", content.len());
        match part {
            "data" => {
                let _ = keep("block", &at, content);
                for (encoder, copies) in [(0, 0), (0, 200), (3, 0), (6, 9)] {
                    let name = format!("{at}-{encoder}-{copies}");
                    let _ = keep("compress", &name, &[&[encoder, 0, copies], content].concat());
                }
                let _ = keep("compress", &format!("{at}-d"), &[&[0, 200, 3], content].concat());
            }
            "index" => {
                for layout in [0, 1, 2, 3, 7, 11] {
                    let _ = keep("index", &format!("{at}-{layout}"), &[&[layout], content].concat());
                }
            }
            "metaindex" => drop(keep("footer", &at, content)),
            "rocksdb.properties" => drop(keep("properties", &at, content)),
            "rocksdb.range_del" | "rocksdb.range_del2" => drop(keep("range_del", &at, content)),
            name if name.contains("filter") => drop(keep("filter", &at, content)),
            _ => {}
        }
    });
    ironstone_fuzz::repair::raw(bytes, |kind, payload| {
        if kind != 0 {
            let _ = keep("decompress", &format!("{seed}-{}", payload.len()), &[&[kind, 0], payload].concat());
            let _ = keep(
                "decompress",
                &format!("{seed}-{}-d", payload.len()),
                &[&[kind, 9], &b"somedicts"[..], payload].concat(),
            );
        }
    });
    Ok(())
}

fn unpack_all(dir: &Path) -> std::io::Result<()> {
    for target in ALL {
        std::fs::create_dir_all(dir.join(target.name))?;
        let bytes = std::fs::read(fixtures().join("fuzz").join(format!("{}.pack", target.name)))?;
        for (i, input) in pack::unpack(&bytes).into_iter().enumerate() {
            std::fs::write(dir.join(target.name).join(format!("pack-{i}")), input)?;
        }
    }
    Ok(())
}

fn replay_all() -> std::io::Result<()> {
    corpus::watch_panics();
    let start = Instant::now();
    let replayed = corpus::replay(&fixtures().join("fuzz"))?;
    replayed.failures.iter().for_each(|words| println!("FAILED {words}"));
    println!(
        "{{\"test\":\"corpus\",\"targets\":{},\"inputs\":{},\"failures\":{},\"seconds\":{:.1}}}",
        ALL.len(),
        replayed.inputs,
        replayed.failures.len(),
        start.elapsed().as_secs_f64()
    );
    exit(i32::from(!replayed.failures.is_empty()));
}

fn mutate_all(seconds: u64, seed: u64, only: Option<&str>) -> std::io::Result<()> {
    corpus::watch_panics();
    for target in ALL.iter().filter(|target| only.is_none_or(|name| name == target.name)) {
        let bytes = std::fs::read(fixtures().join("fuzz").join(format!("{}.pack", target.name)))?;
        let inputs = pack::unpack(&bytes);
        let rng = SeededRng::new(seed);
        let start = Instant::now();
        let mut runs = 0u64;
        while start.elapsed().as_secs() < seconds {
            let input = mutate(&inputs, &rng);
            let outcome = std::panic::catch_unwind(|| target.check(&input));
            if outcome.is_err() || corpus::panics() > 0 {
                let name = format!("finding-{}", target.name);
                std::fs::write(&name, &input)?;
                println!("{}: run {runs} broke a promise: {name}", target.name);
                exit(1);
            }
            runs += 1;
        }
        println!("{}: {runs} runs", target.name);
    }
    Ok(())
}

fn pack_all(dir: &Path) -> std::io::Result<()> {
    let out = fixtures().join("fuzz");
    std::fs::create_dir_all(&out)?;
    for target in ALL {
        let mut inputs = Vec::new();
        for entry in std::fs::read_dir(dir.join(target.name))? {
            inputs.push(std::fs::read(entry?.path())?);
        }
        inputs.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
        inputs.dedup();
        let found = inputs.len();
        let mut room = SHARE;
        inputs.retain(|input| {
            let fits = input.len() + 4 <= room;
            room -= if fits { input.len() + 4 } else { 0 };
            fits
        });
        let bytes = pack::pack(inputs.iter().map(Vec::as_slice));
        println!("{}: {} of {found} inputs, {} bytes", target.name, inputs.len(), bytes.len());
        std::fs::write(out.join(format!("{}.pack", target.name)), bytes)?;
    }
    Ok(())
}
