/*
 * lang/interp/ops_item.c - obj[key], and len().
 *
 * For:            lang/interp/ops.h.
 * Must not know:  the op table (tensors: lang/torch/tensor_ops.c).
 * Invariant:      values removed by an assignment or deletion are released after the container is in its new state.
 */
#include <inttypes.h>
#include <string.h>

#include "lang/interp/attr.h"
#include "lang/interp/call.h"
#include "lang/interp/interp.h"
#include "lang/interp/iter.h"
#include "lang/interp/ops.h"
#include "lang/interp/text.h"

/* ---- slices ---- */

static bool slice_part(struct lang_vm *vm, struct lang_value v, int64_t otherwise, int64_t *out)
{
    if (v.kind == LANG_NONE) {
        *out = otherwise;
        return true;
    }
    if (!lang_is_int(v))
        return lang_fail(vm, VS_E_TYPE, "the bounds of a slice must be integers or None, not `%s`",
                         lang_type_name(vm, v));
    *out = v.as.i;
    return true;
}

static int64_t clamp_bound(int64_t at, int64_t len, int64_t low, int64_t high)
{
    if (at < 0)
        at = at < -len ? low : at + len;
    if (at < low)
        at = low;
    return at > high ? high : at;
}

bool lang_slice_bounds(struct lang_vm *vm, const struct lang_slice *slice, int64_t len,
                       int64_t *start, int64_t *step, int64_t *count)
{
    int64_t low;
    int64_t high;
    int64_t stop = 0;

    if (!slice_part(vm, slice->step, 1, step))
        return false;
    if (*step == 0)
        return lang_fail(vm, VS_E_VALUE, "the step of a slice must not be zero");
    if (*step == INT64_MIN)
        *step = -INT64_MAX;
    low = *step > 0 ? 0 : -1;
    high = *step > 0 ? len : len - 1;
    if (!slice_part(vm, slice->start, *step > 0 ? INT64_MIN + 1 : INT64_MAX, start) ||
        !slice_part(vm, slice->stop, *step > 0 ? INT64_MAX : INT64_MIN + 1, &stop))
        return false;
    *start = clamp_bound(*start, len, low, high);
    stop = clamp_bound(stop, len, low, high);
    if (*step > 0)
        *count = *start < stop ? (stop - *start - 1) / *step + 1 : 0;
    else
        *count = *start > stop ? (*start - stop - 1) / -*step + 1 : 0;
    return true;
}

/* An index of a sequence of `len`, counted from the end where it is negative. */
static bool index_in(struct lang_vm *vm, struct lang_value key, int64_t len, const char *what,
                     int64_t *out)
{
    if (!lang_is_int(key))
        return lang_fail(vm, VS_E_TYPE, "the index of a %s must be an integer or a slice, not `%s`",
                         what, lang_type_name(vm, key));
    *out = key.as.i < 0 ? key.as.i + len : key.as.i;
    if (*out < 0 || *out >= len)
        return lang_fail(vm, VS_E_VALUE, "index %" PRId64 " is out of range of a %s of %" PRId64,
                         key.as.i, what, len);
    return true;
}

/* ---- reading ---- */

static bool get_slice_items(struct lang_vm *vm, struct lang_value obj,
                            const struct lang_slice *slice, struct lang_value *out)
{
    struct lang_value *items;
    struct lang_value *to;
    uint32_t len;
    int64_t start;
    int64_t step;
    int64_t count;

    (void)lang_items(obj, &items, &len);
    if (!lang_slice_bounds(vm, slice, len, &start, &step, &count))
        return false;
    if (obj.kind == LANG_TUPLE) {
        struct lang_tuple *t = lang_tuple_new(vm, (uint32_t)count);

        t->head.flags = obj.as.tuple->head.flags & LANG_TUPLE_SIZE;
        to = t->items;
        *out = lang_object(t);
    } else {
        struct lang_list *l = lang_list_new(vm, (uint32_t)count);

        l->count = (uint32_t)count;
        to = l->items;
        *out = lang_object(l);
    }
    for (int64_t i = 0; i < count; i++)
        to[i] = lang_keep(items[start + i * step]);
    return true;
}

/* Byte offset of character `at`. */
static size_t char_offset(const struct lang_string *s, int64_t at)
{
    size_t i = 0;

    while (at > 0 && i < s->len) {
        i++;
        while (i < s->len && ((unsigned char)s->text[i] & 0xC0) == 0x80)
            i++;
        at--;
    }
    return i;
}

static bool get_str(struct lang_vm *vm, const struct lang_string *s, struct lang_value key,
                    struct lang_value *out)
{
    struct vs_text text = {NULL, 0, 0};
    int64_t start;
    int64_t step = 1;
    int64_t count = 1;

