//! Compares LZ4 and Snappy with their reference libraries: speed and size, by block size and content.
//!
//! ```text
//! cargo run --release -p ironstone-peer --example codecs -- [liblz4.so.1 [libsnappy.so.1]]
//! ```
//! Run the program in the root of the repository: text, JSON and table content are files of the repository. Each content is
//! cut into blocks. Both sides take turns, block by block. The time of a block is the shortest of several passes, so other
//! work on the machine hardly changes the ratios. `compress` and `decompress` are the speed of Ironstone divided by the
//! speed of the reference library; both sides decompress what Ironstone compressed. `size` is the size with Ironstone divided by the
//! size with the reference library, without the length that RocksDB and Ironstone store before an LZ4 stream. A block that does not
//! become smaller counts with its own size.
//!
//! The time of large blocks depends on other work of the machine. Instructions do not:
//!
//! ```text
//! valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='*codecs*counted*' \
//!     target/release/examples/codecs count lz4 tables 4096 ours
//! ```
//! This compresses one content once, in blocks of 4,096 KiB, with Ironstone (`ours`) or with the reference library (`theirs`).

#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a bench")]

use std::ffi::{c_char, c_int};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use compress::{Compression, CompressionOptions, Compressor, decompress_into};
use libloading::Library;

const BLOCK_SIZES: [usize; 4] = [4 << 10, 16 << 10, 256 << 10, 4 << 20];
/// The bytes of each content, and the number of passes over it.
const CONTENT_BYTES: usize = 4 << 20;
const PASSES: usize = 5;

type Lz4 = unsafe extern "C" fn(*const c_char, *mut c_char, c_int, c_int) -> c_int;
type SnappyCompress = unsafe extern "C" fn(*const c_char, usize, *mut c_char, *mut usize) -> c_int;
type SnappyUncompress = SnappyCompress;

/// The two functions of a reference library.
enum Reference {
    Lz4 { compress: Lz4, decompress: Lz4 },
    Snappy { compress: SnappyCompress, uncompress: SnappyUncompress },
}

impl Reference {
    fn lz4(path: &str) -> Reference {
        let library = open(path);
        // SAFETY: these are the signatures of `LZ4_compress_default` and `LZ4_decompress_safe` in `lz4.h`.
        let (compress, decompress) =
            unsafe { (find(&library, "LZ4_compress_default"), find(&library, "LZ4_decompress_safe")) };
        // The pointers must stay valid until the process ends.
        std::mem::forget(library);
        Reference::Lz4 { compress, decompress }
    }

    fn snappy(path: &str) -> Reference {
        let library = open(path);
        // SAFETY: these are the signatures of `snappy_compress` and `snappy_uncompress` in `snappy-c.h`; the enumeration that
        // they return has the size of an `int`.
        let (compress, uncompress) =
            unsafe { (find(&library, "snappy_compress"), find(&library, "snappy_uncompress")) };
        // The pointers must stay valid until the process ends.
        std::mem::forget(library);
        Reference::Snappy { compress, uncompress }
    }

    /// Compresses `block` into `out`, which has room for every result. Returns the length.
    fn compress(&self, block: &[u8], out: &mut [u8]) -> usize {
        let (from, to) = (block.as_ptr().cast::<c_char>(), out.as_mut_ptr().cast::<c_char>());
        match self {
            // SAFETY: both slices live during the call, and their lengths are passed.
            Reference::Lz4 { compress, .. } => unsafe {
                compress(from, to, block.len() as c_int, out.len() as c_int) as usize
            },
            Reference::Snappy { compress, .. } => {
                let mut len = out.len();
                // SAFETY: both slices live during the call, and their lengths are passed. `len` has the room and receives the length.
                assert_eq!(unsafe { compress(from, block.len(), to, &raw mut len) }, 0);
                len
            }
        }
    }

    fn decompress(&self, stored: &[u8], out: &mut [u8]) -> usize {
        let (from, to) = (stored.as_ptr().cast::<c_char>(), out.as_mut_ptr().cast::<c_char>());
        match self {
            // SAFETY: both slices live during the call, and their lengths are passed.
            Reference::Lz4 { decompress, .. } => unsafe {
                decompress(from, to, stored.len() as c_int, out.len() as c_int) as usize
            },
            Reference::Snappy { uncompress, .. } => {
                let mut len = out.len();
                // SAFETY: both slices live during the call, and their lengths are passed. `len` has the room and receives the length.
                assert_eq!(unsafe { uncompress(from, stored.len(), to, &raw mut len) }, 0);
                len
            }
        }
    }
}

