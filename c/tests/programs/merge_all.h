// A merge operator of the programs: the value and all operands, one after the other.

#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static char* merge_all(void* state, const char* key, size_t key_len, const char* value, size_t value_len,
                       const char* const* operands, const size_t* lengths, int count, unsigned char* success,
                       size_t* new_len) {
  (void)state, (void)key, (void)key_len;
  size_t total = value == NULL ? 0 : value_len;
  for (int at = 0; at < count; at++) total += lengths[at];
  char* merged = malloc(total + 1);
  size_t end = 0;
  if (value != NULL) memcpy(merged, value, value_len), end = value_len;
  for (int at = 0; at < count; at++) memcpy(merged + end, operands[at], lengths[at]), end += lengths[at];
  *success = 1, *new_len = end;
  return merged;
}
