/*
 * base/dtype.h - the element types of tensors.
 *
 * For:            engine, store, replay: one numbering, stored in traces, so rows are only ever added at the end.
 * Must not know:  tensors.
 * Invariant:      the order in dtype.def is the number in a trace.
 */
#ifndef VS_BASE_DTYPE_H
#define VS_BASE_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

enum vs_dtype {
/* clang-format off */
#define VS_DTYPE(id, name, text, bytes, is_float, rank) id,
#include "base/dtype.def"
#undef VS_DTYPE
    /* clang-format on */
    VS_DTYPE_COUNT
};

const char *vs_dtype_name(enum vs_dtype dtype); /* PyTorch's: "float32" */
const char *vs_dtype_text(enum vs_dtype dtype); /* short: "f32" */
uint64_t vs_dtype_bytes(enum vs_dtype dtype);   /* bytes an element: 1, 2, 4 or 8 */
bool vs_dtype_is_floating(enum vs_dtype dtype);
/* The dtype two tensors of a and b are computed in (both with dimensions): PyTorch's promote_types. f16 with bf16 is f32. */
enum vs_dtype vs_dtype_promote(enum vs_dtype a, enum vs_dtype b);
/* By PyTorch's name or alias ("float32", "float", "half", "long", "int", "double"); false where there is none. */
VS_MUST_USE bool vs_dtype_parse(const char *name, enum vs_dtype *out);

#endif
