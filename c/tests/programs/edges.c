/* Answers at the edges of calls, on which programs rely without a word in the header: the value of a key that does not exist,
 * calls after the end of background work, extra calls that enable manual compactions, the description of an export, and the
 * texts of conflicts of transactions.
 *
 *   edges DIRECTORY     prints the answers */
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

/* Prints the code of a status: the text before the first colon. */
static void answer(const char* what) {
  printf("%s: %.*s\n", what, error == NULL ? 2 : (int)strcspn(error, ":"), error == NULL ? "ok" : error);
  rocksdb_free(error);
  error = NULL;
}

static rocksdb_t* open_new(const char* directory, const char* name, rocksdb_options_t* options) {
  snprintf(path, sizeof path, "%s/%s", directory, name);
  rocksdb_destroy_db(options, path, &error);
  rocksdb_t* db = rocksdb_open(options, path, &error);
  answer(name);
  return db;
}

static void put(rocksdb_t* db, const char* key, const char* value) {
  rocksdb_put(db, write_options, key, strlen(key), value, strlen(value), &error);
}

static void get(rocksdb_t* db, const char* key) {
  size_t length = 0;
  char* value = rocksdb_get(db, read_options, key, strlen(key), &length, &error);
  printf("%s = %.*s\n", key, value == NULL ? 6 : (int)length, value == NULL ? "(none)" : value);
  rocksdb_free(value);
}

static void may_exist(rocksdb_t* db, const char* key) {
  unsigned char found = 7;
  size_t length = 99;
  char* value = NULL;
  int exists = rocksdb_key_may_exist(db, read_options, key, strlen(key), &value, &length, NULL, 0, &found);
  printf("%s may exist: %d, found %d, length %d\n", key, exists, found, (int)length);
  rocksdb_free(value);
}

static void values_that_do_not_exist(const char* directory, rocksdb_options_t* options) {
  rocksdb_t* db = open_new(directory, "values", options);
  put(db, "deleted", "1");
  rocksdb_delete(db, write_options, "deleted", 7, &error);
  put(db, "empty", "");
  put(db, "full", "value");
  may_exist(db, "deleted");
  may_exist(db, "never");
  may_exist(db, "empty");
  may_exist(db, "full");
  get(db, "empty");
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create_with_params(64, 0, 10, 0);
  rocksdb_writebatch_put(batch, "checked", 7, "by 8 bytes", 10);
  rocksdb_write(db, write_options, batch, &error);
  answer("a batch with checksums of 10 bytes");
  get(db, "checked");
  rocksdb_writebatch_destroy(batch);
  rocksdb_close(db);
}

static void manual_compactions(const char* directory, rocksdb_options_t* options) {
  rocksdb_t* db = open_new(directory, "compactions", options);
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  for (int disables = 1; disables <= 2; disables++) {
    put(db, "a", "1");
    rocksdb_flush(db, flush, &error);
    /* The first call has no disable to undo: it undoes the next one. */
    if (disables == 1) rocksdb_enable_manual_compaction(db);
    rocksdb_disable_manual_compaction(db);
    rocksdb_compact_range(db, NULL, 0, NULL, 0);
    char* files = rocksdb_property_value(db, "rocksdb.num-files-at-level0");
    printf("files of level 0: %s\n", files);
    rocksdb_free(files);
    /* Last in the turn: the suggestion starts a compaction that runs on its own. */
    rocksdb_suggest_compact_range(db, NULL, 0, NULL, 0, &error);
    answer("suggest");
  }
  rocksdb_flushoptions_destroy(flush);
  rocksdb_close(db);
}

/* Prints how many lines of the info log of the database have a text. */
static void lines_of_log(const char* text) {
  char name[1100], line[4096];
  int lines = 0;
  snprintf(name, sizeof name, "%s/LOG", path);
  FILE* log = fopen(name, "r");
  while (log != NULL && fgets(line, sizeof line, log) != NULL) lines += strstr(line, text) != NULL;
  if (log != NULL) fclose(log);
  printf("%s: %d\n", text, lines);
}

