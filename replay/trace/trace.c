/*
 * replay/trace/trace.c - see trace.h.
 *
 * Must not know:  SQL, the engine, what events mean (except `step`, which begins a step).
 * Invariant:      exactly one of `reader` and `mem` is in use; with `of` it is `mem`.
 */
#include "replay/trace/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"
#include "base/mem.h"
#include "base/text.h"
#include "replay/trace/trace_internal.h"
#include "replay/trace/trace_mem.h"
#include "store/reader.h"

struct rpl_trace {
    struct sto_reader *reader;
    struct rpl_mem *mem;
    const struct rpl_trace *of;
    struct rpl_found found;
    rpl_watch_fn *watch;
    void *watch_user;
    void *user_data;
    void (*user_data_free)(void *user_data);
};

enum vs_status rpl_trace_open(const char *path, struct rpl_trace **out, struct vs_error *err)
{
    struct sto_reader *reader = NULL;
    enum vs_status st;

    *out = NULL;
    st = sto_reader_open(path, &reader, err);
    if (st)
        return st;
    *out = vs_calloc(1, sizeof(**out));
    (*out)->reader = reader;
    return VS_OK;
}

struct rpl_trace *rpl_trace_new(void)
{
    struct rpl_trace *trace = vs_calloc(1, sizeof(*trace));

    trace->mem = rpl_mem_new();
    return trace;
}

struct rpl_trace *rpl_trace_new_part(const struct rpl_trace *of)
{
    struct rpl_trace *trace = rpl_trace_new();

    trace->of = of;
    return trace;
}

struct rpl_found *rpl_trace_found(struct rpl_trace *trace)
{
    return &trace->found;
}

enum vs_status rpl_trace_refresh(struct rpl_trace *trace, struct vs_error *err)
{
    trace->found.is_read = false;
    return trace->reader ? sto_reader_refresh(trace->reader, err) : VS_OK;
}

struct sto_reader *rpl_trace_reader(const struct rpl_trace *trace)
{
    return trace->reader;
}

size_t rpl_trace_device_count(const struct rpl_trace *trace)
{
    return trace->reader ? sto_reader_device_count(trace->reader) : 0;
}

uint64_t rpl_trace_device(const struct rpl_trace *trace, size_t i)
{
    return sto_reader_device_at(trace->reader, i)->number;
}

size_t rpl_trace_device_now(const struct rpl_trace *trace)
{
    return sto_reader_device_now(trace->reader);
}

enum vs_status rpl_trace_open_device(const struct rpl_trace *trace, size_t i,
                                     struct rpl_trace **out, struct vs_error *err)
{
    struct vs_text path = {NULL, 0, 0};
    enum vs_status st;

    vs_text_addf(&path, "%s@%" PRIu64, sto_reader_path(trace->reader), rpl_trace_device(trace, i));
    st = rpl_trace_open(vs_text_get(&path), out, err);
    vs_text_release(&path);
    return st;
}

struct rpl_mem *rpl_trace_memory(const struct rpl_trace *trace)
{
    return trace->mem;
}

void rpl_trace_watch(struct rpl_trace *trace, rpl_watch_fn *watch, void *user)
{
    trace->watch = watch;
    trace->watch_user = user;
}

static enum vs_status file_read(struct rpl_trace *trace, uint64_t first, size_t count,
                                struct vs_event *out, struct vs_error *err)
{
    if (trace->watch && !trace->watch(trace->watch_user))
        return vs_fail(err, VS_E_STOPPED, "stopped");
    return sto_reader_events(trace->reader, first, count, out, err);
}

enum vs_status rpl_trace_span(struct rpl_trace *trace, uint64_t first, size_t count,
                              struct vs_event *buffer, const struct vs_event **out,
                              struct vs_error *err)
{
    VS_ASSERT(first >= 1 && count <= rpl_trace_event_count(trace) - (first - 1));
    if (trace->mem) {
        *out = rpl_mem_events(trace->mem, first, count, buffer);
        return VS_OK;
    }
    *out = buffer;
    return file_read(trace, first, count, buffer, err);
}

void rpl_trace_free(struct rpl_trace *trace)
{
    if (!trace)
        return;
    sto_reader_close(trace->reader);
    rpl_mem_free(trace->mem);
    vs_free(trace->found.seqs);
    rpl_trace_set_user_data(trace, NULL, NULL);
    vs_free(trace);
}

