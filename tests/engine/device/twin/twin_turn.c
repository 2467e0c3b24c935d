/*
 * tests/engine/device/twin/twin_turn.c - see twin_turn.h.
 *
 * Must not know:  any kernel.
 * Invariant:      without twin_turns_begin each loop starts at another iteration, the same one in every run of a
 *                 program.
 */
#include "tests/engine/device/twin/twin_turn.h"

static struct {
    uint64_t launches;
    uint64_t turns;
    bool is_plain;
} turn;

void cuda_twin_launch(void)
{
    turn.launches++;
}

uint64_t cuda_twin_turn(void)
{
    uint64_t h = ++turn.turns * UINT64_C(0x9e3779b97f4a7c15);

    return turn.is_plain ? 0 : h ^ h >> 29;
}

uint64_t twin_launches(void)
{
    return turn.launches;
}

void twin_turns_begin(uint64_t seed)
{
    turn.is_plain = seed == 0;
    turn.turns = seed;
}