static void end_of_background_work(const char* directory, rocksdb_options_t* options) {
  rocksdb_t* db = open_new(directory, "ended", options);
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  rocksdb_writeoptions_t* unlogged = rocksdb_writeoptions_create();
  rocksdb_writeoptions_disable_WAL(unlogged, 1);
  rocksdb_put(db, unlogged, "unlogged", 8, "1", 1, &error);
  rocksdb_cancel_all_background_work(db, 1);
  put(db, "logged", "2");
  answer("a write after the end");
  rocksdb_flush(db, flush, &error);
  answer("a flush after the end");
  rocksdb_wait_for_compact_options_t* wait = rocksdb_wait_for_compact_options_create();
  rocksdb_wait_for_compact(db, wait, &error);
  answer("a wait after the end");
  rocksdb_cancel_all_background_work(db, 1);
  rocksdb_close(db);
  lines_of_log("Shutdown: canceling all background work");
  db = rocksdb_open(options, path, &error);
  answer("the next open");
  get(db, "unlogged");
  get(db, "logged");
  rocksdb_wait_for_compact_options_destroy(wait);
  rocksdb_writeoptions_destroy(unlogged);
  rocksdb_flushoptions_destroy(flush);
  rocksdb_close(db);
}

static void export(const char* directory, rocksdb_options_t* options) {
  rocksdb_t* db = open_new(directory, "source", options);
  put(db, "a", "1");
  put(db, "z", "2");
  rocksdb_checkpoint_t* checkpoint = rocksdb_checkpoint_object_create(db, &error);
  char to[1100];
  snprintf(to, sizeof to, "%s-export", path);
  char command[1200];
  snprintf(command, sizeof command, "rm -rf '%s'", to);
  if (system(command) != 0) exit(1);
  rocksdb_export_import_files_metadata_t* made = rocksdb_checkpoint_export_column_family(
      checkpoint, rocksdb_get_default_column_family_handle(db), to, &error);
  answer("export");
  rocksdb_livefiles_t* files = rocksdb_export_import_files_metadata_get_files(made);
  size_t length = 0;
  printf("files: %d, column family \"%s\", level %d", rocksdb_livefiles_count(files),
         rocksdb_livefiles_column_family_name(files, 0), rocksdb_livefiles_level(files, 0));
  printf(", from %.1s", rocksdb_livefiles_smallestkey(files, 0, &length));
  printf(" to %.1s", rocksdb_livefiles_largestkey(files, 0, &length));
  printf(", entries %d\n", (int)rocksdb_livefiles_entries(files, 0));
  rocksdb_livefiles_destroy(files);
  rocksdb_export_import_files_metadata_destroy(made);
  rocksdb_checkpoint_object_destroy(checkpoint);
  rocksdb_close(db);
}

/* Prints the whole text of a status: programs compare the text of a conflict. */
static void text(const char* what) {
  printf("%s: %s\n", what, error == NULL ? "ok" : error);
  rocksdb_free(error);
  error = NULL;
}

