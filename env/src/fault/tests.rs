use super::*;
use crate::clock::ManualClock;
use crate::fs::{AppendHints, ReadHints};
use crate::memory::MemoryFs;

fn disk() -> Arc<FaultFs> {
    FaultFs::wrap(Arc::new(MemoryFs::new(Arc::new(ManualClock::new(0)))))
}

#[test]
fn the_nth_call_of_a_kind_on_a_kind_of_file_fails() {
    let fs = disk();
    fs.hook().set_plan("# the second append to a log\nappend *.log #2 ENOSPC\n").unwrap();
    let mut log = fs.create(Path::new("/1.log"), &AppendHints::default()).unwrap();
    let mut other = fs.create(Path::new("/1.sst"), &AppendHints::default()).unwrap();
    log.append(b"a").unwrap();
    other.append(b"b").unwrap();
    let e = log.append(b"c").unwrap_err();
    assert_eq!(e.subcode(), base::Subcode::NoSpace, "{e}");
    log.append(b"d").unwrap();
    assert_eq!(log.size(), 2);
    assert_eq!(fs.hook().fired(), 1);
}

#[test]
fn bytes_that_a_failed_sync_dropped_are_readable_and_never_durable() {
    let memory = MemoryFs::new(Arc::new(ManualClock::new(0)));
    let fs = FaultFs::wrap_disk(Arc::new(memory.clone()), memory.clone());
    let all = || (&*fs as &dyn FileSystem).read_all(Path::new("/a"), 100).unwrap();
    fs.hook().set_plan("sync a #2 forget").unwrap();
    let path = Path::new("/a");
    let mut f = fs.create(path, &AppendHints::default()).unwrap();
    fs.open_dir(Path::new("/")).unwrap().sync().unwrap();
    f.append(b"saved ").unwrap();
    f.sync().unwrap();
    f.append(b"forgotten").unwrap();
    assert!(f.sync().is_err());
    f.sync().unwrap();
    assert_eq!(all(), b"saved forgotten");
    memory.crash(crate::memory::Survivors::Synced);
    assert_eq!(all(), b"saved ");
    // `forget` needs a named disk, and it is an outcome of a sync only.
    assert!(disk().hook().set_plan("sync a * forget").is_err());
    assert!(fs.hook().set_plan("append a * forget").is_err());
}

#[test]
fn short_torn_and_lying_calls() {
    let fs = disk();
    fs.hook().set_plan("append a #1 torn 3\nsync a * lie\nread a #1 short 2\nappend a #3.. EROFS").unwrap();
    let path = Path::new("/a");
    let mut f = fs.create(path, &AppendHints::default()).unwrap();
    assert!(f.append(b"abcdef").is_err());
    assert_eq!(f.size(), 3);
    f.append(b"g").unwrap();
    assert!(f.append(b"h").is_err());
    assert!(f.append(b"h").is_err());
    f.sync().unwrap();
    let r = fs.open_random(path, &ReadHints::default()).unwrap();
    let mut b = [0; 10];
    assert_eq!(r.read_at(0, &mut b).unwrap(), 2);
    assert_eq!(r.read_at(0, &mut b).unwrap(), 4);
    assert_eq!(&b[..4], b"abcg");
}

#[test]
fn a_crash_fails_all_calls_until_revived() {
    let fs = disk();
    fs.hook().set_plan("write * #3 crash 1").unwrap();
    let mut f = fs.create(Path::new("/a"), &AppendHints::default()).unwrap();
    f.append(b"ab").unwrap();
    assert!(f.append(b"cd").is_err());
    assert!(fs.hook().crashed());
    assert!(f.append(b"e").is_err());
    assert!(fs.exists(Path::new("/a")).is_err());
    fs.hook().revive();
    let all: &dyn FileSystem = &*fs;
    assert_eq!(all.read_all(Path::new("/a"), 10).unwrap(), b"abc");
    assert!(fs.hook().calls() > fs.hook().writes());
}

#[test]
fn a_disk_fills_up_in_the_middle_of_an_append() {
    let fs = disk();
    fs.hook().set_budget(Some(5));
    let mut f = fs.create(Path::new("/a"), &AppendHints::default()).unwrap();
    f.append(b"abc").unwrap();
    assert_eq!(f.append(b"defg").unwrap_err().subcode(), base::Subcode::NoSpace);
    assert_eq!(f.size(), 5);
    fs.hook().set_budget(None);
    f.append(b"more").unwrap();
}

#[test]
fn a_plan_prints_as_it_was_written() {
    let text = "append *.log #3 EIO\nsync MANIFEST-* #2.. EIO\n* * #7 crash\nread *.sst * short 10\n\
                append * #5..7 ENOSPC\nwrite * #4 crash 12\nsync x * lie\nappend a*b*c * torn 1\n\
                sync y * retryable\nappend z * loss\nread w * fenced";
    let rules = rule::parse(text).unwrap();
    let printed: Vec<String> = rules.iter().map(ToString::to_string).collect();
    assert_eq!(printed.join("\n"), text.replace("                ", ""));
    for bad in ["append", "jump * * EIO", "read * 3 EIO", "read * * EWHAT", "read * #x EIO"] {
        assert!(fs_plan(bad).is_err(), "{bad}");
    }
}

#[test]
fn an_error_can_say_more_than_its_number() {
    let fs = disk();
    let failed = |word: &str| {
        fs.hook().set_plan(&format!("create * * {word}")).unwrap();
        fs.create(Path::new("/db/x"), &AppendHints::default()).err().unwrap()
    };
    let plain = failed("EIO");
    assert_eq!((plain.retryable(), plain.data_loss(), plain.subcode()), (false, false, base::Subcode::None));
    assert!(failed("retryable").retryable());
    assert!(failed("loss").data_loss());
    assert_eq!(failed("fenced").subcode(), base::Subcode::IoFenced);
}

fn fs_plan(text: &str) -> Result<()> {
    disk().hook().set_plan(text)
}

#[test]
fn patterns_match_names() {
    let matches = |pattern: &str, name: &str| {
        let rule = rule::parse(&format!("read {pattern} * EIO")).unwrap().remove(0);
        rule.matches(Op::Read, Path::new(name))
    };
    assert!(matches("*.log", "/db/000001.log"));
    assert!(!matches("*.log", "/db/000001.logs"));
    assert!(matches("MANIFEST-*", "/db/MANIFEST-000005"));
    assert!(matches("a*b*c", "a1b2c") && matches("a*b*c", "abc") && !matches("a*b*c", "acb"));
    assert!(matches("CURRENT", "/db/CURRENT") && !matches("CURRENT", "/db/CURRENT1"));
}
