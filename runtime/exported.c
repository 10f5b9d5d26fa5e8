/* Calls of exported functions by programs in C: arguments are checked, then the code runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ted/exported.h"

enum { MOST_ON_STACK = 64 }; /* arguments */

#if defined(__x86_64__) && defined(__GNUC__)
#define HAS(name) (strcmp(wanted, name) == 0 && __builtin_cpu_supports(name))

static bool has_instructions(const char *wanted) {
  __builtin_cpu_init();
  if (strcmp(wanted, "f16c") == 0) /* older compilers do not know it; what has AVX2 has it */
    return __builtin_cpu_supports("avx2");
  return HAS("sse2") || HAS("avx2") || HAS("fma") || HAS("avx512f") || HAS("avx512bw") ||
         HAS("avx512dq") || HAS("avx512vl") || HAS("avx512bf16");
}
#elif defined(_M_X64) /* MSVC: what every such CPU has */
static bool has_instructions(const char *wanted) { return strcmp(wanted, "sse2") == 0; }
#else
static bool has_instructions(const char *wanted) { return strcmp(wanted, "neon") == 0; }
#endif

const char *ted_cpu_lacks(const char *names) {
  for (; *names; names += strlen(names) + 1)
    if (!has_instructions(names))
      return names;
  return NULL;
}

/* A parameter that a caller gives, and what was given. */
struct pair {
  const struct ted_parameter *parameter;
  const struct ted_array *array;
};

static bool share_bytes(struct pair a, struct pair b) {
  const char *first = a.array->data, *second = b.array->data;
  int64_t bytes = a.parameter->count * a.parameter->element_bytes;
  int64_t others = b.parameter->count * b.parameter->element_bytes;
  return bytes && others && first < second + others && second < first + bytes;
}

static int refuse(struct ted_report *report, int why, const char *name, int64_t value,
                  int64_t extent) {
  report->argument = name;
  report->value = value;
  report->extent = extent;
  return why;
}

static int check_array(struct pair given, struct ted_report *report) {
  const struct ted_parameter *wanted = given.parameter;
  if (given.array->count != wanted->count)
    return refuse(report, TED_WRONG_SIZE, wanted->name, given.array->count, wanted->count);
  if (wanted->count && !given.array->data)
    return refuse(report, TED_NO_DATA, wanted->name, 0, wanted->count);
  if ((uintptr_t)given.array->data % (uintptr_t)wanted->element_bytes)
    return refuse(report, TED_MISALIGNED, wanted->name, 0, wanted->element_bytes);
  return TED_OK;
}

/* Results are memory of their own for the code. */
static int check_apart(const struct pair *pairs, int64_t count, struct ted_report *report) {
  for (int64_t i = 0; i < count; i++)
    for (int64_t j = 0; pairs[i].parameter->is_result && j < count; j++)
      if (i != j && share_bytes(pairs[i], pairs[j]))
        return refuse(report, TED_SHARED_BYTES, pairs[i].parameter->name, 0, 0);
  return TED_OK;
}

/* Pairs of a version, in `pairs`; `data` gets where the code finds all arrays. */
static int64_t paired(const struct ted_version *version, const struct ted_array *arguments, struct pair *pairs, const void **data) {
  int64_t given = 0;
  for (int64_t k = 0; k < version->count; k++) {
    const struct ted_parameter *parameter = &version->parameters[k];
    data[k] = parameter->constant;
    if (parameter->constant)
      continue;
    data[k] = arguments[given].data;
    pairs[given] = (struct pair){parameter, &arguments[given]};
    given++;
  }
  return given;
}

/* The number of arguments before the first one whose count does not fit. */
static int64_t fitting(const struct pair *pairs, int64_t count) {
  int64_t k = 0;
  while (k < count && pairs[k].array->count == pairs[k].parameter->count)
    k++;
  return k;
}

static int run(const struct ted_function *function, const struct ted_version *version,
               void **packed, struct ted_report *report) {
  struct ted_call call;
  int status = ted_call_run(&call, version->code, packed, function->threads,
                            (enum ted_subnormals)function->subnormals);
  report->met = call.met;
  report->bytes = call.failed_bytes;
  report->peak = call.peak;
  if (status == TED_INDEX_FAULT) {
    const struct ted_access *access = &version->accesses[call.fault.tensor_id];
    report->place = access->place;
    report->dim = call.fault.dim;
    return refuse(report, status, access->tensor, call.fault.value, call.fault.extent);
  }
  return status;
}

