//! `idump`: prints every entry of every key.

use base::ValueType;
use base::key::{MAX_SEQUENCE, parse, seek_key};
use format::blob::BlobIndex;
use table::dump;

use super::scan::{Groups, print_stats};
use super::session::Session;
use super::{Io, Outcome, show};

pub(crate) fn idump(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let input_hex = s.args.has_flag("input_key_hex");
    let bound = |name: &str| s.args.option(name).map(|key| show::parse(key, input_hex)).transpose();
    let (from, to, max) = (bound("from")?, bound("to")?, s.max_keys()?);
    let count_only = s.args.has_flag("count_only");
    let decode_blobs = s.args.has_flag("decode_blob_index");
    let mut groups = Groups::asked(s);
    let (db, family) = s.open_family(io)?;
    if s.args.has_flag("stats") {
        print_stats(&db, &family, io)?;
    }
    let order = &family.order().user;
    let size = order.timestamp_size();
    let mut versions = db.files().versions(&family)?;
    match from {
        Some(mut from) => {
            // The newest timestamp of a key comes first.
            from.resize(from.len() + size, 0xff);
            versions.seek(&seek_key(&from, MAX_SEQUENCE));
        }
        None => versions.seek_to_first(),
    }
    let mut count = 0u64;
    while versions.valid() && max.is_none_or(|max| max == 0 || count < max) {
        let key = parse(versions.key())?;
        let without_timestamp = base::key::without_timestamp(key.user_key, size);
        if to.as_ref().is_some_and(|to| order.compare_stripped(without_timestamp, to).is_ge()) {
            break;
        }
        count += 1;
        if let Some(groups) = &mut groups {
            groups.add(without_timestamp, (key.user_key.len() + versions.value().len()) as u64, io)?;
        } else if !count_only {
            let text = dump::internal_key_text(&key, order, s.key_hex);
            match value(key.value_type, versions.value(), s.value_hex, decode_blobs, order, versions.key()) {
                Ok(value) => io.out.write_all(&[&text[..], b" => ", &value, b"\n"].concat())?,
                Err(what) => {
                    io.err.write_all(&[&text[..], b" => error ", what.as_bytes(), b"\n"].concat())?;
                }
            }
        }
        versions.next();
    }
    match groups {
        Some(groups) => groups.finish(io)?,
        None => writeln!(io.out, "Internal keys in range: {count}")?,
    }
    Ok(versions.status()?)
}

fn value(
    value_type: ValueType,
    value: &[u8],
    as_hex: bool,
    decode_blobs: bool,
    order: &base::Order,
    key: &[u8],
) -> Result<Vec<u8>, &'static str> {
    let plain = |bytes: &[u8]| if as_hex { dump::hex(bytes).into_bytes() } else { bytes.to_vec() };
    match value_type {
        ValueType::WideColumnEntity => {
            let columns = format::wide::decode(value).map_err(|_| "deserializing wide columns")?;
            Ok(show::columns(columns.iter().map(|c| (c.name, c.value)), as_hex))
        }
        ValueType::BlobIndex if decode_blobs => {
            BlobIndex::decode(value).map_err(|_| "decoding blob index =>")?;
            let line =
                dump::entry_line(key, value, order, as_hex, true).map_err(|_| "decoding blob index =>")?;
            let at = line.windows(4).position(|w| w == b" => ").map_or(0, |at| at + 4);
            Ok(line[at..].to_vec())
        }
        _ => Ok(plain(value)),
    }
}
