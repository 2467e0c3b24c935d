/*
 * tests/golden_check/numbers.c - see numbers.h.
 *
 * Must not know:  how PyTorch was measured.
 * Invariant:      every tensor is copied while the run lends it.
 */
#include "tests/golden_check/numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/core/engine_internal.h"
#include "engine/device/cpu/cpu_half.h"

/* ---- copies ---- */

static double value_at(enum vs_dtype dtype, const void *data, uint64_t i)
{
    switch (dtype) {
    case VS_BOOL:
    case VS_U8:
        return ((const uint8_t *)data)[i];
    case VS_I32:
        return ((const int32_t *)data)[i];
    case VS_I64:
        return (double)((const int64_t *)data)[i];
    case VS_F16:
        return (double)cpu_f16_to_f32(((const uint16_t *)data)[i]);
    case VS_BF16:
        return (double)cpu_bf16_to_f32(((const uint16_t *)data)[i]);
    case VS_F32:
        return (double)((const float *)data)[i];
    case VS_F64:
        return ((const double *)data)[i];
    case VS_DTYPE_COUNT:
        break;
    }
    VS_ASSERT(dtype == VS_DTYPE_COUNT && false);
    return 0;
}

/* Element `index` in row-major order, counted in elements from the storage's start. */
static uint64_t element_offset(const struct eng_tensor *t, size_t index)
{
    uint64_t at = t->offset;
    int64_t rest = (int64_t)index;

    for (int d = t->ndim - 1; d >= 0; d--) {
        at += (uint64_t)(rest % t->sizes[d] * t->strides[d]);
        rest /= t->sizes[d];
    }
    return at;
}

/* The bytes of the storage on the host. *own: a copy that the caller frees; NULL if the storage is on the host. */
static const void *bytes_on_host(const struct eng_tensor *t, void **own)
{
    const struct eng_storage *s = t->storage;
    struct eng_view here = {
        .dtype = VS_U8, .ndim = 1, .sizes = {(int64_t)s->bytes}, .strides = {1}};
    struct eng_view there = here;

    *own = NULL;
    if (!s->eng->device || !s->block)
        return s->data;
    *own = vs_alloc(s->bytes);
    here.data = *own;
    there.data = s->data;
    s->eng->kernels->copy(&there, &here);
    return *own;
}

static void keep(void *user, const char *kind, const char *name, struct eng_tensor *t, double scale)
{
    struct numbers *n = user;
    struct numbers_tensor *out;
    const void *data;
    void *own;

    n->tensors = vs_grow(n->tensors, n->count, &n->cap, sizeof(*n->tensors));
    out = &n->tensors[n->count++];
    out->kind = vs_strdup(kind);
    out->name = vs_strdup(name);
    out->dtype = (enum vs_dtype)t->dtype;
    out->count = (size_t)eng_numel(t);
    out->values = vs_calloc(out->count + 1, sizeof(*out->values));
    data = bytes_on_host(t, &own);
    for (size_t i = 0; i < out->count; i++)
        out->values[i] = value_at(out->dtype, data, element_offset(t, i)) / scale;
    vs_free(own);
}

static void quiet(void *user, const char *text, size_t len)
{
    (void)user;
    (void)text;
    (void)len;
}

/* ---- running ---- */

static void run(const struct eng_kernels *kernels, const struct eng_device *device,
                const char *file_name, const char *text, const struct vs_toggles *toggles,
                bool formula, uint64_t seed, struct numbers *out)
{
    struct lang_settings settings = {.file_name = file_name,
                                     .text = text,
                                     .len = strlen(text),
                                     .kernels = kernels,
                                     .device = device,
                                     .toggles = toggles,
                                     .all_steps = true,
                                     .formula = formula,
                                     .seed = seed,
                                     .user = out,
                                     .print = quiet,
                                     .dump = keep};

    out->status = lang_run(&settings, &out->result, &out->error);
}

void numbers_run_text(const char *file_name, const char *text, const char *toggles, bool formula,
                      uint64_t seed, struct numbers *out)
{
    numbers_run_on(eng_kernels_cpu(), NULL, file_name, text, toggles, formula, seed, out);
}

void numbers_run_on(const struct eng_kernels *kernels, const struct eng_device *device,
                    const char *file_name, const char *text, const char *toggles, bool formula,
                    uint64_t seed, struct numbers *out)
{
    struct vs_toggles set = {0};
    char *pairs = vs_strdup(toggles);
    char *rest = NULL;

    memset(out, 0, sizeof(*out));
    for (char *pair = strtok_r(pairs, " ", &rest); pair && !out->status;
         pair = strtok_r(NULL, " ", &rest))
        out->status = vs_toggles_set_pair(&set, pair, &out->error);
    if (!out->status)
        run(kernels, device, file_name, text, &set, formula, seed, out);
    vs_toggles_release(&set);
    free(pairs);
}

char *numbers_read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t used = 0, got;

    if (!f)
        return NULL;
    do {
        text = vs_realloc(text, used + 65536, 1);
        got = fread(text + used, 1, 65535, f);
        used += got;
    } while (got > 0);
    fclose(f);
    text[used] = '\0';
    return text;
}