void rpl_trace_set_user_data(struct rpl_trace *trace, void *user_data,
                             void (*user_data_free)(void *user_data))
{
    if (trace->user_data)
        trace->user_data_free(trace->user_data);
    trace->user_data = user_data;
    trace->user_data_free = user_data_free;
}

void *rpl_trace_user_data(const struct rpl_trace *trace)
{
    return trace->user_data;
}

void rpl_trace_clear(struct rpl_trace *trace)
{
    VS_ASSERT(trace->mem);
    rpl_mem_clear(trace->mem);
}

uint32_t rpl_trace_add_string(struct rpl_trace *trace, const char *text)
{
    VS_ASSERT(trace->mem);
    return rpl_mem_string(trace->mem, text);
}

uint32_t rpl_trace_add_location(struct rpl_trace *trace, const struct vs_location *location)
{
    VS_ASSERT(trace->mem);
    return rpl_mem_location(trace->mem, location);
}

void rpl_trace_add_tensor(struct rpl_trace *trace, const struct vs_tensor_desc *desc)
{
    VS_ASSERT(trace->mem);
    rpl_mem_tensor(trace->mem, desc);
}

void rpl_trace_add_event(struct rpl_trace *trace, const struct vs_event *event)
{
    VS_ASSERT(trace->mem);
    rpl_mem_event(trace->mem, event);
}

void rpl_trace_set_loss(struct rpl_trace *trace, int64_t step, double loss)
{
    VS_ASSERT(trace->mem);
    for (size_t i = 0; i < trace->mem->step_count; i++)
        if (trace->mem->steps[i].step == step)
            trace->mem->steps[i].loss = loss;
}

void rpl_trace_set_meta(struct rpl_trace *trace, const char *key, const char *value)
{
    VS_ASSERT(trace->mem);
    rpl_mem_pair(&trace->mem->meta, key, value, false);
}

void rpl_trace_set_toggle(struct rpl_trace *trace, const char *name, const char *value,
                          bool is_default)
{
    VS_ASSERT(trace->mem);
    rpl_mem_pair(&trace->mem->toggles, name, value, is_default);
}

void rpl_trace_set_source(struct rpl_trace *trace, const char *name, const char *text)
{
    VS_ASSERT(trace->mem);
    rpl_mem_pair(&trace->mem->source, name, text, false);
}

uint64_t rpl_trace_event_count(const struct rpl_trace *trace)
{
    return trace->mem ? trace->mem->event_count : sto_reader_event_count(trace->reader);
}

bool rpl_trace_is_complete(const struct rpl_trace *trace)
{
    if (trace->of)
        return rpl_trace_is_complete(trace->of);
    return trace->mem || sto_reader_is_complete(trace->reader);
}

enum vs_status rpl_trace_check(const struct rpl_trace *trace, struct vs_error *err)
{
    if (trace->of)
        return rpl_trace_check(trace->of, err);
    return trace->mem ? VS_OK : sto_reader_check(trace->reader, err);
}

const char *rpl_trace_string(const struct rpl_trace *trace, uint32_t id)
{
    if (trace->of)
        return rpl_trace_string(trace->of, id);
    if (!trace->mem)
        return sto_reader_string(trace->reader, id);
    return id && id <= trace->mem->string_count ? trace->mem->strings[id - 1] : "";
}

const struct vs_location *rpl_trace_location(const struct rpl_trace *trace, uint32_t id)
{
    static const struct vs_location NOWHERE;

    if (trace->of)
        return rpl_trace_location(trace->of, id);
    if (!trace->mem)
        return sto_reader_location(trace->reader, id);
    return id && id <= trace->mem->location_count ? &trace->mem->locations[id - 1] : &NOWHERE;
}

uint32_t rpl_trace_string_count(const struct rpl_trace *trace)
{
    if (trace->of)
        return rpl_trace_string_count(trace->of);
    return trace->mem ? (uint32_t)trace->mem->string_count : sto_reader_string_count(trace->reader);
}

uint32_t rpl_trace_location_count(const struct rpl_trace *trace)
{
    if (trace->of)
        return rpl_trace_location_count(trace->of);
    return trace->mem ? (uint32_t)trace->mem->location_count
                      : sto_reader_location_count(trace->reader);
}

