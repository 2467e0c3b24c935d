/*
 * store/shape.c - see shape.h.
 *
 * Must not know:  SQLite.
 */
#include "store/shape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"

/* shapes[id - 1] */
struct sto_shapes {
    struct sto_shape *shapes;
    size_t count;
    size_t cap;
    struct vs_table by_hash;
};

struct sto_shapes *sto_shapes_new(void)
{
    return vs_calloc(1, sizeof(struct sto_shapes));
}

void sto_shapes_free(struct sto_shapes *shapes)
{
    if (!shapes)
        return;
    vs_free(shapes->shapes);
    vs_table_release(&shapes->by_hash);
    vs_free(shapes);
}

static uint64_t shape_hash(const struct sto_shape *shape)
{
    uint64_t hash = vs_hash_mix(shape->dtype, shape->ndim);

    for (int i = 0; i < shape->ndim; i++)
        hash =
            vs_hash_mix(vs_hash_mix(hash, (uint64_t)shape->sizes[i]), (uint64_t)shape->strides[i]);
    return hash;
}

uint32_t sto_shapes_intern(struct sto_shapes *shapes, const struct vs_tensor_desc *desc,
                           struct sto_shape *out, bool *is_new)
{
    struct vs_probe probe;
    uint64_t hash;

    VS_ASSERT(desc->ndim <= VS_MAX_DIMS);
    memset(out, 0, sizeof(*out)); /* including the padding: shapes are compared as bytes */
    out->dtype = desc->dtype;
    out->ndim = desc->ndim;
    memcpy(out->sizes, desc->sizes, desc->ndim * sizeof(desc->sizes[0]));
    memcpy(out->strides, desc->strides, desc->ndim * sizeof(desc->strides[0]));
    hash = shape_hash(out);
    probe = vs_probe(hash);
    *is_new = false;
    while (vs_table_next(&shapes->by_hash, &probe))
        if (memcmp(&shapes->shapes[probe.item], out, sizeof(*out)) == 0)
            return probe.item + 1;
    *is_new = true;
    vs_table_add(&shapes->by_hash, hash, shapes->count);
    shapes->shapes = vs_grow(shapes->shapes, shapes->count, &shapes->cap, sizeof(*out));
    memcpy(&shapes->shapes[shapes->count++], out, sizeof(*out));
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
