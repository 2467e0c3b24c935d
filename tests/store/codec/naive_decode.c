/*
 * tests/store/codec/naive_decode.c - see naive_decode.h. Written from the page, number by number, without regard to
 * speed.
 */
#include "tests/store/codec/naive_decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zstd.h>

struct bytes {
    const uint8_t *at;
    size_t left;
};

/* A column of `count` numbers; the caller frees it. */
static uint64_t *column(struct bytes *in, size_t count)
{
    uint64_t *numbers = calloc(count + 1, sizeof(*numbers));
    size_t width;

    assert_true(in->left >= 1);
    width = in->at[0];
    assert_true(width <= 8 && in->left - 1 >= width * count);
    for (size_t k = 0; k < width; k++)
        for (size_t i = 0; i < count; i++)
            numbers[i] |= (uint64_t)in->at[1 + k * count + i] << 8 * k;
    in->at += 1 + width * count;
    in->left -= 1 + width * count;
    return numbers;
}

/* 0, 1, 2, 3, 4 … stand for 0, -1, 1, -2, 2 … */
static uint64_t difference(uint64_t n)
{
    return n % 2 ? 0 - n / 2 - 1 : n / 2;
}

/* Which ids a field is: b, t, n or a space: of no sort. */
static char ids_of(unsigned kind, char field)
{
    /* the fields a, b, c, e of the kinds, in their order; - where there is no such kind */
    static const char *const table[64] = {
        [0] = "b  t",  [1] = "b   ",  [7] = "btn ",  [8] = "btn ",  [9] = "bt  ",
        [10] = "bt  ", [11] = "b   ", [12] = " n  ", [13] = " n  ", [18] = "bb  ",
        [21] = "bt  ", [22] = "b   ", [63] = "b  t",
    };
    const char *at = strchr("abc e", field);

    return !table[kind] || field == 'd' ? ' ' : table[kind][field == 'e' ? 3 : at - "abc e"];
}

static size_t sort_of(char ids)
{
    return (size_t)(strchr("btn", ids) - "btn");
}

/* The value that follows from that of an earlier event. */
static uint64_t shifted(char ids, uint64_t value, const uint64_t *limits, const uint64_t *shifts)
{
    if (ids == ' ' || value <= limits[sort_of(ids)])
        return value;
    return value + shifts[sort_of(ids)];
}

static uint64_t literal_value(char ids, uint64_t last, uint64_t number, uint64_t *newest)
{
    uint64_t value;

    if (ids == ' ')
        return last + difference(number);
    value = newest[sort_of(ids)] - difference(number);
    if (value > newest[sort_of(ids)])
        newest[sort_of(ids)] = value;
    return value;
}

size_t naive_decode(const uint8_t *bytes, size_t len, const struct vs_event *reference,
                    size_t reference_count, struct vs_event *out)
{
    size_t plain_max = 4 << 20;
    uint8_t *plain = malloc(plain_max);
    struct bytes in = {plain, ZSTD_decompress(plain, plain_max, bytes, len)};
    uint64_t *head;
    uint64_t *matches[6];
    uint64_t *patches[3];
    uint64_t *kinds;
    uint64_t *fields[7];
    uint64_t *times;
    size_t literal_count;
    uint64_t next[65] = {0};
    struct vs_event last[64];
    uint64_t newest[3] = {0};
    uint64_t shifts[3] = {0};
    uint64_t from = 0;
    size_t at = 0;
    size_t literal = 0;
    size_t patch = 0;
    uint64_t patch_at;

    assert_false(ZSTD_isError(in.left));
    memset(last, 0, sizeof(last));
    head = column(&in, 8);
    for (int i = 0; i < 6; i++)
        matches[i] = column(&in, head[1]);
    literal_count = head[0];
    for (size_t m = 0; m < head[1]; m++)
        literal_count -= matches[1][m];
    for (int i = 0; i < 3; i++)
        patches[i] = column(&in, head[2]);
    kinds = column(&in, literal_count);
    for (int i = 0; i < 7; i++)
        fields[i] = column(&in, literal_count);
    times = column(&in, head[0] - 1);
    assert_int_equal(in.left, 0);
    for (size_t i = 0; i < literal_count; i++)
        next[kinds[i] + 1]++;
    for (int k = 0; k < 64; k++)
        next[k + 1] += next[k];
    patch_at = head[2] ? patches[0][0] : UINT64_MAX;
    for (size_t m = 0; m <= head[1]; m++) {
        size_t literals = m < head[1] ? matches[0][m] : literal_count - literal;

        for (size_t i = 0; i < literals; i++) {
            unsigned k = (unsigned)kinds[literal++];
            size_t n = next[k]++;
            struct vs_event *e = &last[k];

            e->kind = (uint8_t)k;
            e->location += (uint32_t)difference(fields[0][n]);
            e->raw.a = literal_value(ids_of(k, 'a'), e->raw.a, fields[1][n], newest);
            e->raw.b = literal_value(ids_of(k, 'b'), e->raw.b, fields[2][n], newest);
            e->raw.c = literal_value(ids_of(k, 'c'), e->raw.c, fields[3][n], newest);
            e->raw.d += difference(fields[4][n]);
            e->raw.e = (uint32_t)literal_value(ids_of(k, 'e'), e->raw.e, fields[5][n], newest);
            e->raw.aux = (uint8_t)fields[6][n];
            out[at++] = *e;
        }
        if (m == head[1])
            break;
        from += literals + difference(matches[2][m]);
        for (int i = 0; i < 3; i++)
            shifts[i] += difference(matches[3 + i][m]);
        for (size_t i = 0; i < matches[1][m]; i++, from++) {
            struct vs_event e =
                from < reference_count ? reference[from] : out[from - reference_count];

            e.raw.a = shifted(ids_of(e.kind, 'a'), e.raw.a, head + 5, shifts);
            e.raw.b = shifted(ids_of(e.kind, 'b'), e.raw.b, head + 5, shifts);
            e.raw.c = shifted(ids_of(e.kind, 'c'), e.raw.c, head + 5, shifts);
            e.raw.e = (uint32_t)shifted(ids_of(e.kind, 'e'), e.raw.e, head + 5, shifts);
            if (at == patch_at) {
                e.raw.c += difference(patches[1][patch]);
                e.raw.d += difference(patches[2][patch]);
                patch++;
                patch_at = patch < head[2] ? at + 1 + patches[0][patch] : UINT64_MAX;
            }
            out[at++] = e;
        }
    }
    out[0].time_ns = head[3];
    for (size_t i = 1; i < at; i++)
        out[i].time_ns = out[i - 1].time_ns + head[4] + times[i - 1];
    for (int i = 0; i < 6; i++)
        free(matches[i]);
    for (int i = 0; i < 3; i++)
        free(patches[i]);
    for (int i = 0; i < 7; i++)
        free(fields[i]);
    free(kinds);
    free(times);
    free(head);
    free(plain);
    return at;
}
