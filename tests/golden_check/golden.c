/*
 * tests/golden_check/golden.c - see golden.h.
 *
 * Must not know:  how PyTorch was measured.
 * Invariant:      a cell's name is made of the file, the net and its toggles, and is what known.tsv lists.
 */
#include "tests/golden_check/golden.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "tests/page_count.h"
#include "tests/share.h"

/* ---- listening ---- */

struct listener {
    struct golden_run *run;
    int64_t step;
    uint8_t phase;
    const char **strings;
    size_t string_count, string_cap;
    struct vs_location *locations;
    size_t location_count, location_cap;
};

static void on_event(void *user, const struct vs_event *ev)
{
    struct listener *l = user;
    struct golden_run *run = l->run;
    struct golden_event *out;

    if (ev->kind == VS_EV_STEP)
        l->step = vs_event_step(ev);
    if (ev->kind == VS_EV_PHASE)
        l->phase = (uint8_t)ev->phase.phase;
    if (ev->kind != VS_EV_ALLOC && ev->kind != VS_EV_FREE)
        return;
    run->events = vs_grow(run->events, run->count, &run->cap, sizeof(*run->events));
    out = &run->events[run->count++];
    memset(out, 0, sizeof(*out));
    out->is_alloc = ev->kind == VS_EV_ALLOC;
    out->phase = l->phase;
    out->step = l->step;
    out->id = (uint32_t)(ev->alloc.block - 1);
    out->bytes = ev->alloc.requested_bytes;
    if (ev->location) {
        const struct vs_location *location = &l->locations[ev->location - 1];

        out->line = location->line;
        if (location->op)
            snprintf(out->op, sizeof(out->op), "%s", l->strings[location->op - 1]);
    }
}

static uint32_t on_string(void *user, const char *text)
{
    struct listener *l = user;

    for (size_t i = 0; i < l->string_count; i++) {
        if (!strcmp(l->strings[i], text))
            return (uint32_t)i + 1;
    }
    l->strings = vs_grow((void *)(uintptr_t)l->strings, l->string_count, &l->string_cap,
                         sizeof(*l->strings));
    l->strings[l->string_count++] = vs_strdup(text);
    return (uint32_t)l->string_count;
}

static uint32_t on_location(void *user, const struct vs_location *location)
{
    struct listener *l = user;

    l->locations =
        vs_grow(l->locations, l->location_count, &l->location_cap, sizeof(*l->locations));
    l->locations[l->location_count++] = *location;
    return (uint32_t)l->location_count;
}

static void on_tensor(void *user, const struct vs_tensor_desc *desc)
{
    (void)user;
    (void)desc;
}

static void listener_release(struct listener *l)
{
    for (size_t i = 0; i < l->string_count; i++)
        free((void *)(uintptr_t)l->strings[i]);
    free((void *)(uintptr_t)l->strings);
    free(l->locations);
}

static void quiet(void *user, const char *text, size_t len)
{
    (void)user;
    (void)text;
    (void)len;
}

/* ---- running ---- */

