/* What listeners, loggers and filters get: the details of a compaction with blob files, the levels of the lines of the info log,
 * the level of a manual compaction with a compaction filter factory; and small answers of batches, transactions and reads.
 *
 *   details DIRECTORY     prints the answers */
#include <rocksdb/c.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char* error = NULL;
static char path[1024];
static rocksdb_writeoptions_t* write_options;
static rocksdb_readoptions_t* read_options;

static void answer(const char* what) {
  printf("%s: %.*s\n", what, error == NULL ? 2 : (int)strcspn(error, ":"), error == NULL ? "ok" : error);
  rocksdb_free(error);
  error = NULL;
}

static rocksdb_t* open_new(const char* directory, const char* name, rocksdb_options_t* options) {
  snprintf(path, sizeof path, "%s/%s", directory, name);
  rocksdb_destroy_db(options, path, &error);
  rocksdb_free(error);
  error = NULL;
  rocksdb_t* db = rocksdb_open(options, path, &error);
  answer(name);
  return db;
}

static void put(rocksdb_t* db, const char* key, const char* value) {
  rocksdb_put(db, write_options, key, strlen(key), value, strlen(value), &error);
}

static void flush(rocksdb_t* db) {
  rocksdb_flushoptions_t* options = rocksdb_flushoptions_create();
  rocksdb_flush(db, options, &error);
  rocksdb_flushoptions_destroy(options);
  answer("flush");
}

static void destroyed(void* state) { (void)state; }

static void flush_begins(void* state, rocksdb_t* db, const rocksdb_flushjobinfo_t* info) {
  (void)state, (void)db;
  printf("flush begins: properties %d, entries %d, smallest sequence number %llx\n",
         rocksdb_flushjobinfo_table_properties(info) != NULL,
         (int)rocksdb_table_properties_num_entries(rocksdb_flushjobinfo_table_properties(info)),
         (unsigned long long)rocksdb_flushjobinfo_smallest_seqno(info));
}

static void compaction_begins(void* state, rocksdb_t* db, const rocksdb_compactionjobinfo_t* info) {
  (void)state, (void)db;
  const rocksdb_compaction_job_stats_t* stats = rocksdb_compactionjobinfo_stats(info);
  printf("compaction begins: properties of %d files, full %d, accurate %d\n",
         (int)rocksdb_compactionjobinfo_table_properties_count(info),
         rocksdb_compaction_job_stats_is_full_compaction(stats),
         rocksdb_compaction_job_stats_has_accurate_num_input_records(stats));
}

static void compaction_ends(void* state, rocksdb_t* db, const rocksdb_compactionjobinfo_t* info) {
  (void)state, (void)db;
  const rocksdb_compaction_job_stats_t* stats = rocksdb_compactionjobinfo_stats(info);
  size_t small, large;
  const char* smallest = rocksdb_compaction_job_stats_smallest_output_key_prefix(stats, &small);
  const char* largest = rocksdb_compaction_job_stats_largest_output_key_prefix(stats, &large);
  printf("compaction ends: full %d, manual %d, replaced %d, keys from %.*s to %.*s\n",
         rocksdb_compaction_job_stats_is_full_compaction(stats),
         rocksdb_compaction_job_stats_is_manual_compaction(stats),
         (int)rocksdb_compaction_job_stats_num_records_replaced(stats), (int)small, smallest, (int)large, largest);
  size_t files = rocksdb_compactionjobinfo_blob_file_garbage_infos_count(info), blobs = 0, paths = 0;
  unsigned long long bytes = 0;
  for (size_t at = 0; at < files; at++) {
    const rocksdb_blob_file_garbage_info_t* garbage = rocksdb_compactionjobinfo_blob_file_garbage_info_at(info, at);
    size_t length;
    const char* name = rocksdb_blob_file_garbage_info_blob_file_path(garbage, &length);
    char expected[64];
    snprintf(expected, sizeof expected, "%06llu.blob",
             (unsigned long long)rocksdb_blob_file_garbage_info_blob_file_number(garbage));
    paths += length > strlen(expected) && memcmp(name + length - strlen(expected), expected, strlen(expected)) == 0;
    blobs += rocksdb_blob_file_garbage_info_garbage_blob_count(garbage);
    bytes += rocksdb_blob_file_garbage_info_garbage_blob_bytes(garbage);
  }
  printf("compaction ends: garbage in %d files, right paths %d, values %d, bytes %llu\n", (int)files, (int)paths,
         (int)blobs, bytes);
}

