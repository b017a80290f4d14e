/* What programs read about files and jobs: each property of an SST file, and each detail of flushes, compactions, subcompactions,
 * ingestions, memtables and write stalls, for families with merge operands, range tombstones, blob files and compression.
 *
 *   jobs DIRECTORY     prints the answers; of times and identities only whether they are set */
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
static rocksdb_flushoptions_t* flush_options;

static void answer(const char* what) {
  printf("%s: %.*s\n", what, error == NULL ? 2 : (int)strcspn(error, ":"), error == NULL ? "ok" : error);
  rocksdb_free(error);
  error = NULL;
}

/* The directory of the data is another one in each run, and the libraries number files differently. So the directory and the digits
 * of a file name are not printed. */
static void print_name(const char* what, const char* text, size_t length) {
  size_t at = length;
  while (at > 0 && text[at - 1] != '/') at--;
  printf("  %s: %s", what, at > 1 ? "(directory)/" : at == 1 ? "/" : "");
  for (; at < length; at++) printf("%c", text[at] >= '0' && text[at] <= '9' ? '#' : text[at]);
  printf("\n");
}

static void print_text(const char* what, const char* text, size_t length) {
  printf("  %s: \"", what);
  for (size_t at = 0; at < length; at++) {
    unsigned char byte = (unsigned char)text[at];
    if (byte >= ' ' && byte < 127) printf("%c", byte);
    else printf("\\%02x", byte);
  }
  printf("\"\n");
}