uint32_t rpl_trace_tensor_count(const struct rpl_trace *trace)
{
    return trace->mem ? (uint32_t)trace->mem->tensor_count : sto_reader_tensor_count(trace->reader);
}

bool rpl_trace_tensor(const struct rpl_trace *trace, uint32_t id, struct vs_tensor_desc *out)
{
    struct vs_error ignored = VS_ERROR_INIT;

    if (!trace->mem) {
        if (sto_reader_tensor(trace->reader, id, out, &ignored))
            return false;
    } else {
        if (!id || id > trace->mem->tensor_count)
            return false;
        *out = rpl_mem_tensor_get(trace->mem, id);
    }
    return out->dtype < VS_DTYPE_COUNT && out->ndim <= VS_MAX_DIMS;
}

bool rpl_trace_tensor_named(const struct rpl_trace *trace, uint32_t *id, uint32_t *name,
                            uint64_t *block)
{
    uint32_t count = rpl_trace_tensor_count(trace);
    struct vs_tensor_desc desc;

    while (*id < count) {
        ++*id;
        if (!trace->mem && sto_reader_nameless_to(trace->reader, *id) >= *id) {
            *id = sto_reader_nameless_to(trace->reader, *id);
            continue;
        }
        if (trace->mem && !rpl_mem_tensor_name(trace->mem, *id))
            continue;
        if (!rpl_trace_tensor(trace, *id, &desc) || !desc.name)
            continue;
        *name = desc.name;
        *block = desc.block;
        return true;
    }
    return false;
}

const char *rpl_trace_meta(const struct rpl_trace *trace, const char *key)
{
    if (trace->of)
        return rpl_trace_meta(trace->of, key);
    if (!trace->mem)
        return sto_reader_meta(trace->reader, key);
    return rpl_mem_pair_get(&trace->mem->meta, key);
}

bool rpl_trace_meta_uint(const struct rpl_trace *trace, const char *key, uint64_t *out)
{
    const char *text = rpl_trace_meta(trace, key);
    char *end;
    unsigned long long value;

    if (!text || *text < '0' || *text > '9')
        return false;
    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || *end)
        return false;
    *out = value;
    return true;
}

size_t rpl_trace_toggle_count(const struct rpl_trace *trace)
{
    if (trace->of)
        return rpl_trace_toggle_count(trace->of);
    return trace->mem ? trace->mem->toggles.count : sto_reader_toggle_count(trace->reader);
}

struct rpl_toggle rpl_trace_toggle(const struct rpl_trace *trace, size_t i)
{
    struct rpl_toggle out;

    if (trace->of)
        return rpl_trace_toggle(trace->of, i);
    if (trace->mem) {
        const struct rpl_mem_pair *pair = &trace->mem->toggles.items[i];

        VS_ASSERT(i < trace->mem->toggles.count);
        out = (struct rpl_toggle){pair->key, pair->value, pair->is_default};
    } else {
        const struct sto_toggle *toggle = sto_reader_toggle_at(trace->reader, i);

        out = (struct rpl_toggle){toggle->name, toggle->value, toggle->is_default};
    }
    return out;
}

const char *rpl_trace_source_name(const struct rpl_trace *trace)
{
    if (trace->of)
        return rpl_trace_source_name(trace->of);
    if (trace->mem)
        return trace->mem->source.count ? trace->mem->source.items[0].key : NULL;
    return sto_reader_source_count(trace->reader) ? sto_reader_source_at(trace->reader, 0)->name
                                                  : NULL;
}

static bool kind_is(const struct rpl_trace *trace, const char *word)
{
    const char *kind = rpl_trace_meta(trace, "source_kind");

    return kind && strcmp(kind, word) == 0;
}

bool rpl_trace_is_imported(const struct rpl_trace *trace)
{
    return kind_is(trace, "imported") || rpl_trace_is_program(trace);
}

bool rpl_trace_has_uses(const struct rpl_trace *trace)
{
    uint64_t matched = 0;
    uint64_t total = 0;
    uint64_t between = 0;

    if (!rpl_trace_is_imported(trace))
        return true;
    return rpl_trace_meta_uint(trace, "observed_between", &between) && between &&
           rpl_trace_meta_uint(trace, "observed", &matched) &&
           rpl_trace_meta_uint(trace, "observed_of", &total) && matched == total &&
           !rpl_trace_meta(trace, "observed_ended");
}

