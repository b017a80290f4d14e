// Backups, checkpoints, exports, SST files outside of databases, and the metadata of the files of a database.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.rocksdb.AbstractEventListener;
import org.rocksdb.BackupEngine;
import org.rocksdb.BackupEngineOptions;
import org.rocksdb.BackupInfo;
import org.rocksdb.Checkpoint;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyMetaData;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompactionJobInfo;
import org.rocksdb.CompactionOptions;
import org.rocksdb.DirectSlice;
import org.rocksdb.Env;
import org.rocksdb.EnvOptions;
import org.rocksdb.ExportImportFilesMetaData;
import org.rocksdb.FlushOptions;
import org.rocksdb.ImportColumnFamilyOptions;
import org.rocksdb.IngestExternalFileOptions;
import org.rocksdb.LRUCache;
import org.rocksdb.LiveFileMetaData;
import org.rocksdb.LogFile;
import org.rocksdb.MemoryUsageType;
import org.rocksdb.MemoryUtil;
import org.rocksdb.InfoLogLevel;
import org.rocksdb.Logger;
import org.rocksdb.Options;
import org.rocksdb.Range;
import org.rocksdb.RateLimiter;
import org.rocksdb.ReadOptions;
import org.rocksdb.RestoreOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.SizeApproximationFlag;
import org.rocksdb.Slice;
import org.rocksdb.SstFileReader;
import org.rocksdb.SstFileReaderIterator;
import org.rocksdb.SstFileWriter;
import org.rocksdb.Status;
import org.rocksdb.TableProperties;
import org.rocksdb.TransactionLogIterator;
import org.rocksdb.WalFileType;

class FilesTest extends InDirectory {
  private RocksDB open(final Options options) throws Exception {
    return RocksDB.open(options.setCreateIfMissing(true), dir.resolve("db").toString());
  }

  private static void flush(final RocksDB db) throws Exception {
    try (FlushOptions flush = new FlushOptions()) {
      db.flush(flush);
    }
  }

  /** As in RocksDB, {@code compactFiles} calls no listener for the start and the end of its compaction. */
  @Test
  void listenersDoNotHearOfCompactFiles() throws Exception {
    final List<String> calls = Collections.synchronizedList(new ArrayList<>());
    final AbstractEventListener listener = new AbstractEventListener() {
      @Override
      public void onCompactionBegin(final RocksDB db, final CompactionJobInfo info) {
        calls.add("begin");
      }

      @Override
      public void onCompactionCompleted(final RocksDB db, final CompactionJobInfo info) {
        calls.add("completed");
      }
    };
    try (Options options = new Options().setCreateIfMissing(true).setDisableAutoCompactions(true).setListeners(List.of(listener));
         RocksDB db = RocksDB.open(options, dir.resolve("heard").toString()); FlushOptions flush = new FlushOptions();
         CompactionOptions compaction = new CompactionOptions(); CompactionJobInfo info = new CompactionJobInfo()) {
      for (int i = 0; i < 2; ++i) {
        db.put(b("a"), b("1"));
        db.put(b("z"), b("1"));
        db.flush(flush);
      }
      final List<String> files = new ArrayList<>();
      db.getLiveFilesMetaData().forEach(file -> files.add(file.fileName()));
      db.compactFiles(compaction, files, 1, -1, info);
      assertEquals(2, info.inputFiles().size());
      assertEquals(List.of(), calls);
      db.put(b("a"), b("2"));
      db.flush(flush);
      db.compactRange();
      assertTrue(calls.contains("begin"));
    }
  }

