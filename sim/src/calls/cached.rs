//! Column families that are caches: FIFO compaction deletes the oldest files by size and by age, merges small files, and moves files to
//! another temperature.
//!
//! ```text
//!  writes, in their order   1 2 3 4 5 6 7 8 9
//!  rows of the database           4 5 6 7 8 9     the oldest rows may be gone; each newer row exists
//! ```
//! A row may be gone if the files may have exceeded the size limit, or if the row is older than the time to live. After all
//! jobs have ended, the files of level 0 are within the size limit. No file of level 0 is expired, unless FIFO compaction merges files or
//! counts blob files. If the rules have ages, each file that is old enough has its temperature.
//!
//! Each key is written once, and the keys grow. In one seed of four the database has leveled compaction first. FIFO compaction then
//! takes the size and the age of the files of level 0 only, as in RocksDB.

use std::sync::Arc;

use env::Clock as _;
use env::clock::ManualClock;
use ironstone::{
    BottommostLevelCompaction, CompactRangeOptions, Db, Level, LiveFile, LiveFilesStorageInfoOptions,
    Options, Temperature, WriteBatch,
};
use testkit::chance::Chance;

use super::{Setting, World, figures, same, scan, told};

/// The bytes that a file can have besides its rows: properties, filter, index and footer.
const FILE_BYTES: u64 = 8192;

/// The bytes that a row can have in a file besides its key and value.
const ROW_BYTES: u64 = 100;

/// The ages, in seconds, at which a file gets another temperature.
const AGES_S: [u64; 2] = [2000, 9000];

struct Row {
    key: Vec<u8>,
    value: Vec<u8>,
    /// When the row was written, in seconds.
    written_s: u64,
    /// A time at which the row was in a file, in seconds.
    flushed_s: Option<u64>,
}

/// A database with FIFO compaction, and its model.
pub(super) struct Cached {
    options: Options,
    clock: Arc<ManualClock>,
    db: Option<Db>,
    rows: Vec<Row>,
    /// True if older rows are in files below level 0.
    was_leveled: bool,
    /// The number of the oldest rows that are gone.
    gone: usize,
    /// The most bytes that all files together can have.
    bytes_max: u64,
    /// The smallest size limit, and the shortest time to live, of all rules.
    size_min: u64,
    ttl_min_s: u64,
    now: Rules,
}

/// The current options of FIFO compaction.
#[derive(Clone, Copy, Default)]
struct Rules {
    size_max: u64,
    ttl_s: u64,
    /// Blob files count against the size limit.
    whole_data: bool,
    merges: bool,
    has_ages: bool,
}

impl Rules {
    fn draw(chance: &mut Chance, is_flat: bool, was_leveled: bool) -> Rules {
        let merges = chance.percent(50);
        Rules {
            size_max: *chance.pick(&[20_000, 60_000, 200_000, 1 << 40]),
            ttl_s: if was_leveled { 0 } else { *chance.pick(&[0, 0, 300, 5000]) },
            whole_data: chance.percent(40),
            merges,
            has_ages: is_flat && !merges && chance.percent(60),
        }
    }

    fn fifo(&self, chance: &mut Chance) -> String {
        let size = self.size_max;
        let limit = match self.whole_data {
            true => format!(
                "max_table_files_size={};max_data_files_size={size};use_kv_ratio_compaction={}",
                size / 2,
                chance.percent(70)
            ),
            false => format!("max_table_files_size={size};max_data_files_size=0"),
        };
        let ages = match self.has_ages {
            true => {
                format!("{{{{temperature=kWarm;age={}}}:{{temperature=kCold;age={}}}}}", AGES_S[0], AGES_S[1])
            }
            false => "{}".to_string(),
        };
        format!(
            "{{{limit};age_for_warm=10;allow_compaction={};file_temperature_age_thresholds={ages};\
             allow_trivial_copy_when_change_temperature={};trivial_copy_buffer_size={}}}",
            self.merges,
            chance.percent(50),
            chance.pick(&[0, 5000, 1 << 30])
        )
    }
}

