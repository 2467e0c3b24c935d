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
 * The costs of one window (i, k), by slot.
 *
 * low   first slot where a plan fits; slots + 1: none
 * full  first slot where nothing is run again; slots + 1: none
 */
struct row {
    float *cost;
    int64_t low;
    int64_t full;
};

/*
 * rows       rows of the windows that end with stage k, from stage lowest[k] on: rows[k][i - lowest[k]]; NULL where no
 *            window ends there
 * run_of     for cut i: the runs that contain it, as a list of (run, index of the cut)
 * sum_cost, sum_gradients, sum_kept   of the stages before each cut
 */
struct use {
    const struct pln_run *run;
    size_t at;
};

struct pln_table {
    const struct pln_chain *chain;
    uint64_t unit;
    int64_t slots;
    struct row **rows;
    uint32_t *lowest;
    float *cells;
    struct use *uses;
    size_t *first_use;
    double *sum_cost;
    uint64_t *sum_gradients;
    int64_t *sum_kept;
    uint64_t work;
};

/* ---- what is fixed before the rows ---- */

/* The nearest number of slots. */
static int64_t slots_of(const struct pln_table *t, int64_t bytes)
{
    int64_t unit = (int64_t)t->unit;
    int64_t half = unit / 2;

    return bytes >= 0 ? (bytes + half) / unit : -((-bytes + half) / unit);
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

/* Which windows there are, and memory for their rows. */
static void rows_allocate(struct pln_table *t)
{
    const struct pln_chain *chain = t->chain;
    size_t n = chain->count;
    size_t width = (size_t)t->slots + 1;
    size_t windows = 0;
    float *cell;

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
    for (size_t k = 0; k < n; k++)
        windows += t->lowest[k] < n ? k + 1 - t->lowest[k] : 0;
    cell = t->cells = vs_alloc(windows * width * sizeof(*cell));
    for (size_t k = 0; k < n; k++) {
        if (t->lowest[k] == n)
            continue;
        t->rows[k] = vs_calloc(k + 1 - t->lowest[k], sizeof(struct row));
        for (size_t i = t->lowest[k]; i <= k; i++, cell += width)
            t->rows[k][i - t->lowest[k]].cost = cell;
    }
}

/* ---- rows ---- */

static const struct row *row_at(const struct pln_table *t, uint32_t first, uint32_t last)
{
    VS_ASSERT(t->rows[last] && first >= t->lowest[last] && first <= last);
    return &t->rows[last][first - t->lowest[last]];
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

    return slots_of(t, forward > backward ? forward : backward);
}

/* A region that begins at cut i, and the figures that its row is made with. */
struct drop {
    uint32_t end;
    double cost;
    int64_t floor;  /* slots that the forward needs */
    int64_t behind; /* slots less for what is behind the region */
    int64_t inside; /* slots less for the region when it is run again; not negative */
};

/*
 * The region from cut i to the cut number `at` of a run, in the window that ends with stage k. *peak is what dropping
 * the stages up to the cut before needed, in bytes, and is extended.
 */
static struct drop drop_of(const struct pln_table *t, uint32_t i, const struct pln_run *run,
                           size_t at, uint32_t k, int64_t *peak)
{
    const struct pln_stage *stages = t->chain->stages;
    uint32_t end = run->cuts[at];

    for (uint32_t s = run->cuts[at - 1]; s < end; s++) {
        int64_t input = s > i ? (int64_t)stages[s].crossing : 0;
        int64_t need = input + (int64_t)stages[s].dropped_peak;

        *peak = need > *peak ? need : *peak;
    }
    return (struct drop){.end = end,
                         .cost = t->sum_cost[end] - t->sum_cost[i] - stages[end - 1].tail_cost,
                         .floor = slots_of(t, gradient_behind(t, k) + *peak),
                         .behind = slots_of(t, (int64_t)stages[end].crossing),
                         .inside =
                             slots_of(t, (int64_t)(t->sum_gradients[k + 1] - t->sum_gradients[end] +
                                                   stages[i].input_freed))};
}

/* First slot at which a drop can be considered. */
static int64_t drop_low(const struct drop *d, const struct row *behind, const struct row *inside)
{
    int64_t low = d->floor;

    if (behind->low + d->behind > low)
        low = behind->low + d->behind;
    if (inside->low + d->inside > low)
        low = inside->low + d->inside;
    return low;
}

/* The loops that take nearly all of the time: to[m] = min(to[m], cost + a[m] + b[m]), and the same with b[m] = 0. */
static void lower(float *restrict to, const float *restrict a, const float *restrict b, float cost,
                  int64_t count)
{
    for (int64_t m = 0; m < count; m++) {
        float v = cost + a[m] + b[m];

        to[m] = v < to[m] ? v : to[m];
    }
}

static void lower_by_one(float *restrict to, const float *restrict a, float cost, int64_t count)
{
    for (int64_t m = 0; m < count; m++) {
        float v = cost + a[m];

        to[m] = v < to[m] ? v : to[m];
    }
}

/*
 * First slot in [low, high) whose cost is at most `cost`, or high: from there on a choice that costs more is in vain.
 */
static int64_t reached(const struct row *row, int64_t low, int64_t high, float cost)
{
    while (low < high) {
        int64_t mid = low + (high - low) / 2;

        if (row->cost[mid] <= cost)
            high = mid;
        else
            low = mid + 1;
    }
    return high;
}

/* Considers a drop for the slots from `low` on. Where the inner row is full, it need not be read. */
static void row_lower(struct row *row, const struct drop *d, int64_t low, const struct row *behind,
                      const struct row *inside)
{
    int64_t high = reached(row, low, row->full, (float)d->cost);
    int64_t both = inside->full + d->inside;

    both = both < low ? low : both;
    both = both < high ? both : high;
    lower(row->cost + low, behind->cost + low - d->behind, inside->cost + low - d->inside,
          (float)d->cost, both - low);
    lower_by_one(row->cost + both, behind->cost + both - d->behind, (float)d->cost, high - both);
}

static void row_set(struct row *row, int64_t from, int64_t to, float value)
{
    for (int64_t m = from; m < to; m++)
        row->cost[m] = value;
}

/* Keeping stage i. `next`: the row of the window from i + 1; NULL: i is the last stage of the window. */
static void row_keep(const struct pln_table *t, struct row *row, uint32_t i, uint32_t k,
                     const struct row *next)
{
    int64_t end = t->slots + 1;
    int64_t shift = next ? kept_slots(t, i) : 0;
    int64_t low = keep_floor(t, i, k);
    int64_t m;

    if (next && next->low > t->slots)
        low = end;
    else if (next && next->low + shift > low)
        low = next->low + shift;
    row->full = next && next->full + shift > low ? next->full + shift : low;
    if (next && next->full > t->slots)
        row->full = end;
    row->low = low < end ? low : end;
    row->full = row->full < end ? row->full : end;
    row_set(row, 0, row->low, INFINITY);
    for (m = row->low; m < row->full; m++)
        row->cost[m] = next->cost[m - shift < end ? m - shift : t->slots];
    row_set(row, row->full, end, 0.0F);
}

static void row_drop(struct pln_table *t, struct row *row, uint32_t i, uint32_t k)
{
    for (size_t u = t->first_use[i]; u < t->first_use[i + 1]; u++) {
        const struct pln_run *run = t->uses[u].run;
        int64_t peak = 0;

        for (size_t at = t->uses[u].at + 1; at < run->count && run->cuts[at] <= k; at++) {
            struct drop d = drop_of(t, i, run, at, k, &peak);
            const struct row *behind = row_at(t, d.end, k);
            const struct row *inside = row_at(t, i, d.end - 1);
            int64_t low = drop_low(&d, behind, inside);

            t->work++;
            if (low >= row->full)
                continue;
            row->low = low < row->low ? low : row->low;
            row_lower(row, &d, low, behind, inside);
        }
    }
}

struct pln_table *pln_table_new(const struct pln_chain *chain, uint64_t unit, uint32_t slots)
{
    struct pln_table *t = vs_calloc(1, sizeof(*t));

    VS_ASSERT(chain->count > 0 && unit > 0 && slots > 0);
    t->chain = chain;
    t->unit = unit;
    t->slots = slots;
    sums_fill(t);
    uses_fill(t);
    rows_allocate(t);
    for (uint32_t k = 0; k < chain->count; k++) {
        if (!t->rows[k])
            continue;
        for (uint32_t i = k + 1; i-- > t->lowest[k];) {
            struct row *row = &t->rows[k][i - t->lowest[k]];

            row_keep(t, row, i, k, i < k ? row + 1 : NULL);
            row_drop(t, row, i, k);
        }
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
    vs_free(table->cells);
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
    return (double)row_at(table, 0, (uint32_t)table->chain->count - 1)->cost[slot];
}

/* Whether keeping stage i gives the cost that the row has at slot m. */
static bool is_kept(const struct pln_table *t, uint32_t i, uint32_t k, int64_t m)
{
    const struct row *row = row_at(t, i, k);
    int64_t shift = kept_slots(t, i);
    int64_t left = m - shift < t->slots ? m - shift : t->slots;

    if (i == k)
        return true;
    return m >= keep_floor(t, i, k) && left >= 0 && row_at(t, i + 1, k)->cost[left] <= row->cost[m];
}

/* The region at cut i with which the row got its cost at slot m. */
static struct drop taken(const struct pln_table *t, uint32_t i, uint32_t k, int64_t m)
{
    const struct row *row = row_at(t, i, k);

    for (size_t u = t->first_use[i]; u < t->first_use[i + 1]; u++) {
        const struct pln_run *run = t->uses[u].run;
        int64_t peak = 0;

        for (size_t at = t->uses[u].at + 1; at < run->count && run->cuts[at] <= k; at++) {
            struct drop d = drop_of(t, i, run, at, k, &peak);
            const struct row *behind = row_at(t, d.end, k);
            const struct row *inside = row_at(t, i, d.end - 1);

            if (m >= drop_low(&d, behind, inside) &&
                (float)d.cost + behind->cost[m - d.behind] + inside->cost[m - d.inside] <=
                    row->cost[m])
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
            choose(t, i, d.end - 1, m - d.inside, plan);
            m -= d.behind;
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
