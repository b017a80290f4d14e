//! The tests of the suite.

use super::*;
use base::{Kind, Subcode};
use env::fs::RandomRead;

fn put(fs: &dyn FileSystem, path: &Path, data: &[u8]) {
    fs.write_all(path, data, true).unwrap();
}

fn get(fs: &dyn FileSystem, path: &Path) -> Vec<u8> {
    fs.read_all(path, 1 << 30).unwrap()
}

pub fn what_is_appended_is_read(fs: &dyn FileSystem, dir: &Path) {
    let path = dir.join("000001.log");
    let mut f = fs.create(&path, &AppendHints::default()).unwrap();
    assert_eq!(f.size(), 0);
    f.append(b"hello ").unwrap();
    f.append(b"").unwrap();
    f.append(b"world").unwrap();
    assert_eq!(f.size(), 11);
    f.flush().unwrap();
    f.sync().unwrap();
    f.fsync().unwrap();
    f.close().unwrap();
    let r = fs.open_random(&path, &ReadHints::default()).unwrap();
    assert_eq!(r.size().unwrap(), 11);
    let mut b = [0; 5];
    assert_eq!(r.read_at(6, &mut b).unwrap(), 5);
    assert_eq!(&b, b"world");
    let mut s = fs.open_sequential(&path).unwrap();
    s.skip(4).unwrap();
    let mut b = [0; 3];
    assert_eq!(s.read(&mut b).unwrap(), 3);
    assert_eq!(&b, b"o w");
    assert_eq!(s.read(&mut [0; 100]).unwrap(), 4);
    assert_eq!(s.read(&mut [0; 100]).unwrap(), 0);
    assert_eq!(fs.file_size(&path).unwrap(), 11);
    assert!(fs.modified(&path).unwrap() > 1_600_000_000);
}

pub fn reads_past_the_end_are_short(fs: &dyn FileSystem, dir: &Path) {
    let path = dir.join("f");
    put(fs, &path, b"abc");
    for hints in [ReadHints::default(), ReadHints { direct: true, random: true }] {
        let Ok(r) = fs.open_random(&path, &hints) else {
            assert!(hints.direct, "only direct I/O may be refused");
            continue;
        };
        assert_eq!(r.read_at(1, &mut [0; 10]).unwrap(), 2);
        assert_eq!(r.read_at(3, &mut [0; 10]).unwrap(), 0);
        assert_eq!(r.read_at(1 << 40, &mut [0; 10]).unwrap(), 0);
        assert_eq!(r.read_at(0, &mut []).unwrap(), 0);
    }
}

pub fn multi_read_answers_each_request(fs: &dyn FileSystem, dir: &Path) {
    let path = dir.join("f");
    let data: Vec<u8> = (0..20_000u32).map(|i| (i / 7) as u8).collect();
    put(fs, &path, &data);
    let r = fs.open_random(&path, &ReadHints::default()).unwrap();
    let (mut a, mut b, mut c) = ([0; 100], [0; 5000], [0; 10]);
    let mut requests =
        [ReadRequest::new(17_000, &mut b), ReadRequest::new(3, &mut a), ReadRequest::new(50_000, &mut c)];
    r.multi_read(&mut requests);
    let got: Vec<usize> = requests.iter().map(|q| *q.outcome.as_ref().unwrap()).collect();
    assert_eq!(got, [3000, 100, 0]);
    assert_eq!(b[..3000], data[17_000..]);
    assert_eq!(a[..], data[3..103]);
}

pub fn create_empties_and_reopen_continues(fs: &dyn FileSystem, dir: &Path) {
    let path = dir.join("f");
    put(fs, &path, b"old old old");
    put(fs, &path, b"new");
    assert_eq!(get(fs, &path), b"new");
    let mut f = fs.reopen(&path, &AppendHints::default()).unwrap();
    assert_eq!(f.size(), 3);
    f.append(b"er").unwrap();
    f.close().unwrap();
    assert_eq!(get(fs, &path), b"newer");
    let mut f = fs.reopen(&dir.join("fresh"), &AppendHints::default()).unwrap();
    f.append(b"x").unwrap();
    drop(f);
    assert_eq!(get(fs, &dir.join("fresh")), b"x");
}

pub fn reuse_overwrites_and_keeps_the_tail(fs: &dyn FileSystem, dir: &Path) {
    let (old, new) = (dir.join("000007.log"), dir.join("000009.log"));
    put(fs, &old, b"0123456789");
    let mut f = fs.reuse(&old, &new, &AppendHints::default()).unwrap();
    assert_eq!(f.size(), 0);
    f.append(b"abc").unwrap();
    f.sync().unwrap();
    f.close().unwrap();
    assert!(!fs.exists(&old).unwrap());
    assert_eq!(get(fs, &new), b"abc3456789");
    assert!(fs.reuse(&old, &new, &AppendHints::default()).unwrap_err().is_not_found());
}

