/*
 * import/partial.c - see partial.h.
 *
 * Must not know:  how the recording was read.
 * Invariant:      the ranges of a set do not overlap.
 */
#include "import/partial.h"

#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "engine/alloc/set.h"
#include "engine/alloc_history/memlist.h"
#include "import/derive.h"
#include "tracer/intern.h"

/* More than the capacity of any device. */
#define BYTES_MAX (UINT64_C(1) << 60)

/* A block in use, or a segment, with its address as the key. */
struct range {
    struct eng_set_node node;
    uint64_t bytes;
    uint64_t requested; /* blocks only */
    uint64_t block;     /* blocks only: number */
    uint64_t stream;    /* segments only, as are the members below */
    uint64_t pool;
    bool is_small;
    bool is_expandable;
};

/*
 * spans     current segments; starts: initial segments; lives: blocks in use
 * is_left   for each event of the list: it is omitted
 * is_aligned  all blocks are aligned as by PyTorch's allocator; other blocks (torch.profiler also records host memory)
 *             are not rounded up
 * before    pre-existing blocks, as allocations; stream: bytes of the block if known; line: id of its location
 */
struct mending {
    const struct vs_memlist *list;
    struct imp_import *out;
    struct eng_alloc_conf conf;
    struct eng_set spans;
    struct eng_set lives;
    struct vs_mem_event *before;
    size_t before_count, before_cap;
    bool *is_left;
    bool is_aligned;
    uint64_t blocks;
    uint64_t last_ns;
};

const char *imp_loss_text(enum imp_loss loss)
{
    static const char *const TEXTS[] = {
        [IMP_LOSS_SEGMENT] = "segments of the state at the end that are empty or over others",
        [IMP_LOSS_SEGMENT_EVENT] = "events of segments that do not fit the others",
        [IMP_LOSS_ALLOC_THERE] = "allocations where a block was already",
        [IMP_LOSS_ALLOC_OVER] = "allocations over other blocks",
        [IMP_LOSS_ALLOC_SIZE] = "allocations of nothing, or of more than any device has",
        [IMP_LOSS_FREE] = "frees of what was not there",
        [IMP_LOSS_END] = "blocks of the state at the end that the events do not leave there",
        [IMP_LOSS_STRAY] = "blocks that are in no known segment",
        [IMP_LOSS_OPEN] = "blocks that the events leave alive, but the state has not",
        [IMP_LOSS_SEGMENT_OPEN] = "segments that the events leave there, but the state has not",
    };

    VS_ASSERT(loss < IMP_LOSS_COUNT);
    return TEXTS[loss];
}

static void lose(struct mending *m, enum imp_loss loss)
{
    m->out->losses[loss]++;
}

static void lose_event(struct mending *m, size_t at, enum imp_loss loss)
{
    m->is_left[at] = true;
    lose(m, loss);
}

/* ---- ranges ---- */

static struct eng_set_key key_of(uint64_t address)
{
    return (struct eng_set_key){{address, 0, 0}};
}

static struct range *range_of(struct eng_set_node *node)
{
    return (struct range *)(void *)node; /* the node is the first member */
}

static uint64_t address_of(const struct range *range)
{
    return range->node.key.word[0];
}

/* The range that contains the address; NULL: none. */
static struct range *range_at(const struct eng_set *set, uint64_t address)
{
    const struct eng_set_key key = key_of(address);
    struct eng_set_node *node = eng_set_floor(set, &key);

    return node && address - node->key.word[0] < range_of(node)->bytes ? range_of(node) : NULL;
}

static struct range *range_exact(const struct eng_set *set, uint64_t address)
{
    struct range *range = range_at(set, address);

    return range && address_of(range) == address ? range : NULL;
}

/* Whether the range is not empty, does not wrap around, and does not overlap others. */
static bool range_is_free(const struct eng_set *set, uint64_t address, uint64_t bytes)
{
    const struct eng_set_key key = key_of(address);
    const struct eng_set_node *next = eng_set_ceil(set, &key);
    uint64_t end;

    return bytes && vs_bytes_add(address, bytes, &end) && !range_at(set, address) &&
           (!next || next->key.word[0] >= end);
}