    if (key.kind == LANG_SLICE) {
        if (!lang_slice_bounds(vm, key.as.slice, s->chars, &start, &step, &count))
            return false;
    } else if (!index_in(vm, key, s->chars, "string", &start)) {
        return false;
    }
    for (int64_t i = 0; i < count; i++) {
        size_t from = char_offset(s, start + i * step);

        vs_text_add_n(&text, s->text + from, char_offset(s, start + i * step + 1) - from);
    }
    *out = lang_object(lang_str_new(vm, vs_text_get(&text), text.len));
    vs_text_release(&text);
    return true;
}

static bool get_range(struct lang_vm *vm, const struct lang_range *r, struct lang_value key,
                      struct lang_value *out)
{
    int64_t start;
    int64_t step;
    int64_t count;

    if (key.kind == LANG_SLICE) {
        if (!lang_slice_bounds(vm, key.as.slice, r->count, &start, &step, &count))
            return false;
        *out = lang_object(lang_range_new(vm, r->start + start * r->step,
                                          r->start + (start + count * step) * r->step,
                                          step * r->step));
        return true;
    }
    if (!index_in(vm, key, r->count, "range", &start))
        return false;
    *out = lang_int(r->start + start * r->step);
    return true;
}

static bool missing_key(struct lang_vm *vm, struct lang_value key)
{
    struct lang_value text;

    if (!lang_to_repr(vm, key, &text))
        return false;
    lang_fail(vm, VS_E_VALUE, "KeyError: there is no key %s", text.as.str->text);
    lang_drop(vm, text);
    return false;
}

static bool get_dict(struct lang_vm *vm, const struct lang_dict *d, struct lang_value key,
                     struct lang_value *out)
{
    struct lang_value *found;

    if (!lang_dict_lookup(vm, d, key, &found))
        return false;
    if (found == NULL)
        return missing_key(vm, key);
    *out = lang_keep(*found);
    return true;
}

bool lang_getitem(struct lang_vm *vm, struct lang_value obj, struct lang_value key,
                  struct lang_value *out)
{
    struct lang_value *items;
    struct lang_value method;
    uint32_t count;
    int64_t at;

    switch ((enum lang_kind)obj.kind) {
    case LANG_TENSOR:
        return vm->tensor_type->getitem(vm, obj.as.tensor, key, out);
    case LANG_LIST:
    case LANG_TUPLE:
        if (key.kind == LANG_SLICE)
            return get_slice_items(vm, obj, key.as.slice, out);
        (void)lang_items(obj, &items, &count);
        if (!index_in(vm, key, count, obj.kind == LANG_LIST ? "list" : "tuple", &at))
            return false;
        *out = lang_keep(items[at]);
        return true;
    case LANG_DICT:
        return get_dict(vm, obj.as.dict, key, out);
    case LANG_STR:
        return get_str(vm, obj.as.str, key, out);
    case LANG_RANGE:
        return get_range(vm, obj.as.range, key, out);
    case LANG_CLASS: /* an annotation such as list[int], used as a value */
        *out = lang_keep(obj);
        return true;
    default:
        method = lang_special(vm, obj, LANG_N_getitem);
        if (lang_is_bound(method))
            return lang_call_special(vm, method, obj, &key, 1, out);
        return lang_fail(vm, VS_E_TYPE, "a value of type `%s` has no items",
                         lang_type_name(vm, obj));
    }
}

/* ---- writing ---- */

static bool set_slice(struct lang_vm *vm, struct lang_list *list, const struct lang_slice *slice,
                      struct lang_value value)
{
    struct lang_list *from;
    int64_t start;
    int64_t step;
    int64_t count;

    if (!lang_slice_bounds(vm, slice, list->count, &start, &step, &count) ||
        !lang_list_of(vm, value, &from))
        return false;
    if (step == 1) {
        for (uint32_t i = 0; i < from->count; i++)
            (void)lang_keep(from->items[i]);
        lang_list_splice(vm, list, (uint32_t)start, (uint32_t)count, from->items, from->count);
    } else if (from->count == count) {
        for (int64_t i = 0; i < count; i++)
            lang_list_set(vm, list, (uint32_t)(start + i * step), lang_keep(from->items[i]));
    } else {
        lang_fail(vm, VS_E_VALUE, "%" PRIu32 " values for %" PRId64 " items of the slice",
                  from->count, count);
    }
    lang_drop_obj(vm, from);
    return !vm->failed;
}

