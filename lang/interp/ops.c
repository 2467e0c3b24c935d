/*
 * lang/interp/ops.c - operators on numbers, strings and lists; dispatch to tensors and special methods.
 *
 * For:            lang/interp/ops.h.
 * Must not know:  the op table.
 * Invariant:      integers have 64 bits; a result that does not fit is an error, it never wraps.
 */
#include "lang/interp/ops.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lang/interp/attr.h"
#include "lang/interp/call.h"
#include "lang/interp/interp.h"
#include "lang/interp/iter.h"
#include "lang/interp/text.h"

/* ---- special methods ---- */

struct lang_value lang_special(struct lang_vm *vm, struct lang_value v, enum lang_name name)
{
    if (v.kind != LANG_INSTANCE)
        return lang_unbound();
    return lang_class_find(vm, v.as.instance->cls, lang_name(vm, name));
}

bool lang_call_special(struct lang_vm *vm, struct lang_value method, struct lang_value self,
                       const struct lang_value *args, uint32_t arg_count, struct lang_value *out)
{
    const struct lang_kwnames none = {0, NULL, NULL};
    struct lang_value *at = vm->sp;

    if (!lang_reserve(vm, arg_count + 2))
        return false;
    lang_push(vm, lang_keep(method));
    lang_push(vm, lang_keep(self));
    for (uint32_t i = 0; i < arg_count; i++)
        lang_push(vm, lang_keep(args[i]));
    if (!lang_call_at(vm, at, arg_count + 1, &none)) {
        lang_unwind(vm, at);
        return false;
    }
    *out = lang_pop(vm);
    return true;
}

static const struct {
    enum lang_op op;
    enum lang_name plain;
    enum lang_name reflected;
    enum lang_name inplace; /* LANG_NAME_COUNT: none */
} SPECIALS[] = {
    {LANG_OP_ADD, LANG_N_add, LANG_N_radd, LANG_N_iadd},
    {LANG_OP_SUB, LANG_N_sub, LANG_N_rsub, LANG_N_isub},
    {LANG_OP_MUL, LANG_N_mul, LANG_N_rmul, LANG_N_imul},
    {LANG_OP_DIV, LANG_N_truediv, LANG_N_rtruediv, LANG_N_itruediv},
    {LANG_OP_FLOORDIV, LANG_N_floordiv, LANG_N_rfloordiv, LANG_NAME_COUNT},
    {LANG_OP_MOD, LANG_N_mod, LANG_N_rmod, LANG_NAME_COUNT},
    {LANG_OP_POW, LANG_N_pow, LANG_N_rpow, LANG_NAME_COUNT},
    {LANG_OP_MATMUL, LANG_N_matmul, LANG_N_rmatmul, LANG_NAME_COUNT},
};

/* *out unbound: neither operand has a method for it. */
static bool try_specials(struct lang_vm *vm, enum lang_op op, bool inplace, struct lang_value a,
                         struct lang_value b, struct lang_value *out)
{
    struct lang_value method;
    size_t i = 0;

    *out = lang_unbound();
    while (i < sizeof(SPECIALS) / sizeof(SPECIALS[0]) && SPECIALS[i].op != op)
        i++;
    if (i == sizeof(SPECIALS) / sizeof(SPECIALS[0]))
        return true;
    if (inplace && SPECIALS[i].inplace != LANG_NAME_COUNT) {
        method = lang_special(vm, a, SPECIALS[i].inplace);
        if (lang_is_bound(method))
            return lang_call_special(vm, method, a, &b, 1, out);
    }
    method = lang_special(vm, a, SPECIALS[i].plain);
    if (lang_is_bound(method))
        return lang_call_special(vm, method, a, &b, 1, out);
    method = lang_special(vm, b, SPECIALS[i].reflected);
    if (lang_is_bound(method))
        return lang_call_special(vm, method, b, &a, 1, out);
    return true;
}

static bool unsupported(struct lang_vm *vm, enum lang_op op, struct lang_value a,
                        struct lang_value b)
{
    return lang_fail(vm, VS_E_TYPE, "`%s` does not work between `%s` and `%s`", lang_op_text(op),
                     lang_type_name(vm, a), lang_type_name(vm, b));
}

/* ---- numbers ---- */

static bool too_big(struct lang_vm *vm)
{
    return lang_fail(vm, VS_E_OVERFLOW,
                     "the result does not fit in 64 bits, which is all an integer has here");
}

