/*
 * lang/interp/iter.c - iterators.
 *
 * For:            lang/interp/iter.h.
 * Must not know:  for loops.
 * Invariant:      an exhausted iterator holds no reference to the iterated object.
 */
#include "lang/interp/iter.h"

#include "base/mem.h"
#include "lang/interp/interp.h"
#include "lang/interp/ops.h"

static struct lang_value range_iter(struct lang_vm *vm, const struct lang_range *r)
{
    struct lang_iter *it = lang_iter_new(vm, LANG_ITER_RANGE, lang_none());

    it->at = r->start;
    it->step = r->step;
    it->left = r->count;
    return lang_object(it);
}

static struct lang_value dict_iter(struct lang_vm *vm, struct lang_value dict,
                                   enum lang_iter_kind what)
{
    struct lang_iter *it = lang_iter_new(vm, what, lang_keep(dict));

    it->size = dict.as.dict->live;
    return lang_object(it);
}

/* An instance of a net's class: the result of its __iter__, or an iteration by __getitem__(0), (1) … */
static bool instance_iter(struct lang_vm *vm, struct lang_value v, struct lang_value *out)
{
    struct lang_value method = lang_special(vm, v, LANG_N_iter);
    struct lang_value got;
    bool ok;

    if (lang_is_bound(method)) {
        if (!lang_call_special(vm, method, v, NULL, 0, &got))
            return false;
        if (got.kind == LANG_INSTANCE && lang_is_bound(lang_special(vm, got, LANG_N_next))) {
            *out = lang_object(lang_iter_new(vm, LANG_ITER_NEXT, got));
            return true;
        }
        ok = lang_iter_of(vm, got, out);
        lang_drop(vm, got);
        return ok;
    }
    if (lang_is_bound(lang_special(vm, v, LANG_N_getitem)) &&
        lang_is_bound(lang_special(vm, v, LANG_N_len))) {
        *out = lang_object(lang_iter_new(vm, LANG_ITER_GETITEM, lang_keep(v)));
        return true;
    }
    return lang_fail(vm, VS_E_TYPE, "an object of class `%s` cannot be iterated over",
                     lang_type_name(vm, v));
}

bool lang_iter_of(struct lang_vm *vm, struct lang_value v, struct lang_value *out)
{
    struct lang_value rows;

    switch ((enum lang_kind)v.kind) {
    case LANG_ITER:
        *out =
            v.as.iter->is_view ? dict_iter(vm, v.as.iter->source, v.as.iter->what) : lang_keep(v);
        return true;
    case LANG_GENERATOR:
        *out = lang_keep(v);
        return true;
    case LANG_LIST:
        *out = lang_object(lang_iter_new(vm, LANG_ITER_LIST, lang_keep(v)));
        return true;
    case LANG_TUPLE:
        *out = lang_object(lang_iter_new(vm, LANG_ITER_TUPLE, lang_keep(v)));
        return true;
    case LANG_STR:
        *out = lang_object(lang_iter_new(vm, LANG_ITER_STR, lang_keep(v)));
        return true;
    case LANG_RANGE:
        *out = range_iter(vm, v.as.range);
        return true;
    case LANG_DICT:
        *out = dict_iter(vm, v, LANG_ITER_KEYS);
        return true;
    case LANG_SET:
        *out = dict_iter(vm, lang_object(v.as.set->keys), LANG_ITER_KEYS);
        return true;
    case LANG_TENSOR:
        if (!vm->tensor_type->rows(vm, v.as.tensor, &rows))
            return false;
        *out = lang_object(lang_iter_new(vm, LANG_ITER_TUPLE, rows));
        return true;
    case LANG_INSTANCE:
        return instance_iter(vm, v, out);
    default:
        return lang_fail(vm, VS_E_TYPE, "a value of type `%s` cannot be iterated over",
                         lang_type_name(vm, v));
    }
}

/* ---- next item ---- */

/* A tuple of the two values; reuses the last tuple if it has no other reference. */
static struct lang_value give_pair(struct lang_vm *vm, struct lang_iter *it, struct lang_value a,
                                   struct lang_value b)
{
    if (it->last.kind == LANG_TUPLE && it->last.as.tuple->head.refs == 1) {
        struct lang_tuple *t = it->last.as.tuple;
        struct lang_value old_a = t->items[0];
        struct lang_value old_b = t->items[1];

        t->items[0] = a;
        t->items[1] = b;
        lang_drop(vm, old_a);
        lang_drop(vm, old_b);
        return lang_keep(it->last);
    }
    if (lang_is_bound(it->last))
        return lang_object(lang_tuple_pair(vm, a, b));
    it->last = lang_object(lang_tuple_pair(vm, a, b));
    return lang_keep(it->last);
}

