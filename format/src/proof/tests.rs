use super::*;

fn sample() -> Proof {
    Proof {
        db_id: "3d1a0b9e-3a5b-4c3e-9d6e-0e1f2a3b4c5d".to_string(),
        written_s: 1_700_000_000,
        closed: true,
        manifest: Extent { number: FileNumber::new(5), bytes: 461, digest: Some(0x0abc_def0) },
        wals: vec![
            Extent { number: FileNumber::new(4), bytes: 1121, digest: Some(7) },
            Extent { number: FileNumber::new(9), bytes: 0, digest: None },
        ],
        options: Some(OptionsExtent::of(FileNumber::new(7), &[b'x'; 1300])),
    }
}

#[test]
fn a_proof_reads_back_as_it_was_written() {
    for proof in [sample(), Proof::default(), Proof { closed: false, options: None, ..sample() }] {
        let bytes = proof.encode();
        assert_eq!(Proof::decode(&bytes).unwrap(), proof, "{}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn a_proof_with_any_bit_flipped_or_cut_anywhere_is_none() {
    let bytes = sample().encode();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            assert!(Proof::decode(&damaged).is_err(), "bit {bit} of byte {at}");
        }
        assert!(Proof::decode(&bytes[..at]).is_err(), "cut at {at}");
    }
    assert!(Proof::decode(&[&bytes[..], b"\n"].concat()).is_err());
}

#[test]
fn a_changed_options_file_is_detected_by_its_byte_or_its_sector() {
    let content: Vec<u8> = (0..1300u32).map(|i| (i % 251) as u8).collect();
    let extent = OptionsExtent::of(FileNumber::new(7), &content);
    assert_eq!(extent.difference(&content), None);
    for at in [0, 511, 512, 1299] {
        let mut changed = content.clone();
        changed[at] ^= 4;
        assert_eq!(extent.difference(&changed), Some(at as u64));
    }
    let mut changed = content.clone();
    changed[600..700].fill(0);
    assert_eq!(extent.difference(&changed), Some(512));
    assert_eq!(extent.difference(&content[..1000]), Some(512));
    assert_eq!(extent.difference(&content[..1024]), Some(1024));
    assert_eq!(extent.difference(&[&content[..], b"\n"].concat()), Some(1024));
    assert_eq!(extent.difference(b""), Some(0));
}
