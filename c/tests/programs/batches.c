/* Write batches, indexed batches and transactions: each kind of entry in each form of call (one part, many parts, with a column
 * family, with a timestamp), reads that combine a batch with the database, iterators over a batch and a base iterator with bounds,
 * and transactions that take the entries of a batch.
 *
 *   batches DIRECTORY     prints the answers */
#include <rocksdb/c.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "merge_all.h"

static char* error = NULL;
static char path[1024];
static rocksdb_writeoptions_t* write_options;
static rocksdb_readoptions_t* read_options;

static void answer(const char* what) {
  printf("%s: %s\n", what, error == NULL ? "ok" : error);
  rocksdb_free(error);
  error = NULL;
}

static void print_bytes(const char* text, size_t length) {
  for (size_t at = 0; at < length; at++) {
    unsigned char byte = (unsigned char)text[at];
    if (byte > ' ' && byte < 127) printf("%c", byte);
    else printf("\\%02x", byte);
  }
}

static void destroyed(void* state) { (void)state; }

static char* merge_some(void* state, const char* key, size_t key_len, const char* const* operands, const size_t* lengths,
                        int count, unsigned char* success, size_t* new_len) {
  (void)state, (void)key, (void)key_len, (void)operands, (void)lengths, (void)count;
  *success = 0, *new_len = 0;
  return NULL;
}

static const char* name(void* state) {
  (void)state;
  return "Joined";
}

static rocksdb_options_t* new_options(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_merge_operator(options,
                                     rocksdb_mergeoperator_create(NULL, destroyed, merge_all, merge_some, NULL, name));
  return options;
}

static void begin(const char* directory, const char* what, rocksdb_options_t* options) {
  printf("== %s\n", what);
  snprintf(path, sizeof path, "%s/%s", directory, what);
  rocksdb_destroy_db(options, path, &error);
  rocksdb_free(error);
  error = NULL;
}

static void on_put(void* state, const char* key, size_t key_len, const char* value, size_t value_len) {
  (void)state;
  printf("  put "), print_bytes(key, key_len), printf(" = "), print_bytes(value, value_len), printf("\n");
}
static void on_deletion(void* state, const char* key, size_t key_len) {
  (void)state;
  printf("  delete "), print_bytes(key, key_len), printf("\n");
}
static void on_log_data(void* state, const char* blob, size_t length) {
  (void)state;
  printf("  log data "), print_bytes(blob, length), printf("\n");
}
static void on_put_cf(void* state, uint32_t family, const char* key, size_t key_len, const char* value,
                      size_t value_len) {
  printf("  %u", family);
  on_put(state, key, key_len, value, value_len);
}
static void on_deletion_cf(void* state, uint32_t family, const char* key, size_t key_len) {
  printf("  %u", family);
  on_deletion(state, key, key_len);
}
static void on_merge_cf(void* state, uint32_t family, const char* key, size_t key_len, const char* value,
                        size_t value_len) {
  (void)state;
  printf("  %u  merge ", family), print_bytes(key, key_len), printf(" + "), print_bytes(value, value_len), printf("\n");
}

static void print_batch(rocksdb_writebatch_t* batch) {
  size_t length;
  const char* data = rocksdb_writebatch_data(batch, &length);
  printf("count %d, bytes ", rocksdb_writebatch_count(batch));
  print_bytes(data, length);
  printf("\niterate\n");
  rocksdb_writebatch_iterate(batch, NULL, on_put, on_deletion);
  printf("iterate with log data\n");
  rocksdb_writebatch_iterate_ld(batch, NULL, on_put, on_deletion, on_log_data);
  printf("iterate with families\n");
  rocksdb_writebatch_iterate_cf(batch, NULL, on_put_cf, on_deletion_cf, on_merge_cf);
  printf("iterate with families and log data\n");
  rocksdb_writebatch_iterate_cf_ld(batch, NULL, on_put_cf, on_deletion_cf, on_merge_cf, on_log_data);
}

