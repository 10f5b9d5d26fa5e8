/* Calls, and parts of calls, as the runtime's source files share them. */
#ifndef TED_CALL_H
#define TED_CALL_H

#include "ted/runtime.h"

/* Makes `call` the one that this thread runs, as a part of `whole` if that is not NULL: memory that
 * it takes counts there. Who begins a call sets its `escape` before compiled code runs. */
void ted_call_begin(struct ted_call *call, struct ted_call *whole);
/* Frees what the call still holds, and goes on with the one that it interrupted. */
void ted_call_end(struct ted_call *call);
/* Leaves compiled code: an allocation of so many bytes failed. Without a call the process ends. */
_Noreturn void ted_call_fail(struct ted_call *call, int64_t bytes);

#endif
