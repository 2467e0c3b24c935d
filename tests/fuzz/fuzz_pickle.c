/*
 * tests/fuzz/fuzz_pickle.c - any bytes at all are a pickle or give one message, and packing changes nothing.
 *
 * Each input is read twice, packed and plainly. Both must be read or refused, and hold the same, whichever way they are asked.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "recording/pickle_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A pickle may hold itself, and be as large as 2^n without that. */
#define DEPTH_MAX 32
#define VALUES_MAX 20000

struct pair {
    const struct rec_pickle *a, *b;
    size_t values;
};

static void same_text(const char *a, size_t a_len, const char *b, size_t b_len)
{
    VS_ASSERT(a_len == b_len && (!a_len || memcmp(a, b, a_len) == 0));
}

static void same(struct pair *p, struct rec_value a, struct rec_value b, int depth);

static void same_scalar(const struct pair *p, struct rec_value a, struct rec_value b)
{
    uint64_t n[2] = {0, 0};
    double d[2] = {0, 0};
    bool is[2] = {false, false};
    size_t len[2];
    const char *text[2];

    VS_ASSERT(rec_value_bool(a, &is[0]) == rec_value_bool(b, &is[1]) && is[0] == is[1]);
    VS_ASSERT(rec_value_int(p->a, a, &n[0]) == rec_value_int(p->b, b, &n[1]) && n[0] == n[1]);
    VS_ASSERT(rec_value_float(p->a, a, &d[0]) == rec_value_float(p->b, b, &d[1]));
    VS_ASSERT(memcmp(&d[0], &d[1], sizeof(d[0])) == 0);
    text[0] = rec_value_text(p->a, a, &len[0]);
    text[1] = rec_value_text(p->b, b, &len[1]);
    VS_ASSERT(!text[0] == !text[1]);
    same_text(text[0], len[0], text[1], len[1]);
}

/* Key `i` of both, and what each finds under it: the last one of that name. */
static void same_key(struct pair *p, struct rec_value a, struct rec_value b, size_t i, int depth)
{
    size_t len[2];
    const char *key[2] = {rec_value_key(p->a, a, i, &len[0]), rec_value_key(p->b, b, i, &len[1])};
    struct rec_value found[2], row;
    struct rec_columns *columns;
    const char *name;

    same_text(key[0], len[0], key[1], len[1]);
    if (memchr(key[0], 0, len[0]))
        return;
    name = vs_strndup(key[0], len[0]);
    VS_ASSERT(rec_value_get(p->a, a, rec_pickle_key(p->a, name), &found[0]));
    VS_ASSERT(rec_value_get(p->b, b, rec_pickle_key(p->b, name), &found[1]));
    columns = rec_columns_new(p->a, &name, 1);
    VS_ASSERT(rec_value_row(p->a, a, columns, &row) == 1 && rec_value_same(row, found[0]));
    rec_columns_free(columns);
    same(p, found[0], found[1], depth);
    vs_free((void *)(uintptr_t)name);
}

static void same(struct pair *p, struct rec_value a, struct rec_value b, int depth)
{
    const enum rec_value_type type = rec_value_type(a);
    const size_t count = rec_value_count(p->a, a);
    struct rec_value item;

    VS_ASSERT(type == rec_value_type(b) && count == rec_value_count(p->b, b));
    same_scalar(p, a, b);
    for (size_t i = 0; i < count && depth < DEPTH_MAX && p->values < VALUES_MAX; i++) {
        p->values++;
        item = rec_value_at(p->a, a, i);
        if (type == REC_DICT)
            same_key(p, a, b, i, depth + 1);
        else
            VS_ASSERT(rec_value_items(p->b, b, i, &item, 1) == 1 &&
                      rec_value_same(item, rec_value_at(p->b, b, i)));
        same(p, rec_value_at(p->a, a, i), rec_value_at(p->b, b, i), depth + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vs_error err = VS_ERROR_INIT;
    struct vs_error plain_err = VS_ERROR_INIT;
    struct rec_pickle *packed = NULL;
    struct rec_pickle *plain = NULL;
    char *bytes = vs_alloc(size); /* so that reading past the end is noticed */
    bool has_doubt;
    enum vs_status st;

    if (size)
        memcpy(bytes, data, size);
    st = rec_pickle_read(bytes, size, &packed, &err);
    VS_ASSERT(st == rec_pickle_read_once(bytes, size, true, &has_doubt, &plain, &plain_err));
    VS_ASSERT(!st == (packed != NULL) && !has_doubt);
    if (st) {
        VS_ASSERT(err.text[0] && strcmp(err.text, plain_err.text) == 0);
    } else {
        struct pair pair = {.a = packed, .b = plain};

        same(&pair, rec_pickle_top(packed), rec_pickle_top(plain), 0);
    }
    rec_pickle_free(packed);
    rec_pickle_free(plain);
    vs_free(bytes);
    return 0;
}