#define NUMBER(type, object, field) printf("  " #field ": %llu\n", (unsigned long long)rocksdb_##type##_##field(object));
#define IS_SET(type, object, field) printf("  " #field " is set: %d\n", rocksdb_##type##_##field(object) != 0);
#define TEXT(type, object, field)                                 \
  {                                                               \
    size_t length = 77;                                           \
    const char* text = rocksdb_##type##_##field(object, &length); \
    print_text(#field, text, length);                             \
  }
#define TEXT_IS_SET(type, object, field)              \
  {                                                   \
    size_t length = 0;                                \
    rocksdb_##type##_##field(object, &length);        \
    printf("  " #field " is set: %d\n", length != 0); \
  }
#define NAME(type, object, field)                                 \
  {                                                               \
    size_t length = 0;                                            \
    const char* text = rocksdb_##type##_##field(object, &length); \
    print_name(#field, text, length);                             \
  }

#define NUMBERS_OF_A_FILE(F)                                                                                             \
  F(data_size) F(uncompressed_data_size) F(index_size) F(index_partitions) F(top_level_index_size)   \
  F(index_key_is_user_key) F(index_value_is_delta_encoded) F(udi_is_primary_index) F(filter_size) F(raw_key_size)        \
  F(raw_value_size) F(num_data_blocks) F(num_data_blocks_compression_rejected) F(num_data_blocks_compression_bypassed)   \
  F(num_uniform_blocks) F(num_entries) F(num_filter_entries) F(num_deletions) F(num_merge_operands)                      \
  F(num_range_deletions) F(format_version) F(fixed_key_len) F(column_family_id) F(slow_compression_estimated_data_size)  \
  F(fast_compression_estimated_data_size) F(external_sst_file_global_seqno_offset) F(tail_start_offset)                  \
  F(user_defined_timestamps_persisted) F(key_largest_seqno) F(key_smallest_seqno) F(data_block_restart_interval)         \
  F(index_block_restart_interval) F(separate_key_value_in_data_block) F(has_key_largest_seqno) F(has_key_smallest_seqno)
#define TIMES_OF_A_FILE(F) F(orig_file_number) F(creation_time) F(oldest_key_time) F(newest_key_time) F(file_creation_time)
#define TEXTS_OF_A_FILE(F)                                                                                    \
  F(column_family_name) F(filter_policy_name) F(comparator_name) F(merge_operator_name) F(prefix_extractor_name) \
  F(property_collectors_names) F(compression_name) F(compression_options) F(seqno_to_time_mapping)

static void print_properties(const rocksdb_table_properties_t* file) {
#define N(field) NUMBER(table_properties, file, field)
  NUMBERS_OF_A_FILE(N)
#undef N
#define N(field) IS_SET(table_properties, file, field)
  TIMES_OF_A_FILE(N)
#undef N
#define N(field) TEXT(table_properties, file, field)
  TEXTS_OF_A_FILE(N)
#undef N
  TEXT_IS_SET(table_properties, file, db_id)
  TEXT_IS_SET(table_properties, file, db_session_id)
  TEXT_IS_SET(table_properties, file, db_host_id)
  size_t count = rocksdb_table_properties_user_collected_properties_count(file);
  printf("  user collected properties: %d\n", (int)count);
  for (size_t at = 0; at < count; at++) {
    size_t name, value;
    const char* name_at = rocksdb_table_properties_user_collected_properties_key_at(file, at, &name);
    const char* value_at = rocksdb_table_properties_user_collected_properties_value_at(file, at, &value);
    printf("  %.*s, %d bytes", (int)name, name_at, (int)value);
    print_text("", value_at, value);
  }
  count = rocksdb_table_properties_readable_properties_count(file);
  printf("  readable properties: %d\n", (int)count);
  for (size_t at = 0; at < count; at++) {
    size_t name, value;
    const char* name_at = rocksdb_table_properties_readable_properties_key_at(file, at, &name);
    const char* value_at = rocksdb_table_properties_readable_properties_value_at(file, at, &value);
    printf("  %.*s", (int)name, name_at);
    print_text("", value_at, value);
  }
}

static void print_blob_file(const rocksdb_blob_file_addition_info_t* info) {
  printf("  a blob file\n");
  IS_SET(blob_file_addition_info, info, blob_file_number)
  NUMBER(blob_file_addition_info, info, total_blob_bytes)
  NUMBER(blob_file_addition_info, info, total_blob_count)
  NAME(blob_file_addition_info, info, blob_file_path)
}

static void print_statistics(const rocksdb_compaction_job_stats_t* job) {
  printf("  statistics of the job\n");
#define N(field) NUMBER(compaction_job_stats, job, field)
  N(has_accurate_num_input_records) N(num_input_records) N(num_blobs_read) N(num_input_files)
  N(num_input_files_trivially_moved) N(num_input_files_at_output_level) N(num_filtered_input_files)
  N(num_filtered_input_files_at_output_level) N(num_output_records) N(num_output_files) N(num_output_files_blob)
  N(is_full_compaction) N(is_manual_compaction) N(is_remote_compaction) N(total_input_bytes) N(total_blob_bytes_read)
  N(total_output_bytes) N(total_output_bytes_blob) N(total_skipped_input_bytes) N(num_records_replaced)
  N(total_input_raw_key_bytes) N(total_input_raw_value_bytes) N(num_input_deletion_records)
  N(num_expired_deletion_records) N(num_corrupt_keys) N(file_write_nanos) N(file_range_sync_nanos)
  N(file_fsync_nanos) N(file_prepare_write_nanos) N(num_single_del_fallthru) N(num_single_del_mismatch)
#undef N
  IS_SET(compaction_job_stats, job, elapsed_micros)
  TEXT(compaction_job_stats, job, smallest_output_key_prefix)
  TEXT(compaction_job_stats, job, largest_output_key_prefix)
}

static void destroyed(void* state) { (void)state; }

static int lists_properties = 1;

static void print_flush(const rocksdb_flushjobinfo_t* info, int ended) {
#define N(field) NUMBER(flushjobinfo, info, field)
  N(cf_id) N(triggered_writes_slowdown) N(triggered_writes_stop)
  N(smallest_seqno) N(largest_seqno) N(flush_reason) N(blob_compression_type) N(blob_file_addition_infos_count)
#undef N
  IS_SET(flushjobinfo, info, file_number)
  IS_SET(flushjobinfo, info, oldest_blob_file_number)
  IS_SET(flushjobinfo, info, thread_id)
  IS_SET(flushjobinfo, info, job_id)
  TEXT(flushjobinfo, info, cf_name)
  NAME(flushjobinfo, info, file_path)
  size_t files = rocksdb_flushjobinfo_blob_file_addition_infos_count(info);
  for (size_t at = 0; at < files; at++) print_blob_file(rocksdb_flushjobinfo_blob_file_addition_info_at(info, at));
  if (ended && lists_properties) print_properties(rocksdb_flushjobinfo_table_properties(info));
}

static void flush_begins(void* state, rocksdb_t* db, const rocksdb_flushjobinfo_t* info) {
  (void)state, (void)db;
  printf("flush begins\n");
  print_flush(info, 0);
}

static void flush_ends(void* state, rocksdb_t* db, const rocksdb_flushjobinfo_t* info) {
  (void)state, (void)db;
  printf("flush ends\n");
  print_flush(info, 1);
}

static void print_file(const rocksdb_compaction_file_info_t* info) {
  NUMBER(compaction_file_info, info, level)
  IS_SET(compaction_file_info, info, file_number)
  IS_SET(compaction_file_info, info, oldest_blob_file_number)
}

static void print_compaction(const rocksdb_compactionjobinfo_t* info) {
#define N(field) NUMBER(compactionjobinfo, info, field)
  N(cf_id) N(base_input_level) N(output_level) N(compaction_reason) N(compression)
  N(blob_compression_type) N(aborted) N(input_files_count) N(output_files_count) N(num_corrupt_keys) N(input_records)
  N(output_records) N(total_input_bytes) N(total_output_bytes) N(num_input_files) N(num_input_files_at_output_level)
  N(input_file_infos_count) N(output_file_infos_count) N(table_properties_count) N(blob_file_addition_infos_count)
  N(blob_file_garbage_infos_count)
#undef N
  IS_SET(compactionjobinfo, info, thread_id)
  IS_SET(compactionjobinfo, info, job_id)
  TEXT(compactionjobinfo, info, cf_name)
  rocksdb_compactionjobinfo_status(info, &error);
  answer("  status");
  size_t length, count = rocksdb_compactionjobinfo_input_files_count(info);
  for (size_t at = 0; at < count; at++) {
    const char* name = rocksdb_compactionjobinfo_input_file_at(info, at, &length);
    print_name("input", name, length);
  }
  count = rocksdb_compactionjobinfo_output_files_count(info);
  for (size_t at = 0; at < count; at++) {
    const char* name = rocksdb_compactionjobinfo_output_file_at(info, at, &length);
    print_name("output", name, length);
  }
  count = rocksdb_compactionjobinfo_input_file_infos_count(info);
  for (size_t at = 0; at < count; at++) print_file(rocksdb_compactionjobinfo_input_file_info_at(info, at));
  count = rocksdb_compactionjobinfo_output_file_infos_count(info);
  for (size_t at = 0; at < count; at++) print_file(rocksdb_compactionjobinfo_output_file_info_at(info, at));
  count = rocksdb_compactionjobinfo_blob_file_addition_infos_count(info);
  for (size_t at = 0; at < count; at++) print_blob_file(rocksdb_compactionjobinfo_blob_file_addition_info_at(info, at));
  count = rocksdb_compactionjobinfo_table_properties_count(info);
  int found = 0;
  for (size_t at = 0; at < count; at++) {
    const char* name = rocksdb_compactionjobinfo_table_properties_key_at(info, at, &length);
    const rocksdb_table_properties_t* file = rocksdb_compactionjobinfo_table_properties_value_at(info, at);
    const rocksdb_table_properties_t* same = rocksdb_compactionjobinfo_table_properties_for_file(info, name, length);
    found += file != NULL && same != NULL &&
             rocksdb_table_properties_num_entries(file) == rocksdb_table_properties_num_entries(same);
  }
  printf("  properties found by name: %d\n", found);
  printf("  properties of no file: %d\n", rocksdb_compactionjobinfo_table_properties_for_file(info, "x", 1) != NULL);
  print_statistics(rocksdb_compactionjobinfo_stats(info));
}

static void compaction_begins(void* state, rocksdb_t* db, const rocksdb_compactionjobinfo_t* info) {
  (void)state, (void)db;
  printf("compaction begins\n");
  NUMBER(compactionjobinfo, info, num_l0_files)
  print_compaction(info);
}

static void compaction_ends(void* state, rocksdb_t* db, const rocksdb_compactionjobinfo_t* info) {
  (void)state, (void)db;
  printf("compaction ends\n");
  NUMBER(compactionjobinfo, info, num_l0_files)
  print_compaction(info);
  size_t length, count = rocksdb_compactionjobinfo_output_files_count(info);
  for (size_t at = 0; at < count; at++) {
    const char* name = rocksdb_compactionjobinfo_output_file_at(info, at, &length);
    const rocksdb_table_properties_t* file = rocksdb_compactionjobinfo_table_properties_for_file(info, name, length);
    if (file != NULL) print_properties(file);
  }
}

static void print_part(const rocksdb_subcompactionjobinfo_t* info) {
#define N(field) NUMBER(subcompactionjobinfo, info, field)
  N(cf_id) N(subcompaction_job_id) N(base_input_level) N(output_level) N(compaction_reason) N(compression)
  N(blob_compression_type)
#undef N
  IS_SET(subcompactionjobinfo, info, thread_id)
  IS_SET(subcompactionjobinfo, info, job_id)
  TEXT(subcompactionjobinfo, info, cf_name)
  rocksdb_subcompactionjobinfo_status(info, &error);
  answer("  status");
  print_statistics(rocksdb_subcompactionjobinfo_stats(info));
}

static void part_begins(void* state, const rocksdb_subcompactionjobinfo_t* info) {
  (void)state;
  printf("subcompaction begins\n");
  print_part(info);
}

static void part_ends(void* state, const rocksdb_subcompactionjobinfo_t* info) {
  (void)state;
  printf("subcompaction ends\n");
  print_part(info);
}

static void ingested(void* state, rocksdb_t* db, const rocksdb_externalfileingestioninfo_t* info) {
  (void)state, (void)db;
  printf("ingested\n");
  NUMBER(externalfileingestioninfo, info, global_seqno)
  TEXT(externalfileingestioninfo, info, cf_name)
  NAME(externalfileingestioninfo, info, external_file_path)
  NAME(externalfileingestioninfo, info, internal_file_path)
  print_properties(rocksdb_externalfileingestioninfo_table_properties(info));
}

static void failed(void* state, uint32_t reason, rocksdb_status_ptr_t* status) {
  (void)state;
  rocksdb_status_ptr_get_error(status, &error);
  printf("background error of reason %u\n", reason);
  answer("  status");
  rocksdb_status_ptr_get_error(status, &error);
  answer("  status again");
  rocksdb_reset_status(status);
  rocksdb_status_ptr_get_error(status, &error);
  answer("  status after the reset");
}

static void stalled(void* state, const rocksdb_writestallinfo_t* info) {
  (void)state;
  printf("write stall changes\n");
  TEXT(writestallinfo, info, cf_name)
  printf("  has conditions: %d %d\n", rocksdb_writestallinfo_prev(info) != NULL, rocksdb_writestallinfo_cur(info) != NULL);
}

static void sealed(void* state, const rocksdb_memtableinfo_t* info) {
  (void)state;
  printf("memtable is immutable\n");
  NUMBER(memtableinfo, info, first_seqno)
  NUMBER(memtableinfo, info, earliest_seqno)
  NUMBER(memtableinfo, info, num_entries)
  NUMBER(memtableinfo, info, num_deletes)
  TEXT(memtableinfo, info, cf_name)
  TEXT(memtableinfo, info, newest_udt)
}

static char* merge_some(void* state, const char* key, size_t key_len, const char* const* operands, const size_t* lengths,
                        int count, unsigned char* success, size_t* new_len) {
  return merge_all(state, key, key_len, NULL, 0, operands, lengths, count, success, new_len);
}

static const char* name(void* state) {
  (void)state;
  return "Joined";
}

static void add_listener(rocksdb_options_t* options) {
  rocksdb_options_add_eventlistener(
      options, rocksdb_eventlistener_create(NULL, destroyed, flush_begins, flush_ends, compaction_begins, compaction_ends,
                                            part_begins, part_ends, ingested, failed, stalled, sealed));
}

static rocksdb_options_t* new_options(void) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_compression(options, rocksdb_no_compression);
  rocksdb_options_set_merge_operator(options,
                                     rocksdb_mergeoperator_create(NULL, destroyed, merge_all, merge_some, NULL, name));
  add_listener(options);
  return options;
}

static rocksdb_t* open_new(const char* directory, const char* name, rocksdb_options_t* options) {
  printf("== %s\n", name);
  snprintf(path, sizeof path, "%s/%s", directory, name);
  rocksdb_destroy_db(options, path, &error);
  rocksdb_free(error);
  error = NULL;
  rocksdb_t* db = rocksdb_open(options, path, &error);
  answer("open");
  return db;
}

static void put(rocksdb_t* db, const char* key, const char* value) {
  rocksdb_put(db, write_options, key, strlen(key), value, strlen(value), &error);
  if (error != NULL) answer("put");
}

static void put_many(rocksdb_t* db, int from, int to, const char* word) {
  char key[32], value[64];
  for (int at = from; at < to; at++) {
    snprintf(key, sizeof key, "key%05d", at);
    snprintf(value, sizeof value, "%s %d and some more bytes", word, at);
    put(db, key, value);
  }
}

static void all_kinds(const char* directory) {
  rocksdb_options_t* options = new_options();
  rocksdb_block_based_table_options_t* table = rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(10));
  rocksdb_block_based_options_set_block_size(table, 512);
  rocksdb_block_based_options_set_index_block_restart_interval(table, 4);
  rocksdb_options_set_block_based_table_factory(options, table);
  rocksdb_options_set_prefix_extractor(options, rocksdb_slicetransform_create_fixed_prefix(4));
  rocksdb_options_add_compact_on_deletion_collector_factory_min_file_size(options, 10, 5, 0.5, 100);
  rocksdb_options_set_disable_auto_compactions(options, 1);
  rocksdb_t* db = open_new(directory, "kinds", options);
  put_many(db, 0, 100, "first");
  rocksdb_merge(db, write_options, "key00001", 8, "+m", 2, &error);
  rocksdb_flush(db, flush_options, &error);
  answer("flush");
  rocksdb_delete(db, write_options, "key00002", 8, &error);
  rocksdb_singledelete(db, write_options, "key00003", 8, &error);
  rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
  rocksdb_delete_range_cf(db, write_options, family, "key00010", 8, "key00020", 8, &error);
  rocksdb_merge(db, write_options, "new", 3, "+n", 2, &error);
  rocksdb_flush(db, flush_options, &error);
  answer("flush");
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  rocksdb_block_based_options_destroy(table);
  rocksdb_options_destroy(options);
}

static void partitions(const char* directory) {
  rocksdb_options_t* options = new_options();
  rocksdb_block_based_table_options_t* table = rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_ribbon(10));
  rocksdb_block_based_options_set_block_size(table, 512);
  rocksdb_block_based_options_set_index_type(table, rocksdb_block_based_table_index_type_two_level_index_search);
  rocksdb_block_based_options_set_partition_filters(table, 1);
  rocksdb_block_based_options_set_metadata_block_size(table, 256);
  rocksdb_options_set_block_based_table_factory(options, table);
  rocksdb_options_set_disable_auto_compactions(options, 1);
  rocksdb_options_set_level0_file_num_compaction_trigger(options, 2);
  rocksdb_options_set_level0_slowdown_writes_trigger(options, 20);
  rocksdb_options_set_level0_stop_writes_trigger(options, 36);
  rocksdb_t* db = open_new(directory, "partitions", options);
  put_many(db, 0, 200, "first");
  rocksdb_flush(db, flush_options, &error);
  answer("flush");
  put_many(db, 500, 600, "second");
  rocksdb_flush(db, flush_options, &error);
  answer("flush");
  /* This thread prints nothing while the compaction runs. */
  const char* const names[] = {"disable_auto_compactions"};
  const char* const values[] = {"false"};
  rocksdb_set_options(db, 1, names, values, &error);
  rocksdb_wait_for_compact_options_t* wait = rocksdb_wait_for_compact_options_create();
  rocksdb_wait_for_compact(db, wait, &error);
  answer("wait");
  rocksdb_wait_for_compact_options_destroy(wait);
  rocksdb_close(db);
  rocksdb_block_based_options_destroy(table);
  rocksdb_options_destroy(options);
}

