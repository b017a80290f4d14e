//! Reads the readable part of an SST file of any format.
//!
//! Plain and cuckoo tables have no checksums. An entry is lost if it does not decode, or if its key is not
//! above the key before. In a plain table all entries after a lost entry are lost too, because the start of
//! the next row is unknown.

use std::sync::Arc;

use base::iter::InternalIterator;
use base::key::user_key;
use base::{Result, SequenceNumber};
use env::fs::RandomRead;
use format::footer::{Footer, TableKind};

use super::AnyReader;
use crate::flat::meta::read_footer;
use crate::options::{OtherTables, PlainTableOptions};
use crate::sst::salvage::{self, Loss, Part, Salvaged};
use crate::sst::{OpenOptions, ReadCtx};

/// Reads the readable part of an SST file, and passes its entries (internal key, value) to `row` in ascending
/// order: see [`salvage::salvage`].
///
/// # Errors
/// Errors of the file other than corruption, and errors of `row`.
pub fn salvage(
    file: Arc<dyn RandomRead>,
    size: u64,
    options: &OpenOptions,
    common_seqno: Option<SequenceNumber>,
    row: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<Salvaged> {
    match read_footer(&*file, size) {
        Ok(footer)
            if matches!(footer.kind, TableKind::Plain | TableKind::PlainLegacy | TableKind::Cuckoo) =>
        {
            flat(file, size, (options, footer), row)
        }
        _ => salvage::salvage(file, size, options, common_seqno, row),
    }
}

fn flat(
    file: Arc<dyn RandomRead>,
    size: u64,
    (options, footer): (&OpenOptions, Footer),
    row: &mut dyn FnMut(&[u8], &[u8]) -> Result<()>,
) -> Result<Salvaged> {
    // A lost row must not fail the open, so no index is built.
    let plain = PlainTableOptions { full_scan_mode: true, ..PlainTableOptions::default() };
    let other = Arc::new(OtherTables { plain, ..OtherTables::default() });
    let options = OpenOptions { other, ..options.clone() };
    let mut out = Salvaged { footer: Some(footer), num_blocks: 1, ..Salvaged::default() };
    let lost = |after: Option<Vec<u8>>, offset: u64, reason: String| Loss {
        part: Part::Data,
        offset,
        // A handle in the file may name a place after the end.
        size: size.saturating_sub(offset),
        after,
        until: None,
        reason,
    };
    let reader = match AnyReader::open(file, size, &options) {
        Ok(reader) => reader,
        Err(error) if error.is_corruption() => {
            out.losses.push(lost(None, error.offset().unwrap_or(0), error.to_string()));
            return Ok(out);
        }
        Err(error) => return Err(error),
    };
    let order = reader.order().clone();
    let mut rows = reader.iter(&ReadCtx { fill_cache: false, total_order_seek: true, ..ReadCtx::default() });
    let mut last: Vec<u8> = Vec::new();
    rows.seek_to_first();
    while rows.valid() {
        if out.num_rows > 0 && order.compare(&last, rows.key()).is_ge() {
            let reason = "an entry is not above the entry before".to_string();
            out.losses.push(lost(Some(user_key(&last).to_vec()), 0, reason));
            break;
        }
        row(rows.key(), rows.value())?;
        last.clear();
        last.extend_from_slice(rows.key());
        out.num_rows += 1;
        rows.next();
    }
    base::invariant!(
        out.num_rows == 0 || !last.is_empty(),
        "{} entries are salvaged, and there is no last key",
        out.num_rows
    );
    match rows.status() {
        Err(error) if error.is_corruption() => {
            let after = (out.num_rows > 0).then(|| user_key(&last).to_vec());
            out.losses.push(lost(after, error.offset().unwrap_or(0), error.to_string()));
        }
        Err(error) => return Err(error),
        Ok(()) => {}
    }
    out.properties = Some(reader.properties().as_ref().clone());
    Ok(out)
}
