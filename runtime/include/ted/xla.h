/* Compiled functions for XLA: a handler for all of them, which numbers tell apart. */
#ifndef TED_XLA_H
#define TED_XLA_H

#include "ted/exported.h"

/* Gives a function a number, which its contents decide; what was there under it stays. The function
 * must live as long as the process. TED_OK, or TED_OUT_OF_MEMORY. */
TED_EXPORT int ted_xla_register(int64_t number, const struct ted_function *function);

/* The handler: runs the function whose number is the attribute `program` of the call. */
TED_EXPORT void *ted_xla_call(void *call_frame);

#endif
