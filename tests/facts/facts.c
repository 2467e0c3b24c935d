/*
 * tests/facts/facts.c - see facts.h.
 */
#include "tests/facts/facts.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "engine/device/kernels.h"
#include "whatif/whatif.h"

/* ---- nets ---- */

struct facts_net facts_net_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text;
    long size;

    if (!file)
        fail_msg("%s cannot be opened; tests run in the repository's root", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    text = vs_alloc((size_t)size + 1);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    text[size] = '\0';
    fclose(file);
    return (struct facts_net){path, text};
}

struct facts_net facts_net_of(const char *name, const char *text)
{
    return (struct facts_net){name, vs_strdup(text)};
}

void facts_net_set(struct facts_net *net, const char *name, uint64_t value)
{
    char start[64];
    char *line;
    char *rest;
    char *text;
    size_t size;

    snprintf(start, sizeof(start), "\n%s = ", name);
    line = strstr(net->text, start);
    if (!line || strstr(line + 1, start))
        fail_msg("%s: there is not one line \"%s = …\"", net->path, name);
    rest = strchr(line + 1, '\n');
    assert_non_null(rest);
    size = strlen(net->text) + 32;
    text = vs_alloc(size);
    *line = '\0';
    snprintf(text, size, "%s%s%" PRIu64 "%s", net->text, start, value, rest);
    vs_free(net->text);
    net->text = text;
}

void facts_net_release(struct facts_net *net)
{
    vs_free(net->text);
    net->text = NULL;
}

/* ---- running ---- */

struct listener {
    struct rpl_trace *trace;
    struct vs_text printed;
};

static void on_event(void *user, const struct vs_event *event)
{
    rpl_trace_add_event(((struct listener *)user)->trace, event);
}

static uint32_t on_string(void *user, const char *text)
{
    return rpl_trace_add_string(((struct listener *)user)->trace, text);
}

static uint32_t on_location(void *user, const struct vs_location *location)
{
    return rpl_trace_add_location(((struct listener *)user)->trace, location);
}

static void on_tensor(void *user, const struct vs_tensor_desc *desc)
{
    rpl_trace_add_tensor(((struct listener *)user)->trace, desc);
}

static void on_started(void *user, const struct vs_toggles *in_force, const bool *is_default)
{
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        rpl_trace_set_toggle(((struct listener *)user)->trace,
                             vs_toggle_info((enum vs_toggle)i)->name,
                             vs_toggles_get(in_force, (enum vs_toggle)i), is_default[i]);
}

static void on_print(void *user, const char *text, size_t len)
{
    vs_text_add_n(&((struct listener *)user)->printed, text, len);
}

void facts_toggles(const char *pairs, struct vs_toggles *out)
{
    struct vs_error err = VS_ERROR_INIT;
    char *copy = vs_strdup(pairs);
    char *rest = NULL;

    for (char *pair = strtok_r(copy, " ", &rest); pair; pair = strtok_r(NULL, " ", &rest))
        if (vs_toggles_set_pair(out, pair, &err))
            fail_msg("%s: %s", pairs, err.text);
    vs_free(copy);
}

static void on_note(void *user, const char *key, const char *value)
{
    rpl_trace_set_meta(user, key, value);
}

/* The optimizer steps that a GradScaler skipped. The caller's, by vs_free. */
static struct lang_skip *skips_of(struct rpl_trace *trace, size_t *count)
{
    uint64_t events = rpl_trace_event_count(trace);
    struct vs_error err = VS_ERROR_INIT;
    struct lang_skip *skips = NULL;
    const struct vs_event *event;
    struct rpl_scan scan;
    int64_t step = -1;
    size_t cap = 0;

    *count = 0;
    if (events)
        rpl_scan_init(&scan, trace, 1, events);
    while (events && (event = rpl_scan_next(&scan, &err)) != NULL) {
        if (event->kind == VS_EV_STEP)
            step = vs_event_step(event);
        if (event->kind != VS_EV_SKIP_STEP)
            continue;
        skips = vs_grow(skips, *count, &cap, sizeof(*skips));
        skips[(*count)++] = (struct lang_skip){step, event->skip_step.call};
    }
    return skips;
}