impl Cached {
    /// Opens the database.
    ///
    /// # Errors
    /// The error of the open, as text.
    pub fn new(seed: u64, setting: &Setting, chance: &mut Chance) -> Result<Cached, String> {
        let mut options = setting.options.clone();
        options
            .update(
                "enable_blob_direct_write=false;enable_blob_garbage_collection=false;inplace_update_support=false;\
                 disable_auto_compactions=false;max_open_files=-1;open_files_async=false;periodic_compaction_seconds=0;ttl=0;\
                 preclude_last_level_data_seconds=0;write_buffer_size=20000",
            )
            .map_err(told("options"))?;
        let (rows, was_leveled) = (Vec::new(), (seed / super::WORLDS).is_multiple_of(4));
        let is_flat = !was_leveled && chance.percent(70);
        options.update(&format!("num_levels={}", if is_flat { 1 } else { 4 })).map_err(told("options"))?;
        let mut world = Cached {
            options,
            clock: setting.clock.clone(),
            db: None,
            rows,
            was_leveled,
            gone: 0,
            bytes_max: 0,
            size_min: u64::MAX,
            ttl_min_s: u64::MAX,
            now: Rules { size_max: 1 << 40, merges: true, ..Rules::default() },
        };
        if was_leveled {
            world.fill_levels(chance)?;
        }
        let fifo = world.now.fifo(chance);
        let style = format!("compaction_style=kCompactionStyleFIFO;compaction_options_fifo={fifo}");
        world.options.update(&style).map_err(told("options"))?;
        world.open()?;
        world.rule(chance)?;
        Ok(world)
    }

    /// Writes the first rows with leveled compaction. A compaction of all files puts the older rows below the newer rows.
    fn fill_levels(&mut self, chance: &mut Chance) -> Result<(), String> {
        self.options
            .update("compaction_style=kCompactionStyleLevel;level_compaction_dynamic_level_bytes=false")
            .map_err(told("options"))?;
        self.open()?;
        for _ in 0..20 {
            self.write(chance)?;
        }
        self.compact_range()?;
        self.close()
    }

    fn open(&mut self) -> Result<(), String> {
        self.db = Some(Db::open("/db", self.options.clone()).map_err(told("open"))?);
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        super::close(&mut self.db)
    }

    fn db(&self) -> &Db {
        self.db.as_ref().expect("open between operations")
    }

    fn now_s(&self) -> u64 {
        self.clock.now_seconds()
    }

    fn write(&mut self, chance: &mut Chance) -> Result<(), String> {
        let mut batch = WriteBatch::new();
        for _ in 0..1 + chance.below(8) {
            let key = format!("{:08}", self.rows.len()).into_bytes();
            let len = if chance.percent(5) { chance.below(9000) } else { chance.below(300) };
            let value = chance.bytes(len as usize);
            batch.put(&key, &value);
            self.bytes_max += FILE_BYTES.min(40 * len) + 8 + len + ROW_BYTES;
            self.rows.push(Row { key, value, written_s: self.now_s(), flushed_s: None });
        }
        self.db().write(batch).map_err(told("write"))
    }

    fn flush(&mut self) -> Result<(), String> {
        self.db().flush().map_err(told("flush"))?;
        self.bytes_max += FILE_BYTES;
        self.flushed();
        Ok(())
    }

    /// Records that each row is in a file now.
    fn flushed(&mut self) {
        let now = self.now_s();
        for row in self.rows.iter_mut().rev().take_while(|row| row.flushed_s.is_none()) {
            row.flushed_s = Some(now);
        }
    }

    /// Draws new rules, and sets them on the open database.
    fn rule(&mut self, chance: &mut Chance) -> Result<(), String> {
        let rules = Rules::draw(chance, self.options.family.num_levels == 1, self.was_leveled);
        let trigger = chance.pick(&[2, 4, 6]);
        let texts = [
            ("compaction_options_fifo", rules.fifo(chance)),
            ("ttl", rules.ttl_s.to_string()),
            ("level0_file_num_compaction_trigger", trigger.to_string()),
            ("max_compaction_bytes", chance.pick(&["0", "20000"]).to_string()),
        ];
        let pairs = texts.each_ref().map(|(name, value)| (*name, &value[..]));
        // A row may be gone by the old rules or by the new rules.
        self.size_min = self.size_min.min(rules.size_max / if rules.whole_data { 2 } else { 1 });
        self.ttl_min_s = self.ttl_min_s.min(if rules.ttl_s > 0 { rules.ttl_s } else { u64::MAX });
        self.now = rules;
        self.db().set_options(&pairs).map_err(told("set_options"))?;
        let texts = texts.map(|(name, value)| format!("{name}={value}")).join(";");
        self.options.update(&texts).map_err(told("options"))
    }

    fn compact_range(&mut self) -> Result<(), String> {
        let force = CompactRangeOptions {
            bottommost_level_compaction: BottommostLevelCompaction::Force,
            ..CompactRangeOptions::default()
        };
        self.db().compact_range(None, None, &force).map_err(told("compact_range"))?;
        self.bytes_max += FILE_BYTES;
        self.flushed();
        self.compare()
    }

