/*
 * replay/trace/events_pack.c - see events_pack.h.
 *
 * Must not know:  where events are kept.
 * Invariant:      both directions remember the same events of each sort.
 *
 * The form: kind and aux in a byte (an aux from AUX_MAX on in one of its own), a byte of which fields differ, and of those the differences.
 */
#include "replay/trace/events_pack.h"

#include <stdbool.h>

#include "base/error.h"
#include "base/mem.h"
#include "replay/squeeze.h"

#define KIND_BITS 5
#define KIND_MASK ((1u << KIND_BITS) - 1)
#define AUX_MAX 7
/* More than an event can take: three bytes, and seven numbers. */
#define EVENT_BYTES_MAX 96
/* Bits of fields that differ; place and time from the event before, the others from the one of the same sort. */
#define HAS_A 1u
#define HAS_B 2u
#define HAS_C 4u
#define HAS_D 8u
#define HAS_E 16u
#define HAS_PLACE 32u
#define HAS_TIME 64u

_Static_assert(VS_EVENT_KIND_COUNT <= KIND_MASK + 1, "a kind does not fit into its bits");

/* last: of each sort */
struct memory {
    struct vs_event last[VS_EVENT_KIND_COUNT][AUX_MAX + 1];
    uint32_t place;
    uint64_t time_ns;
};

static struct vs_event *last_of(struct memory *m, uint8_t kind, uint8_t aux)
{
    return &m->last[kind][aux < AUX_MAX ? aux : AUX_MAX];
}

static bool is_block(const struct vs_event *event)
{
    return event->kind == VS_EV_ALLOC || event->kind == VS_EV_FREE;
}

static unsigned fields_of(const struct memory *m, const struct vs_event *event,
                          const struct vs_event *last)
{
    return (event->a != last->a ? HAS_A : 0) | (event->b != last->b ? HAS_B : 0) |
           (event->c != last->c ? HAS_C : 0) | (event->d != last->d ? HAS_D : 0) |
           (event->e != last->e ? HAS_E : 0) | (event->place != m->place ? HAS_PLACE : 0) |
           (event->time_ns != m->time_ns ? HAS_TIME : 0);
}

/* Sizes and addresses of blocks come in steps of 512. */
static void put(struct rpl_pack *out, bool has, bool is_size, uint64_t before, uint64_t now)
{
    if (has && is_size)
        rpl_pack_bytes(out, before, now);
    else if (has)
        rpl_pack_int(out, (int64_t)(now - before));
}

static void event_put(struct rpl_pack *out, struct memory *m, const struct vs_event *event)
{
    struct vs_event *last = last_of(m, event->kind, event->aux);
    unsigned fields = fields_of(m, event, last);
    unsigned aux = event->aux < AUX_MAX ? event->aux : AUX_MAX;

    rpl_pack_byte(out, (uint8_t)(event->kind | aux << KIND_BITS));
    if (aux == AUX_MAX)
        rpl_pack_byte(out, event->aux);
    rpl_pack_byte(out, (uint8_t)fields);
    put(out, fields & HAS_A, false, last->a, event->a);
    put(out, fields & HAS_B, false, last->b, event->b);
    put(out, fields & HAS_C, is_block(event), last->c, event->c);
    put(out, fields & HAS_D, is_block(event), last->d, event->d);
    put(out, fields & HAS_E, false, last->e, event->e);
    put(out, fields & HAS_PLACE, false, m->place, event->place);
    put(out, fields & HAS_TIME, false, m->time_ns, event->time_ns);
    *last = *event;
    m->place = event->place;
    m->time_ns = event->time_ns;
}

/* As rpl_unpack_uint, but for the end, which is looked at once an event. */
static inline uint64_t uint_get(const uint8_t **at)
{
    const uint8_t *p = *at;
    uint64_t n = *p & 0x7f;

    for (unsigned shift = 7; *p++ & 0x80 && shift < 64; shift += 7)
        n |= (uint64_t)(*p & 0x7f) << shift;
    *at = p;
    return n;
}

static inline uint64_t int_get(const uint8_t **at, uint64_t before)
{
    uint64_t n = uint_get(at);

    return before + (n >> 1 ^ (n & 1 ? UINT64_MAX : 0));
}

static uint64_t size_get(const uint8_t **at, const uint8_t *end, uint64_t before)
{
    struct rpl_unpack in = {.at = *at, .end = end};
    uint64_t n = rpl_unpack_bytes(&in, before);

    *at = in.at;
    return n;
}

/* What differs is read over what was. */
static void event_get(const uint8_t **at, const uint8_t *end, struct memory *m,
                      struct vs_event *out)
{
    uint8_t head = *(*at)++;
    uint8_t kind = head & KIND_MASK;
    uint8_t aux = (uint8_t)(head >> KIND_BITS);
    struct vs_event *event;
    unsigned fields;
    bool is_size;

    if (aux == AUX_MAX)
        aux = *(*at)++;
    VS_ASSERT(kind < VS_EVENT_KIND_COUNT);
    event = last_of(m, kind, aux);
    event->kind = kind;
    event->aux = aux;
    is_size = is_block(event);
    fields = *(*at)++;
    if (fields & HAS_A)
        event->a = int_get(at, event->a);
    if (fields & HAS_B)
        event->b = int_get(at, event->b);
    if (fields & HAS_C)
        event->c = is_size ? size_get(at, end, event->c) : int_get(at, event->c);
    if (fields & HAS_D)
        event->d = is_size ? size_get(at, end, event->d) : int_get(at, event->d);
    if (fields & HAS_E)
        event->e = (uint32_t)int_get(at, event->e);
    if (fields & HAS_PLACE)
        m->place = (uint32_t)int_get(at, m->place);
    if (fields & HAS_TIME)
        m->time_ns = int_get(at, m->time_ns);
    event->place = m->place;
    event->time_ns = m->time_ns;
    *out = *event;
    VS_ASSERT(*at <= end);
}

struct rpl_events_packed rpl_events_pack(const struct vs_event *events, size_t count,
                                         struct rpl_pack *room)
{
    struct memory *m = vs_calloc(1, sizeof(*m));
    struct rpl_pack out = {NULL, 0, 0};
    size_t plain;

    rpl_pack_clear(room);
    for (size_t i = 0; i < count; i++) {
        VS_ASSERT(events[i].kind < VS_EVENT_KIND_COUNT);
        event_put(room, m, &events[i]);
    }
    vs_free(m);
    plain = room->len;
    rpl_squeeze(room->bytes, plain, &out);
    return (struct rpl_events_packed){vs_realloc(out.bytes, out.len, 1), out.len, plain};
}

void rpl_events_unpack(const struct rpl_events_packed *packed, size_t count, struct vs_event *out)
{
    uint8_t *plain = vs_calloc(packed->plain + EVENT_BYTES_MAX, 1);
    struct memory *m = vs_calloc(1, sizeof(*m));
    const uint8_t *at = plain;

    rpl_unsqueeze(packed->bytes, packed->len, plain, packed->plain);
    for (size_t i = 0; i < count; i++)
        event_get(&at, plain + packed->plain, m, &out[i]);
    VS_ASSERT(at == plain + packed->plain);
    vs_free(m);
    vs_free(plain);
}

void rpl_events_packed_release(struct rpl_events_packed *packed)
{
    vs_free(packed->bytes);
    *packed = (struct rpl_events_packed){NULL, 0, 0};
}
