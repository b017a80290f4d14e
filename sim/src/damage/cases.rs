//! The cases: each case damages one file of a fixture in one place.

use super::fixture::{Fixture, Image, Promise};
use testkit::chance::Chance;

/// One damage. Offsets and lengths are bytes of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    Bit {
        at: usize,
        bit: u8,
    },
    /// A sector of this length becomes zeros.
    Zeros {
        at: usize,
        len: usize,
    },
    Ones {
        at: usize,
        len: usize,
    },
    Random {
        at: usize,
        len: usize,
    },
    /// Two neighbouring sectors are exchanged.
    Swap {
        at: usize,
        len: usize,
    },
    /// A sector of another file is written here.
    Foreign {
        at: usize,
        len: usize,
        from: String,
    },
    Cut {
        len: usize,
    },
    Extend {
        with: Vec<u8>,
    },
    Missing,
    /// The file gets the content of a different file, of any kind.
    Other {
        from: String,
    },
    /// The content is that of the same file at an earlier time.
    Older {
        moment: usize,
    },
}

/// The name of the file, and the damage of its bytes.
#[derive(Clone, Debug)]
pub struct Case {
    pub file: String,
    pub damage: Damage,
}

impl Damage {
    /// Returns the word of the kind of damage in the report.
    pub fn kind(&self) -> &'static str {
        match self {
            Damage::Bit { .. } => "bit",
            Damage::Zeros { .. } => "zeros",
            Damage::Ones { .. } => "ones",
            Damage::Random { .. } => "random",
            Damage::Swap { .. } => "swap",
            Damage::Foreign { .. } => "foreign",
            Damage::Cut { .. } => "cut",
            Damage::Extend { .. } => "extend",
            Damage::Missing => "missing",
            Damage::Other { .. } => "other",
            Damage::Older { .. } => "older",
        }
    }

    /// Returns the damaged bytes, or `None` if the file is removed. If the bytes are unchanged, there is no damage.
    pub fn apply(&self, name: &str, fixture: &Fixture) -> Option<Vec<u8>> {
        let mut bytes = fixture.files.get(name)?.clone();
        let end = |at: usize, len: usize| (at + len).min(bytes.len());
        match self {
            Damage::Bit { at, bit } => bytes[*at] ^= 1 << bit,
            Damage::Zeros { at, len } => {
                let end = end(*at, *len);
                bytes[*at..end].fill(0);
            }
            Damage::Ones { at, len } => {
                let end = end(*at, *len);
                bytes[*at..end].fill(0xff);
            }
            Damage::Random { at, len } => {
                let end = end(*at, *len);
                let random = Chance::new(*at as u64).bytes(end - at);
                bytes[*at..end].copy_from_slice(&random);
            }
            Damage::Swap { at, len } => {
                let end = end(*at, 2 * len);
                bytes[*at..end].rotate_left(*len);
            }
            Damage::Foreign { at, len, from } => {
                let end = end(*at, *len);
                let other = fixture.files.get(from)?;
                let start = at % (other.len().saturating_sub(end - at) + 1);
                for (to, from) in bytes[*at..end].iter_mut().zip(&other[start..]) {
                    *to = *from;
                }
            }
            Damage::Cut { len } => bytes.truncate(*len),
            Damage::Extend { with } => bytes.extend_from_slice(with),
            Damage::Missing => return None,
            Damage::Other { from } => bytes = fixture.files.get(from)?.clone(),
            Damage::Older { moment } => bytes = fixture.older.get(*moment)?.get(name)?.clone(),
        }
        Some(bytes)
    }
}

/// Returns the kind of a file by its name.
pub fn kind_of(name: &str) -> &'static str {
    match name {
        "CURRENT" => "CURRENT",
        "IDENTITY" => "IDENTITY",
        "PROOF" => "PROOF",
        _ if name.ends_with(".log") => "WAL",
        _ if name.ends_with(".sst") => "table",
        _ if name.ends_with(".blob") => "blob",
        _ if name.starts_with("MANIFEST") => "MANIFEST",
        _ if name.starts_with("OPTIONS") => "OPTIONS",
        _ => "other",
    }
}

/// Returns every case of a fixture. Whole sectors are damaged with the sizes and strides of `SECTORS`.
pub fn all(fixture: &Fixture) -> Vec<Case> {
    const SECTORS: [(usize, usize); 3] = [(512, 64), (64, 16), (4096, 4096)];
    let mut out = Vec::new();
    let files: &Image = &fixture.files;
    for (name, bytes) in files {
        // Without a proof, no record describes the OPTIONS file.
        if fixture.promise == Promise::Marked && kind_of(name) == "OPTIONS" {
            continue;
        }
        let mut add = |damage| out.push(Case { file: name.clone(), damage });
        for at in 0..bytes.len() {
            (0..8).for_each(|bit| add(Damage::Bit { at, bit }));
        }
        // Without a proof, damage at the end of a WAL can be what a crash leaves.
        if fixture.promise == Promise::Marked {
            continue;
        }
        for (len, stride) in SECTORS {
            for at in (0..bytes.len()).step_by(stride) {
                add(Damage::Zeros { at, len });
                add(Damage::Ones { at, len });
                add(Damage::Random { at, len });
                if at + len < bytes.len() {
                    add(Damage::Swap { at, len });
                }
                let others = files.keys().filter(|other| *other != name);
                let from = others.clone().nth(at / stride % others.count().max(1));
                from.into_iter().for_each(|from| add(Damage::Foreign { at, len, from: from.clone() }));
            }
        }
        (0..bytes.len()).for_each(|len| add(Damage::Cut { len }));
        for with in [vec![0], vec![0; 512], vec![0xff; 512], Chance::new(1).bytes(512)] {
            add(Damage::Extend { with });
        }
        add(Damage::Missing);
        files
            .keys()
            .filter(|other| *other != name)
            .for_each(|from| add(Damage::Other { from: from.clone() }));
        (0..fixture.older.len()).for_each(|moment| add(Damage::Older { moment }));
    }
    out
}
