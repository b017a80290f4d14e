//! A state of the database, and the words for a recovered state that is none of the possible states.

use std::collections::BTreeMap;

use crate::state::Key;

pub(super) type Rows = BTreeMap<Key, Vec<u8>>;

/// The content of the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct State {
    pub rows: Rows,
    pub prepared: BTreeMap<Vec<u8>, Rows>,
}

/// Returns the words: the first row or transaction that differs, the found state, and the first and the last possible state.
pub(super) fn difference(what: &str, found: &State, may: &[State]) -> String {
    let show = |state: &State| {
        let rows: Vec<_> =
            state.rows.keys().map(|k| format!("{}:{}", k.family, k.bytes.escape_ascii())).collect();
        let prepared: Vec<_> = state.prepared.keys().map(|name| name.escape_ascii().to_string()).collect();
        format!("rows {} prepared {}", rows.join(" "), prepared.join(" "))
    };
    let last = may.last().cloned().unwrap_or_default();
    let other = last.rows.iter().find(|(key, value)| found.rows.get(*key) != Some(*value));
    let differs = other.map(|(key, value)| {
        let found = found.rows.get(key);
        format!("{}:{} is {found:02x?} and not {value:02x?}", key.family, key.bytes.escape_ascii())
    });
    let prepared = last.prepared.iter().find(|(name, rows)| found.prepared.get(*name) != Some(*rows));
    let differs = differs.or_else(|| {
        prepared.map(|(name, rows)| {
            format!("{} has {:02x?} and not {rows:02x?}", name.escape_ascii(), found.prepared.get(name))
        })
    });
    let ends = [may.first(), may.last()].into_iter().flatten().map(show).collect::<Vec<_>>();
    format!(
        "{what}: none of {} states ({})\nfound   {}\nallowed {}",
        may.len(),
        differs.unwrap_or_default(),
        show(found),
        ends.join("\n     .. ")
    )
}
