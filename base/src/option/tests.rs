use super::*;

crate::options! {
    /// Options of this test.
    Sample;
    /// How many.
    mutable count: u32 = 3, unit: "files", range: "1 and more", since: "9.10";
    /// Names.
    fixed names: Vec<String> = Vec::new();
    /// Only in text.
    unwritten hint: bool = false;
    components
    /// Has no text.
    other: u8 = 0;
}

crate::options! {
    /// A struct of this test.
    #[derive(Debug, PartialEq)]
    Pair;
    /// The old field.
    mutable old: u32 = 0, range: "at most 7";
    /// The new field.
    mutable new: u32 = 0, since: "9.10";
    components
}
crate::nested_options!(Pair, parse_map, ignored "gone");

#[test]
fn a_row_has_the_values_of_its_declaration() {
    let [count, names, hint] = Sample::ROWS else { panic!() };
    let [other] = Sample::COMPONENTS else { panic!() };
    assert_eq!((other.name, other.since), ("other", Release::OLDEST));
    assert_eq!((count.doc, count.ty, count.unit, count.range), (" How many.", "u32", "files", "1 and more"));
    assert_eq!((count.since, names.since), (Release(9, 10), Release::OLDEST));
    assert!(count.is_mutable() && !names.is_mutable() && !hint.is_mutable());
    assert_eq!((count.written, hint.written), (true, false));
    let mut sample = Sample::default();
    (count.set)(&mut sample, "2k").unwrap();
    (names.set)(&mut sample, "a:b").unwrap();
    assert_eq!((sample.count, sample.names.len()), (2048, 2));
    assert!((count.set)(&mut sample, "-1").is_err() && sample.count == 2048);
    assert_eq!((count.default_text(), sample.other), ("3".to_string(), 0));
}

/// RocksDB reads "10 k" as 10: a suffix follows its digits at once.
#[test]
fn space_ends_a_number() {
    let mut sample = Sample::default();
    for (text, count) in [("10 k", 10), (" 10k ", 10 << 10), ("10 000", 10), ("+7", 7)] {
        (Sample::ROWS[0].set)(&mut sample, text).unwrap();
        assert_eq!(sample.count, count, "{text:?}");
    }
    assert!((Sample::ROWS[0].set)(&mut sample, "- 1").is_err());
    assert!((Sample::ROWS[0].set)(&mut sample, " ").is_err());
}

#[test]
fn releases_compare_by_number_not_by_text() {
    assert!(Release::parse("9.10") > Release::parse("9.9"));
    assert_eq!(Release::parse("11.0").to_string(), "11.0");
}

#[test]
fn struct_prints_only_the_fields_that_a_release_knows() {
    let pair = Pair::parse("{new=2;old=1;gone=7}").unwrap();
    assert_eq!(pair, Pair { old: 1, new: 2 });
    assert_eq!(
        (pair.print().as_str(), pair.get("new").as_deref(), pair.get("gone")),
        ("{old=1;new=2;}", Some("2"), None)
    );
    assert_eq!(pair.print_for(Release(9, 9)), "{old=1;}");
    assert!(Pair::parse("{other=1}").unwrap_err().message().contains("Pair.other"));
    let error = Pair::parse("{old=many}").unwrap_err();
    assert_eq!((error.activity(), error.message()), (Some("setting field Pair.old"), "not a u32: \"many\""));
    let check = |text: &str| check_ranges(Pair::ROWS, "Pair", &Pair::parse(text).unwrap());
    check("{old=7;new=8}").unwrap();
    assert_eq!(check("{old=8}").unwrap_err().message(), "Pair.old is 8; the range is at most 7");
    assert!(Pair::COMPONENTS.is_empty());
}

#[test]
fn ranges_accept_their_numbers() {
    for (range, inside, outside) in [
        ("", &[-1.0, 0.0, f64::INFINITY, f64::NAN][..], &[][..]),
        ("2 and more", &[2.0, 2.5, f64::INFINITY], &[1.9, f64::NAN]),
        ("at most 9", &[-1.0, 9.0], &[9.1, f64::NAN]),
        ("-1, 20 to 30", &[-1.0, 20.0, 30.0], &[0.0, 19.0, 31.0, -2.0]),
        ("0, 1, 2, 4, 8", &[0.0, 8.0], &[3.0, 16.0]),
        ("above 0", &[1e-9], &[0.0, -1.0, f64::NAN]),
        ("0, powers of two up to 16", &[0.0, 1.0, 2.0, 16.0], &[3.0, 32.0, 0.5, -2.0]),
        ("0.0 to 0.25", &[0.0, 0.25], &[0.26, -0.1]),
    ] {
        for number in inside {
            assert!(super::range::contains(range, *number), "{number} in {range:?}");
        }
        for number in outside {
            assert!(!super::range::contains(range, *number), "{number} in {range:?}");
        }
    }
}

/// Each check reads all parts. So a check of the default of a row finds a wrong part anywhere in the range.
#[test]
fn ranges_are_read_after_the_part_that_accepts() {
    for range in [
        "8, eight",
        "1 and more, at most nine",
        "0, powers of two up to eight",
        "2 and more, above",
        "8, 1..",
    ] {
        let read = std::panic::catch_unwind(|| super::range::contains(range, 8.0));
        assert!(read.is_err(), "{range:?} has a part that is no range");
    }
}

crate::options! {
    calls;
    /// Options of a call.
    #[derive(Debug)]
    Call;
    /// How long.
    call time: std::time::Duration = std::time::Duration::ZERO, unit: "microseconds", since: "6.11";
    /// From where.
    call bound: Option<Vec<u8>> = None;
    components
    /// A function of the program.
    function: Option<fn()> = None;
}

#[test]
fn options_of_a_call_have_rows_and_components() {
    let [time, bound] = Call::ROWS else { panic!() };
    assert!(
        [time, bound].iter().all(|row| row.mutability == crate::option::Mutability::Call && !row.written)
    );
    assert_eq!(
        (time.since, time.unit, bound.default_text().as_str()),
        (Release(6, 11), "microseconds", "nullptr")
    );
    assert_eq!(
        (Call::COMPONENTS[0].name, Call::COMPONENTS[0].doc),
        ("function", " A function of the program.")
    );
    let mut call = Call::DEFAULT;
    (time.set)(&mut call, "2k").unwrap();
    (bound.set)(&mut call, "0x00fF").unwrap();
    assert_eq!((call.time.as_micros(), call.bound.as_deref()), (2048, Some(&[0, 0xff][..])));
    assert_eq!(((time.print)(&call), (bound.print)(&call)), ("2048".to_string(), "0x00ff".to_string()));
    assert!(call.function.is_none());
    for text in ["00ff", "0x0", "0x0g", "0xé"] {
        assert!((bound.set)(&mut call, text).is_err(), "{text}");
    }
}
