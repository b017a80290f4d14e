/* Files: SST files that a program writes, ingests, exports, imports and deletes; histories that an open trims; the space that a manager
 * counts; and databases with missing or damaged files, which a program lists, opens, and opens as a secondary instance.
 *
 *   files DIRECTORY     prints the answers; the directory and the numbers of files are not printed */
#include <rocksdb/c.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char* error = NULL;
static const char* root;
static char path[1024];
static rocksdb_writeoptions_t* write_options;
static rocksdb_readoptions_t* read_options;
static rocksdb_flushoptions_t* flush_options;

/* Prints a text with `(root)` for the directory of the data, and `#` for each number of three digits and more. */
static void print_masked(const char* text) {
  size_t root_len = strlen(root);
  while (*text) {
    size_t digits = strspn(text, "0123456789");
    if (strncmp(text, root, root_len) == 0) printf("(root)"), text += root_len;
    else if (digits >= 3) printf("#"), text += digits;
    else if (digits > 0) printf("%.*s", (int)digits, text), text += digits;
    else printf("%c", *text++);
  }
}

static void answer(const char* what) {
  printf("%s: ", what);
  print_masked(error == NULL ? "ok" : error);
  printf("\n");
  rocksdb_free(error);
  error = NULL;
}

/* Prints the code of an error: the text before the first colon. */
static void answer_code(const char* what) {
  printf("%s: %.*s\n", what, error == NULL ? 2 : (int)strcspn(error, ":"), error == NULL ? "ok" : error);
  rocksdb_free(error);
  error = NULL;
}

static rocksdb_options_t* new_options(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_compression(options, rocksdb_no_compression);
  rocksdb_options_set_disable_auto_compactions(options, 1);
  return options;
}

static rocksdb_t* open_new(const char* name, rocksdb_options_t* options) {
  printf("== %s\n", name);
  snprintf(path, sizeof path, "%s/%s", root, name);
  char command[1200];
  snprintf(command, sizeof command, "rm -rf '%s'", path);
  if (system(command) != 0) exit(3);
  rocksdb_t* db = rocksdb_open(options, path, &error);
  answer("open");
  return db;
}

static void put(rocksdb_t* db, const char* key, const char* value) {
  rocksdb_put(db, write_options, key, strlen(key), value, strlen(value), &error);
  if (error != NULL) answer("put");
}

static void put_many(rocksdb_t* db, int from, int to) {
  char key[32];
  for (int at = from; at < to; at++) snprintf(key, sizeof key, "key%04d", at), put(db, key, "a value");
}

static void flush(rocksdb_t* db) {
  rocksdb_flush(db, flush_options, &error);
  if (error != NULL) answer("flush");
}

static int count_entries(rocksdb_t* db, rocksdb_column_family_handle_t* family) {
  rocksdb_iterator_t* iterator =
      family ? rocksdb_create_iterator_cf(db, read_options, family) : rocksdb_create_iterator(db, read_options);
  int count = 0;
  for (rocksdb_iter_seek_to_first(iterator); rocksdb_iter_valid(iterator); rocksdb_iter_next(iterator)) count++;
  rocksdb_iter_get_error(iterator, &error);
  if (error != NULL) answer("iterator");
  rocksdb_iter_destroy(iterator);
  return count;
}

static void property(rocksdb_t* db, const char* name) {
  char* value = rocksdb_property_value(db, name);
  printf("%s: %s\n", name, value ? value : "(none)");
  rocksdb_free(value);
}

