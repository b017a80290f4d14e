//! The status in the result of a worker.

use base::{Error, Kind, Result};

use super::text::Fields;

/// The kinds of errors, by RocksDB's `Status::Code` from 1 on.
const KINDS: [Kind; 15] = [
    Kind::NotFound,
    Kind::Corruption,
    Kind::NotSupported,
    Kind::InvalidArgument,
    Kind::IoError,
    Kind::MergeInProgress,
    Kind::Incomplete,
    Kind::ShutdownInProgress,
    Kind::TimedOut,
    Kind::Aborted,
    Kind::Busy,
    Kind::Expired,
    Kind::TryAgain,
    Kind::CompactionTooLarge,
    Kind::ColumnFamilyDropped,
];

/// Reads a status. Returns `None` for OK.
///
/// # Errors
/// InvalidArgument if a field does not decode.
pub fn read(fields: &Fields<'_>) -> Result<Option<Error>> {
    let code: usize = fields.number("code")?;
    let Some(at) = code.checked_sub(1) else { return Ok(None) };
    let kind = KINDS.get(at).copied();
    let kind = kind.ok_or_else(|| Error::invalid_argument(format!("unknown status code {code}")))?;
    let message = String::from_utf8_lossy(&fields.bytes("message")?).into_owned();
    Ok(Some(Error::new(kind, message)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_the_numbers_of_kinds() -> Result<()> {
        for (at, kind) in KINDS.iter().enumerate() {
            assert_eq!(*kind as usize, at + 1);
            let text = format!("code={};message=616263;", at + 1);
            let error = read(&Fields::parse(&text)?)?;
            assert_eq!(error.map(|e| (e.kind(), e.message().to_string())), Some((*kind, "abc".to_string())));
        }
        assert!(read(&Fields::parse("code=0;")?)?.is_none());
        assert!(read(&Fields::parse("code=99;")?).is_err());
        Ok(())
    }
}
