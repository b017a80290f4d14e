// Classes of an unknown release, and files of a newer RocksDB: exceptions with a clear text.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.ConfigOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.DbPath;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.OptionsUtil;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Status;

class BadInputTest extends InDirectory {
  /** Runs `Main` under the loader of the real jar. The class `BlockBasedTableConfig` is from the source of the caller. */
  private String outputUnder(final String blockBasedTableConfig) throws Exception {
    final Map<String, String> sources = Map.of(
        "org/rocksdb/BlockBasedTableConfig", "package org.rocksdb; " + blockBasedTableConfig,
        "Main", "public class Main { public static void main(String[] none) { org.rocksdb.RocksDB.loadLibrary();"
            + " System.out.println(\"loaded\"); } }");
    final String jar = Path.of(RocksDB.class.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
    final String classes = dir + java.io.File.pathSeparator + jar;
    final List<String> arguments = new ArrayList<>(List.of("-cp", classes, "-d", dir.toString()));
    for (final var entry : sources.entrySet()) {
      final Path named = dir.resolve("src").resolve(entry.getKey() + ".java");
      Files.createDirectories(named.getParent());
      Files.writeString(named, entry.getValue());
      arguments.add(named.toString());
    }
    final ByteArrayOutputStream said = new ByteArrayOutputStream();
    assertEquals(0, ToolProvider.getSystemJavaCompiler().run(null, said, said, arguments.toArray(String[]::new)), said::toString);
    final Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
        "-Djava.library.path=" + System.getProperty("java.library.path"), "-cp", classes, "Main")
        .redirectErrorStream(true).start();
    final String text = new String(process.getInputStream().readAllBytes());
    assertEquals(1, process.waitFor(), text);
    return text;
  }

  @Test
  void classesOfAnUnknownReleaseEndTheLoadWithTheKnownReleases() throws Exception {
    final String text = outputUnder("public class BlockBasedTableConfig { native long newTableFactoryHandle(long one); }");
    assertTrue(text.contains("IncompatibleClassChangeError"), text);
    for (final String release : List.of("8.10.0-ververica-1.0", "9.8.4", "10.1.3", "11.8.1")) {
      assertTrue(text.contains(release), text);
    }
  }

  @Test
  void nativesOfTwoReleasesTogetherAreAnUnknownRelease() throws Exception {
    // The native is that of 11.8.1 in the classes of an older release, and that of the older releases in the classes of 11.8.1.
    final String newest = "boolean a,boolean b,boolean c,boolean d,byte e,byte f,double g,byte h,boolean i,long j,long k,long l,int m,"
        + "int n,int o,long p,boolean q,boolean r,boolean s,long t,boolean u,boolean v,int w,int x,";
    final boolean isNewest = Arrays.stream(RocksDB.class.getMethods()).anyMatch(method -> method.getName().equals("abortAllCompactions"));
    final String end = isNewest ? "boolean y,boolean z,byte a1,long a2,int a3"
        : "boolean y,double z,boolean a1,boolean a2,long a3,long a4,byte a5,byte a6,long a7,int a8";
    final String text = outputUnder("public class BlockBasedTableConfig { native long newTableFactoryHandle(" + newest + end + "); }");
    assertTrue(text.contains("IncompatibleClassChangeError"), text);
    assertTrue(text.contains("enableFileDeletions"), text);
  }

