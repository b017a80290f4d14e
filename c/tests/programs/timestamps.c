/* User-defined timestamps: reads of several keys, and batches whose keys get their timestamps at the end.
 *
 *   timestamps DIRECTORY      prints the same lines on this library and on RocksDB. */
#include <rocksdb/c.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TS 8

static char* error = NULL;
static rocksdb_writeoptions_t* writing;
static rocksdb_readoptions_t* reading;

static void check(const char* what) {
  if (error == NULL) return;
  fprintf(stderr, "%s: %s\n", what, error);
  exit(1);
}

/* Prints that a call was refused, and its kind of error. */
static void refused(const char* what) {
  if (error == NULL) {
    printf("%s: accepted\n", what);
    return;
  }
  const char* end = strchr(error, ':');
  printf("%s: %.*s\n", what, end ? (int)(end - error) : 0, error);
  rocksdb_free(error);
  error = NULL;
}

static const char* stamp(uint64_t time) {
  static char bytes[TS];
  memcpy(bytes, &time, TS);
  return bytes;
}

static void nothing(void* state) { (void)state; }
static const char* name(void* state) { return (void)state, "test.bytes.u64ts"; }

static int compare_times(void* state, const char* a, size_t a_len, const char* b, size_t b_len) {
  uint64_t left, right;
  (void)state, (void)a_len, (void)b_len;
  memcpy(&left, a, TS);
  memcpy(&right, b, TS);
  return left < right ? -1 : left > right;
}

static int compare_keys(void* state, const char* a, size_t a_len, unsigned char a_has, const char* b, size_t b_len,
                        unsigned char b_has) {
  (void)state;
  if (a_has) a_len -= TS;
  if (b_has) b_len -= TS;
  size_t len = a_len < b_len ? a_len : b_len;
  int order = len == 0 ? 0 : memcmp(a, b, len);
  return order != 0 ? order : a_len < b_len ? -1 : a_len > b_len;
}

static int compare(void* state, const char* a, size_t a_len, const char* b, size_t b_len) {
  int order = compare_keys(state, a, a_len, 1, b, b_len, 1);
  /* The newest version comes first. */
  return order != 0 ? order : -compare_times(state, a + a_len - TS, TS, b + b_len - TS, TS);
}

static size_t all_stamped(void* state, uint32_t family) { return (void)state, (void)family, TS; }
static size_t only_families(void* state, uint32_t family) { return (void)state, family == 0 ? 0 : TS; }

static void print_all(const char* at, int count, const char* const* keys, char** values, size_t* lens, char** times,
                      size_t* time_lens, char** errors) {
  for (int i = 0; i < count; i++) {
    if (errors[i] != NULL) {
      printf("%s %s: %s\n", at, keys[i], errors[i]);
    } else if (values[i] == NULL) {
      printf("%s %s: none, %zu, %d\n", at, keys[i], time_lens[i], times[i] == NULL);
    } else {
      uint64_t time = 0;
      memcpy(&time, times[i], time_lens[i]);
      printf("%s %s: %.*s, %zu, %llu\n", at, keys[i], (int)lens[i], values[i], time_lens[i], (unsigned long long)time);
    }
    rocksdb_free(values[i]);
    rocksdb_free(times[i]);
    rocksdb_free(errors[i]);
  }
}

/* Reads all keys at a time: of one column family, or of the default column family if `family` is null. */
static void show(rocksdb_t* db, rocksdb_column_family_handle_t* family, uint64_t time) {
  const char* keys[] = {"a", "b", "batch", "indexed", "missing"};
  enum { COUNT = 5 };
  const rocksdb_column_family_handle_t* families[COUNT] = {family, family, family, family, family};
  size_t sizes[COUNT], lens[COUNT], time_lens[COUNT];
  char *values[COUNT], *times[COUNT], *errors[COUNT], at[16];
  for (int i = 0; i < COUNT; i++) sizes[i] = strlen(keys[i]);
  char kept[TS];
  memcpy(kept, stamp(time), TS);
  rocksdb_readoptions_set_timestamp(reading, kept, TS);
  if (family == NULL) {
    rocksdb_multi_get_with_ts(db, reading, COUNT, keys, sizes, values, lens, times, time_lens, errors);
  } else {
    rocksdb_multi_get_cf_with_ts(db, reading, families, COUNT, keys, sizes, values, lens, times, time_lens, errors);
  }
  snprintf(at, sizeof at, "%llu", (unsigned long long)time);
  print_all(at, COUNT, keys, values, lens, times, time_lens, errors);
  rocksdb_readoptions_set_timestamp(reading, NULL, 0);
}

