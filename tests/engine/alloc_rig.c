/*
 * tests/engine/alloc_rig.c - see alloc_rig.h.
 *
 * Must not know:  what any test is about.
 */
#include "tests/engine/alloc_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void count_event(void *user, const struct eng_alloc_event *event)
{
    struct alloc_rig *rig = user;

    rig->counts[event->kind]++;
    rig->last[event->kind] = *event;
}

void alloc_rig_init(struct alloc_rig *rig, uint64_t total_bytes, const char *conf_text)
{
    struct eng_alloc_conf conf;
    struct vs_error err = VS_ERROR_INIT;

    *rig = (struct alloc_rig){0};
    eng_alloc_conf_init(&conf);
    if (eng_alloc_conf_parse(conf_text, &conf, &err))
        fail_msg("%s", err.text);
    rig->sim = eng_sim_driver_new(&(struct eng_sim_options){.total_bytes = total_bytes});
    rig->alloc = eng_alloc_new(&(struct eng_alloc_options){
        .driver = eng_sim_driver_get(rig->sim),
        .conf = &conf,
        .listener = {.user = rig, .event = count_event},
    });
    rig->stats = eng_alloc_stats_get(rig->alloc);
}

void alloc_rig_release(struct alloc_rig *rig)
{
    eng_alloc_free(rig->alloc);
    eng_sim_driver_free(rig->sim);
}

struct eng_block *alloc_rig_get_on(struct alloc_rig *rig, uint64_t bytes, uint64_t stream)
{
    struct eng_block *block = NULL;

    if (eng_alloc_get(rig->alloc, bytes, stream, &block, NULL) != VS_OK)
        fail_msg("%llu bytes were refused", (unsigned long long)bytes);
    assert_u64(eng_block_requested_bytes(block), bytes);
    assert_true(eng_block_bytes(block) >= bytes);
    return block;
}

struct eng_block *alloc_rig_get(struct alloc_rig *rig, uint64_t bytes)
{
    return alloc_rig_get_on(rig, bytes, 0);
}

void alloc_rig_put(struct alloc_rig *rig, struct eng_block *block)
{
    eng_alloc_put(rig->alloc, block);
}

uint64_t alloc_rig_now(const struct eng_alloc_stat stat[ENG_STAT_POOLS])
{
    assert_u64(stat[ENG_STAT_ALL].current,
               stat[ENG_STAT_SMALL].current + stat[ENG_STAT_LARGE].current);
    return stat[ENG_STAT_ALL].current;
}

uint64_t alloc_rig_offset(const struct eng_block *block)
{
    return eng_block_address(block) - eng_block_segment_address(block);
}
