/*
 * replay/trace/events_pack.c - see events_pack.h.
 *
 * Must not know:  where events are stored, what the fields of a kind mean.
 * Invariant:      both directions visit the events in the same order and keep the same previous event of each kind.
 *
 * An event is treated as words of 8 bytes. Each word is replaced by its difference from that of the previous event of
 * the same kind; of the word with the kind only the location is a difference. All first words are stored first, then
 * all second ones, and so on: in nets of equal layers the same few differences repeat. LZ4 of the unchanged events
 * takes 2.5 times as many bytes.
 */
#include "replay/trace/events_pack.h"

#include <stdint.h>
#include <string.h>

#include <lz4.h>

#include "base/error.h"
#include "base/mem.h"

#define WORDS (sizeof(struct vs_event) / sizeof(uint64_t))
#define KIND_WORD (offsetof(struct vs_event, kind) / sizeof(uint64_t))

_Static_assert(sizeof(struct vs_event) % sizeof(uint64_t) == 0, "an event is not whole words");

/* The latest event of each kind. */
struct last_events {
    uint64_t words[VS_EVENT_KIND_COUNT][WORDS];
    uint32_t locations[VS_EVENT_KIND_COUNT];
};

static void columns_write(const struct vs_event *events, size_t count, uint64_t *columns)
{
    struct last_events last = {0};

    for (size_t i = 0; i < count; i++) {
        struct vs_event event = events[i];
        uint64_t words[WORDS];
        uint64_t *before;

        VS_ASSERT(event.kind < VS_EVENT_KIND_COUNT);
        before = last.words[event.kind];
        event.location -= last.locations[event.kind];
        last.locations[event.kind] = events[i].location;
        memcpy(words, &event, sizeof(words));
        for (size_t w = 0; w < WORDS; w++)
            columns[w * count + i] = words[w] - (w == KIND_WORD ? 0 : before[w]);
        memcpy(before, words, sizeof(words));
    }
}

static void columns_read(const uint64_t *columns, size_t count, struct vs_event *out)
{
    struct last_events last = {0};

    for (size_t i = 0; i < count; i++) {
        struct vs_event kind_only = {0};
        uint64_t *words;

        memcpy((char *)&kind_only + KIND_WORD * sizeof(uint64_t), &columns[KIND_WORD * count + i],
               sizeof(uint64_t));
        VS_ASSERT(kind_only.kind < VS_EVENT_KIND_COUNT);
        words = last.words[kind_only.kind];
        for (size_t w = 0; w < WORDS; w++)
            words[w] = columns[w * count + i] + (w == KIND_WORD ? 0 : words[w]);
        memcpy(&out[i], words, sizeof(out[i]));
        out[i].location += last.locations[out[i].kind];
        last.locations[out[i].kind] = out[i].location;
    }
}

struct rpl_events_packed rpl_events_pack(const struct vs_event *events, size_t count)
{
    const size_t bytes = count * sizeof(*events);
    struct rpl_events_packed packed = {NULL, 0};
    uint64_t *columns = vs_alloc(bytes + 1);
    int bound;
    int len;

    VS_ASSERT(bytes <= LZ4_MAX_INPUT_SIZE);
    bound = LZ4_compressBound((int)bytes);
    packed.bytes = vs_alloc((size_t)bound);
    columns_write(events, count, columns);
    len = LZ4_compress_default((const char *)columns, packed.bytes, (int)bytes, bound);
    VS_ASSERT(len > 0);
    packed.len = (size_t)len;
    packed.bytes = vs_realloc(packed.bytes, packed.len, 1);
    vs_free(columns);
    return packed;
}

void rpl_events_unpack(const struct rpl_events_packed *packed, size_t count, struct vs_event *out)
{
    const int bytes = (int)(count * sizeof(*out));
    uint64_t *columns = vs_alloc((size_t)bytes + 1);
    int got = LZ4_decompress_safe(packed->bytes, (char *)columns, (int)packed->len, bytes);

    VS_ASSERT(got == bytes);
    columns_read(columns, count, out);
    vs_free(columns);
}

void rpl_events_packed_release(struct rpl_events_packed *packed)
{
    vs_free(packed->bytes);
    *packed = (struct rpl_events_packed){NULL, 0};
}
