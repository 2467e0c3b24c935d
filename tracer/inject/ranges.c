/*
 * tracer/inject/ranges.c - see ranges.h.
 *
 * The ranges of a thread are in memory that is freed when the thread ends.
 */
#include "tracer/inject/ranges.h"

#include <ctype.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"
#include "tracer/inject/lock.h"
#include "tracer/inject/session.h"

#define SHARED_MAX 64

struct range {
    const char *domain;
    const char *name;
    uint64_t id; /* for ranges of the process */
};

struct thread {
    struct range *items;
    size_t count, cap;
    struct vs_text path;
};

/* shared: open ranges of the process, in order of their start; ranges beyond its capacity are ignored. */
static struct {
    pthread_once_t once;
    pthread_key_t key;
    struct range shared[SHARED_MAX];
    size_t shared_count;
    uint64_t next_id;
} ranges = {.once = PTHREAD_ONCE_INIT};

static void thread_free(void *arg)
{
    struct thread *t = arg;

    vs_free(t->items);
    vs_text_release(&t->path);
    vs_free(t);
}

static void key_make(void)
{
    pthread_key_create(&ranges.key, thread_free);
}

static struct thread *thread_get(void)
{
    struct thread *t;

    pthread_once(&ranges.once, key_make);
    t = pthread_getspecific(ranges.key);
    if (!t) {
        t = vs_calloc(1, sizeof(*t));
        pthread_setspecific(ranges.key, t);
    }
    return t;
}

/* ---- meaning of names ---- */

/* Whether `name` is the word, alone or followed by a character that is not a letter. */
static bool begins_with(const char *name, const char *word)
{
    const size_t len = strlen(word);

    return strncasecmp(name, word, len) == 0 && !isalpha((unsigned char)name[len]);
}

enum vs_phase inj_range_phase(const char *name, bool *is_step)
{
    static const char *const STEPS[] = {"step", "train_step", "iteration",
                                        "iter", "batch",      "ProfilerStep"};

    *is_step = false;
    for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]); i++)
        *is_step |= begins_with(name, STEPS[i]);
    for (int phase = VS_PHASE_SETUP + 1; phase < VS_PHASE_COUNT; phase++)
        if (begins_with(name, vs_phase_name((enum vs_phase)phase)))
            return (enum vs_phase)phase;
    return VS_PHASE_COUNT;
}

static void name_apply(const char *name)
{
    bool is_step;
    enum vs_phase phase = inj_range_phase(name, &is_step);

    if (is_step)
        inj_session_step();
    if (phase != VS_PHASE_COUNT)
        inj_session_phase(phase);
}

/* ---- ranges of a thread ---- */

void inj_range_push(const char *domain, const char *name)
{
    struct thread *t = thread_get();

    t->items = vs_grow(t->items, t->count, &t->cap, sizeof(*t->items));
    t->items[t->count++] = (struct range){domain, name, 0};
    name_apply(name);
}

/* A phase inside another one has ended: the outer phase continues. */
static void outer_apply(const struct thread *t, const char *ended)
{
    bool is_step;

    if (inj_range_phase(ended, &is_step) == VS_PHASE_COUNT)
        return;
    for (size_t i = t->count; i > 0; i--) {
        enum vs_phase phase = inj_range_phase(t->items[i - 1].name, &is_step);

        if (phase != VS_PHASE_COUNT) {
            inj_session_phase(phase);
            return;
        }
    }
}

void inj_range_pop(const char *domain)
{
    struct thread *t = thread_get();

    for (size_t i = t->count; i > 0; i--) {
        const char *name = t->items[i - 1].name;

        if (t->items[i - 1].domain != domain)
            continue;
        memmove(&t->items[i - 1], &t->items[i], (t->count - i) * sizeof(*t->items));
        t->count--;
        outer_apply(t, name);
        return;
    }
}

/* ---- ranges of the process ---- */

uint64_t inj_range_start(const char *domain, const char *name)
{
    uint64_t id;

    inj_lock(INJ_LOCK_RANGES);
    id = ++ranges.next_id;
    if (ranges.shared_count < SHARED_MAX)
        ranges.shared[ranges.shared_count++] = (struct range){domain, name, id};
    inj_unlock(INJ_LOCK_RANGES);
    name_apply(name);
    return id;
}

void inj_range_end(uint64_t id)
{
    inj_lock(INJ_LOCK_RANGES);
    for (size_t i = 0; i < ranges.shared_count; i++)
        if (ranges.shared[i].id == id) {
            memmove(&ranges.shared[i], &ranges.shared[i + 1],
                    (--ranges.shared_count - i) * sizeof(ranges.shared[0]));
            break;
        }
    inj_unlock(INJ_LOCK_RANGES);
}

/*
 * Add a range to a path. Ranges that mark a step or a phase are not part of it, so that paths are the same in every
 * step.
 */
static void range_add(struct vs_text *path, const struct range *range)
{
    bool is_step;
    const enum vs_phase phase = inj_range_phase(range->name, &is_step);

    if (is_step || (phase != VS_PHASE_COUNT && strcasecmp(range->name, vs_phase_name(phase)) == 0))
        return;
    vs_text_addf(path, "%s%s%s%s", path->len ? "." : "", range->domain ? range->domain : "",
                 range->domain ? ":" : "", range->name);
}

const char *inj_range_path(void)
{
    struct thread *t = thread_get();

    vs_text_clear(&t->path);
    inj_lock(INJ_LOCK_RANGES);
    if (ranges.shared_count)
        range_add(&t->path, &ranges.shared[ranges.shared_count - 1]);
    inj_unlock(INJ_LOCK_RANGES);
    for (size_t i = 0; i < t->count; i++)
        range_add(&t->path, &t->items[i]);
    return vs_text_get(&t->path);
}