static void exhaust(struct lang_vm *vm, struct lang_iter *it)
{
    lang_assign(vm, &it->source, lang_unbound());
}

static bool next_of_sequence(struct lang_vm *vm, struct lang_iter *it, struct lang_value *out)
{
    struct lang_value *items;
    uint32_t count;
    int64_t at = it->at;

    (void)lang_items(it->source, &items, &count);
    if (it->what == LANG_ITER_REVERSED)
        at = (int64_t)it->left - 1 - at;
    if (at < 0 || at >= count) {
        exhaust(vm, it);
        return true;
    }
    it->at++;
    *out = lang_keep(items[at]);
    return true;
}

static bool next_of_dict(struct lang_vm *vm, struct lang_iter *it, struct lang_value *out)
{
    struct lang_entry *e;
    uint32_t at = (uint32_t)it->at;

    if (it->source.as.dict->live != it->size)
        return lang_fail(vm, VS_E_VALUE, "the dict changed its size while it was iterated over");
    e = lang_dict_next(it->source.as.dict, &at);
    it->at = at;
    if (e == NULL) {
        exhaust(vm, it);
        return true;
    }
    if (it->what == LANG_ITER_KEYS)
        *out = lang_keep(e->key);
    else if (it->what == LANG_ITER_VALUES)
        *out = lang_keep(e->value);
    else
        *out = give_pair(vm, it, lang_keep(e->key), lang_keep(e->value));
    return true;
}

static bool next_of_enumerate(struct lang_vm *vm, struct lang_iter *it, struct lang_value *out)
{
    struct lang_value item;

    if (!lang_iter_next(vm, it->source, &item))
        return false;
    if (!lang_is_bound(item))
        return true;
    *out = give_pair(vm, it, lang_int(it->at), item);
    it->at++;
    return true;
}

/*
 * The next tuple of zip(). Where the last tuple is reused, each old item is dropped when the next item of its iterator
 * is stored.
 */
static bool next_of_zip(struct lang_vm *vm, struct lang_iter *it, struct lang_value *out)
{
    const struct lang_tuple *from = it->source.as.tuple;
    bool reuse = it->last.kind == LANG_TUPLE && it->last.as.tuple->head.refs == 1;
    struct lang_tuple *t;

    if (from->count == 0)
        return true;
    t = reuse ? lang_keep(it->last).as.tuple : lang_tuple_new(vm, from->count);
    for (uint32_t i = 0; i < from->count; i++) {
        struct lang_value item;

        if (!lang_iter_next(vm, from->items[i], &item)) {
            lang_drop_obj(vm, t);
            return false;
        }
        if (!lang_is_bound(item)) {
            lang_drop_obj(vm, t);
            if (it->strict && i > 0)
                return lang_fail(vm, VS_E_VALUE, "zip() argument %u is shorter than the first",
                                 i + 1);
            return true;
        }
        lang_assign(vm, &t->items[i], item);
    }
    if (!reuse && !lang_is_bound(it->last))
        it->last = lang_keep(lang_object(t));
    *out = lang_object(t);
    return true;
}

/* The next item for which the function's result is true; each other one is dropped before the next is taken. */
static bool next_of_filter(struct lang_vm *vm, struct lang_iter *it, struct lang_value *out)
{
    for (;;) {
        struct lang_value item;
        struct lang_value result;
        bool is_kept;
        bool ok;

        if (!lang_iter_next(vm, it->source, &item))
            return false;
        if (!lang_is_bound(item))
            return true;
        result = lang_keep(item);
        if (it->function.kind != LANG_NONE) {
            lang_drop(vm, result);
            if (!lang_call_value(vm, it->function, &item, 1, &result)) {
                lang_drop(vm, item);
                return false;
            }
        }
        ok = lang_truth(vm, result, &is_kept);
        lang_drop(vm, result);
        if (ok && is_kept) {
            *out = item;
            return true;
        }
        lang_drop(vm, item);
        if (!ok)
            return false;
    }
}