static void conflicts(const char* directory, rocksdb_options_t* options) {
  snprintf(path, sizeof path, "%s/locks", directory);
  rocksdb_destroy_db(options, path, &error);
  rocksdb_transactiondb_options_t* db_options = rocksdb_transactiondb_options_create();
  rocksdb_transactiondb_options_set_transaction_lock_timeout(db_options, 1);
  rocksdb_transactiondb_options_set_max_num_locks(db_options, 2);
  rocksdb_transactiondb_t* db = rocksdb_transactiondb_open(options, db_options, path, &error);
  text("a database with locks");
  rocksdb_transaction_options_t* begin = rocksdb_transaction_options_create();
  rocksdb_transaction_t* first = rocksdb_transaction_begin(db, write_options, begin, NULL);
  rocksdb_transaction_options_set_set_snapshot(begin, 1);
  rocksdb_transaction_t* second = rocksdb_transaction_begin(db, write_options, begin, NULL);
  rocksdb_transaction_put(first, "a", 1, "1", 1, &error);
  rocksdb_transaction_put(second, "a", 1, "2", 1, &error);
  text("a locked key");
  rocksdb_transaction_put(first, "b", 1, "1", 1, &error);
  rocksdb_transaction_put(first, "c", 1, "1", 1, &error);
  text("too many locks");
  rocksdb_transaction_commit(first, &error);
  text("commit");
  rocksdb_transaction_put(second, "a", 1, "2", 1, &error);
  text("a key that is newer than the snapshot");
  rocksdb_transaction_destroy(first);
  rocksdb_transaction_destroy(second);
  rocksdb_transaction_options_destroy(begin);
  rocksdb_transactiondb_close(db);
  rocksdb_transactiondb_options_destroy(db_options);

  snprintf(path, sizeof path, "%s/optimistic", directory);
  rocksdb_destroy_db(options, path, &error);
  rocksdb_optimistictransactiondb_t* optimistic = rocksdb_optimistictransactiondb_open(options, path, &error);
  text("a database without locks");
  rocksdb_optimistictransaction_options_t* each = rocksdb_optimistictransaction_options_create();
  first = rocksdb_optimistictransaction_begin(optimistic, write_options, each, NULL);
  second = rocksdb_optimistictransaction_begin(optimistic, write_options, each, NULL);
  rocksdb_transaction_put(first, "a", 1, "1", 1, &error);
  rocksdb_transaction_put(second, "a", 1, "2", 1, &error);
  rocksdb_transaction_commit(second, &error);
  text("the first commit");
  rocksdb_transaction_commit(first, &error);
  text("the second commit");
  rocksdb_transaction_destroy(first);
  rocksdb_transaction_destroy(second);
  rocksdb_optimistictransaction_options_destroy(each);
  rocksdb_optimistictransactiondb_close(optimistic);
}

/* The numbers of kinds of files, single deletions with a timestamp, defaults of EnvOptions, and a secondary instance with a
 * limit of open files. */
static void objects(const char* directory, rocksdb_options_t* options) {
  rocksdb_t* db = open_new(directory, "objects", options);
  put(db, "k12345678", "kept");
  rocksdb_singledelete_with_ts(db, write_options, "k", 1, "12345678", 8, &error);
  answer("a single deletion with a timestamp");
  get(db, "k12345678");
  rocksdb_livefiles_storage_info_options_t* all = rocksdb_livefiles_storage_info_options_create();
  rocksdb_livefiles_storage_info_t* files = rocksdb_get_livefiles_storage_info(db, all, &error);
  for (size_t at = 0; at < rocksdb_livefiles_storage_info_count(files); at++) {
    const char* name = rocksdb_livefiles_storage_info_relative_filename(files, at);
    if (strncmp(name, "OPTIONS", 7) == 0) {
      printf("kind of the OPTIONS file: %d\n", rocksdb_livefiles_storage_info_file_type(files, at));
    }
  }
  rocksdb_livefiles_storage_info_destroy(files);
  rocksdb_livefiles_storage_info_options_destroy(all);
  rocksdb_envoptions_t* env = rocksdb_envoptions_create();
  printf("mmap for writes: %d, read-ahead of compactions: %d\n", rocksdb_envoptions_get_use_mmap_writes(env),
         (int)rocksdb_envoptions_get_compaction_readahead_size(env));
  rocksdb_envoptions_destroy(env);
  char other[1100];
  snprintf(other, sizeof other, "%s-secondary", path);
  rocksdb_options_t* few = rocksdb_options_create();
  rocksdb_options_set_max_open_files(few, 10);
  rocksdb_t* secondary = rocksdb_open_as_secondary(few, path, other, &error);
  answer("a secondary instance with few open files");
  get(secondary, "k12345678");
  rocksdb_close(secondary);
  rocksdb_options_destroy(few);
  rocksdb_close(db);
}

