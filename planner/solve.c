/*
 * planner/solve.c - see solve.h.
 *
 * Must not know:  anything but the chain.
 * Invariant:      a row never rises from one slot to the next; what a plan needs is never rounded.
 *
 * Costs are kept as float, which halves the memory that the inner loop reads; a plan's own cost is exact.
 */
#include "planner/solve_internal.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"

/* Part of a slot by which a plan may exceed it: sums of fractions of a slot are not exact. */
#define TOLERANCE 1e-3

/* A longer selective region is hardly better than several: these keep the same, and the cuts between them. */
#define SELECTIVE_CUTS 16

/* Slots that the inner loop treats together. */
#define TOGETHER 32

/* The first slot at which so much is available. */
static int64_t slot_of(double slots)
{
    double from = slots - TOLERANCE;
    int64_t whole = (int64_t)from; /* towards 0 */

    return whole + ((double)whole < from);
}

/* ---- rows ---- */

static const struct row *row_at(const struct pln_table *t, uint32_t first, uint32_t last)
{
    VS_ASSERT(t->rows[last] && first >= t->lowest[last] && first <= last);
    return &t->rows[last][first - t->lowest[last]];
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct part part_of(const struct pln_table *t, const struct row *row, int64_t bytes)
{
    double add = (double)bytes * t->per_byte;

    return (struct part){row, slot_of(add), (float)add, false};
}

/* The first slot at which a part has a plan. */
static int64_t part_low(const struct part *part)
{
    return (part->is_full ? part->row->full : part->row->low) + part->less;
}

static float larger(float a, float b)
{
    return a > b ? a : b;
}

static int64_t gradient_behind(const struct pln_table *t, uint32_t last)
{
    return last + 1 < t->chain->count ? (int64_t)t->chain->stages[last + 1].crossing : 0;
}

/* What stage i needs to be kept in the window that ends with stage k, in slots. */
static float keep_floor(const struct pln_table *t, uint32_t i, uint32_t k)
{
    const struct pln_stage *stage = &t->chain->stages[i];
    int64_t forward = gradient_behind(t, k) + (int64_t)stage->kept_peak;
    int64_t backward =
        (int64_t)(stage->backward_peak + t->sum_gradients[k + 1] - t->sum_gradients[i + 1]);

    return (float)((double)most(forward, backward) * t->per_byte);
}

/* The cost of a row's plan of a slot, and what that needs. A slot above the largest one has its plan. */
static float cost_at(const struct pln_table *t, const struct row *row, int64_t slot, float *need)
{
    int64_t m = least(slot, t->slots);
    bool is_stored = m >= row->low && m < row->full;

    *need = is_stored ? row->need[m - row->low] : row->full_need;
    if (is_stored)
        return row->cost[m - row->low];
    return m >= row->full ? 0 : INFINITY;
}

/* The cost of what is inside a drop that is chosen at a slot. */
static float inside_at(const struct pln_table *t, const struct drop *d, int64_t slot, float *need)
{
    if (!d->inside.is_full)
        return cost_at(t, d->inside.row, slot - d->inside.less, need);
    *need = d->inside.row->full_need;
    return least(slot - d->inside.less, t->slots) >= d->inside.row->full ? 0 : INFINITY;
}

/* The cost of a drop that is chosen at a slot. */
static float drop_at(const struct pln_table *t, const struct drop *d, int64_t slot, float *need)
{
    float behind;
    float inside;
    float cost = d->cost + cost_at(t, d->behind.row, slot - d->behind.less, &behind) +
                 inside_at(t, d, slot, &inside);

    *need = larger(d->floor, larger(behind + d->behind.add, inside + d->inside.add));
    return cost;
}

/* The cost of keeping stage i, chosen at a slot, in the window that ends with stage k. */
static float keep_at(const struct pln_table *t, uint32_t i, uint32_t k, int64_t slot, float *need)
{
    float floor = keep_floor(t, i, k);
    float rest = 0;
    float cost = 0;

    if (i < k) {
        struct part next = part_of(t, row_at(t, i + 1, k), t->chain->stages[i].kept);

        cost = cost_at(t, next.row, slot - next.less, &rest);
        rest += next.add;
    }
    *need = larger(floor, rest);
    return slot >= slot_of((double)floor) ? cost : INFINITY;
}

/* What the first runs of a region needed up to a cut, in bytes: of a plain one, and of a selective one. */
struct first_peak {
    int64_t plain;
    int64_t selective;
};

/* Extends *peak, for a region that begins at cut i, by the stages [from, end). */
static void peak_extend(const struct pln_table *t, uint32_t i, uint32_t from, uint32_t end,
                        struct first_peak *peak)
{
    const struct pln_stage *stages = t->chain->stages;

    for (uint32_t s = from; s < end; s++) {
        int64_t input = s > i ? (int64_t)stages[s].crossing : 0;
        int64_t here = input + (int64_t)stages[s].dropped_peak;

        peak->plain = most(peak->plain, here);
        peak->selective =
            most(peak->selective, here + (int64_t)(t->sum_saved[s] - t->sum_saved[i]));
    }
}

/* The region from cut i to cut `end`, in the window that ends with stage k. */
static struct drop drop_of(const struct pln_table *t, uint32_t i, uint32_t end, uint32_t k,
                           bool is_selective, const struct first_peak *peak)
{
    const struct pln_stage *stages = t->chain->stages;
    uint64_t gradients = t->sum_gradients[k + 1] - t->sum_gradients[end];
    double cost = t->sum_cost[end] - t->sum_cost[i] - stages[end - 1].tail_cost;
    uint64_t saved = is_selective ? t->sum_saved[end] - t->sum_saved[i] : 0;
    int64_t first = is_selective ? peak->selective : peak->plain;
    double floor = (double)(gradient_behind(t, k) + first) * t->per_byte;
    struct drop d = {.end = end, .is_selective = is_selective};

    if (is_selective)
        cost -= t->sum_saved_cost[end] - t->sum_saved_cost[i] - stages[end - 1].saved_tail_cost;
    d.cost = cost > 0 ? (float)cost : 0;
    d.floor = (float)floor;
    d.behind = part_of(t, row_at(t, end, k), (int64_t)(stages[end].crossing + saved));
    d.inside = part_of(t, row_at(t, i, end - 1), (int64_t)(gradients + stages[i].input_freed));
    d.inside.is_full = is_selective;
    d.low = most(slot_of(floor), most(part_low(&d.behind), part_low(&d.inside)));
    return d;
}

/* Whether a region of these stages could be selective to any effect. */
static bool is_saving(const struct pln_table *t, uint32_t i, uint32_t end, size_t cuts)
{
    return cuts <= SELECTIVE_CUTS && !t->is_plain && t->sum_saved[end] > t->sum_saved[i];
}

/* A part's costs and needs from a slot on, TOGETHER of them. */
static size_t part_at(const struct part *part, int64_t slot)
{
    if (part->is_full)
        return (size_t)(part->row->full - part->row->low);
    return (size_t)(least(slot - part->less, part->row->full) - part->row->low);
}

/*
 * The loops that take most of the time, over TOGETHER slots: to[m] = min(to[m], cost + a[m] + b[m]), and what that
 * needs. From one slot to the next no cost rises, so the last sum is the least of them, and the first of `to` the
 * highest: often, these two tell that none of them has to be looked at.
 */
static void lower(float *restrict to, float *restrict need, const struct drop *d, size_t behind,
                  size_t inside)
{
    const float *a = d->behind.row->cost + behind;
    const float *b = d->inside.row->cost + inside;
    const float *p = d->behind.row->need + behind;
    const float *q = d->inside.row->need + inside;
    float sum[TOGETHER];
    float needed[TOGETHER];
    int is_any = 0;

    if (d->cost + a[TOGETHER - 1] + b[TOGETHER - 1] >= *to)
        return;
    for (int m = 0; m < TOGETHER; m++) {
        sum[m] = d->cost + a[m] + b[m];
        is_any |= sum[m] < to[m];
    }
    if (!is_any)
        return;
    for (int m = 0; m < TOGETHER; m++) {
        float r = larger(p[m] + d->behind.add, q[m] + d->inside.add);

        needed[m] = larger(r, d->floor);
    }
    for (int m = 0; m < TOGETHER; m++)
        need[m] = sum[m] < to[m] ? needed[m] : need[m];
    for (int m = 0; m < TOGETHER; m++)
        to[m] = sum[m] < to[m] ? sum[m] : to[m];
}

/* Considers a drop for the slots below `high`. */
static void drop_consider(struct pln_table *t, const struct drop *d, int64_t high)
{
    for (int64_t m = d->low; m < high && t->cost[m] > d->cost; m += TOGETHER)
        lower(t->cost + m, t->need + m, d, part_at(&d->behind, m), part_at(&d->inside, m));
}

/* Collects the drops of a window that can be considered below slot `high`. Returns the first slot that any has. */
static int64_t drops_collect(struct pln_table *t, uint32_t i, uint32_t k, int64_t high)
{
    int64_t low = high;

    t->drop_count = 0;
    for (size_t u = t->first_use[i]; u < t->first_use[i + 1]; u++) {
        const struct pln_run *run = t->uses[u].run;
        struct first_peak peak = {0, 0};

        for (size_t at = t->uses[u].at + 1; at < run->count && run->cuts[at] <= k; at++) {
            uint32_t end = run->cuts[at];

            peak_extend(t, i, run->cuts[at - 1], end, &peak);
            for (int selective = 0; selective <= is_saving(t, i, end, at - t->uses[u].at);
                 selective++) {
                struct drop d = drop_of(t, i, end, k, selective, &peak);

                t->work++;
                if (d.low >= high)
                    continue;
                low = least(low, d.low);
                t->drops = vs_grow(t->drops, t->drop_count, &t->drop_cap, sizeof(*t->drops));
                t->drops[t->drop_count++] = d;
            }
        }
    }
    return low;
}

/* Keeping stage i and all that is behind it. */
static void row_full(const struct pln_table *t, struct row *row, uint32_t i, uint32_t k)
{
    const struct row *next = i < k ? row + 1 : NULL;

    row->full = t->slots + 1;
    row->full_need = keep_floor(t, i, k);
    if (next)
        row->full_need =
            larger(row->full_need,
                   next->full_need + (float)((double)t->chain->stages[i].kept * t->per_byte));
    row->full = least(row->full, slot_of((double)row->full_need));
}

/* Stores the choices made at the slots low … high - 1, each at the slot that its plan fits. */
static void row_store(struct pln_table *t, struct row *row, int64_t low, int64_t high)
{
    /* A plan fits the slot of its choice or the one before. */
    int64_t first = most(low - 1, 0);
    size_t count = row->full > first ? (size_t)(row->full - first) : 0;
    float last = INFINITY;

    row->cost = vs_arena_alloc(t->cells, (count + TOGETHER) * sizeof(*row->cost));
    row->need = vs_arena_alloc(t->cells, (count + TOGETHER) * sizeof(*row->need));
    row->from = vs_arena_alloc(t->cells, count * sizeof(*row->from));
    for (size_t s = 0; s < count; s++)
        row->cost[s] = INFINITY;
    for (size_t s = count; s < count + TOGETHER; s++) {
        row->cost[s] = 0;
        row->need[s] = row->full_need;
    }
    for (int64_t m = low; m < high; m++) {
        int64_t s;

        if (t->cost[m] >= last)
            continue;
        last = t->cost[m];
        s = most(slot_of((double)t->need[m]), first) - first;
        if (s >= (int64_t)count)
            break;
        if (t->cost[m] >= row->cost[s])
            continue;
        row->cost[s] = t->cost[m];
        row->need[s] = t->need[m];
        row->from[s] = (uint16_t)m;
    }
    for (size_t s = 1; s < count; s++) {
        if (row->cost[s - 1] > row->cost[s])
            continue;
        row->cost[s] = row->cost[s - 1];
        row->need[s] = row->need[s - 1];
        row->from[s] = row->from[s - 1];
    }
    row->low = first;
    while (row->low < row->full && isinf(*row->cost)) {
        row->low++;
        row->cost++;
        row->need++;
        row->from++;
    }
}

/* The choice to keep stage i, at the slots low … high - 1. */
static void row_keep(struct pln_table *t, uint32_t i, uint32_t k, int64_t low, int64_t high)
{
    float floor = keep_floor(t, i, k);
    struct part next;
    int64_t full = low;

    if (i < k) {
        next = part_of(t, row_at(t, i + 1, k), t->chain->stages[i].kept);
        full = least(most(next.row->full + next.less, low), high);
        for (int64_t m = low; m < full; m++) {
            /* Above the largest slot its plan is the best that is known. */
            int64_t at = least(m - next.less, t->slots) - next.row->low;

            t->cost[m] = next.row->cost[at];
            t->need[m] = larger(floor, next.row->need[at] + next.add);
        }
        floor = larger(floor, next.row->full_need + next.add);
    }
    for (int64_t m = full; m < high; m++) {
        t->cost[m] = 0;
        t->need[m] = floor;
    }
}

static void row_fill(struct pln_table *t, struct row *row, uint32_t i, uint32_t k)
{
    int64_t high;
    int64_t kept;
    int64_t low;

    row_full(t, row, i, k);
    /* A choice at one slot above may fit the last one that is stored. */
    high = least(row->full + 1, t->slots + 1);
    kept = row->full;
    if (i < k) {
        struct part next = part_of(t, row + 1, t->chain->stages[i].kept);

        kept = most(slot_of((double)keep_floor(t, i, k)), next.row->low + next.less);
    }
    kept = least(kept, high);
    low = least(kept, drops_collect(t, i, k, high));
    for (int64_t m = low; m < kept; m++)
        t->cost[m] = INFINITY;
    for (int64_t m = high; m < high + TOGETHER; m++)
        t->cost[m] = 0;
    row_keep(t, i, k, kept, high);
    for (size_t d = 0; d < t->drop_count; d++)
        drop_consider(t, &t->drops[d], high);
    row_store(t, row, low, high);
}

struct pln_table *pln_table_new(const struct pln_chain *chain, uint64_t unit, uint32_t slots,
                                bool is_plain)
{
    struct pln_table *t = vs_calloc(1, sizeof(*t));

    VS_ASSERT(chain->count > 0 && unit > 0 && slots > 0 && slots < UINT16_MAX);
    t->chain = chain;
    t->per_byte = 1 / (double)unit;
    t->slots = slots;
    t->is_plain = is_plain;
    t->cells = vs_arena_new();
    t->cost = vs_calloc((size_t)t->slots + 1 + TOGETHER, sizeof(*t->cost));
    t->need = vs_calloc((size_t)t->slots + 1 + TOGETHER, sizeof(*t->need));
    pln_table_set_up(t);
    for (uint32_t k = 0; k < chain->count; k++) {
        if (!t->rows[k])
            continue;
        for (uint32_t i = k + 1; i-- > t->lowest[k];)
            row_fill(t, &t->rows[k][i - t->lowest[k]], i, k);
    }
    return t;
}

void pln_table_free(struct pln_table *table)
{
    if (!table)
        return;
    for (size_t k = 0; k < table->chain->count; k++)
        vs_free(table->rows[k]);
    vs_free(table->rows);
    vs_free(table->lowest);
    vs_arena_free(table->cells);
    vs_free(table->cost);
    vs_free(table->need);
    vs_free(table->drops);
    vs_free(table->uses);
    vs_free(table->first_use);
    vs_free(table->sum_cost);
    vs_free(table->sum_saved_cost);
    vs_free(table->sum_saved);
    vs_free(table->sum_gradients);
    vs_free(table);
}

/* ---- answers ---- */

double pln_table_cost(const struct pln_table *table, uint32_t slot)
{
    const struct row *row = row_at(table, 0, (uint32_t)table->chain->count - 1);
    float need;

    VS_ASSERT(slot <= table->slots);
    return (double)cost_at(table, row, slot, &need);
}

/* The region at cut i that gives a plan of the window with this cost and need, chosen at slot m. */
static struct drop taken(const struct pln_table *t, uint32_t i, uint32_t k, int64_t m, float cost,
                         float need)
{
    for (size_t u = t->first_use[i]; u < t->first_use[i + 1]; u++) {
        const struct pln_run *run = t->uses[u].run;
        struct first_peak peak = {0, 0};

        for (size_t at = t->uses[u].at + 1; at < run->count && run->cuts[at] <= k; at++) {
            uint32_t end = run->cuts[at];

            peak_extend(t, i, run->cuts[at - 1], end, &peak);
            for (int selective = 0; selective <= is_saving(t, i, end, at - t->uses[u].at);
                 selective++) {
                struct drop d = drop_of(t, i, end, k, selective, &peak);
                float needed;

                if (m >= d.low && drop_at(t, &d, m, &needed) <= cost && needed <= need)
                    return d;
            }
        }
    }
    VS_ASSERT(false && "a row has a cost that no choice gives");
    return (struct drop){0};
}

/* Adds the regions of the plan that the window (i, k) has at slot m. */
static void choose(const struct pln_table *t, uint32_t i, uint32_t k, int64_t m,
                   struct pln_plan *plan)
{
    while (i < k) {
        const struct row *row = row_at(t, i, k);
        float needed;
        float need;
        float cost;

        m = least(m, t->slots);
        if (m >= row->full)
            return;
        cost = cost_at(t, row, m, &need);
        m = row->from[m - row->low];
        if (keep_at(t, i, k, m, &needed) <= cost && needed <= need) {
            m -= part_of(t, NULL, t->chain->stages[i].kept).less;
            i++;
        } else {
            struct drop d = taken(t, i, k, m, cost, need);

            pln_plan_add(plan, (struct pln_region){i, d.end, d.is_selective});
            if (!d.is_selective)
                choose(t, i, d.end - 1, m - d.inside.less, plan);
            m -= d.behind.less;
            i = d.end;
        }
    }
}

void pln_table_plan(const struct pln_table *table, uint32_t slot, struct pln_plan *plan)
{
    VS_ASSERT(plan->count == 0 && !isinf(pln_table_cost(table, slot)));
    choose(table, 0, (uint32_t)table->chain->count - 1, slot, plan);
    pln_plan_measure(table->chain, plan);
}

uint64_t pln_table_work(const struct pln_table *table)
{
    return table->work;
}
