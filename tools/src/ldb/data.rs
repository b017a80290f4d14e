//! Commands for one key or a few keys: put, get, delete.

use engine::batch::WriteBatch;
use engine::db::DbIterator;
use engine::options::WriteOptions;

use super::json::Object;
use super::session::Session;
use super::show::{self, Row};
use super::{Failure, Io, Outcome};

/// Opens the column family, lets `fill` make the write batch, writes it, and prints `OK`.
fn write(
    s: &mut Session,
    io: &mut Io<'_>,
    fill: impl FnOnce(&Session, &engine::family::Family, &mut WriteBatch) -> Outcome,
) -> Outcome {
    let (db, family) = s.open_family(io)?;
    refuse_timestamps(&family)?;
    let mut batch = WriteBatch::new();
    fill(s, &family, &mut batch)?;
    db.write(&mut batch, &WriteOptions::default())?;
    Ok(io.out.write_all(b"OK\n")?)
}

/// Rejects a column family with timestamps: its keys need a timestamp, and these commands have none.
pub(crate) fn refuse_timestamps(family: &engine::family::Family) -> Outcome {
    if family.order().user.timestamp_size() == 0 {
        return Ok(());
    }
    Err(Failure::new(format!(
        "Invalid argument: column family {} enables user-defined timestamps; `query` writes to it",
        family.name()
    )))
}

fn params(s: &Session, fits: impl FnOnce(usize) -> bool, words: &str) -> Outcome {
    if fits(s.args.params.len()) { Ok(()) } else { Err(Failure::new(words)) }
}

pub(crate) fn put(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    params(s, |n| n == 2, "<key> and <value> must be specified for the put command")?;
    let (key, value) = (s.key(0)?, s.value(1)?);
    let value = s.ttl.stored(&value, &s.env);
    write(s, io, |_, family, batch| {
        batch.put_in(family.id(), &key, &value);
        Ok(())
    })
}

pub(crate) fn put_entity(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    const WORDS: &str =
        "wide column format needs to be <column_name>:<column_value> (did you mean put <key> <value>?)";
    params(
        s,
        |n| n >= 2,
        "<key> and at least one column <column_name>:<column_value> must be specified for the put_entity command",
    )?;
    let key = s.key(0)?;
    let mut columns = Vec::new();
    for param in &s.args.params[1..] {
        let mut parts = param.split(|&b| b == b':');
        let (Some(name), Some(value), None) = (parts.next(), parts.next(), parts.next()) else {
            return Err(Failure::new(WORDS));
        };
        let part =
            |bytes: &[u8]| if bytes.is_empty() { Ok(Vec::new()) } else { show::parse(bytes, s.value_hex) };
        columns.push((part(name)?, part(value)?));
    }
    columns.sort();
    let inline: Vec<_> =
        columns.iter().map(|(name, value)| format::wide::Column::inline(name, value)).collect();
    let mut entity = Vec::new();
    format::wide::encode(&inline, &mut entity)?;
    write(s, io, |_, family, batch| {
        batch.put_encoded_entity_in(family.id(), &key, &entity);
        Ok(())
    })
}

pub(crate) fn batch_put(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    params(s, |n| n >= 2, "At least one <key> <value> pair must be specified batchput.")?;
    params(s, |n| n % 2 == 0, "Equal number of <key>s and <value>s must be specified for batchput.")?;
    let pairs = (0..s.args.params.len()).step_by(2);
    let pairs = pairs.map(|n| Ok((s.key(n)?, s.ttl.stored(&s.value(n + 1)?, &s.env))));
    let pairs = pairs.collect::<Result<Vec<_>, Failure>>()?;
    write(s, io, |_, family, batch| {
        for (key, value) in &pairs {
            batch.put_in(family.id(), key, value);
        }
        Ok(())
    })
}

pub(crate) fn delete(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    params(s, |n| n == 1, "KEY must be specified for the delete command")?;
    let key = s.key(0)?;
    write(s, io, |_, family, batch| {
        batch.delete_in(family.id(), &key);
        Ok(())
    })
}

pub(crate) fn single_delete(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    params(s, |n| n == 1, "KEY must be specified for the single delete command")?;
    let key = s.key(0)?;
    write(s, io, |_, family, batch| {
        batch.single_delete_in(family.id(), &key);
        Ok(())
    })
}

pub(crate) fn delete_range(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    params(s, |n| n == 2, "begin and end keys must be specified for the delete command")?;
    let (begin, end) = (s.key(0)?, s.key(1)?);
    write(s, io, |_, family, batch| {
        batch.delete_range_in(family.id(), &begin, &end);
        Ok(())
    })
}

pub(crate) fn get(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    params(s, |n| n == 1, "<key> must be specified for the get command")?;
    let key = s.key(0)?;
    let (db, family) = s.open_family(io)?;
    let failed = |e: Failure| Failure::of("Get failed", e.0);
    let options = s.read_options(&family).map_err(failed)?;
    let found = db.get(&family, &key, &options).map_err(|e| failed(e.into()))?;
    let found = found.as_deref().map(|stored| s.ttl.value(stored)).transpose();
    let found = found.map_err(|e| failed(e.into()))?;
    if s.json {
        let mut row = Object::default();
        row.bytes("key", &key, s.key_hex);
        match &found {
            Some(value) => row.bytes("value", value, s.value_hex),
            None => row.raw("value", "null"),
        };
        return Ok(writeln!(io.out, "{}", row.finish())?);
    }
    match found {
        Some(value) => io.out.write_all(&show::bytes(value, s.value_hex))?,
        None => io.out.write_all(b"Key not found")?,
    }
    Ok(io.out.write_all(b"\n")?)
}