static bool int_power(struct lang_vm *vm, int64_t base, int64_t exponent, struct lang_value *out)
{
    int64_t result = 1;

    if (exponent < 0) {
        if (base == 0)
            return lang_fail(vm, VS_E_VALUE, "0 cannot be raised to a negative power");
        *out = lang_float(pow((double)base, (double)exponent));
        return true;
    }
    while (exponent > 0) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result))
            return too_big(vm);
        exponent >>= 1;
        if (exponent > 0 && __builtin_mul_overflow(base, base, &base))
            return too_big(vm);
    }
    *out = lang_int(result);
    return true;
}

static bool int_division(struct lang_vm *vm, enum lang_op op, int64_t a, int64_t b,
                         struct lang_value *out)
{
    int64_t quotient;
    int64_t rest;

    if (b == 0)
        return lang_fail(vm, VS_E_VALUE, "division by zero");
    if (op == LANG_OP_DIV) {
        *out = lang_float((double)a / (double)b);
        return true;
    }
    if (a == INT64_MIN && b == -1) {
        if (op == LANG_OP_FLOORDIV)
            return too_big(vm);
        *out = lang_int(0);
        return true;
    }
    quotient = a / b;
    rest = a % b;
    if (rest != 0 && (rest < 0) != (b < 0)) { /* Python rounds down */
        quotient--;
        rest += b;
    }
    *out = lang_int(op == LANG_OP_FLOORDIV ? quotient : rest);
    return true;
}

static bool int_shift(struct lang_vm *vm, enum lang_op op, int64_t a, int64_t b,
                      struct lang_value *out)
{
    if (b < 0)
        return lang_fail(vm, VS_E_VALUE, "a shift by a negative count");
    if (op == LANG_OP_RSHIFT) {
        int64_t by = b > 63 ? 63 : b;

        *out = lang_int(a < 0 ? ~(~a >> by) : a >> by);
        return true;
    }
    if (a == 0) {
        *out = lang_int(0);
        return true;
    }
    if (b > 62 || __builtin_mul_overflow(a, INT64_C(1) << b, &a))
        return too_big(vm);
    *out = lang_int(a);
    return true;
}

static bool int_binary(struct lang_vm *vm, enum lang_op op, int64_t a, int64_t b,
                       struct lang_value *out)
{
    int64_t r = 0;
    bool over = false;

    switch (op) {
    case LANG_OP_ADD:
        over = __builtin_add_overflow(a, b, &r);
        break;
    case LANG_OP_SUB:
        over = __builtin_sub_overflow(a, b, &r);
        break;
    case LANG_OP_MUL:
        over = __builtin_mul_overflow(a, b, &r);
        break;
    case LANG_OP_DIV:
    case LANG_OP_FLOORDIV:
    case LANG_OP_MOD:
        return int_division(vm, op, a, b, out);
    case LANG_OP_POW:
        return int_power(vm, a, b, out);
    case LANG_OP_LSHIFT:
    case LANG_OP_RSHIFT:
        return int_shift(vm, op, a, b, out);
    case LANG_OP_AND:
        r = a & b;
        break;
    case LANG_OP_OR:
        r = a | b;
        break;
    case LANG_OP_XOR:
        r = a ^ b;
        break;
    default:
        return unsupported(vm, op, lang_int(a), lang_int(b));
    }
    if (over)
        return too_big(vm);
    *out = lang_int(r);
    return true;
}

static bool float_binary(struct lang_vm *vm, enum lang_op op, double a, double b,
                         struct lang_value *out)
{
    double r;

    if (b == 0.0 && (op == LANG_OP_DIV || op == LANG_OP_FLOORDIV || op == LANG_OP_MOD))
        return lang_fail(vm, VS_E_VALUE, "division by zero");
    switch (op) {
    case LANG_OP_ADD:
        r = a + b;
        break;
    case LANG_OP_SUB:
        r = a - b;
        break;
    case LANG_OP_MUL:
        r = a * b;
        break;
    case LANG_OP_DIV:
        r = a / b;
        break;
    case LANG_OP_FLOORDIV:
        r = floor(a / b);
        break;
    case LANG_OP_MOD:
        r = fmod(a, b);
        if (r != 0.0 && (r < 0.0) != (b < 0.0))
            r += b;
        else if (r == 0.0)
            r = copysign(0.0, b);
        break;
    case LANG_OP_POW:
        if (a == 0.0 && b < 0.0)
            return lang_fail(vm, VS_E_VALUE, "0.0 cannot be raised to a negative power");
        if (a < 0.0 && b != floor(b) && isfinite(b))
            return lang_fail(vm, VS_E_VALUE,
                             "a negative number to a fractional power is complex, "
                             "which is not part of the net language");
        r = pow(a, b);
        if (isinf(r) && isfinite(a) && isfinite(b))
            return lang_fail(vm, VS_E_OVERFLOW, "the power is too large for a float");
        break;
    default:
        return unsupported(vm, op, lang_float(a), lang_float(b));
    }
    *out = lang_float(r);
    return true;
}

