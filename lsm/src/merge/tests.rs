use super::*;

fn full(operator: &dyn MergeOperator, existing: Existing<'_>, operands: &[&str]) -> Result<(Merged, String)> {
    let operands: Vec<&[u8]> = operands.iter().map(|o| o.as_bytes()).collect();
    let mut out = Vec::new();
    let merged = full_merge(operator, &FullMerge { key: b"k", existing, operands: &operands }, &mut out)?;
    Ok((merged, String::from_utf8_lossy(&out).into_owned()))
}

/// Returns the value of a full merge, and whether it is in the buffer.
fn value(name: &str, existing: Option<&str>, operands: &[&str]) -> (String, bool) {
    let operator = by_name(name).unwrap();
    let base = existing.map_or(Existing::None, |e| Existing::Value(e.as_bytes()));
    match full(&*operator, base, operands).unwrap() {
        (Merged::New, out) => (out, true),
        (Merged::Operand(i), _) => (operands[i].to_string(), false),
        (Merged::Existing, _) => (existing.unwrap().to_string(), false),
        other => panic!("{other:?}"),
    }
}

fn partial(name: &str, operands: &[&str]) -> Option<String> {
    let operands: Vec<&[u8]> = operands.iter().map(|o| o.as_bytes()).collect();
    let mut out = Vec::new();
    partial_merge(&*by_name(name).unwrap(), b"k", &operands, &mut out)
        .then(|| String::from_utf8_lossy(&out).into_owned())
}

#[test]
fn operators_have_rocksdbs_names() {
    let found: Vec<String> = names().iter().map(|n| by_name(n).unwrap().name().to_string()).collect();
    assert_eq!(
        found,
        [
            "PutOperator",
            "MaxOperator",
            "UInt64AddOperator",
            "BytesXOR",
            "MergeSortOperator",
            "StringAppendOperator",
            "StringAppendTESTOperator"
        ]
    );
    assert!(found.iter().all(|n| by_name(n).is_some()));
    assert!(by_name("nothing").is_none());
    assert!(by_name("").is_none());
    let colon = by_name("{id=stringappend;delimiter=:;}").unwrap();
    assert_eq!(full(&*colon, Existing::Value(b"a"), &["b"]).unwrap().1, "a:b");
}

#[test]
fn a_merge_operator_is_created_again_from_its_option_text() {
    for delimiter in ["", ",", ":", ";", "=", "\\", "#", "\n", "; ;", "é"] {
        for operator in [
            &StringAppend::new(delimiter.as_bytes()) as &dyn MergeOperator,
            &StringAppendTest::new(delimiter.as_bytes()),
        ] {
            let text = operator.option_text();
            let again = by_name(&text).unwrap_or_else(|| panic!("{text:?}"));
            assert_eq!(again.name(), operator.name());
            let merged = full(&*again, Existing::Value(b"a"), &["b"]).unwrap().1;
            assert_eq!(merged, format!("a{delimiter}b"), "{text:?}");
        }
    }
}

#[test]
fn put_and_max_return_the_existing_value() {
    assert_eq!(value("put", Some("x"), &["a", "b"]), ("b".into(), false));
    assert_eq!(value("max", Some("b"), &["a", "c", "bb"]), ("c".into(), false));
    assert_eq!(value("max", Some("d"), &["a", "c"]), ("d".into(), false));
    assert_eq!(value("max", None, &[""]), (String::new(), true));
    assert_eq!(partial("max", &["a", "c", "b"]), Some("c".into()));
    assert_eq!(partial("put", &["a", "b"]), Some("b".into()));
}

#[test]
fn appending_joins_with_the_delimiter() {
    for name in ["stringappend", "stringappendtest"] {
        assert_eq!(value(name, Some("a"), &["b", "c"]).0, "a,b,c");
        assert_eq!(value(name, None, &["b", "c"]).0, "b,c");
        assert_eq!(value(name, Some(""), &["b"]).0, ",b");
        assert_eq!(value(name, None, &["b"]), ("b".into(), false));
    }
    assert_eq!(partial("stringappend", &["a", "b"]), Some("a,b".into()));
    assert_eq!(partial("stringappendtest", &["a", "b"]), None);
}