static void print_indexed(rocksdb_writebatch_wi_t* batch) {
  printf("count %d\n", rocksdb_writebatch_wi_count(batch));
  rocksdb_writebatch_wi_iterate(batch, NULL, on_put, on_deletion);
}

static void print_all(const char* what, rocksdb_iterator_t* iterator) {
  printf("%s:", what);
  for (rocksdb_iter_seek_to_first(iterator); rocksdb_iter_valid(iterator); rocksdb_iter_next(iterator)) {
    size_t key_len, value_len;
    const char* key = rocksdb_iter_key(iterator, &key_len);
    const char* value = rocksdb_iter_value(iterator, &value_len);
    printf(" ");
    print_bytes(key, key_len), printf("="), print_bytes(value, value_len);
  }
  printf(" |");
  for (rocksdb_iter_seek_to_last(iterator); rocksdb_iter_valid(iterator); rocksdb_iter_prev(iterator)) {
    size_t key_len;
    const char* key = rocksdb_iter_key(iterator, &key_len);
    printf(" ");
    print_bytes(key, key_len);
  }
  rocksdb_iter_get_error(iterator, &error);
  printf(" | %s\n", error == NULL ? "ok" : error);
  rocksdb_free(error);
  error = NULL;
}

static void print_key(rocksdb_iterator_t* iterator) {
  if (!rocksdb_iter_valid(iterator)) return;
  size_t length;
  const char* key = rocksdb_iter_key(iterator, &length);
  printf(" "), print_bytes(key, length);
}

static const char* const parts[] = {"pa", "rts"};
static const size_t part_sizes[] = {2, 3};
static const char* const values[] = {"x", "", "yz"};
static const size_t value_sizes[] = {1, 0, 2};
static const char* const ends[] = {"q", "z"};
static const size_t end_sizes[] = {1, 1};

