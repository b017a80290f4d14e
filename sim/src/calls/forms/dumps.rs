//! The text of SST files, as `sst_dump` prints it. Each entry of the text is compared with the entry of the file.
//!
//! A copy of each file gets a wrong bit. The dump of the copy prints entries of the file, and no other entry.

use std::path::Path;

use base::Order;
use base::ValueType;
use base::iter::InternalIterator;
use base::key::parse;
use format::wide;
use table::any::AnyReader;
use table::dump;
use table::sst::{OpenOptions, ReadCtx};
use testkit::chance::Chance;

use super::super::{same, told};
use super::Forms;

/// Where a copy of a file gets a wrong bit.
const COPY: &str = "/dumped.sst";

impl Forms {
    /// Dumps the live SST files, and a damaged copy of each.
    pub(super) fn dump(&mut self, chance: &mut Chance) -> Result<(), String> {
        let files: Vec<_> = self.families.iter().flat_map(|family| family.live_files()).collect();
        for file in files {
            let what = |error: String| format!("{}: {error}", file.path.display());
            let table = self.table(&file.path).map_err(told("opening a table")).map_err(what)?;
            let (as_hex, decode) = (chance.percent(50), chance.percent(50));
            check_lines(&table, as_hex, decode).map_err(what)?;
            let properties = dump::properties_text(table.properties(), "\n", "=");
            let entries = format!("# entries={}\n", table.properties().num_entries);
            same("the number of entries in the text", &properties.contains(&entries), &true).map_err(what)?;
            let raw = raw_entries(&table).map_err(told("raw dump")).map_err(what)?;
            let Some((lines, has_checksums)) = raw else { continue };
            same("entries of the raw dump", &(lines.len() as u64), &table.properties().num_entries)
                .map_err(what)?;
            // Without checksums, no reader detects the change.
            if has_checksums {
                self.dump_damaged(&file.path, &lines, chance).map_err(what)?;
            }
        }
        Ok(())
    }

    fn table(&self, path: &Path) -> Result<AnyReader, ironstone::Error> {
        let file = self.options.db.env.fs.open_random(path, &Default::default())?;
        let size = file.size()?;
        AnyReader::open(file, size, &OpenOptions::default())
    }

    /// Changes a bit of a copy of the file. The copy has the same entries, or fewer, or is refused.
    fn dump_damaged(&self, path: &Path, sound: &[String], chance: &mut Chance) -> Result<(), String> {
        let fs = &self.options.db.env.fs;
        let mut bytes = fs.read_all(path, 1 << 30).map_err(told("reading a table"))?;
        let at = chance.below(bytes.len() as u64) as usize;
        bytes[at] ^= 1 << chance.below(8);
        fs.write_all(Path::new(COPY), &bytes, false).map_err(told("writing a copy"))?;
        let lines = self.table(Path::new(COPY)).and_then(|table| raw_entries(&table));
        fs.unlink(Path::new(COPY)).map_err(told("deleting a copy"))?;
        // An error is a sound answer.
        let mut left = sound.iter();
        for line in lines.ok().flatten().unwrap_or_default().0 {
            if !left.any(|known| *known == line) {
                return Err(format!("after a change of byte {at}, the dump has the entry {line}"));
            }
        }
        Ok(())
    }
}

/// Compares the line of each entry with the entry.
fn check_lines(table: &AnyReader, as_hex: bool, decode: bool) -> Result<(), String> {
    let shown = |bytes: &[u8]| if as_hex { dump::hex(bytes).into_bytes() } else { bytes.to_vec() };
    let mut iter = table.iter(&ReadCtx::default());
    iter.seek_to_first();
    let mut count = 0;
    while iter.valid() {
        let (key, value) = (iter.key().to_vec(), iter.value().to_vec());
        let parsed = parse(&key).map_err(told("a key"))?;
        let (seq, value_type) = (parsed.seq, parsed.value_type as u8);
        let tail = format!("' seq:{seq}, type:{value_type} => ").into_bytes();
        let head = [b"'".to_vec(), shown(parsed.user_key), tail].concat();
        let line = dump::entry_line(&key, &value, &Order::Bytewise, as_hex, decode);
        let expected = match parsed.value_type {
            ValueType::WideColumnEntity => entity_text(&value, &shown, as_hex)?,
            ValueType::BlobIndex if decode => Some(b"[blob ref] file:".to_vec()),
            _ => Some(shown(&value)),
        };
        match (line, expected) {
            (Ok(line), Some(tail)) => {
                let expected = [head, tail].concat();
                let is_blob = parsed.value_type == ValueType::BlobIndex && decode;
                let found = if is_blob { &line[..expected.len().min(line.len())] } else { &line };
                same("a line of a dump", &found, &&expected[..])?;
            }
            (line, expected) => same("refusal of a line", &line.is_err(), &expected.is_none())?,
        }
        count += 1;
        iter.next();
    }
    iter.status().map_err(told("a scan of a table"))?;
    same("entries of a table", &count, &table.properties().num_entries)
}

/// Returns the text of an entity, or `None` if a column is in a blob file: a dump does not show such an entity.
fn entity_text(
    value: &[u8],
    shown: &dyn Fn(&[u8]) -> Vec<u8>,
    as_hex: bool,
) -> Result<Option<Vec<u8>>, String> {
    let columns = wide::decode(value).map_err(told("an entity"))?;
    if columns.iter().any(|column| column.is_blob) {
        return Ok(None);
    }
    let part = |bytes: &[u8]| match as_hex && !bytes.is_empty() {
        true => [b"0x".to_vec(), shown(bytes)].concat(),
        false => shown(bytes),
    };
    let columns = columns.iter().map(|column| [part(column.name), part(column.value)].join(&b':'));
    Ok(Some(columns.collect::<Vec<_>>().join(&b' ')))
}

/// Returns the lines of the entries in the raw dump, and true if the blocks have checksums; `None` if the table has no blocks.
fn raw_entries(table: &AnyReader) -> Result<Option<(Vec<String>, bool)>, ironstone::Error> {
    let Some(reader) = table.block_based() else { return Ok(None) };
    let mut out = Vec::new();
    dump::raw(reader, &mut out, true)?;
    let text = String::from_utf8_lossy(&out);
    let entries = text.lines().filter(|line| line.starts_with("  HEX    ") && line.contains("  seq: "));
    let has_checksums = !text.contains("(This file uses checksum type: 0)");
    Ok(Some((entries.map(str::to_string).collect(), has_checksums)))
}
