/*
 * tests/import/sense.c - see sense.h.
 */
#include "tests/import/sense.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>

#include "base/mem.h"

struct alive {
    uint64_t block;
    uint64_t bytes;
    uint64_t address;
};

uint64_t sense_check(const struct imp_import *import)
{
    struct alive *alive = vs_alloc((import->event_count + 1) * sizeof(*alive));
    uint64_t blocks = 0;
    uint64_t reserved = 0;
    size_t count = 0;

    for (size_t i = 0; i < import->event_count; i++) {
        const struct vs_event *e = &import->events[i];
        size_t k = 0;

        if (e->kind == VS_EV_ALLOC) {
            assert_int_equal(e->alloc.block, ++blocks);
            assert_true(e->alloc.block_bytes && e->alloc.requested_bytes <= e->alloc.block_bytes &&
                        e->alloc.address + e->alloc.block_bytes > e->alloc.address);
            for (; k < count; k++)
                if (e->alloc.address < alive[k].address + alive[k].bytes &&
                    alive[k].address < e->alloc.address + e->alloc.block_bytes)
                    fail_msg("event %zu lies over block %" PRIu64, i + 1, alive[k].block);
            alive[count++] = (struct alive){e->alloc.block, e->alloc.block_bytes, e->alloc.address};
        } else if (e->kind == VS_EV_FREE) {
            while (k < count && alive[k].block != e->free.block)
                k++;
            if (k == count)
                fail_msg("event %zu frees block %" PRIu64 ", which is not alive", i + 1,
                         e->free.block);
            assert_int_equal(alive[k].bytes, e->free.block_bytes);
            assert_int_equal(alive[k].address, e->free.address);
            alive[k] = alive[--count];
        } else if (e->kind == VS_EV_SEGMENT_ALLOC || e->kind == VS_EV_SEGMENT_MAP) {
            reserved += e->segment.bytes;
        } else if (e->kind == VS_EV_SEGMENT_FREE || e->kind == VS_EV_SEGMENT_UNMAP) {
            assert_true(reserved >= e->segment.bytes);
            reserved -= e->segment.bytes;
        }
    }
    if (import->partial) /* else those that are free count, too */
        assert_int_equal(import->end_blocks, count);
    vs_free(alive);
    return reserved;
}
