/*
 * engine/alloc_history/record.c - recorded states: building, reading from an allocator, comparing.
 *
 * For:            engine/alloc_history/record.h.
 * Must not know:  file formats.
 * Invariant:      segments[i].first_block + block_count is segments[i + 1].first_block.
 */
#include "engine/alloc_history/record.h"

#include <inttypes.h>

#include "base/bytes.h"
#include "base/mem.h"

void eng_record_state_release(struct eng_record_state *state)
{
    vs_free(state->segments);
    vs_free(state->blocks);
    *state = (struct eng_record_state){0};
}

struct eng_record_segment *eng_record_state_add_segment(struct eng_record_state *state)
{
    struct eng_record_segment *seg;

    state->segments =
        vs_grow(state->segments, state->segment_count, &state->segment_cap, sizeof(*seg));
    seg = &state->segments[state->segment_count++];
    *seg = (struct eng_record_segment){.first_block = state->block_count};
    return seg;
}

void eng_record_state_add_block(struct eng_record_state *state, struct eng_record_block block)
{
    VS_ASSERT(state->segment_count > 0);
    state->blocks =
        vs_grow(state->blocks, state->block_count, &state->block_cap, sizeof(*state->blocks));
    state->blocks[state->block_count++] = block;
    state->segments[state->segment_count - 1].block_count++;
}

static bool is_of_segment(unsigned kind)
{
    return kind == ENG_ALLOC_EV_SEGMENT_ALLOC || kind == ENG_ALLOC_EV_SEGMENT_FREE ||
           kind == ENG_ALLOC_EV_SEGMENT_MAP || kind == ENG_ALLOC_EV_SEGMENT_UNMAP;
}

size_t eng_record_run_end(const struct eng_record_event *events, size_t count, size_t at)
{
    size_t end = at;
    size_t i = at;

    /* the completion of a block that is not pending follows its request directly, so it cannot occur here */
    for (; i < count &&
           (is_of_segment(events[i].kind) || events[i].kind == ENG_ALLOC_EV_FREE_COMPLETED);
         i++)
        if (is_of_segment(events[i].kind))
            end = i + 1;
    return end > at && i < count && events[i].kind == ENG_ALLOC_EV_OOM ? i : end;
}

const char *eng_record_event_name(unsigned kind)
{
    return kind == ENG_RECORD_SNAPSHOT ? "snapshot"
                                       : eng_alloc_event_name((enum eng_alloc_event_kind)kind);
}

void eng_record_state_of(const struct eng_alloc *alloc, struct eng_record_state *out)
{
    struct eng_segment it = {0};

    while (eng_alloc_segment_next(alloc, &it)) {
        struct eng_record_segment *seg = eng_record_state_add_segment(out);

        seg->address = it.address;
        seg->bytes = it.bytes;
        seg->stream = it.stream;
        seg->pool = it.pool;
        seg->is_small = it.is_small;
        seg->is_expandable = it.is_expandable;
        seg->area_address = it.is_expandable ? it.area_address : 0;
        for (const struct eng_block *b = it.first; b; b = eng_block_next(b))
            eng_record_state_add_block(
                out, (struct eng_record_block){.bytes = eng_block_bytes(b),
                                               .requested_bytes = eng_block_requested_bytes(b),
                                               .state = eng_block_state(b)});
    }
}

static enum vs_status check_segment(const struct eng_record_state *state, size_t idx,
                                    struct vs_error *err)
{
    const struct eng_record_segment *seg = &state->segments[idx];
    uint64_t bytes = 0;
    uint64_t end;

