//! `load`: reads lines of the form `key ==> value` from standard input, as `dump` and `scan` print them.

use engine::batch::WriteBatch;
use engine::options::{CompactRangeOptions, WriteOptions};

use super::session::Session;
use super::{Failure, Io, Outcome, data, show};

/// Starts of lines that `dump` prints and that are not rows.
const NOT_ROWS: [&[u8]; 2] = [b"Keys in range:", b"Created bg thread 0x"];

pub(crate) fn load(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let options = WriteOptions { disableWAL: s.args.has_flag("disable_wal"), ..WriteOptions::default() };
    let (db, family) = s.open_family(io)?;
    data::refuse_timestamps(&family)?;
    let (mut line, mut number, mut bad_lines) = (Vec::new(), 0u64, 0u64);
    let mut batch = WriteBatch::new();
    loop {
        line.clear();
        if io
            .input
            .read_until(b'\n', &mut line)
            .map_err(|e| Failure::of("Load failed: reading the input", e))?
            == 0
        {
            break;
        }
        number += 1;
        let row = line.strip_suffix(b"\n").unwrap_or(&line);
        let Some(at) = row.windows(show::DELIMITER.len()).position(|w| w == show::DELIMITER) else {
            bad_lines += u64::from(!NOT_ROWS.iter().any(|start| row.starts_with(start)));
            continue;
        };
        let of_line = |e: Failure| Failure::new(format!("Load failed: line {number}: {}", e.0));
        let key = show::parse(&row[..at], s.key_hex).map_err(of_line)?;
        let value = show::parse(&row[at + show::DELIMITER.len()..], s.value_hex).map_err(of_line)?;
        batch.clear();
        batch.put_in(family.id(), &key, &value);
        db.write(&mut batch, &options)
            .map_err(|e| Failure::of("Load failed", crate::advice::with_advice(&e)))?;
    }
    if bad_lines > 0 {
        writeln!(io.out, "Warning: {bad_lines} bad lines ignored.")?;
    }
    if options.disableWAL {
        // The entries are not in a WAL, so only the flush makes them durable.
        db.flush(std::slice::from_ref(&family), &Default::default())
            .map_err(|e| Failure::of("Load failed", crate::advice::with_advice(&e)))?;
    }
    if s.args.has_flag("compact") {
        db.compactions()
            .compact_range(&family, None, None, &CompactRangeOptions::default())
            .map_err(|e| Failure::of("Compaction failed", crate::advice::with_advice(&e)))?;
    }
    Ok(())
}