/* function(item of the first iterator, of the second, ...); ends with the shortest of them. */
static bool next_of_map(struct lang_vm *vm, struct lang_iter *it, struct lang_value *out)
{
    const struct lang_tuple *from = it->source.as.tuple;
    struct lang_value *args = vs_calloc(from->count, sizeof(*args));
    uint32_t count = 0;
    bool ok = true;

    while (ok && count < from->count) {
        ok = lang_iter_next(vm, from->items[count], &args[count]);
        if (!ok || !lang_is_bound(args[count]))
            break;
        count++;
    }
    if (ok && count == from->count)
        ok = lang_call_value(vm, it->function, args, count, out);
    for (uint32_t i = 0; i < count; i++)
        lang_drop(vm, args[i]);
    vs_free(args);
    return ok;
}

static bool next_of_str(struct lang_vm *vm, struct lang_iter *it, struct lang_value *out)
{
    const struct lang_string *s = it->source.as.str;
    size_t at = (size_t)it->at;
    size_t end = at + 1;

    if (at >= s->len) {
        exhaust(vm, it);
        return true;
    }
    while (end < s->len && ((unsigned char)s->text[end] & 0xC0) == 0x80)
        end++;
    it->at = (int64_t)end;
    *out = lang_object(lang_str_new(vm, s->text + at, end - at));
    return true;
}

static bool next_of_object(struct lang_vm *vm, struct lang_iter *it, struct lang_value *out)
{
    int64_t len;

    if (it->what == LANG_ITER_NEXT)
        return lang_fail_hint(vm, VS_E_UNSUPPORTED, "let __iter__ return a list",
                              "iterators with __next__ are not part of the net language");
    if (!lang_len(vm, it->source, &len))
        return false;
    if (it->at >= len) {
        exhaust(vm, it);
        return true;
    }
    return lang_getitem(vm, it->source, lang_int(it->at++), out);
}

static bool next_of_iter(struct lang_vm *vm, struct lang_iter *it, struct lang_value *out)
{
    *out = lang_unbound();
    if (!lang_is_bound(it->source))
        return true;
    switch (it->what) {
    case LANG_ITER_LIST:
    case LANG_ITER_REVERSED:
    case LANG_ITER_TUPLE:
        return next_of_sequence(vm, it, out);
    case LANG_ITER_STR:
        return next_of_str(vm, it, out);
    case LANG_ITER_KEYS:
    case LANG_ITER_VALUES:
    case LANG_ITER_ITEMS:
        return next_of_dict(vm, it, out);
    case LANG_ITER_RANGE:
        if (it->left == 0)
            return true;
        it->left--;
        *out = lang_int(it->at);
        if (it->left > 0)
            it->at += it->step;
        return true;
    case LANG_ITER_ZIP:
        return next_of_zip(vm, it, out);
    case LANG_ITER_ENUMERATE:
        return next_of_enumerate(vm, it, out);
    case LANG_ITER_FILTER:
        return next_of_filter(vm, it, out);
    case LANG_ITER_MAP:
        return next_of_map(vm, it, out);
    case LANG_ITER_GETITEM:
    case LANG_ITER_NEXT:
        return next_of_object(vm, it, out);
    }
    return true;
}

bool lang_iter_next(struct lang_vm *vm, struct lang_value it, struct lang_value *out)
{
    *out = lang_unbound();
    if (!lang_spend(vm))
        return false;
    if (it.kind == LANG_GENERATOR)
        return lang_generator_next(vm, it.as.generator, out);
    return next_of_iter(vm, it.as.iter, out);
}

bool lang_list_of(struct lang_vm *vm, struct lang_value v, struct lang_list **out)
{
    struct lang_list *list;
    struct lang_value it;
    struct lang_value item;
    struct lang_value *items;
    uint32_t count;

    if (lang_items(v, &items, &count)) {
        list = lang_list_new(vm, count);
        for (uint32_t i = 0; i < count; i++)
            lang_list_append(vm, list, lang_keep(items[i]));
        *out = list;
        return true;
    }
    if (!lang_iter_of(vm, v, &it))
        return false;
    list = lang_list_new(vm, 0);
    while (lang_iter_next(vm, it, &item) && lang_is_bound(item))
        lang_list_append(vm, list, item);
    lang_drop(vm, it);
    if (vm->failed) {
        lang_drop_obj(vm, list);
        return false;
    }
    *out = list;
    return true;
}
