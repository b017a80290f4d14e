//! The worker of a compaction service: compacts SST files of a database that another process has open.
//!
//! The worker opens the database for reading, without its WALs, and writes the output files to a directory of its own. It
//! changes nothing in the database. Facts: RocksDB `db/db_impl/db_impl_secondary.cc` (`OpenAndCompact`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use base::stats::HistogramKind;
use base::{Error, Result, SequenceNumber, Subcode};
use format::names::{self, FileName};
use lsm::pick::View;
use lsm::pick::manual::plan_exactly;

use super::Db;
use super::open::open;
use crate::compaction::{CompactionTools, Job, serve};
use crate::components::{Components, FamilyDescriptor};
use crate::errors::panicked;
use crate::family::Family;
use crate::opening::{OpenRequest, Opening, Overrides};
use crate::options::file::{ReadConfig, load};
use crate::options::{DbOptions, FamilyOptions};
use crate::output::SubcompactionRange;
use crate::remote::message::Input;
use crate::sequence::Snapshots;
use crate::sync::{Arc, Flag, Ordering};

/// What a worker does not read from the OPTIONS file of the database.
#[derive(Clone, Default)]
pub struct WorkerOptions {
    /// `env`, `statistics`, `info_log` and `file_checksum_gen_factory` of these options.
    pub db: DbOptions,
    /// The comparator, the merge operator, the compaction filter and its factory, the prefix extractor, the SST
    /// partitioner factory and the table property collectors of these options.
    pub family: FamilyOptions,
    /// If true, the table factory of `family` replaces the table factory of the OPTIONS file.
    pub replaces_table_factory: bool,
    pub components: Components,
    /// Options by name that replace options of the OPTIONS file. Unknown names have no effect, as in RocksDB.
    pub changes: Vec<(String, String)>,
}

/// Compacts what `input` describes, the message of [`crate::remote::CompactionService::schedule`]. Writes the output
/// files to `output_dir`, and deletes other SST files there. Returns the message for the primary.
///
/// # Errors
/// InvalidArgument if the input does not decode, or names SST files or a column family that the database does not have.
/// InvalidArgument also if `output_dir` is a directory of the database. Incomplete if `canceled` is set. NotSupported
/// for blob files. The errors of [`Db::open_read_only`] and of the compaction.
pub fn open_and_compact(
    path: &Path,
    output_dir: &Path,
    input: &[u8],
    options: WorkerOptions,
    canceled: Option<Arc<Flag>>,
) -> Result<Vec<u8>> {
    let canceled = canceled.unwrap_or_default();
    if canceled.load(Ordering::Acquire) {
        return Err(Error::incomplete("").with_subcode(Subcode::ManualCompactionPaused));
    }
    let input = Input::decode(input)?;
    let request = request(path, options, &input)?;
    let db = timed_open(request)?;
    clear(&db, output_dir)?;
    let inner = &*db.inner;
    let now_s = inner.tools.env.clock.now_seconds();
    let hold = |seq: &SequenceNumber| Snapshots::take_at(&inner.tools.snapshots, *seq, now_s);
    let _snapshots: Vec<_> = input.snapshots.iter().map(hold).collect();
    let job = job(&db, &input, output_dir, canceled)?;
    let tools = CompactionTools {
        tools: &inner.tools,
        tables: &inner.tables,
        output_tables: &inner.tables,
        committer: &inner.committer,
        wals: &inner.wals,
    };
    let range = SubcompactionRange { lower: input.begin, upper: input.end };
    match catch_unwind(AssertUnwindSafe(|| serve(&tools, &job, &range))) {
        Ok(result) => result,
        Err(panic) => Err(panicked("a compaction", &*panic)),
    }
}

/// Opens the database for reading, without its WALs, and measures the time of the open.
fn timed_open(request: OpenRequest) -> Result<Db> {
    let (statistics, clock) = (request.options.statistics.clone(), request.options.env.clock.clone());
    let start_nanos = clock.now_nanos();
    let overrides = Overrides { skip_wals: true, ..Overrides::default() };
    let opened = open(Opening::new(request, true, overrides)?);
    if let Some(statistics) = statistics {
        let micros = clock.nanos_since(start_nanos) / 1000;
        statistics.measure_time(HistogramKind::OpenAndCompactDbOpenMicros, micros);
    }
    opened
}

