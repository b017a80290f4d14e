//! Compares our dumps of RocksDB's golden tables with RocksDB's own dumps.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use base::iter::InternalIterator;
use base::order::Order;
use env::{Env, ReadHints};
use ironstone_table::dump;
use ironstone_table::sst::{OpenOptions, ReadCtx, Reader};

fn golden_tables() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/golden"))];
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "sst") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn open(path: &Path) -> base::Result<Arc<Reader>> {
    let env = Env::posix();
    let file = env.fs.open_random(path, &ReadHints::default())?;
    let size = file.size()?;
    Ok(Arc::new(Reader::open(file, size, &OpenOptions::default())?))
}

#[test]
fn golden_tables_are_dumped_as_sst_dump_dumps_them() {
    let Some(tools) = std::env::var_os("IRONSTONE_ORACLE") else {
        eprintln!(
            "SKIPPED golden_tables_are_dumped: set IRONSTONE_ORACLE to a folder with RocksDB's sst_dump"
        );
        return;
    };
    let sst_dump = Path::new(&tools).join("sst_dump");
    let dir = std::env::temp_dir().join(format!("ironstone-dump-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (mut same, mut different) = (0, Vec::new());
    for golden in golden_tables() {
        let copy = dir.join("000001.sst");
        std::fs::copy(&golden, &copy).unwrap();
        let run = |command: &str, more: &str| {
            let file = format!("--file={}", copy.display());
            Command::new(&sst_dump).args([&file, command, more]).output().unwrap()
        };
        let Ok(reader) = open(&golden) else { continue };
        let bytewise = reader.properties().comparator_name == Order::Bytewise.name().as_bytes();
        if !bytewise || !run("--command=raw", "--show_sequence_number_type").status.success() {
            continue;
        }
        let theirs = std::fs::read(dir.join("000001_dump.txt")).unwrap();
        let mut ours = Vec::new();
        let dumped = dump::raw(&reader, &mut ours, true);
        let mut lines = Vec::new();
        let mut iter = reader.iter(&ReadCtx::default());
        iter.seek_to_first();
        while iter.valid() {
            // `sst_dump` prints entries that do not decode to its error output.
            if let Ok(line) = dump::entry_line(iter.key(), iter.value(), &Order::Bytewise, true, false) {
                lines.extend(line);
                lines.push(b'\n');
            }
            iter.next();
        }
        let scan = run("--command=scan", "--output_hex").stdout;
        let start = scan.windows(1).position(|at| at == b"'").unwrap_or(scan.len());
        // If an error ends the scan, `sst_dump` prints its own message.
        let scan_same = iter.status().is_err() || scan[start..] == lines;
        if ours == theirs && scan_same {
            same += 1;
        } else {
            let at =
                ours.iter().zip(&theirs).position(|(a, b)| a != b).unwrap_or(ours.len().min(theirs.len()));
            let around = |text: &[u8]| {
                text[at.saturating_sub(80).min(text.len())..text.len().min(at + 80)]
                    .escape_ascii()
                    .to_string()
            };
            let words = format!(
                "{}: scan {scan_same}, {dumped:?}\n ours {}\n theirs {}",
                golden.display(),
                around(&ours),
                around(&theirs)
            );
            different.push(words);
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(different.is_empty(), "{}", different.join("\n"));
    assert!(same > 100, "{same}");
}
