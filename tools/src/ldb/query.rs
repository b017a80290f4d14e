//! `query`: an interactive shell on standard input with the commands get, put, delete and count.

use base::Kind;
use engine::batch::WriteBatch;
use engine::db::Db;
use engine::family::Family;
use engine::options::{ReadOptions, WriteOptions};
use env::Env;
use std::sync::Arc;

use super::args::Args;
use super::session::Session;
use super::show::{self, Row};
use super::ttl::Ttl;
use super::{Failure, Io, Outcome};

const HELP: &str = "get <key> [--read_timestamp=<uint64_ts>]
put <key> [<write_timestamp>] <value>
delete <key> [<write_timestamp>]
count [--from=<start_key>] [--to=<end_key>] [--read_timestamp=<uint64_ts>]
";

pub(crate) fn query(s: &mut Session, io: &mut Io<'_>) -> Outcome {
    let (db, family) = s.open_family(io)?;
    let (key_hex, value_hex) = (s.key_hex, s.value_hex);
    let shell = Shell { db: &db, family: &family, env: &s.env, ttl: s.ttl, key_hex, value_hex };
    let mut line = Vec::new();
    loop {
        line.clear();
        if io.input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let words: Vec<_> =
            line.strip_suffix(b"\n").unwrap_or(&line).split(|&b| b == b' ').map(<[u8]>::to_vec).collect();
        let answer = match Args::parse(&words) {
            Ok(args) if args.flags.is_empty() && !args.command.is_empty() => shell.run(&args, &line)?,
            _ => b"Bad command".to_vec(),
        };
        io.out.write_all(&answer)?;
        io.out.write_all(b"\n")?;
        // A program may write the next line only after it has read the answer.
        io.out.flush()?;
    }
}

struct Shell<'a> {
    db: &'a Db,
    family: &'a Arc<Family>,
    env: &'a Env,
    ttl: Ttl,
    key_hex: bool,
    value_hex: bool,
}

