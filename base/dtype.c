/*
 * base/dtype.c - see dtype.h.
 *
 * Must not know:  tensors.
 * Invariant:      every result comes from the table.
 */
#include "base/dtype.h"

#include <stddef.h>
#include <string.h>

struct dtype_row {
    const char *name;
    const char *text;
    uint64_t bytes;
    bool is_floating;
    int rank;
};

static const struct dtype_row ROWS[VS_DTYPE_COUNT] = {
/* clang-format off */
#define VS_DTYPE(id, name, text, bytes, is_float, rank) [id] = {name, text, bytes, is_float, rank},
#include "base/dtype.def"
#undef VS_DTYPE
    /* clang-format on */
};

static const struct {
    const char *alias;
    enum vs_dtype dtype;
} ALIASES[] = {
    {"float", VS_F32}, {"double", VS_F64}, {"half", VS_F16}, {"long", VS_I64}, {"int", VS_I32},
};

const char *vs_dtype_name(enum vs_dtype dtype)
{
    return ROWS[dtype].name;
}

const char *vs_dtype_text(enum vs_dtype dtype)
{
    return ROWS[dtype].text;
}

uint64_t vs_dtype_bytes(enum vs_dtype dtype)
{
    return ROWS[dtype].bytes;
}

bool vs_dtype_is_floating(enum vs_dtype dtype)
{
    return ROWS[dtype].is_floating;
}

enum vs_dtype vs_dtype_promote(enum vs_dtype a, enum vs_dtype b)
{
    if (a == b)
        return a;
    if (ROWS[a].rank == ROWS[b].rank) /* float16 with bfloat16 */
        return VS_F32;
    return ROWS[a].rank > ROWS[b].rank ? a : b;
}

bool vs_dtype_parse(const char *name, enum vs_dtype *out)
{
    for (int i = 0; i < VS_DTYPE_COUNT; i++) {
        if (!strcmp(ROWS[i].name, name)) {
            *out = (enum vs_dtype)i;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(ALIASES) / sizeof(ALIASES[0]); i++) {
        if (!strcmp(ALIASES[i].alias, name)) {
            *out = ALIASES[i].dtype;
            return true;
        }
    }
    return false;
}