static struct range *range_add(struct eng_set *set, uint64_t address, const struct range *like)
{
    struct range *range = vs_alloc(sizeof(*range));

    *range = *like;
    eng_set_insert(set, &range->node, key_of(address));
    return range;
}

static void range_remove(struct eng_set *set, struct range *range)
{
    eng_set_remove(set, &range->node);
    vs_free(range);
}

static void ranges_free(struct eng_set *set)
{
    while (set->root)
        range_remove(set, range_of(set->root));
}

/* Whether [address, end) is completely covered by consecutive ranges. */
static bool is_covered(const struct eng_set *set, uint64_t address, uint64_t end)
{
    while (address < end) {
        const struct range *range = range_at(set, address);

        if (!range)
            return false;
        address = address_of(range) + range->bytes;
    }
    return true;
}

/* Remove [address, address + bytes); false if it is not completely covered. */
static bool range_cut(struct eng_set *set, uint64_t address, uint64_t bytes)
{
    uint64_t end;

    if (!bytes || !vs_bytes_add(address, bytes, &end) || !is_covered(set, address, end))
        return false;
    while (address < end) {
        struct range *range = range_at(set, address);
        struct range rest = *range;
        const uint64_t offset = address - address_of(range);
        const uint64_t taken =
            rest.bytes - offset < end - address ? rest.bytes - offset : end - address;

        range->bytes = offset;
        rest.bytes -= offset + taken;
        if (!offset)
            range_remove(set, range);
        address += taken;
        if (rest.bytes)
            range_add(set, address, &rest);
    }
    return true;
}

/* ---- initial segments ---- */

static bool is_growth(uint8_t kind)
{
    return kind == VS_MEM_SEGMENT_ALLOC || kind == VS_MEM_SEGMENT_MAP;
}

static bool is_give_back(uint8_t kind)
{
    return kind == VS_MEM_SEGMENT_FREE || kind == VS_MEM_SEGMENT_UNMAP;
}

static struct range segment_range(const struct vs_mem_event *event)
{
    return (struct range){.bytes = event->bytes,
                          .stream = event->stream,
                          .is_small = event->bytes == UINT64_C(2097152),
                          .is_expandable = event->kind == VS_MEM_SEGMENT_MAP ||
                                           event->kind == VS_MEM_SEGMENT_UNMAP};
}

/*
 * Compute the initial segments from the state at the end, undoing events from the newest on. Inconsistent events are
 * omitted, also later.
 */
static void spans_rewind(struct mending *m)
{
    for (size_t i = 0; i < m->list->segment_count; i++) {
        const struct vs_mem_segment *from = &m->list->segments[i];

        if (range_is_free(&m->spans, from->address, from->bytes) && from->bytes <= BYTES_MAX)
            range_add(&m->spans, from->address,
                      &(struct range){.bytes = from->bytes,
                                      .stream = from->stream,
                                      .pool = VS_POOL(from->pool_graph, from->pool_user),
                                      .is_small = from->is_small,
                                      .is_expandable = from->is_expandable});
        else
            lose(m, IMP_LOSS_SEGMENT);
    }
    for (size_t i = m->list->event_count; i-- > 0;) {
        const struct vs_mem_event *event = &m->list->events[i];
        const struct range range = segment_range(event);
        bool is_fit = true;

        if (is_growth(event->kind)) {
            is_fit = range_cut(&m->spans, event->address, event->bytes);
            if (!is_fit && event->bytes <= BYTES_MAX &&
                range_is_free(&m->spans, event->address, event->bytes)) {
                lose(m, IMP_LOSS_SEGMENT_OPEN);
                is_fit = true;
            }
        } else if (is_give_back(event->kind)) {
            is_fit =
                range_is_free(&m->spans, event->address, event->bytes) && event->bytes <= BYTES_MAX;
            if (is_fit)
                range_add(&m->spans, event->address, &range);
        }
        if (!is_fit)
            lose_event(m, i, IMP_LOSS_SEGMENT_EVENT);
    }
}

