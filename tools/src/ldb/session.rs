//! One run of a command: its arguments and its database.

use std::path::{Path, PathBuf};

use base::Result;
use engine::components::{Components, FamilyDescriptor};
use engine::db::{Db, OpenRequest, open_to_follow};
use engine::family::Family;
use engine::options::{DbOptions, ReadOptions};
use engine::remote::CompactionService;
use env::Env;
use env::logger::{FileLogger, LogFileOptions};
use ironstone::ttl::TtlDb;
use ironstone::{TransactionDb, TransactionDbOptions, TxnDbWritePolicy};

use super::args::Args;
use super::outcome::{Failure, Io};
use super::settings::Settings;
use super::show;
use super::ttl::Ttl;
use std::sync::Arc;

/// The settings for a database that another process writes.
struct Follows {
    /// The directory of the info log.
    log_dir: PathBuf,
    /// True if a follower reads no WAL.
    skip_wals: bool,
}

pub(crate) struct Session {
    pub args: Args,
    pub env: Env,
    pub key_hex: bool,
    pub value_hex: bool,
    pub json: bool,
    pub ttl: Ttl,
    /// Runs the compactions of the database that [`Session::open_with`] opens.
    pub compaction_service: Option<Arc<dyn CompactionService>>,
    family: String,
    writes: bool,
    db: Option<Db>,
}

impl Session {
    /// # Errors
    /// A flag whose value is neither true nor false; an option that has no effect without another option.
    pub fn new(args: Args, writes: bool) -> std::result::Result<Session, Failure> {
        let hex = args.flag("hex")?;
        if args.has("txn_write_policy") && !args.flag("use_txn")? {
            return Err(Failure::new("--txn_write_policy needs --use_txn"));
        }
        Ok(Session {
            key_hex: hex || args.flag("key_hex")?,
            value_hex: hex || args.flag("value_hex")?,
            json: args.flag("json")?,
            ttl: Ttl::asked(&args)?,
            family: args.text("column_family").unwrap_or_else(|| "default".to_string()),
            env: Env::posix(),
            args,
            writes,
            compaction_service: None,
            db: None,
        })
    }

    /// Returns the directory of the database: `--db`, or with `--leader_path` the directory of the leader.
    ///
    /// # Errors
    /// No directory was given.
    pub fn dir(&self) -> std::result::Result<PathBuf, Failure> {
        let dir = self
            .args
            .path("leader_path")
            .or_else(|| self.args.path("db"))
            .filter(|dir| !dir.as_os_str().is_empty());
        dir.ok_or_else(|| Failure::new("Either db or path must be specified."))
    }

    /// Returns the settings with which the command opens the database.
    ///
    /// # Errors
    /// The errors of [`Settings::find`].
    pub fn settings(&self, io: &mut Io<'_>) -> std::result::Result<Settings, Failure> {
        let dir = self.args.path("leader_path").or_else(|| self.args.path("db"));
        let settings = Settings::find(&self.args, &self.env, dir.as_deref(), &self.family)?;
        for note in &settings.notes {
            writeln!(io.err, "{note}")?;
        }
        Ok(settings)
    }

    /// Returns the settings of a database without an OPTIONS file.
    ///
    /// # Errors
    /// The errors of [`Settings::find`].
    pub fn default_settings(&self) -> std::result::Result<Settings, Failure> {
        Settings::find(&self.args, &self.env, None, &self.family)
    }

    /// Opens the database. Unless the command writes, the open is for reading only.
    ///
    /// # Errors
    /// The errors of [`Session::settings`], and of the open.
    pub fn open(&mut self, io: &mut Io<'_>) -> std::result::Result<Db, Failure> {
        let settings = self.settings(io)?;
        self.open_with(settings)
    }