static void all_calls_of_a_batch(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  (void)db;
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put(batch, "a", 1, "1", 1);
  rocksdb_writebatch_put_cf(batch, family, "a", 1, "2", 1);
  rocksdb_writebatch_putv(batch, 2, parts, part_sizes, 3, values, value_sizes);
  rocksdb_writebatch_putv_cf(batch, family, 2, parts, part_sizes, 3, values, value_sizes);
  rocksdb_writebatch_putv(batch, 0, NULL, NULL, 0, NULL, NULL);
  rocksdb_writebatch_merge(batch, "a", 1, "+", 1);
  rocksdb_writebatch_merge_cf(batch, family, "a", 1, "-", 1);
  rocksdb_writebatch_mergev(batch, 2, parts, part_sizes, 3, values, value_sizes);
  rocksdb_writebatch_mergev_cf(batch, family, 2, parts, part_sizes, 3, values, value_sizes);
  rocksdb_writebatch_put_log_data(batch, "log \n data", 10);
  rocksdb_writebatch_put_log_data(batch, "", 0);
  rocksdb_writebatch_delete(batch, "d", 1);
  rocksdb_writebatch_delete_cf(batch, family, "d", 1);
  rocksdb_writebatch_deletev(batch, 2, parts, part_sizes);
  rocksdb_writebatch_deletev_cf(batch, family, 2, parts, part_sizes);
  rocksdb_writebatch_singledelete(batch, "s", 1);
  rocksdb_writebatch_singledelete_cf(batch, family, "s", 1);
  rocksdb_writebatch_delete_range(batch, "m", 1, "n", 1);
  rocksdb_writebatch_delete_range_cf(batch, family, "m", 1, "n", 1);
  rocksdb_writebatch_delete_rangev(batch, 2, parts, part_sizes, ends, end_sizes);
  rocksdb_writebatch_delete_rangev_cf(batch, family, 2, parts, part_sizes, ends, end_sizes);
  print_batch(batch);
  rocksdb_writebatch_verify_checksum(batch, &error);
  answer("checksum");
  rocksdb_write(db, write_options, batch, &error);
  answer("write");
  rocksdb_writebatch_destroy(batch);

  batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put_cf_with_ts(batch, family, "t", 1, "12345678", 8, "v", 1);
  rocksdb_writebatch_delete_cf_with_ts(batch, family, "t", 1, "12345678", 8);
  rocksdb_writebatch_singledelete_cf_with_ts(batch, family, "t", 1, "12345678", 8);
  print_batch(batch);
  rocksdb_write(db, write_options, batch, &error);
  answer("write with timestamps of a family without timestamps");
  rocksdb_writebatch_destroy(batch);

  batch = rocksdb_writebatch_create();
  rocksdb_writebatch_rollback_to_save_point(batch, &error);
  answer("rollback without a save point");
  rocksdb_writebatch_pop_save_point(batch, &error);
  answer("pop without a save point");
  rocksdb_writebatch_put(batch, "a", 1, "1", 1);
  rocksdb_writebatch_set_save_point(batch);
  rocksdb_writebatch_put(batch, "b", 1, "1", 1);
  rocksdb_writebatch_put_log_data(batch, "x", 1);
  rocksdb_writebatch_rollback_to_save_point(batch, &error);
  answer("rollback");
  print_batch(batch);
  rocksdb_writebatch_destroy(batch);

  batch = rocksdb_writebatch_create_with_params(0, 30, 0, 0);
  for (int at = 0; at < 4; at++) rocksdb_writebatch_put(batch, "0123456789", 10, "v", 1);
  printf("count of a limited batch: %d\n", rocksdb_writebatch_count(batch));
  rocksdb_writebatch_destroy(batch);
  /* Bytes with a wrong count take further records. */
  static const char wrong[] = "\0\0\0\0\0\0\0\0\5\0\0\0\1\1a\1b";
  batch = rocksdb_writebatch_create_from(wrong, sizeof wrong - 1);
  rocksdb_writebatch_put(batch, "k", 1, "v", 1);
  rocksdb_writebatch_delete_cf(batch, family, "k", 1);
  print_batch(batch);
  rocksdb_writebatch_destroy(batch);
  static const size_t protections[] = {1, 8, 16};
  for (int at = 0; at < 3; at++) {
    batch = rocksdb_writebatch_create_with_params(0, 0, protections[at], 0);
    rocksdb_writebatch_put(batch, "p", 1, "v", 1);
    rocksdb_writebatch_verify_checksum(batch, &error);
    answer("checksum");
    rocksdb_write(db, write_options, batch, &error);
    answer("write");
    rocksdb_writebatch_destroy(batch);
  }
}

static int compare(void* state, const char* left, size_t left_len, const char* right, size_t right_len) {
  (void)state;
  size_t shorter = left_len < right_len ? left_len : right_len;
  int order = memcmp(left, right, shorter);
  return order != 0 ? order : left_len < right_len ? -1 : left_len > right_len;
}