pub fn truncate_cuts_and_appends_continue(fs: &dyn FileSystem, dir: &Path) {
    let path = dir.join("f");
    let mut f = fs.create(&path, &AppendHints::default()).unwrap();
    f.append(b"0123456789").unwrap();
    f.truncate(4).unwrap();
    assert_eq!(f.size(), 4);
    f.append(b"ab").unwrap();
    f.close().unwrap();
    assert_eq!(get(fs, &path), b"0123ab");
    fs.truncate(&path, 2).unwrap();
    assert_eq!(get(fs, &path), b"01");
    fs.truncate(&path, 4).unwrap();
    assert_eq!(get(fs, &path), b"01\0\0");
}

pub fn names_move_link_and_go(fs: &dyn FileSystem, dir: &Path) {
    let (a, b, c) = (dir.join("a"), dir.join("b"), dir.join("c"));
    put(fs, &a, b"A");
    put(fs, &b, b"B");
    fs.rename(&a, &b).unwrap();
    assert_eq!(get(fs, &b), b"A");
    assert!(!fs.exists(&a).unwrap());
    fs.link(&b, &c).unwrap();
    assert_eq!(fs.link_count(&b).unwrap(), 2);
    let mut f = fs.reopen(&c, &AppendHints::default()).unwrap();
    f.append(b"+").unwrap();
    f.close().unwrap();
    assert_eq!(get(fs, &b), b"A+");
    assert!(fs.link(&b, &c).is_err(), "the name is taken");
    fs.unlink(&b).unwrap();
    assert_eq!(get(fs, &c), b"A+");
    assert_eq!(fs.list(dir).unwrap(), ["c"]);
}

pub fn directories_nest(fs: &dyn FileSystem, dir: &Path) {
    let deep = dir.join("x/y/z");
    fs.create_dir_all(&deep).unwrap();
    fs.create_dir_all(&deep).unwrap();
    assert!(fs.create_dir(&deep).is_err());
    put(fs, &deep.join("f"), b"1");
    assert!(fs.is_dir(&deep).unwrap());
    assert!(!fs.is_dir(&deep.join("f")).unwrap());
    assert!(fs.remove_dir(&deep).is_err(), "not empty");
    assert!(fs.unlink(&deep).is_err(), "not a file");
    fs.rename(&deep.join("f"), &dir.join("x/f")).unwrap();
    fs.remove_dir(&deep).unwrap();
    let mut names = fs.list(&dir.join("x")).unwrap();
    names.sort();
    assert_eq!(names, ["f", "y"]);
    fs.open_dir(&dir.join("x")).unwrap().sync().unwrap();
    assert!(fs.open_dir(&dir.join("x/f")).is_err());
    assert!(fs.create(&dir.join("x/f/g"), &AppendHints::default()).is_err());
    assert!(fs.open_random(&dir.join("x"), &ReadHints::default()).is_err(), "a directory");
}

pub fn missing_things_say_path_not_found(fs: &dyn FileSystem, dir: &Path) {
    let path = dir.join("nowhere");
    let errors = [
        fs.open_random(&path, &ReadHints::default()).map(drop).unwrap_err(),
        fs.open_sequential(&path).map(drop).unwrap_err(),
        fs.open_dir(&path).map(drop).unwrap_err(),
        fs.rename(&path, &dir.join("b")).unwrap_err(),
        fs.link(&path, &dir.join("b")).unwrap_err(),
        fs.unlink(&path).unwrap_err(),
        fs.list(&path).map(drop).unwrap_err(),
        fs.remove_dir(&path).unwrap_err(),
        fs.file_size(&path).map(drop).unwrap_err(),
        fs.modified(&path).map(drop).unwrap_err(),
        fs.truncate(&path, 0).unwrap_err(),
        fs.canonicalize(&path).map(drop).unwrap_err(),
        fs.create(&path.join("f"), &AppendHints::default()).map(drop).unwrap_err(),
    ];
    for e in errors {
        assert_eq!((e.kind(), e.subcode()), (Kind::IoError, Subcode::PathNotFound), "{e}");
        assert!(e.to_string().contains("nowhere"), "{e}");
    }
    assert!(!fs.exists(&path).unwrap());
}

pub fn a_lock_excludes_a_second_in_the_process(fs: &dyn FileSystem, dir: &Path) {
    let path = dir.join("LOCK");
    let held = fs.lock(&path).unwrap();
    assert!(fs.exists(&path).unwrap());
    let e = fs.lock(&path).map(drop).unwrap_err();
    assert!(e.to_string().contains("LOCK"), "{e}");
    assert!(fs.lock(&dir.join("./LOCK")).is_err(), "by another spelling");
    drop(fs.lock(&dir.join("LOCK2")).unwrap());
    drop(held);
    drop(fs.lock(&path).unwrap());
}

pub fn handles_outlive_their_name(fs: &dyn FileSystem, dir: &Path) {
    let path = dir.join("f");
    put(fs, &path, b"still here");
    let r = fs.open_random(&path, &ReadHints::default()).unwrap();
    fs.unlink(&path).unwrap();
    put(fs, &path, b"another");
    let mut b = [0; 10];
    r.read_at(0, &mut b).unwrap();
    assert_eq!(&b, b"still here");
}