    /// Waits for all jobs, and compares the files with the rules.
    fn settle(&mut self, chance: &mut Chance) -> Result<(), String> {
        self.write(chance)?;
        self.flush()?;
        self.db().wait_for_compact().map_err(told("wait_for_compact"))?;
        let files = self.db().live_files();
        let bytes: u64 = files.iter().filter(|file| file.level == Level::ZERO).map(|file| file.size).sum();
        let Rules { size_max, ttl_s, whole_data, merges, has_ages } = self.now;
        if bytes > size_max {
            return Err(format!("files of {bytes} bytes with the limit {size_max}"));
        }
        let now = self.now_s();
        // The newest row of a file was written before the flush of the file. So its time of flush gives the file a minimum age.
        let age_of = |file: &LiveFile| {
            let newest = self.rows.iter().rev().find(|row| row.key <= file.largest_key);
            newest.and_then(|row| row.flushed_s).map_or(0, |flushed| now.saturating_sub(flushed))
        };
        let is_expired = |file: &&LiveFile| ttl_s > 0 && age_of(file) > ttl_s && file.level == Level::ZERO;
        if let Some(file) = files.iter().find(is_expired)
            && !merges
            && !whole_data
        {
            return Err(format!("an expired file of the age {}: {file:?}", age_of(file)));
        }
        if has_ages {
            self.temperatures(&|number| files.iter().find(|file| file.number == number).map_or(0, age_of))?;
        }
        self.compare()
    }

    /// Fails if an old file does not have the temperature of its age.
    fn temperatures(&self, age_of: &dyn Fn(ironstone::FileNumber) -> u64) -> Result<(), String> {
        let infos = self.db().live_files_storage_info(&LiveFilesStorageInfoOptions::default());
        for info in infos.map_err(told("live_files_storage_info"))? {
            let age = age_of(info.file_number);
            let expected = match age {
                age if age > AGES_S[1] => Temperature::Cold,
                age if age > AGES_S[0] => Temperature::Warm,
                _ => continue,
            };
            // The age of the newest row is a lower bound for the age of the file.
            let is_right = info.temperature == expected as u8
                || expected == Temperature::Warm && info.temperature == Temperature::Cold as u8;
            same(&format!("the temperature of {info:?} with the age {age}"), &is_right, &true)?;
        }
        Ok(())
    }

    /// Reads one row.
    fn get(&mut self, chance: &mut Chance) -> Result<(), String> {
        let at = chance.below(self.rows.len().max(1) as u64) as usize;
        let Some(row) = self.rows.get(at) else { return Ok(()) };
        let found = self.db().get(&row.key).map_err(told("get"))?;
        match found {
            None if at < self.gone => Ok(()),
            None => {
                // FIFO compaction deleted the row after the last comparison.
                self.compare()?;
                same("a row that get does not find", &(at < self.gone), &true)
            }
            Some(found) if at < self.gone => Err(format!("row {at} is back: {:02x?}", &found[..])),
            Some(found) => same("get", &&found[..], &&row.value[..]),
        }
    }
}

impl World for Cached {
    fn step(&mut self, chance: &mut Chance) -> Result<(), String> {
        match chance.below(100) {
            0..45 => self.write(chance),
            45..60 => self.get(chance),
            60..70 => self.flush(),
            70..80 => {
                self.clock.advance(1_000_000 * *chance.pick(&[1, 50, 400, 3000]));
                Ok(())
            }
            80..88 => self.settle(chance),
            88..92 => self.rule(chance),
            92..94 => self.compact_range(),
            94..96 => {
                self.close()?;
                self.bytes_max += FILE_BYTES;
                self.open()?;
                self.compare()
            }
            _ => {
                self.options.db.env.executor.help();
                Ok(())
            }
        }
    }

    fn compare(&mut self) -> Result<(), String> {
        figures::compare(self.db(), &[self.db().default_family()])?;
        let found: Vec<_> = scan(self.db())?.into_iter().collect();
        let gone = self.rows.len().saturating_sub(found.len());
        let expected = self.rows[gone..].iter().map(|row| (row.key.clone(), row.value.clone()));
        let expected: Vec<_> = expected.collect();
        if found != expected {
            let known =
                |row: &(Vec<u8>, Vec<u8>)| self.rows.iter().any(|r| (&r.key, &r.value) == (&row.0, &row.1));
            let is_known = found.iter().all(known);
            let keys: Vec<_> = found.iter().map(|row| String::from_utf8_lossy(&row.0)).collect();
            return Err(format!("rows with wrong values: {}; keys {}", !is_known, keys.join(" ")));
        }
        if gone < self.gone {
            return Err(format!("{gone} rows are gone, and {} rows were gone before", self.gone));
        }
        let is_old = |row: &Row| self.now_s().saturating_sub(row.written_s) > self.ttl_min_s;
        if let Some(row) = self.rows[self.gone..gone].iter().find(|row| !is_old(row))
            && self.bytes_max <= self.size_min
        {
            return Err(format!("the row {} is gone without a reason", row.key.escape_ascii()));
        }
        self.gone = gone;
        Ok(())
    }
}
