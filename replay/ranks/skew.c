/*
 * replay/ranks/skew.c - see skew.h.
 *
 * Must not know:  how ranks are compared.
 * Invariant:      each line is named once, for the rank with the highest peak.
 */
#include "replay/ranks/skew.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"

/* The highest peak is higher than the lowest by one part in so many of that, and by so many bytes. */
#define SKEW_SHARE 4
#define SKEW_BYTES (UINT64_C(1) << 20)
/* Lines are named whose difference is one part in so many of the highest peak. */
#define LINE_SHARE 20

/* "train.py:12" of "line 12 | train.py:main"; NULL: it is another text. The caller frees it. */
static char *where_new(const char *line)
{
    const char *bar = strstr(line, " | ");
    struct vs_text text = {NULL, 0, 0};
    char *end;
    uint64_t number;

    if (strncmp(line, "line ", 5) != 0 || !bar)
        return NULL;
    number = strtoull(line + 5, &end, 10);
    if (!number || end != bar)
        return NULL;
    vs_text_addf(&text, "%.*s:%" PRIu64, (int)strcspn(bar + 3, ":"), bar + 3, number);
    return vs_text_take(&text);
}

static void add_bytes(struct vs_text *out, const char *before, uint64_t bytes)
{
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%s%s", before, vs_bytes_text(bytes, buf));
}

static void line_add(const struct rpl_ranks *ranks, const struct rpl_rank_diff *diff,
                     const struct rpl_rank_change *change, struct rpl_mistakes *out)
{
    struct vs_text text = {NULL, 0, 0};
    char *where = where_new(change->text);

    if (!where)
        return;
    rpl_rank_text(&ranks->items[diff->a], &text);
    add_bytes(&text, " has ", change->a);
    add_bytes(&text, " of this line at its peak of ", ranks->items[diff->a].sum.peak.allocated);
    vs_text_add(&text, ", ");
    rpl_rank_text(&ranks->items[diff->b], &text);
    add_bytes(&text, " has ", change->b);
    add_bytes(&text, " at its peak of ", ranks->items[diff->b].sum.peak.allocated);
    rpl_mistake_add(out, "rank_skew", change->a - change->b, where, vs_text_take(&text));
}

void rpl_skew_find(const struct rpl_ranks *ranks, struct rpl_mistakes *out)
{
    const uint64_t highest = ranks->items[ranks->highest].sum.peak.allocated;

    for (size_t i = 0; i < ranks->diff_count; i++) {
        const struct rpl_rank_diff *diff = &ranks->diffs[i];
        const uint64_t other = ranks->items[diff->b].sum.peak.allocated;

        if (highest < other + SKEW_BYTES || highest < other + other / SKEW_SHARE)
            continue;
        for (size_t k = 0; k < diff->change_count; k++)
            if (diff->changes[k].a > diff->changes[k].b &&
                diff->changes[k].a - diff->changes[k].b >= highest / LINE_SHARE)
                line_add(ranks, diff, &diff->changes[k], out);
        if (out->count)
            return;
    }
}
