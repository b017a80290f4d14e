/* Secondary instances and opens for reading of a database with column families of other comparators, and column families that the
 * primary instance drops.
 *
 *   secondary DIRECTORY      prints the same lines on this library and on RocksDB. */
#include <rocksdb/c.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char* error = NULL;
static rocksdb_writeoptions_t* writing;
static rocksdb_readoptions_t* reading;

static void answer(const char* what) {
  printf("%s: %s\n", what, error == NULL ? "ok" : error);
  rocksdb_free(error);
  error = NULL;
}

static void put(rocksdb_t* db, rocksdb_column_family_handle_t* family, const char* key, const char* value) {
  if (family == NULL) {
    rocksdb_put(db, writing, key, strlen(key), value, strlen(value), &error);
  } else {
    rocksdb_put_cf(db, writing, family, key, strlen(key), value, strlen(value), &error);
  }
  if (error != NULL) answer("put");
}

static void show(const char* what, rocksdb_t* db, rocksdb_column_family_handle_t* family, const char* key) {
  size_t len = 0;
  char* value = family == NULL ? rocksdb_get(db, reading, key, strlen(key), &len, &error)
                               : rocksdb_get_cf(db, reading, family, key, strlen(key), &len, &error);
  if (error != NULL) {
    answer(what);
  } else {
    printf("%s %s: %.*s\n", what, key, value == NULL ? 4 : (int)len, value == NULL ? "none" : value);
  }
  rocksdb_free(value);
}

static void nothing(void* state) { (void)state; }
static const char* name(void* state) { return (void)state, "test.backwards"; }

static int backwards(void* state, const char* a, size_t a_len, const char* b, size_t b_len) {
  (void)state;
  size_t len = a_len < b_len ? a_len : b_len;
  int order = len == 0 ? 0 : memcmp(b, a, len);
  return order != 0 ? order : a_len < b_len ? 1 : -(a_len > b_len);
}

static void show_iterator(const char* what, rocksdb_iterator_t* iterator) {
  printf("%s:", what);
  for (rocksdb_iter_seek_to_first(iterator); rocksdb_iter_valid(iterator); rocksdb_iter_next(iterator)) {
    size_t len = 0;
    const char* key = rocksdb_iter_key(iterator, &len);
    printf(" %.*s", (int)len, key);
  }
  printf("\n");
}

/* An open without a list of column families opens the default column family only. */
static void default_only(rocksdb_options_t* options, const char* directory) {
  char path[4096], own[4096];
  snprintf(path, sizeof path, "%s-many", directory);
  rocksdb_options_t* other = rocksdb_options_create();
  rocksdb_comparator_t* order = rocksdb_comparator_create(NULL, nothing, backwards, name);
  rocksdb_options_set_comparator(other, order);
  rocksdb_options_t* adding = rocksdb_options_create();
  rocksdb_options_set_uint64add_merge_operator(adding);
  const char* names[] = {"default", "backwards", "adding"};
  const rocksdb_options_t* each[] = {options, other, adding};
  rocksdb_column_family_handle_t* handles[3];
  rocksdb_destroy_db(options, path, &error);
  rocksdb_free(error);
  error = NULL;
  rocksdb_t* db = rocksdb_open_column_families(options, path, 3, names, each, handles, &error);
  answer("open");
  put(db, NULL, "a", "1");
  put(db, handles[1], "a", "1");
  put(db, handles[1], "b", "1");
  for (int round = 0; round < 2; round++) {
    rocksdb_merge_cf(db, writing, handles[2], "m", 1, "\1\0\0\0\0\0\0\0", 8, &error);
    answer("merge");
    snprintf(own, sizeof own, "%s-own%d", directory, round);
    rocksdb_t* secondary = rocksdb_open_as_secondary(options, path, own, &error);
    answer("secondary");
    if (secondary != NULL) {
      show("secondary", secondary, NULL, "a");
      put(db, NULL, "a", "2");
      rocksdb_merge_cf(db, writing, handles[2], "m", 1, "\1\0\0\0\0\0\0\0", 8, &error);
      rocksdb_column_family_handle_t* added =
          rocksdb_create_column_family(db, other, round == 0 ? "third" : "fourth", &error);
      answer("create");
      put(db, added, "x", "y");
      put(db, NULL, "a", "3");
      rocksdb_column_family_handle_destroy(added);
      rocksdb_try_catch_up_with_primary(secondary, &error);
      answer("catch up");
      show("secondary", secondary, NULL, "a");
      rocksdb_close(secondary);
    }
    rocksdb_t* reader = rocksdb_open_for_read_only(options, path, 0, &error);
    answer("for reading");
    if (reader != NULL) {
      show("for reading", reader, NULL, "a");
      rocksdb_close(reader);
    }
    rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
    for (int at = 0; at < 3; at++) rocksdb_flush_cf(db, flush, handles[at], &error);
    answer("flush");
    rocksdb_flushoptions_destroy(flush);
  }
  for (int at = 0; at < 3; at++) rocksdb_column_family_handle_destroy(handles[at]);
  rocksdb_close(db);
  rocksdb_options_destroy(adding);
  rocksdb_options_destroy(other);
  rocksdb_comparator_destroy(order);
}

