//! The file `PROOF`: the files of a database, with sizes and digests, at a time when no write was in
//! flight. With the file, an open can tell lost data from the remains of a crash.
//!
//! ```text
//! IRONSTONE PROOF 1
//! db <id of the database>
//! at <seconds since 1970> <closed|idle>
//! manifest <number> <bytes> <digest>
//! wal <number> <bytes> <digest, or - if it is not known>      each WAL that is needed, ascending
//! options <number> <bytes> <crc of each 512 bytes>...         0 or 1
//! crc <masked CRC32C of everything before this line>
//! ```
//! Lines end with a newline. Numbers are decimal. Digests and checksums have eight hexadecimal digits.
//! Digests are [`crate::wal::Digest`]s. The encoding is canonical: the encoding of a decoded file has the
//! same bytes.
//!
//! Every size in the file is a lower bound. The files may have grown since, and WALs that the MANIFEST no
//! longer needs may be gone. A proof is valid only while CURRENT names the MANIFEST of the proof and the
//! database has the id of the proof. Another writer (RocksDB too) starts a new MANIFEST or appends to this
//! MANIFEST, and so makes the proof invalid. A proof that does not decode is ignored. RocksDB's grammar of
//! file names does not have the name `PROOF`, so RocksDB neither opens nor deletes the file.

use std::fmt::Write;

use base::{Error, FileNumber, Result, WalNumber};
use kernel::checksum::crc32c;

/// The name of the file in the database directory.
pub const PROOF: &str = "PROOF";

/// Maximum size of a PROOF file in bytes. A larger file is not a proof.
pub const PROOF_LEN_MAX: u64 = 4 << 20;

/// Number of bytes of an OPTIONS file for each checksum.
pub const SECTOR_LEN: usize = 512;

const TITLE: &str = "IRONSTONE PROOF 1";

/// The durable part of a WAL or of the MANIFEST.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The number in the name of the file.
    pub number: FileNumber,
    /// Number of durable bytes from the start. The file has at least this size.
    pub bytes: u64,
    /// The digest of the records in these bytes. `None`: it is not known.
    pub digest: Option<u32>,
}

/// An OPTIONS file. It is never changed in place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OptionsExtent {
    /// The number in the name of the file.
    pub number: FileNumber,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// CRC32C of each [`SECTOR_LEN`] bytes. The last one covers the remaining bytes.
    pub sectors: Vec<u32>,
}

/// The content of a PROOF file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// The id of the database, as in the file `IDENTITY`. The proof of another database is not valid.
    pub db_id: String,
    /// The time when the proof was written, in seconds since 1970.
    pub written_s: u64,
    /// True if the database was closed. If false, it was idle.
    pub closed: bool,
    /// The MANIFEST. A proof is valid only while CURRENT names this MANIFEST.
    pub manifest: Extent,
    /// The needed WALs, ascending.
    pub wals: Vec<Extent>,
    /// The OPTIONS file, if the proof covers one.
    pub options: Option<OptionsExtent>,
}

impl OptionsExtent {
    /// Computes the checksums of the content of the OPTIONS file with this number. The result covers the
    /// whole content.
    pub fn of(number: FileNumber, content: &[u8]) -> Self {
        let sectors = content.chunks(SECTOR_LEN).map(crc32c::value).collect();
        OptionsExtent { number, bytes: content.len() as u64, sectors }
    }

    /// Returns the first difference between `content` and the OPTIONS file: the offset of the byte if one bit
    /// of it is wrong, otherwise the start of the sector. Returns `None` if `content` is unchanged.
    pub fn difference(&self, content: &[u8]) -> Option<u64> {
        let now = OptionsExtent::of(self.number, content);
        if now == *self {
            return None;
        }
        let at = self.sectors.iter().zip(&now.sectors).take_while(|(a, b)| a == b).count();
        let start = (at * SECTOR_LEN).min(content.len());
        let sector = &content[start..content.len().min(start + SECTOR_LEN)];
        let one_bit = match self.sectors.get(at) {
            Some(written) if now.bytes == self.bytes => flipped_byte(sector, *written),
            _ => None,
        };
        Some((start + one_bit.unwrap_or(0)) as u64)
    }
}

