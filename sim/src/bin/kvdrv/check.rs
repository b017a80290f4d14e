//! The command `check`: prints every row, by each way of reading.

use std::io::{BufWriter, Write};

use ironstone::{CompactRangeOptions, Family, ReadOptions};

use crate::{Session, Settings, Stage, at, hex, unhex};

const FAILED: u8 = 3;

/// Tags of forward rows, backward rows and gets.
type Tags = [char; 3];

/// Prints every row that each way of reading returns. Returns the exit code: 0, or `FAILED` if the open, a read
/// or the close fails.
pub fn run(settings: &Settings) -> u8 {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let done = all(settings, &mut out);
    let code = match done {
        Ok(failed) => {
            let _ = writeln!(out, "DONE");
            if failed { FAILED } else { 0 }
        }
        Err(Stage(stage, text)) => {
            let _ = writeln!(out, "E {stage} {}", text.replace('\n', " "));
            FAILED
        }
    };
    let _ = out.flush();
    code
}

fn all(settings: &Settings, out: &mut impl Write) -> Result<bool, Stage> {
    let session = Session::open(settings)?;
    let mut failed = dump(&session, settings, ['F', 'R', 'G'], true, out)?;
    if settings.deep && !settings.read_only {
        // A compaction must not hide the damage: the rows after it are compared too.
        for family in session.db.families() {
            let _ = family.compact_range(None, None, &CompactRangeOptions::default());
        }
        failed |= dump(&session, settings, ['f', 'r', 'g'], false, out)?;
    }
    let session = if settings.reopen && !settings.read_only {
        session.db.close().map_err(at("close"))?;
        drop(session);
        let session = Session::open(settings)?;
        failed |= dump(&session, settings, ['f', 'r', 'g'], false, out)?;
        session
    } else {
        session
    };
    session.db.close().map_err(at("close"))?;
    Ok(failed)
}

fn dump(
    session: &Session,
    settings: &Settings,
    tags: Tags,
    whole: bool,
    out: &mut impl Write,
) -> Result<bool, Stage> {
    let mut failed = false;
    let mut note = |stage: &'static str, error: ironstone::Error, out: &mut dyn Write| {
        failed = true;
        let _ = writeln!(out, "E {stage} {}", error.to_string().replace('\n', " "));
    };
    for family in session.db.families() {
        if let Err(error) = scan(&family, tags[0], false, out) {
            note("scan", error, out);
        }
        if whole
            && !settings.no_reverse
            && let Err(error) = scan(&family, tags[1], true, out)
        {
            note("reverse", error, out);
        }
    }
    let keys = settings.keys.as_ref().filter(|_| whole && !settings.no_gets);
    let keys = keys.map(|k| std::fs::read_to_string(k).unwrap_or_default()).unwrap_or_default();
    for line in keys.lines() {
        let Some((name, key)) = line.split_once(' ') else { continue };
        let tag = tags[2];
        let Ok(family) = session.db.family(name) else {
            let _ = writeln!(out, "{tag} {name} {key} !nocf");
            continue;
        };
        match family.get_with(&unhex(key.trim())?, &options()) {
            Err(error) => note("get", error, out),
            Ok(None) => {
                let _ = writeln!(out, "{tag} {name} {key} !none");
            }
            Ok(Some(value)) => {
                let _ = writeln!(out, "{tag} {name} {key} {}", hex(&value));
            }
        }
    }
    Ok(failed)
}

fn options() -> ReadOptions {
    ReadOptions { verify_checksums: true, total_order_seek: true, ..ReadOptions::default() }
}

fn scan(family: &Family, tag: char, backward: bool, out: &mut impl Write) -> ironstone::Result<()> {
    let mut iter = family.iter_with(options())?;
    if backward {
        iter.seek_to_last()
    } else {
        iter.seek_to_first()
    }
    while iter.valid() {
        let _ = writeln!(out, "{tag} {} {} {}", family.name(), hex(iter.key()), hex(iter.value()));
        if backward { iter.prev() } else { iter.next() }
    }
    iter.status()
}
