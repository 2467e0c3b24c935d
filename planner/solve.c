/*
 * planner/solve.c - see solve.h.
 *
 * Must not know:  anything but the chain.
 * Invariant:      a row never rises from one slot to the next.
 *
 * Costs are kept as float, which halves the memory that the inner loop reads; a plan's own cost is exact.
 */
#include "planner/solve.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"

/*
 * The costs of one window (i, k), by slot: `cost` has those of the slots low … full - 1, the only ones that are stored.
 *
 * low   first slot where a plan fits; slots + 1: none
 * full  first slot where nothing is run again; slots + 1: none; never below low
 */
struct row {
    float *cost;
    int64_t low;
    int64_t full;
};

/*
 * A region that begins at cut i, and the figures that its row is made with.
 *
 * low     first slot at which it can be considered
 * behind  the row of what is behind the region, and how many slots less that has
 * inside  the row of the region when it is run again, and how many slots less that has; not negative
 */
struct drop {
    uint32_t end;
    float cost;
    int64_t low;
    const struct row *behind;
    int64_t behind_less;
    const struct row *inside;
    int64_t inside_less;
};

/* A cut of a run. */
struct use {
    const struct pln_run *run;
    size_t at;
};

/*
 * per_byte   slots for each byte
 * rows       rows of the windows that end with stage k, from stage lowest[k] on: rows[k][i - lowest[k]]; NULL where no
 *            window ends there
 * zeros      slots + 1 costs of 0
 * uses       the runs that contain cut i: uses[first_use[i]] … uses[first_use[i + 1] - 1]
 * drops      those of the row that is being made
 * sum_cost, sum_gradients, sum_kept   of the stages before each cut
 */
struct pln_table {
    const struct pln_chain *chain;
    double per_byte;
    int64_t slots;
    struct row **rows;
    uint32_t *lowest;
    struct vs_arena *cells;
    float *zeros;
    struct use *uses;
    size_t *first_use;
    struct drop *drops;
    size_t drop_count, drop_cap;
    double *sum_cost;
    uint64_t *sum_gradients;
    int64_t *sum_kept;
    uint64_t work;
};

/* ---- what is fixed before the rows ---- */

/* The nearest number of slots. */
static int64_t slots_of(const struct pln_table *t, int64_t bytes)
{
    double slots = (double)bytes * t->per_byte;

    return (int64_t)(slots < 0 ? slots - 0.5 : slots + 0.5);
}

/* Slots that keeping stage i takes. What neighbours take adds up to the slots of their sum, whatever their number. */
static int64_t kept_slots(const struct pln_table *t, uint32_t i)
{
    return slots_of(t, t->sum_kept[i + 1]) - slots_of(t, t->sum_kept[i]);
}

static void sums_fill(struct pln_table *t)
{
    size_t n = t->chain->count;

    t->sum_cost = vs_calloc(n + 1, sizeof(*t->sum_cost));
    t->sum_gradients = vs_calloc(n + 1, sizeof(*t->sum_gradients));
    t->sum_kept = vs_calloc(n + 1, sizeof(*t->sum_kept));
    for (size_t i = 0; i < n; i++) {
        t->sum_cost[i + 1] = t->sum_cost[i] + t->chain->stages[i].cost;
        t->sum_gradients[i + 1] = t->sum_gradients[i] + t->chain->stages[i].gradients;
        t->sum_kept[i + 1] = t->sum_kept[i] + t->chain->stages[i].kept;
    }
}

/* For each cut the runs that a region may begin in. */
static void uses_fill(struct pln_table *t)
{
    const struct pln_chain *chain = t->chain;
    size_t *fill = vs_calloc(chain->count + 2, sizeof(*fill));
    size_t total = 0;

    t->first_use = vs_calloc(chain->count + 2, sizeof(*t->first_use));
    for (size_t r = 0; r < chain->run_count; r++) {
        for (size_t c = 0; c < chain->runs[r].count; c++) {
            VS_ASSERT(chain->runs[r].cuts[c] <= chain->count);
            t->first_use[chain->runs[r].cuts[c] + 1]++;
        }
        total += chain->runs[r].count;
    }
    for (size_t i = 0; i <= chain->count; i++) {
        t->first_use[i + 1] += t->first_use[i];
        fill[i] = t->first_use[i];
    }
    t->uses = vs_calloc(total + 1, sizeof(*t->uses));
    for (size_t r = 0; r < chain->run_count; r++) {
        for (size_t c = 0; c < chain->runs[r].count; c++)
            t->uses[fill[chain->runs[r].cuts[c]]++] = (struct use){&chain->runs[r], c};
    }
    vs_free(fill);
}