  @Test
  void anSstFileOfANewerFormatIsAnExceptionThatNamesTheFile() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); FlushOptions flush = new FlushOptions()) {
      try (RocksDB db = RocksDB.open(options, dir.toString())) {
        db.put("a".getBytes(), "1".getBytes());
        db.flush(flush);
      }
      final Path file;
      try (var files = Files.list(dir)) {
        file = files.filter(path -> path.toString().endsWith(".sst")).findFirst().orElseThrow();
      }
      // The footer ends with the format version (4 bytes) and the magic number (8 bytes).
      final byte[] bytes = Files.readAllBytes(file);
      bytes[bytes.length - 12] = 99;
      Files.write(file, bytes);
      final RocksDBException thrown = assertThrows(RocksDBException.class, () -> {
        try (RocksDB db = RocksDB.open(options, dir.toString())) {
          db.get("a".getBytes());
        }
      });
      assertTrue(thrown.getMessage().contains(file.getFileName().toString()), thrown.getMessage());
    }
  }

  @Test
  void aManifestOfANewerReleaseIsAnExceptionThatNamesTheFile() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true)) {
      try (RocksDB db = RocksDB.open(options, dir.toString())) {
        db.put("a".getBytes(), "1".getBytes());
      }
      final Path manifest = dir.resolve(Files.readString(dir.resolve("CURRENT")).strip());
      // A record with a tag that no release of this time writes: masked checksum, length, type of a whole record, tag 1000.
      final byte[] content = {1, (byte) 0xe8, 7};
      final CRC32C checksum = new CRC32C();
      checksum.update(content);
      final int masked = Integer.rotateRight((int) checksum.getValue(), 15) + 0xa282ead8;
      Files.write(manifest, ByteBuffer.allocate(9).order(ByteOrder.LITTLE_ENDIAN).putInt(masked).putShort((short) 2).put(content).array(),
          StandardOpenOption.APPEND);
      final RocksDBException thrown =
          assertThrows(RocksDBException.class, () -> RocksDB.open(options, dir.toString()).close());
      assertTrue(thrown.getMessage().contains(manifest.getFileName().toString()), thrown.getMessage());
      assertTrue(thrown.getMessage().contains("tag"), thrown.getMessage());
    }
  }

  @Test
  void anOptionsFileOfANewerReleaseIsReadIfItsUnknownOptionsMayBeIgnored() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true)) {
      RocksDB.open(options, dir.toString()).close();
      final Path file;
      try (var files = Files.list(dir)) {
        file = files.filter(path -> path.getFileName().toString().startsWith("OPTIONS")).findFirst().orElseThrow();
      }
      // RocksDB writes no file PROOF. With this file, a changed OPTIONS file is an error.
      Files.delete(dir.resolve("PROOF"));
      final String text = Files.readString(file);
      Files.writeString(file, text.replaceFirst("rocksdb_version=[0-9.]*", "rocksdb_version=99.1.0")
          .replaceFirst("\\[DBOptions\\]", "[DBOptions]\n  option_of_the_future=1"));
      final List<ColumnFamilyDescriptor> families = new ArrayList<>();
      try (ConfigOptions strict = new ConfigOptions().setIgnoreUnknownOptions(false); DBOptions read = new DBOptions()) {
        final RocksDBException thrown = assertThrows(RocksDBException.class,
            () -> OptionsUtil.loadLatestOptions(strict, dir.toString(), read, families));
        assertTrue(thrown.getMessage().contains("option_of_the_future"), thrown.getMessage());
      }
      try (ConfigOptions ignoring = new ConfigOptions().setIgnoreUnknownOptions(true); DBOptions read = new DBOptions()) {
        OptionsUtil.loadLatestOptions(ignoring, dir.toString(), read, families);
        assertEquals(1, families.size());
      }
      families.forEach(family -> family.getOptions().close());
      RocksDB.open(options, dir.toString()).close();
    }
  }

  @Test
  void aNameOfAColumnFamilyThatIsNotUtf8IsRejected() throws Exception {
    final byte[] name = {'f', (byte) 0xff};
    try (Options options = new Options().setCreateIfMissing(true); ColumnFamilyOptions family = new ColumnFamilyOptions();
         DBOptions dbOptions = new DBOptions()) {
      try (RocksDB db = RocksDB.open(options, dir.toString())) {
        final RocksDBException thrown = assertThrows(RocksDBException.class,
            () -> db.createColumnFamily(new ColumnFamilyDescriptor(name, family)));
        assertEquals(Status.Code.NotSupported, thrown.getStatus().getCode());
        assertTrue(thrown.getMessage().contains("f\\xff"), thrown.getMessage());
      }
      final RocksDBException thrown = assertThrows(RocksDBException.class, () -> RocksDB.open(dbOptions, dir.toString(),
          List.of(new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, family), new ColumnFamilyDescriptor(name, family)),
          new ArrayList<>()));
      assertEquals(Status.Code.NotSupported, thrown.getStatus().getCode());
      assertEquals(1, RocksDB.listColumnFamilies(options, dir.toString()).size());
    }
  }

  @Test
  void nullArgumentsThrow() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, dir.toString())) {
      assertThrows(NullPointerException.class, () -> db.put(null, new byte[1]));
      assertThrows(NullPointerException.class, () -> db.get((byte[]) null));
      assertThrows(NullPointerException.class, () -> db.delete((byte[]) null));
      assertThrows(IndexOutOfBoundsException.class, () -> db.put(new byte[1], 0, 2, new byte[1], 0, 1));
      assertThrows(IndexOutOfBoundsException.class, () -> db.get(new byte[1], -1, 1));
      final Method paths = Options.class.getDeclaredMethod("dbPaths", long.class, String[].class, long[].class);
      paths.setAccessible(true);
      options.setDbPaths(List.of(new DbPath(dir, 1)));
      final InvocationTargetException thrown = assertThrows(InvocationTargetException.class,
          () -> paths.invoke(Modifier.isStatic(paths.getModifiers()) ? null : options, options.getNativeHandle(), null, new long[1]));
      assertEquals(NullPointerException.class, thrown.getCause().getClass());
    }
  }
}
