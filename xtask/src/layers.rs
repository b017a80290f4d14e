//! The imports between crates. A crate imports only from layers below its own layer.
//! The test rigs (`testkit`, `sim`, `peer`, `fuzz`, `xtask`) have no layer: they import the crates that they test.

use std::path::Path;

/// Each crate with its layer, as drawn in `docs/architecture.md`.
const LAYERS: [(&str, u8); 16] = [
    ("kernel", 0),
    ("base", 1),
    ("format", 2),
    ("mem", 2),
    ("compress", 2),
    ("env", 2),
    ("lsm", 3),
    ("table", 3),
    ("options", 4),
    ("engine", 5),
    ("inspect", 6),
    ("ironstone", 7),
    ("tools", 8),
    ("c", 8),
    ("rocksdb", 8),
    ("jni", 8),
];

/// The external crates that each crate may use. Locks, random numbers and system calls come from `env`, or from the crates
/// below it that may hold `unsafe` code. So no external crate brings another clock, thread or random source.
const OUTSIDE: [(&str, &[&str]); 12] = [
    ("kernel", &[]),
    ("base", &[]),
    ("format", &[]),
    ("mem", &["parking_lot", "libc", "loom"]),
    ("compress", &["bzip2", "lz4_flex", "ruzstd", "zlib-rs", "zstd-safe"]),
    ("env", &["libc", "parking_lot", "arc-swap", "shuttle"]),
    ("lsm", &[]),
    ("table", &[]),
    ("options", &[]),
    ("engine", &[]),
    // Each behind a feature that is off by default.
    ("ironstone", &["opentelemetry", "prometheus-client", "tracing"]),
    ("rocksdb", &["serde"]),
];

/// Adds a fault for each dependency in a `Cargo.toml` that is not on a layer below its crate.
pub fn check(root: &Path, faults: &mut Vec<String>) {
    for (name, layer) in LAYERS {
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
                && LAYERS.iter().all(|(n, _)| *n != dependency)
                && !allowed.contains(&dependency)
            {
                faults.push(format!("{name}/Cargo.toml:{}: {name} may not use {dependency}", index + 1));
            }
            if section != "dependencies" {
                continue;
            }
            if let Some((_, below)) = LAYERS.iter().find(|(n, _)| *n == dependency)
                && *below >= layer
            {
                faults.push(format!(
                    "{name}/Cargo.toml:{}: {name} (layer {layer}) imports {dependency} (layer {below}); \
                     a crate imports only from lower layers",
                    index + 1
                ));
            }
        }
    }
}
