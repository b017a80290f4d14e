//! The imports between the modules of `engine`. A module imports only from rows below its own row.

use std::path::Path;

/// Each module with its row. A larger number is a higher row. Modules of one row never import each other, except for
/// [`PAIRS`].
const ROWS: [(&str, u8); 39] = [
    ("db", 11),
    ("replica", 11),
    ("opening", 10),
    ("upkeep", 9),
    ("jobs", 8),
    ("schedule", 7),
    ("sst_reader", 7),
    ("properties", 6),
    ("write", 6),
    ("read", 6),
    ("iter", 6),
    ("flush", 6),
    ("compaction", 6),
    ("recovery", 6),
    ("repair", 6),
    ("ingest", 6),
    ("apply", 5),
    ("source", 5),
    ("output", 5),
    ("commit", 5),
    ("family", 4),
    ("direct", 4),
    ("wal", 3),
    ("manifest", 3),
    ("files", 3),
    ("batch", 3),
    ("components", 3),
    ("info_log", 3),
    ("errors", 3),
    ("options", 2),
    ("event", 2),
    ("trace", 2),
    ("prepared", 2),
    ("remote", 2),
    ("stats", 2),
    ("sequence", 1),
    ("release_notifier", 1),
    ("ranks", 1),
    ("sync", 0),
];

/// Allowed imports within a row. The reason for a pair stands above the pair.
const PAIRS: [(&str, &str); 0] = [];

fn row(room: &str) -> Option<u8> {
    ROWS.iter().find(|(name, _)| *name == room).map(|(_, row)| *row)
}

/// Adds a fault for each import of `engine` from the same row or from a higher row, and for each module without a row.
pub fn check(root: &Path, faults: &mut Vec<String>) {
    let src = root.join("engine/src");
    for path in crate::rust_files(&src) {
        let Ok(inside) = path.strip_prefix(&src) else { continue };
        let first = inside.components().next().map(|c| c.as_os_str().to_string_lossy().into_owned());
        let Some(room) = first.map(|name| name.trim_end_matches(".rs").to_string()) else { continue };
        if room == "lib" || path.file_name().is_some_and(|n| n == "tests.rs") {
            continue;
        }
        let Some(own) = row(&room) else {
            faults.push(format!(
                "{}: room `{room}` is on no row of xtask/src/rooms.rs",
                crate::shown(root, &path)
            ));
            continue;
        };
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        for (index, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("//") {
                continue;
            }
            for part in line.split("crate::").skip(1) {
                let used: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let Some(other) = row(&used) else { continue };
                let decided = PAIRS.contains(&(room.as_str(), used.as_str()));
                if used != room && other >= own && !decided {
                    faults.push(format!(
                        "{}:{}: {room} (row {own}) imports {used} (row {other}); a module imports only from lower rows",
                        crate::shown(root, &path),
                        index + 1
                    ));
                }
            }
        }
    }
}
