//! The command line of `sst_dump`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use regex_automata::meta::Regex;
use regex_automata::util::syntax;

use super::numbers::{number, signed};
use super::recompress::How;
use crate::ldb::Failure;
use crate::ldb::show;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Check,
    Scan,
    Raw,
    Verify,
    Identify,
    Recompress,
    /// Print only the properties.
    None,
    Help,
    Version,
}

/// A parsed command line.
#[derive(Clone, Debug)]
pub(super) struct Args {
    pub command: Command,
    pub paths: Vec<PathBuf>,
    pub hex: bool,
    pub decode_blobs: bool,
    pub show_sequence: bool,
    pub verify_checksum: bool,
    pub show_properties: bool,
    pub show_summary: bool,
    pub list_meta_blocks: bool,
    pub from: Option<Vec<u8>>,
    pub to: Option<Vec<u8>>,
    /// True if `from` is a prefix: only keys with the prefix are printed.
    pub prefix: bool,
    /// The limit of the entries that are read. `None` sets no limit.
    pub read_num: Option<u64>,
    pub readahead: usize,
    /// The hexadecimal text of `--parse_internal_key`.
    pub parse_internal_key: Option<Vec<u8>>,
    /// Only SST files whose properties match are processed.
    pub require_property: Option<Regex>,
    /// SST files whose properties match are skipped.
    pub exclude_property: Option<Regex>,
    pub recompress: How,
    /// True if the progress is shown as JSON lines.
    pub json: bool,
}

/// Options of RocksDB's tool that this release rejects: the start of the option, and the feature that is not built.
const REFUSED: &[(&str, &str)] = &[
    ("--env_uri=", "environments by URI"),
    ("--fs_uri=", "file systems by URI"),
    ("--compression_manager=", "compression managers by name"),
];

/// Options whose meaning depends on other options.
#[derive(Default)]
struct Partial {
    from: Option<Vec<u8>>,
    prefix: Option<Vec<u8>>,
    /// True if the keys of `--from`, `--to` and `--prefix` are in hexadecimal.
    input_hex: bool,
    levels_from: Option<i32>,
    levels_to: Option<i32>,
}

impl Partial {
    /// Combines the options.
    fn finish(self, out: &mut Args) -> Result<(), Failure> {
        out.recompress.levels = match (self.levels_from, self.levels_to) {
            (None, None) => None,
            (Some(from), Some(to)) => Some((from, to)),
            _ => {
                let words = "Specify both --compression_level_from and --compression_level_to.\n";
                return Err(Failure::new(words));
            }
        };
        if self.from.is_some() && self.prefix.is_some() {
            return Err(Failure::new("Cannot specify --prefix and --from\n"));
        }
        out.prefix = self.prefix.is_some();
        let key = |text: Option<Vec<u8>>| text.map(|text| show::parse(&text, self.input_hex)).transpose();
        out.from = key(self.from.or(self.prefix))?;
        out.to = key(out.to.take())?;
        Ok(())
    }
}

impl Default for Args {
    fn default() -> Args {
        Args {
            command: Command::Check,
            paths: Vec::new(),
            hex: false,
            decode_blobs: false,
            show_sequence: false,
            verify_checksum: false,
            show_properties: false,
            show_summary: false,
            list_meta_blocks: false,
            from: None,
            to: None,
            prefix: false,
            read_num: None,
            readahead: 2 << 20,
            parse_internal_key: None,
            require_property: None,
            exclude_property: None,
            recompress: How::default(),
            json: false,
        }
    }
}

impl Args {
    /// # Errors
    /// An unknown option: the error lists all options. An option whose feature is not built. A wrong value.
    pub fn parse(args: &[Vec<u8>]) -> Result<Args, Failure> {
        let mut out = Args::default();
        let mut partial = Partial::default();
        let mut rest = false;
        for arg in args {
            if rest || !arg.starts_with(b"-") {
                out.paths.push(PathBuf::from(OsStr::from_bytes(arg)));
            } else if arg == b"--" {
                rest = true;
            } else {
                out.take(arg, &mut partial)?;
            }
        }
        partial.finish(&mut out)?;
        let alone =
            matches!(out.command, Command::Help | Command::Version) || out.parse_internal_key.is_some();
        if out.paths.is_empty() && !alone {
            return Err(Failure::new(format!("file or directory must be specified.\n\n{HELP}")));
        }
        Ok(out)
    }

    /// Takes one option.
    fn take(&mut self, arg: &[u8], partial: &mut Partial) -> Result<(), Failure> {
        let shown = String::from_utf8_lossy(arg).into_owned();
        let (name, value) = match arg.iter().position(|&b| b == b'=') {
            Some(at) => (&shown[..shown.find('=').map_or(0, |at| at + 1)], &arg[at + 1..]),
            None => (&shown[..], &[][..]),
        };
        match name {
            "--file=" => self.paths.push(PathBuf::from(OsStr::from_bytes(value))),
            "--command=" => self.command = command(value)?,
            "--output_hex" => self.hex = true,
            "--decode_blob_index" => self.decode_blobs = true,
            "--show_sequence_number_type" => self.show_sequence = true,
            "--input_key_hex" => partial.input_hex = true,
            "--verify_checksum" => self.verify_checksum = true,
            "--show_properties" => self.show_properties = true,
            "--show_summary" => self.show_summary = true,
            "--list_meta_blocks" => self.list_meta_blocks = true,
            "--from=" => partial.from = Some(value.to_vec()),
            "--to=" => self.to = Some(value.to_vec()),
            "--prefix=" => partial.prefix = Some(value.to_vec()),
            "--read_num=" => self.read_num = Some(number(name, value)?),
            "--readahead_size=" => self.readahead = number(name, value)? as usize,
            "--parse_internal_key=" => self.parse_internal_key = Some(value.to_vec()),
            "--require_property_regex=" => self.require_property = Some(regex(name, value)?),
            "--exclude_property_regex=" => self.exclude_property = Some(regex(name, value)?),
            "--compression_level=" => {
                let level = signed(name, value)?;
                (partial.levels_from, partial.levels_to) = (Some(level), Some(level));
            }
            "--compression_level_from=" => partial.levels_from = Some(signed(name, value)?),
            "--compression_level_to=" => partial.levels_to = Some(signed(name, value)?),
            "--json" => self.json = true,
            "--help" => self.command = Command::Help,
            "--version" => self.command = Command::Version,
            _ if self.recompress.take(name, value)? => {}
            _ => return Err(unknown(&shown)),
        }
        Ok(())
    }
}

