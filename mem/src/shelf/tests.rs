use super::*;

#[test]
fn pieces_keep_their_bytes_when_the_shelf_is_gone() {
    let shelf = Shelf::new();
    let lens = [0, 1, 63, 64, 65, 5000, 300_000, 2 << 20, 700_000, 900_000, 900_000, 900_000, 900_000];
    let pieces: Vec<(u8, Piece)> =
        lens.iter().enumerate().map(|(i, &len)| (i as u8, shelf.keep(&vec![i as u8; len]))).collect();
    drop(shelf);
    for ((fill, piece), len) in pieces.iter().zip(lens) {
        assert_eq!(piece.len(), len);
        assert!(piece[..] == vec![*fill; len][..]);
        assert_eq!(piece.as_ptr() as usize % ALIGN, 0);
    }
}

#[test]
fn pieces_are_shared_between_threads() {
    let shelf = Arc::new(Shelf::new());
    let threads: Vec<_> = (0..4u8)
        .map(|thread| {
            let shelf = Arc::clone(&shelf);
            std::thread::spawn(move || {
                (0..if cfg!(miri) { 20 } else { 200 })
                    .map(|i| shelf.keep(&vec![thread; 100 + i]))
                    .collect::<Vec<_>>()
            })
        })
        .collect();
    for (thread, pieces) in threads.into_iter().enumerate() {
        for (i, piece) in pieces.join().unwrap().into_iter().enumerate() {
            assert_eq!(piece.len(), 100 + i);
            assert!(piece[..] == vec![thread as u8; 100 + i][..]);
        }
    }
}
