//! The progress of a remote subcompaction: the payload of tag 8202, which only progress files have.
//!
//! ```text
//! { varint32 t | slice f }, ended by t = 1
//!   2 next internal key   3 varint64 input records done   4 / 5 progress of the output levels
//! output level = { varint32 t | slice f }, ended by t = 1
//!   2 new files: varint32 n, n x slice { varint32 103, file with level 2^32-1 }
//!   3 varint64 output records done
//! ```
//! Unknown tags with bit 16 are skipped. Other unknown tags are not supported.

use base::coding::{Cursor, put_slice, put_varint32};
use base::{Error, Result};

use super::NewFile;
use super::decode::{bad, need};
use super::encode::{nested_number, text};
use super::tag as edit_tag;

/// The work that a remote subcompaction has done. A restarted subcompaction continues from this state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubcompactionProgress {
    /// The key at which the subcompaction continues. Empty: it has not started.
    pub next_internal_key: Vec<u8>,
    /// The number of input records that the subcompaction has read.
    pub num_processed_input_records: u64,
    /// The work for the output level.
    pub output_level: LevelProgress,
    /// The work for the proximal output level, the level before the last level.
    pub proximal_output_level: LevelProgress,
}

/// The work that a remote subcompaction has done for one output level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelProgress {
    /// The number of output records in the level.
    pub num_processed_output_records: u64,
    /// The files that were written since the last progress record. A record of progress has no levels: the level of each file is 0.
    pub output_files: Vec<NewFile>,
}

mod tag {
    /// Ends the fields of a subcompaction or of a level. Has no payload.
    pub const TERMINATE: u32 = 1;
    /// The internal key at which the subcompaction continues.
    pub const NEXT_INTERNAL_KEY: u32 = 2;
    /// A varint64: the number of input records that the subcompaction has read.
    pub const NUM_PROCESSED_INPUT_RECORDS: u32 = 3;
    /// The progress of the output level. Left out if the level has no new files.
    pub const OUTPUT_LEVEL: u32 = 4;
    /// The progress of the proximal output level. Left out if the level has no new files.
    pub const PROXIMAL_OUTPUT_LEVEL: u32 = 5;
    /// A tag in the progress of a level.
    pub const OUTPUT_FILES: u32 = 2;
    /// A tag in the progress of a level. A varint64: the number of output records in the level.
    pub const NUM_PROCESSED_OUTPUT_RECORDS: u32 = 3;
    /// Readers skip unknown tags with this bit, and reject all other unknown tags.
    pub const SAFE_TO_IGNORE: u32 = 1 << 16;
}

impl SubcompactionProgress {
    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        if !self.next_internal_key.is_empty() {
            text(out, tag::NEXT_INTERNAL_KEY, &self.next_internal_key);
        }
        nested_number(out, tag::NUM_PROCESSED_INPUT_RECORDS, Some(self.num_processed_input_records));
        for (tag, level) in [
            (tag::OUTPUT_LEVEL, &self.output_level),
            (tag::PROXIMAL_OUTPUT_LEVEL, &self.proximal_output_level),
        ] {
            if !level.output_files.is_empty() {
                let mut inner = Vec::new();
                level.encode(&mut inner)?;
                text(out, tag, &inner);
            }
        }
        put_varint32(out, tag::TERMINATE);
        Ok(())
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self> {
        let mut progress = SubcompactionProgress::default();
        fields(bytes, |tag, field| {
            match tag {
                tag::NEXT_INTERNAL_KEY => progress.next_internal_key = field.to_vec(),
                tag::NUM_PROCESSED_INPUT_RECORDS => {
                    progress.num_processed_input_records = number("input records", field)?;
                }
                tag::OUTPUT_LEVEL => progress.output_level = LevelProgress::decode(field)?,
                tag::PROXIMAL_OUTPUT_LEVEL => progress.proximal_output_level = LevelProgress::decode(field)?,
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(progress)
    }
}

impl LevelProgress {
    fn encode(&self, out: &mut Vec<u8>) -> Result<()> {
        if self.num_processed_output_records > 0 {
            nested_number(out, tag::NUM_PROCESSED_OUTPUT_RECORDS, Some(self.num_processed_output_records));
        }
        if !self.output_files.is_empty() {
            let mut inner = Vec::new();
            put_varint32(&mut inner, self.output_files.len() as u32);
            for file in &self.output_files {
                let mut bytes = Vec::new();
                file.encode_without_level(&mut bytes)?;
                put_slice(&mut inner, &bytes);
            }
            text(out, tag::OUTPUT_FILES, &inner);
        }
        put_varint32(out, tag::TERMINATE);
        Ok(())
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut level = LevelProgress::default();
        fields(bytes, |tag, field| {
            match tag {
                tag::OUTPUT_FILES => level.output_files = decode_files(field)?,
                tag::NUM_PROCESSED_OUTPUT_RECORDS => {
                    level.num_processed_output_records = number("output records", field)?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(level)
    }
}

fn decode_files(bytes: &[u8]) -> Result<Vec<NewFile>> {
    let mut c = Cursor::new(bytes);
    let count = need("new output file count", c.varint32())?;
    let mut files = Vec::new();
    for _ in 0..count {
        let mut file = Cursor::new(need("output file metadata", c.slice())?);
        if file.varint32() != Some(edit_tag::NEW_FILE4) {
            return Err(bad("expected kNewFile4 tag"));
        }
        files.push(NewFile::decode_without_level(&mut file)?);
    }
    Ok(files)
}

/// Passes each field to `take`. `take` returns true if it knows the tag.
fn fields(bytes: &[u8], mut take: impl FnMut(u32, &[u8]) -> Result<bool>) -> Result<()> {
    let mut c = Cursor::new(bytes);
    loop {
        let tag = need("SubcompactionProgress: tag error", c.varint32())?;
        if tag == tag::TERMINATE {
            return Ok(());
        }
        let field = need("SubcompactionProgress: field length prefixed slice error", c.slice())?;
        if !take(tag, field)? && tag & tag::SAFE_TO_IGNORE == 0 {
            return Err(Error::not_supported(format!(
                "SubcompactionProgress: critical field {tag} from the future"
            )));
        }
    }
}

fn number(what: &str, field: &[u8]) -> Result<u64> {
    need(what, Cursor::new(field).varint64())
}
