// SST file managers: their log, their limits, and the files that they track.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rocksdb.Env;
import org.rocksdb.FlushOptions;
import org.rocksdb.InfoLogLevel;
import org.rocksdb.Logger;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.SstFileManager;

class SpaceTest extends InDirectory {
  @Test
  void theLoggerOfAManagerGetsALineForEachDeletedFile() throws Exception {
    final List<String> lines = Collections.synchronizedList(new ArrayList<>());
    try (Options plain = new Options(); Logger logger = new Logger(plain) {
           @Override
           protected void log(final InfoLogLevel level, final String line) {
             lines.add(line);
           }
         };
         SstFileManager manager = new SstFileManager(Env.getDefault(), logger);
         Options options = new Options().setCreateIfMissing(true).setSstFileManager(manager)) {
      try (RocksDB db = RocksDB.open(options, dir.toString()); FlushOptions flush = new FlushOptions()) {
        for (int at = 0; at < 2; at++) {
          // A compaction moves files that share only one key, as RocksDB does, and deletes none of them.
          db.put(b("k"), b("v" + at));
          db.put(b("l"), b("v" + at));
          db.flush(flush);
        }
        assertEquals(2, manager.getTrackedFiles().size());
        assertEquals(manager.getTotalSize(), manager.getTrackedFiles().values().stream().mapToLong(size -> size).sum());
        db.compactRange();
      }
      assertTrue(lines.stream().anyMatch(line -> line.contains("deleted the file") && line.contains(".sst")), lines.toString());
      assertEquals(1, manager.getTrackedFiles().size());
    }
  }

  @Test
  void aManagerStopsWritesAtItsLimit() throws Exception {
    try (SstFileManager manager = new SstFileManager(Env.getDefault());
         Options options = new Options().setCreateIfMissing(true).setSstFileManager(manager);
         RocksDB db = RocksDB.open(options, dir.toString()); FlushOptions flush = new FlushOptions()) {
      assertEquals(0.25, manager.getMaxTrashDBRatio());
      manager.setMaxTrashDBRatio(0.5);
      assertEquals(0.5, manager.getMaxTrashDBRatio());
      manager.setDeleteRateBytesPerSecond(1 << 20);
      assertEquals(1 << 20, manager.getDeleteRateBytesPerSecond());
      manager.setCompactionBufferSize(1);
      assertFalse(manager.isMaxAllowedSpaceReached());
      manager.setMaxAllowedSpaceUsage(1);
      db.put(b("k"), b("v"));
      assertThrows(RocksDBException.class, () -> {
        db.flush(flush);
        db.put(b("k"), b("w"));
      });
      assertTrue(manager.isMaxAllowedSpaceReached());
      assertTrue(manager.isMaxAllowedSpaceReachedIncludingCompactions());
    }
  }
}
