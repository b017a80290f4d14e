//! Compares the merge operators with their plain definitions: the result of applying all operands one after
//! the other must not depend on partial merges.

use ironstone_lsm::merge::{self, Existing, FullMerge, MergeOperator, Merged};
use proptest::prelude::*;

/// Applies one operand to the existing value, by the documented definition of the operator.
fn plain(name: &str, existing: Option<Vec<u8>>, operand: &[u8]) -> Vec<u8> {
    let have = existing.clone().unwrap_or_default();
    match name {
        "put" => operand.to_vec(),
        "max" => have.max(operand.to_vec()),
        "uint64add" => {
            let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
            number(&have).wrapping_add(number(operand)).to_le_bytes().to_vec()
        }
        "bytesxor" => {
            let at = |bytes: &[u8], i: usize| bytes.get(i).copied().unwrap_or(0);
            (0..have.len().max(operand.len())).map(|i| at(&have, i) ^ at(operand, i)).collect()
        }
        "sortlist" => {
            let mut all: Vec<i32> = [&have[..], operand]
                .iter()
                .filter(|list| !list.is_empty())
                .flat_map(|list| std::str::from_utf8(list).unwrap().split(',').map(|n| n.parse().unwrap()))
                .collect();
            all.sort_unstable();
            all.iter().map(i32::to_string).collect::<Vec<_>>().join(",").into_bytes()
        }
        _ if existing.is_none() => operand.to_vec(),
        _ => [&have[..], b",", operand].concat(),
    }
}

/// Returns the value that the result of an operator stands for.
fn full(operator: &dyn MergeOperator, existing: Option<&[u8]>, operands: &[Vec<u8>]) -> Vec<u8> {
    let operands: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
    let base = existing.map_or(Existing::None, Existing::Value);
    let mut out = Vec::new();
    let merge = FullMerge { key: b"key", existing: base, operands: &operands };
    match merge::full_merge(operator, &merge, &mut out).unwrap() {
        Merged::New => out,
        Merged::Operand(i) => operands[i].to_vec(),
        Merged::Existing => existing.unwrap().to_vec(),
        Merged::Columns(columns) => panic!("{columns:?}"),
    }
}

/// Makes operands for the operator: sorted lists for `sortlist`, and any bytes for other operators, often
/// eight bytes.
fn operand(name: &'static str) -> BoxedStrategy<Vec<u8>> {
    if name == "sortlist" {
        let numbers = prop::collection::vec(any::<i32>(), 1..6);
        return numbers
            .prop_map(|mut list| {
                list.sort_unstable();
                list.iter().map(i32::to_string).collect::<Vec<_>>().join(",").into_bytes()
            })
            .boxed();
    }
    prop_oneof![
        3 => prop::collection::vec(any::<u8>(), 0..12),
        1 => prop::collection::vec(any::<u8>(), 8),
    ]
    .boxed()
}

fn case() -> impl Strategy<Value = (&'static str, Option<Vec<u8>>, Vec<Vec<u8>>, usize, usize)> {
    prop::sample::select(merge::names()).prop_flat_map(|name| {
        (
            Just(name),
            prop::option::of(operand(name)),
            prop::collection::vec(operand(name), 1..8),
            any::<prop::sample::Index>(),
            any::<prop::sample::Index>(),
        )
            .prop_map(|(name, existing, operands, a, b)| {
                let (a, b) = (a.index(operands.len() + 1), b.index(operands.len() + 1));
                (name, existing, operands, a.min(b), a.max(b))
            })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn operators_are_their_definitions((name, existing, operands, from, to) in case()) {
        let operator = merge::by_name(name).unwrap();
        // `sortlist` ignores the existing value, as in RocksDB.
        let first = if name == "sortlist" { None } else { existing.clone() };
        let expected = operands.iter().fold(first, |have, operand| Some(plain(name, have, operand))).unwrap();
        prop_assert_eq!(&full(&*operator, existing.as_deref(), &operands), &expected, "{}", name);
        // Some operands are merged partially first, if the operator can do it.
        let part: Vec<&[u8]> = operands[from..to].iter().map(Vec::as_slice).collect();
        let mut joined = b"left over".to_vec();
        if part.len() >= 2 && merge::partial_merge(&*operator, b"key", &part, &mut joined) {
            let fewer = [&operands[..from], &[joined], &operands[to..]].concat();
            prop_assert_eq!(&full(&*operator, existing.as_deref(), &fewer), &expected, "{}, joined", name);
        }
    }
}
