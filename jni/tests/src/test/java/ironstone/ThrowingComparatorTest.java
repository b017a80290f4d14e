// A comparator that throws fails the call.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.rocksdb.AbstractComparator;
import org.rocksdb.ComparatorOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;

class ThrowingComparatorTest extends InDirectory {
  /** An order of bytes that throws on demand. */
  private static final class Faulty extends AbstractComparator {
    final AtomicBoolean throwsNow = new AtomicBoolean();

    Faulty(final ComparatorOptions options) {
      super(options);
    }

    @Override
    public String name() {
      return "faulty";
    }

    @Override
    public int compare(final ByteBuffer a, final ByteBuffer b) {
      if (throwsNow.get()) {
        throw new ArithmeticException("no order");
      }
      return a.compareTo(b);
    }
  }

  @Test
  void comparatorThatThrowsFailsTheCall() throws Exception {
    try (ComparatorOptions how = new ComparatorOptions(); Faulty order = new Faulty(how);
         Options options = new Options().setCreateIfMissing(true).setComparator(order)) {
      try (RocksDB db = RocksDB.open(options, dir.toString())) {
        db.put("a".getBytes(), "1".getBytes());
        db.put("b".getBytes(), "2".getBytes());
        order.throwsNow.set(true);
        assertThrows(ArithmeticException.class, () -> db.get("a".getBytes()));
        try (RocksIterator iterator = db.newIterator()) {
          assertThrows(ArithmeticException.class, () -> iterator.seek("b".getBytes()));
        }
        assertThrows(ArithmeticException.class, () -> db.put("c".getBytes(), "3".getBytes()));
        order.throwsNow.set(false);
        assertArrayEquals("1".getBytes(), db.get("a".getBytes()));
      }
      try (RocksDB db = RocksDB.open(options, dir.toString())) {
        assertArrayEquals("1".getBytes(), db.get("a".getBytes()));
        assertArrayEquals("2".getBytes(), db.get("b".getBytes()));
        // The put that threw had written its record to the WAL.
        assertArrayEquals("3".getBytes(), db.get("c".getBytes()));
      }
    }
  }

  @Test
  void comparatorThatThrowsFailsTheFlush() throws Exception {
    try (ComparatorOptions how = new ComparatorOptions(); Faulty order = new Faulty(how); FlushOptions flush = new FlushOptions();
         Options options = new Options().setCreateIfMissing(true).setComparator(order)) {
      try (RocksDB db = RocksDB.open(options, dir.toString())) {
        db.put("a".getBytes(), "1".getBytes());
        db.put("b".getBytes(), "2".getBytes());
        order.throwsNow.set(true);
        assertThrows(RocksDBException.class, () -> db.flush(flush));
        order.throwsNow.set(false);
      }
    }
  }
}