static bool try_on(const struct facts_net *net, const char *toggles,
                   const struct eng_kernels *kernels, const struct eng_device *device,
                   uint64_t capacity, const struct facts_run *like, struct facts_run *out,
                   struct vs_error *err)
{
    struct listener listener = {rpl_trace_new(), {NULL, 0, 0}};
    struct vs_toggles set = {{NULL}};
    struct eng_observer observer = {&listener, on_event, on_string, on_location, on_tensor};
    struct lang_settings settings = {.file_name = net->path, .text = net->text};
    struct lang_skip *skips = NULL;
    enum vs_status st;

    memset(out, 0, sizeof(*out));
    out->trace = listener.trace;
    facts_toggles(toggles, &set);
    rpl_trace_set_source(out->trace, net->path, net->text);
    rpl_trace_set_meta(out->trace, "source_kind", "net");
    settings.len = strlen(net->text);
    settings.kernels = kernels;
    settings.device = device;
    settings.capacity = capacity;
    settings.observer = &observer;
    settings.toggles = &set;
    if (like)
        skips = skips_of(like->trace, &settings.skip_count);
    settings.skips = skips;
    settings.user = &listener;
    settings.started = on_started;
    settings.print = on_print;
    settings.all_steps = true;
    st = lang_run(&settings, &out->result, err);
    wif_run_notes(&out->result, on_note, out->trace);
    out->printed = vs_text_take(&listener.printed);
    vs_toggles_release(&set);
    vs_free(skips);
    if (st)
        facts_run_release(out);
    return st == VS_OK;
}

bool facts_try_net(const struct facts_net *net, const char *toggles, bool has_data,
                   const struct facts_run *like, struct facts_run *out, struct vs_error *err)
{
    return try_on(net, toggles, has_data ? eng_kernels_cpu() : NULL, NULL, 0, like, out, err);
}

bool facts_try_net_on(const struct facts_net *net, const char *toggles,
                      const struct eng_device *device, struct facts_run *out, struct vs_error *err)
{
    return try_on(net, toggles, NULL, device, 0, NULL, out, err);
}

struct eng_device facts_twin_open(void)
{
    const char *program = getenv("VRAMSCOPE");
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;
    char folder[4096];
    char *slash;

    snprintf(folder, sizeof(folder), "%s", program ? program : "build/vramscope");
    slash = strrchr(folder, '/');
    assert_non_null(slash);
    snprintf(slash, sizeof(folder) - (size_t)(slash - folder), "/twin");
    setenv("VRAMSCOPE_PLUGINS", folder, 1);
    if (eng_device_open("cuda", &device, &err))
        fail_msg("%s", err.text);
    return device;
}

struct facts_run facts_run_net_on(const struct facts_net *net, const char *toggles,
                                  const struct eng_device *device)
{
    struct vs_error err = VS_ERROR_INIT;
    struct facts_run run;

    if (!facts_try_net_on(net, toggles, device, &run, &err))
        fail_msg("%s [%s] on %s: %s", net->path, toggles, device->info.name, err.text);
    return run;
}

struct facts_run facts_run_net_within(const struct facts_net *net, const char *toggles,
                                      const struct eng_device *device, uint64_t capacity)
{
    struct vs_error err = VS_ERROR_INIT;
    struct facts_run run;

    if (!try_on(net, toggles, NULL, device, capacity, NULL, &run, &err))
        fail_msg("%s [%s] on %s: %s", net->path, toggles, device->info.name, err.text);
    return run;
}

struct facts_run facts_run_net(const struct facts_net *net, const char *toggles, bool has_data,
                               const struct facts_run *like)
{
    struct vs_error err = VS_ERROR_INIT;
    struct facts_run run;

    if (!facts_try_net(net, toggles, has_data, like, &run, &err))
        fail_msg("%s [%s]: %s", net->path, toggles, err.text);
    return run;
}

uint64_t facts_workspaces(struct rpl_trace *trace)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_event *ev;
    uint64_t count = 0;

    rpl_scan_init(scan, trace, 1, rpl_trace_event_count(trace));
    while ((ev = rpl_scan_next(scan, &err)) != NULL)
        count += ev->kind == VS_EV_ALLOC && ev->alloc.category == VS_CAT_WORKSPACE;
    vs_free(scan);
    return count;
}

