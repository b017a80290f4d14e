//! How often a repair restores an SST file with one flipped bit.

use std::path::{Path, PathBuf};

use base::Order;
use env::{Env, ReadHints};
use format::checksum::ChecksumType;
use table::sst::OpenOptions;
use table::sst::salvage::{Salvaged, salvage};
use testkit::chance::Chance;
use testkit::golden::root;

type Row = (Vec<u8>, Vec<u8>);

/// Salvages an SST file with these bytes. Returns the report and the rows.
fn rows(bytes: &[u8], order: &Order) -> (Salvaged, Vec<Row>) {
    let (env, path) = (Env::memory(1), Path::new("/000001.sst"));
    env.fs.write_all(path, bytes, false).unwrap();
    let file = env.fs.open_random(path, &ReadHints::default()).unwrap();
    let options = OpenOptions { order: order.clone(), ..OpenOptions::default() };
    let mut rows = Vec::new();
    let salvaged = salvage(file, bytes.len() as u64, &options, None, &mut |key, value| {
        rows.push((key.to_vec(), value.to_vec()));
        Ok(())
    });
    (salvaged.unwrap_or_default(), rows)
}

/// Collects the block-based SST files with checksums under `dir`.
fn tables(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tables(&path, out);
        } else if path.extension().is_some_and(|e| e == "sst") {
            out.push(path);
        }
    }
}

/// The golden databases have SST files of all checksums, compressions, index types and filter types. The test draws bits of
/// each SST file (`BITS` bits, default 1) and flips one bit at a time. Repair must restore all rows in 999 of 1000 cases.
#[test]
fn a_flipped_bit_is_put_right() {
    let bits: u64 = std::env::var("BITS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut paths = Vec::new();
    tables(&root(), &mut paths);
    paths.sort();
    let (mut flipped, mut wrong) = (0u64, Vec::new());
    for (seed, path) in paths.iter().enumerate() {
        let mut bytes = std::fs::read(path).unwrap();
        let found = rows(&bytes, &Order::Bytewise).0.properties;
        let name = found.map(|p| String::from_utf8(p.comparator_name).unwrap()).unwrap_or_default();
        let order = Order::by_name(&name).unwrap_or_default();
        let (sound, expected) = rows(&bytes, &order);
        let checked = sound.footer.as_ref().is_some_and(|f| f.checksum != ChecksumType::None);
        // Skip files that are damaged on purpose, have no checksums, hold blobs, or are of another kind.
        if !sound.is_whole() || !checked {
            continue;
        }
        let chance = &mut Chance::new(seed as u64);
        for _ in 0..bits {
            let (at, bit) = (chance.below(bytes.len() as u64) as usize, chance.below(8));
            bytes[at] ^= 1 << bit;
            let (after, rows) = rows(&bytes, &order);
            flipped += 1;
            if rows != expected || after.tombstones != sound.tombstones || !after.losses.is_empty() {
                wrong.push(format!("{} bit {bit} of byte {at}: {:?}", path.display(), after.losses));
            }
            bytes[at] ^= 1 << bit;
        }
    }
    println!("{} of {flipped} flipped bits put right", flipped - wrong.len() as u64);
    assert!(
        flipped > 100 * bits && wrong.len() as u64 * 1000 <= flipped,
        "{} of {flipped}: {}",
        wrong.len(),
        wrong.join("\n")
    );
}
