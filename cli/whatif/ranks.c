/*
 * cli/whatif/ranks.c - see ranks.h.
 *
 * Must not know:  shards.
 * Invariant:      nothing is printed before all ranks were run.
 */
#include "cli/whatif/ranks.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/json.h"
#include "cli/progress.h"
#include "whatif/ranks.h"

static void say_rank(void *user, uint64_t rank)
{
    struct cli_progress *progress = user;

    cli_progress_say(progress, "rank %" PRIu64, rank);
}

/* How many ranks are like those of a range, they among them. */
static uint64_t alike_count(const struct wif_ranks *ranks, const struct wif_rank_range *range)
{
    uint64_t count = 0;

    for (size_t i = range->alike; i < ranks->count; i++)
        if (ranks->items[i].alike == range->alike)
            count += ranks->items[i].last - ranks->items[i].first + 1;
    return count;
}

/* All ranks that are like those of a range: "rank 3", "ranks 0 to 2" or "ranks 0, 2 and 510 more" */
static const char *alike_text(const struct wif_ranks *ranks, const struct wif_rank_range *range,
                              char *buf, size_t size)
{
    const struct wif_rank_range *first = &ranks->items[range->alike];
    const uint64_t count = alike_count(ranks, range);
    uint64_t second = first->first + 1;

    for (size_t i = range->alike + 1; first->first == first->last && i < ranks->count; i++)
        if (ranks->items[i].alike == range->alike) {
            second = ranks->items[i].first;
            break;
        }
    if (count == 1)
        snprintf(buf, size, "rank %" PRIu64, first->first);
    else if (count == first->last - first->first + 1)
        snprintf(buf, size, "ranks %" PRIu64 " to %" PRIu64, first->first, first->last);
    else if (count == 2)
        snprintf(buf, size, "ranks %" PRIu64 " and %" PRIu64, first->first, second);
    else
        snprintf(buf, size, "ranks %" PRIu64 ", %" PRIu64 " and %" PRIu64 " more", first->first,
                 second, count - 2);
    return buf;
}

/* The range with the lowest peak, the first of equal ones. */
static const struct wif_rank_range *lowest(const struct wif_ranks *ranks)
{
    const struct wif_rank_range *found = &ranks->items[0];

    for (size_t i = 1; i < ranks->count; i++)
        if (ranks->items[i].peak.allocated < found->peak.allocated)
            found = &ranks->items[i];
    return found;
}

/* "optimizer 10.0 MiB, gradient 2.0 MiB": what `high` has more of at its peak than `low` at its own, most first. */
static void more_text(const struct rpl_peak *high, const struct rpl_peak *low, struct vs_text *out)
{
    char buf[VS_BYTES_TEXT_MAX];
    uint64_t said = 0; /* a bit for each category */

    for (;;) {
        uint64_t most = 0;
        int at = 0;

        for (int c = 0; c < VS_CATEGORY_COUNT; c++) {
            const uint64_t more = high->by_category[c] > low->by_category[c]
                                      ? high->by_category[c] - low->by_category[c]
                                      : 0;

            if (more > most && !(said >> c & 1u)) {
                most = more;
                at = c;
            }
        }
        if (!most)
            return;
        vs_text_addf(out, "%s%s %s", said ? ", " : "", vs_category_name((enum vs_category)at),
                     vs_bytes_text(most, buf));
        said |= UINT64_C(1) << at;
    }
}