  @Test
  void backupOptionsReturnWhatWasSet() throws Exception {
    final Path place = Files.createDirectory(dir.resolve("place"));
    try (BackupEngineOptions options = new BackupEngineOptions(place.toString()); RateLimiter limiter = new RateLimiter(1 << 20)) {
      assertEquals(place.toString(), options.backupDir());
      assertTrue(options.shareTableFiles() && options.sync() && options.backupLogFiles() && options.shareFilesWithChecksum());
      assertFalse(options.destroyOldData());
      assertEquals(0, options.backupRateLimit());
      assertEquals(4 << 20, options.callbackTriggerIntervalSize());
      assertEquals(1, options.maxBackgroundOperations());
      assertEquals(7, options.setBackupRateLimit(7).backupRateLimit());
      assertEquals(8, options.setRestoreRateLimit(8).restoreRateLimit());
      assertEquals(9, options.setCallbackTriggerIntervalSize(9).callbackTriggerIntervalSize());
      assertEquals(2, options.setMaxBackgroundOperations(2).maxBackgroundOperations());
      assertFalse(options.setShareTableFiles(false).shareTableFiles());
      assertFalse(options.setSync(false).sync());
      assertTrue(options.setDestroyOldData(true).destroyOldData());
      assertFalse(options.setBackupLogFiles(false).backupLogFiles());
      assertFalse(options.setShareFilesWithChecksum(false).shareFilesWithChecksum());
      options.setBackupEnv(Env.getDefault()).setBackupRateLimiter(limiter).setRestoreRateLimiter(limiter);
    }
  }

  @Test
  void aLoggerOfBackupsGetsTheirLines() throws Exception {
    final Path place = Files.createDirectory(dir.resolve("backups"));
    final List<String> lines = new ArrayList<>();
    try (Options options = new Options(); Logger logger = new Logger(options) {
          @Override
          protected void log(final InfoLogLevel level, final String text) {
            lines.add(text);
          }
        }; BackupEngineOptions settings = new BackupEngineOptions(place.toString()).setInfoLog(logger);
         BackupEngine engine = BackupEngine.open(Env.getDefault(), settings)) {
      try (RocksDB db = open(options)) {
        engine.createNewBackup(db, true);
      }
      engine.deleteBackup(1);
    }
    assertTrue(lines.contains("Started the backup process -- creating backup 1"), lines::toString);
    assertTrue(lines.contains("Deleted backup 1"), lines::toString);
  }

  @Test
  void aBackupIsRestored() throws Exception {
    final Path place = Files.createDirectory(dir.resolve("backups"));
    final Path restored = dir.resolve("restored");
    try (BackupEngineOptions settings = new BackupEngineOptions(place.toString());
         BackupEngine engine = BackupEngine.open(Env.getDefault(), settings); RestoreOptions restore = new RestoreOptions(false);
         Options options = new Options()) {
      try (RocksDB db = open(options)) {
        db.put(b("k"), b("1"));
        engine.createNewBackup(db, true);
        db.put(b("k"), b("2"));
        engine.createNewBackupWithMetadata(db, "second", true);
        db.put(b("k"), b("3"));
      }
      final List<BackupInfo> infos = engine.getBackupInfo();
      assertEquals(2, infos.size());
      assertEquals(1, infos.get(0).backupId());
      assertEquals("second", infos.get(1).appMetadata());
      assertTrue(infos.get(1).size() > 0 && infos.get(1).numberFiles() > 0 && infos.get(1).timestamp() > 0);
      assertEquals(0, engine.getCorruptedBackups().length);
      engine.restoreDbFromBackup(1, restored.toString(), restored.toString(), restore);
      try (RocksDB db = RocksDB.open(options, restored.toString())) {
        assertArrayEquals(b("1"), db.get(b("k")));
      }
      engine.restoreDbFromLatestBackup(restored.toString(), restored.toString(), restore);
      try (RocksDB db = RocksDB.open(options, restored.toString())) {
        assertArrayEquals(b("2"), db.get(b("k")));
      }
      engine.deleteBackup(2);
      engine.purgeOldBackups(1);
      engine.garbageCollect();
      assertEquals(1, engine.getBackupInfo().size());
      final RocksDBException missing = assertThrows(RocksDBException.class, () -> engine.deleteBackup(7));
      assertEquals(Status.Code.NotFound, missing.getStatus().getCode());
    }
  }

