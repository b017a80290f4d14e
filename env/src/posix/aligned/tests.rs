use super::*;

#[test]
fn a_buffer_is_whole_pages_on_a_page_and_zero() {
    for (asked, bytes) in [(0, PAGE), (1, PAGE), (PAGE, PAGE), (PAGE + 1, 2 * PAGE)] {
        let buffer = AlignedBuffer::new(asked);
        assert_eq!((buffer.len(), buffer.as_slice().len()), (bytes, bytes));
        assert_eq!(buffer.as_slice().as_ptr() as usize % PAGE, 0);
        assert!(buffer.as_slice() == &vec![0; bytes][..]);
    }
}

#[test]
fn bytes_are_readable_on_another_thread() {
    let mut buffer = AlignedBuffer::new(2 * PAGE);
    buffer.as_mut_slice().fill(7);
    buffer.as_mut_slice().copy_within(PAGE.., 1);
    buffer.as_mut_slice()[2 * PAGE - 1] = 8;
    let mut buffer = std::thread::spawn(move || {
        assert_eq!((buffer.as_slice()[0], buffer.as_slice()[2 * PAGE - 1]), (7, 8));
        buffer
    })
    .join()
    .unwrap();
    buffer.as_mut_slice()[0] = 9;
    assert_eq!(buffer.as_slice()[..2], [9, 7]);
}
