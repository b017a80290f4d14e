// Objects closed in each order, twice, and from several threads. RocksDB's library ends the JVM in these programs.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksIterator;
import org.rocksdb.Snapshot;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteOptions;

class HandlesTest extends InDirectory {
  private RocksDB open(final Options options) throws Exception {
    final RocksDB db = RocksDB.open(options.setCreateIfMissing(true), dir.resolve("db").toString());
    db.put("k".getBytes(), "v".getBytes());
    return db;
  }

  @Test
  void iteratorOfClosedDatabaseIsNotACrash() throws Exception {
    try (Options options = new Options()) {
      final RocksDB db = open(options);
      final RocksIterator iterator = db.newIterator();
      iterator.seekToFirst();
      assertArrayEquals("k".getBytes(), iterator.key());
      db.close();
      assertThrows(IllegalStateException.class, iterator::seekToFirst);
      assertThrows(IllegalStateException.class, iterator::isValid);
      iterator.close();
      iterator.close();
    }
  }

  @Test
  void closedIteratorThrows() throws Exception {
    try (Options options = new Options()) {
      final RocksDB db = open(options);
      final RocksIterator iterator = db.newIterator();
      iterator.close();
      assertThrows(IllegalStateException.class, iterator::isValid);
      assertThrows(IllegalStateException.class, iterator::next);
      iterator.close();
      db.close();
    }
  }

  @Test
  void callsOnAClosedDatabaseThrow() throws Exception {
    try (Options options = new Options()) {
      final RocksDB db = open(options);
      final ColumnFamilyHandle family = db.createColumnFamily(new ColumnFamilyDescriptor("f".getBytes()));
      final Snapshot snapshot = db.getSnapshot();
      db.close();
      db.close();
      assertThrows(IllegalStateException.class, () -> db.put("a".getBytes(), "b".getBytes()));
      assertThrows(IllegalStateException.class, () -> db.get("a".getBytes()));
      assertThrows(IllegalStateException.class, db::newIterator);
      assertThrows(IllegalStateException.class, snapshot::getSequenceNumber);
      assertThrows(IllegalStateException.class, family::getID);
      family.close();
      family.close();
    }
  }

  @Test
  void closedOptionsAndBatchesThrow() throws Exception {
    final Options options = new Options();
    final RocksDB db = open(options);
    options.close();
    assertThrows(IllegalStateException.class, options::createIfMissing);
    assertThrows(IllegalStateException.class, () -> RocksDB.open(options, dir.resolve("other").toString()));
    final WriteOptions write = new WriteOptions();
    final ReadOptions read = new ReadOptions();
    final WriteBatch batch = new WriteBatch();
    write.close();
    read.close();
    batch.close();
    assertThrows(IllegalStateException.class, () -> db.put(write, "a".getBytes(), "b".getBytes()));
    assertThrows(IllegalStateException.class, () -> db.get(read, "a".getBytes()));
    assertThrows(IllegalStateException.class, () -> batch.put("a".getBytes(), "b".getBytes()));
    db.close();
  }

  @Test
  void aHandleIsNotUsedAgainForANewObject() throws Exception {
    final ReadOptions closed = new ReadOptions();
    closed.close();
    final List<ReadOptions> others = new ArrayList<>();
    for (int i = 0; i < 1000; i++) others.add(new ReadOptions());
    assertThrows(IllegalStateException.class, closed::fillCache);
    others.forEach(ReadOptions::close);
  }

  @Test
  void threadsThatRaceWithCloseGetExceptions() throws Exception {
    for (int round = 0; round < 20; round++) {
      final Options options = new Options().setCreateIfMissing(true);
      final RocksDB db = RocksDB.open(options, dir.resolve("race" + round).toString());
      final RocksIterator iterator = db.newIterator();
      final List<Thread> threads = new ArrayList<>();
      for (int at = 0; at < 8; at++) {
        final int seed = at;
        final Thread thread = new Thread(() -> work(db, iterator, options, new Random(seed)));
        threads.add(thread);
        thread.start();
      }
      for (final Thread thread : threads) thread.join();
      iterator.close();
      db.close();
      options.close();
      assertFalse(db.isOwningHandle());
    }
  }

  private static void work(final RocksDB db, final RocksIterator iterator, final Options options, final Random random) {
    for (int at = 0; at < 200; at++) {
      final byte[] key = {(byte) random.nextInt(16)};
      try {
        switch (random.nextInt(60)) {
          case 0 -> db.close();
          case 1 -> iterator.close();
          case 2 -> options.close();
          case 3, 4, 5 -> options.maxOpenFiles();
          case 6, 7, 8, 9 -> iterator.seek(key);
          case 10, 11, 12 -> iterator.value();
          case 13 -> {
            try (RocksIterator other = db.newIterator()) {
              other.seekToLast();
            }
          }
          default -> db.put(key, key);
        }
      } catch (final Exception expected) {
        // Another thread closed the object.
      }
    }
  }
}
