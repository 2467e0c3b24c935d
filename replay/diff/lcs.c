/*
 * replay/diff/lcs.c - see lcs.h.
 *
 * Must not know:  what the keys stand for.
 * Invariant:      a part is processed after its common beginning and end have been removed.
 */
#include "replay/diff/lcs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* Recursion deeper than this leaves a long part without pairs. */
#define DEPTH_MAX 64

/* A part of both sequences. b_first: index of its first key of b in the whole sequence. */
struct piece {
    const uint64_t *a;
    const uint64_t *b;
    size_t a_count;
    size_t b_count;
    size_t b_first;
    uint32_t *mate;
};

static void pieces_match(struct piece piece, unsigned depth);

/* Pair the common beginning and end; `piece` becomes what is left. */
static void trim(struct piece *p)
{
    while (p->a_count && p->b_count && p->a[0] == p->b[0]) {
        *p->mate++ = (uint32_t)++p->b_first;
        p->a++;
        p->b++;
        p->a_count--;
        p->b_count--;
    }
    while (p->a_count && p->b_count && p->a[p->a_count - 1] == p->b[p->b_count - 1]) {
        p->mate[p->a_count - 1] = (uint32_t)(p->b_first + p->b_count);
        p->a_count--;
        p->b_count--;
    }
}

/* ---- short parts: longest common subsequence by dynamic programming ---- */

static void short_match(const struct piece *p)
{
    size_t width = p->b_count + 1;
    uint32_t *best = vs_calloc((p->a_count + 1) * width, sizeof(*best));
    size_t i;
    size_t k;

    /* best[i][k]: length of the longest one of a from i on and b from k on. */
    for (i = p->a_count; i-- > 0;)
        for (k = p->b_count; k-- > 0;) {
            uint32_t down = best[(i + 1) * width + k];
            uint32_t right = best[i * width + k + 1];

            if (p->a[i] == p->b[k])
                best[i * width + k] = best[(i + 1) * width + k + 1] + 1;
            else
                best[i * width + k] = down > right ? down : right;
        }
    for (i = 0, k = 0; i < p->a_count && k < p->b_count;) {
        if (p->a[i] == p->b[k]) {
            p->mate[i++] = (uint32_t)(p->b_first + ++k);
        } else if (best[(i + 1) * width + k] >= best[i * width + k + 1]) {
            i++;
        } else {
            k++;
        }
    }
    vs_free(best);
}

/* ---- long parts: divide at keys that occur once ---- */

/* A key of either sequence. at: its index there. */
struct mark {
    uint64_t key;
    uint32_t at;
    bool is_b;
};

static int by_key(const void *x, const void *y)
{
    const struct mark *a = x;
    const struct mark *b = y;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->is_b != b->is_b)
        return a->is_b ? 1 : -1;
    return a->at < b->at ? -1 : a->at > b->at;
}

struct anchor {
    uint32_t a;
    uint32_t b;
};

static int by_a(const void *x, const void *y)
{
    const struct anchor *a = x;
    const struct anchor *b = y;

    return a->a < b->a ? -1 : a->a > b->a;
}

/*
 * Pairs at which to divide, in the order of `a`: the keys that occur exactly once in both, or, if there are none, the
 * first occurrence of each key with the first, the second with the second and so on. The caller frees them.
 */
static struct anchor *anchors_find(const struct piece *p, bool is_unique, size_t *out_count)
{
    size_t total = p->a_count + p->b_count;
    struct mark *marks = vs_calloc(total + 1, sizeof(*marks));
    struct anchor *anchors = vs_calloc(total + 1, sizeof(*anchors));
    size_t count = 0;

