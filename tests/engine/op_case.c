/*
 * tests/engine/op_case.c - see op_case.h.
 *
 * Must not know:  what any op computes.
 * Invariant:      a row that cannot be read fails the test, with a message that names the row.
 */
#include "tests/engine/op_case.h"

#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/engine/rig.h"

/* clang-format off */
const struct op_case OP_CASES[] = {
#define CASE(id, args, options) {ENG_OP_##id, args, options},
#include "tests/engine/op_cases.def"
#undef CASE
};
/* clang-format on */
const size_t OP_CASE_COUNT = sizeof(OP_CASES) / sizeof(OP_CASES[0]);

bool op_case_has(const struct op_case *oc, const char *option)
{
    size_t len = strlen(option);

    for (const char *p = oc->options; (p = strstr(p, option)); p += len) {
        if ((p == oc->options || p[-1] == ' ') && (p[len] == ' ' || p[len] == '=' || !p[len]))
            return true;
    }
    return false;
}

static void bad_row(const struct op_case *oc, const char *at)
{
    fail_msg("%s: cannot read the row at \"%s\"", oc->args, at);
}

/* ---- tensors ---- */

static bool has_flag(const char *flags, char flag)
{
    for (const char *p = flags; isalnum((unsigned char)*p); p++) {
        if (*p == flag)
            return true;
    }
    return false;
}

static int64_t flag_number(const char *flags, char flag, int64_t otherwise)
{
    for (const char *p = flags; isalnum((unsigned char)*p); p++) {
        if (*p == flag)
            return strtoll(p + 1, NULL, 10);
    }
    return otherwise;
}

static void channels_last(const int64_t *sizes, int ndim, int64_t *strides)
{
    int64_t step = sizes[1];

    strides[1] = 1;
    for (int d = ndim - 1; d > 1; d--) {
        strides[d] = step;
        step *= sizes[d];
    }
    strides[0] = step;
}

static bool has_any(const char *flags, const char *any)
{
    for (; *any; any++) {
        if (has_flag(flags, *any))
            return true;
    }
    return false;
}

/* The strides, and the sizes of the dense tensor that is allocated. */
static struct eng_tensor *laid_out(struct op_run *run, const int64_t *sizes, int ndim,
                                   enum vs_dtype dtype, const char *flags)
{
    int64_t behind[VS_MAX_DIMS], strides[VS_MAX_DIMS];
    struct eng_tensor *whole, *part;
    bool on_host = has_flag(flags, 'h');

    memcpy(behind, sizes, sizeof(behind));
    if (has_flag(flags, 'l')) {
        VS_ASSERT(ndim == 4 || ndim == 5);
        channels_last(sizes, ndim, strides);
        return eng_empty_strided(run->e, sizes, strides, ndim, dtype, on_host);
    }
    if (has_flag(flags, 't')) {
        behind[ndim - 2] = sizes[ndim - 1];
        behind[ndim - 1] = sizes[ndim - 2];
    }
    if (has_flag(flags, 's'))
        behind[ndim - 1] *= 2;
    if (has_flag(flags, 'o'))
        behind[0] += 1;
    if (has_flag(flags, 'k'))
        behind[1] += 1;
    whole = eng_empty(run->e, behind, ndim, dtype, on_host);
    if (!has_any(flags, "tsok"))
        return whole;
    eng_contiguous_strides(behind, ndim, strides);
    if (has_flag(flags, 's'))
        strides[ndim - 1] = 2;
    if (has_flag(flags, 't')) {
        int64_t stride = strides[ndim - 1];

        strides[ndim - 1] = strides[ndim - 2];
        strides[ndim - 2] = stride;
    }
    part = eng_as_strided(whole, sizes, strides, ndim,
                          has_flag(flags, 'o') ? (uint64_t)(eng_numel(whole) / behind[0]) : 0);
    eng_unref(whole);
    return part;
}

