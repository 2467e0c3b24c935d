/*
 * whatif/batch.c - see batch.h.
 */
#include "whatif/batch.h"

/* Binary search between a number of units that fits (0 always does) and one that does not. */
static uint64_t between(uint64_t unit, uint64_t fit, uint64_t unfit, wif_batch_fn *fits, void *user)
{
    while (unfit - fit > 1) {
        uint64_t middle = fit + (unfit - fit) / 2;

        if (fits(user, middle * unit))
            fit = middle;
        else
            unfit = middle;
    }
    return fit;
}

uint64_t wif_batch_largest(uint64_t now, uint64_t unit, bool now_fits, wif_batch_fn *fits,
                           void *user, bool *is_max)
{
    uint64_t start = now / unit;
    uint64_t most = WIF_BATCH_MAX / unit;
    uint64_t fit = now_fits ? start : 0;
    uint64_t unfit = now_fits ? 0 : start;

    *is_max = false;
    if (!start || start > most)
        return 0;
    while (!unfit && fit < most) {
        uint64_t at = fit * 2 < most ? fit * 2 : most;

        if (fits(user, at * unit))
            fit = at;
        else
            unfit = at;
    }
    *is_max = !unfit;
    while (!fit && unfit > 1) {
        if (fits(user, unfit / 2 * unit))
            fit = unfit / 2;
        else
            unfit /= 2;
    }
    return (unfit ? between(unit, fit, unfit, fits, user) : fit) * unit;
}
