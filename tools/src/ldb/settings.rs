//! The options of the open: first the OPTIONS file of the database, then the command line.
//!
//! The OPTIONS file names comparators, merge operators and prefix extractors. The tool makes the built-in ones from
//! their names. If a name is unknown, the option stays empty. If the database needs the option, an error names it.

use std::path::Path;

use compress::Compression;
use engine::options::file::{self, Missing, ReadConfig};
use engine::options::{DbOptions, FamilyOptions, Options};
use env::Env;

use super::args::Args;
use super::outcome::{Failure, Outcome};

/// The options of the database and of its column families.
pub(crate) struct Settings {
    pub db: DbOptions,
    /// The options of new column families, and of column families that the OPTIONS file does not contain.
    pub family: FamilyOptions,
    /// The options of each column family by name. The names come from the OPTIONS file, or from the MANIFEST without
    /// such a file.
    pub families: Vec<(String, FamilyOptions)>,
    /// The objects that the OPTIONS file names and that the tool cannot make.
    pub missing: Vec<Missing>,
    /// The notes that are printed on standard error.
    pub notes: Vec<String>,
}

impl Settings {
    /// Returns the options for the database in `dir`. The command line sets the options of the column family
    /// `family`.
    ///
    /// # Errors
    /// An OPTIONS file that is not readable, a value out of range, a column family that the OPTIONS file does not
    /// contain.
    pub fn find(args: &Args, env: &Env, dir: Option<&Path>, family: &str) -> Result<Settings, Failure> {
        let mut settings = Settings {
            db: DbOptions { env: env.clone(), ..DbOptions::default() },
            family: FamilyOptions::default(),
            families: Vec::new(),
            missing: Vec::new(),
            notes: Vec::new(),
        };
        let creates = args.flag("create_if_missing")?;
        if let Some(dir) = dir
            && args.boolean("try_load_options")?.unwrap_or(!creates || args.has_flag("try_load_options"))
        {
            settings.load(args, env, dir)?;
        }
        settings.apply(args, family, creates)?;
        if settings.families.is_empty()
            && let Some(dir) = dir
            && let Ok(names) = engine::db::list_families(env, dir)
        {
            settings.families = names.into_iter().map(|n| (n, settings.family.clone())).collect();
        }
        Ok(settings)
    }

    /// Gives each column family without a merge operator an operator that joins the operands by a colon. A read can
    /// then print the keys whose operator belongs to the application. RocksDB's `ldb` does this for every command. If
    /// a command that writes did this, a compaction would join the operands in an SST file permanently, so only
    /// commands that read join operands.
    ///
    /// # Errors
    /// Errors of the option text. The text is constant, so there is no error today.
    pub fn join_operands(&mut self) -> base::Result<()> {
        let families = self.families.iter_mut().map(|(_, family)| family).chain([&mut self.family]);
        for family in families.filter(|family| family.merge_operator.is_none()) {
            family.update("merge_operator={id=StringAppendOperator;delimiter=:}")?;
        }
        Ok(())
    }

    fn load(&mut self, args: &Args, env: &Env, dir: &Path) -> Outcome {
        let config = ReadConfig {
            ignore_unknown_options: args.flag("ignore_unknown_options")?,
            ignore_unsupported_options: true,
            accept_changed: false,
        };
        match file::load_latest(env, dir, &config) {
            Ok((_, loaded)) => {
                self.db = loaded.db;
                self.families = loaded.families;
                self.missing = loaded.missing;
                if let Some((_, family)) = self.families.iter().find(|(name, _)| name == "default") {
                    self.family = family.clone();
                }
            }
            Err(error) if error.is_not_found() => {}
            Err(error) if error.kind() == base::Kind::IoError => return Err(error.into()),
            Err(error) => {
                return Err(Failure::new(format!(
                    "{error}\nThis tool is compatible with RocksDB version 11.8.1. If your db is in a different \
                     version, please try again with option --ignore_unknown_options; with \
                     --try_load_options=false the file is left alone."
                )));
            }
        }
        if !self.db.wal_dir.is_empty() && !env.fs.exists(Path::new(&self.db.wal_dir))? {
            self.notes.push("wal_dir loaded from the option file doesn't exist. Ignore it.".to_string());
            self.db.wal_dir = String::new();
        }
        Ok(())
    }

    /// Applies the options of the command line. The options of a column family apply to the column family `name`.
    fn apply(&mut self, args: &Args, name: &str, creates: bool) -> Outcome {
        self.db.create_if_missing = creates;
        number::<i32>(
            args,
            "db_write_buffer_size",
            |n| n >= 0,
            "must be >= 0.",
            |n| self.db.set("db_write_buffer_size", &n.to_string()),
        )?;
        let bulk = args.flag("bulk_load")?;
        if bulk {
            let mut both = Options { db: self.db.clone(), family: self.family.clone() };
            let num_levels = both.family.num_levels;
            both.prepare_for_bulk_load();
            if !creates {
                // The tree of an existing database may have more than two levels.
                both.family.num_levels = num_levels;
            }
            (self.db, self.family) = (both.db, both.family);
        }
        apply_to_family(args, &mut self.family)?;
        if self.families.is_empty() {
            return Ok(());
        }
        let Some((_, family)) = self.families.iter_mut().find(|(n, _)| n == name) else {
            return Err(Failure::new(format!("Non-existing column family {name}")));
        };
        if bulk {
            let num_levels = family.num_levels;
            let mut both = Options { db: DbOptions::default(), family: family.clone() };
            both.prepare_for_bulk_load();
            *family = FamilyOptions { num_levels, ..both.family };
        }
        apply_to_family(args, family)
    }
}

