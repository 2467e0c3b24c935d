/*
 * bench/bench_planner.c - time that the curve of checkpoint placements takes: peak against recomputation.
 *
 * For:            `make bench`. Peer: the solvers that others publish for the same question (PEER below).
 * Must not know:  nets; the chains are made up, every stage different from its neighbours.
 * Invariant:      the same chains each time, one thread; processor time, so that other programs do not count.
 *
 * Three chains: 50 and 152 stages of which any may begin or end a checkpoint, as the blocks and the convolutions of
 * ResNet-152, and a transformer of 96 layers and 2,500 ops, whose layers are one stage an op inside, in two halves.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "bench/rows.h"
#include "planner/curve.h"

#define ROUNDS 5

/* MILP of PyTorch's activation checkpointing (torch/distributed/_tools/sac_ilp.py): its time limit. */
#define PEER_SECONDS 180.0

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A stage whose sizes vary with its number, in MiB. */
static struct pln_stage stage(size_t i, int64_t kept, uint64_t crossing)
{
    uint64_t some = (i * 7919 % 13) << 18;

    return (struct pln_stage){.crossing = crossing << 20,
                              .kept = (kept << 20) + (int64_t)some,
                              .kept_peak = (uint64_t)(kept << 20) + 2 * some,
                              .dropped_peak = (crossing << 20) + some,
                              .backward_peak = (uint64_t)(kept << 20) + (crossing << 21) + some,
                              .gradients = some / 4,
                              .cost = 1e9 + (double)(i * 104729 % 1000) * 1e6,
                              .saved = (uint64_t)1 << 20,
                              .saved_cost = 8e8};
}

static void add_run(struct pln_chain *chain, uint32_t first, uint32_t end, uint32_t step)
{
    struct pln_run *run;

    chain->runs = vs_realloc(chain->runs, chain->run_count + 1, sizeof(*chain->runs));
    run = &chain->runs[chain->run_count++];
    *run = (struct pln_run){vs_calloc((end - first) / step + 1, sizeof(*run->cuts)), 0};
    for (uint32_t i = first; i <= end; i += step)
        run->cuts[run->count++] = i;
}

static struct pln_chain flat(size_t count)
{
    struct pln_chain chain = {vs_calloc(count, sizeof(struct pln_stage)), count, NULL, 0};

    for (size_t i = 0; i < count; i++)
        chain.stages[i] = stage(i, 4, 2);
    add_run(&chain, 0, (uint32_t)count - 1, 1);
    return chain;
}

/* `layers` layers of `ops` ops, in two runs each. */
static struct pln_chain transformer(uint32_t layers, uint32_t ops)
{
    size_t count = (size_t)layers * ops + 1;
    struct pln_chain chain = {vs_calloc(count, sizeof(struct pln_stage)), count, NULL, 0};

    for (size_t i = 0; i < count; i++)
        chain.stages[i] = stage(i, i % 3 == 0 ? 4 : 1, 2);
    add_run(&chain, 0, layers * ops, ops);
    for (uint32_t l = 0; l < layers; l++) {
        add_run(&chain, l * ops, l * ops + ops / 2, 1);
        add_run(&chain, l * ops + ops / 2, l * ops + ops, 1);
    }
    return chain;
}

static void measure(const char *what, struct pln_chain chain, double limit)
{
    double best = HUGE_VAL;
    size_t points = 0;
    char text[BENCH_TEXT_MAX];

    for (int i = 0; i < ROUNDS; i++) {
        struct pln_curve curve;
        struct pln_curve selective;
        double from = now();

        pln_curve_fill(&curve, &chain);
        pln_curve_fill_selective(&selective, &chain);
        best = fmin(best, now() - from);
        points = curve.count + selective.count;
        pln_curve_release(&curve);
        pln_curve_release(&selective);
    }
    printf("%-36s %9.2f ms  %4zu points  limit %6.0f ms  peer %6.0f s\n", what, best * 1e3, points,
           limit * 1e3, PEER_SECONDS);
    bench_row("bench_planner", what, "%s ms\t%.0f s", bench_number(best * 1e3, text), PEER_SECONDS);
    pln_chain_release(&chain);
}

int main(void)
{
    measure("50 stages", flat(50), 0.010);
    measure("152 stages", flat(152), 0.100);
    measure("transformer, 96 layers, 2,500 ops", transformer(96, 26), 1.0);
    return 0;
}
