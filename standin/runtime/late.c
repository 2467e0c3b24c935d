/*
 * standin/runtime/late.c - see late.h.
 *
 * Each stream has a position, which grows with each event that is put into it and each wait. An event is a stream and a
 * position; a wait says that one stream's position comes after another's.
 */
#include "standin/runtime/late.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "standin/runtime/runtime.h"

/* Kernels that a stream holds before the host waits, and questions after which time must have passed. */
#define KERNELS_MAX 1024u
#define POLLS_MAX 100u
/* Waits that are kept; then the host waits for all. */
#define WAITS_MAX 1024u

/* done: all before this position is complete */
struct lane {
    const void *stream;
    uint64_t position;
    uint64_t done;
    uint64_t polls;
    uint64_t polled_at;
};

/* work, polled_at: the device's time when it was recorded, and when it was asked for last */
struct mark {
    const void *event;
    const void *stream;
    uint64_t position;
    uint64_t work;
    uint64_t polls;
    uint64_t polled_at;
};

/* `stream` from `position` on comes after `on_position` of `on`. */
struct wait {
    const void *stream;
    const void *on;
    uint64_t position;
    uint64_t on_position;
};

static struct {
    pthread_mutex_t lock;
    bool is_late;
    struct lane *lanes;
    size_t lane_count, lane_cap;
    struct mark *marks;
    size_t mark_count, mark_cap;
    struct wait *waits;
    size_t wait_count, wait_cap;
} late = {.lock = PTHREAD_MUTEX_INITIALIZER};

void sti_late_set(bool is_late)
{
    late.is_late = is_late;
}

/* cudaStreamLegacy is another name of the default stream. */
static const void *named(const void *stream)
{
    return (uintptr_t)stream == 1 ? NULL : stream;
}

static struct lane *lane_find(const void *stream)
{
    for (size_t i = 0; i < late.lane_count; i++)
        if (late.lanes[i].stream == stream)
            return &late.lanes[i];
    return NULL;
}

static struct lane *lane_of(const void *stream)
{
    struct lane *lane = lane_find(stream);

    if (lane)
        return lane;
    late.lanes = vs_grow(late.lanes, late.lane_count, &late.lane_cap, sizeof(*late.lanes));
    late.lanes[late.lane_count] = (struct lane){.stream = stream};
    return &late.lanes[late.lane_count++];
}

static struct mark *mark_find(const void *event)
{
    for (size_t i = late.mark_count; i-- > 0;)
        if (late.marks[i].event == event)
            return &late.marks[i];
    return NULL;
}

/* A wait of `stream` up to `position`, taken out; false: there is none. */
static bool wait_take(const void *stream, uint64_t position, struct wait *out)
{
    for (size_t i = 0; i < late.wait_count; i++)
        if (late.waits[i].stream == stream && late.waits[i].position <= position) {
            *out = late.waits[i];
            late.waits[i] = late.waits[--late.wait_count];
            return true;
        }
    return false;
}

/* All of a stream up to a position is complete, and what that waited for. Each wait is taken out once. */
static void complete(const void *stream, uint64_t position)
{
    struct lane *lane = lane_find(stream);
    struct wait wait;

    if (!lane || lane->done >= position)
        return;
    lane->done = position;
    while (wait_take(stream, position, &wait))
        complete(wait.on, wait.on_position);
}

static void complete_all(void)
{
    for (size_t i = 0; i < late.lane_count; i++)
        late.lanes[i].done = late.lanes[i].position;
    late.wait_count = 0;
}

/* Asked for once more: is that often enough to be complete? */
static bool is_polled_enough(uint64_t *polls, uint64_t *polled_at)
{
    const uint64_t now = sti_work_count();

    if (*polled_at != now)
        *polls = 0;
    *polled_at = now;
    return ++*polls >= POLLS_MAX;
}