/* ---- pre-existing blocks ---- */

static struct vs_mem_event *before_add(struct mending *m, uint64_t address, uint64_t requested,
                                       uint64_t bytes)
{
    m->before = vs_grow(m->before, m->before_count, &m->before_cap, sizeof(*m->before));
    m->before[m->before_count++] = (struct vs_mem_event){
        .address = address, .bytes = requested, .stream = bytes, .kind = VS_MEM_ALLOC};
    return &m->before[m->before_count - 1];
}

/* seen: by address, whether a block is there according to the events so far (requested: 1) or was freed (0). */
static void event_follow(struct mending *m, size_t at, struct eng_set *seen)
{
    const struct vs_mem_event *event = &m->list->events[at];
    const struct eng_set_key key = key_of(event->address);
    struct eng_set_node *node = eng_set_floor(seen, &key);
    struct range *range = node && node->key.word[0] == event->address ? range_of(node) : NULL;
    const bool is_open = range && range->requested;

    if (event->kind == VS_MEM_ALLOC && is_open) {
        lose_event(m, at, IMP_LOSS_ALLOC_THERE);
    } else if (event->kind == VS_MEM_ALLOC && (!event->bytes || event->bytes >= BYTES_MAX)) {
        lose_event(m, at, IMP_LOSS_ALLOC_SIZE);
    } else if (event->kind == VS_MEM_ALLOC) {
        if (!range)
            range = range_add(seen, event->address, &(struct range){.bytes = 1});
        range->requested = 1;
    } else if (event->kind == VS_MEM_FREE_REQUESTED) {
        if (is_open) {
            range->requested = 0;
        } else if (range || !event->bytes || event->bytes >= BYTES_MAX) {
            lose_event(m, at, IMP_LOSS_FREE);
        } else {
            range_add(seen, event->address, &(struct range){.bytes = 1});
            before_add(m, event->address, event->bytes, 0);
        }
    }
}

/* Blocks of the state at the end that no event mentions are pre-existing. */
static void end_follow(struct mending *m, const struct eng_set *seen)
{
    for (size_t i = 0; i < m->list->segment_count; i++) {
        const struct vs_mem_segment *segment = &m->list->segments[i];
        uint64_t address = segment->address;

        for (size_t j = 0; j < segment->block_count; j++) {
            const struct vs_mem_block *block = &m->list->blocks[segment->first_block + j];
            const struct eng_set_key key = key_of(address);
            struct eng_set_node *node = eng_set_floor(seen, &key);
            struct range *range = node && node->key.word[0] == address ? range_of(node) : NULL;

            if (block->state == VS_MEM_ALLOCATED) {
                if (!range && block->bytes < BYTES_MAX)
                    before_add(m, address, block->requested, block->bytes)->line =
                        imp_block_location(m->out, m->list, block);
                else if (!range || !range->requested)
                    lose(m, IMP_LOSS_END);
                else
                    range->requested = 2; /* the block that the events allocated */
            }
            address += block->bytes;
        }
    }
    for (struct eng_set_node *node = eng_set_first(seen); node; node = eng_set_next(node))
        if (range_of(node)->requested == 1)
            lose(m, IMP_LOSS_OPEN);
}

static void before_fill(struct mending *m)
{
    struct eng_set seen = {NULL, 0};

    for (size_t i = 0; i < m->list->event_count; i++)
        event_follow(m, i, &seen);
    end_follow(m, &seen);
    ranges_free(&seen);
}

/* ---- the trace's events ---- */

static struct vs_event *event_add(struct mending *m, enum vs_event_kind kind, size_t from)
{
    struct imp_import *out = m->out;
    struct vs_event *event;

