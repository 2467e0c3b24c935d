/*
 * tests/planner/random_chain.c - see random_chain.h.
 */
#include "tests/planner/random_chain.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* xorshift64* (Vigna), so that no library decides the numbers. */
static uint32_t below(uint64_t *seed, uint32_t limit)
{
    *seed ^= *seed >> 12;
    *seed ^= *seed << 25;
    *seed ^= *seed >> 27;
    return (uint32_t)((*seed * UINT64_C(2685821657736338717)) >> 33) % limit;
}

/* tail: tail_cost of the stage before. */
static struct pln_stage random_stage(uint64_t *seed, uint32_t size, bool is_general, double tail)
{
    struct pln_stage s = {.crossing = below(seed, size + 1)};

    s.kept = (int64_t)below(seed, size + 1);
    s.dropped_peak = below(seed, size + 1);
    s.cost = 1 + below(seed, size);
    if (is_general) {
        s.kept -= below(seed, 3);
        s.gradients = below(seed, size / 2 + 1);
        s.input_freed = below(seed, 3) == 0 ? s.crossing : 0;
        s.tail_cost = below(seed, 2) ? s.cost + (below(seed, 2) ? tail : 0) : 0;
    }
    s.kept_peak = (uint64_t)(s.kept > 0 ? s.kept : 0) + below(seed, size + 1);
    s.backward_peak = (uint64_t)(s.kept > 0 ? s.kept : 0) + below(seed, size + 1);
    return s;
}

static void add_run(struct pln_chain *chain, uint64_t *seed, uint32_t first, uint32_t end,
                    uint32_t skip)
{
    struct pln_run *run;

    chain->runs = vs_realloc(chain->runs, chain->run_count + 1, sizeof(*chain->runs));
    run = &chain->runs[chain->run_count++];
    *run = (struct pln_run){vs_calloc(end - first + 1, sizeof(*run->cuts)), 0};
    for (uint32_t i = first; i <= end; i++) {
        if (i == first || i == end || skip == 0 || below(seed, skip) != 0)
            run->cuts[run->count++] = i;
    }
}

void random_saved(struct pln_chain *chain, uint64_t *seed, uint32_t size)
{
    for (size_t i = 0; i < chain->count; i++) {
        struct pln_stage *s = &chain->stages[i];
        double before = i > 0 ? chain->stages[i - 1].tail_cost : 0;
        double saved_before = i > 0 ? chain->stages[i - 1].saved_tail_cost : 0;

        if (below(seed, 2) == 0)
            continue;
        s->saved = below(seed, size + 1);
        s->saved_cost = s->saved ? below(seed, (uint32_t)s->cost + 1) : 0;
        if (s->tail_cost > 0)
            s->saved_tail_cost =
                s->saved_cost + (s->tail_cost > s->cost && before > 0 ? saved_before : 0);
    }
}

struct pln_chain random_chain(uint64_t *seed, size_t count, uint32_t size, bool is_general,
                              bool is_nested)
{
    struct pln_chain chain = {vs_calloc(count, sizeof(*chain.stages)), count, NULL, 0};

    for (size_t i = 0; i < count; i++)
        chain.stages[i] =
            random_stage(seed, size, is_general, i > 0 ? chain.stages[i - 1].tail_cost : 0);
    if (!is_nested) {
        add_run(&chain, seed, 0, (uint32_t)count - 1, 0);
        return chain;
    }
    add_run(&chain, seed, below(seed, 2), (uint32_t)count - 1, 2);
    for (size_t c = 0; c + 1 < chain.runs[0].count; c++) {
        uint32_t first = chain.runs[0].cuts[c];
        uint32_t end = chain.runs[0].cuts[c + 1];

        if (end - first >= 2) {
            add_run(&chain, seed, first, end, 3);
            break;
        }
    }
    return chain;
}

/* ---- a plan, carried out ---- */

struct machine {
    const struct pln_chain *chain;
    const struct pln_plan *plan;
    int64_t alive;     /* activations */
    int64_t gradients; /* of parameters */
    int64_t incoming;  /* gradient of the activation that backward has reached */
    int64_t peak;
    double cost;
};