static void fill(struct eng_tensor *t, uint32_t key, const char *flags)
{
    int64_t range = flag_number(flags, 'i', 0);
    double scale = (double)flag_number(flags, 'm', 1);

    for (int64_t i = 0; i < eng_numel(t); i++) {
        double v = rig_formula(key, (uint32_t)i);

        if (range)
            v = (double)((rig_formula_word(key, (uint32_t)i) >> 8) % range);
        else if (has_flag(flags, 'b'))
            v = (double)(rig_formula_word(key, (uint32_t)i) >> 8 & 1);
        else if (has_flag(flags, 'p'))
            v = v * 0.5 + 1.0;
        else if (has_flag(flags, 'z'))
            v = fabs(v) < 0.5 ? 0 : v;
        else
            v *= scale;
        rig_set_value(t, i, v);
    }
    if (has_flag(flags, 'r')) { /* values over dim 1 scaled to a sum of 1 */
        int64_t rest = 1;

        for (int d = 2; d < t->ndim; d++)
            rest *= t->sizes[d];
        for (int64_t i = 0; i < eng_numel(t) / t->sizes[1]; i++) {
            int64_t first = i / rest * t->sizes[1] * rest + i % rest;
            double sum = 0;

            for (int64_t k = 0; k < t->sizes[1]; k++)
                sum += rig_value(t, first + k * rest) + 1;
            for (int64_t k = 0; k < t->sizes[1]; k++)
                rig_set_value(t, first + k * rest, (rig_value(t, first + k * rest) + 1) / sum);
        }
    }
}

/* "[2,3]flags" */
static struct eng_tensor *read_tensor(struct op_run *run, const char **p)
{
    int64_t sizes[VS_MAX_DIMS] = {0};
    enum vs_dtype dtype = run->dtype;
    struct eng_tensor *t;
    int ndim = 0;

    for ((*p)++; **p != ']'; *p += **p == ',') {
        char *end;

        sizes[ndim++] = strtoll(*p, &end, 10);
        if (end == *p || (*end != ',' && *end != ']'))
            bad_row(run->oc, *p);
        *p = end;
    }
    (*p)++;
    if (has_flag(*p, 'i'))
        dtype = VS_I64;
    if (has_flag(*p, 'b'))
        dtype = VS_BOOL;
    t = laid_out(run, sizes, ndim, dtype, *p);
    VS_ASSERT(run->leaf_count < OP_CASE_TENSORS);
    fill(t, OP_CASE_KEY + (uint32_t)run->leaf_count, *p);
    if (vs_dtype_is_floating(dtype) && !has_flag(*p, 'n'))
        eng_set_requires_grad(run->e, t, true);
    run->flags[run->leaf_count] = *p;
    run->leaves[run->leaf_count++] = t;
    while (isalnum((unsigned char)**p))
        (*p)++;
    return t;
}

/* ---- other values ---- */

static struct eng_arg read_number(struct op_run *run, const char **p)
{
    char *end;
    double f = strtod(*p, &end);
    bool is_float = false;

    if (end == *p)
        bad_row(run->oc, *p);
    for (const char *q = *p; q < end; q++)
        is_float = is_float || *q == '.' || *q == 'e' || *q == 'n'; /* 0.5, 1e-5, inf */
    *p = end;
    return is_float ? eng_af(f) : eng_ai((int64_t)f);
}

static struct eng_arg read_list(struct op_run *run, const char **p)
{
    struct eng_tensor **list = run->lists[run->list_count++];
    int n = 0;

    for ((*p)++; **p != '}'; *p += **p == ';') {
        if (**p == '_') {
            (*p)++;
            list[n++] = NULL;
        } else {
            list[n++] = read_tensor(run, p);
        }
    }
    (*p)++;
    return eng_atensors(list, n);
}

static struct eng_arg read_numbers(struct op_run *run, const char **p)
{
    int first_int = run->int_count, first_float = run->float_count, n = 0;
    bool is_float = false;

    for ((*p)++; **p != ')'; *p += **p == ',', n++) {
        struct eng_arg a = read_number(run, p);

        is_float = is_float || !a.v.scalar.is_int;
        run->ints[run->int_count++] = a.v.scalar.i;
        run->floats[run->float_count++] = a.v.scalar.f;
    }
    (*p)++;
    if (is_float)
        return (struct eng_arg){
            .kind = ENG_A_FLOATS, .count = (uint32_t)n, .v.floats = &run->floats[first_float]};
    return eng_aints(&run->ints[first_int], n);
}

static struct eng_index read_index_item(struct op_run *run, const char **p)
{
    struct eng_index item = {.kind = ENG_I_SLICE, .step = 1, .stop = INT64_MAX};
    char *end;

    if (**p == '[') {
        item.kind = ENG_I_TENSOR;
        item.tensor = read_tensor(run, p);
        return item;
    }
    if (!strncmp(*p, "None", 4) || !strncmp(*p, "...", 3)) {
        item.kind = **p == 'N' ? ENG_I_NEWAXIS : ENG_I_ELLIPSIS;
        *p += **p == 'N' ? 4 : 3;
        return item;
    }
    item.start = strtoll(*p, &end, 10);
    item.has_start = end != *p;
    *p = end;
    if (**p != ':') {
        item.kind = ENG_I_INT;
        return item;
    }
    (*p)++;
    item.stop = strtoll(*p, &end, 10);
    item.has_stop = end != *p;
    if (!item.has_stop)
        item.stop = INT64_MAX;
    *p = end;
    if (**p == ':') {
        item.step = strtoll(*p + 1, &end, 10);
        *p = end;
    }
    return item;
}