static void print_batch(const char* what, rocksdb_writebatch_t* batch) {
  size_t len = 0;
  const char* data = rocksdb_writebatch_data(batch, &len);
  printf("%s, %d records:", what, rocksdb_writebatch_count(batch));
  /* The first eight bytes are the sequence number, which a write sets. */
  for (size_t i = 8; i < len; i++) printf(" %02x", (unsigned char)data[i]);
  printf("\n");
}

/* A program sends the bytes of a batch without timestamps to another process, which sets the timestamps and writes the batch. */
static void replicate(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  size_t len = 0;
  rocksdb_writebatch_t* sent = rocksdb_writebatch_create();
  rocksdb_writebatch_put_cf(sent, family, "user:0000000001", 15, "v", 1);
  rocksdb_writebatch_put_cf(sent, family, "user:0000000002", 15, "w", 1);
  rocksdb_writebatch_delete_cf(sent, family, "u", 1);
  rocksdb_writebatch_singledelete_cf(sent, family, "s", 1);
  rocksdb_writebatch_delete_range_cf(sent, family, "x", 1, "z", 1);
  print_batch("sent", sent);
  const char* data = rocksdb_writebatch_data(sent, &len);
  rocksdb_writebatch_t* received = rocksdb_writebatch_create_from(data, len);
  rocksdb_writebatch_update_timestamps(received, stamp(50), TS, NULL, only_families, &error);
  check("received batch");
  print_batch("received", received);
  rocksdb_write(db, writing, received, &error);
  check("write of the received batch");
  rocksdb_writebatch_destroy(received);

  rocksdb_write(db, writing, sent, &error);
  printf("sent: %s\n", error != NULL ? error : "accepted");
  rocksdb_free(error);
  error = NULL;
  rocksdb_writebatch_destroy(sent);

  char kept[TS];
  memcpy(kept, stamp(60), TS);
  rocksdb_readoptions_set_timestamp(reading, kept, TS);
  rocksdb_iterator_t* iterator = rocksdb_create_iterator_cf(db, reading, family);
  for (rocksdb_iter_seek(iterator, "u", 1); rocksdb_iter_valid(iterator); rocksdb_iter_next(iterator)) {
    const char* key = rocksdb_iter_key(iterator, &len);
    printf("replicated: %.*s\n", (int)len, key);
  }
  rocksdb_iter_get_error(iterator, &error);
  check("iterator");
  rocksdb_iter_destroy(iterator);
  rocksdb_readoptions_set_timestamp(reading, NULL, 0);
}

/* A read with a timestamp of a column family without timestamps returns an empty timestamp. */
static void without_timestamps(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  const char* keys[] = {"plain", "missing"};
  const rocksdb_column_family_handle_t* families[] = {family, family};
  size_t sizes[] = {5, 7}, lens[2], time_lens[2];
  char *values[2], *times[2], *errors[2];
  rocksdb_multi_get_cf_with_ts(db, reading, families, 2, keys, sizes, values, lens, times, time_lens, errors);
  print_all("no timestamps", 2, keys, values, lens, times, time_lens, errors);
  for (int i = 0; i < 2; i++) {
    size_t len = 77, time_len = 77;
    char* time = NULL;
    char* value = rocksdb_get_with_ts(db, reading, keys[i], sizes[i], &len, &time, &time_len, &error);
    check("get");
    printf("%s: %d, %d bytes, timestamp of %d bytes\n", keys[i], value != NULL, (int)len, (int)time_len);
    rocksdb_free(value);
    rocksdb_free(time);
  }
}