static void deleted_files(void) {
  rocksdb_options_t* options = new_options();
  rocksdb_t* db = open_new("deleted", options);
  rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
  rocksdb_compactoptions_t* how = rocksdb_compactoptions_create();
  rocksdb_compactoptions_set_change_level(how, 1);
  rocksdb_compactoptions_set_target_level(how, 2);
  rocksdb_options_set_target_file_size_base(options, 1000);
  for (int at = 0; at < 4; at++) {
    put_many(db, at * 100, at * 100 + 100);
    flush(db);
    char first[16], last[16];
    snprintf(first, sizeof first, "key%04d", at * 100), snprintf(last, sizeof last, "key%04d", at * 100 + 99);
    rocksdb_compact_range_opt(db, how, first, 7, last, 7);
  }
  property(db, "rocksdb.num-files-at-level2");
  printf("entries %d\n", count_entries(db, NULL));
  rocksdb_delete_file_in_range_cf(db, family, "key0150", 7, "key0350", 7, &error);
  answer("delete in the middle");
  printf("entries %d\n", count_entries(db, NULL));
  rocksdb_delete_file_in_range(db, "key0099", 7, "key0000", 7, &error);
  answer("delete with the end before the start");
  printf("entries %d\n", count_entries(db, NULL));
  rocksdb_delete_file_in_range(db, NULL, 0, "key0150", 7, &error);
  answer("delete from null");
  printf("entries %d\n", count_entries(db, NULL));
  rocksdb_delete_file_in_range(db, NULL, 0, NULL, 0, &error);
  answer("delete from null to null");
  printf("entries %d\n", count_entries(db, NULL));
  const char* starts[] = {"a", "key0000"};
  const char* limits[] = {"z", "key0001"};
  size_t start_lens[] = {1, 7}, limit_lens[] = {1, 7};
  uint64_t sizes[2] = {77, 77};
  put_many(db, 0, 100);
  for (int flags = 0; flags < 4; flags++) {
    sizes[0] = sizes[1] = 0;
    rocksdb_approximate_sizes_cf_with_flags(db, family, 2, starts, start_lens, limits, limit_lens, (uint8_t)flags, sizes,
                                            &error);
    answer("sizes");
    printf("flags %d: %d %d\n", flags, sizes[0] > 0, sizes[1] > 0);
  }
  rocksdb_compactoptions_destroy(how);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

static void written_files(void) {
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_uint64add_merge_operator(options);
  rocksdb_t* db = open_new("written", options);
  char file[1100];
  snprintf(file, sizeof file, "%s/new.sst", path);
  rocksdb_envoptions_t* env_options = rocksdb_envoptions_create();
  rocksdb_sstfilewriter_t* writer = rocksdb_sstfilewriter_create(env_options, options);
  rocksdb_sstfilewriter_put(writer, "a", 1, "1", 1, &error);
  answer("put before the open");
  rocksdb_sstfilewriter_finish(writer, &error);
  answer("finish before the open");
  rocksdb_sstfilewriter_open(writer, "/no/such/directory/file.sst", &error);
  answer("open of no directory");
  rocksdb_sstfilewriter_open(writer, file, &error);
  answer("open");
  rocksdb_sstfilewriter_finish(writer, &error);
  answer("finish without an entry");
  rocksdb_sstfilewriter_open(writer, file, &error);
  answer("open again");
  rocksdb_sstfilewriter_put(writer, "b", 1, "1", 1, &error);
  answer("put");
  rocksdb_sstfilewriter_put(writer, "b", 1, "2", 1, &error);
  answer("put the same");
  rocksdb_sstfilewriter_delete(writer, "a", 1, &error);
  answer("delete before");
  rocksdb_sstfilewriter_delete(writer, "c", 1, &error);
  answer("delete");
  rocksdb_sstfilewriter_merge(writer, "d", 1, "12345678", 8, &error);
  answer("merge");
  rocksdb_sstfilewriter_delete_range(writer, "x", 1, "e", 1, &error);
  answer("range with the end before the start");
  rocksdb_sstfilewriter_delete_range(writer, "e", 1, "x", 1, &error);
  answer("range");
  rocksdb_sstfilewriter_put_with_ts(writer, "f", 1, "12345678", 8, "v", 1, &error);
  answer("put with a timestamp");
  rocksdb_sstfilewriter_delete_with_ts(writer, "f", 1, "12345678", 8, &error);
  answer("delete with a timestamp");
  uint64_t size = 77;
  rocksdb_sstfilewriter_file_size(writer, &size);
  printf("size before the end %d\n", size > 0);
  rocksdb_sstfilewriter_finish(writer, &error);
  answer("finish");
  rocksdb_sstfilewriter_file_size(writer, &size);
  printf("size %d\n", size > 0);
  rocksdb_sstfilewriter_put(writer, "y", 1, "1", 1, &error);
  answer("put after the end");
  rocksdb_sstfilewriter_destroy(writer);
  rocksdb_ingestexternalfileoptions_t* how = rocksdb_ingestexternalfileoptions_create();
  const char* list[] = {file};
  rocksdb_ingest_external_file(db, list, 1, how, &error);
  answer("ingest");
  rocksdb_ingestexternalfileoptions_set_move_files(how, 1);
  rocksdb_ingest_external_file(db, list, 1, how, &error);
  answer("ingest by a move");
  printf("the file is there: %d\n", access(file, F_OK) == 0);
  FILE* garbage = fopen(file, "w");
  fprintf(garbage, "this is not an SST file, and it is longer than the footer of an SST file, which has 53 bytes");
  fclose(garbage);
  rocksdb_ingest_external_file(db, list, 1, how, &error);
  answer("ingest of garbage");
  garbage = fopen(file, "w");
  fclose(garbage);
  rocksdb_ingest_external_file(db, list, 1, how, &error);
  answer("ingest of an empty file");
  rocksdb_ingestexternalfileoptions_destroy(how);
  rocksdb_envoptions_destroy(env_options);
  printf("entries %d\n", count_entries(db, NULL));
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

static void described_files(void) {
  rocksdb_options_t* options = new_options();
  rocksdb_t* db = open_new("described", options);
  put_many(db, 0, 10);
  rocksdb_checkpoint_t* checkpoint = rocksdb_checkpoint_object_create(db, &error);
  rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
  char target[1100];
  snprintf(target, sizeof target, "%s/described-export", root);
  char command[1200];
  snprintf(command, sizeof command, "rm -rf '%s'", target);
  if (system(command) != 0) exit(3);
  rocksdb_export_import_files_metadata_t* exported =
      rocksdb_checkpoint_export_column_family(checkpoint, family, target, &error);
  answer("export");
  rocksdb_livefiles_t* files = rocksdb_export_import_files_metadata_get_files(exported);
  /* The same description, made by hand. */
  rocksdb_export_import_files_metadata_t* made = rocksdb_export_import_files_metadata_create();
  char* order = rocksdb_export_import_files_metadata_get_db_comparator_name(made);
  printf("order of a new description: \"%s\"\n", order);
  rocksdb_free(order);
  rocksdb_import_column_family_options_t* how = rocksdb_import_column_family_options_create();
  rocksdb_column_family_handle_t* imported =
      rocksdb_create_column_family_with_import(db, options, "empty", how, made, &error);
  answer("import of an empty description");
  if (imported != NULL) rocksdb_column_family_handle_destroy(imported);
  rocksdb_livefiles_t* list = rocksdb_livefiles_create();
  printf("files %d\n", rocksdb_livefiles_count(list));
  rocksdb_livefile_t* file = rocksdb_livefile_create();
  size_t length;
  rocksdb_livefile_set_name(file, rocksdb_livefiles_name(files, 0));
  rocksdb_livefile_set_directory(file, rocksdb_livefiles_directory(files, 0));
  rocksdb_livefile_set_column_family_name(file, "default");
  rocksdb_livefile_set_level(file, 0);
  rocksdb_livefile_set_size(file, rocksdb_livefiles_size(files, 0));
  const char* key = rocksdb_livefiles_smallestkey(files, 0, &length);
  rocksdb_livefile_set_smallest_key(file, key, length);
  key = rocksdb_livefiles_largestkey(files, 0, &length);
  rocksdb_livefile_set_largest_key(file, key, length);
  rocksdb_livefile_set_smallest_seqno(file, rocksdb_livefiles_smallest_seqno(files, 0));
  rocksdb_livefile_set_largest_seqno(file, rocksdb_livefiles_largest_seqno(files, 0));
  rocksdb_livefile_set_num_entries(file, rocksdb_livefiles_entries(files, 0));
  rocksdb_livefile_set_num_deletions(file, rocksdb_livefiles_deletions(files, 0));
  rocksdb_livefiles_add(list, file);
  printf("files %d, level %d, entries %d, deletions %d, #%d to #%d, family %s\n", rocksdb_livefiles_count(list),
         rocksdb_livefiles_level(list, 0), (int)rocksdb_livefiles_entries(list, 0),
         (int)rocksdb_livefiles_deletions(list, 0), (int)rocksdb_livefiles_smallest_seqno(list, 0),
         (int)rocksdb_livefiles_largest_seqno(list, 0), rocksdb_livefiles_column_family_name(list, 0));
  rocksdb_export_import_files_metadata_set_files(made, list);
  imported = rocksdb_create_column_family_with_import(db, options, "no-order", how, made, &error);
  answer("import without the name of the order");
  if (imported != NULL) rocksdb_column_family_handle_destroy(imported);
  rocksdb_export_import_files_metadata_set_db_comparator_name(made, "another.Order");
  imported = rocksdb_create_column_family_with_import(db, options, "other-order", how, made, &error);
  answer("import with another order");
  if (imported != NULL) rocksdb_column_family_handle_destroy(imported);
  rocksdb_export_import_files_metadata_set_db_comparator_name(made, "leveldb.BytewiseComparator");
  imported = rocksdb_create_column_family_with_import(db, options, "made", how, made, &error);
  answer("import");
  if (imported != NULL) printf("entries %d\n", count_entries(db, imported));
  if (imported != NULL) rocksdb_column_family_handle_destroy(imported);
  imported = rocksdb_create_column_family_with_import(db, options, "made", how, made, &error);
  answer("import of the same name");
  if (imported != NULL) rocksdb_column_family_handle_destroy(imported);
  rocksdb_livefiles_destroy(files);
  rocksdb_import_column_family_options_destroy(how);
  rocksdb_export_import_files_metadata_destroy(made);
  rocksdb_export_import_files_metadata_destroy(exported);
  exported = rocksdb_checkpoint_export_column_family(checkpoint, family, target, &error);
  answer("export to the same directory");
  exported = rocksdb_checkpoint_export_column_family(checkpoint, family, "/no/such/directory", &error);
  answer("export to no directory");
  rocksdb_checkpoint_create(checkpoint, path, 0, &error);
  answer("checkpoint into the database");
  rocksdb_checkpoint_create(checkpoint, "", 0, &error);
  answer("checkpoint to an empty name");
  rocksdb_checkpoint_object_destroy(checkpoint);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

static void managed_space(void) {
  rocksdb_options_t* options = new_options();
  rocksdb_env_t* env = rocksdb_create_default_env();
  rocksdb_sst_file_manager_t* manager = rocksdb_sst_file_manager_create(env);
  rocksdb_options_set_sst_file_manager(options, manager);
  printf("%d %d %d %.2f\n", (int)rocksdb_sst_file_manager_get_total_size(manager),
         (int)rocksdb_sst_file_manager_get_total_trash_size(manager),
         (int)rocksdb_sst_file_manager_get_delete_rate_bytes_per_second(manager),
         rocksdb_sst_file_manager_get_max_trash_db_ratio(manager));
  rocksdb_sst_file_manager_set_delete_rate_bytes_per_second(manager, -1);
  printf("%d\n", (int)rocksdb_sst_file_manager_get_delete_rate_bytes_per_second(manager));
  rocksdb_t* db = open_new("managed", options);
  put_many(db, 0, 100);
  flush(db);
  printf("counts the file: %d, reached: %d %d\n", rocksdb_sst_file_manager_get_total_size(manager) > 1000,
         rocksdb_sst_file_manager_is_max_allowed_space_reached(manager),
         rocksdb_sst_file_manager_is_max_allowed_space_reached_including_compactions(manager));
  rocksdb_sst_file_manager_set_compaction_buffer_size(manager, 100);
  rocksdb_sst_file_manager_set_max_allowed_space_usage(manager, 1);
  printf("reached: %d %d\n", rocksdb_sst_file_manager_is_max_allowed_space_reached(manager),
         rocksdb_sst_file_manager_is_max_allowed_space_reached_including_compactions(manager));
  put(db, "a", "1");
  rocksdb_flush(db, flush_options, &error);
  answer("flush");
  rocksdb_put(db, write_options, "b", 1, "1", 1, &error);
  answer("put");
  rocksdb_sst_file_manager_set_max_allowed_space_usage(manager, 0);
  printf("reached: %d\n", rocksdb_sst_file_manager_is_max_allowed_space_reached(manager));
  rocksdb_close(db);
  rocksdb_sst_file_manager_destroy(manager);
  rocksdb_env_join_all_threads(env);
  rocksdb_env_lower_thread_pool_io_priority(env);
  rocksdb_env_lower_high_priority_thread_pool_io_priority(env);
  rocksdb_env_lower_thread_pool_cpu_priority(env);
  rocksdb_env_lower_high_priority_thread_pool_cpu_priority(env);
  rocksdb_env_destroy(env);
  rocksdb_options_destroy(options);
}

/* The names of files in the directory `path`. */
static int find_file(const char* start, char* found) {
  DIR* directory = opendir(path);
  struct dirent* entry;
  int count = 0;
  while ((entry = readdir(directory)) != NULL) {
    size_t length = strlen(entry->d_name), tail = strlen(start);
    int is_end = *start == '.' && length > tail && strcmp(entry->d_name + length - tail, start) == 0;
    if (is_end || (*start != '.' && strncmp(entry->d_name, start, tail) == 0)) {
      count++;
      if (found[0] == 0 || strcmp(entry->d_name, found) > 0) strcpy(found, entry->d_name);
    }
  }
  closedir(directory);
  return count;
}

enum damage { ABSENT, EMPTY, CUT, GARBAGE };

static void damage_file(const char* start, enum damage how) {
  char name[300] = "", file[1400];
  if (find_file(start, name) == 0) {
    printf("no file %s\n", start);
    return;
  }
  snprintf(file, sizeof file, "%s/%s", path, name);
  struct stat status;
  if (stat(file, &status) != 0) exit(4);
  if (how == ABSENT) {
    if (unlink(file) != 0) exit(4);
  } else if (how == EMPTY) {
    if (truncate(file, 0) != 0) exit(4);
  } else if (how == CUT) {
    if (truncate(file, status.st_size / 2) != 0) exit(4);
  } else {
    int descriptor = open(file, O_RDWR);
    for (off_t at = 0; at < status.st_size; at++)
      if (pwrite(descriptor, "x", 1, at) != 1) exit(4);
    close(descriptor);
  }
}

static void list_families(rocksdb_options_t* options) {
  size_t count = 77;
  char** list = rocksdb_list_column_families(options, path, &count, &error);
  answer("list");
  printf("  %d:", (int)count);
  for (size_t at = 0; at < count; at++) printf(" %s", list[at]);
  printf("\n");
  rocksdb_list_column_families_destroy(list, count);
}

static void try_open(rocksdb_options_t* options, const char* what) {
  const char* names[] = {"default", "one", "two"};
  const rocksdb_options_t* own[] = {options, options, options};
  rocksdb_column_family_handle_t* handles[3] = {NULL, NULL, NULL};
  rocksdb_t* db = NULL;
  char second[1100];
  snprintf(second, sizeof second, "%s/second", root);
  if (strcmp(what, "open") == 0) db = rocksdb_open_column_families(options, path, 3, names, own, handles, &error);
  else if (strcmp(what, "read-only") == 0)
    db = rocksdb_open_for_read_only_column_families(options, path, 3, names, own, handles, 0, &error);
  else db = rocksdb_open_as_secondary_column_families(options, path, second, 3, names, own, handles, &error);
  answer(what);
  if (db == NULL) return;
  for (int at = 0; at < 3; at++) printf("  entries of %s: %d\n", names[at], count_entries(db, handles[at]));
  for (int at = 0; at < 3; at++) rocksdb_column_family_handle_destroy(handles[at]);
  rocksdb_close(db);
}

static void one_damage(const char* file, enum damage how, const char* what) {
  rocksdb_options_t* options = new_options();
  char name[64];
  static int number = 0;
  snprintf(name, sizeof name, "damaged-%d", number++);
  rocksdb_t* db = open_new(name, options);
  printf("%s\n", what);
  rocksdb_column_family_handle_t* one = rocksdb_create_column_family(db, options, "one", &error);
  rocksdb_column_family_handle_t* two = rocksdb_create_column_family(db, options, "two", &error);
  put_many(db, 0, 10);
  rocksdb_put_cf(db, write_options, one, "k", 1, "v", 1, &error);
  rocksdb_put_cf(db, write_options, two, "k", 1, "v", 1, &error);
  rocksdb_column_family_handle_t* all[] = {one, two};
  flush(db);
  rocksdb_flush_cfs(db, flush_options, all, 2, &error);
  put(db, "late", "1");
  rocksdb_column_family_handle_destroy(one);
  rocksdb_column_family_handle_destroy(two);
  rocksdb_close(db);
  damage_file(file, how);
  rocksdb_options_set_create_if_missing(options, 0);
  list_families(options);
  try_open(options, "secondary");
  try_open(options, "read-only");
  try_open(options, "open");
  rocksdb_options_destroy(options);
}

static void absent_databases(void) {
  printf("== absent\n");
  rocksdb_options_t* options = rocksdb_options_create();
  snprintf(path, sizeof path, "%s/absent", root);
  char command[1200];
  snprintf(command, sizeof command, "rm -rf '%s'", path);
  if (system(command) != 0) exit(3);
  list_families(options);
  try_open(options, "secondary");
  try_open(options, "read-only");
  try_open(options, "open");
  snprintf(command, sizeof command, "rm -rf '%s'", path);
  if (system(command) != 0) exit(3);
  mkdir(path, 0755);
  list_families(options);
  try_open(options, "secondary");
  try_open(options, "read-only");
  try_open(options, "open");
  rocksdb_options_destroy(options);
}

static int compare(void* state, const char* left, size_t left_len, const char* right, size_t right_len) {
  (void)state;
  left_len -= 8, right_len -= 8;
  size_t shorter = left_len < right_len ? left_len : right_len;
  int order = memcmp(left, right, shorter);
  if (order == 0) order = left_len < right_len ? -1 : left_len > right_len;
  return order != 0 ? order : -memcmp(left + left_len, right + right_len, 8);
}
static int compare_ts(void* state, const char* left, size_t left_len, const char* right, size_t right_len) {
  (void)state, (void)left_len, (void)right_len;
  return memcmp(left, right, 8);
}
static int compare_without(void* state, const char* left, size_t left_len, unsigned char left_has, const char* right,
                           size_t right_len, unsigned char right_has) {
  (void)state;
  if (left_has) left_len -= 8;
  if (right_has) right_len -= 8;
  size_t shorter = left_len < right_len ? left_len : right_len;
  int order = memcmp(left, right, shorter);
  return order != 0 ? order : left_len < right_len ? -1 : left_len > right_len;
}
static void destroyed(void* state) { (void)state; }
static const char* order_name(void* state) {
  (void)state;
  return "WithTimes";
}

static void trimmed_history(void) {
  rocksdb_options_t* options = new_options();
  rocksdb_comparator_t* order =
      rocksdb_comparator_with_ts_create(NULL, destroyed, compare, compare_ts, compare_without, order_name, 8);
  rocksdb_options_set_comparator(options, order);
  rocksdb_t* db = open_new("trimmed", options);
  rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
  static const char* const times[] = {"00000001", "00000002", "00000003", "00000004"};
  for (int at = 0; at < 4; at++) {
    rocksdb_put_cf_with_ts(db, write_options, family, "k", 1, times[at], 8, times[at] + 7, 1, &error);
    answer("put");
  }
  rocksdb_singledelete_cf_with_ts(db, write_options, family, "s", 1, "00000003", 8, &error);
  answer("single delete");
  rocksdb_writebatch_t* batch = rocksdb_writebatch_create();
  rocksdb_writebatch_put_cf_with_ts(batch, family, "b", 1, "00000002", 8, "v", 1);
  rocksdb_writebatch_put_cf_with_ts(batch, family, "b", 1, "0000002", 7, "short", 5);
  rocksdb_writebatch_delete_cf_with_ts(batch, family, "b", 1, "00000004", 8);
  rocksdb_writebatch_singledelete_cf_with_ts(batch, family, "b2", 2, "00000004", 8);
  printf("count %d\n", rocksdb_writebatch_count(batch));
  rocksdb_write(db, write_options, batch, &error);
  answer("write");
  rocksdb_writebatch_destroy(batch);
  flush(db);
  rocksdb_increase_full_history_ts_low(db, family, "00000002", 8, &error);
  answer("increase");
  rocksdb_increase_full_history_ts_low(db, family, "00000001", 8, &error);
  answer_code("decrease");
  rocksdb_increase_full_history_ts_low(db, family, "1", 1, &error);
  answer("short");
  size_t length = 0;
  char* low = rocksdb_get_full_history_ts_low(db, family, &length, &error);
  printf("low %.*s\n", (int)length, low ? low : "");
  rocksdb_free(low);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  const char* names[] = {"default"};
  const rocksdb_options_t* own[] = {options};
  rocksdb_column_family_handle_t* handles[1] = {NULL};
  char trim[] = "00000003";
  db = rocksdb_open_and_trim_history(options, path, 1, names, own, handles, trim, 8, &error);
  answer("trim");
  rocksdb_readoptions_t* at_time = rocksdb_readoptions_create();
  rocksdb_readoptions_set_timestamp(at_time, "00000009", 8);
  rocksdb_readoptions_set_iter_start_ts(at_time, "00000000", 8);
  rocksdb_iterator_t* iterator = rocksdb_create_iterator_cf(db, at_time, handles[0]);
  for (rocksdb_iter_seek_to_first(iterator); rocksdb_iter_valid(iterator); rocksdb_iter_next(iterator)) {
    size_t key_len, value_len;
    const char* key = rocksdb_iter_key(iterator, &key_len);
    const char* value = rocksdb_iter_value(iterator, &value_len);
    rocksdb_slice_t time = rocksdb_iter_timestamp_slice(iterator);
    printf("key of %d bytes %.1s, value %.*s, time %.*s\n", (int)key_len, key, (int)value_len, value, (int)time.size,
           time.data);
  }
  rocksdb_iter_destroy(iterator);
  rocksdb_readoptions_destroy(at_time);
  rocksdb_column_family_handle_destroy(handles[0]);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
  rocksdb_comparator_destroy(order);
  options = new_options();
  db = open_new("untimed", options);
  put(db, "a", "1");
  rocksdb_close(db);
  own[0] = options;
  db = rocksdb_open_and_trim_history(options, path, 1, names, own, handles, trim, 8, &error);
  answer("trim without timestamps");
  if (db != NULL) rocksdb_column_family_handle_destroy(handles[0]), rocksdb_close(db);
  rocksdb_options_destroy(options);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  root = argv[1];
  mkdir(root, 0755);
  write_options = rocksdb_writeoptions_create();
  read_options = rocksdb_readoptions_create();
  flush_options = rocksdb_flushoptions_create();
  deleted_files();
  written_files();
  described_files();
  managed_space();
  trimmed_history();
  absent_databases();
  one_damage("CURRENT", ABSENT, "CURRENT is absent");
  one_damage("CURRENT", EMPTY, "CURRENT is empty");
  one_damage("CURRENT", CUT, "CURRENT is cut");
  one_damage("CURRENT", GARBAGE, "CURRENT is garbage");
  one_damage("MANIFEST", ABSENT, "the MANIFEST is absent");
  one_damage("OPTIONS", ABSENT, "the newest OPTIONS file is absent");
  one_damage("OPTIONS", GARBAGE, "the newest OPTIONS file is garbage");
  one_damage("IDENTITY", ABSENT, "IDENTITY is absent");
  one_damage("IDENTITY", EMPTY, "IDENTITY is empty");
  rocksdb_flushoptions_destroy(flush_options);
  rocksdb_writeoptions_destroy(write_options);
  rocksdb_readoptions_destroy(read_options);
  return 0;
}
