use super::*;

struct Whole(Vec<u8>);

impl PinRegion for Whole {
    fn region(&self, token: u64) -> &[u8] {
        &self.0[token as usize..]
    }
}

/// Returns a view of each kind of owner, over the same ten bytes.
fn views() -> Vec<(&'static str, Pinned)> {
    let bytes: Vec<u8> = (0..12).collect();
    vec![
        ("own", Pinned::from_vec(bytes[2..].to_vec())),
        ("bytes", Pinned::bytes(bytes.clone().into(), 2..12)),
        ("shared", Pinned::shared(Arc::new(bytes.clone()), 2..12)),
        ("region", Pinned::region(Arc::new(Whole(bytes)), 2)),
    ]
}

#[test]
fn a_slice_ends_with_its_view() {
    for (name, view) in views() {
        let whole = view.to_vec();
        let at = view.as_ptr() as usize;
        for start in [0, 1, 9, 10, 11, usize::MAX] {
            for end in [0, 1, 5, 10, 11, usize::MAX] {
                let slice = view.clone().slice(start..end);
                let expected = whole.get(start.min(10)..end.min(10)).unwrap_or_default();
                assert_eq!(slice, *expected, "{name} {start}..{end}");
                // A slice of the slice is relative to the slice.
                assert_eq!(
                    slice.slice(1..3),
                    *expected.get(1..expected.len().min(3)).unwrap_or_default(),
                    "{name}"
                );
            }
        }
        let moved = view.slice(3..7);
        assert_eq!(moved.is_shared(), name != "own");
        if name != "own" {
            assert_eq!(moved.as_ptr() as usize, at + 3, "{name}: not copied");
        }
    }
}