static void part_ends(void* state, const rocksdb_subcompactionjobinfo_t* info) {
  (void)state;
  const rocksdb_compaction_job_stats_t* stats = rocksdb_subcompactionjobinfo_stats(info);
  printf("subcompaction ends: replaced %d, manual %d\n",
         (int)rocksdb_compaction_job_stats_num_records_replaced(stats),
         rocksdb_compaction_job_stats_is_manual_compaction(stats));
}

static void flush_ends(void* state, rocksdb_t* db, const rocksdb_flushjobinfo_t* info) {
  (void)state, (void)db, (void)info;
}

static void part_begins(void* state, const rocksdb_subcompactionjobinfo_t* info) { (void)state, (void)info; }

static void ingested(void* state, rocksdb_t* db, const rocksdb_externalfileingestioninfo_t* info) {
  (void)state, (void)db, (void)info;
}

static void failed(void* state, uint32_t reason, rocksdb_status_ptr_t* status) {
  (void)state, (void)reason, (void)status;
}

static void stalled(void* state, const rocksdb_writestallinfo_t* info) { (void)state, (void)info; }

static void sealed(void* state, const rocksdb_memtableinfo_t* info) { (void)state, (void)info; }

static void compaction_with_blobs(const char* directory) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_disable_auto_compactions(options, 1);
  rocksdb_options_set_enable_blob_files(options, 1);
  rocksdb_options_set_min_blob_size(options, 10);
  rocksdb_options_set_enable_blob_gc(options, 1);
  rocksdb_options_set_blob_gc_age_cutoff(options, 0.5);
  rocksdb_options_add_eventlistener(
      options, rocksdb_eventlistener_create(NULL, destroyed, flush_begins, flush_ends, compaction_begins, compaction_ends,
                                            part_begins, part_ends, ingested, failed, stalled, sealed));
  rocksdb_t* db = open_new(directory, "blobs", options);
  char key[32], value[64];
  for (int round = 0; round < 2; round++) {
    for (int at = 0; at < 20; at++) {
      snprintf(key, sizeof key, "a long key %02d", at);
      snprintf(value, sizeof value, "a value of a blob file %d %d", round, at);
      if (round == 0 || at % 2 == 0) put(db, key, value);
    }
    flush(db);
  }
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

static unsigned char filter_key(void* state, int level, const char* key, size_t key_len, const char* value,
                                size_t value_len, char** new_value, size_t* new_len, unsigned char* changed) {
  (void)state, (void)value, (void)value_len, (void)new_value, (void)new_len, (void)changed;
  printf("filter: level %d, key %.*s\n", level, (int)key_len, key);
  return 0;
}

static const char* name(void* state) {
  (void)state;
  return "details";
}

static rocksdb_compactionfilter_t* make_filter(void* state, rocksdb_compactionfiltercontext_t* context) {
  (void)state, (void)context;
  return rocksdb_compactionfilter_create(NULL, destroyed, filter_key, name);
}

static void manual_compaction_with_a_filter(const char* directory) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_compaction_filter_factory(
      options, rocksdb_compactionfilterfactory_create(NULL, destroyed, make_filter, name));
  rocksdb_t* db = open_new(directory, "filter", options);
  put(db, "a", "1"), put(db, "b", "2");
  flush(db);
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

struct lines {
  int headers, level_of_headers, above_fatal;
};

static void line(void* state, unsigned level, char* text, size_t length) {
  (void)length;
  struct lines* lines = state;
  if (strstr(text, "Options.create_if_missing: 1") != NULL) {
    lines->headers++;
    lines->level_of_headers = (int)level;
  }
  if (level > 4) lines->above_fatal++;
}

static void levels_of_lines(const char* directory) {
  struct lines lines = {0, -1, 0};
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_logger_t* logger = rocksdb_logger_create_callback_logger(2, line, &lines);
  rocksdb_options_set_info_log(options, logger);
  rocksdb_logger_destroy(logger);
  rocksdb_t* db = open_new(directory, "log", options);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  printf("lines of the header: %d, of level %d; above the level FATAL: %d\n", lines.headers, lines.level_of_headers,
         lines.above_fatal);
}

static void visit_put(void* state, const char* key, size_t key_len, const char* value, size_t value_len) {
  (void)state;
  printf("put %.*s %.*s\n", (int)key_len, key, (int)value_len, value);
}

static void visit_deletion(void* state, const char* key, size_t key_len) {
  (void)state;
  printf("deletion %.*s\n", (int)key_len, key);
}