static void all_calls_of_an_indexed_batch(rocksdb_t* db, rocksdb_column_family_handle_t* family,
                                          rocksdb_options_t* options, int overwrite, int params) {
  printf("-- an indexed batch, overwrite %d, params %d\n", overwrite, params);
  rocksdb_comparator_t* order = rocksdb_comparator_create(NULL, destroyed, compare, name);
  rocksdb_writebatch_wi_t* batch =
      params ? rocksdb_writebatch_wi_create_with_params(order, 0, (unsigned char)overwrite, 0, 8)
             : rocksdb_writebatch_wi_create(0, (unsigned char)overwrite);
  rocksdb_writebatch_wi_put(batch, "a", 1, "1", 1);
  rocksdb_writebatch_wi_put_cf(batch, family, "a", 1, "2", 1);
  rocksdb_writebatch_wi_put(batch, "a", 1, "3", 1);
  rocksdb_writebatch_wi_putv(batch, 2, parts, part_sizes, 3, values, value_sizes);
  rocksdb_writebatch_wi_putv_cf(batch, family, 2, parts, part_sizes, 3, values, value_sizes);
  /* RocksDB's iterators with a base and without a column family read no merge operands. */
  rocksdb_writebatch_wi_merge(batch, "z", 1, "+", 1);
  rocksdb_writebatch_wi_merge_cf(batch, family, "a", 1, "-", 1);
  rocksdb_writebatch_wi_merge_cf(batch, family, "only", 4, "-", 1);
  rocksdb_writebatch_wi_mergev(batch, 2, parts, part_sizes, 3, values, value_sizes);
  rocksdb_writebatch_wi_mergev_cf(batch, family, 2, parts, part_sizes, 3, values, value_sizes);
  rocksdb_writebatch_wi_put_log_data(batch, "log data", 8);
  rocksdb_writebatch_wi_delete(batch, "base2", 5);
  rocksdb_writebatch_wi_delete_cf(batch, family, "d", 1);
  rocksdb_writebatch_wi_deletev(batch, 2, parts, part_sizes);
  rocksdb_writebatch_wi_deletev_cf(batch, family, 2, parts, part_sizes);
  rocksdb_writebatch_wi_singledelete(batch, "base3", 5);
  rocksdb_writebatch_wi_singledelete_cf(batch, family, "s", 1);
  rocksdb_writebatch_wi_put(batch, "", 0, "empty", 5);
  rocksdb_writebatch_wi_put(batch, "z", 1, "last", 4);
  print_indexed(batch);
  rocksdb_writebatch_wi_delete_range(batch, "m", 1, "n", 1);
  rocksdb_writebatch_wi_delete_range_cf(batch, family, "m", 1, "n", 1);
  rocksdb_writebatch_wi_delete_rangev(batch, 2, parts, part_sizes, ends, end_sizes);
  rocksdb_writebatch_wi_delete_rangev_cf(batch, family, 2, parts, part_sizes, ends, end_sizes);
  print_indexed(batch);
  size_t size;
  const char* data = rocksdb_writebatch_wi_data(batch, &size);
  print_bytes(data, size);
  printf("\n");
  static const char* const keys[] = {"a", "parts", "only", "d", "s", "base2", "base1", "never", ""};
  for (size_t at = 0; at < sizeof keys / sizeof *keys; at++) {
    const char* key = keys[at];
    size_t length = 0;
    char* value = rocksdb_writebatch_wi_get_from_batch(batch, options, key, strlen(key), &length, &error);
    printf("%s: ", key), print_bytes(value ? value : "(none)", value ? length : 6);
    answer("");
    rocksdb_free(value);
    value = rocksdb_writebatch_wi_get_from_batch_cf(batch, options, family, key, strlen(key), &length, &error);
    printf("%s of the family: ", key), print_bytes(value ? value : "(none)", value ? length : 6);
    answer("");
    rocksdb_free(value);
    value = rocksdb_writebatch_wi_get_from_batch_and_db(batch, db, read_options, key, strlen(key), &length, &error);
    printf("%s with the database: ", key), print_bytes(value ? value : "(none)", value ? length : 6);
    answer("");
    rocksdb_free(value);
    value = rocksdb_writebatch_wi_get_from_batch_and_db_cf(batch, db, read_options, family, key, strlen(key), &length,
                                                           &error);
    printf("%s of the family with the database: ", key), print_bytes(value ? value : "(none)", value ? length : 6);
    answer("");
    rocksdb_free(value);
    rocksdb_pinnableslice_t* pinned =
        rocksdb_writebatch_wi_get_pinned_from_batch_and_db(batch, db, read_options, key, strlen(key), &error);
    const char* bytes = pinned ? rocksdb_pinnableslice_value(pinned, &length) : NULL;
    printf("%s pinned: ", key), print_bytes(bytes ? bytes : "(none)", bytes ? length : 6);
    answer("");
    rocksdb_pinnableslice_destroy(pinned);
    pinned =
        rocksdb_writebatch_wi_get_pinned_from_batch_and_db_cf(batch, db, read_options, family, key, strlen(key), &error);
    bytes = pinned ? rocksdb_pinnableslice_value(pinned, &length) : NULL;
    printf("%s of the family pinned: ", key), print_bytes(bytes ? bytes : "(none)", bytes ? length : 6);
    answer("");
    rocksdb_pinnableslice_destroy(pinned);
  }
  rocksdb_iterator_t* iterator =
      rocksdb_writebatch_wi_create_iterator_with_base(batch, rocksdb_create_iterator(db, read_options));
  print_all("with base", iterator);
  rocksdb_iter_destroy(iterator);
  iterator = rocksdb_writebatch_wi_create_iterator_with_base_cf(
      batch, rocksdb_create_iterator_cf(db, read_options, family), family);
  print_all("with base of the family", iterator);
  rocksdb_iter_destroy(iterator);
  rocksdb_readoptions_t* bounded = rocksdb_readoptions_create();
  rocksdb_readoptions_set_iterate_lower_bound(bounded, "b", 1);
  rocksdb_readoptions_set_iterate_upper_bound(bounded, "o", 1);
  iterator = rocksdb_writebatch_wi_create_iterator_with_base(batch, rocksdb_create_iterator(db, bounded));
  print_all("bounds in the base", iterator);
  rocksdb_iter_destroy(iterator);
  iterator = rocksdb_writebatch_wi_create_iterator_with_base_readopts(
      batch, rocksdb_create_iterator(db, read_options), bounded);
  print_all("bounds in the options", iterator);
  rocksdb_iter_destroy(iterator);
  iterator =
      rocksdb_writebatch_wi_create_iterator_with_base_readopts(batch, rocksdb_create_iterator(db, bounded), bounded);
  print_all("bounds in both", iterator);
  rocksdb_iter_seek(iterator, "a", 1);
  size_t length;
  printf("seek below the bound: %d", rocksdb_iter_valid(iterator));
  print_key(iterator);
  rocksdb_iter_seek(iterator, "z", 1);
  printf(", above: %d", rocksdb_iter_valid(iterator));
  rocksdb_iter_seek_for_prev(iterator, "z", 1);
  printf(", before z: %d", rocksdb_iter_valid(iterator));
  print_key(iterator);
  rocksdb_iter_seek_for_prev(iterator, "a", 1);
  printf(", before a: %d\n", rocksdb_iter_valid(iterator));
  rocksdb_iter_destroy(iterator);
  iterator = rocksdb_writebatch_wi_create_iterator_with_base_cf_readopts(
      batch, rocksdb_create_iterator_cf(db, bounded, family), family, bounded);
  print_all("bounds in both of the family", iterator);
  rocksdb_iter_destroy(iterator);
  rocksdb_readoptions_destroy(bounded);
  rocksdb_writebatch_wi_rollback_to_save_point(batch, &error);
  answer("rollback without a save point");
  rocksdb_writebatch_wi_set_save_point(batch);
  rocksdb_writebatch_wi_put(batch, "saved", 5, "1", 1);
  rocksdb_writebatch_wi_rollback_to_save_point(batch, &error);
  answer("rollback");
  char* value = rocksdb_writebatch_wi_get_from_batch(batch, options, "saved", 5, &length, &error);
  printf("saved: %d\n", value != NULL);
  rocksdb_free(value);
  answer("get");
  rocksdb_write_writebatch_wi(db, write_options, batch, &error);
  answer("write");
  iterator = rocksdb_create_iterator(db, read_options);
  print_all("after the write", iterator);
  rocksdb_iter_destroy(iterator);
  iterator = rocksdb_create_iterator_cf(db, read_options, family);
  print_all("the family after the write", iterator);
  rocksdb_iter_destroy(iterator);
  rocksdb_writebatch_wi_clear(batch);
  print_indexed(batch);
  rocksdb_writebatch_wi_destroy(batch);
  rocksdb_comparator_destroy(order);
}