impl Shell<'_> {
    /// Runs one line and returns the answer.
    ///
    /// # Errors
    /// Errors of the database that end the session.
    fn run(&self, args: &Args, line: &[u8]) -> Result<Vec<u8>, Failure> {
        match (args.command.as_str(), args.params.len()) {
            ("help", _) => Ok(HELP.trim_end().as_bytes().to_vec()),
            ("delete", 1..=2) if args.options.is_empty() => self.delete(args),
            ("delete", _) if args.options.is_empty() => Ok(b"delete gets invalid arguments".to_vec()),
            ("put", 2..=3) if args.options.is_empty() => self.put(args),
            ("put", _) if args.options.is_empty() => Ok(b"put gets invalid arguments".to_vec()),
            ("get", 1) => self.get(args),
            ("count", _) => self.count(args),
            _ => Ok([b"Unknown command ", line.strip_suffix(b"\n").unwrap_or(line)].concat()),
        }
    }

    fn put(&self, args: &Args) -> Result<Vec<u8>, Failure> {
        let (key, value) =
            match (self.key(&args.params[0]), args.params.last().map(|v| show::parse(v, self.value_hex))) {
                (Ok(key), Some(Ok(value))) => (key, value),
                _ => return Ok(b"put gets invalid arguments".to_vec()),
            };
        let stamp = match self.stamp(args.params.get(1).filter(|_| args.params.len() == 3)) {
            Ok(stamp) => stamp,
            Err(Failure(text)) => return Ok(format!("put gets invalid argument: {text}").into_bytes()),
        };
        let mut batch = WriteBatch::new();
        match &stamp {
            Some(stamp) => batch.put_at(self.family.id(), &key, stamp, &value),
            None => batch.put_in(self.family.id(), &key, &self.ttl.stored(&value, self.env)),
        };
        let mut answer = self.report("put ", &key, " write_ts: ", stamp.as_deref());
        answer.extend_from_slice(b" => ");
        answer.extend(show::bytes(&value, self.value_hex));
        self.write(&mut batch, answer)
    }

    fn delete(&self, args: &Args) -> Result<Vec<u8>, Failure> {
        let Ok(key) = self.key(&args.params[0]) else { return Ok(b"delete gets invalid arguments".to_vec()) };
        let stamp = match self.stamp(args.params.get(1)) {
            Ok(stamp) => stamp,
            Err(Failure(text)) => return Ok(format!("delete gets invalid argument: {text}").into_bytes()),
        };
        let mut batch = WriteBatch::new();
        match &stamp {
            Some(stamp) => batch.delete_at(self.family.id(), &key, stamp),
            None => batch.delete_in(self.family.id(), &key),
        };
        self.write(&mut batch, self.report("delete ", &key, " write_ts: ", stamp.as_deref()))
    }

    fn write(&self, batch: &mut WriteBatch, mut answer: Vec<u8>) -> Result<Vec<u8>, Failure> {
        match self.db.write(batch, &WriteOptions::default()) {
            Ok(()) => answer.extend_from_slice(b" succeeded"),
            Err(error) if goes_on(&error) => answer.extend(format!(" failed: {error}").into_bytes()),
            Err(error) => return Err(error.into()),
        }
        Ok(answer)
    }

    fn get(&self, args: &Args) -> Result<Vec<u8>, Failure> {
        let Ok(key) = self.key(&args.params[0]) else { return Ok(b"get gets invalid arguments".to_vec()) };
        if args.options.keys().any(|name| name != "read_timestamp") {
            return Ok(b"get gets invalid arguments".to_vec());
        }
        let stamp = match self.stamp(args.options.get("read_timestamp")) {
            Ok(stamp) => stamp,
            Err(Failure(text)) => return Ok(format!("get gets invalid argument: {text}").into_bytes()),
        };
        let options = ReadOptions { timestamp: stamp.clone(), ..ReadOptions::default() };
        let found = self.db.get(self.family, &key, &options);
        let found = found.and_then(|stored| match &stored {
            Some(stored) => self.ttl.value(stored).map(|value| Some(value.to_vec())),
            None => Ok(None),
        });
        let status = match found {
            Ok(Some(value)) => {
                let stamp = stamp.as_deref().unwrap_or_default();
                let row = Row { key: &key, timestamp: stamp, value: &value, columns: None };
                return Ok(row.line(self.key_hex, self.value_hex));
            }
            Ok(None) => "NotFound: ".to_string(),
            Err(error) if goes_on(&error) => error.to_string(),
            Err(error) => return Err(error.into()),
        };
        let mut answer = self.report("get ", &key, " read_timestamp: ", stamp.as_deref());
        answer.extend(format!(" status: {status}").into_bytes());
        Ok(answer)
    }

    fn count(&self, args: &Args) -> Result<Vec<u8>, Failure> {
        if args.options.keys().any(|name| !["from", "to", "read_timestamp"].contains(&name.as_str())) {
            return Ok(b"count gets invalid arguments".to_vec());
        }
        let bound = |name: &str| args.option(name).map(|key| self.key(key)).transpose();
        let (Ok(from), Ok(to)) = (bound("from"), bound("to")) else {
            return Ok(b"count gets invalid arguments".to_vec());
        };
        let stamp = match self.stamp(args.options.get("read_timestamp")) {
            Ok(stamp) => stamp,
            Err(Failure(text)) => return Ok(format!("count gets invalid argument: {text}").into_bytes()),
        };
        let (from, to) = (from.unwrap_or_default(), to.unwrap_or_default());
        let options = ReadOptions {
            timestamp: stamp.clone(),
            iterate_upper_bound: Some(to.clone()).filter(|key| !key.is_empty()),
            total_order_seek: true,
            ..ReadOptions::default()
        };
        let counted = self.db.iter(self.family, options).and_then(|mut iter| {
            match &from[..] {
                [] => iter.seek_to_first(),
                from => iter.seek(from),
            }
            let mut count = 0u64;
            while iter.valid() {
                count += 1;
                iter.next();
            }
            iter.status().map(|()| count)
        });
        Ok(match counted {
            Ok(count) => count.to_string().into_bytes(),
            Err(error) => {
                let mut answer = self.report("scan from ", &from, " read_timestamp: ", stamp.as_deref());
                answer.extend_from_slice(b" to ");
                answer.extend(show::bytes(&to, self.key_hex));
                answer.extend(format!(" failed: {error}").into_bytes());
                answer
            }
        })
    }

    fn key(&self, text: &[u8]) -> Result<Vec<u8>, Failure> {
        show::parse(text, self.key_hex)
    }

    fn stamp(&self, text: Option<&Vec<u8>>) -> Result<Option<Vec<u8>>, Failure> {
        let Some(text) = text else { return Ok(None) };
        match String::from_utf8_lossy(text).trim().parse::<u64>() {
            Ok(number) => Ok(Some(number.to_le_bytes().to_vec())),
            Err(_) => {
                Err(Failure::new("Invalid argument: user provided timestamp is not a valid uint64 value."))
            }
        }
    }

    fn report(&self, verb: &str, key: &[u8], stamped: &str, stamp: Option<&[u8]>) -> Vec<u8> {
        let mut answer = verb.as_bytes().to_vec();
        answer.extend(show::bytes(key, self.key_hex));
        if let Some(stamp) = stamp {
            answer.extend(format!("{stamped}{}", show::timestamp(stamp)).into_bytes());
        }
        answer
    }
}

/// Returns true if only the line is wrong, so that the shell continues.
fn goes_on(error: &base::Error) -> bool {
    matches!(error.kind(), Kind::NotFound | Kind::InvalidArgument)
}