/* ---- sequences ---- */

static bool str_concat(struct lang_vm *vm, const struct lang_string *a, const struct lang_string *b,
                       struct lang_value *out)
{
    struct vs_text text = {NULL, 0, 0};

    vs_text_add_n(&text, a->text, a->len);
    vs_text_add_n(&text, b->text, b->len);
    *out = lang_object(lang_str_new(vm, vs_text_get(&text), text.len));
    vs_text_release(&text);
    return true;
}

static struct lang_value sequence_new(struct lang_vm *vm, struct lang_value like, uint32_t count,
                                      struct lang_value **items)
{
    if (like.kind == LANG_LIST) {
        struct lang_list *l = lang_list_new(vm, count);

        l->count = count;
        *items = l->items;
        return lang_object(l);
    } else {
        struct lang_tuple *t = lang_tuple_new(vm, count);

        t->head.flags = like.as.tuple->head.flags & LANG_TUPLE_SIZE;
        *items = t->items;
        return lang_object(t);
    }
}

static bool sequence_concat(struct lang_vm *vm, struct lang_value a, struct lang_value b,
                            struct lang_value *out)
{
    struct lang_value *items;
    struct lang_value *ia;
    struct lang_value *ib;
    uint32_t na;
    uint32_t nb;

    (void)lang_items(a, &ia, &na);
    (void)lang_items(b, &ib, &nb);
    *out = sequence_new(vm, a, na + nb, &items);
    for (uint32_t i = 0; i < na; i++)
        items[i] = lang_keep(ia[i]);
    for (uint32_t i = 0; i < nb; i++)
        items[na + i] = lang_keep(ib[i]);
    return true;
}

static bool repeat(struct lang_vm *vm, struct lang_value seq, int64_t times, struct lang_value *out)
{
    struct lang_value *items;
    struct lang_value *from;
    uint32_t count;
    uint64_t total;

    if (times < 0)
        times = 0;
    if (seq.kind == LANG_STR) {
        struct vs_text text = {NULL, 0, 0};

        if (__builtin_mul_overflow((uint64_t)times, (uint64_t)seq.as.str->len, &total) ||
            total > (1u << 24))
            return lang_fail(vm, VS_E_VALUE, "the repeated string is too long");
        for (int64_t i = 0; i < times; i++)
            vs_text_add_n(&text, seq.as.str->text, seq.as.str->len);
        *out = lang_object(lang_str_new(vm, vs_text_get(&text), text.len));
        vs_text_release(&text);
        return true;
    }
    (void)lang_items(seq, &from, &count);
    if (__builtin_mul_overflow((uint64_t)times, (uint64_t)count, &total) || total > (1u << 24))
        return lang_fail(vm, VS_E_VALUE, "the repeated list is too long");
    *out = sequence_new(vm, seq, (uint32_t)total, &items);
    for (uint64_t i = 0; i < total; i++)
        items[i] = lang_keep(from[i % count]);
    return true;
}

static bool is_sequence(struct lang_value v)
{
    return v.kind == LANG_STR || v.kind == LANG_LIST || v.kind == LANG_TUPLE;
}

/* *done is false for operands of other kinds. */
static bool sequence_binary(struct lang_vm *vm, enum lang_op op, struct lang_value a,
                            struct lang_value b, struct lang_value *out, bool *done)
{
    *done = true;
    if (op == LANG_OP_ADD && a.kind == LANG_STR && b.kind == LANG_STR)
        return str_concat(vm, a.as.str, b.as.str, out);
    if (op == LANG_OP_ADD && a.kind == b.kind && (a.kind == LANG_LIST || a.kind == LANG_TUPLE))
        return sequence_concat(vm, a, b, out);
    if (op == LANG_OP_MUL && is_sequence(a) && lang_is_int(b))
        return repeat(vm, a, b.as.i, out);
    if (op == LANG_OP_MUL && lang_is_int(a) && is_sequence(b))
        return repeat(vm, b, a.as.i, out);
    *done = false;
    return true;
}