fn regex(name: &str, value: &[u8]) -> Result<Regex, Failure> {
    let text = String::from_utf8_lossy(value);
    let bytes = syntax::Config::new().unicode(false).utf8(false);
    let made = Regex::builder().syntax(bytes).build(&text);
    made.map_err(|error| Failure::new(format!("{name}{text}: {error}")))
}

fn command(value: &[u8]) -> Result<Command, Failure> {
    Ok(match value {
        b"" | b"check" => Command::Check,
        b"scan" => Command::Scan,
        b"raw" => Command::Raw,
        b"verify" => Command::Verify,
        b"identify" => Command::Identify,
        b"none" => Command::None,
        b"recompress" => Command::Recompress,
        other => {
            return Err(Failure::new(format!(
                "Unrecognized command '{}'; there are check, scan, raw, verify, identify, recompress, none",
                String::from_utf8_lossy(other)
            )));
        }
    })
}

fn unknown(arg: &str) -> Failure {
    match REFUSED.iter().find(|(start, _)| arg.starts_with(start)) {
        Some((_, feature)) => {
            Failure::new(format!("Not implemented: {arg}: {feature} is not built in this release"))
        }
        None => Failure::new(format!("Unrecognized argument '{arg}'\n\n{HELP}")),
    }
}

pub(super) const HELP: &str = "sst_dump <db_dirs_OR_sst_files...> [--command=check|scan|raw|verify|recompress|identify]
    --file=<db_dir_OR_sst_file>
      Path to SST file or directory containing SST files (old option syntax)

    --command=check|scan|raw|verify|recompress|identify
        check: Iterate over entries in files but don't print anything except if an error is encountered (default command)
               When read_num, from and to are not set, it compares the number of keys read with num_entries in table
               property and will report corruption if there is a mismatch.
        scan: Iterate over entries in files and print them to screen
        raw: Dump all the table contents to <file_name>_dump.txt
        verify: Iterate all the blocks in files verifying checksum to detect possible corruption but don't print anything except if a corruption is encountered
        recompress: reports the SST file size if recompressed with different
                    compression types
        identify: Reports a file is a valid SST file or lists all valid SST files under a directory

    --output_hex
      Can be combined with scan command to print the keys and values in Hex

    --decode_blob_index
      Decode blob indexes and print them in a human-readable format during scans.

    --show_sequence_number_type
      Show sequence number and value type when executing raw command

    --from=<user_key>
      Key to start reading from when executing check|scan

    --to=<user_key>
      Key to stop reading at when executing check|scan

    --prefix=<user_key>
      Returns all keys with this prefix when executing check|scan
      Cannot be used in conjunction with --from

    --read_num=<num>
      Maximum number of entries to read when executing check|scan

    --verify_checksum
      Verify file checksum when executing check|scan

    --input_key_hex
      Can be combined with --from and --to to indicate that these values are encoded in Hex

    --show_properties
      Print table properties after iterating over the file when executing
      check|scan|raw|identify

    --show_summary
      Print sums over all files at the end

    --block_size=<block_size>
      Can be combined with --command=recompress to set the block size that will
      be used when trying different compression algorithms

    --compression_types=<comma-separated list of CompressionType members, e.g., kSnappyCompression>
      Can be combined with --command=recompress to run recompression for this
      list of compression types

    --enable_index_compression=<bool>, --verify_compression=<bool>
      With --command=recompress: compresses index blocks too; decompresses each
      compressed block and compares

    --compression_level=<compression_level>
      Sets both --compression_level_from= and --compression_level_to=

    --compression_level_from=<compression_level>, --compression_level_to=<compression_level>
      The first and the last compression level of --command=recompress

    --compression_max_dict_bytes=<uint32_t>, --compression_zstd_max_train_bytes=<uint32_t>,
    --compression_max_dict_buffer_bytes=<uint64_t>, --compression_use_zstd_finalize_dict,
    --compression_parallel_threads=<uint32_t>
      Compression options of --command=recompress

    --readahead_size=<bytes>
      Bytes read ahead

    --parse_internal_key=<0xKEY>
      Convenience option to parse an internal key on the command line. Dumps the
      internal key in hex format {'key' @ SN: type}

    --require_property_regex=<regex>
      Skips SST files whose properties, as --show_properties prints them, do not
      match the regular expression (syntax of the Rust crate regex)

    --exclude_property_regex=<regex>
      Skips SST files whose properties match the regular expression

    --json
      Show the progress on standard error as JSON lines: one JSON object each second

    --list_meta_blocks
      Print the list of all meta blocks in the file

Not in this release: --compression_manager, --env_uri, --fs_uri
";