static struct eng_arg read_value(struct op_run *run, const char **p)
{
    static const struct {
        const char *word;
        struct eng_arg arg;
    } WORDS[] = {
        {"None", {.kind = ENG_A_NONE}},
        {"True", {.kind = ENG_A_BOOL, .v.flag = true}},
        {"False", {.kind = ENG_A_BOOL, .v.flag = false}},
        {"@f16", {.kind = ENG_A_DTYPE, .v.dtype = VS_F16}},
        {"@f32", {.kind = ENG_A_DTYPE, .v.dtype = VS_F32}},
        {"@f64", {.kind = ENG_A_DTYPE, .v.dtype = VS_F64}},
        {"@i64", {.kind = ENG_A_DTYPE, .v.dtype = VS_I64}},
        {"@bool", {.kind = ENG_A_DTYPE, .v.dtype = VS_BOOL}},
        {"@host", {.kind = ENG_A_DEVICE, .v.on_host = true}},
        {"@device", {.kind = ENG_A_DEVICE, .v.on_host = false}},
    };

    for (size_t i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
        size_t len = strlen(WORDS[i].word);

        if (!strncmp(*p, WORDS[i].word, len)) {
            *p += len;
            return WORDS[i].arg;
        }
    }
    if (**p == '[')
        return eng_at(read_tensor(run, p));
    if (**p == '{')
        return read_list(run, p);
    if (**p == '(')
        return read_numbers(run, p);
    if (**p == '<') {
        uint32_t n = 0;

        for ((*p)++; **p != '>'; *p += **p == ';')
            run->index[n++] = read_index_item(run, p);
        (*p)++;
        return (struct eng_arg){.kind = ENG_A_INDEX, .count = n, .v.index = run->index};
    }
    if (**p == '\'') {
        size_t len = strcspn(*p + 1, "'");

        VS_ASSERT(len < sizeof(run->text));
        memcpy(run->text, *p + 1, len);
        *p += len + 2;
        return eng_as(run->text);
    }
    return read_number(run, p);
}

/* As a binding does: one int is accepted for a list of ints. */
static void adapt(struct op_run *run, const struct eng_param *param, struct eng_arg *arg)
{
    int n = param->ints ? param->ints : 1;

    if (param->type != ENG_P_INTS || arg->kind != ENG_A_SCALAR)
        return;
    for (int i = 0; i < n; i++)
        run->ints[run->int_count + i] = arg->v.scalar.i;
    *arg = eng_aints(&run->ints[run->int_count], n);
    run->int_count += n;
}

static void read_args(struct op_run *run)
{
    int count;
    const struct eng_param *params = eng_op_params(run->e, run->oc->op, &count);
    bool given[ENG_MAX_ARGS] = {false};
    const char *p = run->oc->args;

    for (int i = 0; i < count; i++)
        run->args[i] = params[i].has_default ? params[i].value : eng_anone();
    while (*p) {
        size_t len = strcspn(p, "=");
        int i = 0;

        while (i < count && (strlen(params[i].name) != len || strncmp(params[i].name, p, len) != 0))
            i++;
        if (i == count)
            bad_row(run->oc, p);
        p += len + 1;
        run->args[i] = read_value(run, &p);
        adapt(run, &params[i], &run->args[i]);
        given[i] = true;
        if (*p && *p++ != ' ')
            bad_row(run->oc, p - 1);
    }
    for (int i = 0; i < count; i++) {
        bool optional = params[i].has_default || params[i].type == ENG_P_TENSOR_OPT ||
                        params[i].type == ENG_P_INT_OPT || params[i].type == ENG_P_FLOAT_OPT;

        if (!given[i] && !optional)
            fail_msg("%s: %s is missing", run->oc->args, params[i].name);
    }
}

/* ---- running ---- */

void op_run_begin(struct op_run *run, struct eng *e, const struct op_case *oc, enum vs_dtype dtype)
{
    memset(run, 0, sizeof(*run));
    run->e = e;
    run->oc = oc;
    run->dtype = dtype;
    read_args(run);
}

