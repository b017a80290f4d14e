// Eight threads use the objects of two databases, while the same threads close these objects in any order. Each call returns or
// throws an exception; the JVM does not end.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.junit.jupiter.api.Test;
import org.rocksdb.AbstractComparator;
import org.rocksdb.AbstractEventListener;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.ComparatorOptions;
import org.rocksdb.FlushJobInfo;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksIterator;
import org.rocksdb.Snapshot;
import org.rocksdb.Transaction;
import org.rocksdb.TransactionDB;
import org.rocksdb.TransactionDBOptions;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteBatchWithIndex;
import org.rocksdb.WriteOptions;

class StressTest extends InDirectory {
  private static final int THREADS = 8;
  private static final int CALLS = 400;
  /** The number of objects of each kind. */
  private static final int OBJECTS = 3;

  /** Compares unsigned bytes. */
  private static final class Bytes extends AbstractComparator {
    Bytes(final ComparatorOptions options) {
      super(options);
    }

    @Override
    public String name() {
      return "bytes";
    }

    @Override
    public int compare(final ByteBuffer a, final ByteBuffer b) {
      return a.compareTo(b);
    }
  }

  /** Counts flushes. */
  private static final class Flushes extends AbstractEventListener {
    final AtomicInteger count = new AtomicInteger();

    @Override
    public void onFlushCompleted(final RocksDB db, final FlushJobInfo info) {
      count.incrementAndGet();
      db.getLatestSequenceNumber();
    }
  }

  /** The objects of a round. Each thread uses, replaces and closes them. */
  private final class World {
    final ComparatorOptions comparatorOptions = new ComparatorOptions();
    final Bytes comparator = new Bytes(comparatorOptions);
    final Flushes listener = new Flushes();
    final Options options =
        new Options().setCreateIfMissing(true).setComparator(comparator).setListeners(List.of(listener)).setWriteBufferSize(64 << 10);
    final ColumnFamilyOptions familyOptions = new ColumnFamilyOptions();
    final TransactionDBOptions transactionOptions = new TransactionDBOptions().setTransactionLockTimeout(1);
    final WriteOptions write = new WriteOptions();
    final ReadOptions read = new ReadOptions();
    final FlushOptions flush = new FlushOptions();
    final RocksDB plain;
    final TransactionDB locking;
    final AtomicReferenceArray<ColumnFamilyHandle> families = new AtomicReferenceArray<>(OBJECTS);
    final AtomicReferenceArray<Snapshot> snapshots = new AtomicReferenceArray<>(OBJECTS);
    final AtomicReferenceArray<RocksIterator> iterators = new AtomicReferenceArray<>(OBJECTS);
    final AtomicReferenceArray<WriteBatch> batches = new AtomicReferenceArray<>(OBJECTS);
    final AtomicReferenceArray<WriteBatchWithIndex> indexed = new AtomicReferenceArray<>(OBJECTS);
    final AtomicReferenceArray<Transaction> transactions = new AtomicReferenceArray<>(OBJECTS);
    final AtomicLong names = new AtomicLong();

    World(final String name) throws Exception {
      plain = RocksDB.open(options, dir.resolve(name).toString());
      locking = TransactionDB.open(options, transactionOptions, dir.resolve(name + "-locking").toString());
    }

    /** Closes the object at a place, or uses it, or makes a new object there. */
    private <T extends AutoCloseable> T at(final AtomicReferenceArray<T> places, final Random random, final Maker<T> maker)
        throws Exception {
      final int place = random.nextInt(OBJECTS);
      final T object = places.get(place);
      if (object != null && random.nextInt(8) == 0) {
        object.close();
      }
      if (object == null || random.nextInt(8) == 0) {
        final T made = maker.make();
        final T old = places.getAndSet(place, made);
        if (old != null && random.nextBoolean()) {
          old.close();
        }
        return made;
      }
      return object;
    }

