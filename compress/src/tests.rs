use proptest::prelude::*;
use serde_json::Value;
use testkit::hex::of as hex;

use super::*;

fn vectors() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/formats/vectors-sst.json");
    let mut all: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    match all["sections"]["compressed_block"]["vectors"].take() {
        Value::Array(vectors) if !vectors.is_empty() => vectors,
        _ => panic!("no vectors"),
    }
}

/// Returns text with near and far repetitions, like blocks of keys.
fn text(len: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(len + 64);
    let mut i = 0u64;
    while out.len() < len {
        let noise = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
        out.extend_from_slice(format!("key{i:08}=value of {} and {noise};", i % 17).as_bytes());
        i += 1;
    }
    out.truncate(len);
    out
}

/// Returns every compression type of this build with several sets of options.
fn variants() -> Vec<(Compression, CompressionOptions)> {
    let mut variants = Vec::new();
    for kind in supported() {
        let levels: &[i32] = match kind {
            Compression::None => continue,
            Compression::Lz4 => &[CompressionOptions::DEFAULT_LEVEL, 0, -2, -9, -70_000, 3],
            Compression::Lz4hc => &[CompressionOptions::DEFAULT_LEVEL, 1, 2, 5, 12, -1],
            Compression::Zlib => &[CompressionOptions::DEFAULT_LEVEL, 0, 1, 9],
            Compression::Zstd => &[CompressionOptions::DEFAULT_LEVEL, 0, -5, 1, 12],
            _ => &[CompressionOptions::DEFAULT_LEVEL],
        };
        for &level in levels {
            variants.push((kind, CompressionOptions { level, ..Default::default() }));
        }
    }
    variants
}

#[test]
fn rocksdbs_blocks_decompress() {
    for vector in vectors() {
        let kind = Compression::from_byte(vector["compression_type"].as_u64().unwrap() as u8).unwrap();
        let dict = Dictionary::new(hex(&vector["dict"]));
        let (payload, expected) = (hex(&vector["payload"]), hex(&vector["uncompressed"]));
        let result = decompress(kind, &payload, Some(&dict));
        if !kind.is_supported()
            || (cfg!(not(feature = "zstd")) && kind == Compression::Zstd && !dict.raw().is_empty())
        {
            continue;
        }
        assert_eq!(result.unwrap(), expected, "{kind}");
        assert_eq!(uncompressed_len(kind, &payload).unwrap(), expected.len());
        let mut block = vec![0; expected.len()];
        decompress_into(kind, &payload, Some(&dict), &mut block).unwrap();
        assert_eq!(block, expected);
        assert!(decompress_into(kind, &payload, Some(&dict), &mut block[1..]).unwrap_err().is_corruption());
    }
}

#[test]
fn blocks_decompress_to_their_input_at_every_level_and_size() {
    for (kind, options) in variants() {
        let mut compressor = Compressor::new(kind, &options, None).unwrap();
        let mut payload = Vec::new();
        for len in [0, 1, 5, 12, 13, 100, 4096, 16_384, 100_000, 300_000] {
            let block = text(len);
            let kept = compressor.compress(&block, &mut payload).unwrap();
            assert!(
                kept || len < 4096 || options.level == 0 || options.level < -60_000,
                "{kind} {} {len}",
                options.level
            );
            if kept {
                assert!(payload.len() <= options.limit(len));
                assert_eq!(
                    decompress(kind, &payload, None).unwrap(),
                    block,
                    "{kind} {} {len}",
                    options.level
                );
            }
        }
    }
}

#[test]
fn dictionaries_shorten_blocks_that_decompress_to_their_input() {
    let dict = text(5000);
    let block = text(3000);
    for (kind, options) in variants() {
        if cfg!(not(feature = "zstd")) && kind == Compression::Zstd {
            assert!(Compressor::new(kind, &options, Some(&dict)).is_err());
            continue;
        }
        let (mut with, mut without) = (Vec::new(), Vec::new());
        let mut primed = Compressor::new(kind, &options, Some(&dict)).unwrap();
        let kept = primed.compress(&block, &mut with).unwrap();
        Compressor::new(kind, &options, None).unwrap().compress(&block, &mut without).unwrap();
        if !kept {
            continue;
        }
        let digested = Dictionary::new(dict.clone());
        assert_eq!(decompress(kind, &with, Some(&digested)).unwrap(), block, "{kind} {}", options.level);
        if !matches!(kind, Compression::Snappy | Compression::Bzip2) {
            assert!(with.len() < without.len(), "{kind} {}", options.level);
        }
        // The compressor and its dictionary also work for the next block.
        assert!(primed.compress(&block, &mut without).unwrap());
        assert_eq!(with, without);
    }
}

