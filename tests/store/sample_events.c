/*
 * tests/store/sample_events.c - events for tests.
 */
#include "tests/store/sample_events.h"

#include <string.h>

uint64_t sample_random_next(struct sample_random *rnd)
{
    uint64_t x = rnd->state;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    rnd->state = x;
    return x * UINT64_C(0x2545F4914F6CDD1D);
}

uint64_t sample_random_below(struct sample_random *rnd, uint64_t limit)
{
    return sample_random_next(rnd) % limit;
}

/* A number of any length in bits, or one of the extremes. */
static uint64_t wild_number(struct sample_random *rnd)
{
    switch (sample_random_below(rnd, 12)) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX;
    case 2:
        return UINT64_C(1) << 63;
    case 3:
        return (UINT64_C(1) << 63) - 1;
    default:
        return sample_random_next(rnd) >> sample_random_below(rnd, 64);
    }
}

/* How a field of a stretch of events behaves. */
struct habit {
    int form; /* 0 wild, 1 constant, 2 counting, 3 from a few, 4 near a base, 5 multiples of 512 */
    uint64_t base;
    uint64_t step;
};

static struct habit habit_pick(struct sample_random *rnd)
{
    return (struct habit){(int)sample_random_below(rnd, 6), wild_number(rnd),
                          sample_random_next(rnd) >> sample_random_below(rnd, 64)};
}

static uint64_t habit_number(const struct habit *h, struct sample_random *rnd, uint64_t i)
{
    switch (h->form) {
    case 0:
        return wild_number(rnd);
    case 1:
        return h->base;
    case 2:
        return h->base + h->step * i;
    case 3:
        return h->base ^ (sample_random_below(rnd, 5) * h->step);
    case 4:
        return h->base + sample_random_below(rnd, 1000);
    default:
        return 512 * sample_random_below(rnd, 1 + (h->base & 0xffff));
    }
}

void sample_events_wild(struct sample_random *rnd, struct vs_event *out, size_t count)
{
    struct habit habits[8];
    uint64_t kinds = 1;

    memset(out, 0, count * sizeof(*out));
    for (size_t i = 0; i < count; i++) {
        if (i % 977 == 0) {
            kinds = 1 + sample_random_below(rnd, VS_EVENT_KIND_COUNT);
            for (int h = 0; h < 8; h++)
                habits[h] = habit_pick(rnd);
        }
        out[i].kind = (uint8_t)sample_random_below(rnd, kinds);
        out[i].time_ns = habit_number(&habits[0], rnd, i);
        out[i].raw.a = habit_number(&habits[1], rnd, i);
        out[i].raw.b = habit_number(&habits[2], rnd, i);
        out[i].raw.c = habit_number(&habits[3], rnd, i);
        out[i].raw.d = habit_number(&habits[4], rnd, i);
        out[i].raw.e = (uint32_t)habit_number(&habits[5], rnd, i);
        out[i].location = (uint32_t)habit_number(&habits[6], rnd, i);
        out[i].raw.aux = (uint8_t)habit_number(&habits[7], rnd, i);
    }
}

/* The live blocks of the invented run. */
struct live {
    uint64_t id;
    uint64_t size;
    uint64_t address;
    uint32_t tensor;
};

#define LIVE_MAX 64
#define STEP_EVENTS 2000

void sample_events_training(struct sample_random *rnd, struct vs_event *out, size_t count)
{
    struct live live[LIVE_MAX];
    size_t live_count = 0;
    uint64_t next_id = 1;
    uint64_t time = 0;

    memset(out, 0, count * sizeof(*out));
    for (size_t i = 0; i < count; i++) {
        struct vs_event *e = &out[i];
        uint64_t in_step = i % STEP_EVENTS;

        time += 200 + sample_random_below(rnd, 3000);
        e->time_ns = time;
        e->location = 1 + (uint32_t)(in_step / 10);
        if (in_step == 0) {
            e->kind = VS_EV_STEP;
            e->step.number_plus_one = i / STEP_EVENTS;
        } else if (in_step % 400 == 1) {
            e->kind = VS_EV_PHASE;
            e->phase.phase = in_step / 400;
        } else if (i % 5 == 2 && live_count < LIVE_MAX) {
            struct live *l = &live[live_count];

            *l = (struct live){next_id++, 4096 * (1 + in_step % 7) - 100, 0, 0};
            l->address = UINT64_C(0x7f0000000000) + 65536 * live_count;
            l->tensor = (uint32_t)l->id + 10;
            *e = (struct vs_event){.time_ns = time,
                                   .location = e->location,
                                   .kind = VS_EV_ALLOC,
                                   .alloc = {.block = l->id,
                                             .requested_bytes = l->size,
                                             .block_bytes = l->size + 100,
                                             .address = l->address,
                                             .tensor = l->tensor,
                                             .category = VS_CAT_ACTIVATION}};
            live_count++;
        } else if (i % 5 == 4 && live_count > 20) {
            const struct live *l = &live[--live_count];

            *e = (struct vs_event){.time_ns = time,
                                   .location = e->location,
                                   .kind = VS_EV_FREE,
                                   .free = {.block = l->id,
                                            .requested_bytes = l->size,
                                            .block_bytes = l->size + 100,
                                            .address = l->address}};
        } else if (live_count > 0) {
            const struct live *l = &live[sample_random_below(rnd, live_count)];

            e->kind = i % 2 ? VS_EV_HOLD : VS_EV_DROP;
            e->hold.block = l->id;
            e->hold.tensor = l->tensor;
            e->hold.name = 1 + in_step % 30;
            e->hold.scope = 31 + in_step % 10;
            e->hold.holder = VS_HOLD_LOCAL;
        } else {
            e->kind = VS_EV_OP_BEGIN;
            e->op.name = 1;
        }
    }
}