    out->events = vs_grow(out->events, out->event_count, &out->event_cap, sizeof(*out->events));
    event = &out->events[out->event_count++];
    *event = (struct vs_event){.kind = (uint8_t)kind, .time_ns = m->last_ns};
    out->from = vs_grow(out->from, out->from_count, &out->from_cap, sizeof(*out->from));
    out->from[out->from_count++] = (uint32_t)from;
    return event;
}

/* The size of the block: rounded up if that fits, otherwise the requested size; 0: it does not fit at all. */
static uint64_t bytes_fit(const struct mending *m, uint64_t address, uint64_t requested,
                          uint64_t bytes)
{
    uint64_t rounded = bytes ? bytes : eng_alloc_round_bytes(&m->conf, requested ? requested : 1);

    if (!bytes && !m->is_aligned)
        rounded = requested;

    if (range_is_free(&m->lives, address, rounded))
        return rounded;
    return range_is_free(&m->lives, address, requested) ? requested : 0;
}

static void alloc_add(struct mending *m, uint64_t address, uint64_t requested, uint64_t bytes,
                      size_t from, uint32_t location)
{
    struct vs_event *event;

    bytes = bytes_fit(m, address, requested, bytes);
    if (!bytes) {
        lose(m, from ? IMP_LOSS_ALLOC_OVER : IMP_LOSS_END);
        return;
    }
    if (!range_at(&m->spans, address))
        lose(m, IMP_LOSS_STRAY);
    range_add(&m->lives, address,
              &(struct range){.bytes = bytes, .requested = requested, .block = ++m->blocks});
    event = event_add(m, VS_EV_ALLOC, from);
    event->alloc.block = m->blocks;
    event->alloc.requested_bytes = requested < bytes ? requested : bytes;
    event->alloc.block_bytes = bytes;
    event->alloc.address = address;
    event->location = location;
    event->alloc.category = VS_CAT_OTHER;
}

static void free_add(struct mending *m, uint64_t address, size_t from)
{
    struct range *range = range_exact(&m->lives, address);
    struct vs_event *event;

    if (!range) { /* its allocation was omitted */
        lose(m, IMP_LOSS_FREE);
        return;
    }
    event = event_add(m, VS_EV_FREE, from);
    event->free.block = range->block;
    event->free.requested_bytes = range->requested < range->bytes ? range->requested : range->bytes;
    event->free.block_bytes = range->bytes;
    event->free.address = address;
    range_remove(&m->lives, range);
}

static void segment_event(struct mending *m, enum vs_event_kind kind, uint64_t address,
                          const struct range *range, size_t from)
{
    struct vs_event *event = event_add(m, kind, from);

    event->segment.stream = range->stream;
    event->segment.bytes = range->bytes;
    event->segment.private_pool = range->pool;
    event->segment.address = address;
    event->segment.size_pool = range->is_small ? VS_SEGMENT_SMALL : VS_SEGMENT_LARGE;
}

static void segment_add(struct mending *m, const struct vs_mem_event *event, size_t from)
{
    static const enum vs_event_kind KINDS[] = {
        [VS_MEM_SEGMENT_ALLOC] = VS_EV_SEGMENT_ALLOC,
        [VS_MEM_SEGMENT_FREE] = VS_EV_SEGMENT_FREE,
        [VS_MEM_SEGMENT_MAP] = VS_EV_SEGMENT_MAP,
        [VS_MEM_SEGMENT_UNMAP] = VS_EV_SEGMENT_UNMAP,
    };
    const struct range range = segment_range(event);

    /* undoing it was consistent, so it is consistent here, except if only events mention the segment */
    if (is_growth(event->kind) ? !range_is_free(&m->spans, event->address, event->bytes)
                               : !range_cut(&m->spans, event->address, event->bytes)) {
        lose(m, IMP_LOSS_SEGMENT_EVENT);
        return;
    }
    if (is_growth(event->kind))
        range_add(&m->spans, event->address, &range);
    segment_event(m, KINDS[event->kind], event->address, &range, from);
}