pub(crate) fn multi_get(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    params(s, |n| n >= 1, "At least one <key> must be specified for multi_get.")?;
    let keys = (0..s.args.params.len()).map(|n| s.key(n)).collect::<Result<Vec<_>, _>>()?;
    let (db, family) = s.open_family(io)?;
    let options = s.read_options(&family).map_err(|e| Failure::of("MultiGet failed", e.0))?;
    let slices: Vec<_> = keys.iter().map(Vec::as_slice).collect();
    let mut failed = false;
    for (key, answer) in keys.iter().zip(db.multi_get(&family, &slices, &options)) {
        let shown = show::bytes(key, s.key_hex);
        if s.json {
            let mut row = Object::default();
            row.bytes("key", key, s.key_hex);
            match &answer {
                Ok(Some(value)) => row.bytes("value", value, s.value_hex),
                Ok(None) => row.raw("value", "null"),
                Err(error) => row.text("error", &error.to_string()),
            };
            failed |= answer.is_err();
            writeln!(io.out, "{}", row.finish())?;
            continue;
        }
        match answer {
            Ok(Some(value)) => {
                let row = [&shown, show::DELIMITER, &show::bytes(&value, s.value_hex), b"\n"].concat();
                io.out.write_all(&row)?;
            }
            Ok(None) => io.out.write_all(&[b"Key not found: ", &shown[..], b"\n"].concat())?,
            Err(error) => {
                writeln!(io.err, "Status for key {}: {error}", String::from_utf8_lossy(&shown))?;
                failed = true;
            }
        }
    }
    if failed { Err(Failure::new("one or more keys had non-okay status")) } else { Ok(()) }
}

pub(crate) fn get_entity(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    params(s, |n| n == 1, "<key> must be specified for the get_entity command")?;
    let key = s.key(0)?;
    let (db, family) = s.open_family(io)?;
    let failed = |e: Failure| Failure::of("GetEntity failed", e.0);
    let options = s.read_options(&family).map_err(failed)?;
    let mut iter = db.iter(&family, options).map_err(|e| failed(e.into()))?;
    let found = columns_at(&mut iter, &key).map_err(|e| failed(e.into()))?;
    let Some(columns) = found else { return Err(failed(Failure::new("NotFound: "))) };
    if s.json {
        let row = super::scan::json_row(
            &Row { key: &key, timestamp: b"", value: b"", columns: Some(&columns) },
            (s.key_hex, s.value_hex),
        );
        return Ok(writeln!(io.out, "{row}")?);
    }
    io.out.write_all(&show::columns(columns.iter().map(|(n, v)| (&n[..], &v[..])), s.value_hex))?;
    Ok(io.out.write_all(b"\n")?)
}

/// Returns the columns of a key. A plain value becomes the column without a name.
fn columns_at(iter: &mut DbIterator, key: &[u8]) -> base::Result<Option<Vec<(Vec<u8>, Vec<u8>)>>> {
    iter.seek(key);
    iter.status()?;
    if !iter.valid() || iter.key() != key {
        return Ok(None);
    }
    Ok(Some(iter.columns().unwrap_or_else(|| vec![(Vec::new(), iter.value().to_vec())])))
}

pub(crate) fn multi_get_entity(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    params(s, |n| n >= 1, "At least one <key> must be specified for multi_get_entity.")?;
    let keys = (0..s.args.params.len()).map(|n| s.key(n)).collect::<Result<Vec<_>, _>>()?;
    let (db, family) = s.open_family(io)?;
    let options = s.read_options(&family).map_err(|e| Failure::of("MultiGetEntity failed", e.0))?;
    let mut iter = db.iter(&family, options).map_err(|e| Failure::of("MultiGetEntity failed", e))?;
    let mut failed = false;
    for key in &keys {
        let shown = show::bytes(key, s.key_hex);
        match columns_at(&mut iter, key) {
            Ok(Some(columns)) if s.json => {
                let row = Row { key, timestamp: b"", value: b"", columns: Some(&columns) };
                writeln!(io.out, "{}", super::scan::json_row(&row, (s.key_hex, s.value_hex)))?;
            }
            Ok(None) if s.json => {
                let mut row = Object::default();
                row.bytes("key", key, s.key_hex).raw("columns", "null");
                writeln!(io.out, "{}", row.finish())?;
            }
            Ok(Some(columns)) => {
                let columns = show::columns(columns.iter().map(|(n, v)| (&n[..], &v[..])), s.value_hex);
                io.out.write_all(&[&shown[..], show::DELIMITER, &columns, b"\n"].concat())?;
            }
            Ok(None) => io.out.write_all(&[b"Key not found: ", &shown[..], b"\n"].concat())?,
            Err(error) => {
                writeln!(io.err, "Status for key {}: {error}", String::from_utf8_lossy(&shown))?;
                failed = true;
            }
        }
    }
    if failed { Err(Failure::new("one or more keys had non-okay status")) } else { Ok(()) }
}
