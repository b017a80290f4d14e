//! The commands of `sst_dump`.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::iter::InternalIterator;
use base::key::{MAX_SEQUENCE, parse, seek_key};
use base::{Error, Order};
use env::Env;
use format::names::FileName;
use regex_automata::meta::Regex;
use table::dump;
use table::sst::ReadCtx;

use super::args::{Args, Command, HELP};
use super::open::{self, Table};
use crate::ldb::{Failure, Io, Outcome, show};
use crate::progress::{self, Progress};

const RULE: &str = "------------------------------";

/// Runs the command. Returns the exit status.
///
/// # Errors
/// An error that ends the whole run: a path that does not exist, or an output that cannot be written.
pub(super) fn run(args: &Args, io: &mut Io<'_>) -> Result<i32, Failure> {
    match args.command {
        Command::Help => {
            io.out.write_all(HELP.as_bytes())?;
            return Ok(0);
        }
        Command::Version => {
            writeln!(
                io.out,
                "sst_dump from Ironstone {}, compatible with RocksDB 11.8.1",
                env!("CARGO_PKG_VERSION")
            )?;
            return Ok(0);
        }
        _ => {}
    }
    if let Some(text) = &args.parse_internal_key {
        // RocksDB's exit status for both errors is -1.
        let Ok(key) = show::parse(text, true) else {
            let text = String::from_utf8_lossy(text);
            writeln!(
                io.err,
                "ERROR: Invalid key input '{text}' Use 0x{{hex representation of internal rocksdb key}}"
            )?;
            return Ok(255);
        };
        let parsed = match parse(&key) {
            Ok(parsed) => parsed,
            Err(error) => {
                writeln!(io.err, "{error}")?;
                return Ok(255);
            }
        };
        let text = dump::internal_key_text(&parsed, &Order::Bytewise, true);
        io.out.write_all(&[b"key=", &text[..], b"\n"].concat())?;
        return Ok(0);
    }
    let mut env = Env::posix();
    let (files, any_dir) = find(&env, &args.paths)?;
    let progress = progress_of(args, &mut env, &files, io);
    let mut run = Run { args, env: &env, read: 0, sums: Sums::default(), valid: Vec::new(), bad: false };
    for file in &files {
        if !run.file(file, io)? {
            break;
        }
    }
    if let Some(progress) = progress {
        if !run.bad {
            progress.succeeded();
        }
        // The drop writes the last line, which comes before an error of the end.
        drop(progress);
    }
    run.finish(any_dir, io)
}

/// Starts the progress of a command that reads whole SST files: JSON lines with `--json`, a line on a terminal, and nothing
/// otherwise. If standard output is a terminal too, a command that prints each entry shows no progress there.
fn progress_of(args: &Args, env: &mut Env, files: &[PathBuf], io: &Io<'_>) -> Option<Progress> {
    let (what, passes) = match args.command {
        Command::Check => ("check", 1),
        Command::Scan => ("scan", 1),
        Command::Raw => ("raw", 1),
        Command::Verify => ("verify", 1),
        Command::Recompress => ("recompress", args.recompress.passes()),
        Command::Identify | Command::None | Command::Help | Command::Version => return None,
    };
    let prints = args.command == Command::Scan && std::io::stdout().is_terminal();
    let form = match (args.json, io.err_is_terminal && !prints) {
        (true, _) => progress::Form::Lines,
        (false, true) => progress::Form::Terminal,
        (false, false) => return None,
    };
    // The command reads an unknown part of the files if the command line limits the keys.
    let limited = args.from.is_some() || args.to.is_some() || args.read_num.is_some();
    let sizes = files.iter().map(|file| progress::path_bytes(env, file));
    let total = (!limited).then(|| sizes.fold(0, u64::saturating_add).saturating_mul(passes));
    let counters = progress::counted(env);
    Some(Progress::start(form, what, total, move || progress::read_bytes(&counters)))
}