/* Which windows there are. */
static void rows_allocate(struct pln_table *t)
{
    const struct pln_chain *chain = t->chain;
    size_t n = chain->count;

    t->lowest = vs_calloc(n, sizeof(*t->lowest));
    t->rows = vs_calloc(n, sizeof(struct row *));
    for (size_t k = 0; k < n; k++)
        t->lowest[k] = (uint32_t)n;
    for (size_t r = 0; r < chain->run_count; r++) {
        const struct pln_run *run = &chain->runs[r];

        for (size_t c = 1; c < run->count; c++) {
            uint32_t *low = &t->lowest[run->cuts[c] - 1];

            *low = run->cuts[0] < *low ? run->cuts[0] : *low;
        }
    }
    t->lowest[n - 1] = 0;
    for (size_t k = 0; k < n; k++) {
        if (t->lowest[k] < n)
            t->rows[k] = vs_calloc(k + 1 - t->lowest[k], sizeof(struct row));
    }
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

static void row_set(struct row *row, int64_t from, int64_t to, float value)
{
    for (int64_t m = from; m < to; m++)
        row->cost[m - row->low] = value;
}

static int64_t gradient_behind(const struct pln_table *t, uint32_t last)
{
    return last + 1 < t->chain->count ? (int64_t)t->chain->stages[last + 1].crossing : 0;
}

/* Slots that stage i needs to be kept in the window that ends with stage k. */
static int64_t keep_floor(const struct pln_table *t, uint32_t i, uint32_t k)
{
    const struct pln_stage *stage = &t->chain->stages[i];
    int64_t forward = gradient_behind(t, k) + (int64_t)stage->kept_peak;
    int64_t backward =
        (int64_t)(stage->backward_peak + t->sum_gradients[k + 1] - t->sum_gradients[i + 1]);

    return slots_of(t, most(forward, backward));
}

/* The cost at a slot; of a budget above the largest one, that of the largest one. */
static float cost_at(const struct pln_table *t, const struct row *row, int64_t slot)
{
    int64_t m = slot < t->slots ? slot : t->slots;

    if (m >= row->full)
        return 0;
    return m >= row->low ? row->cost[m - row->low] : INFINITY;
}

/*
 * The region from cut i to the cut number `at` of a run, in the window that ends with stage k. *peak is what dropping
 * the stages up to the cut before needed, in bytes, and is extended.
 */
static struct drop drop_of(const struct pln_table *t, uint32_t i, const struct pln_run *run,
                           size_t at, uint32_t k, int64_t *peak)
{
    const struct pln_stage *stages = t->chain->stages;
    uint32_t end = run->cuts[at];
    struct drop d = {.end = end, .behind = row_at(t, end, k), .inside = row_at(t, i, end - 1)};

    for (uint32_t s = run->cuts[at - 1]; s < end; s++) {
        int64_t input = s > i ? (int64_t)stages[s].crossing : 0;

        *peak = most(*peak, input + (int64_t)stages[s].dropped_peak);
    }
    d.cost = (float)(t->sum_cost[end] - t->sum_cost[i] - stages[end - 1].tail_cost);
    d.behind_less = slots_of(t, (int64_t)stages[end].crossing);
    d.inside_less = slots_of(
        t, (int64_t)(t->sum_gradients[k + 1] - t->sum_gradients[end] + stages[i].input_freed));
    d.low = slots_of(t, gradient_behind(t, k) + *peak);
    d.low = most(d.low, d.behind->low + d.behind_less);
    d.low = most(d.low, d.inside->low + d.inside_less);
    return d;
}

/*
 * The loop that takes most of the time: to[m] = min(to[m], cost + a[m] + b[m]). From one slot to the next no cost
 * rises, so the last sum of a number of slots is the least of them, and the first of `to` the highest: mostly, these
 * two tell that none of them has to be looked at.
 */
#define TOGETHER 32

static void lower(float *restrict to, const float *restrict a, const float *restrict b, float cost,
                  int64_t count)
{
    for (int64_t from = 0; from < count && to[from] > cost; from += TOGETHER) {
        int64_t end = least(from + TOGETHER, count);

        if (cost + a[end - 1] + b[end - 1] >= to[from])
            continue;
        for (int64_t m = from; m < end; m++) {
            float v = cost + a[m] + b[m];

            to[m] = v < to[m] ? v : to[m];
        }
    }
}

/* The costs of a row from a slot on. Where nothing is run again they are not stored. */
static const float *costs_from(const struct pln_table *t, const struct row *row, int64_t slot)
{
    return slot < row->full ? row->cost + (slot - row->low) : t->zeros;
}

/* Considers a drop. */
static void row_lower(const struct pln_table *t, struct row *row, const struct drop *d)
{
    int64_t behind_full = d->behind->full + d->behind_less;
    int64_t inside_full = d->inside->full + d->inside_less;
    int64_t end;

    for (int64_t m = d->low; m < row->full; m = end) {
        end = row->full;
        if (m < behind_full)
            end = least(end, behind_full);
        if (m < inside_full)
            end = least(end, inside_full);
        lower(row->cost + (m - row->low), costs_from(t, d->behind, m - d->behind_less),
              costs_from(t, d->inside, m - d->inside_less), d->cost, end - m);
    }
}

/* Sets low and full of the row of a window in which stage i is kept, whose rest has the row `next`; NULL: no rest. */
static void row_keep(const struct pln_table *t, struct row *row, uint32_t i, uint32_t k,
                     const struct row *next)
{
    int64_t end = t->slots + 1;
    int64_t shift = next ? kept_slots(t, i) : 0;

    row->low = keep_floor(t, i, k);
    if (next)
        row->low = next->low < end ? most(row->low, next->low + shift) : end;
    row->full = row->low;
    if (next)
        row->full = next->full < end ? most(row->low, next->full + shift) : end;
    row->low = least(row->low, end);
    row->full = least(row->full, end);
}

/* Collects the drops of a row that lower a cost, and sets the first slot that any of them has. */
static void row_collect(struct pln_table *t, struct row *row, uint32_t i, uint32_t k)
{
    t->drop_count = 0;
    for (size_t u = t->first_use[i]; u < t->first_use[i + 1]; u++) {
        const struct pln_run *run = t->uses[u].run;
        int64_t peak = 0;

        for (size_t at = t->uses[u].at + 1; at < run->count && run->cuts[at] <= k; at++) {
            struct drop d = drop_of(t, i, run, at, k, &peak);

            t->work++;
            if (d.low >= row->full)
                continue;
            row->low = least(row->low, d.low);
            t->drops = vs_grow(t->drops, t->drop_count, &t->drop_cap, sizeof(*t->drops));
            t->drops[t->drop_count++] = d;
        }
    }
}

static void row_fill(struct pln_table *t, struct row *row, uint32_t i, uint32_t k)
{
    const struct row *next = i < k ? row + 1 : NULL;
    int64_t shift = next ? kept_slots(t, i) : 0;
    int64_t kept;

    row_keep(t, row, i, k, next);
    kept = row->low;
    row_collect(t, row, i, k);
    row->cost = vs_arena_alloc(t->cells, (size_t)(row->full - row->low) * sizeof(*row->cost));
    row_set(row, row->low, kept, INFINITY);
    for (int64_t m = kept; m < row->full; m++)
        row->cost[m - row->low] = cost_at(t, next, m - shift);
    for (size_t d = 0; d < t->drop_count; d++)
        row_lower(t, row, &t->drops[d]);
}

struct pln_table *pln_table_new(const struct pln_chain *chain, uint64_t unit, uint32_t slots)
{
    struct pln_table *t = vs_calloc(1, sizeof(*t));

    VS_ASSERT(chain->count > 0 && unit > 0 && slots > 0);
    t->chain = chain;
    t->per_byte = 1 / (double)unit;
    t->slots = slots;
    t->cells = vs_arena_new();
    t->zeros = vs_calloc((size_t)t->slots + 1, sizeof(*t->zeros));
    sums_fill(t);
    uses_fill(t);
    rows_allocate(t);
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
    vs_free(table->zeros);
    vs_free(table->drops);
    vs_free(table->uses);
    vs_free(table->first_use);
    vs_free(table->sum_cost);
    vs_free(table->sum_gradients);
    vs_free(table->sum_kept);
    vs_free(table);
}

/* ---- answers ---- */

double pln_table_cost(const struct pln_table *table, uint32_t slot)
{
    VS_ASSERT(slot <= table->slots);
    return (double)cost_at(table, row_at(table, 0, (uint32_t)table->chain->count - 1), slot);
}

/* Whether keeping stage i gives the cost that the row has at slot m. */
static bool is_kept(const struct pln_table *t, uint32_t i, uint32_t k, int64_t m)
{
    if (i == k)
        return true;
    return m >= keep_floor(t, i, k) &&
           cost_at(t, row_at(t, i + 1, k), m - kept_slots(t, i)) <= cost_at(t, row_at(t, i, k), m);
}

/* The region at cut i with which the row got its cost at slot m. */
static struct drop taken(const struct pln_table *t, uint32_t i, uint32_t k, int64_t m)
{
    float cost = cost_at(t, row_at(t, i, k), m);

    for (size_t u = t->first_use[i]; u < t->first_use[i + 1]; u++) {
        const struct pln_run *run = t->uses[u].run;
        int64_t peak = 0;

        for (size_t at = t->uses[u].at + 1; at < run->count && run->cuts[at] <= k; at++) {
            struct drop d = drop_of(t, i, run, at, k, &peak);

            if (m >= d.low && d.cost + cost_at(t, d.behind, m - d.behind_less) +
                                      cost_at(t, d.inside, m - d.inside_less) <=
                                  cost)
                return d;
        }
    }
    VS_ASSERT(false && "a row has a cost that no choice gives");
    return (struct drop){0};
}

static void choose(const struct pln_table *t, uint32_t i, uint32_t k, int64_t m,
                   struct pln_plan *plan)
{
    while (i < k) {
        if (is_kept(t, i, k, m)) {
            m -= kept_slots(t, i);
            m = m < t->slots ? m : t->slots;
            i++;
        } else {
            struct drop d = taken(t, i, k, m);

            pln_plan_add(plan, i, d.end);
            choose(t, i, d.end - 1, m - d.inside_less, plan);
            m -= d.behind_less;
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
