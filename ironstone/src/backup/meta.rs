//! The file `meta/ID` of a backup: text that names the files of the backup.
//!
//! ```text
//!  schema_version 2.1                     only in schema 2
//!  1795296141                             seconds since 1970
//!  160                                    sequence number
//!  metadata 6D61                          metadata of the application, in hex; optional
//!  2                                      number of files
//!  shared_checksum/000012_sWW_37129.sst crc32 1885896646 [size N] [temp kWarm]
//!  private/1/CURRENT crc32 2659179228
//!  shared_checksum/000013_sWW_100.sst ni::excluded true       only in schema 2
//! ```
//! An unknown field is skipped, unless the name of the field begins with `ni::`. The parser is total. Facts: RocksDB
//! `utilities/backup/backup_engine.cc` (`BackupMeta`).

use base::{Error, Result, SequenceNumber};

/// The most bytes of metadata of an application.
pub(super) const APP_METADATA_BYTES_MAX: usize = 1 << 20;

/// A field with this prefix must be known.
const NOT_IGNORABLE: &str = "ni::";

const TEMPERATURES: [(&str, u8); 5] =
    [("kHot", 0x04), ("kWarm", 0x08), ("kCool", 0x0a), ("kCold", 0x0c), ("kIce", 0x10)];

/// One file of a backup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MetaFile {
    /// The path below the backup directory.
    pub name: String,
    /// CRC32C of the content. `None`: unknown.
    pub crc: Option<u32>,
    /// Bytes. `None` in a parsed line without size.
    pub size: Option<u64>,
    /// The temperature as the MANIFEST stores the temperature. 0: unknown.
    pub temperature: u8,
}

/// The content of a meta file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Meta {
    pub timestamp_s: i64,
    pub sequence: SequenceNumber,
    pub app_metadata: Vec<u8>,
    pub files: Vec<MetaFile>,
    /// The files that another backup directory holds.
    pub excluded: Vec<String>,
}

impl Meta {
    /// Encodes the meta file.
    ///
    /// # Errors
    /// InvalidArgument for an unknown schema version.
    pub fn encode(&self, schema_version: u32) -> Result<Vec<u8>> {
        let mut out = match schema_version {
            1 => String::new(),
            2 => "schema_version 2.1\n".to_string(),
            other => {
                return Err(Error::invalid_argument(format!(
                    "BackupEngineOptions::schema_version is {other}; 1 and 2 are supported"
                )));
            }
        };
        out += &format!("{}\n{}\n", self.timestamp_s, self.sequence);
        if !self.app_metadata.is_empty() {
            out += &format!("metadata {}\n", hex(&self.app_metadata));
        }
        out += &format!("{}\n", self.files.len());
        for file in &self.files {
            out += &file.name;
            if let Some(crc) = file.crc {
                out += &format!(" crc32 {crc}");
            }
            let name = TEMPERATURES.iter().find(|(_, value)| *value == file.temperature);
            if let Some((name, _)) = name.filter(|_| schema_version >= 2) {
                out += &format!(" temp {name}");
            }
            out.push('\n');
        }
        for name in &self.excluded {
            out += &format!("{name} {NOT_IGNORABLE}excluded true\n");
        }
        Ok(out.into_bytes())
    }

    /// Parses a meta file.
    ///
    /// # Errors
    /// Corruption for text that is no meta file; NotSupported for a newer schema.
    pub fn parse(bytes: &[u8]) -> Result<Meta> {
        let text = std::str::from_utf8(bytes).map_err(|_| corrupt("a byte that is not ASCII text"))?;
        let mut lines = text.split_terminator('\n').peekable();
        let version = lines.peek().and_then(|line| line.strip_prefix("schema_version "));
        let schema = match version {
            None => 1,
            Some(version) if version == "2" || version.starts_with("2.") => 2,
            Some(version) => {
                return Err(Error::not_supported(format!(
                    "Unsupported/unrecognized schema version: {version}"
                )));
            }
        };
        if schema == 2 {
            lines.next();
        }
        let mut meta = Meta::default();
        let number = |line: Option<&str>, what: &str| {
            let line = line.ok_or_else(|| corrupt(&format!("no line with the {what}")))?;
            line.parse::<u64>().map_err(|_| corrupt(&format!("{line:?} is no {what}")))
        };
        meta.timestamp_s = i64::try_from(number(lines.next(), "time")?).unwrap_or(i64::MAX);
        meta.sequence = SequenceNumber::new(number(lines.next(), "sequence number")?);
        let count = meta.fields(&mut lines, schema)?;
        for line in lines.by_ref() {
            if schema == 2 && line == "// FOOTER" {
                break;
            }
            meta.file_line(line, schema)?;
        }
        for line in lines {
            let field = line.split_once(' ').ok_or_else(|| corrupt("Expected footer field"))?.0;
            check_ignorable(field)?;
        }
        if meta.files.len() as u64 != count {
            return Err(corrupt(&format!("{count} files are announced, {} are named", meta.files.len())));
        }
        Ok(meta)
    }

