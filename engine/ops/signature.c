/*
 * engine/ops/signature.c - see signature.h.
 *
 * Must not know:  what ops do.
 * Invariant:      defaults that are lists of integers point into the array allocated here, which lives as long as the
 *                 signatures.
 */
#include "engine/ops/signature.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "engine/core/engine_internal.h"

#define POOL_MAX 512

/* Signatures and the ints of their defaults in one allocation. */
struct signature_table {
    struct eng_signature rows[ENG_OP_COUNT];
    int64_t pool[POOL_MAX];
    size_t pool_used;
};

static const struct {
    const char *word;
    enum eng_param_type type;
} TYPES[] = {
    {"Tensor?", ENG_P_TENSOR_OPT}, {"Tensor[]", ENG_P_TENSORS}, {"Tensor", ENG_P_TENSOR},
    {"Scalar", ENG_P_SCALAR},      {"Operand", ENG_P_OPERAND},  {"int?", ENG_P_INT_OPT},
    {"int[", ENG_P_INTS},          {"int", ENG_P_INT},          {"float?", ENG_P_FLOAT_OPT},
    {"float[]", ENG_P_FLOATS},     {"float", ENG_P_FLOAT},      {"bool", ENG_P_BOOL},
    {"dtype?", ENG_P_DTYPE},       {"str", ENG_P_STR},          {"device?", ENG_P_DEVICE},
    {"index", ENG_P_INDEX},
};

/* Values of str parameters, kept here so that saved arguments can point to text that outlives the call. */
static const char *const STR_WORDS[] = {"none",     "tanh",    "mean",  "sum",  "nearest",
                                        "bilinear", "bicubic", "trunc", "floor"};

const char *eng_str_word(const char *text)
{
    for (size_t i = 0; i < sizeof(STR_WORDS) / sizeof(STR_WORDS[0]); i++) {
        if (!strcmp(STR_WORDS[i], text))
            return STR_WORDS[i];
    }
    return NULL;
}

VS_NORETURN static void bad_row(const struct eng_op *op, const char *at)
{
    vs_die("op.def: %s: cannot read the signature or the saves at \"%s\"", op->name, at);
}

static const char *skip_space(const char *p)
{
    while (*p == ' ')
        p++;
    return p;
}

static const char *parse_type(const struct eng_op *op, const char *p, struct eng_param *param)
{
    for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++) {
        size_t len = strlen(TYPES[i].word);

        if (strncmp(p, TYPES[i].word, len) != 0)
            continue;
        param->type = TYPES[i].type;
        p += len;
        if (param->type == ENG_P_INTS) {
            param->ints = (uint8_t)strtoul(p, NULL, 10);
            p = strchr(p, ']') + 1;
            if (*p == '?')
                p++;
        } else if (param->type == ENG_P_STR && *p == '?') {
            p++;
        }
        if (*p != ' ')
            bad_row(op, p);
        return p + 1;
    }
    bad_row(op, p);
}

static void parse_ints(struct signature_table *table, const char **p, struct eng_arg *value)
{
    int64_t *first = &table->pool[table->pool_used];
    uint32_t count = 0;

    (*p)++;
    while (**p != ']') {
        VS_ASSERT(table->pool_used < POOL_MAX);
        table->pool[table->pool_used++] = strtoll(*p, (char **)(uintptr_t)p, 10);
        count++;
        if (**p == ',')
            (*p)++;
    }
    (*p)++;
    value->kind = ENG_A_INTS;
    value->count = count;
    value->v.ints = first;
}

