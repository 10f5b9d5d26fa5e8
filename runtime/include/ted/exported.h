/* What headers of exported functions share: arrays, reports, and how a call ends.
 *
 * `ted.export` writes for a function `f` its header, with `struct f_arguments`, an array for each
 * argument and result in the order of the program, and an object file, which defines
 *     int f(const struct f_arguments *arguments, struct ted_report *report);
 * Arrays are dense, the last dim varies fastest, and belong to the caller. Results may not share
 * bytes with other arrays. A call may come from any thread, and from several at once.
 */
#ifndef TED_EXPORTED_H
#define TED_EXPORTED_H

#include <stdint.h>

#include "ted/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a call gives, beside TED_OK and what `enum ted_status` has for faults inside the program. */
enum ted_refusal {
  TED_WRONG_SIZE = 16,  /* `argument` has `value` elements, and needs `extent` */
  TED_NO_DATA = 17,     /* `argument` has elements, and its pointer is NULL */
  TED_MISALIGNED = 18,  /* `argument` does not lie at a multiple of the size of an element */
  TED_SHARED_BYTES = 19, /* result `argument` shares bytes with another array */
  TED_OTHER_CPU = 20,   /* this machine does not have the instructions `place` of the code */
  TED_OTHER_SIZES = 21, /* no version is for `value` elements of `argument` and those before it */
  TED_OTHER_RUNTIME = 22, /* the object is of version `value`, libted_runtime of `extent` */
  TED_NO_ARGUMENTS = 23 /* the struct of the arguments is NULL */
};

/* More about a call that did not end with TED_OK. Texts live as long as the code. */
struct ted_report {
  const char *function; /* its name */
  const char *argument; /* the argument, or the tensor that was indexed */
  const char *place;    /* the line of the program, empty where it is not known */
  int64_t dim, value, extent; /* of an index out of range; else see above */
  int64_t bytes;        /* TED_OUT_OF_MEMORY: that could not be had */
  int64_t peak;         /* TED_OK: of temporary buffers, at most at once */
  int32_t met;          /* of `enum ted_met`: with subnormal operands a call takes long */
};

/* A sentence about how a call ended; of as many bytes as fit, which `snprintf` returns. */
TED_SHOWN int ted_report_text(int status, const struct ted_report *report, char *text, int64_t room);

/* The first of some names of instructions, the last of which is empty, that this machine does not
 * have, or NULL. Names are LLVM's. */
TED_EXPORT const char *ted_cpu_lacks(const char *names);

/* ---- What object files hold; their authors are programs. */

enum { TED_EXPORTED_VERSION = 3 };

struct ted_array {
  void *data;
  int64_t count;
};

/* An array of a packed call: a constant, which callers do not give, or an argument. */
struct ted_parameter {
  const char *name;
  const void *constant;
  int64_t count;
  int32_t element_bytes, is_result;
};

struct ted_access {
  const char *tensor, *place;
};

struct ted_version {
  void (*code)(void **); /* of pointers to the data of all parameters, as MLIR packs them */
  int64_t count;         /* of the parameters: other versions may have other constants */
  const struct ted_parameter *parameters; /* inputs, constants, results */
  const struct ted_access *accesses;
};

struct ted_function {
  const char *name;
  int32_t format, threads;
  int32_t subnormals; /* enum ted_subnormals */
  int64_t versions;
  const struct ted_version *of; /* that differ in counts of elements */
  const char *instructions;     /* names, the last one is empty */
};

TED_EXPORT int ted_function_call(const struct ted_function *function,
                                 const struct ted_array *arguments, struct ted_report *report);

#ifdef __cplusplus
}
#endif

#endif