pub fn sync_from_another_handle(fs: &dyn FileSystem, dir: &Path) {
    let mut f = fs.create(&dir.join("f"), &AppendHints::default()).unwrap();
    let syncer = f.syncer();
    f.append(b"x").unwrap();
    syncer.sync().unwrap();
    f.append(b"y").unwrap();
    drop(f);
    syncer.sync().unwrap();
}

struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

fn check_reads(r: &dyn RandomRead, model: &[u8], rng: &mut Lcg) {
    for _ in 0..50 {
        let at = rng.below(model.len() + 5000);
        let mut buffer = vec![0xee; rng.below(20_000)];
        let n = r.read_at(at as u64, &mut buffer).unwrap();
        let want = &model[at.min(model.len())..(at + buffer.len()).min(model.len()).max(at.min(model.len()))];
        assert_eq!(&buffer[..n], want, "at {at}");
        let mut grown = vec![0xee; rng.below(30_000)];
        r.read_to(at as u64, buffer.len(), &mut grown).unwrap();
        assert_eq!(grown, want, "into a vector, at {at}");
        if r.read_ready(at as u64, &mut buffer) {
            assert_eq!(buffer, want, "without a wait, at {at}");
        }
    }
}

fn random_appends(fs: &dyn FileSystem, dir: &Path, hints: AppendHints) {
    let path = dir.join("f");
    let mut rng = Lcg(7);
    let mut model: Vec<u8> = Vec::new();
    let Ok(mut f) = fs.create(&path, &hints) else {
        assert!(hints.direct, "only direct I/O may be refused");
        return;
    };
    for step in 0..200 {
        match rng.below(12) {
            0 => f.sync().unwrap(),
            1 => {
                f.flush().unwrap();
                assert_eq!(get(fs, &path), model, "step {step}");
            }
            2 => {
                let size = rng.below(model.len() + 1);
                f.truncate(size as u64).unwrap();
                model.truncate(size);
            }
            3 => {
                f.close().unwrap();
                f = fs.reopen(&path, &hints).unwrap();
            }
            _ => {
                let data: Vec<u8> = (0..rng.below(30_000)).map(|i| (i * 31 + step) as u8).collect();
                f.append(&data).unwrap();
                model.extend(&data);
            }
        }
        assert_eq!(f.size(), model.len() as u64);
    }
    f.close().unwrap();
    assert_eq!(get(fs, &path), model);
    assert_eq!(fs.file_size(&path).unwrap(), model.len() as u64);
    for hints in [ReadHints::default(), ReadHints { direct: true, random: false }] {
        if let Ok(r) = fs.open_random(&path, &hints) {
            check_reads(&*r, &model, &mut rng);
        }
    }
}

pub fn random_appends_match_a_vector(fs: &dyn FileSystem, dir: &Path) {
    random_appends(fs, dir, AppendHints { preallocate_bytes: 100_000, ..AppendHints::default() });
}

pub fn direct_writes_match_a_vector(fs: &dyn FileSystem, dir: &Path) {
    random_appends(fs, dir, AppendHints { direct: true, ..AppendHints::default() });
}

pub fn a_closed_file_refuses(fs: &dyn FileSystem, dir: &Path) {
    let mut f = fs.create(&dir.join("f"), &AppendHints::default()).unwrap();
    f.append(b"x").unwrap();
    f.close().unwrap();
    f.close().unwrap();
    let refused = |e: base::Result<()>| assert_eq!(e.unwrap_err().kind(), Kind::IoError);
    refused(f.append(b"y"));
    refused(f.sync());
    refused(f.truncate(0));
    assert_eq!(get(fs, &dir.join("f")), b"x");
}

pub fn same_file_and_canonical_names(fs: &dyn FileSystem, dir: &Path) {
    let (a, b) = (dir.join("a"), dir.join("b"));
    put(fs, &a, b"");
    put(fs, &b, b"");
    assert!(fs.same_file(&a, &dir.join("./a")).unwrap());
    assert!(!fs.same_file(&a, &b).unwrap());
    let name = fs.canonicalize(&dir.join("./a")).unwrap();
    assert!(name.is_absolute() && name.ends_with("a"), "{}", name.display());
}

pub fn advice_and_preallocation_change_nothing(fs: &dyn FileSystem, dir: &Path) {
    let path = dir.join("f");
    let mut f = fs.create(&path, &AppendHints::default()).unwrap();
    f.preallocate(0, 1 << 20).unwrap();
    f.append(b"abc").unwrap();
    f.range_sync(0, 3, false).unwrap();
    f.range_sync(0, 3, true).unwrap();
    f.invalidate(0, 0);
    f.close().unwrap();
    let r = fs.open_random(&path, &ReadHints::default()).unwrap();
    for p in [Pattern::Random, Pattern::Sequential, Pattern::WillNeed, Pattern::DontNeed] {
        r.advise(p);
    }
    r.prefetch(0, 3);
    r.invalidate(0, 0);
    assert!(r.alignment() >= 1);
    assert_eq!(get(fs, &path), b"abc");
}
