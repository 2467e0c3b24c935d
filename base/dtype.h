/*
 * base/dtype.h - the element types of tensors.
 *
 * For:            engine, store and replay.
 * Must not know:  tensors.
 * Invariant:      the number of a dtype is stored in traces and is its row in dtype.def, so rows are added at the end
 *                 only.
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

const char *vs_dtype_name(enum vs_dtype dtype); /* PyTorch's name: "float32" */
const char *vs_dtype_text(enum vs_dtype dtype); /* the short name: "f32" */
uint64_t vs_dtype_bytes(enum vs_dtype dtype);   /* size of an element: 1, 2, 4 or 8 */
bool vs_dtype_is_floating(enum vs_dtype dtype);
/*
 * The dtype in which two tensors with dtypes a and b are computed: torch.promote_types. f16 with bf16 gives f32.
 */
enum vs_dtype vs_dtype_promote(enum vs_dtype a, enum vs_dtype b);
/*
 * Finds a dtype by PyTorch's name or alias ("float32", "float", "half", "long", "int", "double"). False if there is
 * none.
 */
VS_MUST_USE bool vs_dtype_parse(const char *name, enum vs_dtype *out);

#endif
