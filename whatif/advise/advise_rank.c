/*
 * whatif/advise/advise_rank.c - the order of advice, and which of it is no advice beside other.
 *
 * Must not know:  what a toggle or a line does.
 * Invariant:      of what is left, nothing is cheaper in every respect than another change and lowers the peak as much.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "whatif/advise/advise_internal.h"

/* ---- what is dominated ---- */

/* Bytes moved are more from one part in this many on. */
#define MORE_MIN 1000

static size_t parts_of(const struct vs_toggles *set, const struct wif_edits *edits)
{
    size_t parts = edits->count > 0;

    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        parts += vs_toggles_is_set(set, (enum vs_toggle)i);
    return parts;
}

/* Whether its peak is as low, and it fits the device if the other does. */
static bool is_as_low(const struct wif_figures *a, const struct wif_figures *b)
{
    return a->peak <= b->peak && (a->fits || !b->fits);
}

bool wif_is_combination_dominated(const struct wif_advise *advise, const struct wif_change *change,
                                  enum wif_price price, const struct wif_figures *run)
{
    if (parts_of(&change->set, &change->edits) < 2)
        return false;
    for (size_t i = 0; i < advise->count; i++)
        if (advise->items[i].price < price && is_as_low(&advise->items[i].run, run))
            return true;
    return false;
}

static bool moves_more(const struct wif_figures *a, const struct wif_figures *b)
{
    return a->moved > b->moved + b->moved / MORE_MIN;
}

/* Whether `a` changes something that alters the numbers or what is trained, or copies to the host, and `b` does not. */
static bool gives_up_more(const struct wif_advice *a, const struct wif_advice *b)
{
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        const enum vs_toggle toggle = (enum vs_toggle)i;
        const bool is_free =
            toggle != VS_TOGGLE_OFFLOAD && (vs_toggle_info(toggle)->flags & VS_TOGGLE_SAME);

        if (vs_toggles_is_set(&a->set, toggle) && !is_free &&
            (!vs_toggles_is_set(&b->set, toggle) ||
             strcmp(vs_toggles_get(&a->set, toggle), vs_toggles_get(&b->set, toggle)) != 0))
            return true;
    }
    return false;
}

/* Whether `a` costs as little as `b` in every respect. */
static bool is_as_cheap(const struct wif_advice *a, const struct wif_advice *b)
{
    return a->price <= b->price && a->run.recompute_flops <= b->run.recompute_flops &&
           !moves_more(&a->run, &b->run) && !gives_up_more(a, b);
}

/*
 * Whether nobody would take `b` who can have `a`. What costs nothing alone is always listed, as are changes that differ
 * in nothing: one may be easier to make than the other. More parts are more to change.
 */
static bool dominates(const struct wif_advice *a, const struct wif_advice *b)
{
    const size_t parts = parts_of(&b->set, &b->edits);

    if (a == b || b->is_headline || !is_as_low(&a->run, &b->run) ||
        (b->price == WIF_PRICE_NONE && parts < 2))
        return false;
    if (parts >= 2 && a->price < b->price)
        return true;
    return parts_of(&a->set, &a->edits) <= parts && is_as_cheap(a, b) &&
           (a->price < b->price || a->run.peak < b->run.peak ||
            a->run.recompute_flops < b->run.recompute_flops || moves_more(&b->run, &a->run) ||
            parts_of(&a->set, &a->edits) < parts);
}

/* The first one of those that are not `left_out` that dominates number i; NULL: none. */
static const struct wif_advice *better_than(const struct wif_advise *out, size_t i,
                                            const bool *left_out)
{
    for (size_t k = 0; k < out->count; k++)
        if (!left_out[k] && dominates(&out->items[k], &out->items[i]))
            return &out->items[k];
    return NULL;
}

/* Moves what is dominated by something that stays to a list of its own. */
static void dominated_part(struct wif_advise *out)
{
    bool *left_out = vs_calloc(out->count + 1, sizeof(*left_out));
    size_t kept = 0;

    for (size_t i = 0; i < out->count; i++)
        left_out[i] = better_than(out, i, left_out) != NULL;
    for (size_t i = 0; i < out->count; i++) {
        const struct wif_advice *better = left_out[i] ? better_than(out, i, left_out) : NULL;

        left_out[i] = better != NULL;
        out->items[i].by = better ? vs_strdup(better->label) : NULL;
    }
    out->dominated = vs_calloc(out->count + 1, sizeof(*out->dominated));
    for (size_t i = 0; i < out->count; i++) {
        if (left_out[i])
            out->dominated[out->dominated_count++] = out->items[i];
        else
            out->items[kept++] = out->items[i];
    }
    out->count = kept;
    vs_free(left_out);
}

/* ---- the order ---- */

static int by_rank(const void *a, const void *b)
{
    const struct wif_advice *x = a;
    const struct wif_advice *y = b;

    if (x->is_headline != y->is_headline)
        return x->is_headline ? -1 : 1;
    if (x->price != y->price)
        return x->price < y->price ? -1 : 1;
    if (x->run.peak != y->run.peak)
        return x->run.peak < y->run.peak ? -1 : 1;
    if (x->run.recompute_flops != y->run.recompute_flops)
        return x->run.recompute_flops < y->run.recompute_flops ? -1 : 1;
    return strcmp(x->label, y->label);
}

static int by_gain(const void *a, const void *b)
{
    const struct wif_finding *x = a;
    const struct wif_finding *y = b;

    if (x->gain != y->gain)
        return x->gain > y->gain ? -1 : 1;
    return strcmp(x->text, y->text);
}

void wif_advise_rank(struct wif_advise *out)
{
    if (out->count)
        qsort(out->items, out->count, sizeof(*out->items), by_rank);
    dominated_part(out);
    if (out->finding_count)
        qsort(out->findings, out->finding_count, sizeof(*out->findings), by_gain);
}
