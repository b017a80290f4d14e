// RocksDB.deleteFile deletes a file of the last level. Only the classes of 8.10.0 and 9.8.4 have the method.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;

class DeleteFileTest extends InDirectory {
  private static String fileOf(final RocksDB db, final byte[] key) {
    return db.getLiveFilesMetaData().stream().filter(file -> java.util.Arrays.equals(file.smallestKey(), key)).findFirst().orElseThrow().fileName();
  }

  @Test
  void onlyTheOldestFileOfTheLastLevelIsDeleted() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true).setDisableAutoCompactions(true); FlushOptions flush = new FlushOptions();
         RocksDB db = RocksDB.open(options, dir.toString())) {
      db.put(b("a"), b("1"));
      db.flush(flush);
      db.put(b("b"), b("2"));
      db.flush(flush);
      // As in RocksDB, a file that cannot be deleted stays, and the method does not throw.
      db.deleteFile(fileOf(db, b("b")));
      assertEquals("2", new String(db.get(b("b"))));
      db.deleteFile(fileOf(db, b("a")));
      assertNull(db.get(b("a")));
      assertEquals("2", new String(db.get(b("b"))));
      for (final String other : new String[] {"CURRENT", "unknown", "", "000000.sst"}) {
        db.deleteFile(other);
      }
      assertThrows(NullPointerException.class, () -> db.deleteFile(null));
    }
  }
}
