/*
 * planner/curve.c - see curve.h.
 *
 * Must not know:  how a table is solved.
 * Invariant:      points are compared by what pln_plan_measure says.
 */
#include "planner/curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "planner/solve.h"

/* Tables are made as long as all of them compare no more choices a stage than this, and at most so many. */
#define WORK UINT64_C(500)
#define TABLES 5

/* Slots of the table with selective regions, which compares more choices at each: half as many save little more. */
#define SAVING_SLOTS (PLN_SLOTS / 3)

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

/* Adds a plan for each cost that the table has, and to *work. Returns how many slots are too small for any plan. */
static uint32_t table_points(struct pln_curve *curve, const struct pln_chain *chain, uint64_t unit,
                             uint32_t slots, bool is_plain, uint64_t *work)
{
    struct pln_table *table = pln_table_new(chain, unit, slots, is_plain);
    double last = HUGE_VAL;
    uint32_t low = 0;

    for (uint32_t m = 0; m <= slots; m++) {
        double cost = pln_table_cost(table, m);
        struct pln_plan plan = {.count = 0};

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
    /* From the least peak up: a point must cost less than all points below it, and have no more arithmetic. */
    for (size_t i = curve->count; i-- > 0;) {
        struct pln_plan plan = curve->points[i];

        if (kept < curve->count &&
            (plan.cost >= curve->points[kept].cost || plan.flops > curve->points[kept].flops))
            pln_plan_release(&plan);
        else
            curve->points[--kept] = plan;
    }
    memmove(curve->points, curve->points + kept, (curve->count - kept) * sizeof(*curve->points));
    curve->count -= kept;
}

/*
 * By how much the budgets of the next table are smaller, where there can be `tables` in all: together they reach down
 * to a small part of the range, in equal steps.
 */
static double finer(uint64_t tables)
{
    return tables >= TABLES ? 2.0 : tables >= 4 ? 2.4 : 3.0;
}

static bool is_saving(const struct pln_chain *chain)
{
    for (size_t i = 0; i < chain->count; i++) {
        if (chain->stages[i].saved > 0)
            return true;
    }
    return false;
}

/* Begins a curve with the plan without checkpoints. Returns its peak. */
static uint64_t begin(struct pln_curve *out, const struct pln_chain *chain)
{
    struct pln_plan none = {.count = 0};

    memset(out, 0, sizeof(*out));
    pln_plan_measure(chain, &none);
    add(out, &none);
    return none.peak;
}

void pln_curve_fill(struct pln_curve *out, const struct pln_chain *chain)
{
    uint64_t range = begin(out, chain);
    uint64_t tables = TABLES;

    for (uint64_t i = 0; i < tables && (i == 0 || range > PLN_SLOTS); i++) {
        uint64_t work = 0;

        /* Until nothing fits: a coarse unit hides how little memory small tensors need. */
        if (table_points(out, chain, (range + PLN_SLOTS - 1) / PLN_SLOTS, PLN_SLOTS, true, &work) >
            PLN_SLOTS)
            break;
        if (i == 0 && work > WORK * chain->count / TABLES)
            tables = work < WORK * chain->count ? WORK * chain->count / work : 1;
        range = (uint64_t)((double)range / finer(tables));
    }
    filter(out);
}

void pln_curve_fill_selective(struct pln_curve *out, const struct pln_chain *chain)
{
    uint64_t range = begin(out, chain);
    uint64_t work = 0;

    /* What selective regions keep needs a large budget: the coarsest table is enough for them. */
    if (is_saving(chain))
        (void)table_points(out, chain, (range + SAVING_SLOTS - 1) / SAVING_SLOTS, SAVING_SLOTS,
                           false, &work);
    filter(out);
}

size_t pln_curve_find(const struct pln_curve *curve, uint64_t bytes)
{
    size_t i = 0;

    while (i < curve->count && curve->points[i].peak > bytes)
        i++;
    return i;
}
