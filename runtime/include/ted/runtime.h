/* The interface of libted_runtime: what compiled ted programs call, and what calls them.
 *
 * Compiled code sees four families of symbols: memory (every buffer that a program allocates
 * comes from here, aligned and counted), copies (the strided copy that MLIR names `memrefCopy`),
 * faults (an index that is data and out of range) and parallel loops. A caller runs compiled code inside a
 * `ted_call`, which collects what happened: bytes, the first fault, a failed allocation.
 */
#ifndef TED_RUNTIME_H
#define TED_RUNTIME_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(_WIN32) && defined(ted_runtime_EXPORTS) /* CMake says so to what goes into the library */
#define TED_SHOWN __declspec(dllexport)
#elif defined(__GNUC__) && !defined(_WIN32)
#define TED_SHOWN __attribute__((visibility("default")))
#else
#define TED_SHOWN
#endif
#if defined(TED_STATIC) /* part of another library, whose names it does not add to */
#define TED_EXPORT
#else
#define TED_EXPORT TED_SHOWN
#endif

enum { TED_ALIGNMENT = 64 };

/* The first index out of range that a call met. `tensor_id` is a key into the caller's table. */
struct ted_index_fault {
  int64_t tensor_id, dim, value, extent;
};

enum ted_status {
  TED_OK = 0,
  TED_INDEX_FAULT = 1,
  TED_OUT_OF_MEMORY = 2,
  TED_INTERRUPTED = 3, /* by who set `ted_loop_set_poll` */
  TED_ENDLESS = 4      /* a loop that nothing but its condition ends made TED_MOST_TURNS */
};

/* What a call does about numbers below the normal range of their type: it computes with them, takes
 * each for a zero of its sign, or does as the thread did that calls it. */
enum ted_subnormals {
  TED_SUBNORMALS_KEEP = 0,
  TED_SUBNORMALS_FLUSH = 1,
  TED_SUBNORMALS_OF_CALLER = 2
};

/* What the processor says that it met, in any number. Results below the normal range may be zeros:
 * those of a softmax with a mask are, and that takes no time. An operand that is subnormal does. */
enum ted_met { TED_SUBNORMAL_OPERANDS = 1, TED_SMALL_RESULTS = 2 };

struct ted_block;

/* One execution of one compiled function, or a thread's part of one. Lives on a stack. */
struct ted_call {
  jmp_buf escape;             /* where a call that cannot go on returns to */
  enum ted_status left;       /* and why it could not */
  struct ted_call *outer;     /* the call that this one interrupts, if any */
  struct ted_call *whole;     /* the call of which this one is a part, if any: bytes count there */
  struct ted_block *blocks;   /* buffers that are still live, freed when the call is abandoned */
  int64_t current, peak;      /* bytes of buffers that this call, with its parts, allocated */
  int64_t failed_bytes;       /* the size that could not be had */
  int threads;                /* that it may use at most, 0 for all of the process */
  uint64_t float_mode;        /* of its thread before and after it */
  int met;                    /* of `enum ted_met` */
  bool faulted;
  struct ted_index_fault fault;
};

/* Runs `function(arguments)` (MLIR's packed C interface) on at most so many threads, and reports
 * how it ended. After TED_OUT_OF_MEMORY every buffer of the call has been freed and its results are
 * garbage. It rounds as the thread does that calls it, whose mode and flags are as they were then. */
TED_EXPORT enum ted_status ted_call_run(struct ted_call *call, void (*function)(void **),
                                        void **arguments, int threads,
                                        enum ted_subnormals subnormals);
/* For programs that say it of their kernels: what of `enum ted_met` there was since the call began
 * or this was asked. */
TED_EXPORT int64_t ted_small_met(void);
TED_EXPORT struct ted_call *ted_call_current(void);
/* A function for a kernel that only looks at its arguments. */
TED_EXPORT void ted_call_nothing(void **arguments);

/* Records an index out of range; the first one of a call counts. The program goes on, and must
 * not make the access. */
