/*
 * tests/engine/rig.c - see rig.h.
 *
 * Must not know:  what any test is about.
 * Invariant:      ids of strings and locations are assigned from 1 in order of first use, so equal runs give equal ids.
 */
#include "tests/engine/rig.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/context.h"
#include "engine/core/op_internal.h"

/* ---- the observer ---- */

static void on_event(void *user, const struct vs_event *event)
{
    struct rig *rig = user;

    rig->events = vs_grow(rig->events, rig->count, &rig->cap, sizeof(*rig->events));
    rig->events[rig->count++] = *event;
}

static uint32_t on_string(void *user, const char *text)
{
    struct rig *rig = user;

    for (size_t i = 0; i < rig->string_count; i++) {
        if (!strcmp(rig->strings[i], text))
            return (uint32_t)i + 1;
    }
    rig->strings =
        vs_grow(rig->strings, rig->string_count, &rig->string_cap, sizeof(*rig->strings));
    rig->strings[rig->string_count++] = vs_strdup(text);
    return (uint32_t)rig->string_count;
}

static uint32_t on_location(void *user, const struct vs_location *location)
{
    struct rig *rig = user;

    for (size_t i = 0; i < rig->location_count; i++) {
        if (!memcmp(&rig->locations[i], location, sizeof(*location)))
            return (uint32_t)i + 1;
    }
    rig->locations =
        vs_grow(rig->locations, rig->location_count, &rig->location_cap, sizeof(*rig->locations));
    rig->locations[rig->location_count++] = *location;
    return (uint32_t)rig->location_count;
}

static void on_tensor(void *user, const struct vs_tensor_desc *desc)
{
    struct rig *rig = user;

    assert_int_equal(desc->id, rig->tensors + 1);
    rig->tensors++;
    rig->last_tensor = *desc;
}

/* ---- creating and releasing ---- */

static void init(struct rig *rig, bool is_meta, uint64_t capacity, const struct eng_device *device)
{
    struct eng_options options = {.kernels = is_meta ? NULL : eng_kernels_cpu(),
                                  .device = device,
                                  .capacity = capacity,
                                  .seed = 7};
    struct vs_error err = VS_ERROR_INIT;

    memset(rig, 0, sizeof(*rig));
    rig->is_meta = is_meta;
    rig->observer.user = rig;
    rig->observer.emit = on_event;
    rig->observer.string = on_string;
    rig->observer.location = on_location;
    rig->observer.tensor = on_tensor;
    options.observer = &rig->observer;
    if (eng_new(&options, &rig->e, &err))
        fail_msg("%s", err.text);
}

void rig_init(struct rig *rig, bool is_meta)
{
    init(rig, is_meta, 0, NULL);
}

void rig_init_small(struct rig *rig, uint64_t capacity)
{
    init(rig, false, capacity, NULL);
}

void rig_init_on(struct rig *rig, const struct eng_device *device)
{
    init(rig, false, 0, device);
}

void rig_release(struct rig *rig)
{
    if (eng_failed(rig->e))
        fail_msg("the engine failed: %s", eng_failed(rig->e)->text);
    assert_int_equal(rig->e->counters.saved_bytes, 0);
    assert_int_equal(rig->e->counters.saved_bytes_all, 0);
    assert_int_equal(rig->e->counters.saved_tensors, 0);
    assert_int_equal(rig->e->live_storages, 0);
    assert_int_equal(rig->e->kernel_depth, 0);
    assert_int_equal(rig->e->backward_depth, 0);
    assert_int_equal(rig->e->recompute_depth, 0);
    assert_true(rig->e->grad_enabled);
    eng_free(rig->e);
    for (size_t i = 0; i < rig->string_count; i++)
        vs_free(rig->strings[i]);
    vs_free(rig->strings);
    vs_free(rig->locations);
    vs_free(rig->events);
    memset(rig, 0, sizeof(*rig));
}

/* ---- recorded events ---- */

const char *rig_string(const struct rig *rig, uint64_t id)
{
    assert_true(id <= rig->string_count);
    return id ? rig->strings[id - 1] : "";
}

void rig_clear(struct rig *rig)
{
    rig->count = 0;
}

