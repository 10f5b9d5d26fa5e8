/* `memrefCopy`: an element by element copy between two strided buffers of one shape.
 *
 * A safety net: lowering vectorises copies, and what it leaves arrives here. Rows that are dense on
 * both sides go through memcpy.
 */
#include <string.h>

#include "ted/runtime.h"

enum { MAX_RANK = 64 };

struct view {
  char *data;
  const int64_t *sizes, *strides; /* strides in elements */
};

static struct view view_of(const struct ted_unranked_memref *memref, int64_t element_size) {
  int64_t *fields = memref->descriptor;
  char *aligned;
  memcpy(&aligned, fields + 1, sizeof aligned);
  struct view view = {aligned + fields[2] * element_size, fields + 3, fields + 3 + memref->rank};
  return view;
}

static void copy_row(char *target, int64_t target_step, const char *source, int64_t source_step,
                     int64_t count, int64_t size) {
  if (source_step == size && target_step == size) {
    memcpy(target, source, (size_t)(count * size));
    return;
  }
  for (int64_t i = 0; i < count; i++)
    memcpy(target + i * target_step, source + i * source_step, (size_t)size);
}

void memrefCopy(int64_t size, struct ted_unranked_memref *source_memref,
                struct ted_unranked_memref *target_memref) {
  struct view source = view_of(source_memref, size), target = view_of(target_memref, size);
  int64_t rank = source_memref->rank, index[MAX_RANK] = {0};
  if (rank == 0) {
    memcpy(target.data, source.data, (size_t)size);
    return;
  }
  for (int64_t dim = 0; dim < rank; dim++)
    if (source.sizes[dim] == 0)
      return;
  int64_t last = rank - 1;
  for (;;) {
    copy_row(target.data, target.strides[last] * size, source.data, source.strides[last] * size,
             source.sizes[last], size);
    int64_t dim = last - 1; /* the odometer over all dims but the last */
    for (; dim >= 0; dim--) {
      source.data += source.strides[dim] * size;
      target.data += target.strides[dim] * size;
      if (++index[dim] < source.sizes[dim])
        break;
      source.data -= source.strides[dim] * source.sizes[dim] * size;
      target.data -= target.strides[dim] * source.sizes[dim] * size;
      index[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}
