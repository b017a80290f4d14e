//! An LSM tree drawn in text, and read back from it: the language of tests, logs and tools.
//!
//! ```text
//! L0: 12[a#7,SET-c#3,DEL] size=100 epoch=4
//! L1: 9[d#2,SET-e#1,SET] size=50
//! ```

use base::key;

/// An internal key as `a#7,SET`; an exclusive end as `a#inf,RANGEDEL`.
pub fn key(internal: &[u8]) -> String {
    let (user, seq, kind) = key::split(internal);
    let word = match key::ValueType::from_u8(kind) {
        Some(kind) => kind.word().to_string(),
        None => format!("{kind:#x}"),
    };
    if seq == key::MAX_SEQUENCE {
        format!("{}#inf,{word}", user.escape_ascii())
    } else {
        format!("{}#{seq},{word}", user.escape_ascii())
    }
}