    /// Opens the database with settings that the caller has read or changed.
    pub fn open_with(&mut self, mut settings: Settings) -> std::result::Result<Db, Failure> {
        if !self.writes && !self.ttl.on && self.args.flag("use_txn")? {
            return Err(Failure::new("TransactionDB does not support read-only mode"));
        }
        if !self.writes {
            // Every iterator of the tool uses total order.
            settings.db.prefix_seek_opt_in_only = false;
            settings.join_operands()?;
        }
        let mut families: Vec<_> = settings
            .families
            .into_iter()
            .map(|(name, options)| FamilyDescriptor::new(name, options))
            .collect();
        if !families.iter().any(|f| f.name == "default") {
            families.insert(0, FamilyDescriptor::new("default", settings.family));
        }
        let follows = self.follows()?;
        if self.ttl.on || self.args.flag("use_txn")? {
            return self.open_kind(settings.db, families, follows.is_some());
        }
        if let Some(follows) = &follows {
            let log = LogFileOptions { level: settings.db.info_log_level, ..LogFileOptions::default() };
            let (fs, clock) = (self.env.fs.clone(), self.env.clock.clone());
            fs.create_dir_all(&follows.log_dir)?;
            settings.db.info_log = Some(Arc::new(FileLogger::open(fs, clock, &follows.log_dir, None, log)?));
        }
        let request = OpenRequest {
            path: self.dir()?,
            options: settings.db,
            components: Components {
                compaction_service: self.compaction_service.clone(),
                ..Components::default()
            },
            families,
            others: None,
        };
        let opened = match follows {
            Some(follows) => open_to_follow(request, None, follows.skip_wals),
            None if self.writes => Db::open(request),
            None => Db::open_read_only(request),
        };
        let db = opened.map_err(|error| {
            let objects = settings.missing.iter().map(|m| {
                let of = m.family.as_deref().map_or(String::new(), |f| format!(" of column family {f}"));
                format!(
                    "\nThe OPTIONS file names {} {:?}{of}, which does not exist here.",
                    m.option, m.object
                )
            });
            Failure::new(format!("{}{}", crate::advice::with_advice(&error), objects.collect::<String>()))
        })?;
        self.db = Some(db.clone());
        Ok(db)
    }

    /// Opens a database with a time to live, or a transactional database.
    fn open_kind(
        &mut self,
        db: DbOptions,
        families: Vec<FamilyDescriptor>,
        follows: bool,
    ) -> std::result::Result<Db, Failure> {
        let dir = self.dir()?;
        let use_txn = self.args.flag("use_txn")?;
        if self.ttl.on && use_txn {
            return Err(Failure::new("Cannot use both --ttl and --use_txn flags together"));
        }
        let mut options = ironstone::Options { db, ..ironstone::Options::default() };
        if let Some(default) = families.iter().find(|family| family.name == "default") {
            options.family = default.options.clone();
        }
        let opened = if use_txn {
            if follows {
                let words = "TransactionDB does not support secondary or follower mode";
                return Err(Failure::new(words));
            }
            let transactions = TransactionDbOptions {
                write_policy: self.write_policy()?,
                ..TransactionDbOptions::default()
            };
            let families = families.into_iter();
            let families = families
                .map(|family| ironstone::FamilyDescriptor::new(family.name, family.options))
                .collect();
            TransactionDb::open_with(dir, options, transactions, Some(families))?.base().engine().clone()
        } else {
            if follows {
                let words = "Open as secondary or follower is not supported for TTL DB yet.";
                return Err(Failure::new(words));
            }
            if families.len() > 1 {
                return Err(Failure::new("ldb doesn't support TTL DB with multiple column families"));
            }
            let opened = match self.writes {
                true => TtlDb::open(dir, options, 0)?,
                false => TtlDb::open_read_only(dir, options)?,
            };
            opened.plain().engine().clone()
        };
        self.db = Some(opened.clone());
        Ok(opened)
    }

    /// Returns the value of `--txn_write_policy`.
    fn write_policy(&self) -> std::result::Result<TxnDbWritePolicy, Failure> {
        match self.args.number::<i64>("txn_write_policy")? {
            None | Some(0) => Ok(TxnDbWritePolicy::WriteCommitted),
            Some(1) => Ok(TxnDbWritePolicy::WritePrepared),
            Some(2) => Ok(TxnDbWritePolicy::WriteUnprepared),
            Some(other) => {
                Err(Failure::new(format!("Invalid txn_write_policy: {other}. Must be 0, 1, or 2.")))
            }
        }
    }