bool lang_setitem(struct lang_vm *vm, struct lang_value obj, struct lang_value key,
                  struct lang_value value)
{
    struct lang_value method;
    struct lang_value args[2] = {key, value};
    struct lang_value result;
    int64_t at;

    switch ((enum lang_kind)obj.kind) {
    case LANG_TENSOR:
        return vm->tensor_type->setitem(vm, obj.as.tensor, key, value);
    case LANG_LIST:
        if (key.kind == LANG_SLICE)
            return set_slice(vm, obj.as.list, key.as.slice, value);
        if (!index_in(vm, key, obj.as.list->count, "list", &at))
            return false;
        lang_list_set(vm, obj.as.list, (uint32_t)at, lang_keep(value));
        return true;
    case LANG_DICT:
        return lang_dict_store(vm, obj.as.dict, key, lang_keep(value));
    default:
        method = lang_special(vm, obj, LANG_N_setitem);
        if (!lang_is_bound(method))
            return lang_fail(vm, VS_E_TYPE, "items of a value of type `%s` cannot be set",
                             lang_type_name(vm, obj));
        if (!lang_call_special(vm, method, obj, args, 2, &result))
            return false;
        lang_drop(vm, result);
        return true;
    }
}

static bool delete_slice(struct lang_vm *vm, struct lang_list *list, const struct lang_slice *slice)
{
    int64_t start;
    int64_t step;
    int64_t count;

    if (!lang_slice_bounds(vm, slice, list->count, &start, &step, &count))
        return false;
    if (step == 1) {
        lang_list_splice(vm, list, (uint32_t)start, (uint32_t)count, NULL, 0);
        return true;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t at = step > 0 ? start + i * (step - 1) : start + i * step;

        lang_drop(vm, lang_list_pop(vm, list, (uint32_t)at));
    }
    return true;
}

bool lang_delitem(struct lang_vm *vm, struct lang_value obj, struct lang_value key)
{
    struct lang_value method;
    struct lang_value old;
    int64_t at;

    switch ((enum lang_kind)obj.kind) {
    case LANG_LIST:
        if (key.kind == LANG_SLICE)
            return delete_slice(vm, obj.as.list, key.as.slice);
        if (!index_in(vm, key, obj.as.list->count, "list", &at))
            return false;
        lang_drop(vm, lang_list_pop(vm, obj.as.list, (uint32_t)at));
        return true;
    case LANG_DICT:
        if (!lang_dict_remove(vm, obj.as.dict, key, &old))
            return false;
        if (!lang_is_bound(old))
            return missing_key(vm, key);
        lang_drop(vm, old);
        return true;
    default:
        method = lang_special(vm, obj, LANG_N_delitem);
        if (!lang_is_bound(method))
            return lang_fail(vm, VS_E_TYPE, "items of a value of type `%s` cannot be deleted",
                             lang_type_name(vm, obj));
        if (!lang_call_special(vm, method, obj, &key, 1, &old))
            return false;
        lang_drop(vm, old);
        return true;
    }
}

bool lang_len(struct lang_vm *vm, struct lang_value obj, int64_t *out)
{
    struct lang_value method;
    struct lang_value result;
    struct lang_value *items;
    uint32_t count;

    if (lang_items(obj, &items, &count)) {
        *out = count;
        return true;
    }
    switch ((enum lang_kind)obj.kind) {
    case LANG_STR:
        *out = obj.as.str->chars;
        return true;
    case LANG_DICT:
        *out = obj.as.dict->live;
        return true;
    case LANG_SET:
        *out = obj.as.set->keys->live;
        return true;
    case LANG_RANGE:
        *out = obj.as.range->count;
        return true;
    case LANG_ITER:
        if (!obj.as.iter->is_view)
            return lang_fail(vm, VS_E_TYPE, "an iterator has no len()");
        *out = obj.as.iter->source.as.dict->live;
        return true;
    case LANG_TENSOR:
        if (obj.as.tensor->ndim == 0)
            return lang_fail(vm, VS_E_TYPE, "len() of a 0-d tensor");
        *out = obj.as.tensor->sizes[0];
        return true;
    default:
        method = lang_special(vm, obj, LANG_N_len);
        if (!lang_is_bound(method))
            return lang_fail(vm, VS_E_TYPE, "a value of type `%s` has no len()",
                             lang_type_name(vm, obj));
        if (!lang_call_special(vm, method, obj, NULL, 0, &result))
            return false;
        if (!lang_is_int(result) || result.as.i < 0) {
            lang_drop(vm, result);
            return lang_fail(vm, VS_E_TYPE, "__len__ must return an integer that is not negative");
        }
        *out = result.as.i;
        return true;
    }
}
