/*
 * planner/solve_setup.c - the part of a table that is fixed before its rows; see solve_internal.h.
 *
 * Must not know:  budgets, costs of plans.
 */
#include "planner/solve_internal.h"

#include "base/error.h"

static void sums_fill(struct pln_table *t)
{
    size_t n = t->chain->count;

    t->sum_cost = vs_calloc(n + 1, sizeof(*t->sum_cost));
    t->sum_saved_cost = vs_calloc(n + 1, sizeof(*t->sum_saved_cost));
    t->sum_saved = vs_calloc(n + 1, sizeof(*t->sum_saved));
    t->sum_gradients = vs_calloc(n + 1, sizeof(*t->sum_gradients));
    for (size_t i = 0; i < n; i++) {
        t->sum_cost[i + 1] = t->sum_cost[i] + t->chain->stages[i].cost;
        t->sum_saved_cost[i + 1] = t->sum_saved_cost[i] + t->chain->stages[i].saved_cost;
        t->sum_saved[i + 1] = t->sum_saved[i] + t->chain->stages[i].saved;
        t->sum_gradients[i + 1] = t->sum_gradients[i] + t->chain->stages[i].gradients;
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

void pln_table_set_up(struct pln_table *t)
{
    sums_fill(t);
    uses_fill(t);
    rows_allocate(t);
}
