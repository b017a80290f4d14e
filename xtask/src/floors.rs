//! The arrows between crates. A crate imports only from floors below it: never a neighbour, never upward.
//! The rigs (`testkit`, `sim`, `xtask`) import what they test.

use std::path::Path;

/// Crate and floor, as drawn in `docs/architecture.md`.
const FLOORS: [(&str, u8); 17] = [
    ("kernel", 0),
    ("base", 1),
    ("format", 2),
    ("mem", 2),
    ("compress", 2),
    ("env", 2),
    ("lsm", 3),
    ("table", 3),
    ("objectfs", 3),
    ("options", 4),
    ("engine", 5),
    ("inspect", 6),
    ("ironstone", 7),
    ("tools", 8),
    ("c", 8),
    ("rocksdb", 8),
    ("jni", 8),
];

/// What a crate of the engine may use that is not ours. Locks, chance and calls of the system come from `env`, and below
/// it from the rooms that hold `unsafe`: so no clock, thread or random source comes in by another crate.
const OUTSIDE: [(&str, &[&str]); 12] = [
    ("kernel", &[]),
    ("base", &[]),
    ("format", &[]),
    ("mem", &["parking_lot", "libc", "loom"]),
    ("compress", &["bzip2", "lz4_flex", "ruzstd", "snap", "zlib-rs", "zstd-safe"]),
    ("env", &["libc", "parking_lot", "arc-swap", "shuttle"]),
    ("lsm", &[]),
    ("table", &[]),
    ("options", &[]),
    ("engine", &[]),
    // Each behind a feature that is off by default.
    ("ironstone", &["opentelemetry", "prometheus-client", "tracing"]),
    ("rocksdb", &["serde"]),
];

/// Adds a fault for each dependency in a `Cargo.toml` that is not on a floor below its crate.
pub fn check(root: &Path, faults: &mut Vec<String>) {
    for (name, floor) in FLOORS {
        let path = root.join(name).join("Cargo.toml");
        let Ok(manifest) = std::fs::read_to_string(&path) else { continue };
        let mut section = String::new();
        for (index, line) in manifest.lines().enumerate() {
            let line = line.trim();
            if line.starts_with('[') {
                section = line.trim_matches(['[', ']']).to_string();
                continue;
            }
            let dependency = line.split(['.', '=', ' ']).next().unwrap_or_default();
            let shipped = section == "dependencies"
                || section.starts_with("target.") && section.ends_with(".dependencies");
            if let Some((_, allowed)) = OUTSIDE.iter().find(|(n, _)| *n == name)
                && shipped
                && !dependency.is_empty()
                && !dependency.starts_with('#')
                && FLOORS.iter().all(|(n, _)| *n != dependency)
                && !allowed.contains(&dependency)
            {
                faults.push(format!("{name}/Cargo.toml:{}: {name} may not use {dependency}", index + 1));
            }
            if section != "dependencies" {
                continue;
            }
            if let Some((_, below)) = FLOORS.iter().find(|(n, _)| *n == dependency)
                && *below >= floor
            {
                faults.push(format!(
                    "{name}/Cargo.toml:{}: {name} (floor {floor}) imports {dependency} (floor {below}); \
                     arrows go down only",
                    index + 1
                ));
            }
        }
    }
}