#[test]
fn addition_wraps_and_reads_a_malformed_number_as_zero() {
    let add = by_name("uint64add").unwrap();
    let operands = [&5u64.to_le_bytes()[..], &u64::MAX.to_le_bytes(), b"no number"];
    let existing = Existing::Value(&[1, 0, 0, 0, 0, 0, 0, 0]);
    let mut out = Vec::new();
    full_merge(&*add, &FullMerge { key: b"k", existing, operands: &operands }, &mut out).unwrap();
    assert_eq!(out, 5u64.to_le_bytes());
}

#[test]
fn xor_keeps_the_longer_tail() {
    assert_eq!(value("bytesxor", Some("\x01\x02x"), &["\x03"]).0, "\x02\x02x");
    assert_eq!(value("bytesxor", None, &["ab"]).0, "ab");
}

#[test]
fn sorted_lists_are_merged() {
    assert_eq!(value("sortlist", Some("9"), &["1,5,7", "2,6", "-3"]).0, "-3,1,2,5,6,7");
    let sort = by_name("sortlist").unwrap();
    assert!(full(&*sort, Existing::None, &["1,x"]).is_err());
    assert!(full(&*sort, Existing::None, &["1,2147483648"]).is_err());
    assert_eq!(value("sortlist", None, &[" 1x,+7", "-2147483648,3 4"]).0, "-2147483648,1,3,7");
}

#[test]
fn an_entity_is_merged_by_its_default_column() {
    let columns: &[(&[u8], &[u8])] = &[(b"", b"a"), (b"x", b"1")];
    let append = by_name("stringappend").unwrap();
    let (merged, _) = full(&*append, Existing::Columns(columns), &["b"]).unwrap();
    assert_eq!(merged, Merged::Columns(vec![(vec![], b"a,b".to_vec()), (b"x".to_vec(), b"1".to_vec())]));
    let (merged, _) = full(&*by_name("max").unwrap(), Existing::Columns(&columns[1..]), &["b"]).unwrap();
    assert_eq!(merged, Merged::Columns(vec![(vec![], b"b".to_vec()), (b"x".to_vec(), b"1".to_vec())]));
}

struct Rogue(fn() -> std::result::Result<Merged, Failure>);

impl MergeOperator for Rogue {
    fn name(&self) -> &str {
        "rogue"
    }

    fn full(&self, _: &FullMerge<'_>, _: &mut Vec<u8>) -> std::result::Result<Merged, Failure> {
        (self.0)()
    }

    fn partial(&self, _: &[u8], _: &[&[u8]], _: &mut Vec<u8>) -> bool {
        panic!("in a partial merge")
    }
}

#[test]
fn a_rogue_operator_gives_an_error() {
    let cases: [(fn() -> std::result::Result<Merged, Failure>, Failure); 6] = [
        (|| panic!("in a merge"), Failure::Merge),
        (|| Err(Failure::Merge), Failure::Merge),
        (|| Err(Failure::MustMerge), Failure::MustMerge),
        (|| Ok(Merged::Operand(7)), Failure::Merge),
        (|| Ok(Merged::Existing), Failure::Merge),
        (|| Ok(Merged::Columns(vec![(vec![1], vec![]), (vec![1], vec![])])), Failure::Merge),
    ];
    for (answer, scope) in cases {
        let error = full(&Rogue(answer), Existing::None, &["a"]).unwrap_err();
        assert_eq!(error.subcode(), Subcode::MergeOperatorFailed);
        assert_eq!(failure_scope(&error), scope);
    }
    assert!(!partial_merge(&Rogue(|| Err(Failure::Merge)), b"k", &[b"a", b"b"], &mut Vec::new()));
}