/* A default: None, True, False, a number, 'text', [1,2]. A number for an int list stands for all of them. */
static const char *parse_default(struct signature_table *table, const struct eng_op *op,
                                 const char *p, struct eng_param *param)
{
    struct eng_arg *value = &param->value;
    char *end;

    param->has_default = true;
    if (!strncmp(p, "None", 4)) {
        value->kind = ENG_A_NONE;
        return p + 4;
    }
    if (!strncmp(p, "True", 4) || !strncmp(p, "False", 5)) {
        *value = eng_ab(*p == 'T');
        return p + (*p == 'T' ? 4 : 5);
    }
    if (*p == '[') {
        parse_ints(table, &p, value);
        return p;
    }
    if (*p == '\'') {
        const char *stop = strchr(p + 1, '\'');

        for (size_t i = 0; i < sizeof(STR_WORDS) / sizeof(STR_WORDS[0]); i++) {
            if (!strncmp(STR_WORDS[i], p + 1, (size_t)(stop - p - 1)) &&
                !STR_WORDS[i][stop - p - 1])
                *value = eng_as(STR_WORDS[i]);
        }
        if (value->kind != ENG_A_STR)
            bad_row(op, p);
        return stop + 1;
    }
    if (param->type == ENG_P_INTS) {
        int64_t one = strtoll(p, &end, 10);
        int64_t *first = &table->pool[table->pool_used];

        for (int i = 0; i < (param->ints ? param->ints : 1); i++) {
            VS_ASSERT(table->pool_used < POOL_MAX);
            table->pool[table->pool_used++] = one;
        }
        *value = eng_aints(first, param->ints ? param->ints : 1);
    } else {
        double f = strtod(p, &end);

        if (end == p)
            bad_row(op, p);
        if (memchr(p, '.', (size_t)(end - p)) || memchr(p, 'e', (size_t)(end - p)) ||
            memchr(p, 'n', (size_t)(end - p)))
            *value = eng_af(f);
        else
            *value = eng_ai((int64_t)f);
    }
    return end;
}

static void parse_params(struct signature_table *table, const struct eng_op *op,
                         struct eng_signature *sig)
{
    const char *p = op->signature;
    bool keyword_only = false;

    VS_ASSERT(*p == '(');
    p = skip_space(p + 1);
    sig->first_tensor = -1;
    while (*p != ')') {
        struct eng_param *param = &sig->params[sig->count];
        size_t len = 0;

        if (*p == '*') {
            keyword_only = true;
            p = skip_space(p + 1);
            if (*p == ',')
                p = skip_space(p + 1);
            continue;
        }
        VS_ASSERT(sig->count < ENG_MAX_ARGS);
        p = parse_type(op, p, param);
        while (isalnum((unsigned char)p[len]) || p[len] == '_')
            len++;
        VS_ASSERT(len > 0 && len < sizeof(param->name));
        memcpy(param->name, p, len);
        p = skip_space(p + len);
        param->keyword_only = keyword_only;
        if (*p == '=')
            p = skip_space(parse_default(table, op, p + 1, param));
        if (param->type == ENG_P_TENSOR_OPT && !param->has_default)
            param->value.kind = ENG_A_NONE;
        if (sig->first_tensor < 0 &&
            (param->type == ENG_P_TENSOR || param->type == ENG_P_TENSOR_OPT ||
             param->type == ENG_P_TENSORS))
            sig->first_tensor = sig->count;
        sig->count++;
        if (*p == ',')
            p = skip_space(p + 1);
        else if (*p != ')')
            bad_row(op, p);
    }
}

static int find_param(const struct eng_op *op, const struct eng_signature *sig, const char *name,
                      size_t len)
{
    for (int i = 0; i < sig->count; i++) {
        if (strlen(sig->params[i].name) == len && !strncmp(sig->params[i].name, name, len))
            return i;
    }
    bad_row(op, name);
}

static void parse_saves(const struct eng_op *op, struct eng_signature *sig)
{
    const char *p = skip_space(op->saves);

    while (*p) {
        struct eng_save_rule *rule = &sig->saves[sig->save_count++];
        size_t len;

        VS_ASSERT(sig->save_count <= ENG_MAX_SAVES);
        rule->condition = -1;
        if (*p == '~') {
            rule->inplace_result = true;
            p++;
        } else if (*p == '+') {
            rule->is_late = true;
            p++;
        }
        len = strcspn(p, " ?");
        if (!strncmp(p, "result", 6)) {
            int k = len > 6 ? p[6] - '0' : 0;

            rule->source = (int8_t)(-1 - k);
        } else {
            rule->source = (int8_t)find_param(op, sig, p, len);
        }
        p += len;
        if (*p == '?') {
            len = strcspn(p + 1, " ");
            rule->condition = (int8_t)find_param(op, sig, p + 1, len);
            p += 1 + len;
        }
        p = skip_space(p);
    }
}

struct eng_signature *eng_signatures_new(void)
{
    struct signature_table *table = vs_calloc(1, sizeof(*table));

    for (int i = 0; i < ENG_OP_COUNT; i++) {
        const struct eng_op *op = eng_op_get((enum eng_op_id)i);

        parse_params(table, op, &table->rows[i]);
        parse_saves(op, &table->rows[i]);
    }
    return table->rows;
}

void eng_signatures_free(struct eng_signature *signatures)
{
    vs_free(signatures); /* the rows are the first member of the table */
}