    /// Returns the settings of `--secondary_path` or `--leader_path`, with which the database of another process is
    /// read.
    fn follows(&self) -> std::result::Result<Option<Follows>, Failure> {
        match (self.args.path("secondary_path"), self.args.path("leader_path")) {
            (Some(_), Some(_)) => Err(Failure::new("Cannot provide both secondary and leader paths")),
            (Some(log_dir), None) => Ok(Some(Follows { log_dir, skip_wals: false })),
            (None, Some(_)) => {
                let log_dir = self.args.path("db").unwrap_or_default();
                Ok(Some(Follows { log_dir, skip_wals: true }))
            }
            (None, None) => Ok(None),
        }
    }

    /// Opens the database and finds the column family that the command line names.
    ///
    /// # Errors
    /// The errors of [`Session::open`]. An unknown column family.
    pub fn open_family(&mut self, io: &mut Io<'_>) -> std::result::Result<(Db, Arc<Family>), Failure> {
        let db = self.open(io)?;
        let family = self.family_of(&db)?;
        Ok((db, family))
    }

    /// # Errors
    /// The command line names an unknown column family.
    pub fn family_of(&self, db: &Db) -> std::result::Result<Arc<Family>, Failure> {
        db.family(&self.family)
            .ok_or_else(|| Failure::new(format!("Non-existing column family {}", self.family)))
    }

    /// Closes the database if it is open.
    ///
    /// # Errors
    /// The first error of the close.
    pub fn close(&mut self) -> Result<()> {
        self.db.take().map_or(Ok(()), |db| db.close())
    }

    /// Returns the `n`th parameter as a key.
    ///
    /// # Errors
    /// The key should be hexadecimal and is not.
    pub fn key(&self, n: usize) -> std::result::Result<Vec<u8>, Failure> {
        show::parse(self.args.params.get(n).map_or(&[][..], Vec::as_slice), self.key_hex)
    }

    /// Returns the `n`th parameter as a value.
    ///
    /// # Errors
    /// The value should be hexadecimal and is not.
    pub fn value(&self, n: usize) -> std::result::Result<Vec<u8>, Failure> {
        show::parse(self.args.params.get(n).map_or(&[][..], Vec::as_slice), self.value_hex)
    }

    /// Returns `--from` or `--to` as a key, or `None` if the option is not given.
    ///
    /// # Errors
    /// The errors of [`Session::key`].
    pub fn bound(&self, name: &str) -> std::result::Result<Option<Vec<u8>>, Failure> {
        self.args.option(name).map(|key| show::parse(key, self.key_hex)).transpose()
    }

    /// Returns the number of keys that `--max_keys` allows. Returns `None` if the option is not given, or is
    /// negative.
    ///
    /// # Errors
    /// The value is not a number.
    pub fn max_keys(&self) -> std::result::Result<Option<u64>, Failure> {
        Ok(self.args.number::<i32>("max_keys")?.and_then(|n| u64::try_from(n).ok()))
    }

    /// Returns read options with the timestamp of `--read_timestamp`. A column family with timestamps needs the
    /// timestamp, and another column family rejects it.
    ///
    /// # Errors
    /// The timestamp is missing, or is given where it is not needed, or is not a number.
    pub fn read_options(&self, family: &Family) -> std::result::Result<ReadOptions, Failure> {
        let size = family.order().user.timestamp_size();
        let given = self.args.text("read_timestamp");
        let refuse = |text: &str| Err(Failure::new(format!("Invalid argument: {text}")));
        let timestamp = match given.as_deref() {
            None if size == 0 => None,
            None => {
                return refuse(
                    "column family enables user-defined timestamp while --read_timestamp is not provided.",
                );
            }
            Some("") if size == 0 => None,
            Some("") => {
                return refuse(
                    "column family enables user-defined timestamp while --read_timestamp is empty.",
                );
            }
            Some(_) if size == 0 => {
                return refuse(
                    "column family does not enable user-defined timestamps while --read_timestamp is provided.",
                );
            }
            Some(text) => match text.trim().parse::<u64>() {
                Ok(number) => Some(number.to_le_bytes().to_vec()),
                Err(_) => return refuse("user provided timestamp is not a valid uint64 value."),
            },
        };
        Ok(ReadOptions { timestamp, total_order_seek: true, ..ReadOptions::default() })
    }
}

/// Returns a readable path: several slashes in a row become one slash.
pub(crate) fn normal(path: &Path) -> String {
    let mut out = String::new();
    for c in path.display().to_string().chars() {
        if c != '/' || !out.ends_with('/') {
            out.push(c);
        }
    }
    out
}