void facts_run_release(struct facts_run *run)
{
    rpl_trace_free(run->trace);
    lang_result_release(&run->result);
    vs_free(run->printed);
    memset(run, 0, sizeof(*run));
}

const struct lang_run_phase *facts_phase(const struct facts_run *run, int64_t step,
                                         enum vs_phase phase)
{
    const struct lang_run_phase *found = NULL;

    for (size_t i = 0; i < run->result.phase_count; i++)
        if (run->result.phases[i].step == step && run->result.phases[i].phase == phase)
            found = &run->result.phases[i];
    if (!found)
        fail_msg("step %" PRId64 " has no phase %s", step, vs_phase_name(phase));
    return found;
}

/* ---- comparing ---- */

const char *facts_event_text(const struct rpl_trace *trace, uint64_t seq,
                             const struct vs_event *event, char *out)
{
    const struct vs_location *location = rpl_trace_location(trace, event->location);
    const char *name = "";

    if (event->kind == VS_EV_OP_BEGIN || event->kind == VS_EV_OP_END)
        name = rpl_trace_string(trace, (uint32_t)event->op.name);
    if (event->kind == VS_EV_HOLD || event->kind == VS_EV_DROP)
        name = rpl_trace_string(trace, (uint32_t)event->hold.name);
    snprintf(out, FACTS_EVENT_MAX,
             "%" PRIu64 " %s a=%" PRIu64 " b=%" PRIu64 " c=%" PRIu64 " d=%" PRIu64
             " e=%u aux=%u %s | %s %s %s:%u %s",
             seq, vs_event_kind_name((enum vs_event_kind)event->kind), event->raw.a, event->raw.b,
             event->raw.c, event->raw.d, event->raw.e, event->raw.aux, name,
             vs_phase_name((enum vs_phase)location->phase),
             rpl_trace_string(trace, location->module), rpl_trace_string(trace, location->func),
             location->line, rpl_trace_string(trace, location->op));
    return out;
}

static bool is_same_event(const struct vs_event *a, const struct vs_event *b)
{
    return a->kind == b->kind && a->raw.a == b->raw.a && a->raw.b == b->raw.b &&
           a->raw.c == b->raw.c && a->raw.d == b->raw.d && a->raw.e == b->raw.e &&
           a->raw.aux == b->raw.aux && a->location == b->location;
}

static void print_around(struct rpl_trace *trace, const char *name, uint64_t seq)
{
    struct rpl_scan *scan = vs_alloc(sizeof(*scan));
    struct vs_error err = VS_ERROR_INIT;
    const struct vs_event *event;
    uint64_t count = rpl_trace_event_count(trace);
    char text[FACTS_EVENT_MAX];

    rpl_scan_init(scan, trace, seq > 6 ? seq - 6 : 1, seq + 4 < count ? seq + 4 : count);
    print_error("%s:\n", name);
    while ((event = rpl_scan_next(scan, &err)) != NULL)
        print_error("  %s\n", facts_event_text(trace, scan->seq, event, text));
    vs_free(scan);
}

/* Equal ids mean the same only where the tables that give ids are equal. */
static void same_tables(const char *what, const struct rpl_trace *a, const struct rpl_trace *b,
                        uint32_t strings, uint32_t locations, uint32_t tensors)
{

    for (uint32_t id = 1; id <= strings; id++)
        if (strcmp(rpl_trace_string(a, id), rpl_trace_string(b, id)) != 0)
            fail_msg("%s: string %u is \"%s\" and \"%s\"", what, id, rpl_trace_string(a, id),
                     rpl_trace_string(b, id));
    for (uint32_t id = 1; id <= locations; id++)
        if (memcmp(rpl_trace_location(a, id), rpl_trace_location(b, id),
                   sizeof(struct vs_location)) != 0)
            fail_msg("%s: place %u differs", what, id);
    for (uint32_t id = 1; id <= tensors; id++) {
        struct vs_tensor_desc x;
        struct vs_tensor_desc y;

        assert_true(rpl_trace_tensor(a, id, &x) && rpl_trace_tensor(b, id, &y));
        if (x.block != y.block || x.id != y.id || x.name != y.name || x.dtype != y.dtype ||
            x.ndim != y.ndim || x.offset_elems != y.offset_elems ||
            memcmp(x.sizes, y.sizes, sizeof(x.sizes[0]) * x.ndim) != 0 ||
            memcmp(x.strides, y.strides, sizeof(x.strides[0]) * x.ndim) != 0)
            fail_msg("%s: tensor %u differs", what, id);
    }
}