/// Returns the SST files of the given paths, and true if one of the paths is a directory.
fn find(env: &Env, paths: &[PathBuf]) -> Result<(Vec<PathBuf>, bool), Failure> {
    let (mut files, mut any_dir) = (Vec::new(), false);
    for path in paths {
        if !env.fs.exists(path)? {
            return Err(Failure::new(format!("{}: No such file or directory", path.display())));
        }
        if env.fs.is_dir(path)? {
            any_dir = true;
            let mut names = env.fs.list(path)?;
            names.sort();
            files.extend(names.iter().map(|name| path.join(name)));
        } else {
            files.push(path.clone());
        }
    }
    files.retain(|path| path.extension().is_some_and(|e| e == "sst"));
    Ok((files, any_dir))
}

#[derive(Default)]
struct Sums {
    files: u64,
    blocks: u64,
    data: u64,
    index: u64,
    filter: u64,
}

struct Run<'a> {
    args: &'a Args,
    env: &'a Env,
    /// The number of entries that were read.
    read: u64,
    sums: Sums,
    valid: Vec<PathBuf>,
    /// True if an SST file was damaged.
    bad: bool,
}

impl Run<'_> {
    /// Processes one SST file. Returns false if the limit of entries is reached.
    fn file(&mut self, path: &Path, io: &mut Io<'_>) -> Result<bool, Failure> {
        let args = self.args;
        let shown = path.display();
        writeln!(io.out, "Process {shown}")?;
        let table = match open::open(self.env, path) {
            Ok(table) => table,
            Err(error) => {
                self.complain(io, &error.file(path).to_string())?;
                return Ok(true);
            }
        };
        writeln!(io.out, "Sst file format: {}", table.format())?;
        let properties = dump::properties_text(table.reader.properties(), "\n  ", ": ");
        let matches = |regex: &Option<Regex>| regex.as_ref().map(|regex| regex.is_match(&properties));
        let skipped = match (matches(&args.require_property), matches(&args.exclude_property)) {
            (Some(false), _) => Some("doesn't match required regex"),
            (_, Some(true)) => Some("matches excluded regex"),
            _ => None,
        };
        if let Some(reason) = skipped {
            io.out.flush()?;
            writeln!(io.err, "{shown}: skipping because properties string {reason}")?;
            return Ok(true);
        }
        self.valid.push(path.to_path_buf());
        let walks = matches!(args.command, Command::Check | Command::Scan);
        if self.valid.len() == 1 && walks {
            let hex = |key: &Option<Vec<u8>>| dump::hex(key.as_deref().unwrap_or_default());
            writeln!(io.out, "from [{}] to [{}]", hex(&args.from), hex(&args.to))?;
        }
        match args.command {
            Command::Raw => {
                let out = raw_file(path, &table, args.show_sequence)?;
                writeln!(io.out, "raw dump written to file {}", out.display())?;
                return Ok(true);
            }
            Command::Recompress => {
                args.recompress
                    .show(&table, &self.ctx(), self.env, io)?
                    .map_err(|e| Failure::of("Failed to recompress", e))?;
                return Ok(true);
            }
            Command::Verify => {
                match table.reader.verify_checksums(&self.ctx()) {
                    Ok(()) => writeln!(io.out, "The file is ok")?,
                    Err(error) => self.complain(io, &format!("{shown} is corrupted: {error}"))?,
                }
                return Ok(true);
            }
            _ => {}
        }
        if walks {
            let walk = Walk {
                print: args.command == Command::Scan,
                hex: args.hex,
                decode_blobs: args.decode_blobs,
                from: args.from.as_deref(),
                to: args.to.as_deref(),
                prefix: args.prefix,
                limit: args.read_num.map(|n| n.saturating_sub(self.read)),
            };
            let walked = walk.run(&table, self.ctx(), io)?;
            self.read += walked.count;
            if let Err(error) = walked.outcome {
                self.complain(io, &format!("{shown}: {error}"))?;
            }
            if walked.cut {
                return Ok(false);
            }
        }
        self.properties(&table, io)?;
        if args.list_meta_blocks {
            writeln!(io.out, "Meta Blocks:\n{RULE}")?;
            for (name, handle) in &table.reader.metaindex().entries {
                writeln!(io.out, "  {}: {} {}", String::from_utf8_lossy(name), handle.offset, handle.size)?;
            }
        }
        let limit_reached = walks && args.read_num.is_some_and(|n| n > 0 && self.read >= n);
        Ok(!limit_reached)
    }

    fn ctx(&self) -> ReadCtx {
        ReadCtx {
            verify_checksums: self.args.verify_checksum || self.args.command == Command::Verify,
            fill_cache: false,
            total_order_seek: true,
            readahead_size: self.args.readahead,
            ..ReadCtx::default()
        }
    }

    fn properties(&mut self, table: &Table, io: &mut Io<'_>) -> Outcome {
        let p = table.reader.properties();
        self.sums.files += 1;
        self.sums.blocks += p.num_data_blocks;
        self.sums.data += p.data_size;
        self.sums.index += p.index_size;
        self.sums.filter += p.filter_size;
        if !self.args.show_properties {
            return Ok(());
        }
        write!(io.out, "Table Properties:\n{RULE}\n  {}", dump::properties_text(p, "\n  ", ": "))?;
        writeln!(io.out, "Raw user collected properties\n{RULE}")?;
        for (name, value) in &p.user_collected {
            writeln!(io.out, "  # {}: 0x{}", String::from_utf8_lossy(name), dump::hex(value))?;
        }
        Ok(())
    }

    fn complain(&mut self, io: &mut Io<'_>, text: &str) -> Outcome {
        self.bad = true;
        // The error must come after the output before it.
        io.out.flush()?;
        Ok(writeln!(io.err, "{text}")?)
    }

    fn finish(&mut self, any_dir: bool, io: &mut Io<'_>) -> Result<i32, Failure> {
        let args = self.args;
        if args.show_summary {
            let s = &self.sums;
            writeln!(
                io.out,
                "total number of files: {}\ntotal number of data blocks: {}",
                s.files, s.blocks
            )?;
            writeln!(io.out, "total data block size: {}\ntotal index block size: {}", s.data, s.index)?;
            writeln!(io.out, "total filter block size: {}", s.filter)?;
        }
        if self.valid.is_empty() {
            io.out.flush()?;
            for path in &args.paths {
                if self.env.fs.is_dir(path)? {
                    writeln!(io.out, "{RULE}")?;
                    writeln!(io.err, "No valid SST files found in {}", path.display())?;
                } else {
                    writeln!(io.err, "{} is not a valid SST file", path.display())?;
                }
            }
            return Ok(1);
        }
        if args.command == Command::Identify {
            match &args.paths[..] {
                [only] if !any_dir => writeln!(io.out, "{} is a valid SST file", only.display())?,
                paths => {
                    let of = if let [only] = paths {
                        format!(" found in {}", only.display())
                    } else {
                        String::new()
                    };
                    writeln!(io.out, "{RULE}\nList of valid SST files{of}:")?;
                    for file in &self.valid {
                        writeln!(io.out, "{}", file.display())?;
                    }
                    writeln!(io.out, "Number of valid SST files: {}", self.valid.len())?;
                }
            }
            return Ok(0);
        }
        // RocksDB's tool returns 0 if one file could be opened. A script needs the result of all files.
        Ok(i32::from(self.bad))
    }
}

