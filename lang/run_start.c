/*
 * lang/run_start.c - see starts.h.
 *
 * Must not know:  how a net is set up (lang/prelude/train.py).
 * Invariant:      all that a run owns from its beginning to the end of its set-up lies in one heap (base/heap.h); what is kept of it beside that
 *                 heap's image is what others were told. Nothing in the image points to the settings or the result of the run that made it.
 */
#include "lang/starts.h"

#include <inttypes.h>
#include <string.h>

#include "base/heap.h"
#include "base/mem.h"
#include "base/text.h"
#include "engine/moment.h"
#include "engine/observer.h"
#include "lang/run_internal.h"
#include "lang/vm.h"

/* Set-ups that are kept at most, and for how much memory in all. */
#define STARTS_MAX 4
#define STARTS_BYTES ((size_t)96 << 20)

/* What an observer was told, in order. The texts stand in one block. */
struct told {
    struct vs_event *events;
    struct vs_tensor_desc *tensors;
    struct vs_place *places;
    const char **strings;
    char *texts;
    uint64_t event_count, tensor_count;
    uint32_t place_count, string_count;
};

/*
 * key         what the set-up depends on
 * run         in the heap, once the image is put back
 * used_at     the later, the larger
 */
struct start {
    char *key;
    void *image;
    size_t image_bytes;
    size_t bytes;
    struct told told;
    struct lang_run_state *run;
    uint64_t parameters;
    uint64_t used_at;
};

struct lang_starts {
    struct vs_heap *heap; /* NULL: there can be none */
    struct lang_value *stack;
    struct start items[STARTS_MAX];
    size_t count;
    uint64_t clock;
    size_t used;
    bool is_busy;
};

struct lang_starts *lang_starts_new(void)
{
    struct lang_starts *starts = vs_calloc(1, sizeof(*starts));

    starts->heap = vs_heap_new();
    return starts;
}

static void start_release(struct start *start)
{
    vs_free(start->key);
    vs_free(start->image);
    vs_free(start->told.events);
    vs_free(start->told.tensors);
    vs_free(start->told.places);
    vs_free(start->told.strings);
    vs_free(start->told.texts);
}

void lang_starts_free(struct lang_starts *starts)
{
    if (!starts)
        return;
    for (size_t i = 0; i < starts->count; i++)
        start_release(&starts->items[i]);
    vs_heap_free(starts->heap);
    vs_free(starts->stack);
    vs_free(starts);
}

size_t lang_starts_used(const struct lang_starts *starts)
{
    return starts->used;
}

/* ---- which ---- */

/* What the set-up is told of, and what its device is like. All else may be another in a run that begins with it. */
static const enum vs_toggle KEY[] = {VS_TOGGLE_HALF,       VS_TOGGLE_OPTIMIZER, VS_TOGGLE_FOREACH,
                                     VS_TOGGLE_FREEZE,     VS_TOGGLE_GRAD,      VS_TOGGLE_TARGET,
                                     VS_TOGGLE_ALLOC_CONF, VS_TOGGLE_WORKSPACE};

static char *key_of(const struct lang_settings *settings)
{
    const struct vs_toggles *toggles = settings->toggles;
    struct vs_text key = {NULL, 0, 0};
    char *copy;

    vs_text_addf(&key, "%" PRIu64 "\n", settings->capacity);
    for (size_t i = 0; toggles && i < sizeof(KEY) / sizeof(KEY[0]); i++)
        vs_text_addf(&key, "%s\n",
                     vs_toggles_is_set(toggles, KEY[i]) ? vs_toggles_get(toggles, KEY[i]) : "");
    copy = vs_strdup(vs_text_get(&key));
    vs_text_release(&key);
    return copy;
}

static struct start *start_find(struct lang_starts *starts, const char *key)
{
    for (size_t i = 0; i < starts->count; i++)
        if (strcmp(starts->items[i].key, key) == 0)
            return &starts->items[i];
    return NULL;
}

/* Room for one more of so many bytes, by forgetting what was used longest ago. NULL: it is too large. */
static struct start *start_add(struct lang_starts *starts, size_t bytes)
{
    size_t all = bytes;

    if (bytes > STARTS_BYTES)
        return NULL;
    for (size_t i = 0; i < starts->count; i++)
        all += starts->items[i].bytes;
    while (starts->count && (starts->count == STARTS_MAX || all > STARTS_BYTES)) {
        struct start *oldest = starts->items;

        for (size_t i = 1; i < starts->count; i++)
            if (starts->items[i].used_at < oldest->used_at)
                oldest = &starts->items[i];
        all -= oldest->bytes;
        start_release(oldest);
        *oldest = starts->items[--starts->count];
    }
    return &starts->items[starts->count++];
}

/* ---- what was told ---- */

static void *copy_of(const void *items, uint64_t count, size_t size)
{
    void *copy = vs_alloc((size_t)count * size);

    if (count)
        memcpy(copy, items, (size_t)count * size);
    return copy;
}

