/*
 * whatif/grid/front.c - see front.h.
 *
 * Must not know:  toggles.
 */
#include "whatif/grid/front.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"

/* The five figures of a result, in the order in which they are compared; of each less is better. */
enum { PEAK, FLOPS, SENT, PROCESSES, SAMPLES, FIGURES };

struct candidate {
    double of[FIGURES];
    size_t at;
};

/* Samples of a step, of one of the processes that share them. */
static double samples_of(const struct sto_result *result)
{
    return result->sharing ? (double)result->batch / (double)result->sharing : 0.0;
}

double wif_grid_flops(const struct sto_result *result)
{
    const double samples = (double)result->steps * samples_of(result);

    return samples > 0 ? (double)result->total_flops / samples : 0.0;
}

uint64_t wif_grid_step_sent(const struct sto_result *result)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < result->collective_count; i++)
        sum += result->collectives[i].sent;
    return sum;
}

double wif_grid_sent(const struct sto_result *result)
{
    const double samples = samples_of(result);

    return samples > 0 ? (double)wif_grid_step_sent(result) / samples : 0.0;
}

static int in_order(const void *x, const void *y)
{
    const struct candidate *a = x;
    const struct candidate *b = y;

    for (int i = 0; i < FIGURES; i++)
        if (a->of[i] < b->of[i] || a->of[i] > b->of[i])
            return a->of[i] < b->of[i] ? -1 : 1;
    return 0;
}

/* `a` does not come after `b` in the order. */
static bool dominates(const struct candidate *a, const struct candidate *b)
{
    bool is_better = false;

    for (int i = 0; i < FIGURES; i++) {
        if (a->of[i] > b->of[i])
            return false;
        is_better |= a->of[i] < b->of[i];
    }
    return is_better;
}

/* What dominates a candidate comes before it, and what dominates that, too: so only the front so far is compared. */
void wif_grid_front(const struct sto_result *const *results, size_t count, bool *is_on)
{
    struct candidate *all = vs_alloc((count + 1) * sizeof(*all));
    size_t found = 0;
    size_t front = 0;

    for (size_t i = 0; i < count; i++) {
        is_on[i] = false;
        if (results[i]->is_refused || !results[i]->fits)
            continue;
        all[found++] = (struct candidate){.of = {[PEAK] = (double)results[i]->allocated,
                                                 [FLOPS] = wif_grid_flops(results[i]),
                                                 [SENT] = wif_grid_sent(results[i]),
                                                 [PROCESSES] = (double)results[i]->processes,
                                                 [SAMPLES] = -samples_of(results[i])},
                                          .at = i};
    }
    qsort(all, found, sizeof(*all), in_order);
    for (size_t i = 0; i < found; i++) {
        bool is_dominated = false;

        for (size_t k = 0; k < front && !is_dominated; k++)
            is_dominated = dominates(&all[k], &all[i]);
        if (is_dominated)
            continue;
        is_on[all[i].at] = true;
        all[front++] = all[i];
    }
    vs_free(all);
}