size_t rig_count(const struct rig *rig, enum vs_event_kind kind)
{
    size_t n = 0;

    for (size_t i = 0; i < rig->count; i++)
        n += rig->events[i].kind == kind;
    return n;
}

const char *rig_memory_text(const struct rig *rig, bool with_saves, char *buf, size_t size)
{
    uint64_t first = UINT64_MAX;
    size_t used = 0;

    buf[0] = '\0';
    for (size_t i = 0; i < rig->count && first == UINT64_MAX; i++) {
        if (rig->events[i].kind == VS_EV_ALLOC)
            first = rig->events[i].alloc.block;
    }
    for (size_t i = 0; i < rig->count; i++) {
        const struct vs_event *ev = &rig->events[i];
        uint64_t id = vs_event_block(ev);
        uint64_t block = id >= first ? id - first + 1 : 0;
        int len = 0;

        if (ev->kind == VS_EV_ALLOC)
            len = snprintf(buf + used, size - used, "+%" PRIu64 " ", ev->alloc.requested_bytes);
        else if (ev->kind == VS_EV_FREE)
            len = snprintf(buf + used, size - used, "-%" PRIu64 "@%" PRIu64 " ",
                           ev->free.requested_bytes, block);
        else if (with_saves && (ev->kind == VS_EV_SAVE || ev->kind == VS_EV_UNSAVE))
            len = snprintf(buf + used, size - used, "%c@%" PRIu64 " ",
                           ev->kind == VS_EV_SAVE ? 's' : 'u', block);
        used += (size_t)len;
        assert_true(used < size);
    }
    return buf;
}

enum vs_status rig_take_failure(struct rig *rig, const char *text_part)
{
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st = eng_failure_take(rig->e, &err);

    if (!st)
        fail_msg("expected a failure with \"%s\", nothing failed", text_part ? text_part : "");
    if (text_part && !strstr(err.text, text_part))
        fail_msg("expected a failure with \"%s\", got \"%s\"", text_part, err.text);
    return st;
}

/* ---- programs ---- */

#define PROGRAMS "tests/golden/oracle/autograd_cases.txt"
#define LINE_MAX_BYTES 8192

/* The rest of the line that begins with `name`, copied into buf. */
static void golden_line(const char *name, char *buf)
{
    FILE *f = fopen(PROGRAMS, "r");
    size_t len = strlen(name);
    bool found = false;

    if (!f)
        fail_msg("%s cannot be opened: the tests run from the project's folder", PROGRAMS);
    while (!found && fgets(buf, LINE_MAX_BYTES, f))
        found = !strncmp(buf, name, len) && buf[len] == ' ';
    fclose(f);
    if (!found)
        fail_msg("%s: not in %s: run tests/oracle/autograd_cases.py", name, PROGRAMS);
    memmove(buf, buf + len + 1, strlen(buf + len + 1) + 1);
    buf[strcspn(buf, "\n")] = '\0';
}

static struct eng_tensor *program_leaf(struct rig *rig, enum vs_dtype dtype, int64_t rows,
                                       int64_t cols, uint32_t key)
{
    int64_t sizes[2] = {rows, cols};
    struct eng_tensor *t = rig_tensor(rig, dtype, 2, sizes, NULL);

    for (int64_t i = 0; i < rows * cols; i++)
        rig_set_value(t, i, rig_formula(key, (uint32_t)i));
    eng_set_requires_grad(rig->e, t, true);
    return t;
}

static bool program_agrees(const struct rig_program *program, bool is_meta)
{
    static const char *const DEVICES[] = {"cpu", "meta"};
    char *want = vs_alloc(LINE_MAX_BYTES), *is = vs_alloc(LINE_MAX_BYTES);
    struct eng_tensor *leaves[4];
    struct rig rig;
    size_t len;
    bool same;

    golden_line(program->name, want);
    rig_init(&rig, is_meta);
    leaves[0] = program_leaf(&rig, VS_F32, 2, 3, 1);
    leaves[1] = program_leaf(&rig, VS_F32, 2, 3, 2);
    leaves[2] = program_leaf(&rig, VS_F32, 3, 3, 3);
    leaves[3] = program_leaf(&rig, VS_F16, 2, 3, 4);
    rig_clear(&rig);
    program->run(rig.e, leaves[0], leaves[1], leaves[2], leaves[3]);
    rig_memory_text(&rig, false, is, LINE_MAX_BYTES);
    len = strlen(is);
    if (len)
        is[len - 1] = '\0';
    same = !strcmp(want, is);
    if (!same)
        print_error("%s on %s\n    is      %s\n    PyTorch %s\n", program->name, DEVICES[is_meta],
                    is, want);
    for (int i = 3; i >= 0; i--)
        eng_unref(leaves[i]);
    rig_release(&rig);
    vs_free(is);
    vs_free(want);
    return same;
}

