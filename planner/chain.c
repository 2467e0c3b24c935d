/*
 * planner/chain.c - see chain.h.
 *
 * Must not know:  how a plan was found.
 * Invariant:      exact: no figure is rounded here.
 */
#include "planner/chain.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

void pln_chain_release(struct pln_chain *chain)
{
    for (size_t i = 0; i < chain->run_count; i++)
        vs_free(chain->runs[i].cuts);
    vs_free(chain->runs);
    vs_free(chain->stages);
    memset(chain, 0, sizeof(*chain));
}

void pln_plan_release(struct pln_plan *plan)
{
    vs_free(plan->regions);
    memset(plan, 0, sizeof(*plan));
}

void pln_plan_add(struct pln_plan *plan, struct pln_region region)
{
    plan->regions = vs_grow(plan->regions, plan->count, &plan->cap, sizeof(*plan->regions));
    plan->regions[plan->count++] = region;
}

/* ---- legality ---- */

static bool run_has(const struct pln_run *run, uint32_t cut)
{
    for (size_t i = 0; i < run->count; i++) {
        if (run->cuts[i] == cut)
            return true;
    }
    return false;
}

static bool is_allowed(const struct pln_chain *chain, struct pln_region region)
{
    if (region.first >= region.end || region.end >= chain->count)
        return false;
    for (size_t i = 0; i < chain->run_count; i++) {
        if (run_has(&chain->runs[i], region.first) && run_has(&chain->runs[i], region.end))
            return true;
    }
    return false;
}

bool pln_plan_is_legal(const struct pln_chain *chain, const struct pln_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct pln_region inner = plan->regions[i];

        if (!is_allowed(chain, inner))
            return false;
        for (size_t k = 0; k < i; k++) {
            struct pln_region outer = plan->regions[k];
            bool is_after = outer.end <= inner.first;
            bool is_inside =
                outer.first <= inner.first && inner.end < outer.end && !outer.is_selective;

            if (!is_after && !is_inside)
                return false;
        }
    }
    return true;
}

/* ---- peak and cost ---- */

/* The plan that is measured, and sums over stages before a cut. */
struct measure {
    const struct pln_chain *chain;
    struct pln_plan *plan;
    double *cost;
    double *flops;
    double *saved_cost;
    double *saved_flops;
    int64_t *saved;
    int64_t *gradients;
};

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static double above(double all, double tail)
{
    return all > tail ? all - tail : 0;
}

/* The gradient of what crosses the cut behind stage `last`; the loss has none. */
static int64_t gradient_behind(const struct pln_chain *chain, uint32_t last)
{
    return last + 1 < chain->count ? (int64_t)chain->stages[last + 1].crossing : 0;
}

/* Most that is alive, above what is alive at its start, while a region runs forward for the first time. */
static int64_t dropped_peak(const struct measure *m, struct pln_region region)
{
    int64_t peak = 0;

    for (uint32_t i = region.first; i < region.end; i++) {
        const struct pln_stage *stage = &m->chain->stages[i];
        int64_t input = i > region.first ? (int64_t)stage->crossing : 0;
        int64_t saved = region.is_selective ? m->saved[i] - m->saved[region.first] : 0;

        peak = most(peak, saved + input + (int64_t)stage->dropped_peak);
    }
    return peak;
}

/* Adds what a region runs again, once. */
static void rerun_add(const struct measure *m, struct pln_region r)
{
    const struct pln_stage *last = &m->chain->stages[r.end - 1];
    double cost = m->cost[r.end] - m->cost[r.first];
    double flops = m->flops[r.end] - m->flops[r.first];

    if (r.is_selective) {
        cost -= m->saved_cost[r.end] - m->saved_cost[r.first];
        flops -= m->saved_flops[r.end] - m->saved_flops[r.first];
    }
    m->plan->cost += above(cost, last->tail_cost - (r.is_selective ? last->saved_tail_cost : 0));
    m->plan->flops +=
        above(flops, last->tail_flops - (r.is_selective ? last->saved_tail_flops : 0));
}

static size_t behind_nested(const struct pln_plan *plan, size_t at)
{
    uint32_t end = plan->regions[at].end;

    while (at < plan->count && plan->regions[at].first < end)
        at++;
    return at;
}

/*
 * Runs the stages [first, end) forward and backward, with the regions from number `at` on that lie inside. Returns what
 * that needs above the start of stage `first`, with the gradient that comes in from behind; adds to the plan's cost.
 */
static int64_t window(const struct measure *m, uint32_t first, uint32_t end, size_t at)
{
    const struct pln_chain *chain = m->chain;
    struct pln_plan *plan = m->plan;
    int64_t gradient = gradient_behind(chain, end - 1);
    int64_t alive = 0;
    int64_t peak = 0;
    uint32_t i = first;

    while (i < end) {
        const struct pln_stage *stage = &chain->stages[i];
        int64_t later = m->gradients[end];

        if (at < plan->count && plan->regions[at].first == i) {
            struct pln_region r = plan->regions[at];
            int64_t held = (int64_t)stage->input_freed;

            peak = most(peak, gradient + alive + dropped_peak(m, r));
            rerun_add(m, r);
            peak = most(peak, alive + held + later - m->gradients[r.end] +
                                  window(m, r.first, r.end, at + 1));
            alive += (int64_t)chain->stages[r.end].crossing;
            if (r.is_selective)
                alive += m->saved[r.end] - m->saved[r.first];
            at = behind_nested(plan, at);
            i = r.end;
        } else {
            peak = most(peak, gradient + alive + (int64_t)stage->kept_peak);
            peak = most(peak, alive + (int64_t)stage->backward_peak + later - m->gradients[i + 1]);
            alive += stage->kept;
            i++;
        }
    }
    return peak;
}

void pln_plan_measure(const struct pln_chain *chain, struct pln_plan *plan)
{
    struct measure m = {.chain = chain, .plan = plan};

    VS_ASSERT(chain->count > 0);
    m.cost = vs_calloc(chain->count + 1, sizeof(*m.cost));
    m.flops = vs_calloc(chain->count + 1, sizeof(*m.flops));
    m.saved_cost = vs_calloc(chain->count + 1, sizeof(*m.saved_cost));
    m.saved_flops = vs_calloc(chain->count + 1, sizeof(*m.saved_flops));
    m.saved = vs_calloc(chain->count + 1, sizeof(*m.saved));
    m.gradients = vs_calloc(chain->count + 1, sizeof(*m.gradients));
    for (size_t i = 0; i < chain->count; i++) {
        m.cost[i + 1] = m.cost[i] + chain->stages[i].cost;
        m.flops[i + 1] = m.flops[i] + chain->stages[i].flops;
        m.saved_cost[i + 1] = m.saved_cost[i] + chain->stages[i].saved_cost;
        m.saved_flops[i + 1] = m.saved_flops[i] + chain->stages[i].saved_flops;
        m.saved[i + 1] = m.saved[i] + (int64_t)chain->stages[i].saved;
        m.gradients[i + 1] = m.gradients[i] + (int64_t)chain->stages[i].gradients;
    }
    plan->cost = 0;
    plan->flops = 0;
    plan->peak = (uint64_t)window(&m, 0, (uint32_t)chain->count, 0);
    vs_free(m.gradients);
    vs_free(m.saved);
    vs_free(m.saved_flops);
    vs_free(m.saved_cost);
    vs_free(m.flops);
    vs_free(m.cost);
}
