/*
 * store/shape.h - interns dtype, sizes and strides of tensors.
 *
 * For:            store/writer.c (assigns ids), store/reader.c (parses the stored texts).
 * Must not know:  SQLite.
 * Invariant:      equal shapes have equal ids, from 1 in order of appearance.
 */
#ifndef STO_SHAPE_H
#define STO_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/event.h"

/* The properties that many tensors share. Elements of sizes and strides from ndim on are 0. */
struct sto_shape {
    uint8_t dtype;
    uint8_t ndim;
    int64_t sizes[VS_MAX_DIMS];
    int64_t strides[VS_MAX_DIMS];
};

/* Bytes for VS_MAX_DIMS 64-bit numbers as a JSON array. */
#define STO_SHAPE_TEXT_MAX 192

struct sto_shapes;
struct sto_shapes *sto_shapes_new(void) VS_MUST_USE;
void sto_shapes_free(struct sto_shapes *shapes);

/*
 * Return the id of the tensor's shape; *is_new is true if the id was assigned by this call. `out` receives the shape.
 */
uint32_t sto_shapes_intern(struct sto_shapes *shapes, const struct vs_tensor_desc *desc,
                           struct sto_shape *out, bool *is_new);

/* Format as "[64,3,7,7]", or "[]" for ndim 0. Returns buf, which has STO_SHAPE_TEXT_MAX bytes. */
const char *sto_shape_text(const int64_t *dims, int ndim, char *buf);

/* Parse such a text into dims[0 … ndim-1] and set the rest to 0. Returns ndim, or -1 for an invalid text. */
int sto_shape_parse(const char *text, int64_t dims[VS_MAX_DIMS]);

#endif