static void put(rocksdb_t* db, rocksdb_column_family_handle_t* family, const char* key, const char* value) {
  rocksdb_put_cf(db, write_options, family, key, strlen(key), value, strlen(value), &error);
  if (error != NULL) answer("put");
}

static void batches(const char* directory) {
  rocksdb_options_t* options = new_options();
  for (int overwrite = 0; overwrite < 3; overwrite++) {
    begin(directory, "batches", options);
    rocksdb_t* db = rocksdb_open(options, path, &error);
    answer("open");
    rocksdb_column_family_handle_t* family = rocksdb_create_column_family(db, options, "family", &error);
    rocksdb_column_family_handle_t* default_family = rocksdb_get_default_column_family_handle(db);
    printf("ids %u %u\n", rocksdb_column_family_handle_get_id(default_family),
           rocksdb_column_family_handle_get_id(family));
    char key[16];
    for (int at = 0; at < 5; at++) {
      snprintf(key, sizeof key, "base%d", at);
      put(db, default_family, key, "default");
      put(db, family, key, "family");
    }
    put(db, default_family, "a", "base");
    put(db, family, "only", "base");
    if (overwrite == 0) all_calls_of_a_batch(db, family);
    all_calls_of_an_indexed_batch(db, family, options, overwrite % 2, overwrite == 2);
    rocksdb_singledelete(db, write_options, "a", 1, &error);
    answer("single delete");
    rocksdb_singledelete_cf(db, write_options, family, "base1", 5, &error);
    answer("single delete");
    rocksdb_singledelete_cf_with_ts(db, write_options, family, "base1", 5, "12345678", 8, &error);
    answer("single delete with a timestamp");
    rocksdb_column_family_handle_destroy(default_family);
    rocksdb_column_family_handle_destroy(family);
    rocksdb_close(db);
  }
  rocksdb_options_destroy(options);
}