  @Test
  void aCheckpointIsADatabase() throws Exception {
    try (Options options = new Options(); RocksDB db = open(options)) {
      db.put(b("k"), b("1"));
      final Checkpoint checkpoint = Checkpoint.create(db);
      checkpoint.createCheckpoint(dir.resolve("copy").toString());
      assertThrows(RocksDBException.class, () -> checkpoint.createCheckpoint(dir.resolve("copy").toString()));
      db.put(b("k"), b("2"));
      try (RocksDB copy = RocksDB.open(options, dir.resolve("copy").toString())) {
        assertArrayEquals(b("1"), copy.get(b("k")));
      }
      db.close();
      assertThrows(IllegalStateException.class, () -> checkpoint.createCheckpoint(dir.resolve("late").toString()));
      checkpoint.close();
    }
  }

  @Test
  void anExportedFamilyIsImported() throws Exception {
    try (Options options = new Options(); RocksDB db = open(options); ColumnFamilyOptions family = new ColumnFamilyOptions();
         ColumnFamilyHandle from = db.createColumnFamily(new ColumnFamilyDescriptor(b("from"), family));
         Checkpoint checkpoint = Checkpoint.create(db); ImportColumnFamilyOptions how = new ImportColumnFamilyOptions()) {
      db.put(from, b("k"), b("v"));
      try (ExportImportFilesMetaData files = checkpoint.exportColumnFamily(from, dir.resolve("export").toString());
           ColumnFamilyHandle to = db.createColumnFamilyWithImport(new ColumnFamilyDescriptor(b("to"), family), how, files)) {
        assertArrayEquals(b("v"), db.get(to, b("k")));
        assertArrayEquals(b("to"), to.getDescriptor().getName());
      }
      try (ColumnFamilyHandle empty = db.createColumnFamilyWithImport(new ColumnFamilyDescriptor(b("empty"), family), how, List.of())) {
        assertNull(db.get(empty, b("k")));
      }
    }
  }

