//! `fsck` checks a database, and `repair` repairs it.

use std::io::Write;

use engine::components::FamilyDescriptor;
use engine::db::{self, OpenRequest};
use engine::repair::{Problem, Report, Weight};
use inspect::words::of;
use table::dump::hex;

use super::json::Object;
use super::session::Session;
use super::{Failure, Io, Outcome, show};

/// Reads all files and changes nothing. Fails if it finds any problem that is more than a note.
pub(crate) fn fsck(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let report = db::fsck(&request(s, io)?).map_err(|e| Failure::new(e.to_string()))?;
    tell(s, io.out, &report)?;
    match (report.is_sound(), count(&report, Weight::Loss)) {
        (true, _) => Ok(()),
        (false, 0) => {
            Err(Failure::new("the database is damaged; ldb repair corrects the damage without loss"))
        }
        (false, _) => Err(Failure::new(
            "the database is damaged, and entries are or may be lost; ldb repair keeps all that is readable",
        )),
    }
}

/// Repairs as RocksDB's `repair`, and prints `OK`. If there were problems, or with `--verbose`, prints the report to
/// standard error, because scripts compare the output with `OK`. With `--json`, prints the report to the output.
pub(crate) fn repair(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let verbose = s.args.flag("verbose")?;
    let report = db::repair(request(s, io)?).map_err(|e| Failure::new(e.to_string()))?;
    if s.json {
        tell(s, io.out, &report)?;
    } else if verbose || !report.problems.is_empty() {
        tell(s, io.err, &report)?;
    }
    Ok(io.out.write_all(b"OK\n")?)
}

fn request(s: &mut Session, io: &mut Io<'_>) -> Result<OpenRequest, Failure> {
    let settings = match s.settings(io) {
        Ok(settings) => settings,
        Err(Failure(text)) => {
            // The repair also replaces a damaged OPTIONS file.
            writeln!(io.err, "{text}\nContinuing with default options.")?;
            s.default_settings()?
        }
    };
    let mut families: Vec<_> =
        settings.families.into_iter().map(|(name, options)| FamilyDescriptor::new(name, options)).collect();
    if !families.iter().any(|f| f.name == "default") {
        families.insert(0, FamilyDescriptor::new("default", settings.family));
    }
    Ok(OpenRequest {
        path: s.dir()?,
        options: settings.db,
        components: Default::default(),
        families,
        others: None,
    })
}

fn tell(s: &Session, out: &mut dyn Write, report: &Report) -> Outcome {
    for problem in &report.problems {
        let line = if s.json { object(problem).finish() } else { sentence(problem, s.key_hex) };
        writeln!(out, "{line}")?;
    }
    if s.json {
        let mut last = Object::default();
        last.raw("files", report.num_files).raw("bytes", report.num_bytes).raw("rows", report.num_rows);
        for weight in [Weight::Note, Weight::Mendable, Weight::Loss] {
            last.raw(weight.name(), count(report, weight));
        }
        let actions: Vec<_> = report.actions.iter().map(|a| super::json::quoted(a)).collect();
        last.raw("actions", format_args!("[{}]", actions.join(", ")));
        return Ok(writeln!(out, "{}", last.finish())?);
    }
    report.actions.iter().try_for_each(|action| writeln!(out, "{action}"))?;
    Ok(writeln!(
        out,
        "{}, {}, {}: {} with loss, {} without loss, {}",
        of(report.num_files, "file"),
        of(report.num_bytes, "byte"),
        of(report.num_rows, "row"),
        of(count(report, Weight::Loss) as u64, "fault"),
        count(report, Weight::Mendable),
        of(count(report, Weight::Note) as u64, "note")
    )?)
}

fn count(report: &Report, weight: Weight) -> usize {
    report.problems.iter().filter(|p| p.weight == weight).count()
}

fn sentence(p: &Problem, as_hex: bool) -> String {
    let mut out = format!("{}: {}", p.weight.name(), p.file.display());
    if let Some(offset) = p.offset {
        out.push_str(&format!(" at {offset}"));
    }
    if p.bytes > 0 {
        out.push_str(&format!(", {} bytes", p.bytes));
    }
    if let Some(family) = &p.family {
        out.push_str(&format!(", column family {family}"));
    }
    out.push_str(&format!(": {}", p.what));
    if let Some((after, until)) = &p.range {
        let shown = |key: &Option<Vec<u8>>, none: &str| match key {
            Some(key) => {
                String::from_utf8_lossy(&show::bytes(key, as_hex || std::str::from_utf8(key).is_err()))
                    .into_owned()
            }
            None => none.to_string(),
        };
        out.push_str(&format!("; keys from {} to {}", shown(after, "the first"), shown(until, "the last")));
    }
    out
}

fn object(p: &Problem) -> Object {
    let mut out = Object::default();
    out.text("weight", p.weight.name()).text("file", &p.file.display().to_string()).maybe("offset", p.offset);
    if p.bytes > 0 {
        out.raw("bytes", p.bytes);
    }
    if let Some(family) = &p.family {
        out.text("family", family);
    }
    out.text("what", &p.what);
    if let Some((after, until)) = &p.range {
        for (name, key) in [("after", after), ("until", until)] {
            if let Some(key) = key {
                out.text(&format!("{name}_hex"), &hex(key));
            }
        }
    }
    out
}