static void told_keep(const struct eng_told *from, struct told *told)
{
    const struct vs_event *events = from->events(from->user, &told->event_count);
    const struct vs_tensor_desc *tensors = from->tensors(from->user, &told->tensor_count);
    size_t bytes = 0;
    char *at;

    told->events = copy_of(events, told->event_count, sizeof(*events));
    told->tensors = copy_of(tensors, told->tensor_count, sizeof(*tensors));
    while (from->place(from->user, told->place_count + 1))
        told->place_count++;
    told->places = vs_alloc(told->place_count * sizeof(*told->places));
    for (uint32_t i = 0; i < told->place_count; i++)
        told->places[i] = *from->place(from->user, i + 1);
    for (const char *text; (text = from->string(from->user, told->string_count + 1)) != NULL;) {
        bytes += strlen(text) + 1;
        told->string_count++;
    }
    told->strings = vs_alloc(told->string_count * sizeof(*told->strings));
    at = told->texts = vs_alloc(bytes);
    for (uint32_t i = 0; i < told->string_count; i++) {
        const char *text = from->string(from->user, i + 1);
        size_t len = strlen(text) + 1;

        told->strings[i] = memcpy(at, text, len);
        at += len;
    }
}

/* To somebody who has heard nothing yet, and so gives the same ids. */
static void told_tell(const struct told *told, const struct eng_observer *observer)
{
    for (uint32_t i = 0; i < told->string_count; i++) {
        uint32_t id = observer->string(observer->user, told->strings[i]);

        VS_ASSERT(id == i + 1);
    }
    for (uint32_t i = 0; i < told->place_count; i++) {
        uint32_t id = observer->place(observer->user, &told->places[i]);

        VS_ASSERT(id == i + 1);
    }
    for (uint64_t i = 0; i < told->tensor_count; i++)
        observer->tensor(observer->user, &told->tensors[i]);
    for (uint64_t i = 0; i < told->event_count; i++)
        observer->emit(observer->user, &told->events[i]);
}

/* ---- for run.c ---- */

/* A device that has nothing, and whoever is told can be asked what. */
static bool may_keep(const struct lang_settings *settings)
{
    const struct lang_starts *starts = settings->starts;
    const struct eng_told *told = settings->told;

    return starts && starts->heap && !starts->is_busy && told && told->string && told->place &&
           settings->observer && settings->library && settings->trials && !settings->kernels &&
           !settings->device && !settings->segment_count && !settings->formula && !settings->dump;
}

struct lang_run_state *lang_start_begin(struct lang_settings *settings, struct lang_result *result,
                                        struct lang_run_start *at)
{
    struct lang_starts *starts = settings->starts;
    struct start *start;

    memset(at, 0, sizeof(*at));
    if (!may_keep(settings))
        return NULL;
    if (!starts->stack)
        starts->stack = vs_alloc(LANG_STACK_VALUES * sizeof(*starts->stack));
    starts->is_busy = true;
    at->starts = starts;
    at->key = key_of(settings);
    at->stack = starts->stack;
    start = start_find(starts, at->key);
    if (!start) {
        vs_heap_clear(starts->heap);
        vs_heap_enter(starts->heap);
        return NULL;
    }
    vs_heap_restore(starts->heap, start->image, start->image_bytes);
    told_tell(&start->told, settings->observer);
    result->parameters = start->parameters;
    start->used_at = ++starts->clock;
    starts->used++;
    start->run->settings = settings;
    start->run->result = result;
    vs_heap_enter(starts->heap);
    return start->run;
}

void lang_start_keep(struct lang_run_start *at, struct lang_run_state *run)
{
    struct vs_heap *heap = vs_heap_enter(NULL);
    struct start now = {.key = at->key, .run = run, .parameters = run->result->parameters};
    struct start *start;

    if (at->starts && !vs_heap_is_spilled(heap)) {
        told_keep(run->settings->told, &now.told);
        now.image_bytes = vs_heap_bytes(heap);
        now.bytes = now.image_bytes + (size_t)now.told.event_count * sizeof(*now.told.events) +
                    (size_t)now.told.tensor_count * sizeof(*now.told.tensors);
        start = start_add(at->starts, now.bytes);
        if (start) {
            now.image = vs_alloc(now.image_bytes);
            vs_heap_save(heap, now.image);
            now.used_at = ++at->starts->clock;
            *start = now;
            at->key = NULL;
        } else {
            now.key = NULL;
            start_release(&now);
        }
    }
    vs_heap_enter(heap);
}

bool lang_start_end(struct lang_run_start *at)
{
    bool is_gone = at->starts && !vs_heap_is_spilled(at->starts->heap);

    if (is_gone)
        vs_heap_enter(NULL);
    return is_gone;
}

void lang_start_close(struct lang_run_start *at)
{
    vs_heap_enter(NULL);
    if (at->starts)
        at->starts->is_busy = false;
    vs_free(at->key);
}