static void print_get(const char* what, char* value, size_t length) {
  printf("%s: ", what);
  print_bytes(value ? value : "(none)", value ? length : 6);
  answer("");
  rocksdb_free(value);
}

static void print_pinned(const char* what, rocksdb_pinnableslice_t* pinned) {
  size_t length = 0;
  const char* value = pinned ? rocksdb_pinnableslice_value(pinned, &length) : NULL;
  printf("%s: ", what);
  print_bytes(value ? value : "(none)", value ? length : 6);
  answer("");
  rocksdb_pinnableslice_destroy(pinned);
}

/* The caller frees the handle of the batch, not the batch. */
static void print_batch_of(rocksdb_transaction_t* transaction) {
  rocksdb_writebatch_wi_t* batch = rocksdb_transaction_get_writebatch_wi(transaction);
  print_indexed(batch);
  rocksdb_free(batch);
}

static void transactions(const char* directory) {
  rocksdb_options_t* options = new_options();
  begin(directory, "transactions", options);
  rocksdb_transactiondb_options_t* db_options = rocksdb_transactiondb_options_create();
  rocksdb_transaction_options_t* own = rocksdb_transaction_options_create();
  rocksdb_transactiondb_t* db = rocksdb_transactiondb_open(options, db_options, path, &error);
  answer("open");
  rocksdb_column_family_handle_t* family = rocksdb_transactiondb_create_column_family(db, options, "family", &error);
  answer("family");
  size_t length = 0;
  rocksdb_transactiondb_put(db, write_options, "a", 1, "1", 1, &error);
  rocksdb_transactiondb_merge(db, write_options, "a", 1, "+2", 2, &error);
  answer("merge");
  print_get("a", rocksdb_transactiondb_get(db, read_options, "a", 1, &length, &error), length);
  rocksdb_transactiondb_put_cf(db, write_options, family, "f", 1, "1", 1, &error);
  rocksdb_transactiondb_merge_cf(db, write_options, family, "f", 1, "+2", 2, &error);
  answer("merge");
  rocksdb_iterator_t* iterator = rocksdb_transactiondb_create_iterator_cf(db, read_options, family);
  print_all("family", iterator);
  rocksdb_iter_destroy(iterator);
  uint64_t number = 77;
  printf("%d", rocksdb_transactiondb_property_int(db, "rocksdb.estimate-num-keys", &number));
  printf(" %d\n", (int)number);
  number = 77;
  printf("%d", rocksdb_transactiondb_property_int(db, "rocksdb.no-such", &number));
  printf(" %d\n", (int)number);
  char* text = rocksdb_transactiondb_property_value(db, "rocksdb.num-files-at-level0");
  printf("%s\n", text ? text : "(none)");
  rocksdb_free(text);

  rocksdb_transaction_t* transaction = rocksdb_transaction_begin(db, write_options, own, NULL);
  rocksdb_transaction_merge(transaction, "a", 1, "+3", 2, &error);
  answer("merge");
  rocksdb_transaction_merge_cf(transaction, family, "f", 1, "+3", 2, &error);
  answer("merge");
  rocksdb_transaction_put_cf(transaction, family, "g", 1, "new", 3, &error);
  rocksdb_transaction_delete_cf(transaction, family, "never", 5, &error);
  answer("delete");
  print_get("a", rocksdb_transaction_get(transaction, read_options, "a", 1, &length, &error), length);
  print_get("f", rocksdb_transaction_get_cf(transaction, read_options, family, "f", 1, &length, &error), length);
  print_get("f to write",
            rocksdb_transaction_get_for_update_cf(transaction, read_options, family, "f", 1, &length, 1, &error), length);
  print_pinned("f pinned", rocksdb_transaction_get_pinned_cf(transaction, read_options, family, "f", 1, &error));
  print_pinned("f pinned to write",
               rocksdb_transaction_get_pinned_for_update_cf(transaction, read_options, family, "f", 1, 1, &error));
  print_pinned("never pinned to write",
               rocksdb_transaction_get_pinned_for_update_cf(transaction, read_options, family, "never", 5, 1, &error));
  iterator = rocksdb_transaction_create_iterator_cf(transaction, read_options, family);
  print_all("family in the transaction", iterator);
  rocksdb_iter_destroy(iterator);
  rocksdb_readoptions_t* bounded = rocksdb_readoptions_create();
  rocksdb_readoptions_set_iterate_upper_bound(bounded, "g", 1);
  iterator = rocksdb_transaction_create_iterator_cf(transaction, bounded, family);
  print_all("below g", iterator);
  rocksdb_iter_destroy(iterator);
  rocksdb_readoptions_destroy(bounded);
  print_batch_of(transaction);

  rocksdb_transaction_t* second = rocksdb_transaction_begin(db, write_options, own, NULL);
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put(batch, "r", 1, "1", 1);
  rocksdb_writebatch_merge_cf(batch, family, "g2", 2, "+", 1);
  rocksdb_writebatch_delete(batch, "r2", 2);
  rocksdb_writebatch_singledelete(batch, "r3", 2);
  rocksdb_writebatch_put_log_data(batch, "log", 3);
  rocksdb_transaction_rebuild_from_writebatch(second, batch, &error);
  answer("rebuild");
  print_batch_of(second);
  rocksdb_writebatch_destroy(batch);
  batch = rocksdb_writebatch_create();
  rocksdb_writebatch_delete_range(batch, "r", 1, "s", 1);
  rocksdb_transaction_rebuild_from_writebatch(second, batch, &error);
  answer("rebuild with a range");
  rocksdb_writebatch_destroy(batch);
  rocksdb_writebatch_wi_t* indexed = rocksdb_writebatch_wi_create(0, 1);
  rocksdb_writebatch_wi_put_cf(indexed, family, "w", 1, "1", 1);
  rocksdb_transaction_rebuild_from_writebatch_wi(second, indexed, &error);
  answer("rebuild of an indexed batch");
  print_batch_of(second);
  rocksdb_transaction_set_commit_timestamp(second, 9);
  rocksdb_transaction_set_read_timestamp_for_validation(second, 8);
  rocksdb_transaction_commit(second, &error);
  answer("commit");
  rocksdb_transaction_commit(second, &error);
  answer("commit again");
  rocksdb_transaction_rollback(second, &error);
  answer("rollback after the commit");
  rocksdb_transaction_destroy(second);
  rocksdb_writebatch_wi_destroy(indexed);
  rocksdb_transaction_prepare(transaction, &error);
  answer("prepare without a name");
  rocksdb_transaction_set_name(transaction, "", 0, &error);
  answer("empty name");
  rocksdb_transaction_set_name(transaction, "name", 4, &error);
  answer("name");
  rocksdb_transaction_set_name(transaction, "other", 5, &error);
  answer("another name");
  rocksdb_transaction_prepare(transaction, &error);
  answer("prepare");
  rocksdb_transaction_put(transaction, "late", 4, "1", 1, &error);
  answer("put after the prepare");
  rocksdb_transaction_prepare(transaction, &error);
  answer("prepare again");
  rocksdb_transaction_commit(transaction, &error);
  answer("commit");
  rocksdb_transaction_destroy(transaction);
  iterator = rocksdb_transactiondb_create_iterator(db, read_options);
  print_all("at the end", iterator);
  rocksdb_iter_destroy(iterator);
  iterator = rocksdb_transactiondb_create_iterator_cf(db, read_options, family);
  print_all("family at the end", iterator);
  rocksdb_iter_destroy(iterator);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_transactiondb_close(db);
  rocksdb_transaction_options_destroy(own);
  rocksdb_transactiondb_options_destroy(db_options);
  rocksdb_options_destroy(options);
}

