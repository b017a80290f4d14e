use super::*;

/// The expected ids are those that RocksDB 11.8.1 computes for a table of this session.
#[test]
fn ids_are_rocksdbs() {
    let id = UniqueId::new(b"SST Writer", "ABCDEFGHIJ0123456789", FileNumber::new(1)).unwrap();
    assert_eq!(id.words(), [0x61d7_dcf4_15d9_cf19, 0x0ada_c97b_8243_2958, 0xdb87_44b0_d510_17a3]);
    assert_eq!(id.external(), [0x6264_6237_dd5e_a0eb, 0x8754_c76a_437b_3f90, 0xc540_6e52_f5e9_f81e]);
    assert_eq!(id.human(), "EBA05EDD37626462-903F7B436AC75487");
    assert_eq!(UniqueId::new(b"x", "short", FileNumber::new(7)), None);
    let id = UniqueId::forced(b"x", "short", FileNumber::new(7));
    assert_eq!(id.words(), [0x1270_12d5_e9df_de89, 0xb084_4fb8_dfce_5ab2, 0x70c7_6893_2cf6_d1ce]);
    let id = UniqueId::forced(b"", "", FileNumber::ZERO);
    assert_eq!(id.words(), [0x6001_c324_468d_497f, 0x0213_baf2_9e99_b347, 0xf848_e35d_cb5a_679b]);
}

#[test]
fn session_ids_print_and_parse_as_rocksdbs() {
    for (upper, lower, text) in [
        (0, 1, "00000000000000000001"),
        (0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, "S0OFG0XRYEX8T9DFC3YO"),
        (u64::MAX, u64::MAX, "1264SGSFZ1CI99JJ7473"),
    ] {
        assert_eq!(SessionId { upper, lower }.to_string(), text);
        // The digits keep the whole lower half and 41 bits of the upper half.
        assert_eq!(SessionId::parse(text).unwrap().lower, lower);
    }
    let session = SessionId::parse("ABCDEFGHIJ0123456789").unwrap();
    assert_eq!(session, SessionId { upper: 0x2f_0d1e_d4b0, lower: 0x61d7_dcf4_15d9_cf19 });
    for bad in ["", "012345678901", "0123456789012345678901234", "ABCDEFGHIJ01234567-9"] {
        assert_eq!(SessionId::parse(bad), None, "{bad}");
    }
}
