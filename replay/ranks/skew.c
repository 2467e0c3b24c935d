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
/* What replay/ranks/ranks.c puts before the other rank's line. */
#define OTHER_LINE ", of "

/*
 * "train.py:12" of "line 12 | train.py:main", and of "line 12, of rank 1 line 9 | train.py:main", where the other rank
 * has its block from another line; NULL: it is another text. The caller frees it.
 */
static char *where_new(const char *line)
{
    const char *bar = strstr(line, " | ");
    struct vs_text text = {NULL, 0, 0};
    char *end;
    uint64_t number;

    if (strncmp(line, "line ", 5) != 0 || !bar)
        return NULL;
    number = strtoull(line + 5, &end, 10);
    if (!number || (end != bar && strncmp(end, OTHER_LINE, strlen(OTHER_LINE)) != 0))
        return NULL;
    vs_text_addf(&text, "%.*s:%" PRIu64, (int)strcspn(bar + 3, ":"), bar + 3, number);
    return vs_text_take(&text);
}

static void add_bytes(struct vs_text *out, const char *before, uint64_t bytes)
{
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%s%s", before, vs_bytes_text(bytes, buf));
}

/* " of line 9", where that is the line from which the other rank has its block. */
static void other_line_add(struct vs_text *out, const char *line)
{
    const char *bar = strstr(line, " | ");
    const char *other = strstr(line, OTHER_LINE);

    other = other && other < bar ? strstr(other, " line ") : NULL;
    if (other && other < bar)
        vs_text_addf(out, " of%.*s", (int)(bar - other), other);
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
    other_line_add(&text, change->text);
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