static int call_with(const struct ted_function *function, const struct ted_array *arguments,
                     struct ted_report *report, struct pair *pairs, const void **data,
                     void **packed) {
  int64_t given = 0, chosen = 0, most = 0;
  for (; chosen < function->versions; chosen++) {
    given = paired(&function->of[chosen], arguments, pairs, data);
    int64_t fit = fitting(pairs, given);
    if (fit == given)
      break;
    most = fit > most ? fit : most; /* with those before it, this argument leaves no version */
  }
  if (chosen == function->versions && chosen > 1)
    return refuse(report, TED_OTHER_SIZES, pairs[most].parameter->name, arguments[most].count, 0);
  for (int64_t k = 0, status; k < given; k++)
    if ((status = check_array(pairs[k], report)) != TED_OK)
      return (int)status;
  int status = check_apart(pairs, given, report);
  if (status != TED_OK)
    return status;
  for (int64_t k = 0; k < function->of[chosen].count; k++)
    packed[k] = &data[k];
  return run(function, &function->of[chosen], packed, report);
}

int ted_function_call(const struct ted_function *function, const struct ted_array *arguments,
                      struct ted_report *report) {
  struct ted_report nobody;
  report = report ? report : &nobody;
  *report = (struct ted_report){.function = function->name, .argument = "", .place = ""};
  if (function->format != TED_EXPORTED_VERSION)
    return refuse(report, TED_OTHER_RUNTIME, "", function->format, TED_EXPORTED_VERSION);
  if (!arguments)
    return refuse(report, TED_NO_ARGUMENTS, "", 0, 0);
  const char *missing = ted_cpu_lacks(function->instructions);
  if (missing) {
    report->place = missing;
    return TED_OTHER_CPU;
  }
  int64_t most = 0;
  for (int64_t k = 0; k < function->versions; k++)
    most = function->of[k].count > most ? function->of[k].count : most;
  if (most <= MOST_ON_STACK) {
    struct pair pairs[MOST_ON_STACK];
    const void *data[MOST_ON_STACK];
    void *packed[MOST_ON_STACK];
    return call_with(function, arguments, report, pairs, data, packed);
  }
  size_t count = (size_t)most, bytes = sizeof(struct pair) + 2 * sizeof(void *);
  struct pair *pairs = malloc(count * bytes);
  if (!pairs)
    return report->bytes = (int64_t)(count * bytes), TED_OUT_OF_MEMORY;
  const void **data = (const void **)(pairs + count);
  int status = call_with(function, arguments, report, pairs, data, (void **)(data + count));
  return free(pairs), status;
}

static int text_of(int status, const struct ted_report *report, char *text, size_t room) {
  const char *name = report->argument, *place = report->place;
  long long value = report->value, extent = report->extent, dim = report->dim;
  switch (status) {
  case TED_OK:
    return snprintf(text, room, "the call ended well");
  case TED_INDEX_FAULT:
    if (strstr(name, ", got")) /* a rule, with what was found behind it */
      return snprintf(text, room, "%s %lld%s%s", name, value, *place ? ", at " : "", place);
    return snprintf(text, room,
                    "index out of range: tensor %s has extent %lld in dim %lld, got index %lld%s%s",
                    name, extent, dim, value, *place ? ", at " : "", place);
  case TED_OUT_OF_MEMORY:
    return snprintf(text, room, "out of memory: cannot allocate %lld bytes",
                    (long long)report->bytes);
  case TED_ENDLESS:
    return snprintf(text, room, "a loop ends by its condition, got 2**31 - 3 steps");
  case TED_INTERRUPTED:
    return snprintf(text, room, "the call was interrupted");
  case TED_WRONG_SIZE:
    return snprintf(text, room, "argument %s needs %lld elements, got %lld", name, extent, value);
  case TED_NO_DATA:
    return snprintf(text, room, "argument %s needs %lld elements, got NULL", name, extent);
  case TED_MISALIGNED:
    return snprintf(text, room, "argument %s must lie at a multiple of %lld bytes", name, extent);
  case TED_SHARED_BYTES:
    return snprintf(text, room, "result %s must not share bytes with another array", name);
  case TED_OTHER_CPU:
    return snprintf(text, room, "the code needs a CPU with %s, which this machine is not", place);
  case TED_OTHER_SIZES:
    return snprintf(text, room, "no version takes these sizes, got %lld elements of %s", value, name);
  case TED_OTHER_RUNTIME:
    return snprintf(text, room, "the code is of format %lld, libted_runtime of %lld", value, extent);
  case TED_NO_ARGUMENTS:
    return snprintf(text, room, "a call takes a struct of arguments, got NULL");
  default:
    return snprintf(text, room, "status %d", status);
  }
}

int ted_report_text(int status, const struct ted_report *report, char *text, int64_t room) {
  int64_t given = room > 0 ? room : 0;
  int name = snprintf(text, (size_t)given, "%s: ", report->function);
  int64_t used = name < given ? name : given;
  return name + text_of(status, report, text + used, (size_t)(given - used));
}