static void batches_that_do_not_decode(void) {
  static const char wrong_count[] = "\0\0\0\0\0\0\0\0\5\0\0\0\1\1a\1b\0\1c";
  static const char cut[] = "\0\0\0\0\0\0\0\0\2\0\0\0\1\1a\1b\1\1c";
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create_from(wrong_count, sizeof wrong_count - 1);
  printf("wrong count: %d\n", rocksdb_writebatch_count(batch));
  rocksdb_writebatch_iterate(batch, NULL, visit_put, visit_deletion);
  rocksdb_writebatch_destroy(batch);
  batch = rocksdb_writebatch_create_from(cut, sizeof cut - 1);
  printf("cut: %d\n", rocksdb_writebatch_count(batch));
  rocksdb_writebatch_iterate(batch, NULL, visit_put, visit_deletion);
  rocksdb_writebatch_destroy(batch);
}

static void transaction_without_a_snapshot(const char* directory) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_transactiondb_options_t* db_options = rocksdb_transactiondb_options_create();
  rocksdb_transaction_options_t* own = rocksdb_transaction_options_create();
  snprintf(path, sizeof path, "%s/transactions", directory);
  rocksdb_destroy_db(options, path, &error);
  rocksdb_free(error);
  error = NULL;
  rocksdb_transactiondb_t* db = rocksdb_transactiondb_open(options, db_options, path, &error);
  answer("transactions");
  rocksdb_transactiondb_put(db, write_options, "a", 1, "1", 1, &error);
  rocksdb_transaction_t* transaction = rocksdb_transaction_begin(db, write_options, own, NULL);
  const rocksdb_snapshot_t* snapshot = rocksdb_transaction_get_snapshot(transaction);
  printf("handle of no snapshot: %d\n", snapshot != NULL);
  rocksdb_readoptions_set_snapshot(read_options, snapshot);
  size_t length = 0;
  char* value = rocksdb_transaction_get(transaction, read_options, "a", 1, &length, &error);
  printf("a = %.*s\n", (int)length, value == NULL ? "" : value);
  rocksdb_free(value);
  rocksdb_readoptions_set_snapshot(read_options, NULL);
  rocksdb_free((void*)snapshot);
  rocksdb_transaction_destroy(transaction);
  rocksdb_transactiondb_close(db);
  rocksdb_transaction_options_destroy(own);
  rocksdb_transactiondb_options_destroy(db_options);
  rocksdb_options_destroy(options);
}

/* The limit of the bytes of values in a read of two column families. */
static void limited_reads(const char* directory) {
  enum { COUNT = 4 };
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_t* db = open_new(directory, "limited", options);
  rocksdb_column_family_handle_t* first = rocksdb_get_default_column_family_handle(db);
  rocksdb_column_family_handle_t* other = rocksdb_create_column_family(db, options, "other", &error);
  answer("create");
  for (const char* key = "abc"; *key != 0; key++) {
    rocksdb_put_cf(db, write_options, first, key, 1, "1234", 4, &error);
    rocksdb_put_cf(db, write_options, other, key, 1, "5678", 4, &error);
  }
  answer("puts");
  const rocksdb_column_family_handle_t* families[COUNT] = {other, first, first, other};
  const char* keys[COUNT] = {"a", "c", "a", "b"};
  const size_t lengths[COUNT] = {1, 1, 1, 1};
  for (uint64_t limit = 3; limit <= 8; limit++) {
    char *values[COUNT], *errors[COUNT];
    size_t found[COUNT];
    rocksdb_readoptions_set_value_size_soft_limit(read_options, limit);
    rocksdb_multi_get_cf(db, read_options, families, COUNT, keys, lengths, values, found, errors);
    printf("limit %d:", (int)limit);
    for (int i = 0; i < COUNT; i++) {
      const char* text = errors[i] != NULL ? errors[i] : values[i];
      printf(" [%.*s]", errors[i] != NULL ? (int)strcspn(text, ":") : (int)found[i], text);
      rocksdb_free(values[i]);
      rocksdb_free(errors[i]);
    }
    printf("\n");
  }
  rocksdb_readoptions_set_value_size_soft_limit(read_options, UINT64_MAX);
  rocksdb_column_family_handle_destroy(other);
  rocksdb_column_family_handle_destroy(first);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  mkdir(argv[1], 0755);
  write_options = rocksdb_writeoptions_create();
  read_options = rocksdb_readoptions_create();
  printf("I/O activity: %d %d\n", rocksdb_readoptions_get_io_activity(read_options),
         rocksdb_writeoptions_get_io_activity(write_options));
  compaction_with_blobs(argv[1]);
  manual_compaction_with_a_filter(argv[1]);
  levels_of_lines(argv[1]);
  batches_that_do_not_decode();
  transaction_without_a_snapshot(argv[1]);
  limited_reads(argv[1]);
  rocksdb_writeoptions_destroy(write_options);
  rocksdb_readoptions_destroy(read_options);
  return 0;
}