static void oom_add(struct mending *m, const struct vs_mem_event *from, size_t number)
{
    struct vs_event *event = event_add(m, VS_EV_OOM, number);

    event->oom.stream = from->stream;
    event->oom.requested_bytes = from->bytes < BYTES_MAX ? from->bytes : BYTES_MAX;
    event->oom.segment_bytes = eng_alloc_segment_bytes(&m->conf, event->oom.requested_bytes);
    event->oom.device_free_bytes = from->address;
}

static void time_take(struct mending *m, const struct vs_mem_event *event)
{
    const uint64_t first = m->list->events[0].time_us;
    const uint64_t us = event->time_us > first ? event->time_us - first : 0;

    if (us <= UINT64_MAX / 1000 && us * 1000 > m->last_ns)
        m->last_ns = us * 1000;
}

static void list_event_add(struct mending *m, size_t at)
{
    const struct vs_mem_event *event = &m->list->events[at];

    time_take(m, event);
    if (m->is_left[at])
        return;
    switch ((enum vs_mem_kind)event->kind) {
    case VS_MEM_ALLOC:
        alloc_add(m, event->address, event->bytes, 0, at + 1, 0);
        break;
    case VS_MEM_FREE_REQUESTED:
        free_add(m, event->address, at + 1);
        break;
    case VS_MEM_SEGMENT_ALLOC:
    case VS_MEM_SEGMENT_FREE:
    case VS_MEM_SEGMENT_MAP:
    case VS_MEM_SEGMENT_UNMAP:
        segment_add(m, event, at + 1);
        break;
    case VS_MEM_OOM:
        oom_add(m, event, at + 1);
        break;
    case VS_MEM_FREE_COMPLETED: /* reuse of a block is the allocator's concern */
    case VS_MEM_SNAPSHOT:
    case VS_MEM_OTHER:
    case VS_MEM_KIND_COUNT:
        break;
    }
}

static bool is_aligned(const struct vs_memlist *list)
{
    for (size_t i = 0; i < list->event_count; i++)
        if (list->events[i].kind == VS_MEM_ALLOC && list->events[i].address % 512)
            return false;
    return true;
}

static void events_fill(struct mending *m)
{
    for (struct eng_set_node *node = eng_set_first(&m->spans); node; node = eng_set_next(node)) {
        const struct range *range = range_of(node);

        segment_event(m, range->is_expandable ? VS_EV_SEGMENT_MAP : VS_EV_SEGMENT_ALLOC,
                      address_of(range), range, 0);
    }
    for (size_t i = 0; i < m->before_count; i++)
        alloc_add(m, m->before[i].address, m->before[i].bytes, m->before[i].stream, 0,
                  m->before[i].line);
    m->out->blocks_before = m->blocks;
    m->out->start_events = m->out->event_count;
    for (size_t i = 0; i < m->list->event_count; i++)
        list_event_add(m, i);
    m->out->blocks = m->blocks;
    m->out->end_segments = m->spans.count;
    m->out->end_blocks = m->lives.count;
}

void imp_make_partial(const struct vs_memlist *list, const char *reason, struct imp_import *out)
{
    struct mending m = {.list = list, .out = out};
    struct vs_error ignored = VS_ERROR_INIT;

    out->intern = trc_intern_new();
    out->partial = vs_strdup(reason);
    eng_alloc_conf_init(&m.conf);
    if (list->conf && eng_alloc_conf_parse(list->conf, &m.conf, &ignored))
        eng_alloc_conf_init(&m.conf); /* not understood: `reason` says so, or it has no effect */
    m.is_left = vs_calloc(list->event_count + 1, sizeof(*m.is_left));
    m.is_aligned = is_aligned(list);
    spans_rewind(&m);
    before_fill(&m);
    events_fill(&m);
    imp_derive(out, list);
    ranges_free(&m.spans);
    ranges_free(&m.lives);
    vs_free(m.before);
    vs_free(m.is_left);
}