void numbers_run_line(const struct json *line, struct numbers *out)
{
    const char *net = json_str(json_get(line, "net"));
    const struct json *toggles = json_get(line, "toggles");
    struct vs_toggles set = {0};
    char *text = numbers_read_file(net);

    memset(out, 0, sizeof(*out));
    if (!text)
        out->status = vs_fail(&out->error, VS_E_NOT_FOUND, "%s is not there", net);
    for (const struct json *t = toggles ? toggles->first : NULL; t && !out->status; t = t->next)
        out->status = vs_toggles_set_named(&set, t->key, json_str(t), &out->error);
    if (!out->status)
        run(eng_kernels_cpu(), NULL, net, text, &set, true, 0, out);
    vs_toggles_release(&set);
    free(text);
}

void numbers_release(struct numbers *numbers)
{
    for (size_t i = 0; i < numbers->count; i++) {
        free(numbers->tensors[i].kind);
        free(numbers->tensors[i].name);
        free(numbers->tensors[i].values);
    }
    free(numbers->tensors);
    lang_result_release(&numbers->result);
    memset(numbers, 0, sizeof(*numbers));
}

/* ---- comparing ---- */

const struct numbers_tensor *numbers_find(const struct numbers *numbers, const char *kind,
                                          const char *name)
{
    for (size_t i = 0; i < numbers->count; i++) {
        if (!strcmp(numbers->tensors[i].kind, kind) && !strcmp(numbers->tensors[i].name, name))
            return &numbers->tensors[i];
    }
    return NULL;
}

double numbers_norm(const struct numbers_tensor *t)
{
    double sum = 0;

    for (size_t i = 0; i < t->count; i++)
        sum += t->values[i] * t->values[i];
    return sqrt(sum);
}

static bool same_tensors(const struct numbers *a, const struct numbers *b, char *why,
                         size_t why_size)
{
    if (a->status || b->status) {
        snprintf(why, why_size, "%.400s", a->status ? a->error.text : b->error.text);
        return false;
    }
    if (a->count != b->count || a->count == 0) {
        snprintf(why, why_size, "%zu tensors and %zu", a->count, b->count);
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        const struct numbers_tensor *x = &a->tensors[i], *y = &b->tensors[i];

        if (strcmp(x->kind, y->kind) || strcmp(x->name, y->name) || x->count != y->count ||
            x->dtype != y->dtype) {
            snprintf(why, why_size, "%s %s of one is %s %s of the other", x->kind, x->name, y->kind,
                     y->name);
            return false;
        }
    }
    return true;
}

bool numbers_identical(const struct numbers *a, const struct numbers *b, bool buffers, char *why,
                       size_t why_size)
{
    if (!same_tensors(a, b, why, why_size))
        return false;
    if (a->result.loss_count != b->result.loss_count) {
        snprintf(why, why_size, "%zu losses and %zu", a->result.loss_count, b->result.loss_count);
        return false;
    }
    for (size_t i = 0; i < a->result.loss_count; i++) {
        double x = a->result.losses[i].value, y = b->result.losses[i].value;

        if (memcmp(&x, &y, sizeof(x)) != 0) {
            snprintf(why, why_size, "loss %zu: %.9g and %.9g", i, x, y);
            return false;
        }
    }
    for (size_t i = 0; i < a->count; i++) {
        const struct numbers_tensor *x = &a->tensors[i], *y = &b->tensors[i];

        for (size_t k = 0; k < x->count && (buffers || strcmp(x->kind, "buffer") != 0); k++) {
            if (memcmp(&x->values[k], &y->values[k], sizeof(double)) != 0) {
                snprintf(why, why_size, "%s %s [%zu]: %.9g and %.9g", x->kind, x->name, k,
                         x->values[k], y->values[k]);
                return false;
            }
        }
    }
    return true;
}

bool numbers_close(const struct numbers *a, const struct numbers *b, double relative, char *why,
                   size_t why_size)
{
    if (!same_tensors(a, b, why, why_size))
        return false;
    if (a->result.step_count != b->result.step_count || a->result.step_count == 0) {
        snprintf(why, why_size, "%zu steps and %zu", a->result.step_count, b->result.step_count);
        return false;
    }
    for (size_t i = 0; i < a->result.step_count; i++) {
        double x = a->result.steps[i].loss, y = b->result.steps[i].loss;

        if (!(fabs(x - y) <= relative * fabs(x))) {
            snprintf(why, why_size, "loss of step %zu: %.9g and %.9g", i, x, y);
            return false;
        }
    }
    for (size_t i = 0; i < a->count; i++) {
        const struct numbers_tensor *x = &a->tensors[i], *y = &b->tensors[i];
        double norm = numbers_norm(x), difference = 0;

        if (strncmp(x->kind, "gradient ", 9) == 0)
            continue; /* of later steps: the weights they are made of are compared */
        for (size_t k = 0; k < x->count; k++)
            difference += (x->values[k] - y->values[k]) * (x->values[k] - y->values[k]);
        if (!(sqrt(difference) <= relative * norm)) {
            snprintf(why, why_size, "%s %s differ by %.3g of a norm of %.9g", x->kind, x->name,
                     sqrt(difference), norm);
            return false;
        }
    }
    return true;
}