static bool is_mark_done(const struct mark *mark)
{
    const struct lane *lane = lane_find(mark->stream);

    if (lane && lane->done < mark->position && sti_work_count() - mark->work > KERNELS_MAX)
        complete(mark->stream, mark->position);
    return !lane || lane->done >= mark->position;
}

void sti_late_record(const void *event, const void *stream)
{
    struct mark *mark;

    if (!late.is_late)
        return;
    pthread_mutex_lock(&late.lock);
    mark = mark_find(event);
    if (!mark) {
        late.marks = vs_grow(late.marks, late.mark_count, &late.mark_cap, sizeof(*late.marks));
        mark = &late.marks[late.mark_count++];
    }
    *mark = (struct mark){.event = event,
                          .stream = named(stream),
                          .position = ++lane_of(named(stream))->position,
                          .work = sti_work_count()};
    pthread_mutex_unlock(&late.lock);
}

void sti_late_wait(const void *stream, const void *event)
{
    const struct mark *mark;

    if (!late.is_late)
        return;
    pthread_mutex_lock(&late.lock);
    mark = mark_find(event);
    if (mark && mark->stream != named(stream) && !is_mark_done(mark)) {
        if (late.wait_count >= WAITS_MAX)
            complete_all();
        late.waits = vs_grow(late.waits, late.wait_count, &late.wait_cap, sizeof(*late.waits));
        late.waits[late.wait_count++] =
            (struct wait){.stream = named(stream),
                          .on = mark->stream,
                          .position = ++lane_of(named(stream))->position,
                          .on_position = mark->position};
    }
    pthread_mutex_unlock(&late.lock);
}

bool sti_late_is_event_done(const void *event)
{
    struct mark *mark;
    bool is_done;

    if (!late.is_late)
        return true;
    pthread_mutex_lock(&late.lock);
    mark = mark_find(event);
    is_done = !mark || is_mark_done(mark) || is_polled_enough(&mark->polls, &mark->polled_at);
    if (is_done && mark)
        *mark = late.marks[--late.mark_count];
    pthread_mutex_unlock(&late.lock);
    return is_done;
}

bool sti_late_is_stream_done(const void *stream)
{
    struct lane *lane;
    bool is_done;

    if (!late.is_late)
        return true;
    pthread_mutex_lock(&late.lock);
    lane = lane_find(named(stream));
    is_done =
        !lane || lane->done >= lane->position || is_polled_enough(&lane->polls, &lane->polled_at);
    if (is_done && lane)
        complete(lane->stream, lane->position);
    pthread_mutex_unlock(&late.lock);
    return is_done;
}

void sti_late_sync_event(const void *event)
{
    const struct mark *mark;

    if (!late.is_late)
        return;
    pthread_mutex_lock(&late.lock);
    mark = mark_find(event);
    if (mark)
        complete(mark->stream, mark->position);
    pthread_mutex_unlock(&late.lock);
}

void sti_late_sync_stream(const void *stream)
{
    const struct lane *lane;

    if (!late.is_late)
        return;
    pthread_mutex_lock(&late.lock);
    lane = lane_find(named(stream));
    if (lane)
        complete(lane->stream, lane->position);
    pthread_mutex_unlock(&late.lock);
}

void sti_late_sync_all(void)
{
    if (!late.is_late)
        return;
    pthread_mutex_lock(&late.lock);
    complete_all();
    pthread_mutex_unlock(&late.lock);
}

void sti_late_forget(const void *handle)
{
    struct mark *mark;
    struct lane *lane;

    if (!late.is_late)
        return;
    pthread_mutex_lock(&late.lock);
    mark = mark_find(handle);
    if (mark)
        *mark = late.marks[--late.mark_count];
    lane = lane_find(handle);
    if (lane) {
        complete(lane->stream, lane->position);
        lane = lane_find(handle);
        *lane = late.lanes[--late.lane_count];
    }
    pthread_mutex_unlock(&late.lock);
}