    if (idx > 0 && seg->address < seg[-1].address + seg[-1].bytes)
        return vs_fail(err, VS_E_DAMAGED, "segment at 0x%" PRIx64 " overlaps the one at 0x%" PRIx64,
                       seg->address, seg[-1].address);
    for (size_t i = 0; i < seg->block_count; i++) {
        const struct eng_record_block *block = &state->blocks[seg->first_block + i];

        if (block->bytes == 0 || block->bytes % 512 != 0 ||
            (block->state != ENG_BLOCK_INACTIVE && block->requested_bytes > block->bytes) ||
            !vs_bytes_add(bytes, block->bytes, &bytes))
            return vs_fail(err, VS_E_DAMAGED,
                           "segment at 0x%" PRIx64 ": block %zu of %" PRIu64 " bytes cannot be",
                           seg->address, i, block->bytes);
    }
    if (bytes == 0 || bytes != seg->bytes || !vs_bytes_add(seg->address, bytes, &end))
        return vs_fail(err, VS_E_DAMAGED,
                       "segment at 0x%" PRIx64 " has %" PRIu64 " bytes, its blocks %" PRIu64,
                       seg->address, seg->bytes, bytes);
    return VS_OK;
}

enum vs_status eng_record_state_check(const struct eng_record_state *state, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < state->segment_count && !st; i++)
        st = check_segment(state, i, err);
    return st;
}

static bool is_same_segment(const struct eng_record_segment *a, const struct eng_record_segment *b)
{
    return a->address == b->address && a->bytes == b->bytes && a->stream == b->stream &&
           a->pool.graph == b->pool.graph && a->pool.user == b->pool.user &&
           a->block_count == b->block_count && a->is_small == b->is_small &&
           a->is_expandable == b->is_expandable;
}

static bool is_same_block(const struct eng_record_block *a, const struct eng_record_block *b)
{
    return a->bytes == b->bytes && a->state == b->state &&
           (a->state == ENG_BLOCK_INACTIVE || a->requested_bytes == b->requested_bytes);
}

static enum vs_status fail_segment(const struct eng_record_segment *a, const char *a_name,
                                   const struct eng_record_segment *b, const char *b_name,
                                   struct vs_error *err)
{
    return vs_fail(err, VS_E_VALUE,
                   "%s has a segment at 0x%" PRIx64 " of %" PRIu64 " bytes in %zu blocks, "
                   "%s at 0x%" PRIx64 " of %" PRIu64 " bytes in %zu blocks",
                   a_name, a->address, a->bytes, a->block_count, b_name, b->address, b->bytes,
                   b->block_count);
}

static enum vs_status compare_blocks(const struct eng_record_state *a, const char *a_name,
                                     const struct eng_record_state *b, const char *b_name,
                                     const struct eng_record_segment *seg, struct vs_error *err)
{
    uint64_t address = seg->address;

    for (size_t i = seg->first_block; i < seg->first_block + seg->block_count; i++) {
        const struct eng_record_block *x = &a->blocks[i];
        const struct eng_record_block *y = &b->blocks[i];

        if (!is_same_block(x, y))
            return vs_fail(err, VS_E_VALUE,
                           "block at 0x%" PRIx64 ": %s has %" PRIu64 " bytes (%" PRIu64
                           " requested, state %d), %s %" PRIu64 " (%" PRIu64 ", state %d)",
                           address, a_name, x->bytes, x->requested_bytes, (int)x->state, b_name,
                           y->bytes, y->requested_bytes, (int)y->state);
        address += x->bytes;
    }
    return VS_OK;
}

enum vs_status eng_record_state_compare(const struct eng_record_state *a, const char *a_name,
                                        const struct eng_record_state *b, const char *b_name,
                                        struct vs_error *err)
{
    for (size_t i = 0; i < a->segment_count && i < b->segment_count; i++) {
        enum vs_status st;

        if (!is_same_segment(&a->segments[i], &b->segments[i]))
            return fail_segment(&a->segments[i], a_name, &b->segments[i], b_name, err);
        st = compare_blocks(a, a_name, b, b_name, &a->segments[i], err);
        if (st)
            return st;
    }
    if (a->segment_count != b->segment_count)
        return vs_fail(err, VS_E_VALUE, "%s has %zu segments, %s %zu", a_name, a->segment_count,
                       b_name, b->segment_count);
    return VS_OK;
}