static void touch(struct machine *m, int64_t bytes)
{
    if (bytes > m->peak)
        m->peak = bytes;
}

/* The widest region that begins with this stage, inside [.., end) and other than `outer`. */
static const struct pln_region *region_at(const struct machine *m, uint32_t first,
                                          const struct pln_region *outer)
{
    const struct pln_region *found = NULL;

    for (size_t i = 0; i < m->plan->count; i++) {
        const struct pln_region *r = &m->plan->regions[i];

        if (r->first == first && (!outer || r->end < outer->end) && (!found || r->end > found->end))
            found = r;
    }
    return found;
}

/* The cost of a region without its tail, which may begin before it. */
static double run_again(const struct pln_stage *stages, const struct pln_region *r)
{
    double cost = -stages[r->end - 1].tail_cost;

    if (r->is_selective)
        cost += stages[r->end - 1].saved_tail_cost;
    for (uint32_t s = r->first; s < r->end; s++)
        cost += stages[s].cost - (r->is_selective ? stages[s].saved_cost : 0);
    return cost > 0 ? cost : 0;
}

static void both_ways(struct machine *m, uint32_t i, uint32_t end, const struct pln_region *outer)
{
    const struct pln_region *r = region_at(m, i, outer);
    const struct pln_stage *stages = m->chain->stages;

    if (i == end)
        return;
    if (!r) {
        touch(m, m->alive + m->gradients + m->incoming + (int64_t)stages[i].kept_peak);
        m->alive += stages[i].kept;
        both_ways(m, i + 1, end, outer);
        m->alive -= stages[i].kept;
        touch(m, m->alive + m->gradients + (int64_t)stages[i].backward_peak);
        m->gradients += (int64_t)stages[i].gradients;
    } else {
        int64_t left = 0;

        for (uint32_t s = r->first; s < r->end; s++) {
            touch(m, m->alive + m->gradients + m->incoming + left +
                         (s > r->first ? (int64_t)stages[s].crossing : 0) +
                         (int64_t)stages[s].dropped_peak);
            left += r->is_selective ? (int64_t)stages[s].saved : 0;
        }
        left += (int64_t)stages[r->end].crossing;
        m->alive += left;
        both_ways(m, r->end, end, outer);
        m->alive -= left;
        m->incoming = (int64_t)stages[r->end].crossing;
        m->cost += run_again(stages, r);
        m->alive += (int64_t)stages[i].input_freed;
        both_ways(m, r->first, r->end, r);
        m->alive -= (int64_t)stages[i].input_freed;
    }
    m->incoming = (int64_t)stages[i].crossing;
}

void carry_out(const struct pln_chain *chain, const struct pln_plan *plan, int64_t *peak,
               double *cost)
{
    struct machine m = {.chain = chain, .plan = plan};

    both_ways(&m, 0, (uint32_t)chain->count, NULL);
    *peak = m.peak;
    *cost = m.cost;
}

/* ---- every legal plan ---- */

static bool is_saving(const struct pln_chain *chain, uint32_t first, uint32_t end)
{
    for (uint32_t s = first; s < end; s++) {
        if (chain->stages[s].saved > 0)
            return true;
    }
    return false;
}

static void plans_from(const struct pln_chain *chain, uint32_t first, uint32_t end,
                       struct pln_plan *plan, each_plan_fn *each, void *user)
{
    /* The next region in order: (first, end) itself or a smaller one, or one that begins later. */
    for (; first < chain->count; first++, end = (uint32_t)chain->count - 1) {
        for (; end > first; end--) {
            for (int selective = 0; selective <= is_saving(chain, first, end); selective++) {
                pln_plan_add(plan, (struct pln_region){first, end, selective});
                if (pln_plan_is_legal(chain, plan))
                    plans_from(chain, first, end - 1, plan, each, user);
                plan->count--;
            }
        }
    }
    each(user, plan);
}

void each_plan(const struct pln_chain *chain, each_plan_fn *each, void *user)
{
    struct pln_plan plan = {.count = 0};

    plans_from(chain, 0, (uint32_t)chain->count - 1, &plan, each, user);
    pln_plan_release(&plan);
}