/// The settings of a walk over the entries of an SST file.
struct Walk<'a> {
    print: bool,
    hex: bool,
    decode_blobs: bool,
    from: Option<&'a [u8]>,
    to: Option<&'a [u8]>,
    prefix: bool,
    limit: Option<u64>,
}

/// The result of a walk.
struct Walked {
    /// The number of entries.
    count: u64,
    /// True if the limit ended the walk before the last entry.
    cut: bool,
    /// The error of the SST file, if there is one.
    outcome: base::Result<()>,
}

impl Walk<'_> {
    /// Walks the entries.
    fn run(&self, table: &Table, ctx: ReadCtx, io: &mut Io<'_>) -> Result<Walked, Failure> {
        let order = &table.order;
        let size = order.timestamp_size();
        let mut iter = table.reader.iter(&Arc::new(ctx));
        match self.from {
            Some(from) => {
                // The newest timestamp of a key comes first.
                let mut from = from.to_vec();
                from.resize(from.len() + size, 0xff);
                iter.seek(&seek_key(&from, MAX_SEQUENCE));
            }
            None => iter.seek_to_first(),
        }
        let mut count = 0;
        while iter.valid() && self.limit.is_none_or(|limit| limit == 0 || count < limit) {
            let key = match parse(iter.key()) {
                Ok(key) => key,
                Err(error) => {
                    writeln!(io.err, "{error}")?;
                    count += 1;
                    iter.next();
                    continue;
                }
            };
            let without_timestamp = base::key::without_timestamp(key.user_key, size);
            let outside = self.prefix
                && self.from.is_some_and(|prefix| !without_timestamp.starts_with(prefix))
                || self.to.is_some_and(|to| order.compare_stripped(without_timestamp, to).is_ge());
            if outside {
                break;
            }
            count += 1;
            if self.print {
                match dump::entry_line(iter.key(), iter.value(), order, self.hex, self.decode_blobs) {
                    Ok(line) => io.out.write_all(&[&line[..], b"\n"].concat())?,
                    Err(error) => {
                        let text = dump::internal_key_text(&key, order, self.hex);
                        writeln!(io.err, "{} => {error}", String::from_utf8_lossy(&text))?;
                    }
                }
            }
            iter.next();
        }
        let cut = iter.valid() && self.limit.is_some_and(|limit| limit > 0 && count >= limit);
        let all = self.limit.is_none_or(|limit| limit == 0) && self.from.is_none() && self.to.is_none();
        let outcome = iter.status().and_then(|()| if all { count_is_right(table, count) } else { Ok(()) });
        Ok(Walked { count, cut, outcome })
    }
}

