//! Families created and dropped, compaction, checks, sizes, properties.

use engine::components::FamilyDescriptor;
use engine::options::{BottommostLevelCompaction, CompactRangeOptions, SizeApproximationOptions};

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
    db.create_family(FamilyDescriptor::new(name, options))
        .map_err(|e| Failure::of("Fail to create new column family", crate::advice::told(&e)))?;
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
    db.drop_family(&family)
        .map_err(|e| Failure::of("Fail to drop column family", crate::advice::told(&e)))?;
    Ok(io.out.write_all(b"OK\n")?)
}

pub(crate) fn compact(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let (from, to) = (s.bound("from")?, s.bound("to")?);
    let (db, family) = s.open_family(io)?;
    let options = CompactRangeOptions {
        bottommost_level_compaction: BottommostLevelCompaction::ForceOptimized,
        ..CompactRangeOptions::default()
    };
    db.compact_range(&family, from.as_deref(), to.as_deref(), &options)
        .map_err(|e| Failure::of("Compaction failed", crate::advice::told(&e)))
}

/// Opens the database, and every file that it needs: present, whole, and of the size recorded.
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
        .map_err(|e| Failure::of("ApproximateSize failed", crate::advice::told(&e)))?;
    if s.json {
        return Ok(writeln!(io.out, "{}", Object::default().raw("bytes", size).finish())?);
    }
    Ok(writeln!(io.out, "{size}")?)
}

pub(crate) fn get_property(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let [name] = &s.args.params[..] else { return Err(Failure::new("property name must be specified")) };
    let name = String::from_utf8_lossy(name).into_owned();
    let (db, family) = s.open_family(io)?;
    match db.property(&family, &name) {
        Some(value) => Ok(writeln!(io.out, "{name}: {value}")?),
        None => Err(Failure::new(format!("failed to get property: {name}"))),
    }
}