static void optimistic(const char* directory) {
  rocksdb_options_t* options = new_options();
  begin(directory, "optimistic", options);
  rocksdb_optimistictransactiondb_t* db = rocksdb_optimistictransactiondb_open(options, path, &error);
  answer("open");
  rocksdb_optimistictransaction_options_t* own = rocksdb_optimistictransaction_options_create();
  rocksdb_transaction_t* transaction = rocksdb_optimistictransaction_begin(db, write_options, own, NULL);
  rocksdb_transaction_merge(transaction, "a", 1, "+3", 2, &error);
  answer("merge");
  rocksdb_transaction_set_name(transaction, "name", 4, &error);
  answer("name");
  rocksdb_transaction_prepare(transaction, &error);
  answer("prepare");
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put(batch, "r", 1, "1", 1);
  rocksdb_transaction_rebuild_from_writebatch(transaction, batch, &error);
  answer("rebuild");
  rocksdb_transaction_commit(transaction, &error);
  answer("commit");
  rocksdb_transaction_put(transaction, "after", 5, "1", 1, &error);
  answer("put after the commit");
  rocksdb_transaction_commit(transaction, &error);
  answer("commit again");
  rocksdb_transaction_destroy(transaction);
  rocksdb_optimistictransactiondb_write(db, write_options, batch, &error);
  answer("write");
  rocksdb_writebatch_destroy(batch);
  uint64_t number = 77;
  printf("%d", rocksdb_optimistictransactiondb_property_int(db, "rocksdb.estimate-num-keys", &number));
  printf(" %d\n", (int)number);
  char* text = rocksdb_optimistictransactiondb_property_value(db, "rocksdb.num-files-at-level0");
  printf("%s\n", text ? text : "(none)");
  rocksdb_free(text);
  rocksdb_checkpoint_t* checkpoint = rocksdb_optimistictransactiondb_checkpoint_object_create(db, &error);
  answer("checkpoint");
  char target[1100];
  snprintf(target, sizeof target, "%s/optimistic-copy", directory);
  rocksdb_destroy_db(options, target, &error);
  rocksdb_free(error), error = NULL;
  rocksdb_checkpoint_create(checkpoint, target, 0, &error);
  answer("create");
  rocksdb_checkpoint_object_destroy(checkpoint);
  rocksdb_t* base = rocksdb_optimistictransactiondb_get_base_db(db);
  rocksdb_iterator_t* iterator = rocksdb_create_iterator(base, read_options);
  print_all("at the end", iterator);
  rocksdb_iter_destroy(iterator);
  rocksdb_optimistictransactiondb_close_base_db(base);
  rocksdb_optimistictransaction_options_destroy(own);
  rocksdb_optimistictransactiondb_close(db);
  rocksdb_options_destroy(options);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  mkdir(argv[1], 0755);
  write_options = rocksdb_writeoptions_create();
  read_options = rocksdb_readoptions_create();
  batches(argv[1]);
  transactions(argv[1]);
  optimistic(argv[1]);
  rocksdb_writeoptions_destroy(write_options);
  rocksdb_readoptions_destroy(read_options);
  return 0;
}
