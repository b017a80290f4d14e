//! A [`Level`] as a plain number in JSON: for `#[serde(with = "level_number")]`.

use base::Level;
use serde::{Deserialize, Deserializer, Serializer};

pub fn serialize<S: Serializer>(level: &Level, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u8(level.get())
}

/// Reads a number. A number above 255 becomes 255: only a damaged bundle has such a level.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Level, D::Error> {
    u64::deserialize(deserializer).map(|number| Level::from_index(number as usize))
}
