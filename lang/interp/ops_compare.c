/*
 * lang/interp/ops_compare.c - truth, order, membership, and equality where the net defines it.
 *
 * For:            lang/interp/ops.h.
 * Must not know:  the op table.
 * Invariant:      sequences are compared by == up to the first difference, then by <, as in Python.
 */
#include <string.h>

#include "lang/interp/attr.h"
#include "lang/interp/call.h"
#include "lang/interp/interp.h"
#include "lang/interp/iter.h"
#include "lang/interp/ops.h"

bool lang_truth(struct lang_vm *vm, struct lang_value v, bool *out)
{
    struct lang_value method;
    struct lang_value result;
    int64_t len;

    switch ((enum lang_kind)v.kind) {
    case LANG_NONE:
        *out = false;
        return true;
    case LANG_BOOL:
    case LANG_INT:
        *out = v.as.i != 0;
        return true;
    case LANG_FLOAT:
        *out = v.as.f != 0.0;
        return true;
    case LANG_TENSOR:
        return vm->tensor_type->truth(vm, v.as.tensor, out);
    case LANG_STR:
    case LANG_TUPLE:
    case LANG_LIST:
    case LANG_DICT:
    case LANG_SET:
    case LANG_RANGE:
        if (!lang_len(vm, v, &len))
            return false;
        *out = len != 0;
        return true;
    case LANG_INSTANCE:
        method = lang_special(vm, v, LANG_N_bool);
        if (lang_is_bound(method)) {
            if (!lang_call_special(vm, method, v, NULL, 0, &result))
                return false;
            *out = result.kind == LANG_BOOL && result.as.i != 0;
            lang_drop(vm, result);
            return true;
        }
        if (lang_is_bound(lang_special(vm, v, LANG_N_len))) {
            if (!lang_len(vm, v, &len))
                return false;
            *out = len != 0;
            return true;
        }
        *out = true;
        return true;
    default:
        *out = true;
        return true;
    }
}

static bool equal_instances(struct lang_vm *vm, struct lang_value a, struct lang_value b, bool *out)
{
    struct lang_value method = lang_special(vm, a, LANG_N_eq);
    struct lang_value result;
    bool ok;

    *out = lang_is_same(a, b);
    if (!lang_is_bound(method)) {
        struct lang_value swap = a;

        a = b;
        b = swap;
        method = lang_special(vm, a, LANG_N_eq);
    }
    if (!lang_is_bound(method))
        return true;
    if (!lang_call_special(vm, method, a, &b, 1, &result))
        return false;
    ok = result.kind == LANG_NOT_IMPLEMENTED || lang_truth(vm, result, out);
    lang_drop(vm, result);
    return ok;
}

const struct lang_instance_type lang_instance_type = {.equal = equal_instances};

static int compare_text(const struct lang_string *a, const struct lang_string *b)
{
    uint32_t len = a->len < b->len ? a->len : b->len;
    int c = memcmp(a->text, b->text, len);

    return c != 0 ? c : (a->len > b->len) - (a->len < b->len);
}

bool lang_less(struct lang_vm *vm, struct lang_value a, struct lang_value b, bool *out)
{
    struct lang_value result;
    bool ok;

    if (!lang_compare(vm, LANG_OP_LT, a, b, &result))
        return false;
    ok = lang_truth(vm, result, out);
    lang_drop(vm, result);
    return ok;
}

/* Compares the first items that differ. */
static bool order_items(struct lang_vm *vm, enum lang_op op, struct lang_value a,
                        struct lang_value b, struct lang_value *out)
{
    struct lang_value *ia;
    struct lang_value *ib;
    uint32_t na;
    uint32_t nb;

    (void)lang_items(a, &ia, &na);
    (void)lang_items(b, &ib, &nb);
    for (uint32_t i = 0; i < na && i < nb; i++) {
        bool same;

        if (!lang_equal(vm, ia[i], ib[i], &same))
            return false;
        if (!same)
            return lang_compare(vm, op, ia[i], ib[i], out);
    }
    return lang_compare(vm, op, lang_int(na), lang_int(nb), out);
}

static bool decide(enum lang_op op, int order)
{
    switch (op) {
    case LANG_OP_LT:
        return order < 0;
    case LANG_OP_LE:
        return order <= 0;
    case LANG_OP_GT:
        return order > 0;
    default:
        return order >= 0;
    }
}

static bool order_specials(struct lang_vm *vm, enum lang_op op, struct lang_value a,
                           struct lang_value b, struct lang_value *out)
{
    static const enum lang_name names[4] = {LANG_N_lt, LANG_N_le, LANG_N_gt, LANG_N_ge};
    static const enum lang_name mirrored[4] = {LANG_N_gt, LANG_N_ge, LANG_N_lt, LANG_N_le};
    struct lang_value method = lang_special(vm, a, names[op - LANG_OP_LT]);

