// Natives get arbitrary arguments: closed and foreign handles, nulls, wrong lengths. Each call returns or throws an exception.
package ironstone;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rocksdb.BloomFilter;
import org.rocksdb.ColumnFamilyOptions;
import org.rocksdb.CompactionOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.EnvOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.LRUCache;
import org.rocksdb.OptimisticTransactionDB;
import org.rocksdb.Options;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksObject;
import org.rocksdb.SstFileReader;
import org.rocksdb.Statistics;
import org.rocksdb.TransactionDB;
import org.rocksdb.TransactionDBOptions;
import org.rocksdb.WriteBatch;
import org.rocksdb.WriteBatchWithIndex;
import org.rocksdb.WriteOptions;

class ArbitraryCallsTest extends InDirectory {
  private static final int CALLS = 4000;
  /** Calls that stop work until another call, change the threads of the process, or allocate what the number says. */
  private static final Set<String> LEFT_OUT = Set.of("pauseBackgroundWork", "abortAllCompactions", "request", "setBackgroundThreads",
      "incBackgroundThreadsIfNeeded", "lowerThreadPoolIOPriority", "lowerThreadPoolCPUPriority", "setNumLevels");

  private final List<RocksObject> objects = new ArrayList<>();

  private long handle(final Random random) {
    return switch (random.nextInt(20)) {
      case 0 -> 0;
      case 1 -> -1;
      case 2 -> random.nextLong();
      default -> objects.get(random.nextInt(objects.size())).getNativeHandle();
    };
  }

  private Object argument(final Random random, final Class<?> type) {
    if (type == long.class) {
      return handle(random);
    } else if (type == int.class) {
      return new int[] {0, 1, -1, 2, 3, Integer.MAX_VALUE, Integer.MIN_VALUE}[random.nextInt(7)];
    } else if (type == byte.class) {
      return (byte) (random.nextBoolean() ? random.nextInt(4) : random.nextInt());
    } else if (type == boolean.class) {
      return random.nextBoolean();
    } else if (type == double.class) {
      return random.nextBoolean() ? 0.5 : Double.NaN;
    } else if (type == char.class) {
      return ',';
    } else if (type == short.class) {
      return (short) random.nextInt();
    } else if (type == float.class) {
      return 0.5f;
    } else if (random.nextInt(4) == 0) {
      return null;
    } else if (type == String.class) {
      return List.of("", dir.resolve("x").toString(), dir + "/\u4e00\ud800").get(random.nextInt(3));
    } else if (type == ByteBuffer.class) {
      return random.nextBoolean() ? ByteBuffer.allocateDirect(random.nextInt(5)) : ByteBuffer.allocate(3);
    } else if (type.isArray()) {
      final Object array = Array.newInstance(type.getComponentType(), random.nextInt(3));
      for (int at = 0; at < Array.getLength(array); at++) {
        Array.set(array, at, argument(random, type.getComponentType()));
      }
      return array;
    } else if (type == List.class) {
      return new ArrayList<>();
    }
    return type == Map.class ? new HashMap<>() : null;
  }

  private static Object instance(final Class<?> type) throws Exception {
    final Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
    field.setAccessible(true);
    return ((sun.misc.Unsafe) field.get(null)).allocateInstance(type);
  }

  private void makeObjects() throws Exception {
    final Options options = new Options().setCreateIfMissing(true).setMergeOperatorName("stringappend");
    final RocksDB db = RocksDB.open(options, dir.resolve("plain").toString());
    final OptimisticTransactionDB optimistic = OptimisticTransactionDB.open(options, dir.resolve("optimistic").toString());
    final TransactionDB pessimistic =
        TransactionDB.open(options, new TransactionDBOptions(), dir.resolve("pessimistic").toString());
    final WriteOptions write = new WriteOptions();
    db.put(b("a"), b("b"));
    objects.addAll(List.<RocksObject>of(options, db, optimistic, pessimistic, write, db.getDefaultColumnFamily(), db.newIterator(), db.getSnapshot(),
        optimistic.beginTransaction(write), pessimistic.beginTransaction(write), new ReadOptions(), new WriteBatch(),
        new WriteBatchWithIndex(true), new Statistics(), new LRUCache(1000), new ColumnFamilyOptions(), new DBOptions(),
        new FlushOptions(), new CompactionOptions(), new EnvOptions(), new SstFileReader(options), new BloomFilter()));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void arbitraryArgumentsAreExceptions(final int seed) throws Exception {
    makeObjects();
    final Random random = new Random(seed);
    final List<Method> natives = new ArrayList<>(NativesTest.natives());
    natives.removeIf(method -> LEFT_OUT.contains(method.getName()) || method.getName().startsWith("dispose")
        || Modifier.isAbstract(method.getDeclaringClass().getModifiers()) && !Modifier.isStatic(method.getModifiers()));
    natives.sort(Comparator.comparing(Method::toString));
    int thrown = 0;
    for (int call = 0; call < CALLS; call++) {
      final Method method = natives.get(random.nextInt(natives.size()));
      final Object[] arguments = Arrays.stream(method.getParameterTypes()).map(type -> argument(random, type)).toArray();
      method.setAccessible(true);
      try {
        method.invoke(Modifier.isStatic(method.getModifiers()) ? null : instance(method.getDeclaringClass()), arguments);
      } catch (final InvocationTargetException fault) {
        final String text = method + " " + Arrays.deepToString(arguments) + ": " + fault.getCause();
        assertFalse(fault.getCause() instanceof Error || text.contains("panic"), text);
        thrown++;
      }
    }
    assertTrue(thrown > CALLS / 4 && thrown < CALLS, thrown + " calls threw");
    objects.forEach(RocksObject::close);
  }
}
