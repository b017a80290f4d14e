//! The merge operators that RocksDB knows by name, with the same results (`utilities/merge_operators/`).

use std::sync::Arc;

use base::option::{Object, no_such};
use format::options_ini;

use super::{
    Associative, AssociativeMergeOperator, Existing, Failure, FullMerge, MergeOperator, Merged,
    with_default_column,
};

type Answer = Result<Merged, Failure>;

/// `put`: the newest operand is the value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Put;

impl MergeOperator for Put {
    fn name(&self) -> &str {
        "PutOperator"
    }

    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> Answer {
        let newest = merge.operands.len().checked_sub(1).ok_or(Failure::Merge)?;
        with_default_column(merge, out, |_, _| Ok(Merged::Operand(newest)))
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        operands.last().is_some_and(|newest| {
            out.extend_from_slice(newest);
            true
        })
    }
}

/// `max`: the bytewise largest of the value and the operands. If several are equal, the oldest of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Max;

impl MergeOperator for Max {
    fn name(&self) -> &str {
        "MaxOperator"
    }

    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> Answer {
        with_default_column(merge, out, |existing, out| {
            let mut best = existing.unwrap_or_default();
            let mut answer = if existing.is_some() { Merged::Existing } else { Merged::New };
            for (i, operand) in merge.operands.iter().enumerate() {
                if best < *operand {
                    best = operand;
                    answer = Merged::Operand(i);
                }
            }
            // The default column of an entity is not a value of its own, so it must be copied.
            if answer == Merged::Existing && !matches!(merge.existing, Existing::Value(_)) {
                out.extend_from_slice(best);
                answer = Merged::New;
            }
            Ok(answer)
        })
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(operands.iter().max().copied().unwrap_or_default());
        true
    }
}

/// `uint64add`: the sum of little-endian numbers, with wrap-around. A value that has not 8 bytes counts as 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct UInt64Add;

impl AssociativeMergeOperator for UInt64Add {
    fn name(&self) -> &str {
        "UInt64AddOperator"
    }

    fn merge(&self, _key: &[u8], existing: Option<&[u8]>, operand: &[u8], out: &mut Vec<u8>) -> bool {
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        let sum = existing.map_or(0, number).wrapping_add(number(operand));
        out.extend_from_slice(&sum.to_le_bytes());
        true
    }
}

/// `bytesxor`: the exclusive or, byte by byte. The rest of the longer value is unchanged.
#[derive(Clone, Copy, Debug, Default)]
pub struct BytesXor;

impl AssociativeMergeOperator for BytesXor {
    fn name(&self) -> &str {
        "BytesXOR"
    }

    fn merge(&self, _key: &[u8], existing: Option<&[u8]>, operand: &[u8], out: &mut Vec<u8>) -> bool {
        let existing = existing.unwrap_or_default();
        let (long, short) =
            if existing.len() >= operand.len() { (existing, operand) } else { (operand, existing) };
        out.extend_from_slice(long);
        out.iter_mut().zip(short).for_each(|(a, b)| *a ^= b);
        true
    }
}

/// `stringappend`: joins the values with a delimiter, `,` by default.
#[derive(Clone, Debug)]
pub struct StringAppend {
    delimiter: Vec<u8>,
}

impl Default for StringAppend {
    fn default() -> Self {
        StringAppend::new(b",")
    }
}

impl StringAppend {
    /// Makes an operator that puts `delimiter` between two operands.
    pub fn new(delimiter: &[u8]) -> Self {
        StringAppend { delimiter: delimiter.to_vec() }
    }
}

/// Joins all pieces in one buffer of the right size.
fn join<'a>(pieces: impl Iterator<Item = &'a [u8]> + Clone, delimiter: &[u8], out: &mut Vec<u8>) {
    let bytes: usize = pieces.clone().map(|p| p.len() + delimiter.len()).sum();
    // There may be no piece.
    out.reserve(bytes.saturating_sub(delimiter.len()));
    for (i, piece) in pieces.enumerate() {
        if i > 0 {
            out.extend_from_slice(delimiter);
        }
        out.extend_from_slice(piece);
    }
}

fn with_delimiter(name: &str, delimiter: &[u8]) -> String {
    let escaped = options_ini::escape(&String::from_utf8_lossy(delimiter));
    // A delimiter that contains the end of a field is written in braces.
    let field = if escaped.contains(';') { format!("{{{escaped}}}") } else { escaped };
    format!("{{id={name};delimiter={field};}}")
}

fn append(merge: &FullMerge<'_>, delimiter: &[u8], out: &mut Vec<u8>) -> Answer {
    with_default_column(merge, out, |existing, out| {
        if existing.is_none() && merge.operands.len() == 1 {
            return Ok(Merged::Operand(0));
        }
        join(existing.into_iter().chain(merge.operands.iter().copied()), delimiter, out);
        Ok(Merged::New)
    })
}

impl MergeOperator for StringAppend {
    fn name(&self) -> &str {
        "StringAppendOperator"
    }

    fn option_text(&self) -> String {
        with_delimiter(self.name(), &self.delimiter)
    }

    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> Answer {
        append(merge, &self.delimiter, out)
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        join(operands.iter().copied(), &self.delimiter, out);
        true
    }
}