    if (lang_is_bound(method))
        return lang_call_special(vm, method, a, &b, 1, out);
    method = lang_special(vm, b, mirrored[op - LANG_OP_LT]);
    if (lang_is_bound(method))
        return lang_call_special(vm, method, b, &a, 1, out);
    return lang_fail(vm, VS_E_TYPE, "`%s` does not work between `%s` and `%s`", lang_op_text(op),
                     lang_type_name(vm, a), lang_type_name(vm, b));
}

static bool order(struct lang_vm *vm, enum lang_op op, struct lang_value a, struct lang_value b,
                  struct lang_value *out)
{
    if (lang_is_int(a) && lang_is_int(b)) {
        *out = lang_bool(decide(op, (a.as.i > b.as.i) - (a.as.i < b.as.i)));
        return true;
    }
    if (lang_is_number(a) && lang_is_number(b)) {
        double x = lang_number(a);
        double y = lang_number(b);

        *out = lang_bool(op == LANG_OP_LT   ? x < y
                         : op == LANG_OP_LE ? x <= y
                         : op == LANG_OP_GT ? x > y
                                            : x >= y);
        return true;
    }
    if (a.kind == LANG_STR && b.kind == LANG_STR) {
        *out = lang_bool(decide(op, compare_text(a.as.str, b.as.str)));
        return true;
    }
    if (a.kind == b.kind && (a.kind == LANG_LIST || a.kind == LANG_TUPLE))
        return order_items(vm, op, a, b, out);
    return order_specials(vm, op, a, b, out);
}

bool lang_contains(struct lang_vm *vm, struct lang_value container, struct lang_value item,
                   bool *out)
{
    struct lang_value *items;
    struct lang_value *found;
    struct lang_value method;
    struct lang_value result;
    struct lang_list *list;
    uint32_t count;
    bool ok = true;

    *out = false;
    if (container.kind == LANG_STR) {
        if (item.kind != LANG_STR)
            return lang_fail(vm, VS_E_TYPE, "`in` a string needs a string, not `%s`",
                             lang_type_name(vm, item));
        *out = strstr(container.as.str->text, item.as.str->text) != NULL;
        return true;
    }
    if (container.kind == LANG_DICT || container.kind == LANG_SET) {
        const struct lang_dict *d =
            container.kind == LANG_DICT ? container.as.dict : container.as.set->keys;

        if (!lang_dict_lookup(vm, d, item, &found))
            return false;
        *out = found != NULL;
        return true;
    }
    method = lang_special(vm, container, LANG_N_contains);
    if (lang_is_bound(method)) {
        if (!lang_call_special(vm, method, container, &item, 1, &result))
            return false;
        ok = lang_truth(vm, result, out);
        lang_drop(vm, result);
        return ok;
    }
    if (lang_items(container, &items, &count)) {
        for (uint32_t i = 0; i < count && !*out && ok; i++)
            ok = lang_is_same(items[i], item) ? (*out = true) : lang_equal(vm, items[i], item, out);
        return ok;
    }
    if (!lang_list_of(vm, container, &list))
        return false;
    for (uint32_t i = 0; i < list->count && !*out && ok; i++)
        ok = lang_equal(vm, list->items[i], item, out);
    lang_drop_obj(vm, list);
    return ok;
}

bool lang_compare(struct lang_vm *vm, enum lang_op op, struct lang_value a, struct lang_value b,
                  struct lang_value *out)
{
    bool yes;

    switch (op) {
    case LANG_OP_IS:
    case LANG_OP_IS_NOT:
        *out = lang_bool(lang_is_same(a, b) == (op == LANG_OP_IS));
        return true;
    case LANG_OP_IN:
    case LANG_OP_NOT_IN:
        if (!lang_contains(vm, b, a, &yes))
            return false;
        *out = lang_bool(yes == (op == LANG_OP_IN));
        return true;
    case LANG_OP_EQ:
    case LANG_OP_NE:
        if (a.kind == LANG_TENSOR || b.kind == LANG_TENSOR)
            return vm->tensor_type->compare(vm, op, a, b, out);
        if (!lang_equal(vm, a, b, &yes))
            return false;
        *out = lang_bool(yes == (op == LANG_OP_EQ));
        return true;
    default:
        if (a.kind == LANG_TENSOR || b.kind == LANG_TENSOR)
            return vm->tensor_type->compare(vm, op, a, b, out);
        return order(vm, op, a, b, out);
    }
}
