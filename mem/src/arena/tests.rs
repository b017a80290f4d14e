use super::*;

#[test]
fn chunks_tile_the_offsets() {
    for chunk in 0..CHUNKS {
        assert_eq!(chunk_of(chunk_start(chunk)), chunk);
        assert_eq!(chunk_of(chunk_end(chunk) - 1), chunk);
    }
    assert_eq!(chunk_end(CHUNKS - 1), LIMIT);
    assert_eq!(LIMIT, 1 << 34, "what a ref in units of four bytes reaches");
}

#[test]
fn pieces_are_aligned_zeroed_and_apart() {
    let arena = Arena::new();
    let mut pieces = Vec::new();
    let rounds = if cfg!(miri) { 60 } else { 20_000 };
    for i in 0..rounds {
        let size = 1 + (i * 37) % 500;
        let align = [4, 8, 16, 64][i % 4];
        let (place, ptr) = arena.alloc(size, align).unwrap();
        assert_eq!(ptr as usize % align as usize, 0);
        // SAFETY: the arena has just handed out `size` bytes at `ptr` to this thread only.
        unsafe {
            assert!(std::slice::from_raw_parts(ptr, size) == &vec![0; size][..]);
            std::ptr::write_bytes(ptr, i as u8, size);
        }
        pieces.push((place, size, i as u8));
    }
    for (place, size, fill) in pieces {
        // SAFETY: the piece was handed out and written above, and the arena lives.
        let bytes = unsafe { std::slice::from_raw_parts(arena.at(place), size) };
        assert!(bytes == &vec![fill; size][..]);
    }
}

#[test]
fn a_large_piece_skips_small_chunks_without_being_charged_for_them() {
    let arena = Arena::new();
    arena.alloc(100, 4).unwrap();
    let (_, ptr) = arena.alloc(1 << 20, 4).unwrap();
    // SAFETY: the address is the last byte of the piece.
    unsafe { ptr.add((1 << 20) - 1).write(1) };
    assert!(arena.used() < (1 << 20) + 1000, "{}", arena.used());
}

#[test]
fn an_arena_on_the_memory_of_a_former_one_hands_out_zeros() {
    let (rounds, pieces) = if cfg!(miri) { (4, 9) } else { (20, 2500) };
    for round in 0..rounds {
        let arena = Arena::new();
        for i in 0..(round * 787) % pieces {
            let size = 1000 - i % 500;
            let (_, ptr) = arena.alloc(size, 8).unwrap();
            // SAFETY: the arena has just handed out these bytes at `ptr` to this thread only.
            unsafe {
                assert!(std::slice::from_raw_parts(ptr, size) == &vec![0; size][..]);
                std::ptr::write_bytes(ptr, 0xff, size);
            }
        }
    }
}

/// Returns the page faults of this thread that needed no I/O.
#[cfg(all(target_os = "linux", not(miri)))]
fn minor_faults() -> i64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer leads to memory for one `rusage`, and a `rusage` of zeros is valid.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    usage.ru_minflt
}

#[test]
#[cfg(all(target_os = "linux", not(miri)))]
fn an_arena_of_one_mib_takes_no_new_pages_after_a_former_one() {
    // The test shares the spare chunks with the other tests, so single rounds may find none.
    let faults = (0..200).map(|_| {
        let arena = Arena::new();
        let before = minor_faults();
        for i in 0..250 {
            let (_, ptr) = arena.alloc(4000, 8).unwrap();
            // SAFETY: the arena has just handed out these bytes at `ptr` to this thread only.
            unsafe { std::ptr::write_bytes(ptr, i as u8, 4000) };
        }
        minor_faults() - before
    });
    let least = faults.min().unwrap();
    assert!(least < 50, "{least} page faults for 250 pieces of 4,000 bytes");
}

#[test]
fn spare_chunks_are_bounded() {
    let arenas: Vec<_> = (0..8).map(|_| Arena::new()).collect();
    for arena in &arenas {
        for _ in 0..if cfg!(miri) { 3 } else { 30 } {
            arena.alloc(20_000, 8).unwrap();
        }
    }
    drop(arenas);
    assert!(chunk::spare_bytes() <= 2 << 20);
}

#[test]
fn past_the_limit_is_an_error() {
    let arena = Arena::new();
    let error = arena.alloc(LIMIT as usize, 4).unwrap_err();
    assert_eq!(error.subcode(), Subcode::MemoryLimit);
}

#[test]
fn large_and_small_pieces_share_a_chunk() {
    let arena = Arena::new();
    let mut pieces = Vec::new();
    let rounds = if cfg!(miri) { 3 } else { 3000 };
    for i in 0..rounds {
        let size = if i % 7 < 3 { LARGE + i } else { 100 + i % 50 };
        let (place, ptr) = arena.alloc(size, 4).unwrap();
        // SAFETY: the arena has just handed out `size` bytes at `ptr` to this thread only.
        unsafe { std::ptr::write_bytes(ptr, i as u8, size) };
        pieces.push((place, size, i as u8));
    }
    for (place, size, fill) in pieces {
        // SAFETY: the piece was handed out and written above, and the arena lives.
        let bytes = unsafe { std::slice::from_raw_parts(arena.at(place), size) };
        assert!(bytes == &vec![fill; size][..]);
    }
}

#[test]
fn an_arena_after_forgotten_spare_blocks_starts_with_zeros() {
    for forgotten in [true, false, true] {
        let arena = Arena::new();
        let (_, ptr) = arena.alloc(1000, 8).unwrap();
        // SAFETY: the arena has just handed out 1000 bytes at `ptr` to this thread only.
        unsafe {
            assert!(std::slice::from_raw_parts(ptr, 1000) == [0; 1000]);
            std::ptr::write_bytes(ptr, 7, 1000);
        }
        drop(arena);
        if forgotten {
            forget_spares();
        }
    }
}

#[test]
fn a_batch_that_begins_before_the_switch_fits() {
    const GIB: u64 = 1 << 30;
    for begins in [RESERVED, GIB, 4 * GIB - 100, 6 * GIB, SWITCH_AT - 64] {
        let pieces = [2 * GIB + GIB / 8, 2 * GIB + GIB / 8, 2 * GIB + GIB / 8, GIB / 2];
        assert!(pieces.iter().sum::<u64>() <= BATCH_BYTES_MAX);
        pieces.into_iter().fold(begins, |bump, piece| {
            let start = Arena::place(bump, piece, 4).unwrap_or_else(|e| panic!("{piece} from {bump}: {e}"));
            assert!(start + piece <= LIMIT);
            start + piece
        });
    }
    // After `SWITCH_AT` the largest piece no longer fits. A memtable of 12 GiB failed in this way.
    assert!(Arena::place(LIMIT - GIB, 2 * GIB, 4).is_err());
}