static void families(rocksdb_options_t* plain, rocksdb_options_t* stamped, const char* path) {
  const char* names[] = {"default", "history"};
  const rocksdb_options_t* each[] = {plain, stamped};
  rocksdb_column_family_handle_t* handles[2];
  rocksdb_t* db = rocksdb_open_column_families(plain, path, 2, names, each, handles, &error);
  check("open");
  rocksdb_column_family_handle_t* history = handles[1];
  rocksdb_put_cf_with_ts(db, writing, history, "a", 1, stamp(10), TS, "a10", 3, &error);
  rocksdb_put_cf_with_ts(db, writing, history, "a", 1, stamp(20), TS, "a20", 3, &error);
  rocksdb_put_cf_with_ts(db, writing, history, "b", 1, stamp(15), TS, "b15", 3, &error);
  rocksdb_delete_cf_with_ts(db, writing, history, "b", 1, stamp(18), TS, &error);
  check("put");
  show(db, history, 17);
  show(db, history, 25);
  rocksdb_put_cf(db, writing, history, "a", 1, "v", 1, &error);
  refused("put without a timestamp");

  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put_cf(batch, history, "batch", 5, "v", 1);
  rocksdb_writebatch_put(batch, "plain", 5, "v", 1);
  rocksdb_write(db, writing, batch, &error);
  refused("batch without timestamps");
  rocksdb_writebatch_update_timestamps(batch, "short", 5, NULL, only_families, &error);
  refused("short timestamp");
  rocksdb_writebatch_update_timestamps(batch, stamp(30), TS, NULL, only_families, &error);
  rocksdb_write(db, writing, batch, &error);
  check("batch");
  rocksdb_writebatch_update_timestamps(batch, stamp(31), TS, NULL, only_families, &error);
  rocksdb_write(db, writing, batch, &error);
  check("the same batch with another timestamp");
  rocksdb_writebatch_destroy(batch);
  rocksdb_readoptions_t* untimed = rocksdb_readoptions_create();
  size_t length = 0, time_length = 9;
  char *time = NULL, *value = rocksdb_get_with_ts(db, untimed, "plain", 5, &length, &time, &time_length, &error);
  check("get with timestamp");
  printf("a value of a column family without timestamps: %.*s, timestamp of %d bytes\n", (int)length, value, (int)time_length);
  rocksdb_free(value), rocksdb_free(time);
  rocksdb_readoptions_set_timestamp(untimed, stamp(30), TS);
  rocksdb_get_with_ts(db, untimed, "plain", 5, &length, &time, &time_length, &error);
  refused("get with timestamp from a column family without timestamps");
  rocksdb_readoptions_destroy(untimed);
  show(db, history, 30);
  show(db, history, 31);

  rocksdb_writebatch_wi_t* indexed = rocksdb_writebatch_wi_create(0, 1);
  rocksdb_writebatch_wi_put_cf(indexed, history, "indexed", 7, "i", 1);
  rocksdb_write_writebatch_wi(db, writing, indexed, &error);
  refused("indexed batch without timestamps");
  rocksdb_writebatch_wi_update_timestamps(indexed, stamp(40), TS, NULL, only_families, &error);
  rocksdb_write_writebatch_wi(db, writing, indexed, &error);
  check("indexed batch");
  rocksdb_writebatch_wi_destroy(indexed);
  show(db, history, 40);
  replicate(db, history);
  without_timestamps(db, handles[0]);

  rocksdb_column_family_handle_destroy(handles[0]);
  rocksdb_column_family_handle_destroy(handles[1]);
  rocksdb_close(db);
}

/* An iterator over all versions shows internal keys: key, timestamp, sequence number and value type. */
static void history(rocksdb_t* db) {
  char from[TS], to[TS];
  memcpy(from, stamp(0), TS);
  memcpy(to, stamp(50), TS);
  rocksdb_delete_with_ts(db, writing, "a", 1, stamp(3), TS, &error);
  check("delete");
  rocksdb_readoptions_set_iter_start_ts(reading, from, TS);
  rocksdb_readoptions_set_timestamp(reading, to, TS);
  for (int reverse = 0; reverse < 2; reverse++) {
    rocksdb_iterator_t* iterator = rocksdb_create_iterator(db, reading);
    reverse ? rocksdb_iter_seek_to_last(iterator) : rocksdb_iter_seek_to_first(iterator);
    while (rocksdb_iter_valid(iterator)) {
      size_t len = 0, time_len = 0;
      const char* key = rocksdb_iter_key(iterator, &len);
      const char* time = rocksdb_iter_timestamp(iterator, &time_len);
      uint64_t at = 0;
      if (len < 2 * TS || time_len != TS || memcmp(time, key + len - 2 * TS, TS) != 0) exit(1);
      memcpy(&at, time, TS);
      printf("%.*s at %d, type %d\n", (int)len - 2 * TS, key, (int)at, key[len - TS]);
      reverse ? rocksdb_iter_prev(iterator) : rocksdb_iter_next(iterator);
    }
    rocksdb_iter_get_error(iterator, &error);
    check("iterator");
    rocksdb_iter_destroy(iterator);
  }
  rocksdb_readoptions_set_iter_start_ts(reading, NULL, 0);
  rocksdb_readoptions_set_timestamp(reading, NULL, 0);
}