/* A line on the standard error stream has the time, the thread in hexadecimal, the prefix without a space, and the message. */
static void standard_error_stream(const char* directory) {
  char name[1024];
  snprintf(name, sizeof name, "%s/stderr", directory);
  if (freopen(name, "w", stderr) == NULL) return;
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_logger_t* logger = rocksdb_logger_create_stderr_logger(1, "prefix>");
  rocksdb_options_set_info_log(options, logger);
  snprintf(path, sizeof path, "%s/logged", directory);
  rocksdb_t* db = rocksdb_open(options, path, &error);
  answer("logged");
  rocksdb_close(db);
  rocksdb_logger_destroy(logger);
  rocksdb_options_destroy(options);
  fflush(stderr);
  FILE* lines = fopen(name, "r");
  char line[4096] = "";
  int numbers[7];
  unsigned long long thread = 0;
  int end = 0;
  if (lines == NULL || fgets(line, sizeof line, lines) == NULL) puts("no line");
  int count = sscanf(line, "%d/%d/%d-%d:%d:%d.%d %llx prefix>%n", &numbers[0], &numbers[1], &numbers[2], &numbers[3],
                     &numbers[4], &numbers[5], &numbers[6], &thread, &end);
  printf("standard error: %d numbers, %s, message %d\n", count, end > 0 ? "prefix" : "no prefix", line[end] > ' ');
  if (lines != NULL) fclose(lines);
}

static void no_options(const char* directory) {
  snprintf(path, sizeof path, "%s/missing", directory);
  /* Places that a program left uninitialized. */
  static char garbage;
  rocksdb_options_t* options = (rocksdb_options_t*)&garbage;
  rocksdb_options_t** each = (rocksdb_options_t**)&garbage;
  char** names = (char**)&garbage;
  size_t count = 77;
  rocksdb_env_t* env = rocksdb_create_default_env();
  rocksdb_cache_t* cache = rocksdb_cache_create_lru(1 << 20);
  rocksdb_load_latest_options(path, env, 0, cache, &options, &count, &names, &each, &error);
  answer("options of a missing database");
  printf("null: %d %d %d, count %d\n", options == NULL, each == NULL, names == NULL, (int)count);
  rocksdb_cache_destroy(cache);
  rocksdb_env_destroy(env);
}

static void whole_answer(const char* what) {
  printf("%s: %s\n", what, error == NULL ? "ok" : error);
  rocksdb_free(error);
  error = NULL;
}

/* The texts of errors that programs compare. */
static void texts(const char* directory, rocksdb_options_t* options) {
  rocksdb_t* db = open_new(directory, "texts", options);
  put(db, "a", "1");
  rocksdb_writebatch_wi_t* batch = rocksdb_writebatch_wi_create(0, 1);
  rocksdb_iterator_t* base = rocksdb_create_iterator(db, read_options);
  rocksdb_iterator_t* joined = rocksdb_writebatch_wi_create_iterator_with_base(batch, base);
  rocksdb_iter_refresh(joined, &error);
  whole_answer("refresh of an iterator over a batch");
  rocksdb_iter_destroy(joined);
  rocksdb_writebatch_wi_destroy(batch);

  char backups[1100];
  snprintf(backups, sizeof backups, "%s-backups", path);
  rocksdb_backup_engine_t* engine = rocksdb_backup_engine_open(options, backups, &error);
  whole_answer("backups");
  rocksdb_backup_engine_verify_backup(engine, 77, &error);
  whole_answer("verify a backup that does not exist");
  rocksdb_backup_engine_close(engine);

  rocksdb_env_t* env = rocksdb_create_default_env();
  rocksdb_create_dir_if_missing(env, "/no such directory/of a test", &error);
  whole_answer("directory");
  rocksdb_env_destroy(env);

  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  rocksdb_flush(db, flush, &error);
  whole_answer("flush");
  rocksdb_flushoptions_destroy(flush);
  rocksdb_close(db);
  rocksdb_cache_t* cache = rocksdb_cache_create_lru_with_strict_capacity_limit(1);
  rocksdb_block_based_table_options_t* table = rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_block_cache(table, cache);
  rocksdb_options_set_block_based_table_factory(options, table);
  db = rocksdb_open(options, path, &error);
  whole_answer("open");
  size_t length = 0;
  rocksdb_free(rocksdb_get(db, read_options, "a", 1, &length, &error));
  whole_answer("get");
  rocksdb_close(db);
  rocksdb_block_based_options_destroy(table);
  rocksdb_cache_destroy(cache);
}

