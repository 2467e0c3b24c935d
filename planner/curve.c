/*
 * planner/curve.c - see curve.h.
 *
 * Must not know:  how a table is solved.
 * Invariant:      points are compared by what pln_plan_measure says, never by a table's rounded sizes.
 */
#include "planner/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "planner/solve.h"

/* A finer table covers the budgets up to this part of those that the one before covered. */
#define FINER 3
/* Tables are made until they have compared this many choices, and at most so many. */
#define WORK 100000
#define TABLES 6

void pln_curve_release(struct pln_curve *curve)
{
    for (size_t i = 0; i < curve->count; i++)
        pln_plan_release(&curve->points[i]);
    vs_free(curve->points);
    memset(curve, 0, sizeof(*curve));
}

static void add(struct pln_curve *curve, const struct pln_plan *plan)
{
    curve->points = vs_grow(curve->points, curve->count, &curve->cap, sizeof(*curve->points));
    curve->points[curve->count++] = *plan;
}

/*
 * Adds a plan for each cost that the table has, and returns the largest slot where no plan fits, plus one. Adds to
 * *work.
 */
static uint32_t table_points(struct pln_curve *curve, const struct pln_chain *chain, uint64_t unit,
                             uint64_t *work)
{
    struct pln_table *table = pln_table_new(chain, unit, PLN_SLOTS);
    double last = INFINITY;
    uint32_t low = 0;

    for (uint32_t m = 0; m <= PLN_SLOTS; m++) {
        double cost = pln_table_cost(table, m);
        struct pln_plan plan = {NULL, 0, 0, 0, 0};

        if (isinf(cost))
            low = m + 1;
        if (cost >= last)
            continue;
        last = cost;
        pln_table_plan(table, m, &plan);
        add(curve, &plan);
    }
    *work += pln_table_work(table);
    pln_table_free(table);
    return low;
}

/* By peak, then by cost, then the plan with fewer regions: an order without ties between different figures. */
static int by_peak(const void *a, const void *b)
{
    const struct pln_plan *x = a;
    const struct pln_plan *y = b;

    if (x->peak != y->peak)
        return x->peak > y->peak ? -1 : 1;
    if (x->cost != y->cost)
        return x->cost > y->cost ? -1 : 1;
    return (x->count < y->count) - (x->count > y->count);
}

/* Keeps the points that no other one beats, from the highest peak to the lowest. */
static void filter(struct pln_curve *curve)
{
    size_t kept = curve->count;

    qsort(curve->points, curve->count, sizeof(*curve->points), by_peak);
    /* From the least peak up: a point must cost less than all points below it. */
    for (size_t i = curve->count; i-- > 0;) {
        struct pln_plan plan = curve->points[i];

        if (kept < curve->count && plan.cost >= curve->points[kept].cost)
            pln_plan_release(&plan);
        else
            curve->points[--kept] = plan;
    }
    memmove(curve->points, curve->points + kept, (curve->count - kept) * sizeof(*curve->points));
    curve->count -= kept;
}

void pln_curve_fill(struct pln_curve *out, const struct pln_chain *chain)
{
    struct pln_plan none = {NULL, 0, 0, 0, 0};
    uint64_t work = 0;
    uint64_t range;

    memset(out, 0, sizeof(*out));
    pln_plan_measure(chain, &none);
    range = none.peak;
    add(out, &none);
    for (int i = 0; i < TABLES && work < WORK && (i == 0 || range > PLN_SLOTS); i++) {
        uint64_t unit = (range + PLN_SLOTS - 1) / PLN_SLOTS;
        uint64_t least = unit * table_points(out, chain, unit, &work);

        if (least >= range)
            break;
        range = least + (range - least) / FINER;
    }
    filter(out);
}

size_t pln_curve_find(const struct pln_curve *curve, uint64_t bytes)
{
    size_t i = 0;

    while (i < curve->count && curve->points[i].peak > bytes)
        i++;
    return i;
}
