/* Calls of compiled functions by XLA, whose handler finds a function by the number in its call.
 *
 * Source: the C interface of XLA's foreign functions, xla/ffi/api/c_api.h of jaxlib 0.10.2, version
 * 0.3. Of its structures stand here the fields up to the last one that is read.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ted/platform.h"
#include "ted/xla.h"

enum { METADATA = 1, EXECUTE = 3, MAJOR = 0, MINOR = 3, MOST_ON_STACK = 64 };
enum { CANCELLED = 1, INVALID_ARGUMENT = 3, NOT_FOUND = 5, RESOURCE_EXHAUSTED = 8, OUT_OF_RANGE = 11 };

struct extension {
  size_t struct_size;
  int type;
  struct extension *next;
};

struct version {
  size_t struct_size;
  void *extensions;
  int major, minor;
};

struct metadata {
  size_t struct_size;
  struct version version;
  uint32_t traits;
};

struct metadata_extension {
  struct extension base;
  struct metadata *metadata;
};

struct error_arguments {
  size_t struct_size;
  void *extensions;
  const char *message;
  int code;
};

struct api {
  size_t struct_size;
  void *extensions;
  struct version version;
  const void *internal;
  void *(*create_error)(struct error_arguments *);
};

struct buffer {
  size_t struct_size;
  void *extensions;
  int dtype;
  void *data;
  int64_t rank, *dims;
};

struct list { /* of arguments or of results */
  size_t struct_size;
  void *extensions;
  int64_t size;
  int *types;
  void **items;
};

struct span {
  const char *start;
  size_t length;
};

struct scalar {
  int dtype;
  void *value;
};

struct attributes {
  size_t struct_size;
  void *extensions;
  int64_t size;
  int *types;
  struct span **names;
  void **items;
};

struct frame {
  size_t struct_size;
  struct extension *extensions;
  const struct api *api;
  void *context;
  int stage;
  struct list arguments, results;
  struct attributes attributes;
};

/* Functions by their numbers; none is ever taken out, for XLA keeps what it compiled. */
struct entry {
  int64_t number;
  const struct ted_function *function;
  struct entry *next;
};

enum { BUCKETS = 256 };
static ted_atomic buckets[BUCKETS]; /* each is the address of an entry */

static ted_atomic *bucket(int64_t number) {
  return &buckets[(uint64_t)number % BUCKETS];
}

static const struct ted_function *find(int64_t number) {
  struct entry *one = (struct entry *)(intptr_t)ted_get(bucket(number));
  while (one && one->number != number)
    one = one->next;
  return one ? one->function : NULL;
}

int ted_xla_register(int64_t number, const struct ted_function *function) {
  if (find(number))
    return TED_OK;
  struct entry *made = malloc(sizeof *made);
  if (!made)
    return TED_OUT_OF_MEMORY;
  *made = (struct entry){number, function, NULL};
  int64_t first = ted_get(bucket(number));
  do
    made->next = (struct entry *)(intptr_t)first;
  while (!ted_replace(bucket(number), &first, (int64_t)(intptr_t)made));
  return TED_OK;
}

static void *fail(const struct frame *frame, int code, const char *message) {
  struct error_arguments arguments = {sizeof arguments, NULL, message, code};
  return frame->api->create_error(&arguments);
}

static void describe(const struct frame *frame) {
  const struct metadata_extension *asked = (const void *)frame->extensions;
  struct metadata *metadata = asked->metadata;
  metadata->version.major = MAJOR;
  metadata->version.minor = MINOR;
  metadata->traits = 0;
}

static const struct ted_function *named(const struct attributes *given) {
  for (int64_t k = 0; k < given->size; k++)
    if (given->names[k]->length == 7 && memcmp(given->names[k]->start, "program", 7) == 0) {
      const struct scalar *scalar = given->items[k];
      return find(*(const int64_t *)scalar->value);
    }
  return NULL;
}

static struct ted_array array_of(const struct buffer *buffer) {
  struct ted_array array = {buffer->data, 1};
  for (int64_t k = 0; k < buffer->rank; k++)
    array.count *= buffer->dims[k];
  return array;
}

static int64_t given(const struct ted_function *function) {
  int64_t count = 0;
  for (int64_t k = 0; k < function->of[0].count; k++)
    count += !function->of[0].parameters[k].constant;
  return count;
}

static void *call_on(const struct frame *frame, const struct ted_function *function,
                     struct ted_array *arrays) {
  int64_t inputs = frame->arguments.size, results = frame->results.size;
  for (int64_t k = 0; k < inputs; k++)
    arrays[k] = array_of(frame->arguments.items[k]);
  for (int64_t k = 0; k < results; k++)
    arrays[inputs + k] = array_of(frame->results.items[k]);
  struct ted_report report;
  int status = ted_function_call(function, arrays, &report);
  if (status == TED_OK)
    return NULL;
  char text[512];
  ted_report_text(status, &report, text, sizeof text);
  int code = status == TED_INDEX_FAULT     ? OUT_OF_RANGE
             : status == TED_INTERRUPTED   ? CANCELLED
             : status == TED_OUT_OF_MEMORY ? RESOURCE_EXHAUSTED
                                           : INVALID_ARGUMENT;
  return fail(frame, code, text);
}

void *ted_xla_call(void *call_frame) {
  const struct frame *frame = call_frame;
  if (frame->extensions && frame->extensions->type == METADATA)
    return describe(frame), NULL;
  if (frame->stage != EXECUTE)
    return NULL;
  const struct ted_function *function = named(&frame->attributes);
  if (!function)
    return fail(frame, NOT_FOUND,
                "ted: a program that was compiled by another process is not here; trace it again");
  int64_t count = frame->arguments.size + frame->results.size;
  if (count != given(function))
    return fail(frame, INVALID_ARGUMENT, "ted: a call has the arguments and results of its program");
  struct ted_array few[MOST_ON_STACK];
  if (count <= MOST_ON_STACK)
    return call_on(frame, function, few);
  struct ted_array *many = malloc((size_t)count * sizeof *many);
  void *error = many ? call_on(frame, function, many)
                     : fail(frame, RESOURCE_EXHAUSTED, "ted: out of memory");
  return free(many), error;
}