#[test]
fn noise_is_not_worth_it() {
    let mut x = 1u64;
    let noise: Vec<u8> = (0..4096)
        .map(|_| {
            x = x.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (x >> 56) as u8
        })
        .collect();
    for (kind, options) in variants() {
        let mut compressor = Compressor::new(kind, &options, None).unwrap();
        assert!(!compressor.compress(&noise, &mut Vec::new()).unwrap(), "{kind} {}", options.level);
    }
}

#[test]
fn incompressible_blocks_leave_no_state_in_the_compressor() {
    let mut x = 1u64;
    let mut noise = |len: usize| -> Vec<u8> {
        let byte = |_| {
            x = x.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (x >> 56) as u8
        };
        (0..len).map(byte).collect()
    };
    for (kind, options) in variants() {
        for len in [250, 4096] {
            let mut compressor = Compressor::new(kind, &options, None).unwrap();
            // This size is larger than every internal buffer of a codec, except for the block itself.
            let payload = &mut Vec::new();
            for _ in 0..(100 << 10) / len {
                assert!(!compressor.compress(&noise(len), payload).unwrap(), "{kind} {}", options.level);
            }
            let block = text(8000);
            if compressor.compress(&block, payload).unwrap() {
                assert_eq!(decompress(kind, payload, None).unwrap(), block, "{kind} {}", options.level);
            }
        }
    }
}

#[test]
fn higher_lz4_levels_are_shorter() {
    let block = text(60_000);
    let len = |level| {
        let options = CompressionOptions { level, ..Default::default() };
        let mut payload = Vec::new();
        let mut compressor = Compressor::new(Compression::Lz4, &options, None).unwrap();
        assert!(compressor.compress(&block, &mut payload).unwrap());
        (payload.len(), compressor.stored_kind())
    };
    if Compression::Lz4.is_supported() {
        assert_eq!(len(-1).1, Compression::Lz4);
        assert_eq!(len(9).1, Compression::Lz4hc);
        assert!(len(9).0 < len(-1).0);
        assert!(len(12).0 <= len(3).0);
        assert!(len(-1).0 < len(-40).0);
    }
}

#[test]
#[cfg(feature = "lz4")]
fn another_decoder_reads_our_lz4_blocks() {
    let dict = text(70_000);
    let variants =
        variants().into_iter().filter(|(kind, _)| matches!(kind, Compression::Lz4 | Compression::Lz4hc));
    for (kind, options) in variants {
        for len in [0, 5, 13, 100, 4096, 8191, 8192, 65_535, 65_536, 300_000] {
            let block = text(len);
            let mut payload = Vec::new();
            Compressor::new(kind, &options, None).unwrap().compress_always(&block, &mut payload).unwrap();
            assert_eq!(lz4_flex::block::decompress_size_prepended(&prefixed(&payload)).unwrap(), block);
            let mut primed = Compressor::new(kind, &options, Some(&dict)).unwrap();
            primed.compress_always(&block, &mut payload).unwrap();
            let tail = &dict[dict.len() - 65_535..];
            let back = lz4_flex::block::decompress_size_prepended_with_dict(&prefixed(&payload), tail);
            assert_eq!(back.unwrap(), block, "{kind} {} {len}", options.level);
        }
    }
}

#[test]
#[cfg(feature = "snappy")]
fn another_decoder_reads_our_snappy_blocks() {
    let mut compressor = Compressor::new(Compression::Snappy, &CompressionOptions::default(), None).unwrap();
    for len in [0, 1, 5, 60, 61, 100, 256, 257, 4096, 8191, 8192, 65_535, 65_536, 300_000] {
        let mut payload = Vec::new();
        for block in [text(len), vec![7; len], (0..len).map(|at| ((at * at) >> 7) as u8).collect()] {
            compressor.compress_always(&block, &mut payload).unwrap();
            assert_eq!(snap::raw::Decoder::new().decompress_vec(&payload).unwrap(), block, "{len}");
        }
    }
}

