// Databases with a time to live, secondary instances, read-only databases.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rocksdb.BuiltinComparator;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;
import org.rocksdb.StringAppendOperator;
import org.rocksdb.TtlDB;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteBatchWithIndex;
import org.rocksdb.WriteOptions;

class KindsTest extends InDirectory {
  @Test
  void valuesWithATimeAreReadBackWithoutTheTime() throws Exception {
    try (StringAppendOperator append = new StringAppendOperator(',');
         Options options = new Options().setCreateIfMissing(true).setMergeOperator(append); WriteOptions write = new WriteOptions();
         WriteBatch batch = new WriteBatch()) {
      try (TtlDB db = TtlDB.open(options, dir.toString(), 1000, false)) {
        db.put(b("a"), b("1"));
        db.merge(b("m"), b("1"));
        db.merge(b("m"), b("2"));
        batch.put(b("b"), b("2"));
        db.write(write, batch);
        assertArrayEquals(b("1"), db.get(b("a")));
        assertArrayEquals(b("1,2"), db.get(b("m")));
        assertArrayEquals(b("2"), db.multiGetAsList(List.of(b("a"), b("b"))).get(1));
        try (ColumnFamilyOptions family = new ColumnFamilyOptions();
             ColumnFamilyHandle f = db.createColumnFamilyWithTtl(new ColumnFamilyDescriptor(b("f"), family), 5)) {
          db.put(f, b("k"), b("v"));
          assertArrayEquals(b("v"), db.get(f, b("k")));
          try (RocksIterator iterator = db.newIterator(f)) {
            iterator.seekToFirst();
            assertArrayEquals(b("v"), iterator.value());
            iterator.status();
          }
        }
      }
      final List<ColumnFamilyHandle> handles = new ArrayList<>();
      try (DBOptions dbOptions = new DBOptions();
           ColumnFamilyOptions family = new ColumnFamilyOptions().setMergeOperator(append);
           TtlDB db = TtlDB.open(dbOptions, dir.toString(), List.of(new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, family),
               new ColumnFamilyDescriptor(b("f"), family)), handles, List.of(1000, 5), false)) {
        assertArrayEquals(b("v"), db.get(handles.get(1), b("k")));
        assertArrayEquals(b("1,2"), db.get(b("m")));
      }
      try (RocksDB plain = RocksDB.openReadOnly(options, dir.toString())) {
        assertEquals(5, plain.get(b("a")).length);
      }
    }
  }

  /** Opens without a list of column families open the default one only. A refresh reads the view of the last catch-up. */
  @Test
  void secondaryInstancesReadTheDefaultColumnFamilyAndRefreshTheirIterators() throws Exception {
    final String path = dir.resolve("primary").toString();
    try (Options options = new Options().setCreateIfMissing(true);
         ColumnFamilyOptions reverse = new ColumnFamilyOptions().setComparator(BuiltinComparator.REVERSE_BYTEWISE_COMPARATOR);
         FlushOptions flush = new FlushOptions(); RocksDB db = RocksDB.open(options, path);
         ColumnFamilyHandle family = db.createColumnFamily(new ColumnFamilyDescriptor(b("reverse"), reverse))) {
      db.put(b("a"), b("1"));
      db.put(family, b("a"), b("1"));
      db.put(family, b("b"), b("2"));
      try (RocksDB reader = RocksDB.openReadOnly(options, path)) {
        assertArrayEquals(b("1"), reader.get(b("a")));
      }
      try (TtlDB reader = TtlDB.open(options, path, 10, true)) {
        assertNull(reader.get(b("b")));
      }
      try (RocksDB secondary = RocksDB.openAsSecondary(options, path, dir.resolve("own").toString());
           RocksIterator iterator = secondary.newIterator();
           RocksIterator second = secondary.newIterators(List.of(secondary.getDefaultColumnFamily())).get(0)) {
        for (int round = 0; round < 3; ++round) {
          db.put(b("b" + round), b("2"));
          if (round == 1) {
            db.flush(flush);
          }
          secondary.tryCatchUpWithPrimary();
          for (final RocksIterator each : List.of(iterator, second)) {
            each.seekToLast();
            assertArrayEquals(b(round == 0 ? "a" : "b" + (round - 1)), each.key());
            each.refresh();
            each.seekToLast();
            assertArrayEquals(b("b" + round), each.key());
          }
        }
      }
    }
  }

  @Test
  void aBatchWithAnIndexReadsADatabaseWithATime() throws Exception {
    try (StringAppendOperator append = new StringAppendOperator(',');
         Options options = new Options().setCreateIfMissing(true); WriteOptions write = new WriteOptions();
         ColumnFamilyOptions familyOptions = new ColumnFamilyOptions().setMergeOperator(append);
         ReadOptions read = new ReadOptions(); TtlDB db = TtlDB.open(options, dir.toString(), 1000, false);
         ColumnFamilyHandle f = db.createColumnFamilyWithTtl(new ColumnFamilyDescriptor(b("f"), familyOptions), 1000);
         WriteBatchWithIndex batch = new WriteBatchWithIndex()) {
      db.put(f, b("a"), b("1"));
      batch.put(f, b("b"), b("2"));
      batch.merge(f, b("a"), b("3"));
      assertArrayEquals(b("1,3"), batch.getFromBatchAndDB(db, f, read, b("a")));
      assertArrayEquals(b("2"), batch.getFromBatchAndDB(db, f, read, b("b")));
      assertNull(batch.getFromBatchAndDB(db, f, read, b("c")));
      try (RocksIterator iterator = batch.newIteratorWithBase(f, db.newIterator(f))) {
        iterator.seekToFirst();
        assertArrayEquals(b("1,3"), iterator.value());
        iterator.next();
        assertArrayEquals(b("b"), iterator.key());
        assertArrayEquals(b("2"), iterator.value());
        iterator.next();
        assertFalse(iterator.isValid());
        iterator.status();
      }
      db.write(write, batch);
      assertArrayEquals(b("1,3"), db.get(f, b("a")));
      assertArrayEquals(b("2"), db.get(f, b("b")));
    }
  }

  @Test
  void familiesWithATimeAreOpenedForReading() throws Exception {
    try (ColumnFamilyOptions family = new ColumnFamilyOptions();
         DBOptions options = new DBOptions().setCreateIfMissing(true).setCreateMissingColumnFamilies(true)) {
      final List<ColumnFamilyDescriptor> families = List.of(
          new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, family), new ColumnFamilyDescriptor(b("f"), family));
      final List<ColumnFamilyHandle> handles = new ArrayList<>();
      try (TtlDB db = TtlDB.open(options, dir.toString(), families, handles, List.of(1000, 5), false)) {
        db.put(handles.get(1), b("k"), b("v"));
      }
      handles.clear();
      try (TtlDB db = TtlDB.open(options, dir.toString(), families, handles, List.of(1000, 5), true)) {
        assertArrayEquals(b("v"), db.get(handles.get(1), b("k")));
        assertThrows(RocksDBException.class, () -> db.put(handles.get(1), b("k"), b("w")));
      }
    }
  }

  @Test
  void aSecondaryInstanceFollowsOnRequest() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); Options secondary = new Options().setMaxOpenFiles(-1);
         RocksDB db = RocksDB.open(options, dir.resolve("db").toString())) {
      db.put(b("a"), b("1"));
      db.flushWal(true);
      try (RocksDB reader = RocksDB.openAsSecondary(secondary, dir.resolve("db").toString(), dir.resolve("log").toString())) {
        assertArrayEquals(b("1"), reader.get(b("a")));
        db.put(b("b"), b("2"));
        db.flushWal(true);
        assertNull(reader.get(b("b")));
        try (RocksIterator iterator = reader.newIterator()) {
          reader.tryCatchUpWithPrimary();
          assertArrayEquals(b("2"), reader.get(b("b")));
          iterator.seekToLast();
          assertArrayEquals(b("a"), iterator.key());
        }
        assertThrows(RocksDBException.class, () -> reader.put(b("c"), b("3")));
      }
      assertThrows(RocksDBException.class, db::tryCatchUpWithPrimary);
    }
  }

  @Test
  void familiesOfASecondaryInstanceAreThoseOfTheNewestView() throws Exception {
    final List<ColumnFamilyHandle> handles = new ArrayList<>();
    final List<ColumnFamilyHandle> seen = new ArrayList<>();
    try (ColumnFamilyOptions family = new ColumnFamilyOptions();
         DBOptions options = new DBOptions().setCreateIfMissing(true).setCreateMissingColumnFamilies(true).setMaxOpenFiles(-1)) {
      final List<ColumnFamilyDescriptor> families = List.of(
          new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, family), new ColumnFamilyDescriptor(b("f"), family));
      try (RocksDB db = RocksDB.open(options, dir.resolve("db").toString(), families, handles);
           RocksDB reader = RocksDB.openAsSecondary(options, dir.resolve("db").toString(), dir.resolve("log").toString(), families, seen)) {
        db.put(handles.get(1), b("k"), b("v"));
        db.flushWal(true);
        assertNull(reader.get(seen.get(1), b("k")));
        reader.tryCatchUpWithPrimary();
        assertArrayEquals(b("v"), reader.get(seen.get(1), b("k")));
      }
    }
  }
}
