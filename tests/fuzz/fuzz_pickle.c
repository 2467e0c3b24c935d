/*
 * tests/fuzz/fuzz_pickle.c - reads any bytes as a pickle: the result is one error message or values that can all be
 * read.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "recording/pickle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A pickle may hold itself, and be as large as 2^n without that. */
#define DEPTH_MAX 32
#define VALUES_MAX 20000

struct walk {
    const struct rec_pickle *p;
    size_t values;
};

/* Exactly what its type says. */
static void scalar_check(const struct walk *w, struct rec_value v)
{
    const enum rec_value_type type = rec_value_type(v);
    uint64_t n;
    double d;
    bool is;
    size_t len;
    const char *text = rec_value_text(w->p, v, &len);
    volatile char sum = 0;

    VS_ASSERT(rec_value_bool(v, &is) == (type == REC_BOOL));
    VS_ASSERT(type == REC_INT || !rec_value_int(w->p, v, &n));
    VS_ASSERT(rec_value_float(w->p, v, &d) == (type == REC_FLOAT));
    VS_ASSERT((text != NULL) == (type == REC_TEXT));
    for (size_t i = 0; i < len; i++) /* all of it is there */
        sum = (char)(sum ^ text[i]);
}

/* A key's value is that of the last key of its name, alone or in a row. */
static void key_check(const struct walk *w, struct rec_value v, size_t i)
{
    const size_t count = rec_value_count(w->p, v);
    size_t len, other_len;
    const char *key = rec_value_key(w->p, v, i, &len);
    struct rec_value found, row;
    struct rec_columns *columns;
    const char *name;
    size_t last = i;

    if (memchr(key, 0, len))
        return;
    for (size_t j = i + 1; j < count && count < 100; j++) {
        const char *other = rec_value_key(w->p, v, j, &other_len);

        if (other_len == len && memcmp(other, key, len) == 0)
            last = j;
    }
    name = vs_strndup(key, len);
    VS_ASSERT(rec_value_get(w->p, v, rec_pickle_key(w->p, name), &found));
    VS_ASSERT(count >= 100 || rec_value_same(found, rec_value_at(w->p, v, last)));
    columns = rec_columns_new(w->p, &name, 1);
    VS_ASSERT(rec_value_row(w->p, v, columns, &row) == 1 && rec_value_same(row, found));
    rec_columns_free(columns);
    vs_free((void *)(uintptr_t)name);
}

static void value_check(struct walk *w, struct rec_value v, int depth)
{
    const size_t count = rec_value_count(w->p, v);

    scalar_check(w, v);
    VS_ASSERT(rec_value_type(v) >= REC_LIST || !count);
    for (size_t i = 0; i < count && depth < DEPTH_MAX && w->values < VALUES_MAX; i++) {
        w->values++;
        if (rec_value_type(v) == REC_DICT)
            key_check(w, v, i);
        value_check(w, rec_value_at(w->p, v, i), depth + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vs_error err = VS_ERROR_INIT;
    struct rec_pickle *p = NULL;
    char *bytes = vs_alloc(size); /* so that reading past the end is noticed */
    enum vs_status st;

    if (size)
        memcpy(bytes, data, size);
    st = rec_pickle_read(bytes, size, &p, &err);
    VS_ASSERT(!st == (p != NULL));
    if (st) {
        VS_ASSERT(err.text[0]);
    } else {
        struct walk walk = {.p = p};

        value_check(&walk, rec_pickle_top(p), 0);
    }
    rec_pickle_free(p);
    vs_free(bytes);
    return 0;
}
