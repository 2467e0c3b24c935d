/*
 * store/shape.c - shapes by number, and as text.
 *
 * For:            store/shape.h says.
 * Must not know:  SQLite.
 * Invariant:      the table is at most half full, so that looking up ends.
 */
#include "store/shape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* shapes[id - 1]; slots holds ids, 0 for a free slot. */
struct sto_shapes {
    struct sto_shape *shapes;
    size_t count;
    size_t cap;
    uint32_t *slots;
    size_t slot_count;
};

#define SLOTS_AT_START 256

struct sto_shapes *sto_shapes_new(void)
{
    struct sto_shapes *s = vs_calloc(1, sizeof(*s));

    s->slot_count = SLOTS_AT_START;
    s->slots = vs_calloc(s->slot_count, sizeof(*s->slots));
    return s;
}

void sto_shapes_free(struct sto_shapes *shapes)
{
    if (!shapes)
        return;
    vs_free(shapes->shapes);
    vs_free(shapes->slots);
    vs_free(shapes);
}

static uint64_t hash_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

static size_t shape_hash(const struct sto_shape *shape)
{
    uint64_t hash = hash_mix(shape->dtype, shape->ndim);

    for (int i = 0; i < shape->ndim; i++)
        hash = hash_mix(hash_mix(hash, (uint64_t)shape->sizes[i]), (uint64_t)shape->strides[i]);
    return (size_t)hash;
}

/* The slot where the shape is, or the free one where it would go. */
static size_t slot_find(const struct sto_shapes *s, const struct sto_shape *shape)
{
    size_t mask = s->slot_count - 1;
    size_t at = shape_hash(shape) & mask;

    while (s->slots[at] && memcmp(&s->shapes[s->slots[at] - 1], shape, sizeof(*shape)) != 0)
        at = (at + 1) & mask;
    return at;
}

static void slots_double(struct sto_shapes *s)
{
    vs_free(s->slots);
    s->slot_count *= 2;
    s->slots = vs_calloc(s->slot_count, sizeof(*s->slots));
    for (size_t i = 0; i < s->count; i++)
        s->slots[slot_find(s, &s->shapes[i])] = (uint32_t)(i + 1);
}

uint32_t sto_shapes_intern(struct sto_shapes *shapes, const struct vs_tensor_desc *desc,
                           struct sto_shape *out, bool *is_new)
{
    size_t at;

    VS_ASSERT(desc->ndim <= VS_MAX_DIMS);
    memset(out, 0, sizeof(*out)); /* the padding too: shapes are compared as bytes */
    out->dtype = desc->dtype;
    out->ndim = desc->ndim;
    memcpy(out->sizes, desc->sizes, desc->ndim * sizeof(desc->sizes[0]));
    memcpy(out->strides, desc->strides, desc->ndim * sizeof(desc->strides[0]));
    at = slot_find(shapes, out);
    *is_new = shapes->slots[at] == 0;
    if (!*is_new)
        return shapes->slots[at];
    shapes->shapes = vs_grow(shapes->shapes, shapes->count, &shapes->cap, sizeof(*out));
    memcpy(&shapes->shapes[shapes->count++], out, sizeof(*out));
    shapes->slots[at] = (uint32_t)shapes->count;
    if (shapes->count * 2 > shapes->slot_count)
        slots_double(shapes);
    return (uint32_t)shapes->count;
}

const char *sto_shape_text(const int64_t *dims, int ndim, char *buf)
{
    size_t used = 0;

    VS_ASSERT(ndim >= 0 && ndim <= VS_MAX_DIMS);
    for (int i = 0; i < ndim; i++)
        used += (size_t)snprintf(buf + used, STO_SHAPE_TEXT_MAX - used, "%c%" PRId64, i ? ',' : '[',
                                 dims[i]);
    snprintf(buf + used, STO_SHAPE_TEXT_MAX - used, "%s", ndim ? "]" : "[]");
    return buf;
}

int sto_shape_parse(const char *text, int64_t dims[VS_MAX_DIMS])
{
    int count = 0;

    memset(dims, 0, VS_MAX_DIMS * sizeof(dims[0]));
    if (strcmp(text, "[]") == 0)
        return 0;
    if (*text != '[')
        return -1;
    while (*text == (count ? ',' : '[')) {
        char *end;

        if (count == VS_MAX_DIMS)
            return -1;
        text++;
        if (*text != '-' && (*text < '0' || *text > '9'))
            return -1;
        errno = 0;
        dims[count++] = strtoll(text, &end, 10);
        if (errno || end == text)
            return -1;
        text = end;
    }
    return strcmp(text, "]") == 0 ? count : -1;
}
