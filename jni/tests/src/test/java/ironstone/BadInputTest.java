// Classes of an unknown release, and files of a newer RocksDB: exceptions with a clear text.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

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
  void nullArgumentsThrow() throws Exception {
    try (Options options = new Options().setCreateIfMissing(true); RocksDB db = RocksDB.open(options, dir.toString())) {
      assertThrows(NullPointerException.class, () -> db.put(null, new byte[1]));
      assertThrows(NullPointerException.class, () -> db.get((byte[]) null));
      assertThrows(NullPointerException.class, () -> db.delete((byte[]) null));
      assertThrows(IndexOutOfBoundsException.class, () -> db.put(new byte[1], 0, 2, new byte[1], 0, 1));
      assertThrows(IndexOutOfBoundsException.class, () -> db.get(new byte[1], -1, 1));
    }
  }
}