static bool used(const struct op_run *run, uint32_t i)
{
    const char *p = strstr(run->oc->options, "use=");

    if (!p)
        return true;
    for (p += 4; isdigit((unsigned char)*p);) {
        char *end;

        if (strtoul(p, &end, 10) == i)
            return true;
        p = *end == ',' ? end + 1 : end;
    }
    return false;
}

/* Keeps the results that a gradient can flow from. */
static void keep_outs(struct op_run *run, struct eng_ret *ret)
{
    uint32_t n = ret->is_list ? ret->count : 1;

    for (uint32_t i = 0; i < n && i < ret->count; i++) {
        struct eng_tensor *t = ret->tensors[i];

        if (!t || !vs_dtype_is_floating((enum vs_dtype)t->dtype) || !used(run, i))
            continue;
        VS_ASSERT(run->out_count < OP_CASE_OUTS);
        run->outs[run->out_count++] = eng_ref(t);
    }
}

bool op_run_forward(struct op_run *run)
{
    struct eng_arg args[ENG_MAX_ARGS];
    bool inplace = op_case_has(run->oc, "inplace");
    struct eng_tensor *whole = NULL, *part = NULL;
    struct eng_ret ret;
    bool ok;

    memcpy(args, run->args, sizeof(args));
    if (inplace || op_case_has(run->oc, "clone")) {
        whole = eng_clone(run->e, args[0].v.tensor);
        part = eng_ref(whole);
        if (op_case_has(run->oc, "select") && whole) {
            struct eng_arg select[] = {eng_at(whole), eng_ai(0), eng_ai(1)};

            eng_slot_set(&part, eng_call1(run->e, ENG_OP_select, select));
        }
        args[0] = eng_at(part);
    }
    ok = inplace ? eng_call_inplace(run->e, run->oc->op, args, &ret)
                 : eng_call(run->e, run->oc->op, args, &ret);
    if (ok) {
        if (op_case_has(run->oc, "select"))
            run->outs[run->out_count++] = eng_ref(whole);
        else
            keep_outs(run, &ret);
        while (ret.count > 0 && !ret.is_list) /* as a tuple, the last one first */
            eng_slot_set(&ret.tensors[--ret.count], NULL);
        eng_ret_release(&ret);
    }
    eng_unref(part);
    eng_unref(whole);
    return ok;
}

void op_run_make_weights(struct op_run *run, bool turned)
{
    for (int k = 0; k < run->out_count; k++) {
        struct eng_tensor *out = run->outs[k];
        int64_t strides[VS_MAX_DIMS];
        int64_t stride = 1;

        if (turned || op_case_has(run->oc, "turned")) {
            for (int d = 0; d < out->ndim; d++) {
                strides[d] = stride;
                stride *= out->sizes[d] > 1 ? out->sizes[d] : 1;
            }
        } else if (op_case_has(run->oc, "last")) {
            channels_last(out->sizes, out->ndim, strides);
        } else {
            eng_contiguous_strides(out->sizes, out->ndim, strides);
        }
        run->weights[k] = eng_empty_strided(run->e, out->sizes, strides, out->ndim,
                                            (enum vs_dtype)out->dtype, out->storage->on_host);
        for (int64_t i = 0; i < eng_numel(out); i++)
            rig_set_value(run->weights[k], i,
                          rig_formula(OP_CASE_GRAD_KEY + (uint32_t)k, (uint32_t)i));
    }
}

void op_run_backward(struct op_run *run)
{
    struct eng_tensor *outs[OP_CASE_OUTS], *weights[OP_CASE_OUTS];
    int n = 0;

    for (int k = 0; k < run->out_count; k++) {
        if (!eng_requires_grad(run->outs[k]))
            continue;
        outs[n] = run->outs[k];
        weights[n++] = run->weights[k];
    }
    if (n)
        eng_backward(run->e, outs, weights, n, false);
}

double op_run_loss(const struct op_run *run)
{
    double loss = 0;

    for (int k = 0; k < run->out_count; k++) {
        for (int64_t i = 0; i < eng_numel(run->outs[k]); i++)
            loss += rig_value(run->outs[k], i) * rig_value(run->weights[k], i);
    }
    return loss;
}

void op_run_drop_outs(struct op_run *run)
{
    for (int k = 0; k < run->out_count; k++)
        eng_unref(run->outs[k]);
    run->out_count = 0;
}

void op_run_end(struct op_run *run)
{
    op_run_drop_outs(run);
    for (int k = 0; k < OP_CASE_OUTS; k++)
        eng_unref(run->weights[k]);
    for (int i = 0; i < run->leaf_count; i++)
        eng_unref(run->leaves[i]);
}
