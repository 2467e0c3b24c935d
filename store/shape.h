/*
 * store/shape.h - dtypes, sizes and strides of tensors, each combination once.
 *
 * For:            store/writer.c (gives numbers), store/reader.c (reads the texts back).
 * Must not know:  SQLite.
 * Invariant:      equal shapes have equal numbers, from 1 in order of appearance.
 */
#ifndef STO_SHAPE_H
#define STO_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/event.h"

/* The part of a tensor that many share. Members of sizes and strides from ndim on are 0. */
struct sto_shape {
    uint8_t dtype;
    uint8_t ndim;
    int64_t sizes[VS_MAX_DIMS];
    int64_t strides[VS_MAX_DIMS];
};

/* Room for VS_MAX_DIMS numbers of 64 bits as a JSON array. */
#define STO_SHAPE_TEXT_MAX 192

struct sto_shapes;
struct sto_shapes *sto_shapes_new(void) VS_MUST_USE;
void sto_shapes_free(struct sto_shapes *shapes);

/* The number of the tensor's shape; *is_new tells whether it was given just now. `out` gets the shape. */
uint32_t sto_shapes_intern(struct sto_shapes *shapes, const struct vs_tensor_desc *desc,
                           struct sto_shape *out, bool *is_new);

/* "[64,3,7,7]", "[]" for ndim 0. Returns buf, which has STO_SHAPE_TEXT_MAX bytes. */
const char *sto_shape_text(const int64_t *dims, int ndim, char *buf);

/* The reverse: fills dims[0 … ndim-1], zeroes the rest. The count, or -1 where the text is nothing of the kind. */
int sto_shape_parse(const char *text, int64_t dims[VS_MAX_DIMS]);

#endif