static void default_family(rocksdb_options_t* stamped, const char* directory) {
  char path[4096];
  snprintf(path, sizeof path, "%s-default", directory);
  rocksdb_t* db = rocksdb_open(stamped, path, &error);
  check("open of a default column family with timestamps");
  rocksdb_put_with_ts(db, writing, "a", 1, stamp(1), TS, "a1", 2, &error);
  check("put");
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create_with_params(0, 0, 0, TS);
  rocksdb_writebatch_put(batch, "batch", 5, "v", 1);
  print_batch("default", batch);
  rocksdb_writebatch_update_timestamps(batch, stamp(2), TS, NULL, all_stamped, &error);
  print_batch("default", batch);
  rocksdb_write(db, writing, batch, &error);
  check("batch");
  rocksdb_writebatch_destroy(batch);
  show(db, NULL, 1);
  show(db, NULL, 2);
  history(db);
  rocksdb_close(db);
}

/* The batch of a transaction, which is freed by `rocksdb_free`. */
static void transactions(rocksdb_options_t* plain, const char* directory) {
  char path[4096];
  size_t len = 0;
  snprintf(path, sizeof path, "%s-transactions", directory);
  rocksdb_transactiondb_options_t* options = rocksdb_transactiondb_options_create();
  rocksdb_transaction_options_t* begin = rocksdb_transaction_options_create();
  rocksdb_transactiondb_t* db = rocksdb_transactiondb_open(plain, options, path, &error);
  check("open of a transaction database");
  rocksdb_transaction_t* txn = rocksdb_transaction_begin(db, writing, begin, NULL);
  rocksdb_transaction_put(txn, "k", 1, "v", 1, &error);
  rocksdb_writebatch_wi_t* batch = rocksdb_transaction_get_writebatch_wi(txn);
  printf("records: %d\n", rocksdb_writebatch_wi_count(batch));
  rocksdb_writebatch_wi_put(batch, "direct", 6, "d", 1);
  printf("bytes: %d\n", rocksdb_writebatch_wi_data(batch, &len) != NULL && len > 12);
  char* value = rocksdb_transaction_get(txn, reading, "direct", 6, &len, &error);
  check("get");
  printf("direct: %.*s\n", (int)len, value);
  rocksdb_free(value);
  rocksdb_free(batch);
  rocksdb_transaction_commit(txn, &error);
  check("commit");
  txn = rocksdb_transaction_begin(db, writing, begin, txn);
  batch = rocksdb_transaction_get_writebatch_wi(txn);
  printf("records: %d\n", rocksdb_writebatch_wi_count(batch));
  rocksdb_transaction_put(txn, "first", 5, "1", 1, &error);
  check("put");
  printf("records: %d\n", rocksdb_writebatch_wi_count(batch));
  rocksdb_free(batch);
  rocksdb_transaction_rollback(txn, &error);
  rocksdb_transaction_destroy(txn);
  value = rocksdb_transactiondb_get(db, reading, "direct", 6, &len, &error);
  check("get");
  printf("committed: %.*s\n", (int)len, value);
  rocksdb_free(value);
  rocksdb_transactiondb_close(db);
  rocksdb_transaction_options_destroy(begin);
  rocksdb_transactiondb_options_destroy(options);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  writing = rocksdb_writeoptions_create();
  reading = rocksdb_readoptions_create();
  rocksdb_options_t* plain = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(plain, 1);
  rocksdb_options_set_create_missing_column_families(plain, 1);
  rocksdb_options_t* stamped = rocksdb_options_create_copy(plain);
  rocksdb_comparator_t* order =
      rocksdb_comparator_with_ts_create(NULL, nothing, compare, compare_times, compare_keys, name, TS);
  rocksdb_options_set_comparator(stamped, order);
  families(plain, stamped, argv[1]);
  default_family(stamped, argv[1]);
  transactions(plain, argv[1]);
  rocksdb_options_destroy(stamped);
  rocksdb_options_destroy(plain);
  rocksdb_readoptions_destroy(reading);
  rocksdb_writeoptions_destroy(writing);
  rocksdb_comparator_destroy(order);
  return 0;
}