TED_EXPORT void ted_index_error(int64_t tensor_id, int64_t dim, int64_t value, int64_t extent);

/* Runs `body(context, unit)` for all units below `units`, in any order, on the threads of the
 * process. An index out of range counts as if units were run in order. */
typedef void (*ted_unit)(void *context, int64_t unit);
TED_EXPORT void ted_parallel_for(ted_unit body, void *context, int64_t units);

/* A turn of a loop that nothing but its condition ends, from 0 on. Every few milliseconds it asks the
 * function that was set whether to go on: where that gives not 0, the call is left. */
enum { TED_MOST_TURNS = INT32_MAX - 2 };
TED_EXPORT void ted_loop_turn(int64_t turn);
TED_EXPORT void ted_loop_set_poll(int (*poll)(void));

/* How many threads a call may use: at first $TED_NUM_THREADS, else one for each core that this
 * process may run on. `ted_threads_set` returns the number before. */
enum { TED_MOST_THREADS = 1024 };
TED_EXPORT int ted_threads_default(void);
TED_EXPORT int ted_threads_get(void);
TED_EXPORT int ted_threads_set(int count);

/* Loops run on the threads of another library from now on: `run` is like GOMP_parallel, it calls a
 * function on a team of as many threads and waits for them, `number` like omp_get_thread_num, below
 * that many; NULL ends it. Not for a team that is in a loop of ours. A forked child has threads of
 * its own again. */
typedef void ted_team(void (*body)(void *), void *context, unsigned threads, unsigned flags);
typedef int ted_team_number(void);
TED_EXPORT void ted_threads_join(ted_team *run, ted_team_number *number);

/* Bytes that compiled programs hold now, and held at most since the last reset, process-wide. */
TED_EXPORT int64_t ted_memory_current(void);
TED_EXPORT int64_t ted_memory_peak(void);
TED_EXPORT void ted_memory_reset_peak(void);
/* Allocations that would pass this many bytes fail; 0 means no limit. Returns the old limit. */
TED_EXPORT int64_t ted_memory_set_limit(int64_t bytes);

/* Large blocks that are given back stay for later ones, up to so many bytes in all. Returns the old
 * number; what is kept now goes. */
#define TED_MOST_KEPT_BYTES ((int64_t)1 << 29)
TED_EXPORT int64_t ted_memory_set_kept(int64_t bytes);

/* Blocks that are taken from now on lie against a page without access, so that what passes their
 * end, or their start, dies there. For tests; returns the old mode. */
enum ted_guard { TED_GUARD_OFF = 0, TED_GUARD_END = 1, TED_GUARD_START = 2 };
TED_EXPORT int ted_memory_set_guard(int mode);

/* A clock, for programs that say how long their kernels take. */
TED_EXPORT int64_t ted_nanoseconds(void);

/* A block, counted; NULL when it cannot be had. Aligned, unless it is guarded at its end. */
TED_EXPORT void *ted_memory_take(int64_t alignment, int64_t size);
TED_EXPORT void ted_memory_give(void *pointer);

/* The names that `finalize-memref-to-llvm{use-generic-functions}` calls. They never return NULL:
 * a failure leaves the running ted_call, or ends the process where there is none. */
TED_EXPORT void *_mlir_memref_to_llvm_alloc(int64_t size);
TED_EXPORT void *_mlir_memref_to_llvm_aligned_alloc(int64_t alignment, int64_t size);
TED_EXPORT void _mlir_memref_to_llvm_free(void *pointer);

/* MLIR's unranked memref: `descriptor` points at {base, data, offset, sizes[rank], strides[rank]}. */
struct ted_unranked_memref {
  int64_t rank;
  void *descriptor;
};
TED_EXPORT void memrefCopy(int64_t element_size, struct ted_unranked_memref *source,
                           struct ted_unranked_memref *target);

/* The runtime's own share of a call, used between its source files. */
void ted_blocks_abandon(struct ted_call *call);

#endif
