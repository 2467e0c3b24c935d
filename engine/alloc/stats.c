/*
 * engine/alloc/stats.c - the allocator's statistics.
 *
 * For:            every other file of the allocator; torch.cuda.memory_stats().
 * Must not know:  why a figure changes.
 * Invariant:      current <= peak; the statistic of all pools is the sum of the small and the large one.
 */
#include "engine/alloc/alloc_internal.h"

static void up(struct eng_alloc_stat *stat, uint64_t n)
{
    stat->current += n;
    stat->allocated += n;
    if (stat->current > stat->peak)
        stat->peak = stat->current;
}

static void down(struct eng_alloc_stat *stat, uint64_t n)
{
    VS_ASSERT(stat->current >= n);
    stat->current -= n;
    stat->freed += n;
}

void eng_stat_up(struct eng_alloc_stat stat[ENG_STAT_POOLS], bool is_small, uint64_t n)
{
    up(&stat[ENG_STAT_ALL], n);
    up(&stat[is_small ? ENG_STAT_SMALL : ENG_STAT_LARGE], n);
}

void eng_stat_down(struct eng_alloc_stat stat[ENG_STAT_POOLS], bool is_small, uint64_t n)
{
    down(&stat[ENG_STAT_ALL], n);
    down(&stat[is_small ? ENG_STAT_SMALL : ENG_STAT_LARGE], n);
}

void eng_stat_one_up(struct eng_alloc_stat *stat)
{
    up(stat, 1);
}

void eng_stat_one_down(struct eng_alloc_stat *stat)
{
    down(stat, 1);
}

static void set_current(struct eng_alloc_stat *stat, uint64_t n)
{
    stat->current = n;
    if (n > stat->peak)
        stat->peak = n;
}

void eng_stats_recount_oversize(struct eng_alloc *alloc)
{
    const uint64_t limit = alloc->conf.max_split_bytes;
    uint64_t blocks = 0;
    uint64_t segments = 0;

    for (struct eng_set_node *node = eng_set_first(&alloc->areas); node;
         node = eng_set_next(node)) {
        const struct eng_area *area = (struct eng_area *)(void *)node; /* the first member */

        segments += !area->is_expandable && area->bytes >= limit;
        for (const struct eng_block *block = area->first; block; block = block->next)
            blocks += block->is_allocated && block->bytes >= limit;
    }
    set_current(&alloc->stats.oversize_allocations, blocks);
    set_current(&alloc->stats.oversize_segments, segments);
}

const struct eng_alloc_stats *eng_alloc_stats_get(const struct eng_alloc *alloc)
{
    return &alloc->stats;
}

/* Applies `change` to the nine statistics that are kept per pool. */
static void each_stat(struct eng_alloc_stats *stats, void (*change)(struct eng_alloc_stat *stat))
{
    struct eng_alloc_stat *const arrays[] = {
        stats->allocation,     stats->segment,         stats->active,
        stats->inactive_split, stats->allocated_bytes, stats->reserved_bytes,
        stats->active_bytes,   stats->requested_bytes, stats->inactive_split_bytes,
    };

    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
        for (int pool = 0; pool < ENG_STAT_POOLS; pool++)
            change(&arrays[i][pool]);
    }
    change(&stats->oversize_allocations);
    change(&stats->oversize_segments);
}

static void forget_peak(struct eng_alloc_stat *stat)
{
    stat->peak = stat->current;
}

static void forget_sums(struct eng_alloc_stat *stat)
{
    stat->allocated = 0;
    stat->freed = 0;
}

void eng_alloc_reset_peak(struct eng_alloc *alloc)
{
    each_stat(&alloc->stats, forget_peak);
}

void eng_alloc_reset_accumulated(struct eng_alloc *alloc)
{
    each_stat(&alloc->stats, forget_sums);
    alloc->stats.num_alloc_retries = 0;
    alloc->stats.num_ooms = 0;
    alloc->stats.num_oom_rejections = 0;
}