/// Options of a column family that are numbers: the flag and name of the option, the least value, the error text.
const NUMBERS: &[(&str, i32, &str)] = &[
    ("min_blob_size", 0, "must be >= 0."),
    ("blob_file_size", 1, "must be > 0."),
    ("blob_compaction_readahead_size", 1, "must be > 0."),
    ("blob_file_starting_level", 0, "must be >= 0."),
    ("write_buffer_size", 1, "must be > 0."),
];

fn apply_to_family(args: &Args, o: &mut FamilyOptions) -> Outcome {
    apply_numbers(args, o)?;
    for (flag, option) in
        [("compression_type", "compression"), ("blob_compression_type", "blob_compression_type")]
    {
        if let Some(kind) = compression(args, flag)? {
            o.set(option, kind.option_name())?;
        }
    }
    if let Some(on) = args.boolean("auto_compaction")? {
        o.disable_auto_compactions = !on;
    }
    if args.flag("disable_consistency_checks")? {
        o.force_consistency_checks = false;
    }
    o.enable_blob_files |= args.flag("enable_blob_files")?;
    o.enable_blob_garbage_collection |= args.flag("enable_blob_garbage_collection")?;
    Ok(())
}

/// Sets the options of a column family that are numbers.
fn apply_numbers(args: &Args, o: &mut FamilyOptions) -> Outcome {
    for &(name, least, words) in NUMBERS {
        number::<i32>(args, name, |n| n >= least, words, |n| o.set(name, &n.to_string()))?;
    }
    number::<i32>(
        args,
        "file_size",
        |n| n > 0,
        "must be > 0.",
        |n| o.set("target_file_size_base", &n.to_string()),
    )?;
    number::<i32>(
        args,
        "fix_prefix_len",
        |n| n > 0,
        "must be > 0.",
        |n| o.set("prefix_extractor", &format!("rocksdb.FixedPrefix.{n}")),
    )?;
    number::<i32>(
        args,
        "bloom_bits",
        |n| n > 0,
        "must be > 0.",
        |n| o.table_factory.set("filter_policy", &format!("bloomfilter:{n}:false")),
    )?;
    number::<i32>(
        args,
        "block_size",
        |n| n > 0,
        "must be > 0.",
        |n| o.table_factory.set("block_size", &n.to_string()),
    )?;
    number::<f64>(
        args,
        "uniform_cv_threshold",
        |_| true,
        "",
        |n| o.table_factory.set("uniform_cv_threshold", &n.to_string()),
    )?;
    for name in ["blob_garbage_collection_age_cutoff", "blob_garbage_collection_force_threshold"] {
        number::<f64>(
            args,
            name,
            |n| (0.0..=1.0).contains(&n),
            "must be >= 0 and <= 1.",
            |n| o.set(name, &n.to_string()),
        )?;
    }
    number::<i32>(
        args,
        "prepopulate_blob_cache",
        |n| (0..=1).contains(&n),
        "must be 0 (disable) or 1 (flush only).",
        |n| o.set("prepopulate_blob_cache", if n == 0 { "kDisable" } else { "kFlushOnly" }),
    )?;
    number::<u32>(
        args,
        "compression_max_dict_bytes",
        |_| true,
        "",
        |n| {
            o.compression_opts.max_dict_bytes = n;
            Ok(())
        },
    )
}

fn number<N: Copy + std::str::FromStr>(
    args: &Args,
    name: &str,
    fits: impl FnOnce(N) -> bool,
    words: &str,
    set: impl FnOnce(N) -> base::Result<()>,
) -> Outcome {
    match args.number::<N>(name)? {
        None => Ok(()),
        Some(n) if fits(n) => Ok(set(n)?),
        Some(_) => Err(Failure::new(format!("{name} {words}"))),
    }
}

fn compression(args: &Args, flag: &str) -> Result<Option<Compression>, Failure> {
    let Some(name) = args.text(flag) else { return Ok(None) };
    let kind = match name.as_str() {
        "no" => Some(Compression::None),
        "snappy" => Some(Compression::Snappy),
        "zlib" => Some(Compression::Zlib),
        "bzip2" => Some(Compression::Bzip2),
        "lz4" => Some(Compression::Lz4),
        "lz4hc" => Some(Compression::Lz4hc),
        "xpress" => Some(Compression::Xpress),
        "zstd" => Some(Compression::Zstd),
        _ => None,
    };
    match kind {
        Some(kind) if kind.is_supported() => Ok(Some(kind)),
        Some(_) => Err(Failure::new(format!("{name} compression is not supported in this build."))),
        None => Err(Failure::new(format!("Unknown compression algorithm: {name}"))),
    }
}