    /// Reads the optional fields and the number of files.
    fn fields<'a>(&mut self, lines: &mut impl Iterator<Item = &'a str>, schema: u32) -> Result<u64> {
        for line in lines {
            if line.starts_with(|c: char| c.is_ascii_digit()) {
                return line.parse().map_err(|_| corrupt(&format!("{line:?} is no number of files")));
            }
            let Some((name, data)) = line.split_once(' ') else {
                return Err(corrupt("Expected number of files or meta field"));
            };
            if name == "metadata" {
                self.app_metadata =
                    unhex(data).ok_or_else(|| corrupt("the metadata of the application is not hex"))?;
            } else if schema < 2 {
                return Err(corrupt("Expected number of files or \"metadata\" field"));
            } else {
                check_ignorable(name)?;
            }
        }
        Err(corrupt("no line with the number of files"))
    }

    fn file_line(&mut self, line: &str, schema: u32) -> Result<()> {
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        let Some((name, fields)) = words.split_first() else {
            return Err(corrupt("Empty line instead of file entry."));
        };
        check_name(name)?;
        if schema < 2 && !matches!(fields, ["crc32", _]) {
            return Err(corrupt(&format!("the line of {name} has no checksum, or more than a checksum")));
        }
        if fields.len() % 2 != 0 {
            return Err(corrupt("Bad number of line components for file entry."));
        }
        let mut file = MetaFile { name: (*name).to_string(), crc: None, size: None, temperature: 0 };
        let mut excluded = false;
        for pair in fields.chunks_exact(2) {
            let (field, data) = (pair[0], pair[1]);
            let invalid = || corrupt(&format!("{field} of {name} is {data:?}"));
            match field {
                "crc32" => file.crc = Some(data.parse().map_err(|_| invalid())?),
                "size" => file.size = Some(data.parse().map_err(|_| invalid())?),
                "temp" => {
                    let known = TEMPERATURES.iter().find(|(text, _)| *text == data);
                    file.temperature = known.map_or(0, |(_, value)| *value);
                }
                "ni::excluded" => excluded = data.parse().map_err(|_| invalid())?,
                other => check_ignorable(other)?,
            }
        }
        if excluded {
            self.excluded.push(file.name);
        } else {
            self.files.push(file);
        }
        Ok(())
    }
}

/// Rejects a path that leaves the backup directory.
fn check_name(name: &str) -> Result<()> {
    let inside = !name.starts_with('/') && name.split('/').all(|part| !part.is_empty() && part != "..");
    if inside { Ok(()) } else { Err(corrupt(&format!("the path {name:?} leaves the backup directory"))) }
}

fn check_ignorable(field: &str) -> Result<()> {
    if field.starts_with(NOT_IGNORABLE) {
        return Err(Error::not_supported(format!(
            "Unrecognized non-ignorable field {field} (from future version?)"
        )));
    }
    Ok(())
}

fn corrupt(words: &str) -> Error {
    Error::corruption(words)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    digits.chunks_exact(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meta_file_reads_back_as_it_was_written() {
        let meta = Meta {
            timestamp_s: 1_795_296_141,
            sequence: SequenceNumber::new(160),
            app_metadata: b"ma".to_vec(),
            files: vec![
                MetaFile { name: "private/1/CURRENT".into(), crc: Some(7), size: None, temperature: 0 },
                MetaFile { name: "shared/000012.sst".into(), crc: Some(0), size: None, temperature: 8 },
            ],
            excluded: vec!["shared_checksum/000013_s_1.sst".into()],
        };
        let text = String::from_utf8(meta.encode(2).unwrap()).unwrap();
        assert_eq!(
            text,
            "schema_version 2.1\n1795296141\n160\nmetadata 6D61\n2\nprivate/1/CURRENT crc32 7\n\
             shared/000012.sst crc32 0 temp kWarm\nshared_checksum/000013_s_1.sst ni::excluded true\n"
        );
        assert_eq!(Meta::parse(text.as_bytes()).unwrap(), meta);
        assert!(meta.encode(3).is_err());
    }

    #[test]
    fn unknown_fields_are_skipped_unless_they_forbid_it() {
        let parse = |text: &str| Meta::parse(text.as_bytes());
        let known =
            parse("schema_version 2.9\n1\n2\nnew thing\n1\na/b size 3 new 4\n// FOOTER\nmore 5\n").unwrap();
        assert_eq!((known.files[0].size, known.files[0].crc), (Some(3), None));
        for bad in [
            "",
            "1\n",
            "1\n2\n",
            "1\n2\n1\n",
            "1\n2\n1\na/b\n",
            "1\n2\n1\na/b crc32 4294967296\n",
            "1\n2\n1\n../b crc32 1\n",
            "1\n2\n1\n/b crc32 1\n",
            "1\n2\nmetadata 6\n0\n",
            "1\n2\nother 6\n0\n",
            "schema_version 3\n1\n2\n0\n",
            "schema_version 2\n1\n2\nni::new thing\n0\n",
            "schema_version 2\n1\n2\n1\na/b ni::new 1\n",
            "schema_version 2\n1\n2\n0\n// FOOTER\nni::new 1\n",
        ] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