static void rows_text(const struct wif_ranks *ranks, struct vs_text *out)
{
    char range[64], peak[VS_BYTES_TEXT_MAX], reserved[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%-24s%14s%14s  %s\n", "", "peak", "reserved", "in");
    for (size_t i = 0; i < ranks->count; i++) {
        const struct wif_rank_range *item = &ranks->items[i];

        if (item->alike != i)
            continue;
        vs_text_addf(out, "%-24s%14s%14s  %s of step %" PRId64 "%s\n",
                     alike_text(ranks, item, range, sizeof(range)),
                     vs_bytes_text(item->peak.allocated, peak),
                     vs_bytes_text(item->peak.reserved, reserved), vs_phase_name(item->peak.phase),
                     item->peak.step, item->is_oom ? ": out of memory" : "");
    }
}

static void ranks_text(const struct wif_ranks *ranks, struct vs_text *out)
{
    const struct wif_rank_range *high = &ranks->items[ranks->highest];
    const struct wif_rank_range *low = lowest(ranks);
    char a[64], b[64], bytes[VS_BYTES_TEXT_MAX];
    struct vs_text more = {NULL, 0, 0};

    rows_text(ranks, out);
    if (ranks->count == 1) {
        vs_text_addf(out, "\nall %" PRIu64 " ranks are alike, event for event\n", ranks->world);
        return;
    }
    if (high->peak.allocated == low->peak.allocated) {
        vs_text_add(out, "\nthe ranks differ in what they hold, and their peaks are equal\n");
        return;
    }
    more_text(&high->peak, &low->peak, &more);
    vs_text_addf(
        out, "\n%s %s the highest peak: %s more than %s, of these categories: %s\n",
        alike_text(ranks, high, a, sizeof(a)), alike_count(ranks, high) == 1 ? "has" : "have",
        vs_bytes_text(high->peak.allocated - low->peak.allocated, bytes),
        alike_text(ranks, low, b, sizeof(b)), more.len ? vs_text_get(&more) : "none alone");
    vs_text_add(
        out, ranks->are_stages
                 ? "each rank has modules of its own; with pp-schedule=1f1b an earlier one "
                   "keeps more microbatches at once\n"
             : ranks->cp_size > 1
                 ? "with cp a rank attends to the halves of keys and values that its place among "
                   "those of its sequence lets it see\n"
                 : "a parameter has fewer rows in the last shards, or none, where its "
                   "rows do not divide evenly\n");
    vs_text_release(&more);
}

static void range_json(const struct wif_rank_range *item, struct vs_json *json)
{
    vs_json_object(json);
    vs_json_put_uint(json, "first", item->first);
    vs_json_put_uint(json, "last", item->last);
    vs_json_put_uint(json, "allocated", item->peak.allocated);
    vs_json_put_uint(json, "requested", item->peak.requested);
    vs_json_put_uint(json, "reserved", item->peak.reserved);
    vs_json_put_int(json, "step", item->peak.step);
    vs_json_put_string(json, "phase", vs_phase_name(item->peak.phase));
    vs_json_put_bool(json, "out_of_memory", item->is_oom);
    vs_json_key(json, "categories");
    vs_json_object_flat(json);
    for (int c = 0; c < VS_CATEGORY_COUNT; c++)
        vs_json_put_uint(json, vs_category_name((enum vs_category)c), item->peak.by_category[c]);
    vs_json_end(json);
    vs_json_end(json);
}

static void ranks_json(const struct wif_ranks *ranks, struct vs_text *out)
{
    struct vs_json json;

    vs_json_init(&json, out);
    vs_json_object(&json);
    vs_json_put_uint(&json, "world", ranks->world);
    vs_json_put_uint(&json, "runs", ranks->runs);
    vs_json_put_uint(&json, "highest", ranks->items[ranks->highest].first);
    vs_json_key(&json, "ranks");
    vs_json_array(&json);
    for (size_t i = 0; i < ranks->count; i++)
        range_json(&ranks->items[i], &json);
    vs_json_end(&json);
    vs_json_end(&json);
}

enum vs_status cli_whatif_ranks_print(struct rpl_trace *base, const struct vs_toggles *set,
                                      uint64_t capacity, bool json, struct vs_text *out,
                                      struct vs_error *err)
{
    struct wif_ranks ranks = {.count = 0};
    struct cli_progress progress;
    enum vs_status st;

    cli_progress_init(&progress, stderr);
    st = wif_ranks_fill(&ranks, base, set, capacity, say_rank, &progress, err);
    cli_progress_end(&progress);
    if (!st && json)
        ranks_json(&ranks, out);
    else if (!st)
        ranks_text(&ranks, out);
    wif_ranks_release(&ranks);
    return st;
}