static char *read_file(const char *path, size_t *len)
{
    gzFile f = gzopen(path, "rb");
    char *text = NULL;
    size_t cap = 0, used = 0;
    int got;

    *len = 0;
    if (!f)
        return NULL;
    do {
        if (cap - used < 65536) {
            cap = cap ? cap * 2 : 131072;
            text = vs_realloc(text, cap, 1);
        }
        got = gzread(f, text + used, 65535);
        used += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    gzclose(f);
    text[used] = '\0';
    *len = used;
    return text;
}

void golden_run_net(const char *net, const struct json *toggles, int64_t steps, bool formula,
                    struct golden_run *out)
{
    struct listener l = {.run = out, .step = -1};
    struct eng_observer observer = {&l, on_event, on_string, on_location, on_tensor};
    struct vs_toggles set = {0};
    struct lang_settings settings = {.file_name = net,
                                     .observer = &observer,
                                     .toggles = &set,
                                     .all_steps = true,
                                     .formula = formula,
                                     .print = quiet};
    char *text;
    size_t len;

    memset(out, 0, sizeof(*out));
    text = read_file(net, &len);
    if (!text) {
        out->status = vs_fail(&out->error, VS_E_NOT_FOUND, "%s is not there", net);
        return;
    }
    for (const struct json *t = toggles ? toggles->first : NULL; t && !out->status; t = t->next)
        out->status = vs_toggles_set_named(&set, t->key, json_str(t), &out->error);
    if (steps && !out->status) {
        char count[24];

        snprintf(count, sizeof(count), "%" PRId64, steps);
        out->status = vs_toggles_set_named(&set, "steps", count, &out->error);
    }
    settings.text = text;
    settings.len = len;
    if (!out->status)
        out->status = lang_run(&settings, &out->result, &out->error);
    vs_toggles_release(&set);
    listener_release(&l);
    free(text);
}

void golden_run_release(struct golden_run *run)
{
    lang_result_release(&run->result);
    free(run->events);
    memset(run, 0, sizeof(*run));
}

/* ---- comparing events ---- */

static int by_id(const void *a, const void *b)
{
    uint32_t x = ((const struct golden_event *)a)->id;
    uint32_t y = ((const struct golden_event *)b)->id;

    return x < y ? -1 : x > y;
}

/* Runs of consecutive frees of casts: the cache empties in an order of addresses, so both sides are sorted. */
static void sort_frees(struct golden_event *events, size_t count, const bool *is_cast)
{
    for (size_t i = 0; i < count;) {
        size_t n = i;

        while (n < count && !events[n].is_alloc && is_cast[events[n].id])
            n++;
        if (n > i + 1)
            qsort(events + i, n - i, sizeof(*events), by_id);
        i = n > i ? n : i + 1;
    }
}

/* The phase of a name; VS_PHASE_COUNT: there is none. */
static enum vs_phase phase_of(const char *name)
{
    int i = 0;

    while (i < VS_PHASE_COUNT && strcmp(vs_phase_name((enum vs_phase)i), name) != 0)
        i++;
    return (enum vs_phase)i;
}

bool golden_phases_equal(const struct golden_run *run, const struct json *events, char *why,
                         size_t why_size)
{
    size_t i = 0;

    for (const struct json *e = events->first; e && i < run->count; e = e->next, i++) {
        const struct golden_event *ours = &run->events[i];
        int64_t step = (int64_t)json_u64(json_at(e, 4));
        const char *phase = json_str(json_at(e, 5));

        if (ours->phase == phase_of(phase) && (ours->step == step || ours->phase == VS_PHASE_SETUP))
            continue;
        snprintf(why, why_size,
                 "event %zu: theirs in %s of step %" PRId64 ", ours in %s of step %" PRId64
                 " line %u",
                 i, phase, step, vs_phase_name((enum vs_phase)ours->phase), ours->step, ours->line);
        return false;
    }
    return true;
}

bool golden_events_equal(const struct golden_run *run, const struct json *events,
                         bool sort_cast_frees, char *why, size_t why_size)
{
    size_t count = events->count;
    struct golden_event *theirs = vs_calloc(count + 1, sizeof(*theirs));
    struct golden_event *ours = vs_calloc(run->count + 1, sizeof(*ours));
    bool *cast = vs_calloc(count + run->count + 1, sizeof(*cast));
    size_t i = 0;
    bool equal;

    for (const struct json *e = events->first; e; e = e->next, i++) {
        theirs[i].is_alloc = !strcmp(json_str(json_at(e, 0)), "alloc");
        theirs[i].bytes = json_u64(json_at(e, 1));
        theirs[i].id = (uint32_t)json_u64(json_at(e, 3));
        snprintf(theirs[i].op, sizeof(theirs[i].op), "%.39s", json_str(json_at(e, 2)));
        if (theirs[i].is_alloc)
            cast[theirs[i].id] = strstr(json_str(json_at(e, 2)), "_to_copy") != NULL;
    }
    memcpy(ours, run->events, sizeof(*ours) * run->count);
    if (sort_cast_frees) {
        sort_frees(theirs, count, cast);
        sort_frees(ours, run->count, cast);
    }
    for (i = 0; i < count && i < run->count; i++) {
        if (ours[i].is_alloc != theirs[i].is_alloc || ours[i].bytes != theirs[i].bytes ||
            ours[i].id != theirs[i].id)
            break;
    }
    equal = i == count && i == run->count;
    if (!equal)
        snprintf(why, why_size,
                 "matched %zu of %zu events (ours has %zu); then theirs %s %" PRIu64
                 " #%u %s, ours %s %" PRIu64 " #%u %s line %u",
                 i, count, run->count, i < count ? (theirs[i].is_alloc ? "alloc" : "free") : "end",
                 theirs[i].bytes, theirs[i].id, theirs[i].op,
                 i < run->count ? (ours[i].is_alloc ? "alloc" : "free") : "end", ours[i].bytes,
                 ours[i].id, ours[i].op, ours[i].line);
    free(cast);
    free(ours);
    free(theirs);
    return equal;
}

/* ---- files of cells ---- */

static void cell_name(const char *path, const struct json *line, char *buf, size_t size)
{
    const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t used = (size_t)snprintf(buf, size, "%s %s", file, json_str(json_get(line, "net")));

    for (const struct json *t = json_get(line, "toggles") ? json_get(line, "toggles")->first : NULL;
         t && used < size; t = t->next)
        used += (size_t)snprintf(buf + used, size - used, " %s=%s", t->key, json_str(t));
}

/* Is the cell in the list of known differences (first column of tests/golden/known.tsv)? */
static bool is_known(const char *known, const char *cell)
{
    size_t len = strlen(cell);

    for (const char *p = known; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
        if (!strncmp(p, cell, len) && p[len] == '\t')
            return true;
    }
    return false;
}

bool golden_file(const char *path, golden_check_fn *check, struct golden_sum *sum)
{
    const char *only = getenv("GOLDEN_ONLY");
    const size_t share = only ? 1 : tests_share(1);
    size_t len, known_len, equal = 0, total = 0, surprises = 0, lines = tests_share_first(path);
    char *text = read_file(path, &len);
    char *known = read_file("tests/golden/known.tsv", &known_len);
    char *save = NULL;

    if (!text) {
        fprintf(stderr, "%s is not there (tests run in the repository's root)\n", path);
        free(known);
        return false;
    }
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        struct vs_arena *arena;
        const struct json *value;
        char why[1024] = "", cell[512];
        bool ok;

        if (lines++ % share)
            continue;
        arena = vs_arena_new();
        value = json_parse(arena, line);

        if (value) {
            cell_name(path, value, cell, sizeof(cell));
            if (!only || strstr(cell, only)) {
                ok = check(value, why, sizeof(why));
                equal += ok;
                total++;
                if (ok == is_known(known, cell)) {
                    surprises++;
                    fprintf(stderr, "%s\t%s\n", cell,
                            ok ? "is equal now: take it out of tests/golden/known.tsv" : why);
                } else if (only) {
                    fprintf(stderr, "%s\t%s\n", cell, ok ? "equal" : why);
                }
            }
        } else {
            surprises++;
            fprintf(stderr, "%s: a line is not JSON\n", path);
        }
        vs_arena_free(arena);
    }
    printf("%s: %zu of %zu equal\n", path, equal, total);
    if (sum) {
        sum->equal += equal;
        sum->total += total;
    } else if (!only) {
        page_count_check(strrchr(path, '/') + 1, equal, total);
    }
    free(known);
    free(text);
    return only || (!surprises && (total || share > 1));
}