/// Writes the length before an LZ4 stream as four bytes instead of as a varint.
#[cfg(feature = "lz4")]
fn prefixed(payload: &[u8]) -> Vec<u8> {
    let (len, prefix) = base::coding::get_varint64(payload).unwrap();
    [&(len as u32).to_le_bytes(), &payload[prefix..]].concat()
}

#[test]
#[cfg(feature = "zstd")]
fn trained_dictionaries_serve_small_blocks() {
    let samples = text(200_000);
    let lens = vec![1000; 200];
    let options =
        CompressionOptions { max_dict_bytes: 4096, zstd_max_train_bytes: 200_000, ..Default::default() };
    assert_eq!(dict_sample_bytes_max(Compression::Zstd, &options), 200_000);
    let dict = make_dict(Compression::Zstd, &options, &samples, &lens).unwrap();
    assert!(dict.starts_with(&[0x37, 0xa4, 0x30, 0xec]) && dict.len() <= 4096);
    let mut payload = Vec::new();
    let mut compressor = Compressor::new(Compression::Zstd, &options, Some(&dict)).unwrap();
    assert!(compressor.compress(&samples[500..1500], &mut payload).unwrap());
    let block = decompress(Compression::Zstd, &payload, Some(&Dictionary::new(dict))).unwrap();
    assert_eq!(block, &samples[500..1500]);
    let raw = CompressionOptions { use_zstd_dict_trainer: false, ..options };
    assert_eq!(make_dict(Compression::Zstd, &raw, &samples, &lens).unwrap(), &samples[..4096]);
}

#[test]
fn names_round_trip_and_bytes_are_fixed() {
    for kind in [0, 1, 2, 3, 4, 5, 6, 7].map(|byte| Compression::from_byte(byte).unwrap()) {
        assert_eq!(Compression::by_option_name(kind.option_name()), Some(kind));
        assert_eq!(Compression::by_name(kind.name()), Some(kind));
        assert_eq!(Compression::from_byte(kind.byte()).unwrap(), kind);
    }
    assert!(Compression::from_byte(8).unwrap_err().is_corruption());
    // The type byte of kZSTDNotFinalCompression, from releases before 10.0.
    assert_eq!(Compression::from_byte(0x40).unwrap(), Compression::Zstd);
    assert_eq!(Compression::by_name("ZSTDNotFinal"), Some(Compression::Zstd));
    assert_eq!(Compression::from_byte(0x80).unwrap_err().kind(), base::Kind::NotSupported);
    assert_eq!(decompress(Compression::Xpress, b"\x01x", None).unwrap_err().kind(), base::Kind::NotSupported);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_block_comes_back(block in proptest::collection::vec(0u8..4, 0..3000)) {
        for (kind, options) in variants() {
            let mut payload = Vec::new();
            if Compressor::new(kind, &options, None).unwrap().compress(&block, &mut payload).unwrap() {
                prop_assert_eq!(&decompress(kind, &payload, None).unwrap(), &block);
            }
        }
    }

    #[test]
    fn any_bytes_decompress_or_are_corruption(bytes in proptest::collection::vec(any::<u8>(), 0..300), len in 0u8..127) {
        let dict = Dictionary::new(text(300));
        let mut payload = vec![len];
        payload.extend_from_slice(&bytes);
        for kind in supported() {
            for dict in [None, Some(&dict)] {
                if let Ok(block) = decompress(kind, &payload, dict) {
                    prop_assert_eq!(block.len(), uncompressed_len(kind, &payload).unwrap());
                }
            }
        }
    }

    #[test]
    fn a_flipped_bit_is_no_panic(at in 0usize..100_000, bit in 0u8..8) {
        for vector in vectors() {
            let kind = Compression::from_byte(vector["compression_type"].as_u64().unwrap() as u8).unwrap();
            let dict = Dictionary::new(hex(&vector["dict"]));
            let mut payload = hex(&vector["payload"]);
            let at = at % payload.len();
            payload[at] ^= 1 << bit;
            let _ = decompress(kind, &payload, Some(&dict));
        }
    }
}
