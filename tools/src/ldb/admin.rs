//! Creation and drop of column families, compaction, checks, sizes, properties.

use std::sync::Arc;

use base::FileNumber;
use engine::components::FamilyDescriptor;
use engine::db::{Db, remove_table};
use engine::family::Family;
use engine::options::{
    BottommostLevelCompaction, CompactRangeOptions, FamilyOptions, SizeApproximationOptions,
};

use super::json::Object;
use super::session::Session;
use super::{Failure, Io, Outcome, files};

pub(crate) fn create_family(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let [name] = &s.args.params[..] else {
        return Err(Failure::new("new column family name must be specified"));
    };
    let name = String::from_utf8_lossy(name).into_owned();
    let settings = s.settings(io)?;
    let options = settings.family.clone();
    let db = s.open_with(settings)?;
    db.admin()
        .create_family(FamilyDescriptor::new(name, options))
        .map_err(|e| Failure::of("Fail to create new column family", crate::advice::with_advice(&e)))?;
    Ok(io.out.write_all(b"OK\n")?)
}

pub(crate) fn drop_family(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let [name] = &s.args.params[..] else {
        return Err(Failure::new("The name of column family to drop must be specified"));
    };
    let name = String::from_utf8_lossy(name).into_owned();
    let db = s.open(io)?;
    let Some(family) = db.family(&name) else {
        return Err(Failure::new(format!("Column family: {name} doesn't exist in db.")));
    };
    db.admin()
        .drop_family(&family)
        .map_err(|e| Failure::of("Fail to drop column family", crate::advice::with_advice(&e)))?;
    Ok(io.out.write_all(b"OK\n")?)
}

pub(crate) fn compact(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let (from, to) = (s.bound("from")?, s.bound("to")?);
    let (db, family) = s.open_family(io)?;
    let options = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::ForceOptimized,
        ..CompactRangeOptions::default()
    };
    db.compactions()
        .compact_range(&family, from.as_deref(), to.as_deref(), &options)
        .map_err(|e| Failure::of("Compaction failed", crate::advice::with_advice(&e)))
}

/// Compacts a column family with leveled compaction into one SST file of level 0, so that universal compaction can open the
/// database. RocksDB: `ChangeCompactionStyleCommand`.
pub(crate) fn change_style(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    const LEVEL: i32 = 0;
    const UNIVERSAL: i32 = 1;
    let style = |which: &str| -> Result<i32, Failure> {
        let style = s.args.number::<i32>(&format!("{which}_compaction_style"))?;
        style.filter(|style| [LEVEL, UNIVERSAL].contains(style)).ok_or_else(|| {
            Failure::new(format!(
                "Use --{which}_compaction_style to specify {which} compaction style. Check ldb help for proper compaction \
                 style value.\n"
            ))
        })
    };
    match (style("old")?, style("new")?) {
        (old, new) if old == new => {
            let words = "Old compaction style is the same as new compaction style. Nothing to do.\n";
            return Err(Failure::new(words));
        }
        (UNIVERSAL, _) => {
            let words = "Convert from universal compaction to level compaction. Nothing to do.\n";
            return Err(Failure::new(words));
        }
        _ => {}
    }
    let mut settings = s.settings(io)?;
    let before = (settings.families.clone(), settings.family.clone());
    let families = settings.families.iter_mut().map(|(_, options)| options);
    for options in families.chain([&mut settings.family]) {
        options.disable_auto_compactions = true;
        options.target_file_size_base = i32::MAX as u64;
        options.target_file_size_multiplier = 1;
        options.max_bytes_for_level_base = i32::MAX as u64;
        options.max_bytes_for_level_multiplier = 1.0;
    }
    let db = s.open_with(settings)?;
    let family = s.family_of(&db)?;
    let converted = to_one_file(&db, &family, io);
    converted.and(give_back(&db, &before.0, &before.1))
}

/// Gives the column families the options that they had before a change of the compaction style. RocksDB leaves the options of
/// the change in the OPTIONS file.
fn give_back(db: &Db, families: &[(String, FamilyOptions)], other: &FamilyOptions) -> Outcome {
    const CHANGED: [&str; 5] = [
        "disable_auto_compactions",
        "target_file_size_base",
        "target_file_size_multiplier",
        "max_bytes_for_level_base",
        "max_bytes_for_level_multiplier",
    ];
    // An automatic compaction could move the file away from level 0.
    db.background().pause()?;
    for family in db.families() {
        let options = families.iter().find(|(name, _)| name == family.name()).map_or(other, |(_, own)| own);
        let values = CHANGED.map(|name| (name, options.get(name).unwrap_or_default()));
        db.admin().set_options(&family, &values.each_ref().map(|(name, value)| (*name, &value[..])))?;
    }
    Ok(())
}

fn to_one_file(db: &Db, family: &Arc<Family>, io: &mut Io<'_>) -> Outcome {
    let files = || -> Vec<usize> {
        let version = family.pin_owned().version.clone();
        version.levels().map(|level| version.level(level).len()).collect()
    };
    let shown = |files: &[usize]| files.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    writeln!(io.out, "files per level before compaction: {}", shown(&files()))?;
    let options =
        CompactRangeOptions { change_level: true, target_level: 0, ..CompactRangeOptions::default() };
    db.compactions()
        .compact_range(family, None, None, &options)
        .map_err(|e| Failure::of("Compaction failed", crate::advice::with_advice(&e)))?;
    let after = files();
    for (level, (found, wanted)) in after.iter().zip([1].into_iter().chain(std::iter::repeat(0))).enumerate()
    {
        if *found != wanted {
            return Err(Failure::new(format!(
                "Number of db files at level {level} after compaction is {found}, not {wanted}.\n"
            )));
        }
    }
    Ok(writeln!(io.out, "files per level after compaction: {}", shown(&after))?)
}