    private void call(final Random random) throws Exception {
      final byte[] key = {(byte) random.nextInt(32)};
      switch (random.nextInt(12)) {
        case 0 -> {
          final ColumnFamilyHandle family = at(families, random,
              () -> plain.createColumnFamily(new ColumnFamilyDescriptor(b("f" + names.incrementAndGet()), familyOptions)));
          plain.put(family, key, key);
          plain.get(family, key);
          if (random.nextInt(10) == 0) {
            plain.dropColumnFamily(family);
          }
        }
        case 1 -> {
          final Snapshot snapshot = at(snapshots, random, plain::getSnapshot);
          try (ReadOptions at = new ReadOptions().setSnapshot(snapshot)) {
            plain.get(at, key);
          }
          if (random.nextInt(4) == 0) {
            plain.releaseSnapshot(snapshot);
          }
        }
        case 2, 3 -> {
          final RocksIterator iterator = at(iterators, random, plain::newIterator);
          iterator.seek(key);
          if (iterator.isValid()) {
            iterator.key();
            iterator.next();
          }
        }
        case 4 -> {
          final WriteBatch batch = at(batches, random, WriteBatch::new);
          batch.put(key, key);
          plain.write(write, batch);
        }
        case 5 -> {
          final WriteBatchWithIndex batch = at(indexed, random, () -> new WriteBatchWithIndex(true));
          batch.put(key, key);
          batch.getFromBatchAndDB(plain, read, key);
          try (RocksIterator iterator = batch.newIteratorWithBase(plain.newIterator())) {
            iterator.seekToFirst();
          }
          plain.write(write, batch);
        }
        case 6, 7 -> {
          final Transaction transaction = at(transactions, random, () -> locking.beginTransaction(write));
          transaction.put(key, key);
          transaction.get(read, key);
          switch (random.nextInt(4)) {
            case 0 -> transaction.commit();
            case 1 -> transaction.rollback();
            default -> transaction.getForUpdate(read, key, true);
          }
        }
        case 8 -> plain.flush(flush);
        case 9 -> {
          switch (random.nextInt(200)) {
            case 0 -> plain.close();
            case 1 -> locking.close();
            case 2 -> options.close();
            case 3 -> comparator.close();
            case 4 -> listener.close();
            case 5 -> write.close();
            case 6 -> read.close();
            case 7 -> flush.close();
            case 8 -> familyOptions.close();
            case 9 -> comparatorOptions.close();
            default -> plain.getProperty("rocksdb.stats");
          }
        }
        default -> plain.put(key, new byte[500]);
      }
    }

    /** Closes all objects in any order. */
    void close(final Random random) throws Exception {
      final List<AutoCloseable> objects = new ArrayList<>(List.of(comparatorOptions, comparator, listener, options, familyOptions,
          transactionOptions, write, read, flush, plain, locking));
      for (final AtomicReferenceArray<? extends AutoCloseable> places :
          List.of(families, snapshots, iterators, batches, indexed, transactions)) {
        for (int place = 0; place < OBJECTS; place++) {
          if (places.get(place) != null) {
            objects.add(places.get(place));
          }
        }
      }
      java.util.Collections.shuffle(objects, random);
      for (final AutoCloseable object : objects) {
        try {
          object.close();
        } catch (final IllegalStateException expected) {
          // The object belongs to a database that is closed.
        }
      }
    }
  }

  private interface Maker<T> {
    T make() throws Exception;
  }

  @Test
  void objectsThatThreadsCloseInAnyOrderEndInExceptions() throws Exception {
    final int rounds = Integer.getInteger("rounds", 10);
    final AtomicInteger calls = new AtomicInteger();
    final AtomicInteger exceptions = new AtomicInteger();
    for (int round = 0; round < rounds; round++) {
      final World world = new World("round" + round);
      final List<Thread> threads = new ArrayList<>();
      for (int at = 0; at < THREADS; at++) {
        final Random random = new Random(round * THREADS + at);
        threads.add(new Thread(() -> {
          for (int call = 0; call < CALLS; call++) {
            calls.incrementAndGet();
            try {
              world.call(random);
            } catch (final Exception expected) {
              exceptions.incrementAndGet();
            }
          }
        }));
      }
      threads.forEach(Thread::start);
      for (final Thread thread : threads) {
        thread.join();
      }
      world.close(new Random(round));
    }
    assertEquals(rounds * THREADS * CALLS, calls.get());
    assertEquals(true, exceptions.get() > 0 && exceptions.get() < calls.get(), exceptions + " exceptions in " + calls + " calls");
  }
}
