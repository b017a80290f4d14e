/* Bad input: each call gives an error or a documented neutral answer, and the database goes on.
 *
 *   bad_input DIRECTORY      prints PASS; the first broken rule ends the program with its line. */
#include <rocksdb/c.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static char* error = NULL;
static rocksdb_writeoptions_t* writing;
static rocksdb_readoptions_t* reading;

static void broken(int line, const char* what) {
  fprintf(stderr, "bad_input.c:%d: %s\n", line, what);
  exit(1);
}

#define CHECK(condition) \
  if (!(condition)) broken(__LINE__, #condition)

/* The call before this macro set no error. */
#define OK() \
  if (error != NULL) broken(__LINE__, error)

/* The call before this macro set an error that contains the text. */
#define REFUSED(text)                                           \
  do {                                                          \
    if (error == NULL) broken(__LINE__, "no error: " text);     \
    if (strstr(error, text) == NULL) broken(__LINE__, error);   \
    rocksdb_free(error);                                        \
    error = NULL;                                               \
  } while (0)

static rocksdb_options_t* new_options(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  return options;
}

static rocksdb_t* opened(rocksdb_options_t* options, const char* directory, const char* name) {
  char path[4096];
  snprintf(path, sizeof path, "%s-%s", directory, name);
  rocksdb_t* db = rocksdb_open(options, path, &error);
  OK();
  return db;
}

static void still_works(rocksdb_t* db) {
  size_t len = 0;
  rocksdb_put(db, writing, "alive", 5, "yes", 3, &error);
  OK();
  char* value = rocksdb_get(db, reading, "alive", 5, &len, &error);
  OK();
  CHECK(value != NULL && len == 3 && memcmp(value, "yes", 3) == 0);
  rocksdb_free(value);
}

static void null_handles(rocksdb_t* db) {
  size_t len = 7;
  rocksdb_put(NULL, writing, "k", 1, "v", 1, &error);
  REFUSED("rocksdb_put: the argument db is null");
  rocksdb_put(db, NULL, "k", 1, "v", 1, &error);
  REFUSED("the argument options is null");
  CHECK(rocksdb_get(NULL, reading, "k", 1, &len, &error) == NULL);
  REFUSED("null");
  rocksdb_put_cf(db, writing, NULL, "k", 1, "v", 1, &error);
  REFUSED("null");
  rocksdb_write(db, writing, NULL, &error);
  REFUSED("null");
  CHECK(rocksdb_create_iterator(NULL, reading) == NULL);
  CHECK(rocksdb_iter_valid(NULL) == 0);
  rocksdb_iter_seek_to_first(NULL);
  rocksdb_iter_next(NULL);
  CHECK(rocksdb_iter_key(NULL, &len) == NULL);
  CHECK(rocksdb_property_value(NULL, "rocksdb.stats") == NULL);
  CHECK(rocksdb_property_value(db, NULL) == NULL);
  CHECK(rocksdb_create_snapshot(NULL) == NULL);
  rocksdb_compact_range(NULL, NULL, 0, NULL, 0);
  rocksdb_options_set_write_buffer_size(NULL, 1);
  CHECK(rocksdb_options_get_write_buffer_size(NULL) == 0);
  CHECK(rocksdb_open(NULL, "x", &error) == NULL);
  REFUSED("null");
  CHECK(rocksdb_transaction_begin(NULL, NULL, NULL, NULL) == NULL);
  rocksdb_transaction_commit(NULL, &error);
  REFUSED("null");
  /* All ends accept null. */
  rocksdb_close(NULL);
  rocksdb_iter_destroy(NULL);
  rocksdb_options_destroy(NULL);
  rocksdb_writebatch_destroy(NULL);
  rocksdb_column_family_handle_destroy(NULL);
  rocksdb_cache_destroy(NULL);
  rocksdb_transaction_destroy(NULL);
  rocksdb_transactiondb_close(NULL);
  rocksdb_release_snapshot(NULL, NULL);
  rocksdb_release_snapshot(db, NULL);
  rocksdb_comparator_destroy(NULL);
  rocksdb_pinnableslice_destroy(NULL);
  rocksdb_free(NULL);
  /* No place for the error: the error is dropped. */
  rocksdb_put(NULL, NULL, NULL, 1, NULL, 1, NULL);
  still_works(db);
}

static void lengths(rocksdb_t* db) {
  size_t len = 7;
  rocksdb_put(db, writing, "", 0, "", 0, &error);
  OK();
  char* value = rocksdb_get(db, reading, NULL, 0, &len, &error);
  OK();
  CHECK(value != NULL && len == 0);
  rocksdb_free(value);
  rocksdb_put(db, writing, NULL, 3, "v", 1, &error);
  REFUSED("null pointer");
  rocksdb_put(db, writing, "k", 1, NULL, 3, &error);
  REFUSED("null pointer");
  rocksdb_put(db, writing, "k", (size_t)-1, "v", 1, &error);
  REFUSED("above the address space");
  CHECK(rocksdb_get(db, reading, "k", (size_t)-1, &len, &error) == NULL);
  REFUSED("above the address space");

  /* Five GiB that exist, so that the length is true. Nothing reads them. */
  size_t huge = (size_t)5 << 30;
  char* memory = mmap(NULL, huge, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(memory != MAP_FAILED);
  rocksdb_put(db, writing, memory, huge, "v", 1, &error);
  REFUSED("Invalid argument: key is too large");
  rocksdb_put(db, writing, "k", 1, memory, huge, &error);
  REFUSED("Invalid argument: value is too large");
  rocksdb_merge(db, writing, "k", 1, memory, huge, &error);
  REFUSED("");
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put(batch, "before", 6, "v", 1);
  rocksdb_writebatch_put(batch, memory, huge, "v", 1);
  CHECK(rocksdb_writebatch_count(batch) == 1);
  rocksdb_writebatch_destroy(batch);
  munmap(memory, huge);

  /* A batch from bytes that are no batch. */
  batch = rocksdb_writebatch_create_from("damaged", 7);
  rocksdb_write(db, writing, batch, &error);
  REFUSED("");
  rocksdb_writebatch_destroy(batch);
  batch = rocksdb_writebatch_create();
  rocksdb_writebatch_pop_save_point(batch, &error);
  REFUSED("");
  rocksdb_writebatch_rollback_to_save_point(batch, &error);
  REFUSED("");
  rocksdb_writebatch_destroy(batch);
  still_works(db);
}

static void foreign_families(rocksdb_options_t* options, rocksdb_t* db, const char* directory) {
  size_t len = 0;
  rocksdb_t* other = opened(options, directory, "other");
  rocksdb_column_family_handle_t* family = rocksdb_create_column_family(other, options, "users", &error);
  OK();
  rocksdb_put_cf(db, writing, family, "k", 1, "v", 1, &error);
  REFUSED("another database");
  CHECK(rocksdb_get_cf(db, reading, family, "k", 1, &len, &error) == NULL);
  REFUSED("another database");
  rocksdb_flushoptions_t* flushing = rocksdb_flushoptions_create();
  rocksdb_flush_cf(db, flushing, family, &error);
  REFUSED("another database");
  rocksdb_flushoptions_destroy(flushing);
  rocksdb_drop_column_family(db, family, &error);
  REFUSED("another database");
  CHECK(rocksdb_property_value_cf(db, family, "rocksdb.stats") == NULL);
  rocksdb_close(other);
  rocksdb_put_cf(db, writing, family, "k", 1, "v", 1, &error);
  REFUSED("");
  rocksdb_column_family_handle_destroy(family);
  still_works(db);
}

static void option_texts(rocksdb_options_t* options, rocksdb_t* db, const char* directory) {
  rocksdb_options_t* read = rocksdb_options_create();
  const char* texts[] = {"no_such_option=1", "write_buffer_size=many", "write_buffer_size", "{", "=;=;", "max_open_files=1=2"};
  for (size_t at = 0; at < sizeof texts / sizeof texts[0]; at++) {
    rocksdb_get_options_from_string(options, texts[at], read, &error);
    REFUSED("Invalid argument");
  }
  rocksdb_get_options_from_string(options, NULL, read, &error);
  REFUSED("null");
  rocksdb_options_destroy(read);
  const char *names[] = {"write_buffer_size", "no_such_option"}, *values[] = {"1048576", "1"};
  rocksdb_set_options(db, 2, names, values, &error);
  REFUSED("Invalid argument");
  rocksdb_set_options(db, -1, names, values, &error);
  REFUSED("negative");
  rocksdb_set_options(db, 2, NULL, NULL, &error);
  REFUSED("null");
  CHECK(rocksdb_property_value(db, "rocksdb.no-such-property") == NULL);

  /* Options that exclude each other. */
  rocksdb_options_t* both = new_options();
  rocksdb_options_set_unordered_write(both, 1);
  rocksdb_options_set_allow_concurrent_memtable_write(both, 0);
  CHECK(rocksdb_open(both, directory, &error) == NULL);
  REFUSED("Invalid argument");
  rocksdb_options_destroy(both);
  both = new_options();
  rocksdb_options_set_inplace_update_support(both, 1);
  CHECK(rocksdb_open(both, directory, &error) == NULL);
  REFUSED("");
  rocksdb_options_destroy(both);
  CHECK(rocksdb_open(options, "", &error) == NULL);
  REFUSED("");
  still_works(db);
}

/* Callbacks that break their contract. */
static const char* no_name(void* state) { return (void)state, NULL; }
static const char* name(void* state) { return (void)state, "bad"; }
static void nothing(void* state) { (void)state; }
static int answer;

static char* bad_merge(void* state, const char* key, size_t key_len, const char* existing, size_t existing_len,
                       const char* const* operands, const size_t* lens, int count, unsigned char* success, size_t* len) {
  (void)state, (void)key, (void)key_len, (void)existing, (void)existing_len, (void)operands, (void)lens, (void)count;
  *success = (unsigned char)(answer != 0);
  *len = answer == 1 ? 12345 : (size_t)-1;
  return answer == 2 ? malloc(1) : NULL;
}

static char* no_partial_merge(void* state, const char* key, size_t key_len, const char* const* operands, const size_t* lens,
                              int count, unsigned char* success, size_t* len) {
  (void)state, (void)key, (void)key_len, (void)operands, (void)lens, (void)count;
  *success = 0;
  *len = 99;
  return NULL;
}

static unsigned char bad_filter(void* state, int level, const char* key, size_t key_len, const char* value, size_t value_len,
                                char** new_value, size_t* new_len, unsigned char* changed) {
  (void)state, (void)level, (void)key, (void)key_len, (void)value, (void)value_len;
  *changed = 1;
  *new_value = NULL;
  *new_len = 77;
  return 0;
}

static char* bad_transform(void* state, const char* key, size_t len, size_t* out) {
  (void)state, (void)key, (void)len;
  *out = 1000;
  return NULL;
}

static unsigned char always(void* state, const char* key, size_t len) { return (void)state, (void)key, (void)len, 1; }

static void callbacks(const char* directory) {
  size_t len = 0;
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_merge_operator(options, rocksdb_mergeoperator_create(NULL, nothing, bad_merge, no_partial_merge, NULL, name));
  rocksdb_t* db = opened(options, directory, "merge");
  rocksdb_merge(db, writing, "k", 1, "operand", 7, &error);
  OK();
  for (answer = 0; answer < 3; answer++) {
    CHECK(rocksdb_get(db, reading, "k", 1, &len, &error) == NULL);
    REFUSED("");
  }
  rocksdb_iterator_t* iter = rocksdb_create_iterator(db, reading);
  answer = 1;
  rocksdb_iter_seek_to_first(iter);
  CHECK(!rocksdb_iter_valid(iter));
  rocksdb_iter_get_error(iter, &error);
  REFUSED("");
  rocksdb_iter_destroy(iter);
  still_works(db);
  rocksdb_close(db);
  rocksdb_options_destroy(options);

  /* Without its functions there is no merge operator. */
  options = new_options();
  rocksdb_options_set_merge_operator(options, rocksdb_mergeoperator_create(NULL, NULL, NULL, NULL, NULL, NULL));
  db = opened(options, directory, "none");
  rocksdb_merge(db, writing, "k", 1, "operand", 7, &error);
  REFUSED("Provide a merge_operator");
  still_works(db);
  rocksdb_close(db);
  rocksdb_options_destroy(options);

  options = new_options();
  rocksdb_compactionfilter_t* filter = rocksdb_compactionfilter_create(NULL, nothing, bad_filter, no_name);
  rocksdb_options_set_compaction_filter(options, filter);
  db = opened(options, directory, "filter");
  still_works(db);
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  rocksdb_free(rocksdb_get(db, reading, "alive", 5, &len, &error));
  OK();
  still_works(db);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_compactionfilter_destroy(filter);

  options = new_options();
  rocksdb_options_set_prefix_extractor(options, rocksdb_slicetransform_create(NULL, nothing, bad_transform, always, name));
  db = opened(options, directory, "prefix");
  still_works(db);
  iter = rocksdb_create_iterator(db, reading);
  rocksdb_iter_seek(iter, "alive", 5);
  rocksdb_iter_destroy(iter);
  rocksdb_close(db);
  rocksdb_options_destroy(options);

  options = new_options();
  rocksdb_comparator_t* comparator = rocksdb_comparator_create(NULL, NULL, NULL, no_name);
  rocksdb_options_set_comparator(options, comparator);
  char path[4096];
  snprintf(path, sizeof path, "%s-order", directory);
  db = rocksdb_open(options, path, &error);
  if (db == NULL) REFUSED("");
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_comparator_destroy(comparator);
}

/* Ends five handles of one database in the order of a permutation. */
static void closing(rocksdb_options_t* options, const char* directory) {
  char path[4096];
  snprintf(path, sizeof path, "%s-orders", directory);
  for (int order = 0; order < 120; order++) {
    rocksdb_t* db = rocksdb_open(options, path, &error);
    OK();
    rocksdb_put(db, writing, "k", 1, "v", 1, &error);
    OK();
    rocksdb_readoptions_t* own = rocksdb_readoptions_create();
    rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
    rocksdb_iterator_t* iter = rocksdb_create_iterator_cf(db, own, family);
    rocksdb_iter_seek_to_first(iter);
    CHECK(rocksdb_iter_valid(iter));
    rocksdb_pinnableslice_t* slice = rocksdb_get_pinned(db, own, "k", 1, &error);
    OK();
    int left[5] = {0, 1, 2, 3, 4}, count = 5, number = order;
    while (count > 0) {
      int at = number % count, what = left[at];
      number /= count;
      left[at] = left[--count];
      if (what == 0) rocksdb_close(db);
      if (what == 1) rocksdb_iter_next(iter), rocksdb_iter_seek(iter, "k", 1), rocksdb_iter_destroy(iter);
      if (what == 2) rocksdb_readoptions_destroy(own);
      if (what == 3) {
        size_t len = 0;
        const char* value = rocksdb_pinnableslice_value(slice, &len);
        CHECK(len == 1 && value[0] == 'v');
        rocksdb_pinnableslice_destroy(slice);
      }
      if (what == 4) rocksdb_column_family_handle_destroy(family);
    }
  }
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  writing = rocksdb_writeoptions_create();
  reading = rocksdb_readoptions_create();
  rocksdb_options_t* options = new_options();
  rocksdb_t* db = opened(options, argv[1], "main");
  null_handles(db);
  lengths(db);
  foreign_families(options, db, argv[1]);
  option_texts(options, db, argv[1]);
  callbacks(argv[1]);
  closing(options, argv[1]);
  still_works(db);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_writeoptions_destroy(writing);
  rocksdb_readoptions_destroy(reading);
  printf("PASS\n");
  return 0;
}
