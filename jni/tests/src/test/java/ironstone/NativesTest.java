// Each native of the classes of the release is a symbol of the library.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.jar.JarFile;
import org.junit.jupiter.api.Test;
import org.rocksdb.RocksDB;

class NativesTest {
  /** Writes a name or a descriptor as a part of a symbol. The JNI specification, chapter 2. */
  private static String mangled(final String text) {
    final StringBuilder symbol = new StringBuilder();
    for (final char c : text.toCharArray()) {
      switch (c) {
        case '.', '/' -> symbol.append('_');
        case '_' -> symbol.append("_1");
        case ';' -> symbol.append("_2");
        case '[' -> symbol.append("_3");
        default -> symbol.append(Character.isLetterOrDigit(c) && c < 128 ? String.valueOf(c) : String.format("_0%04x", (int) c));
      }
    }
    return symbol.toString();
  }

  private static String shortSymbol(final Method method) {
    return "Java_" + mangled(method.getDeclaringClass().getName()) + "_" + mangled(method.getName());
  }

  private static String longSymbol(final Method method) {
    final String arguments =
        Arrays.stream(method.getParameterTypes()).map(Class::descriptorString).collect(Collectors.joining());
    return shortSymbol(method) + "__" + mangled(arguments);
  }

  static List<Method> natives() throws Exception {
    final List<Method> natives = new ArrayList<>();
    final Path jar = Path.of(RocksDB.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    try (JarFile file = new JarFile(jar.toFile())) {
      for (final var entry : (Iterable<java.util.jar.JarEntry>) file.stream()::iterator) {
        if (entry.getName().startsWith("org/rocksdb/") && entry.getName().endsWith(".class")) {
          final String name = entry.getName().replace('/', '.').replaceAll("\\.class$", "");
          for (final Method method : Class.forName(name, false, RocksDB.class.getClassLoader()).getDeclaredMethods()) {
            if (Modifier.isNative(method.getModifiers())) {
              natives.add(method);
            }
          }
        }
      }
    }
    return natives;
  }

  @Test
  void eachNativeOfTheReleaseIsExported() throws Exception {
    final byte[] library = Files.readAllBytes(Path.of(System.getProperty("java.library.path"), "librocksdbjni.so"));
    final Set<String> symbols = new HashSet<>();
    // A symbol is a text between two zero bytes. Only texts of symbols are kept: the library is larger than the heap allows.
    for (int start = 0, at = 0; at < library.length; at++) {
      if (library[at] == 0) {
        if (at - start > 5 && library[start] == 'J' && library[start + 1] == 'a') {
          symbols.add(new String(library, start, at - start, StandardCharsets.ISO_8859_1));
        }
        start = at + 1;
      }
    }
    final List<Method> natives = natives();
    assertTrue(natives.size() > 1300, natives.size() + " natives");
    final List<Method> missing = natives.stream()
        .filter(method -> !symbols.contains(shortSymbol(method)) && !symbols.contains(longSymbol(method))).toList();
    assertEquals(List.of(), missing);
  }
}
