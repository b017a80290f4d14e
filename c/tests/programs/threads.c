/* Loads the library and counts the threads of the process before and after.
 *
 *   threads DIRECTORY     prints both numbers; the directory is not used */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>

static int threads(void) {
  DIR* tasks = opendir("/proc/self/task");
  int count = 0;
  if (tasks == NULL) return -1;
  for (struct dirent* entry; (entry = readdir(tasks)) != NULL;) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

int main(void) {
  printf("threads before the load: %d\n", threads());
  void* library = dlopen("librocksdb.so.11", RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  /* The library is used, and not only mapped. */
  void* (*create)(void) = (void* (*)(void))dlsym(library, "rocksdb_options_create");
  void (*destroy)(void*) = (void (*)(void*))dlsym(library, "rocksdb_options_destroy");
  destroy(create());
  printf("threads after the load: %d\n", threads());
  return 0;
}