bool rpl_trace_has_saves(const struct rpl_trace *trace)
{
    uint64_t has_saves = 0;

    if (!rpl_trace_is_imported(trace))
        return true;
    return rpl_trace_has_uses(trace) && rpl_trace_meta_uint(trace, "observed_saves", &has_saves) &&
           has_saves;
}

bool rpl_trace_has_arithmetic(const struct rpl_trace *trace)
{
    return !rpl_trace_is_imported(trace) ||
           (rpl_trace_has_uses(trace) && rpl_trace_meta(trace, "arithmetic_ops"));
}

bool rpl_trace_is_program(const struct rpl_trace *trace)
{
    return kind_is(trace, "program");
}

const char *rpl_trace_source_text(const struct rpl_trace *trace)
{
    if (trace->of)
        return rpl_trace_source_text(trace->of);
    if (trace->mem)
        return trace->mem->source.count ? trace->mem->source.items[0].value : NULL;
    return sto_reader_source_count(trace->reader) ? sto_reader_source_at(trace->reader, 0)->text
                                                  : NULL;
}

const char *rpl_source_line(const char *text, uint32_t line, size_t *len)
{
    *len = 0;
    if (!text || !line)
        return "";
    for (; line > 1; line--) {
        text = strchr(text, '\n');
        if (!text)
            return "";
        text++;
    }
    text += strspn(text, " \t");
    *len = strcspn(text, "\r\n");
    return text;
}

const char *rpl_trace_source_line(const struct rpl_trace *trace, uint32_t line, size_t *len)
{
    return rpl_source_line(rpl_trace_source_text(trace), line, len);
}

size_t rpl_trace_step_count(const struct rpl_trace *trace)
{
    return trace->mem ? trace->mem->step_count : sto_reader_step_count(trace->reader);
}

struct rpl_step rpl_trace_step(const struct rpl_trace *trace, size_t i)
{
    struct rpl_step out;

    if (trace->mem) {
        VS_ASSERT(i < trace->mem->step_count);
        out = trace->mem->steps[i];
        if (i + 1 == trace->mem->step_count)
            out.last_seq = trace->mem->event_count;
    } else {
        const struct sto_step *step = sto_reader_step_at(trace->reader, i);

        out = (struct rpl_step){step->step, step->first_seq, step->last_seq, step->loss};
    }
    return out;
}

bool rpl_trace_step_first(const struct rpl_trace *trace, struct rpl_step *out)
{
    struct sto_step step;

    if (trace->reader) {
        if (!sto_reader_step_first(trace->reader, &step))
            return false;
        *out = (struct rpl_step){step.step, step.first_seq, step.last_seq, step.loss};
        return true;
    }
    for (size_t i = 0; i < rpl_trace_step_count(trace); i++) {
        *out = rpl_trace_step(trace, i);
        if (out->step >= 0)
            return true;
    }
    return false;
}

void rpl_scan_init(struct rpl_scan *scan, struct rpl_trace *trace, uint64_t first, uint64_t last)
{
    VS_ASSERT(first >= 1 && last <= rpl_trace_event_count(trace));
    scan->trace = trace;
    scan->seq = first - 1;
    scan->last = last;
    scan->at = NULL;
    scan->left = 0;
    scan->status = VS_OK;
}

/* Read the next events; false at the end and on failure. */
static bool scan_refill(struct rpl_scan *scan, struct vs_error *err)
{
    uint64_t left = scan->last > scan->seq ? scan->last - scan->seq : 0;

    if (!left || scan->status)
        return false;
    if (scan->trace->mem && !scan->trace->mem->is_packed) {
        scan->at = scan->trace->mem->events + scan->seq;
        scan->left = (size_t)left;
        return true;
    }
    scan->left = left < RPL_SCAN_EVENTS ? (size_t)left : RPL_SCAN_EVENTS;
    scan->at = scan->buffer;
    if (scan->trace->mem) {
        rpl_mem_packed_events(scan->trace->mem->packed, scan->seq + 1, scan->left, scan->buffer);
        return true;
    }
    scan->status = file_read(scan->trace, scan->seq + 1, scan->left, scan->buffer, err);
    return scan->status == VS_OK;
}

const struct vs_event *rpl_scan_next(struct rpl_scan *scan, struct vs_error *err)
{
    if (!scan->left && !scan_refill(scan, err))
        return NULL;
    scan->seq++;
    scan->left--;
    return scan->at++;
}