  @Test
  void writtenFilesAreReadAndIngested() throws Exception {
    final String path = dir.resolve("a.sst").toString();
    try (EnvOptions env = new EnvOptions(); Options options = new Options(); SstFileWriter writer = new SstFileWriter(env, options)) {
      assertThrows(RocksDBException.class, () -> writer.put(b("a"), b("1")));
      writer.open(path);
      writer.put(b("a"), b("1"));
      final ByteBuffer key = ByteBuffer.allocateDirect(1);
      final ByteBuffer value = ByteBuffer.allocateDirect(1);
      key.put(b("b")).flip();
      value.put(b("2")).flip();
      writer.put(key, value);
      try (Slice k = new Slice("c"); Slice v = new Slice("3"); DirectSlice dk = new DirectSlice("d"); DirectSlice dv = new DirectSlice("4")) {
        writer.put(k, v);
        writer.put(dk, dv);
      }
      writer.delete(b("e"));
      assertThrows(RocksDBException.class, () -> writer.put(b("a"), b("again")));
      assertTrue(writer.fileSize() >= 0);
      writer.finish();
      assertEquals(Files.size(dir.resolve("a.sst")), writer.fileSize());
      try (SstFileReader reader = new SstFileReader(options); ReadOptions read = new ReadOptions()) {
        assertThrows(RocksDBException.class, () -> reader.open(dir.resolve("none").toString()));
        reader.open(path);
        reader.verifyChecksum();
        assertEquals(5, reader.getTableProperties().getNumEntries());
        assertEquals(1, reader.getTableProperties().getNumDeletions());
        final StringBuilder seen = new StringBuilder();
        try (SstFileReaderIterator iterator = reader.newIterator(read)) {
          for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
            seen.append(new String(iterator.key())).append(new String(iterator.value()));
          }
          iterator.status();
          assertEquals("a1b2c3d4", seen.toString());
          iterator.seekToLast();
          iterator.prev();
          assertArrayEquals(b("c"), iterator.key());
          iterator.seekForPrev(b("bb"));
          assertArrayEquals(b("2"), iterator.value());
          iterator.seek(b("bb"));
          final ByteBuffer out = ByteBuffer.allocateDirect(4);
          assertEquals(1, iterator.key(out));
          assertEquals('c', out.get(0));
        }
      }
      try (RocksDB db = open(options); IngestExternalFileOptions how = new IngestExternalFileOptions()) {
        db.put(b("e"), b("gone"));
        db.ingestExternalFile(List.of(path), how);
        assertArrayEquals(b("4"), db.get(b("d")));
        assertNull(db.get(b("e")));
      }
    }
  }

  @Test
  void fileOptionsReturnWhatWasSetAndActOrAreRejected() throws Exception {
    try (EnvOptions env = new EnvOptions(); Options options = new Options()) {
      assertTrue(env.allowFallocate() && env.setFdCloexec() && env.fallocateWithKeepSize());
      assertFalse(env.useMmapReads() || env.useMmapWrites() || env.useDirectReads() || env.useDirectWrites());
      assertEquals(1 << 20, env.writableFileMaxBufferSize());
      assertEquals(0, env.bytesPerSync());
      assertEquals(5, env.setBytesPerSync(5).bytesPerSync());
      assertEquals(6, env.setCompactionReadaheadSize(6).compactionReadaheadSize());
      assertEquals(8, env.setWritableFileMaxBufferSize(8).writableFileMaxBufferSize());
      assertFalse(env.setFallocateWithKeepSize(false).fallocateWithKeepSize());
      try (SstFileWriter writer = new SstFileWriter(env, options)) {
        writer.open(dir.resolve("a.sst").toString());
        writer.put(b("a"), b("1"));
        writer.finish();
        assertEquals(Files.size(dir.resolve("a.sst")), writer.fileSize());
      }
    }
  }

  @Test
  void aDirectSliceShowsTheMemoryOfItsBuffer() throws Exception {
    final ByteBuffer buffer = ByteBuffer.allocateDirect(4);
    buffer.put(b("abcd")).flip();
    try (DirectSlice slice = new DirectSlice(buffer, 3)) {
      assertEquals("abc", slice.toString());
      buffer.put(0, (byte) 'x');
      assertEquals("xbc", slice.toString());
      assertEquals('x', slice.get(0));
      final ByteBuffer view = slice.data();
      assertTrue(view.isDirect());
      assertEquals(3, view.remaining());
      view.put(1, (byte) 'y');
      assertEquals('y', buffer.get(1));
      slice.removePrefix(1);
      assertEquals("yc", slice.toString());
      assertEquals(2, slice.data().remaining());
      slice.setLength(3);
      assertEquals("ycd", slice.toString());
      assertThrows(IndexOutOfBoundsException.class, () -> slice.setLength(4));
      assertThrows(IndexOutOfBoundsException.class, () -> slice.get(3));
    }
    assertThrows(IndexOutOfBoundsException.class, () -> new DirectSlice(buffer, 5).close());
    buffer.put(2, (byte) 0);
    try (DirectSlice slice = new DirectSlice(buffer)) {
      assertEquals("xy", slice.toString());
    }
  }

  @Test
  void aDatabaseDescribesItsFiles() throws Exception {
    try (Options options = new Options(); RocksDB db = open(options)) {
      db.put(b("a"), b("1"));
      db.put(b("z"), b("2"));
      flush(db);
      db.put(b("m"), b("3"));
      final List<LiveFileMetaData> live = db.getLiveFilesMetaData();
      assertEquals(1, live.size());
      assertArrayEquals(b("default"), live.get(0).columnFamilyName());
      assertArrayEquals(b("a"), live.get(0).smallestKey());
      assertArrayEquals(b("z"), live.get(0).largestKey());
      assertTrue(live.get(0).fileName().startsWith("/") && live.get(0).size() > 0);
      assertEquals(dir.resolve("db").toString(), live.get(0).path());
      final ColumnFamilyMetaData family = db.getColumnFamilyMetaData();
      assertEquals(1, family.fileCount());
      assertEquals(7, family.levels().size());
      assertEquals(live.get(0).size(), family.levels().get(0).files().get(0).size());
      final Map<String, TableProperties> tables = db.getPropertiesOfAllTables();
      assertEquals(1, tables.size());
      final TableProperties table = tables.values().iterator().next();
      assertEquals(2, table.getNumEntries());
      assertEquals("leveldb.BytewiseComparator", table.getComparatorName());
      assertArrayEquals(b("default"), table.getColumnFamilyName());
      assertEquals(1, db.getPropertiesOfTablesInRange(db.getDefaultColumnFamily(),
          List.of(new Range(new Slice("a"), new Slice("b")))).size());
      assertEquals(0, db.getPropertiesOfTablesInRange(db.getDefaultColumnFamily(),
          List.of(new Range(new Slice("zz"), new Slice("zzz")))).size());
      final RocksDB.LiveFiles files = db.getLiveFiles(false);
      assertTrue(files.files.stream().anyMatch(name -> name.endsWith(".sst")));
      assertTrue(files.files.contains("/CURRENT"));
      assertTrue(files.manifestFileSize > 0);
      final List<LogFile> logs = db.getSortedWalFiles();
      // The WAL before the flush may exist until the end of a background job.
      final LogFile log = logs.get(logs.size() - 1);
      assertEquals(WalFileType.kAliveLogFile, log.type());
      assertEquals(3, log.startSequence());
      assertTrue(log.pathName().endsWith(".log") && log.sizeFileBytes() > 0 && log.logNumber() > 0);
      final Range all = new Range(new Slice("a"), new Slice("zz"));
      assertTrue(db.getApproximateSizes(List.of(all), SizeApproximationFlag.INCLUDE_FILES)[0] > 0);
      assertTrue(db.getApproximateMemTableStats(all).count >= 0);
      assertTrue(db.getMapProperty("rocksdb.cfstats").size() > 0);
      assertThrows(RocksDBException.class, () -> db.getMapProperty("none"));
      assertTrue(live.get(0).newLiveFileMetaDataHandle() != 0);
      try (CompactionJobInfo job = new CompactionJobInfo()) {
        final List<String> outputs = db.compactFiles(new CompactionOptions(), List.of(live.get(0).fileName()), 1, -1, job);
        assertEquals(1, outputs.size());
        final Set<String> expected = new HashSet<>(outputs);
        expected.addAll(job.inputFiles());
        assertEquals(expected, job.tableProperties().keySet());
      }
      // An automatic compaction may move the file down.
      assertTrue(db.getLiveFilesMetaData().get(0).level() >= 1);
      db.suggestCompactRange();
      db.cancelAllBackgroundWork(true);
      db.put(b("n"), b("4"));
      final RocksDBException canceled = assertThrows(RocksDBException.class, () -> flush(db));
      assertEquals(Status.Code.ShutdownInProgress, canceled.getStatus().getCode());
    }
  }

  @Test
  void updatesComeInOrder() throws Exception {
    try (Options options = new Options(); RocksDB db = open(options)) {
      db.put(b("a"), b("1"));
      db.put(b("b"), b("2"));
      try (TransactionLogIterator updates = db.getUpdatesSince(2)) {
        assertTrue(updates.isValid());
        final TransactionLogIterator.BatchResult result = updates.getBatch();
        assertEquals(2, result.sequenceNumber());
        assertTrue(result.writeBatch().hasPut());
        updates.next();
        assertFalse(updates.isValid());
        updates.status();
        assertThrows(RocksDBException.class, updates::getBatch);
      }
      assertThrows(RocksDBException.class, () -> db.getUpdatesSince(100));
    }
  }

  @Test
  void memoryIsCountedByType() throws Exception {
    try (Options options = new Options(); RocksDB db = open(options); LRUCache cache = new LRUCache(1 << 20)) {
      db.put(b("a"), new byte[1000]);
      final Map<MemoryUsageType, Long> usage = MemoryUtil.getApproximateMemoryUsageByType(List.of(db), Set.of(cache));
      assertTrue(usage.get(MemoryUsageType.kMemTableTotal) > 0);
      assertEquals(0, usage.get(MemoryUsageType.kTableReadersTotal));
    }
  }

  @Test
  void aRateLimiterCountsWhatItGrants() {
    try (RateLimiter limiter = new RateLimiter(1 << 20)) {
      limiter.request(1000);
      assertEquals(1000, limiter.getTotalBytesThrough());
      assertEquals(1, limiter.getTotalRequests());
    }
  }
}
