// Cycles of objects leave the memory of the process flat. The argument `-Dcycles=N` of Maven sets the number of cycles, and each test prints
// its figures: mvn -f jni/tests -P 11.8.1 test -Dnative=DIR -Dtest=LeakTest -Dcycles=1000000
package ironstone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.rocksdb.BloomFilter;
import org.rocksdb.Checkpoint;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.Env;
import org.rocksdb.FlushOptions;
import org.rocksdb.InfoLogLevel;
import org.rocksdb.LRUCache;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksIterator;
import org.rocksdb.RocksMemEnv;
import org.rocksdb.Slice;
import org.rocksdb.Snapshot;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteBatchWithIndex;
import org.rocksdb.WriteOptions;

class LeakTest extends InDirectory {
  /** Returns the resident memory of the process without the heap of Java, in KiB. */
  private static long resident() throws Exception {
    try (var lines = Files.lines(Path.of("/proc/self/status"))) {
      return lines.filter(line -> line.startsWith("RssAnon")).map(line -> line.replaceAll("[^0-9]", "")).mapToLong(Long::parseLong).sum();
    }
  }

  private void cycles(final RocksDB db, final int count) throws Exception {
    final byte[] key = "key".getBytes();
    for (int at = 0; at < count; at++) {
      try (Options options = new Options(); WriteOptions write = new WriteOptions(); ReadOptions read = new ReadOptions();
           WriteBatch batch = new WriteBatch(); LRUCache cache = new LRUCache(1 << 10)) {
        batch.put(key, key);
        final Snapshot snapshot = db.getSnapshot();
        read.setSnapshot(snapshot);
        try (RocksIterator iterator = db.newIterator(read)) {
          iterator.seekToFirst();
        }
        db.releaseSnapshot(snapshot);
        if (at % 100 == 0) {
          db.write(write, batch);
        }
        read.setSnapshot(null);
        others(db, read, key);
      }
    }
  }

  private static void others(final RocksDB db, final ReadOptions read, final byte[] key) throws Exception {
    try (WriteBatchWithIndex indexed = new WriteBatchWithIndex(true); Slice bound = new Slice(key); ColumnFamilyHandle family = db.getDefaultColumnFamily();
         FlushOptions flush = new FlushOptions(); BloomFilter filter = new BloomFilter(10); Checkpoint checkpoint = Checkpoint.create(db)) {
      indexed.put(family, key, key);
      read.setIterateUpperBound(bound);
      try (RocksIterator iterator = indexed.newIteratorWithBase(db.newIterator(read))) {
        iterator.seekToFirst();
      }
    }
  }

  /** Runs `work` twice. Fails if the second run leaves more memory than a leak of a few bytes for each cycle would. */
  private static void assertFlat(final int cycles, final Cycles work) throws Exception {
    work.run(cycles / 2);
    final long before = resident();
    work.run(cycles);
    // The heap of Java is bounded by the settings of the test; each cycle that leaks 1 KiB is 20 MiB.
    final long after = resident();
    System.out.printf("%d cycles: %d KiB before, %d KiB after%n", cycles, before, after);
    final long grown = after - before;
    assertTrue(grown < 16 << 10, grown + " KiB more after " + cycles + " cycles");
  }

  private interface Cycles {
    void run(int count) throws Exception;
  }

  @Test
  void cyclesOfObjectsLeaveTheMemoryFlat() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, dir.toString())) {
      assertFlat(Integer.getInteger("cycles", 20_000), count -> cycles(db, count));
    }
  }

  /** The Java class RocksDB makes such options at each open. */
  @Test
  void readOptionsThatAreNeverClosedNeedNoMemory() throws Exception {
    final byte[] key = b("key");
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, dir.toString())) {
      db.put(key, key);
      assertFlat(100_000, count -> {
        for (int at = 0; at < count; at++) {
          assertArrayEquals(key, db.get(new ReadOptions(), key));
        }
      });
    }
  }

  @Test
  void cyclesOfOpenWriteAndCloseLeaveTheMemoryFlat() throws Exception {
    final int cycles = Integer.getInteger("cycles", 20_000) / 20;
    final byte[] key = b("key");
    // The Java class RocksDB makes ReadOptions that it never closes: about 400 bytes for each open with RocksDB's library.
    assertFlat(cycles, count -> {
      for (int at = 0; at < count; at++) {
        try (RocksMemEnv env = new RocksMemEnv(Env.getDefault());
             Options options = new Options().setCreateIfMissing(true).setEnv(env).setInfoLogLevel(InfoLogLevel.FATAL_LEVEL);
             RocksDB db = RocksDB.open(options, "/leak")) {
          db.put(key, key);
          try (RocksIterator iterator = db.newIterator()) {
            iterator.seekToFirst();
          }
        }
      }
    });
  }
}
