// Objects closed in each order, twice, and from several threads. RocksDB's library ends the JVM in these programs.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.Slice;
import org.rocksdb.Snapshot;
import org.rocksdb.Status;
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
  void readOptionsWithoutASetterActAsOthers() throws Exception {
    try (Options options = new Options(); RocksDB db = open(options); ReadOptions plain = new ReadOptions();
         ReadOptions changed = new ReadOptions(); ReadOptions copy = new ReadOptions(plain); Slice bound = new Slice("k")) {
      assertArrayEquals("v".getBytes(), db.get(plain, "k".getBytes()));
      assertArrayEquals("v".getBytes(), db.get(copy, "k".getBytes()));
      assertEquals(List.of(true, true), List.of(plain.fillCache(), plain.verifyChecksums()));
      assertNull(plain.snapshot());
      assertNull(plain.iterateUpperBound());
      changed.setIterateUpperBound(bound).setFillCache(false);
      try (RocksIterator all = db.newIterator(plain); RocksIterator none = db.newIterator(changed);
           ReadOptions other = new ReadOptions(changed)) {
        all.seekToFirst();
        none.seekToFirst();
        assertEquals(List.of(true, false), List.of(all.isValid(), none.isValid()));
        assertEquals(List.of(true, false, false), List.of(plain.fillCache(), changed.fillCache(), other.fillCache()));
      }
    }
  }

  @Test
  void closedReadOptionsThrowWithAndWithoutASetter() throws Exception {
    try (Options options = new Options(); RocksDB db = open(options)) {
      for (final boolean isChanged : new boolean[] {false, true}) {
        final ReadOptions read = new ReadOptions();
        if (isChanged) read.setFillCache(false);
        read.close();
        read.close();
        assertThrows(IllegalStateException.class, read::fillCache);
        assertThrows(IllegalStateException.class, () -> read.setFillCache(true));
        assertThrows(IllegalStateException.class, () -> read.setSnapshot(null));
        assertThrows(IllegalStateException.class, () -> new ReadOptions(read));
        assertThrows(IllegalStateException.class, () -> db.get(read, "k".getBytes()));
        assertThrows(IllegalStateException.class, () -> db.newIterator(read));
        assertThrows(IllegalStateException.class, () -> db.multiGetAsList(read, List.of("k".getBytes())));
      }
    }
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

  @Test
  void readOptionsDoNotKeepASnapshot() throws Exception {
    try (Options options = new Options()) {
      final RocksDB db = open(options);
      final Snapshot first = db.getSnapshot();
      db.put("k".getBytes(), "w".getBytes());
      final Snapshot second = db.getSnapshot();
      try (ReadOptions read = new ReadOptions().setSnapshot(first)) {
        final Snapshot shown = read.snapshot();
        assertEquals(first.getSequenceNumber(), shown.getSequenceNumber());
        assertArrayEquals("v".getBytes(), db.get(read, "k".getBytes()));
        try (RocksIterator kept = db.newIterator(read)) {
          db.releaseSnapshot(first);
          assertEquals("2", db.getProperty("rocksdb.num-snapshots"));
          kept.seekToFirst();
          assertArrayEquals("v".getBytes(), kept.value());
        }
        assertEquals("1", db.getProperty("rocksdb.num-snapshots"));
        assertThrows(IllegalStateException.class, shown::getSequenceNumber);
        assertNull(read.snapshot());
        final RocksDBException released = assertThrows(RocksDBException.class, () -> db.get(read, "k".getBytes()));
        assertEquals("the snapshot of the read options was released", released.getMessage());
        read.setSnapshot(second);
        assertArrayEquals("w".getBytes(), db.get(read, "k".getBytes()));
        assertEquals(second.getSequenceNumber(), read.snapshot().getSequenceNumber());
      }
      db.releaseSnapshot(second);
      assertEquals("0", db.getProperty("rocksdb.num-snapshots"));
      db.close();
    }
  }

  @Test
  void boundsOfReadOptionsAreShownUntilTheyChange() throws Exception {
    try (ReadOptions read = new ReadOptions(); Slice one = new Slice("one"); Slice two = new Slice("two")) {
      assertNull(read.iterateUpperBound());
      read.setIterateUpperBound(one).setIterateLowerBound(two);
      final Slice shown = read.iterateUpperBound();
      assertEquals("one", shown.toString());
      try (ReadOptions copy = new ReadOptions(read)) {
        assertEquals("one", copy.iterateUpperBound().toString());
      }
      read.setIterateUpperBound(two);
      assertThrows(IllegalStateException.class, shown::size);
      assertEquals("two", read.iterateUpperBound().toString());
      assertEquals("two", read.iterateLowerBound().toString());
      read.setIterateUpperBound(null);
      assertNull(read.iterateUpperBound());
    }
  }

  @Test
  void droppedFamilyThrowsRocksDBException() throws Exception {
    try (Options options = new Options(); ColumnFamilyOptions family = new ColumnFamilyOptions(); FlushOptions flush = new FlushOptions()) {
      final RocksDB db = open(options);
      final ColumnFamilyHandle dropped = db.createColumnFamily(new ColumnFamilyDescriptor("f".getBytes(), family));
      db.put(dropped, "k".getBytes(), "v".getBytes());
      db.dropColumnFamily(dropped);
      final RocksDBException thrown = assertThrows(RocksDBException.class, () -> db.flush(flush, dropped));
      // The Java classes have no name for the code of a dropped column family.
      assertEquals(Status.Code.Undefined, thrown.getStatus().getCode(), thrown.getMessage());
      dropped.close();
      db.close();
    }
  }
}