fn open(path: &str) -> Library {
    // SAFETY: the caller names the reference library, whose initialisers have no effect on this program.
    unsafe { Library::new(path) }.unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns a function of the library.
///
/// # Safety
/// `T` must be the type of a pointer to this function, and the library must stay loaded while the pointer is used.
unsafe fn find<T: Copy>(library: &Library, name: &str) -> T {
    // SAFETY: by the contract of this function.
    *unsafe { library.get::<T>(name.as_bytes()) }.unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The sums over all blocks of one content.
#[derive(Default)]
struct Sums {
    ours: [Duration; 2],
    theirs: [Duration; 2],
    sizes: [usize; 2],
}

fn main() {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    if let [count, library, content, block_kib, side] = &paths[..]
        && count == "count"
    {
        return count_one(library, content, block_kib.parse().expect("a number of KiB"), side == "ours");
    }
    let path = |at: usize, usual: &str| paths.get(at).map_or(usual, String::as_str).to_string();
    let sides = [
        (Compression::Lz4, Reference::lz4(&path(0, "liblz4.so.1"))),
        (Compression::Snappy, Reference::snappy(&path(1, "libsnappy.so.1"))),
    ];
    println!("| library | content | block | compress | decompress | size |\n|---|---|---:|---:|---:|---:|");
    for (kind, reference) in &sides {
        for (name, content) in contents() {
            for block_size in BLOCK_SIZES {
                let sums = measure(*kind, reference, &content, block_size);
                let speed = |at: usize| sums.theirs[at].as_secs_f64() / sums.ours[at].as_secs_f64();
                let back = if sums.ours[1].is_zero() { "-".into() } else { format!("{:.2}", speed(1)) };
                println!(
                    "| {} | {name} | {} KiB | {:.2} | {back} | {:.3} |",
                    kind.flag_name(),
                    block_size >> 10,
                    speed(0),
                    sums.sizes[0] as f64 / sums.sizes[1] as f64
                );
            }
        }
    }
}

/// Compresses one content once. Valgrind counts the instructions of [`counted`].
fn count_one(library: &str, name: &str, block_kib: usize, is_ours: bool) {
    let (_, content) = contents().into_iter().find(|(other, _)| *other == name).expect("a content");
    let (kind, reference) = match library {
        "lz4" => (Compression::Lz4, Reference::lz4("liblz4.so.1")),
        _ => (Compression::Snappy, Reference::snappy("libsnappy.so.1")),
    };
    let mut compressor = Compressor::new(kind, &CompressionOptions::default(), None).expect("supported");
    let (mut payload, mut stored) = (Vec::new(), vec![0; (block_kib << 10) * 2 + 1024]);
    for block in content.chunks_exact(block_kib << 10) {
        counted(|| {
            if is_ours {
                compressor.compress(black_box(block), &mut payload).expect("no cause");
            } else {
                reference.compress(black_box(block), &mut stored);
            }
        });
    }
    println!("{} bytes", content.len());
}

#[inline(never)]
fn counted(run: impl FnOnce()) {
    run();
    black_box(());
}

fn measure(kind: Compression, reference: &Reference, content: &[u8], block_size: usize) -> Sums {
    let mut compressor = Compressor::new(kind, &CompressionOptions::default(), None).expect("supported");
    let (mut payload, mut stored) = (Vec::new(), vec![0; block_size * 2 + 1024]);
    let (mut out, mut back) = (vec![0; block_size], vec![0; block_size]);
    let mut sums = Sums::default();
    for block in content.chunks_exact(block_size) {
        let mut best = [[Duration::MAX; 2]; 2];
        let (mut kept, mut len, mut prefix) = (false, 0, 0);
        for _ in 0..PASSES {
            let took = &mut best;
            kept = timed(&mut took[0][0], || compressor.compress(black_box(block), &mut payload))
                .expect("no cause");
            len = timed(&mut took[1][0], || reference.compress(black_box(block), &mut stored));
            if kept {
                timed(&mut took[0][1], || decompress_into(kind, black_box(&payload), None, &mut out))
                    .expect("own");
                assert!(out == block, "{kind}: another block comes back");
                // Both sides decompress the same stream. Before an LZ4 stream, the payload has its length as a varint.
                prefix = match kind {
                    Compression::Lz4 => 1 + payload.iter().take_while(|byte| **byte >= 0x80).count(),
                    _ => 0,
                };
                let got =
                    timed(&mut took[1][1], || reference.decompress(black_box(&payload[prefix..]), &mut back));
                assert!(got == block_size && back == block, "{kind}: the reference reads another block");
            }
        }
        sums.ours[0] += best[0][0];
        sums.theirs[0] += best[1][0];
        if kept {
            sums.ours[1] += best[0][1];
            sums.theirs[1] += best[1][1];
        }
        sums.sizes[0] += if kept { payload.len() - prefix } else { block_size };
        sums.sizes[1] += len.min(block_size);
    }
    sums
}

fn timed<T>(best: &mut Duration, run: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = run();
    *best = (*best).min(start.elapsed());
    done
}

/// Returns the contents with their names, each of [`CONTENT_BYTES`].
fn contents() -> Vec<(&'static str, Vec<u8>)> {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let noise = (0..CONTENT_BYTES).map(|_| (next() >> 32) as u8).collect();
    let repeats = (0..CONTENT_BYTES).map(|at| b"abcdefg"[at % 7]).collect();
    vec![
        ("text", files("docs", ".md")),
        ("JSON", files("fixtures/golden", ".expect.jsonl")),
        ("random", noise),
        ("repeats of 7 bytes", repeats),
        ("tables", files("fixtures/golden/comp-none", ".sst")),
    ]
}

/// Returns the files below a directory that end with `ending`, one after the other, again and again.
fn files(directory: &str, ending: &str) -> Vec<u8> {
    let mut paths = Vec::new();
    collect(Path::new(directory), ending, &mut paths);
    paths.sort();
    let all: Vec<u8> = paths.iter().flat_map(|path| std::fs::read(path).expect("readable")).collect();
    assert!(
        !all.is_empty(),
        "no file below {directory} ends with {ending}: run in the root of the repository"
    );
    all.iter().copied().cycle().take(CONTENT_BYTES).collect()
}

fn collect(directory: &Path, ending: &str, paths: &mut Vec<std::path::PathBuf>) {
    for entry in
        std::fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
    {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            collect(&path, ending, paths);
        } else if path.to_string_lossy().ends_with(ending) {
            paths.push(path);
        }
    }
}