/* The metadata of a column family for null options, which have all levels with files. */
static void no_metadata_options(const char* directory, rocksdb_options_t* options) {
  rocksdb_t* db = open_new(directory, "metadata", options);
  rocksdb_flushoptions_t* flush = rocksdb_flushoptions_create();
  rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
  put(db, "key", "value");
  rocksdb_flush(db, flush, &error);
  answer("flush");
  rocksdb_column_family_metadata_t* of_db = rocksdb_get_column_family_metadata_with_options(db, NULL);
  rocksdb_column_family_metadata_t* of_family = rocksdb_get_column_family_metadata_cf_with_options(db, family, NULL);
  rocksdb_column_family_metadata_t* all = rocksdb_get_column_family_metadata(db);
  printf("levels: %d, %d, all %d\n", (int)rocksdb_column_family_metadata_get_level_count(of_db),
         (int)rocksdb_column_family_metadata_get_level_count(of_family),
         (int)rocksdb_column_family_metadata_get_level_count(all));
  printf("files: %d, %d\n", (int)rocksdb_column_family_metadata_get_file_count(of_db),
         (int)rocksdb_column_family_metadata_get_file_count(of_family));
  rocksdb_column_family_metadata_destroy(all);
  rocksdb_column_family_metadata_destroy(of_family);
  rocksdb_column_family_metadata_destroy(of_db);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_flushoptions_destroy(flush);
  rocksdb_close(db);
}

/* Prints the keys of an iterator over a batch, and the error at which it ends. */
static void keys(const char* what, rocksdb_iterator_t* iter) {
  printf("%s:", what);
  for (rocksdb_iter_seek_to_first(iter); rocksdb_iter_valid(iter); rocksdb_iter_next(iter)) {
    size_t length = 0;
    const char* key = rocksdb_iter_key(iter, &length);
    printf(" %.*s", (int)length, key);
  }
  rocksdb_iter_get_error(iter, &error);
  printf(", ");
  whole_answer("end");
  rocksdb_iter_destroy(iter);
}

/* Merges of a batch over a base iterator, with a column family and without. */
static void merges_over_a_base(const char* directory) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_uint64add_merge_operator(options);
  rocksdb_t* db = open_new(directory, "merges", options);
  rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
  rocksdb_writebatch_wi_t* batch = rocksdb_writebatch_wi_create(0, 1);
  put(db, "base", "12345678");
  rocksdb_writebatch_wi_put(batch, "a", 1, "1", 1);
  rocksdb_writebatch_wi_merge(batch, "m", 1, "12345678", 8);
  rocksdb_writebatch_wi_put(batch, "z", 1, "2", 1);
  keys("of the column family", rocksdb_writebatch_wi_create_iterator_with_base_cf(
                                   batch, rocksdb_create_iterator(db, read_options), family));
  keys("without column family",
       rocksdb_writebatch_wi_create_iterator_with_base(batch, rocksdb_create_iterator(db, read_options)));
  keys("without column family, with options",
       rocksdb_writebatch_wi_create_iterator_with_base_readopts(
           batch, rocksdb_create_iterator(db, read_options), read_options));
  rocksdb_writebatch_wi_destroy(batch);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  mkdir(argv[1], 0755);
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  write_options = rocksdb_writeoptions_create();
  read_options = rocksdb_readoptions_create();
  values_that_do_not_exist(argv[1], options);
  manual_compactions(argv[1], options);
  end_of_background_work(argv[1], options);
  export(argv[1], options);
  conflicts(argv[1], options);
  objects(argv[1], options);
  no_options(argv[1]);
  texts(argv[1], options);
  no_metadata_options(argv[1], options);
  merges_over_a_base(argv[1]);
  standard_error_stream(argv[1]);
  rocksdb_readoptions_destroy(read_options);
  rocksdb_writeoptions_destroy(write_options);
  rocksdb_options_destroy(options);
  return 0;
}