void rig_run_programs(const struct rig_program *programs, size_t count)
{
    int bad = 0;

    for (size_t i = 0; i < count; i++) {
        bad += !program_agrees(&programs[i], false);
        bad += !program_agrees(&programs[i], true);
    }
    assert_int_equal(bad, 0);
}

/* ---- tensors ---- */

uint32_t rig_formula_word(uint32_t key, uint32_t i)
{
    uint32_t h = i * UINT32_C(0x9E3779B1) + (key * UINT32_C(0x85EBCA6B) + UINT32_C(0x12345));

    h ^= h >> 16;
    h *= UINT32_C(0x85EBCA6B);
    h ^= h >> 13;
    h *= UINT32_C(0xC2B2AE35);
    h ^= h >> 16;
    return h;
}

double rig_formula(uint32_t key, uint32_t i)
{
    return (double)(rig_formula_word(key, i) >> 8) * 0x1p-23 - 1.0;
}

/* Index of element i (row-major) in the storage. */
static uint64_t position(const struct eng_tensor *t, int64_t i)
{
    int64_t at = (int64_t)t->offset;

    for (int d = t->ndim - 1; d >= 0; d--) {
        at += i % t->sizes[d] * t->strides[d];
        i /= t->sizes[d];
    }
    return (uint64_t)at;
}

static struct eng_view element(const struct eng_tensor *t, int64_t i)
{
    struct eng_view v = {.dtype = (enum vs_dtype)t->dtype};

    v.data = (char *)t->storage->data + position(t, i) * vs_dtype_bytes(v.dtype);
    return v;
}

double rig_value(const struct eng_tensor *t, int64_t i)
{
    struct eng_view v;

    if (!t->storage->data)
        return 0;
    v = element(t, i);
    return t->storage->eng->kernels->item(&v).f;
}

void rig_set_value(struct eng_tensor *t, int64_t i, double value)
{
    struct eng_view v;

    if (!t->storage->data)
        return;
    v = element(t, i);
    if (v.dtype == VS_F64 && !t->storage->eng->device)
        *(double *)v.data = value;
    else
        t->storage->eng->kernels->fill(&v, (struct eng_scalar){.i = (int64_t)value, .f = value});
}

struct eng_tensor *rig_tensor(struct rig *rig, enum vs_dtype dtype, int ndim, const int64_t *sizes,
                              const double *values)
{
    struct eng_tensor *t = eng_empty(rig->e, sizes, ndim, dtype, false);

    assert_non_null(t);
    for (int64_t i = 0; i < eng_numel(t); i++)
        rig_set_value(t, i, values ? values[i] : 0);
    return t;
}

struct eng_tensor *rig_leaf(struct rig *rig, int ndim, const int64_t *sizes, uint32_t key)
{
    struct eng_tensor *t = rig_tensor(rig, VS_F64, ndim, sizes, NULL);

    for (int64_t i = 0; i < eng_numel(t); i++)
        rig_set_value(t, i, rig_formula(key, (uint32_t)i));
    eng_set_requires_grad(rig->e, t, true);
    return t;
}

struct eng_tensor *rig_sum(struct rig *rig, struct eng_tensor *t)
{
    struct eng_arg args[] = {eng_at(t), eng_anone()};

    return t ? eng_call1(rig->e, ENG_OP_sum_all, args) : NULL;
}

void rig_backward(struct rig *rig, struct eng_tensor *loss)
{
    if (loss)
        eng_backward(rig->e, &loss, NULL, 1, false);
    if (eng_failed(rig->e))
        fail_msg("backward failed: %s", eng_failed(rig->e)->text);
}