/// `stringappendtest`: like [`StringAppend`], but without partial merges.
#[derive(Clone, Debug)]
pub struct StringAppendTest {
    delimiter: Vec<u8>,
}

impl Default for StringAppendTest {
    fn default() -> Self {
        StringAppendTest::new(b",")
    }
}

impl StringAppendTest {
    /// Makes an operator that puts `delimiter` between two operands.
    pub fn new(delimiter: &[u8]) -> Self {
        StringAppendTest { delimiter: delimiter.to_vec() }
    }
}

impl MergeOperator for StringAppendTest {
    fn name(&self) -> &str {
        "StringAppendTESTOperator"
    }

    fn option_text(&self) -> String {
        with_delimiter(self.name(), &self.delimiter)
    }

    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> Answer {
        append(merge, &self.delimiter, out)
    }
}

/// `sortlist`: values are comma-separated 32-bit numbers. Each operand is sorted, and the result is one
/// sorted list. The existing value is ignored, as in RocksDB. If an operand is not such a list, the merge
/// fails; RocksDB throws an exception.
#[derive(Clone, Copy, Debug, Default)]
pub struct SortList;

impl SortList {
    fn numbers(list: &[u8]) -> Option<Vec<i32>> {
        // A zero byte ends the list, as in C.
        let list = list.split(|&b| b == 0).next().unwrap_or_default();
        list.split(|&b| b == b',').map(Self::number).collect()
    }

    /// Parses white space, a sign and digits, and ignores the rest, like C++'s `stoi`.
    fn number(text: &[u8]) -> Option<i32> {
        let blank = |b: &u8| matches!(b, b' ' | b'\t'..=b'\r');
        let text = &text[text.iter().take_while(|b| blank(b)).count()..];
        let sign = usize::from(matches!(text.first(), Some(b'+' | b'-')));
        let digits = text[sign..].iter().take_while(|b| b.is_ascii_digit()).count();
        std::str::from_utf8(&text[..sign + digits]).ok()?.parse().ok()
    }

    fn merged(operands: &[&[u8]], out: &mut Vec<u8>) -> Option<()> {
        let mut all = Vec::new();
        for operand in operands {
            // This is a two-way merge, not a sort: it keeps the order within an operand.
            let right = Self::numbers(operand)?;
            let left = std::mem::take(&mut all);
            let (mut l, mut r) = (left.into_iter().peekable(), right.into_iter().peekable());
            while let (Some(a), Some(b)) = (l.peek(), r.peek()) {
                let smaller = if a < b { &mut l } else { &mut r };
                all.extend(smaller.next());
            }
            all.extend(l);
            all.extend(r);
        }
        let text: Vec<String> = all.iter().map(i32::to_string).collect();
        out.extend_from_slice(text.join(",").as_bytes());
        Some(())
    }
}

impl MergeOperator for SortList {
    fn name(&self) -> &str {
        "MergeSortOperator"
    }

    fn full(&self, merge: &FullMerge<'_>, out: &mut Vec<u8>) -> Answer {
        with_default_column(merge, out, |_, out| {
            Self::merged(merge.operands, out).map(|()| Merged::New).ok_or(Failure::Merge)
        })
    }

    fn partial(&self, _key: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> bool {
        Self::merged(operands, out).is_some()
    }
}

/// Returns the operator with this name or nickname, as option strings give it. A delimiter may follow in the
/// syntax of options (`id=stringappend;delimiter=:`).
pub fn by_name(text: &str) -> Option<Arc<dyn MergeOperator>> {
    let fields = if text.contains('=') {
        options_ini::parse_map(text).ok()?
    } else {
        vec![("id".into(), options_ini::strip_outer_braces(text).into())]
    };
    let mut name = String::new();
    let mut delimiter = b",".to_vec();
    for (field, value) in fields {
        match &*field {
            "id" => name = value,
            "delimiter" => delimiter = options_ini::unescape(&value).into_bytes(),
            _ => return None,
        }
    }
    let delimiter = &*delimiter;
    Some(match &*name {
        "put" | "put_v1" | "PutOperator" => Arc::new(Put),
        "max" | "MaxOperator" => Arc::new(Max),
        "uint64add" | "UInt64AddOperator" => Arc::new(Associative(UInt64Add)),
        "bytesxor" | "BytesXOR" => Arc::new(Associative(BytesXor)),
        "sortlist" | "MergeSortOperator" => Arc::new(SortList),
        "stringappend" | "StringAppendOperator" => Arc::new(StringAppend::new(delimiter)),
        "stringappendtest" | "StringAppendTESTOperator" => Arc::new(StringAppendTest::new(delimiter)),
        _ => return None,
    })
}

impl Object for dyn MergeOperator {
    fn make(text: &str) -> base::Result<Arc<Self>> {
        by_name(text).ok_or_else(|| no_such("merge operator", text))
    }

    fn option_text(&self) -> String {
        MergeOperator::option_text(self)
    }
}

/// Returns the nicknames that `by_name` accepts.
pub fn names() -> &'static [&'static str] {
    &["put", "max", "uint64add", "bytesxor", "sortlist", "stringappend", "stringappendtest"]
}