/* The highest string id that an event or a place can mean is bounded by what the run announced; see same_tables. */
static uint32_t greater(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static uint32_t highest_string(const struct rpl_trace *trace, uint32_t locations)
{
    uint32_t highest = 0;

    for (uint32_t id = 1; id <= locations; id++) {
        const struct vs_location *location = rpl_trace_location(trace, id);

        highest =
            greater(highest, greater(location->module, greater(location->func, location->op)));
    }
    return highest;
}

static void compare(const char *what, struct rpl_trace *a, const char *a_name, struct rpl_trace *b,
                    const char *b_name, bool may_go_on)
{
    struct rpl_scan *scans = vs_alloc(2 * sizeof(*scans));
    struct vs_error err = VS_ERROR_INIT;
    uint64_t counts[2] = {rpl_trace_event_count(a), rpl_trace_event_count(b)};
    uint64_t shorter = counts[0] < counts[1] ? counts[0] : counts[1];
    uint64_t seq = 0;
    uint32_t strings = 0;
    uint32_t locations = 0;
    uint32_t tensors = 0;
    bool same = shorter > 0;

    if (same) {
        rpl_scan_init(&scans[0], a, 1, shorter);
        rpl_scan_init(&scans[1], b, 1, shorter);
    }
    while (same && seq < shorter) {
        const struct vs_event *x = rpl_scan_next(&scans[0], &err);
        const struct vs_event *y = rpl_scan_next(&scans[1], &err);

        if (!x || !y)
            fail_msg("%s: %s", what, err.text);
        seq++;
        same = is_same_event(x, y);
        locations = greater(locations, x->location);
        if (x->kind == VS_EV_ALLOC)
            tensors = greater(tensors, x->alloc.tensor);
        if (x->kind == VS_EV_SAVE)
            tensors = greater(tensors, (uint32_t)x->save.tensor);
        if (x->kind == VS_EV_OP_BEGIN)
            strings = greater(strings, (uint32_t)x->op.name);
        if (x->kind == VS_EV_RECOMPUTE_BEGIN)
            strings = greater(strings, (uint32_t)x->recompute.name);
        if (x->kind == VS_EV_HOLD) {
            tensors = greater(tensors, (uint32_t)x->hold.tensor);
            strings = greater(strings, greater((uint32_t)x->hold.name, (uint32_t)x->hold.scope));
        }
        if (x->kind == VS_EV_USE) {
            tensors = greater(tensors, (uint32_t)x->use.tensor);
            strings = greater(strings, (uint32_t)x->use.op);
        }
    }
    vs_free(scans);
    if (!same || counts[0] > counts[1] || (!may_go_on && counts[0] != counts[1])) {
        if (!same)
            seq--;
        print_around(a, a_name, seq + 1 < counts[0] ? seq + 1 : counts[0]);
        print_around(b, b_name, seq + 1 < counts[1] ? seq + 1 : counts[1]);
        fail_msg("%s: %s has %" PRIu64 " events, %s %" PRIu64 "; the first %" PRIu64
                 " are the same",
                 what, a_name, counts[0], b_name, counts[1], seq);
    }
    if (!may_go_on)
        assert_int_equal(rpl_trace_tensor_count(a), rpl_trace_tensor_count(b));
    same_tables(what, a, b, greater(strings, highest_string(a, locations)), locations, tensors);
}

void facts_same(const char *what, struct rpl_trace *a, const char *a_name, struct rpl_trace *b,
                const char *b_name)
{
    compare(what, a, a_name, b, b_name, false);
}

void facts_begins(const char *what, struct rpl_trace *a, const char *a_name, struct rpl_trace *b,
                  const char *b_name)
{
    compare(what, a, a_name, b, b_name, true);
}