/// Returns the byte in which one flipped bit gives the checksum `written`.
fn flipped_byte(sector: &[u8], written: u32) -> Option<usize> {
    let mut trial = sector.to_vec();
    (0..trial.len()).find(|&at| {
        (0..8).any(|bit| {
            trial[at] ^= 1 << bit;
            let fits = crc32c::value(&trial) == written;
            trial[at] ^= 1 << bit;
            fits
        })
    })
}

impl Proof {
    /// Returns the durable part of the WAL with this number. Returns `None` if the proof does not name the
    /// WAL.
    pub fn wal(&self, number: WalNumber) -> Option<&Extent> {
        self.wals.iter().find(|wal| wal.number == number.file())
    }

    /// Returns the bytes of the PROOF file, with the checksum line at the end.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = String::with_capacity(256);
        let state = if self.closed { "closed" } else { "idle" };
        let _ = write!(out, "{TITLE}\ndb {}\nat {} {state}\n", self.db_id, self.written_s);
        extent(&mut out, "manifest", &self.manifest);
        self.wals.iter().for_each(|wal| extent(&mut out, "wal", wal));
        if let Some(options) = &self.options {
            let _ = write!(out, "options {} {}", options.number, options.bytes);
            options.sectors.iter().for_each(|crc| {
                let _ = write!(out, " {crc:08x}");
            });
            out.push('\n');
        }
        let crc = crc32c::mask(crc32c::value(out.as_bytes()));
        let _ = writeln!(out, "crc {crc:08x}");
        out.into_bytes()
    }

    /// Decodes the bytes of a PROOF file.
    ///
    /// # Errors
    /// Corruption for anything that [`Proof::encode`] does not write.
    pub fn decode(bytes: &[u8]) -> Result<Proof> {
        let bad = |what: &str| Error::corruption(format!("a PROOF file {what}"));
        let text = std::str::from_utf8(bytes).map_err(|e| bad("is not UTF-8").at(e.valid_up_to() as u64))?;
        let mut lines = text.lines();
        if lines.next() != Some(TITLE) {
            return Err(bad("begins with another line").at(0));
        }
        let mut proof = Proof::default();
        let mut next = TITLE.len() + 1;
        for (index, line) in lines.enumerate() {
            let at = next as u64;
            next += line.len() + 1;
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let known = match (index, word) {
                (0, "db") => {
                    proof.db_id = rest.to_string();
                    Some(())
                }
                (1, "at") => rest.split_once(' ').and_then(|(seconds, state)| {
                    (proof.written_s, proof.closed) = (seconds.parse().ok()?, state == "closed");
                    Some(())
                }),
                (2, "manifest") => parse_extent(rest).map(|e| proof.manifest = e),
                (3.., "wal") => parse_extent(rest).map(|e| proof.wals.push(e)),
                (3.., "options") => parse_options(rest).map(|o| proof.options = Some(o)),
                (3.., "crc") => Some(()),
                _ => None,
            };
            known.ok_or_else(|| bad("has a line that does not belong").at(at))?;
        }
        // The comparison also finds a wrong checksum, wrong order and wrong spacing.
        if proof.encode() != bytes {
            return Err(bad("has a wrong checksum").at(0));
        }
        Ok(proof)
    }
}

fn extent(out: &mut String, word: &str, extent: &Extent) {
    let _ = write!(out, "{word} {} {} ", extent.number, extent.bytes);
    let _ = match extent.digest {
        Some(digest) => writeln!(out, "{digest:08x}"),
        None => writeln!(out, "-"),
    };
}

fn parse_extent(rest: &str) -> Option<Extent> {
    let mut words = rest.split(' ');
    let (number, bytes) = (FileNumber::new(words.next()?.parse().ok()?), words.next()?.parse().ok()?);
    let digest = match words.next()? {
        "-" => None,
        hex => Some(u32::from_str_radix(hex, 16).ok()?),
    };
    Some(Extent { number, bytes, digest })
}

fn parse_options(rest: &str) -> Option<OptionsExtent> {
    let mut words = rest.split(' ');
    let (number, bytes) = (FileNumber::new(words.next()?.parse().ok()?), words.next()?.parse().ok()?);
    let sectors = words.map(|w| u32::from_str_radix(w, 16).ok()).collect::<Option<Vec<_>>>()?;
    Some(OptionsExtent { number, bytes, sectors })
}

#[cfg(test)]
mod tests;
