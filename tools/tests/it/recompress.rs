//! `sst_dump --command=recompress`, `--read_num` and `--parse_internal_key`.

use crate::support::{copy_of, oracle, sst_dump, theirs};

/// Returns the output without times, and without the sizes that depend on the encoder.
fn shape(text: &str) -> Vec<String> {
    let lines =
        text.lines().filter(|line| !line.starts_with("WARNING: ") && !line.starts_with("options.env"));
    let without = |line: &str| {
        let mut words: Vec<_> = line.split_whitespace().collect();
        for label in ["usec:", "Ratio:"] {
            while let Some(at) = words.iter().position(|word| *word == label) {
                words.splice(at..at + 2, []);
            }
        }
        // The first size is the compressed size. The second size is the size before compression.
        if let Some(at) = words.iter().position(|word| *word == "size:").filter(|_| words[0] == "Cx") {
            words.remove(at + 1);
        }
        words.join(" ")
    };
    lines.map(without).collect()
}

#[test]
fn a_table_is_recompressed_as_rocksdb_recompresses_it() {
    let (_scratch, dir) = copy_of("levels");
    let file = dir.join("000037.sst").display().to_string();
    let types = "--compression_types=kNoCompression,kSnappyCompression,kXpressCompression";
    let args = [&file, "--command=recompress", types, "--compression_level=3", "--block_size=4096"];
    let ours = sst_dump(&args).good();
    // Each block has 5 bytes of type and checksum, which the second size does not count.
    assert!(
        ours.contains("Cx level: 3 Cx size:      78152 Uncx size:      78052 Ratio:   0.998720 "),
        "{ours}"
    );
    assert!(ours.contains("Unsupported compression type: kXpressCompression.\n"), "{ours}");
    let Some(tool) = oracle("sst_dump") else {
        eprintln!("SKIPPED the comparison with RocksDB's sst_dump: set IRONSTONE_ORACLE");
        return;
    };
    for args in [
        &args[..],
        &[&file, "--command=recompress"],
        &[&file, "--command=recompress", "--enable_index_compression=0", "--compression_max_dict_bytes=4096"],
        &[
            &file,
            "--command=recompress",
            "--compression_types=kZSTD",
            "--compression_level_from=1",
            "--compression_level_to=3",
        ],
    ] {
        assert_eq!(shape(&sst_dump(args).good()), shape(&theirs(&tool, args).text()), "{args:?}");
    }
}

#[test]
fn wrong_values_of_recompress_are_refused() {
    for (option, words) in [
        ("--compression_types=foo", "foo is not a valid CompressionType\n"),
        (
            "--compression_level_from=1",
            "Specify both --compression_level_from and --compression_level_to.\n\n",
        ),
        ("--compression_parallel_threads=101", "--compression_parallel_threads=101: at most 100\n"),
    ] {
        let ran = sst_dump(&["x.sst", "--command=recompress", option]);
        assert_eq!((ran.status, &ran.err[..]), (1, words));
    }
}

#[test]
fn a_limit_that_is_the_number_of_entries_prints_the_properties() {
    let (_scratch, dir) = copy_of("levels");
    let file = dir.join("000037.sst").display().to_string();
    let properties =
        |limit: &str| sst_dump(&[&file, limit, "--show_properties"]).good().contains("# entries: 610");
    assert!(properties("--read_num=610") && properties("--read_num=0") && !properties("--read_num=609"));
}

#[test]
fn a_wrong_internal_key_has_rocksdbs_status() {
    let ran = sst_dump(&["--parse_internal_key=0x616"]);
    let words = "ERROR: Invalid key input '0x616' Use 0x{hex representation of internal rocksdb key}\n";
    assert_eq!((ran.status, &ran.err[..]), (255, words));
    assert_eq!(sst_dump(&["--parse_internal_key=0x61"]).status, 255);
    let text = sst_dump(&["--parse_internal_key=0x61620107000000000000"]).good();
    assert_eq!(text, "key='6162' seq:7, type:1\n");
}

/// The properties of a table decide whether its file is processed.
#[test]
fn files_are_chosen_by_their_properties() {
    let (_scratch, dir) = copy_of("levels");
    let file = dir.join("000037.sst").display().to_string();
    let chosen = |option: &str| sst_dump(&[&file, "--command=none", "--show_properties", option]);
    for option in ["--require_property_regex=# entries: \\d+", "--exclude_property_regex=no such text"] {
        assert!(chosen(option).good().contains("Table Properties:"), "{option}");
    }
    let required = "--require_property_regex=no such text";
    let excluded = "--exclude_property_regex=comparator name: leveldb";
    for (option, reason) in [(required, "doesn't match required regex"), (excluded, "matches excluded regex")]
    {
        let ran = chosen(option);
        assert_eq!(ran.status, 1, "no file is left");
        let line = format!("{file}: skipping because properties string {reason}\n");
        assert!(ran.err.starts_with(&line), "{}", ran.err);
    }
    assert!(chosen("--require_property_regex=(").err.contains("--require_property_regex=("));
}