fn count_is_right(table: &Table, count: u64) -> base::Result<()> {
    let p = table.reader.properties();
    let expected = p.num_entries.saturating_sub(p.num_range_deletions);
    if count == expected {
        return Ok(());
    }
    Err(Error::corruption(format!(
        "Table property expects {expected} entries when excluding range deletions, but scanning the table returned \
         {count} entries"
    )))
}

/// Prints the SST file `000012.sst` to the text file `000012_dump.txt` in the same directory.
fn raw_file(path: &Path, table: &Table, show_sequence: bool) -> Result<PathBuf, Failure> {
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push("_dump.txt");
    let out = path.with_file_name(name);
    let failed = |e: std::io::Error| Failure::new(format!("{}: {e}", out.display()));
    let mut file = std::io::BufWriter::new(std::fs::File::create(&out).map_err(failed)?);
    table
        .block_based()
        .and_then(|reader| dump::raw(reader, &mut file, show_sequence))
        .map_err(|e| Failure::of(&path.display().to_string(), e))?;
    file.flush().map_err(failed)?;
    Ok(out)
}

/// The form in which `ldb` prints an SST file.
pub(crate) struct FileDump {
    pub hex: bool,
    pub decode_blobs: bool,
    pub from: Option<Vec<u8>>,
    pub to: Option<Vec<u8>>,
}

/// Prints the entries and properties of an SST file in the form of `ldb dump --path`.
pub(crate) fn dump_file(env: &Env, path: &Path, how: FileDump, io: &mut Io<'_>) -> Outcome {
    if FileName::parse(&path.file_name().unwrap_or_default().to_string_lossy()).is_none() {
        return Err(Failure::new("Invalid sst file name."));
    }
    writeln!(io.out, "Process {}", path.display())?;
    let table = open::open(env, path)?;
    writeln!(io.out, "Sst file format: {}", table.format())?;
    let walk = Walk {
        print: true,
        hex: how.hex,
        decode_blobs: how.decode_blobs,
        from: how.from.as_deref(),
        to: how.to.as_deref(),
        prefix: false,
        limit: None,
    };
    let ctx = ReadCtx { fill_cache: false, total_order_seek: true, ..ReadCtx::default() };
    let walked = walk.run(&table, ctx, io)?;
    walked.outcome.map_err(|e| Failure::new(format!("Error in reading SST file {}: {e}", path.display())))?;
    writeln!(io.out, "\nTable Properties:\n{}", dump::properties_text(table.reader.properties(), "\n", "="))?;
    Ok(())
}

/// Prints all blocks of an SST file.
pub(crate) fn raw_to(env: &Env, path: &Path, io: &mut Io<'_>) -> Outcome {
    let table = open::open(env, path)?;
    Ok(dump::raw(table.block_based()?, io.out, true)?)
}