/// Compacts the default column family into one level that a smaller number of levels has, and opens the database with the
/// smaller number. RocksDB rewrites the MANIFEST instead.
pub(crate) fn reduce_levels(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let new = s.args.number::<i32>("new_levels")?.filter(|new| *new > 0);
    let new = new.ok_or_else(|| Failure::new(" Use --new_levels to specify a new level number\n"))?;
    if new <= 1 {
        return Err(Failure::new("Invalid number of levels.\n"));
    }
    // The open below writes its options to the OPTIONS file. The last open writes the original options again.
    let mut after = s.settings(io)?;
    let mut settings = s.settings(io)?;
    let families = settings.families.iter_mut().map(|(_, options)| options);
    for options in families.chain([&mut settings.family]) {
        options.disable_auto_compactions = true;
    }
    let db = s.open_with(settings)?;
    let family = s.family_of(&db)?;
    let name = family.name().to_string();
    let version = family.pin_owned().version.clone();
    let old = version.last_filled_level().map_or(0, |level| i32::from(level.get()) + 1);
    if s.args.has_flag("print_old_levels") {
        writeln!(io.out, "The old number of levels in use is {old}")?;
    }
    if old <= new {
        drop((version, family, db));
        s.close()?;
        return s.open_with(after).map(|_| ());
    }
    writeln!(io.out, "Compacting the db...")?;
    let options =
        CompactRangeOptions { change_level: true, target_level: new - 1, ..CompactRangeOptions::default() };
    db.compactions()
        .compact_range(&family, None, None, &options)
        .map_err(|e| Failure::of("Compaction failed", crate::advice::with_advice(&e)))?;
    drop((version, family, db));
    s.close()?;
    if name == "default" {
        after.family.num_levels = new;
    }
    for (_, options) in after.families.iter_mut().filter(|(other, _)| *other == name) {
        options.num_levels = new;
    }
    s.open_with(after).map(|_| ())
}

/// Opens the database, and opens every file that the database needs. Each file must exist and have the recorded size.
pub(crate) fn check_consistency(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let mut settings = s.settings(io)?;
    settings.db.paranoid_checks = true;
    let env = s.env.clone();
    let paths = settings.db.db_paths.clone();
    let db = s.open_with(settings)?;
    for family in db.families() {
        let version = family.pin_owned().version.clone();
        for (_, file) in version.files() {
            let path = files::table_path(&db, &paths, file);
            let size = env.fs.file_size(&path)?;
            if size != file.size {
                return Err(Failure::new(format!(
                    "Corruption: Sst file size mismatch: {}. Size recorded in manifest {}, actual size {size}",
                    path.display(),
                    file.size
                )));
            }
        }
    }
    Ok(io.out.write_all(b"OK\n")?)
}

pub(crate) fn approx_size(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let missing = |name: &str| Failure::new(format!("{name} must be specified for approxsize command"));
    let from = s.bound("from")?.ok_or_else(|| missing("from"))?;
    let to = s.bound("to")?.ok_or_else(|| missing("to"))?;
    let (db, family) = s.open_family(io)?;
    let size = db
        .reads()
        .approximate_size(&family, &from, &to, &SizeApproximationOptions::default())
        .map_err(|e| Failure::of("ApproximateSize failed", crate::advice::with_advice(&e)))?;
    if s.json {
        return Ok(writeln!(io.out, "{}", Object::default().raw("bytes", size).finish())?);
    }
    Ok(writeln!(io.out, "{size}")?)
}

pub(crate) fn get_property(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let [name] = &s.args.params[..] else { return Err(Failure::new("property name must be specified")) };
    let name = String::from_utf8_lossy(name).into_owned();
    let (db, family) = s.open_family(io)?;
    // A property can be a map and a text. RocksDB prints the map.
    if let Some(map) = db.properties().map(&family, &name) {
        if map.is_empty() {
            writeln!(io.out, "{name}: <empty map>")?;
        }
        return Ok(map.iter().try_for_each(|(key, value)| writeln!(io.out, "{name}.{key}: {value}"))?);
    }
    match db.properties().text(&family, &name) {
        Some(value) => Ok(writeln!(io.out, "{name}: {value}")?),
        None => Err(Failure::new(format!("failed to get property: {name}"))),
    }
}

/// Removes an SST file from the MANIFEST. The entries of the file are lost. RocksDB: `UnsafeRemoveSstFileCommand`.
pub(crate) fn remove_sst_file(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let [number] = &s.args.params[..] else {
        return Err(Failure::new("SST file number must be specified"));
    };
    let number = String::from_utf8_lossy(number).into_owned();
    let Ok(parsed) = number.parse::<u64>() else {
        return Err(Failure::new(format!("Failed to parse SST file number {number}")));
    };
    let settings = s.settings(io)?;
    let removed = remove_table(&s.dir()?, &settings.db, FileNumber::new(parsed))
        .map_err(|e| Failure::of("failed to unsafely remove SST file", crate::advice::with_advice(&e)))?;
    writeln!(
        io.err,
        "SST file {parsed} of column family [{}], level {}, {} bytes, is not in the MANIFEST any more",
        removed.family,
        removed.level.get(),
        removed.size
    )?;
    Ok(writeln!(io.err, "unsafely removed SST file")?)
}