static bool dict_merge(struct lang_vm *vm, struct lang_value a, struct lang_value b,
                       struct lang_value *out)
{
    struct lang_dict *d = lang_dict_new(vm);
    const struct lang_dict *from[2] = {a.as.dict, b.as.dict};

    *out = lang_object(d);
    for (int i = 0; i < 2; i++) {
        struct lang_entry *e;
        uint32_t at = 0;

        while ((e = lang_dict_next(from[i], &at)) != NULL) {
            if (!lang_dict_store(vm, d, e->key, lang_keep(e->value))) {
                lang_drop_obj(vm, d);
                return false;
            }
        }
    }
    return true;
}

bool lang_binary(struct lang_vm *vm, enum lang_op op, struct lang_value a, struct lang_value b,
                 struct lang_value *out)
{
    bool done;

    if (op == LANG_OP_MOD && a.kind == LANG_STR)
        return lang_percent(vm, a.as.str, b, out);
    if (a.kind == LANG_TENSOR || b.kind == LANG_TENSOR)
        return vm->tensor_type->binary(vm, op, a, b, out);
    if (lang_is_int(a) && lang_is_int(b)) {
        if (!int_binary(vm, op, a.as.i, b.as.i, out))
            return false;
        if (a.kind == LANG_BOOL && b.kind == LANG_BOOL &&
            (op == LANG_OP_AND || op == LANG_OP_OR || op == LANG_OP_XOR))
            out->kind = LANG_BOOL;
        return true;
    }
    if (lang_is_number(a) && lang_is_number(b))
        return float_binary(vm, op, lang_number(a), lang_number(b), out);
    if (!sequence_binary(vm, op, a, b, out, &done))
        return false;
    if (done)
        return true;
    if (op == LANG_OP_OR && a.kind == LANG_DICT && b.kind == LANG_DICT)
        return dict_merge(vm, a, b, out);
    if (!try_specials(vm, op, false, a, b, out))
        return false;
    return lang_is_bound(*out) ? true : unsupported(vm, op, a, b);
}

bool lang_inplace(struct lang_vm *vm, enum lang_op op, struct lang_value a, struct lang_value b,
                  struct lang_value *out)
{
    if (a.kind == LANG_TENSOR)
        return vm->tensor_type->inplace(vm, op, a, b, out);
    if (a.kind == LANG_LIST && op == LANG_OP_ADD) {
        struct lang_value it;
        struct lang_value item;

        if (b.kind == LANG_LIST && b.as.list == a.as.list) {
            uint32_t count = a.as.list->count;

            for (uint32_t i = 0; i < count; i++)
                lang_list_append(vm, a.as.list, lang_keep(a.as.list->items[i]));
            *out = lang_keep(a);
            return true;
        }
        if (!lang_iter_of(vm, b, &it))
            return false;
        while (lang_iter_next(vm, it, &item) && lang_is_bound(item))
            lang_list_append(vm, a.as.list, item);
        lang_drop(vm, it);
        *out = lang_keep(a);
        return !vm->failed;
    }
    if (a.kind == LANG_INSTANCE) {
        if (!try_specials(vm, op, true, a, b, out))
            return false;
        return lang_is_bound(*out) ? true : unsupported(vm, op, a, b);
    }
    return lang_binary(vm, op, a, b, out);
}

bool lang_unary(struct lang_vm *vm, enum lang_op op, struct lang_value a, struct lang_value *out)
{
    enum lang_name name = op == LANG_OP_NEG   ? LANG_N_neg
                          : op == LANG_OP_POS ? LANG_N_pos
                                              : LANG_N_invert;
    struct lang_value method;

    if (a.kind == LANG_TENSOR)
        return vm->tensor_type->unary(vm, op, a, out);
    if (lang_is_int(a)) {
        if (op == LANG_OP_NEG && a.as.i == INT64_MIN)
            return too_big(vm);
        *out = lang_int(op == LANG_OP_NEG ? -a.as.i : op == LANG_OP_POS ? a.as.i : ~a.as.i);
        return true;
    }
    if (a.kind == LANG_FLOAT && op != LANG_OP_INVERT) {
        *out = lang_float(op == LANG_OP_NEG ? -a.as.f : a.as.f);
        return true;
    }
    method = lang_special(vm, a, name);
    if (lang_is_bound(method))
        return lang_call_special(vm, method, a, NULL, 0, out);
    return lang_fail(vm, VS_E_TYPE, "`%s` does not work on `%s`", lang_op_text(op),
                     lang_type_name(vm, a));
}
