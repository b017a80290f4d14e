//! Databases with formats that no other campaign writes: formats of older releases, and plain tables with keys of one length or
//! without an index. Each call makes a new database, and destroys it.

use std::path::Path;

use ironstone::{Db, EncodingType, Kind, Options, PlainTableOptions, ReadConfig, TableFactory};
use testkit::chance::Chance;
use testkit::model::Model;

use super::super::indexed::rows_equal;
use super::super::overlay::State;
use super::super::{key, same, told, value};
use super::{Forms, families_of};

/// The length of the keys of plain tables.
const KEY_LEN: usize = 5;

impl Forms {
    /// Writes the formats of an older release. A later open without this limit reads the rows and the options.
    pub(super) fn write_older_formats(&mut self, chance: &mut Chance) -> Result<(), String> {
        let path = self.path("older");
        let releases = ["7.0", "7.8", "8.5", "9.0", "9.11", "10.4", "11.0", "11.8"];
        let release = *chance.pick(&releases);
        let mut options = self.plain_options();
        let tables = [
            "",
            "block_based_table_factory={filter_policy=ribbonfilter:10:3}",
            "block_based_table_factory={filter_policy={id=ribbonfilter:9.5;bloom_before_level=-1}}",
            "block_based_table_factory={data_block_index_type=kDataBlockBinaryAndHash;filter_policy=bloomfilter:0.7}",
        ];
        options.update(chance.pick::<&str>(&tables)).map_err(told("options of tables"))?;
        options.update(&format!("compat={release}")).map_err(told("compat"))?;
        let models = vec![self.state[0].clone()];
        let db = Db::open(&path, options.clone()).map_err(told("open with compat"))?;
        for (key, value) in models[0].rows() {
            db.put(&key, &value).map_err(told("put with compat"))?;
            if chance.percent(10) {
                db.flush().map_err(told("flush with compat"))?;
            }
        }
        if chance.percent(50) {
            db.compact_range(None, None, &Default::default()).map_err(told("compact with compat"))?;
        }
        db.close().map_err(told("close with compat"))?;
        let (env, config) = (&self.options.db.env, ReadConfig::default());
        let file = Options::load_latest(&path, env, &config).map_err(told("load_latest with compat"))?;
        same("column families of an older OPTIONS file", &file.families.len(), &1)?;
        let later = self.plain_options();
        let db = Db::open(&path, later.clone()).map_err(told("open of older formats"))?;
        rows_equal(&families_of(&db), &models).map_err(|words| format!("formats of {release}: {words}"))?;
        db.verify_checksum().map_err(told("verify_checksum"))?;
        db.close().map_err(told("close"))?;
        self.read_only(&path, &later, &models)?;
        ironstone::destroy(&path, &later.db).map_err(told("destroy"))
    }

    /// Opens a database of one column family for reading. RocksDB has a mode of its own for such a database if all of its files are on
    /// one level.
    fn read_only(&self, path: &Path, options: &Options, models: &State) -> Result<(), String> {
        let reader = Db::open_read_only(path, options.clone()).map_err(told("open_read_only"))?;
        rows_equal(&families_of(&reader), models).map_err(|words| format!("open_read_only: {words}"))?;
        for done in [reader.put(b"key00", b"refused"), reader.flush(), reader.sync_wal(), reader.lock_wal()] {
            let kind = done.map_err(|error| error.kind());
            same("a change of a reader", &kind, &Err(Kind::NotSupported))?;
        }
        Ok(())
    }

    /// Returns default options in the environment of the world.
    fn plain_options(&self) -> Options {
        let mut options = Options::default();
        options.db.create_if_missing = true;
        options.db.env = self.options.db.env.clone();
        options
    }

    /// Writes plain tables whose keys have one length. A key of another length fails the flush. In full-scan mode, a table is only read
    /// from its start.
    pub(super) fn write_plain_tables(&mut self, chance: &mut Chance) -> Result<(), String> {
        let path = self.path("plain");
        let table = PlainTableOptions {
            user_key_len: if chance.percent(70) { KEY_LEN as u32 } else { 0 },
            huge_page_tlb_size: *chance.pick(&[0, 2 << 20]),
            encoding_type: *chance.pick(&[EncodingType::Plain, EncodingType::Prefix]),
            ..PlainTableOptions::default()
        };
        // A prefix extractor lets the tables have a hash index.
        let options = |table: PlainTableOptions| -> Result<Options, String> {
            let mut options = self.plain_options();
            options.update("prefix_extractor=rocksdb.FixedPrefix.3;ttl=0").map_err(told("options"))?;
            options.family.table_factory = TableFactory::Plain(table);
            Ok(options)
        };
        let mut model = Model::default();
        let db = Db::open(&path, options(table.clone())?).map_err(told("open with plain tables"))?;
        for _ in 0..1 + chance.below(30) {
            let key = format!("key{:02}", chance.below(48)).into_bytes();
            let value = value(chance);
            db.put(&key, &value).map_err(told("put in a plain table"))?;
            model.put(&key, &value);
            if chance.percent(20) {
                db.flush().map_err(told("flush of a plain table"))?;
            }
        }
        db.flush().map_err(told("flush of a plain table"))?;
        for _ in 0..8 {
            let key = key(chance);
            // Keys without a prefix cannot be looked up.
            if key.len() == KEY_LEN {
                let found = db.get(&key).map_err(told("get in a plain table"))?.map(|value| value.to_vec());
                same("get in a plain table", &found.as_deref(), &model.get(&key))?;
            }
        }
        let models = vec![model];
        db.close().map_err(told("close"))?;
        let whole = PlainTableOptions { full_scan_mode: true, ..table.clone() };
        self.scan_only(&path, options(whole)?, &models)?;
        // With `kPrefix`, each key is stored with its length.
        if table.user_key_len > 0 && table.encoding_type == EncodingType::Plain {
            self.refuse_key(&path, options(table)?, &models)?;
        }
        ironstone::destroy(&path, &self.plain_options().db).map_err(told("destroy"))
    }

    fn scan_only(&self, path: &Path, options: Options, models: &[Model]) -> Result<(), String> {
        let db = Db::open_read_only(path, options).map_err(told("open in full-scan mode"))?;
        rows_equal(&families_of(&db), &models.to_vec()).map_err(|words| format!("full scan: {words}"))?;
        let (known, _) = &models[0].rows()[0];
        let refused = db.get(known).map(drop).map_err(|error| error.kind());
        same("get in full-scan mode", &refused, &Err(Kind::InvalidArgument))
    }

    /// A key of another length stays in the WAL. Without the limit, the next open has all rows.
    fn refuse_key(&self, path: &Path, options: Options, models: &[Model]) -> Result<(), String> {
        let mut models = models.to_vec();
        let db = Db::open(path, options.clone()).map_err(told("second open with plain tables"))?;
        db.put(b"key of another length", b"value").map_err(told("put of a long key"))?;
        models[0].put(b"key of another length", b"value");
        let flushed = db.flush().map_err(|error| error.kind());
        same("flush of a long key", &flushed, &Err(Kind::NotSupported))?;
        // The close may report the background error.
        let _ = db.close();
        drop(db);
        let mut options = options;
        options.family.table_factory = TableFactory::Plain(PlainTableOptions::default());
        let db = Db::open(path, options).map_err(told("open without a key length"))?;
        rows_equal(&families_of(&db), &models).map_err(|words| format!("keys of any length: {words}"))?;
        db.close().map_err(told("close"))
    }
}