/// Makes the request for the open: the column family of the input and the default column family, with the options of the
/// OPTIONS file that the input names.
fn request(path: &Path, options: WorkerOptions, input: &Input) -> Result<OpenRequest> {
    let WorkerOptions { db: given, family: objects, replaces_table_factory, components, changes } = options;
    let config = ReadConfig { ignore_unknown_options: true, accept_changed: true, ..ReadConfig::default() };
    let name = names::options(input.options_file);
    let file = load(&given.env, &path.join(name), &config)?;
    let mut db = file.db;
    for (name, value) in changes.iter().filter(|(name, _)| DbOptions::is_known(name)) {
        db.set(name, value)?;
    }
    db.env = given.env;
    db.statistics = given.statistics;
    db.info_log = given.info_log;
    db.file_checksum_gen_factory = given.file_checksum_gen_factory;
    db.max_open_files = -1;
    db.open_files_async = false;
    db.create_if_missing = false;
    db.error_if_exists = false;
    let mut families = Vec::new();
    for (name, mut family) in file.families {
        if name == input.family {
            for (name, value) in changes.iter().filter(|(name, _)| FamilyOptions::is_known(name)) {
                family.set(name, value)?;
            }
            family.comparator = objects.comparator.clone();
            family.merge_operator.clone_from(&objects.merge_operator);
            family.compaction_filter.clone_from(&objects.compaction_filter);
            family.compaction_filter_factory.clone_from(&objects.compaction_filter_factory);
            family.prefix_extractor.clone_from(&objects.prefix_extractor);
            family.sst_partitioner_factory.clone_from(&objects.sst_partitioner_factory);
            family.table_properties_collectors.clone_from(&objects.table_properties_collectors);
            if replaces_table_factory {
                family.table_factory = objects.table_factory.clone();
            }
        } else if name != "default" {
            continue;
        }
        families.push(FamilyDescriptor::new(name, family));
    }
    Ok(OpenRequest { path: path.to_path_buf(), options: db, components, families, others: None })
}

/// Creates the output directory, and deletes SST files of an earlier attempt.
///
/// # Errors
/// InvalidArgument if the output directory is a directory of the database: its SST files are live.
fn clear(db: &Db, dir: &Path) -> Result<()> {
    let fs = &db.inner.tools.env.fs;
    fs.create_dir_all(dir)?;
    for own in db.inner.tools.paths.all() {
        if fs.exists(own)? && fs.same_file(own, dir)? {
            return Err(Error::invalid_argument(
                "the output directory of a compaction is a directory of the database",
            )
            .file(dir));
        }
    }
    for name in fs.list(dir)? {
        if matches!(FileName::parse(&name), Some(FileName::Table(_) | FileName::Blob(_))) {
            fs.unlink(&dir.join(&name))?;
        }
    }
    Ok(())
}

fn job(db: &Db, input: &Input, output_dir: &Path, canceled: Arc<Flag>) -> Result<Job> {
    let family: Arc<Family> = db
        .family(&input.family)
        .ok_or_else(|| Error::invalid_argument(format!("Cannot find column family{}", input.family)))?;
    let pin = family.pin_owned();
    let tools = &db.inner.tools;
    let ts_low = family.state().full_history_ts_low.clone();
    let visible = tools.sequence.visible();
    let view = View {
        version: &pin.version,
        running: &[],
        oldest_snapshot: input.snapshots.first().copied().unwrap_or(visible),
        full_history_ts_low: ts_low.as_deref(),
        young_after: None,
    };
    let now_s = tools.env.clock.now_seconds();
    let mut task =
        plan_exactly(&input.family, &view, &pin.parts.pick, &input.files, input.output_level, now_s)?;
    // The primary delegates no compaction with two output levels.
    task.proximal = None;
    Ok(Job {
        id: tools.take_job_id(),
        family: family.clone(),
        task,
        version: pin.version.clone(),
        parts: pin.parts.clone(),
        canceled: Some(canceled),
        output_dir: Some(output_dir.to_path_buf()),
        by_compact_files: false,
    })
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use base::{Kind, Level};
    use env::Env;
    use format::names::FileName;

    use super::*;

    #[test]
    fn output_in_the_directory_of_the_database_is_refused_and_deletes_nothing() {
        let env = Env::memory(1);
        let (path, options) = (
            Path::new("/db"),
            DbOptions { create_if_missing: true, env: env.clone(), ..DbOptions::default() },
        );
        let families = vec![FamilyDescriptor::new("default", FamilyOptions::default())];
        let components = Components::default();
        let request = OpenRequest { path: path.to_path_buf(), options, components, families, others: None };
        let db = Db::open(request).unwrap();
        let family = db.family("default").unwrap();
        let mut batch = crate::batch::WriteBatch::new();
        batch.put(b"k", b"v");
        db.write(&mut batch, &crate::options::WriteOptions::default()).unwrap();
        db.flush(&[family], &crate::options::FlushOptions::default()).unwrap();
        let before = env.fs.list(path).unwrap();
        let number_of = |name: &String| match FileName::parse(name) {
            Some(FileName::Options(number)) => Some(number),
            _ => None,
        };
        let input = Input {
            family: "default".to_string(),
            output_level: Level::new(1),
            options_file: before.iter().filter_map(number_of).max().unwrap(),
            ..Input::default()
        };
        let statistics = Arc::new(base::stats::Statistics::new());
        let worker = WorkerOptions {
            db: DbOptions { env: env.clone(), statistics: Some(statistics.clone()), ..DbOptions::default() },
            ..WorkerOptions::default()
        };
        let error = open_and_compact(path, path, &input.encode(), worker, None).unwrap_err();
        assert_eq!(error.kind(), Kind::InvalidArgument);
        assert!(error.to_string().contains("is a directory of the database"), "{error}");
        assert_eq!(statistics.histogram_data(HistogramKind::OpenAndCompactDbOpenMicros).count, 1);
        assert!(env.fs.list(path).unwrap().iter().any(|name| name.ends_with(".sst")));
    }
}