    for (size_t i = 0; i < p->a_count; i++)
        marks[i] = (struct mark){p->a[i], (uint32_t)i, false};
    for (size_t i = 0; i < p->b_count; i++)
        marks[p->a_count + i] = (struct mark){p->b[i], (uint32_t)i, true};
    qsort(marks, total, sizeof(*marks), by_key);
    for (size_t i = 0; i < total;) {
        size_t b = i;
        size_t end = i;

        while (end < total && marks[end].key == marks[i].key) {
            b += !marks[end].is_b;
            end++;
        }
        for (size_t k = 0; i + k < b && b + k < end; k++)
            if (!is_unique || end - i == 2)
                anchors[count++] = (struct anchor){marks[i + k].at, marks[b + k].at};
        i = end;
    }
    qsort(anchors, count, sizeof(*anchors), by_a);
    vs_free(marks);
    *out_count = count;
    return anchors;
}

size_t rpl_rising(const uint32_t *values, size_t count, uint32_t *kept)
{
    /* kept: the last element of the best subsequence of each length; before: the element before it, + 1. */
    uint32_t *before = vs_calloc(count + 1, sizeof(*before));
    size_t len = 0;
    size_t at;

    for (size_t i = 0; i < count; i++) {
        /* No search is needed while the values increase, which most do. */
        size_t low = len && values[kept[len - 1]] < values[i] ? len : 0;
        size_t high = len;

        while (low < high) {
            size_t mid = (low + high) / 2;

            if (values[kept[mid]] < values[i])
                low = mid + 1;
            else
                high = mid;
        }
        kept[low] = (uint32_t)i;
        before[i] = low ? kept[low - 1] + 1 : 0;
        len += low == len;
    }
    /* Write the indices from the last backwards: each goes to an element that is not read any more. */
    at = len ? kept[len - 1] : 0;
    for (size_t k = len; k-- > 0;) {
        kept[k] = (uint32_t)at;
        at = before[at] ? before[at] - 1 : 0;
    }
    vs_free(before);
    return len;
}

/*
 * Keep a longest subsequence of the anchors, which increase in `a`, that increases in `b` as well. Returns its length.
 */
static size_t rising_keep(struct anchor *anchors, size_t count)
{
    uint32_t *values = vs_calloc(count + 1, sizeof(*values));
    uint32_t *kept = vs_calloc(count + 1, sizeof(*kept));
    size_t len;

    for (size_t i = 0; i < count; i++)
        values[i] = anchors[i].b;
    len = rpl_rising(values, count, kept);
    for (size_t k = 0; k < len; k++)
        anchors[k] = anchors[kept[k]];
    vs_free(values);
    vs_free(kept);
    return len;
}

static void long_match(const struct piece *p, unsigned depth)
{
    size_t count = 0;
    struct anchor *anchors = anchors_find(p, true, &count);
    size_t kept;
    size_t a = 0;
    size_t b = 0;

    if (!count) {
        vs_free(anchors);
        anchors = anchors_find(p, false, &count);
    }
    kept = rising_keep(anchors, count);
    for (size_t i = 0; kept && i <= kept; i++) {
        size_t a_end = i < kept ? anchors[i].a : p->a_count;
        size_t b_end = i < kept ? anchors[i].b : p->b_count;

        pieces_match(
            (struct piece){p->a + a, p->b + b, a_end - a, b_end - b, p->b_first + b, p->mate + a},
            depth + 1);
        if (i < kept)
            p->mate[a_end] = (uint32_t)(p->b_first + b_end + 1);
        a = a_end + 1;
        b = b_end + 1;
    }
    vs_free(anchors);
}

static void pieces_match(struct piece piece, unsigned depth)
{
    trim(&piece);
    if (!piece.a_count || !piece.b_count)
        return;
    if (piece.a_count <= RPL_LCS_CELLS / piece.b_count)
        short_match(&piece);
    else if (depth < DEPTH_MAX)
        long_match(&piece, depth);
}

void rpl_lcs(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count, uint32_t *mate)
{
    memset(mate, 0, a_count * sizeof(*mate));
    pieces_match((struct piece){a, b, a_count, b_count, 0, mate}, 0);
}