/* A drop of a column family in the primary instance does not stop the catch-ups, and the old entries stay readable. */
static void dropped(rocksdb_options_t* options, const char* directory) {
  char path[4096], own[4096];
  snprintf(path, sizeof path, "%s-dropped", directory);
  snprintf(own, sizeof own, "%s-dropped-own", directory);
  const char* names[] = {"default", "two"};
  const rocksdb_options_t* each[] = {options, options};
  rocksdb_column_family_handle_t *handles[2], *followed[2];
  rocksdb_destroy_db(options, path, &error);
  rocksdb_free(error);
  error = NULL;
  rocksdb_t* db = rocksdb_open_column_families(options, path, 2, names, each, handles, &error);
  answer("open");
  put(db, NULL, "a", "1");
  put(db, handles[1], "b", "2");
  rocksdb_t* secondary =
      rocksdb_open_as_secondary_column_families(options, path, own, 2, names, each, followed, &error);
  answer("secondary");
  rocksdb_iterator_t* of_default = rocksdb_create_iterator_cf(secondary, reading, followed[0]);
  rocksdb_iterator_t* of_two = rocksdb_create_iterator_cf(secondary, reading, followed[1]);
  rocksdb_drop_column_family(db, handles[1], &error);
  answer("drop");
  for (int round = 0; round < 3; round++) {
    char value[8];
    snprintf(value, sizeof value, "v%d", round);
    put(db, NULL, value, value);
    put(db, NULL, "a", value);
    rocksdb_try_catch_up_with_primary(secondary, &error);
    answer("catch up");
    show("default", secondary, NULL, "a");
    show("default", secondary, followed[0], "a");
    show("two", secondary, followed[1], "b");
  }
  show_iterator("default", of_default);
  rocksdb_iter_refresh(of_default, &error);
  answer("refresh");
  show_iterator("default", of_default);
  show_iterator("two", of_two);
  rocksdb_iter_refresh(of_two, &error);
  answer("refresh");
  show_iterator("two", of_two);
  rocksdb_iter_destroy(of_default);
  rocksdb_iter_destroy(of_two);
  for (int at = 0; at < 2; at++) {
    rocksdb_column_family_handle_destroy(followed[at]);
    rocksdb_column_family_handle_destroy(handles[at]);
  }
  rocksdb_close(secondary);
  rocksdb_close(db);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  writing = rocksdb_writeoptions_create();
  reading = rocksdb_readoptions_create();
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_create_missing_column_families(options, 1);
  rocksdb_options_set_max_open_files(options, -1);
  default_only(options, argv[1]);
  dropped(options, argv[1]);
  rocksdb_options_destroy(options);
  rocksdb_readoptions_destroy(reading);
  rocksdb_writeoptions_destroy(writing);
  return 0;
}