static void blobs(const char* directory) {
  rocksdb_options_t* options = new_options();
  rocksdb_options_set_disable_auto_compactions(options, 1);
  rocksdb_options_set_enable_blob_files(options, 1);
  rocksdb_options_set_min_blob_size(options, 10);
  rocksdb_options_set_enable_blob_gc(options, 1);
  rocksdb_options_set_blob_gc_age_cutoff(options, 1.0);
  lists_properties = 0;
  rocksdb_t* db = open_new(directory, "blobs", options);
  put_many(db, 0, 20, "first");
  rocksdb_flush(db, flush_options, &error);
  answer("flush");
  put_many(db, 0, 10, "second");
  rocksdb_flush(db, flush_options, &error);
  answer("flush");
  rocksdb_compact_range(db, NULL, 0, NULL, 0);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

static void files_by_name(const char* directory) {
  rocksdb_options_t* options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_compression(options, rocksdb_no_compression);
  rocksdb_options_set_disable_auto_compactions(options, 1);
  /* The listener gets the subcompactions of `rocksdb_compact_files`, and neither its start nor its end. */
  add_listener(options);
  lists_properties = 0;
  rocksdb_t* db = open_new(directory, "names", options);
  put_many(db, 0, 20, "first");
  rocksdb_flush(db, flush_options, &error);
  put_many(db, 5, 10, "second");
  rocksdb_flush(db, flush_options, &error);
  rocksdb_compaction_options_t* how = rocksdb_compaction_options_create();
  rocksdb_compaction_options_set_compression(how, rocksdb_no_compression);
  const rocksdb_livefiles_t* files = rocksdb_livefiles(db);
  int count = rocksdb_livefiles_count(files);
  const char* names[8];
  for (int at = 0; at < count; at++) {
    names[at] = rocksdb_livefiles_name(files, at);
    size_t small, large;
    const char* first = rocksdb_livefiles_smallestkey(files, at, &small);
    const char* last = rocksdb_livefiles_largestkey(files, at, &large);
    printf("file of level %d: %d bytes, %.*s to %.*s, #%d to #%d, entries %d, deletions %d, same directory %d\n",
           rocksdb_livefiles_level(files, at), (int)rocksdb_livefiles_size(files, at), (int)small, first, (int)large, last,
           (int)rocksdb_livefiles_smallest_seqno(files, at), (int)rocksdb_livefiles_largest_seqno(files, at),
           (int)rocksdb_livefiles_entries(files, at), (int)rocksdb_livefiles_deletions(files, at),
           strcmp(rocksdb_livefiles_directory(files, at), path) == 0);
  }
  char** outputs = NULL;
  size_t made = 77;
  rocksdb_compactionjobinfo_t* info = rocksdb_compactionjobinfo_create();
  const char* unknown[] = {"/999999.sst"};
  rocksdb_compact_files(db, how, unknown, 1, 1, -1, &outputs, &made, NULL, &error);
  printf("%s\n", error == NULL ? "ok" : error);
  rocksdb_free(error), error = NULL;
  printf("outputs %d %d\n", outputs != NULL, (int)made);
  rocksdb_compact_files(db, how, names, 0, 1, -1, &outputs, &made, NULL, &error);
  printf("%s\n", error == NULL ? "ok" : error);
  rocksdb_free(error), error = NULL;
  rocksdb_compact_files(db, how, names, (size_t)count, 99, -1, &outputs, &made, NULL, &error);
  printf("%s\n", error == NULL ? "ok" : error);
  rocksdb_free(error), error = NULL;
  rocksdb_compact_files(db, how, names, (size_t)count, 2, -1, &outputs, &made, info, &error);
  printf("%s\n", error == NULL ? "ok" : error);
  rocksdb_free(error), error = NULL;
  printf("outputs %d\n", (int)made);
  for (size_t at = 0; at < made; at++) print_name("output", outputs[at], strlen(outputs[at]));
  print_compaction(info);
  rocksdb_compact_files_output_file_names_destroy(outputs, made);
  rocksdb_compact_files(db, how, names, (size_t)count, 2, -1, NULL, NULL, NULL, &error);
  answer("files that are gone");
  rocksdb_compactionjobinfo_destroy(info);
  rocksdb_livefiles_destroy(files);
  rocksdb_compaction_options_destroy(how);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

static void ingestions(const char* directory) {
  rocksdb_options_t* options = new_options();
  lists_properties = 0;
  rocksdb_t* db = open_new(directory, "ingestions", options);
  put_many(db, 0, 10, "first");
  char file[1100];
  snprintf(file, sizeof file, "%s/outside.sst", path);
  rocksdb_envoptions_t* env_options = rocksdb_envoptions_create();
  rocksdb_sstfilewriter_t* writer = rocksdb_sstfilewriter_create(env_options, options);
  rocksdb_sstfilewriter_open(writer, file, &error);
  answer("writer");
  rocksdb_sstfilewriter_put(writer, "key00003", 8, "three", 5, &error);
  rocksdb_sstfilewriter_merge(writer, "key00004", 8, "+four", 5, &error);
  rocksdb_sstfilewriter_delete(writer, "key00005", 8, &error);
  rocksdb_sstfilewriter_add(writer, "key00005", 8, "again", 5, &error);
  printf("%s\n", error == NULL ? "ok" : error);
  rocksdb_free(error), error = NULL;
  rocksdb_sstfilewriter_add(writer, "key00001", 8, "again", 5, &error);
  printf("%s\n", error == NULL ? "ok" : error);
  rocksdb_free(error), error = NULL;
  rocksdb_sstfilewriter_add(writer, "key00006", 8, "six", 3, &error);
  answer("add");
  rocksdb_sstfilewriter_finish(writer, &error);
  answer("finish");
  rocksdb_sstfilewriter_finish(writer, &error);
  printf("%s\n", error == NULL ? "ok" : error);
  rocksdb_free(error), error = NULL;
  rocksdb_ingestexternalfileoptions_t* how = rocksdb_ingestexternalfileoptions_create();
  printf("defaults: %d %d %d %d\n", rocksdb_ingestexternalfileoptions_get_allow_blocking_flush(how),
         rocksdb_ingestexternalfileoptions_get_allow_global_seqno(how),
         rocksdb_ingestexternalfileoptions_get_fail_if_not_bottommost_level(how),
         rocksdb_ingestexternalfileoptions_get_ingest_behind(how));
  rocksdb_ingestexternalfileoptions_set_allow_global_seqno(how, 0);
  const char* list[] = {file};
  rocksdb_column_family_handle_t* family = rocksdb_get_default_column_family_handle(db);
  rocksdb_ingest_external_file_cf(db, family, list, 1, how, &error);
  printf("%s\n", error == NULL ? "ok" : error);
  rocksdb_free(error), error = NULL;
  rocksdb_ingestexternalfileoptions_set_allow_global_seqno(how, 1);
  rocksdb_ingestexternalfileoptions_set_allow_blocking_flush(how, 0);
  rocksdb_ingest_external_file_cf(db, family, list, 1, how, &error);
  printf("%s\n", error == NULL ? "ok" : error);
  rocksdb_free(error), error = NULL;
  rocksdb_ingestexternalfileoptions_set_allow_blocking_flush(how, 1);
  rocksdb_ingestexternalfileoptions_set_ingest_behind(how, 0);
  rocksdb_ingestexternalfileoptions_set_fail_if_not_bottommost_level(how, 1);
  rocksdb_ingest_external_file_cf(db, family, list, 1, how, &error);
  printf("%s\n", error == NULL ? "ok" : error);
  rocksdb_free(error), error = NULL;
  rocksdb_ingestexternalfileoptions_set_fail_if_not_bottommost_level(how, 0);
  rocksdb_ingest_external_file_cf(db, family, list, 1, how, &error);
  printf("%s\n", error == NULL ? "ok" : error);
  rocksdb_free(error), error = NULL;
  rocksdb_ingest_external_file_cf(db, family, list, 0, how, &error);
  printf("%s\n", error == NULL ? "ok" : error);
  rocksdb_free(error), error = NULL;
  const char* absent[] = {"/no/such/file.sst"};
  rocksdb_ingest_external_file_cf(db, family, absent, 1, how, &error);
  printf("%s\n", error == NULL ? "ok" : error);
  rocksdb_free(error), error = NULL;
  rocksdb_ingestexternalfileoptions_destroy(how);
  rocksdb_sstfilewriter_destroy(writer);
  rocksdb_envoptions_destroy(env_options);
  rocksdb_column_family_handle_destroy(family);
  rocksdb_close(db);
  rocksdb_options_destroy(options);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  mkdir(argv[1], 0755);
  write_options = rocksdb_writeoptions_create();
  read_options = rocksdb_readoptions_create();
  flush_options = rocksdb_flushoptions_create();
  all_kinds(argv[1]);
  partitions(argv[1]);
  blobs(argv[1]);
  files_by_name(argv[1]);
  ingestions(argv[1]);
  rocksdb_flushoptions_destroy(flush_options);
  rocksdb_writeoptions_destroy(write_options);
  rocksdb_readoptions_destroy(read_options);
  return 0;
}
