// A persistent cache holds blocks that the block cache lost, in files of its own directory.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.rocksdb.BlockBasedTableConfig;
import org.rocksdb.Env;
import org.rocksdb.FlushOptions;
import org.rocksdb.InfoLogLevel;
import org.rocksdb.Logger;
import org.rocksdb.Options;
import org.rocksdb.PersistentCache;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Statistics;
import org.rocksdb.TickerType;

class PersistentCacheTest extends InDirectory {
  private static final long SIZE = 100L << 20;

  @Test
  void blockThatIsReadAgainComesFromThePersistentCache() throws Exception {
    final Path fast = dir.resolve("fast");
    try (Options options = new Options().setCreateIfMissing(true); Statistics statistics = new Statistics(); FlushOptions flush = new FlushOptions();
         Logger logger = new Logger(options) {
           @Override
           protected void log(final InfoLogLevel level, final String text) {}
         };
         PersistentCache cache = new PersistentCache(Env.getDefault(), fast.toString(), SIZE, logger, false)) {
      options.setStatistics(statistics).setTableFormatConfig(new BlockBasedTableConfig().setNoBlockCache(true).setPersistentCache(cache));
      try (RocksDB db = RocksDB.open(options, dir.resolve("db").toString())) {
        for (int i = 0; i < 1000; i++) {
          db.put(b("key" + i), b("value" + i));
        }
        db.flush(flush);
        for (int round = 0; round < 2; round++) {
          for (int i = 0; i < 1000; i++) {
            assertEquals("value" + i, new String(db.get(b("key" + i))));
          }
        }
      }
      final long misses = statistics.getTickerCount(TickerType.PERSISTENT_CACHE_MISS);
      assertTrue(misses > 0 && misses < 100, "misses " + misses);
      assertTrue(statistics.getTickerCount(TickerType.PERSISTENT_CACHE_HIT) > 1500);
      try (var files = Files.list(fast.resolve("cache"))) {
        assertTrue(files.allMatch(file -> file.toString().endsWith(".rc") && file.toFile().length() > 1000));
      }
    }
  }

  @Test
  void cacheSmallerThanOneFileIsRefused() throws Exception {
    try (Options options = new Options(); Logger logger = new Logger(options) {
           @Override
           protected void log(final InfoLogLevel level, final String text) {}
         }) {
      final RocksDBException thrown = assertThrows(RocksDBException.class,
          () -> new PersistentCache(Env.getDefault(), dir.toString(), SIZE - 1, logger, false));
      assertEquals("invalid cache size", thrown.getMessage());
    }
  }
}
