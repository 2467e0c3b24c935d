/*
 * lang/torch/bind_table.c - adds the ops to the modules in which PyTorch has them.
 *
 * For:            lang/torch/bind.h.
 * Must not know:  how arguments are matched.
 * Invariant:      every row of op.def is found as torch._op.NAME; rows for nets are also found in the modules
 *                 that the row names, and nowhere else.
 */
#include <string.h>

#include "base/hash.h"
#include "base/table.h"
#include "lang/torch/bind.h"

/* "max.dim" is "max". */
static size_t base_length(const char *name)
{
    const char *dot = strchr(name, '.');

    return dot == NULL ? strlen(name) : (size_t)(dot - name);
}

/*
 * Chains of rows with equal base names: next[id] is the next row, ENG_OP_COUNT the end. Built once with a hash table,
 * as comparing all pairs of the hundreds of rows would dominate the creation of a vm.
 */
struct row_chains {
    uint16_t next[ENG_OP_COUNT];
    uint8_t base[ENG_OP_COUNT]; /* length of the base name */
};

static void chains_make(struct row_chains *rows)
{
    struct vs_table last = {0}; /* of the last row of each chain so far, by its name */

    vs_table_reserve(&last, ENG_OP_COUNT);
    for (int id = 0; id < ENG_OP_COUNT; id++) {
        const char *name = eng_op_get((enum eng_op_id)id)->name;
        size_t len = base_length(name);
        uint64_t hash = vs_hash_bytes(name, len);
        struct vs_probe probe = vs_probe(hash);
        bool is_first = true;

        VS_ASSERT(len <= UINT8_MAX);
        rows->base[id] = (uint8_t)len;
        rows->next[id] = ENG_OP_COUNT;
        while (is_first && vs_table_next(&last, &probe)) {
            const size_t other = probe.item;

            if (rows->base[other] == len &&
                memcmp(eng_op_get((enum eng_op_id)other)->name, name, len) == 0) {
                rows->next[other] = (uint16_t)id;
                vs_table_renumber(&last, &probe, (size_t)id);
                is_first = false;
            }
        }
        if (is_first)
            vs_table_add(&last, hash, (size_t)id);
    }
    vs_table_release(&last);
}

static struct lang_namespace *space(struct lang_vm *vm, const char *name)
{
    struct lang_value *v = lang_dict_find(vm->spaces, lang_intern_text(vm, name));

    VS_ASSERT(v != NULL);
    return v->as.space;
}

/* The rows with the base name of `first` in `place` ('T' torch, 'F' functional, 'M' methods, 0: anywhere). */
static struct lang_op_set *set_new(struct lang_vm *vm, const struct row_chains *rows,
                                   enum eng_op_id first, char place, bool in_place,
                                   const char *name)
{
    struct lang_op_set *set = vs_calloc(1, sizeof(*set));

    set->name = name;
    set->in_place = in_place;
    set->is_method = place == 'M';
    for (int id = (int)first; id < ENG_OP_COUNT; id = rows->next[id]) {
        const struct eng_op *op = eng_op_get((enum eng_op_id)id);

        if (place != 0 && strchr(op->where, place) == NULL)
            continue;
        if (in_place && strchr(op->where, 'I') == NULL && strchr(op->where, 'P') == NULL)
            continue;
        VS_ASSERT(set->count < LANG_MAX_OVERLOADS);
        set->ids[set->count++] = (enum eng_op_id)id;
    }
    vm->op_sets = vs_grow(vm->op_sets, vm->op_set_count, &vm->op_set_cap, sizeof(*vm->op_sets));
    vm->op_sets[vm->op_set_count++] = set;
    return set;
}

static void put(struct lang_vm *vm, const struct row_chains *rows, struct lang_dict *names,
                enum eng_op_id id, char place, bool in_place, const char *prefix, size_t skip)
{
    size_t start = strlen(prefix);
    size_t len = rows->base[id] - skip;
    char text[UINT8_MAX +
              32]; /* prefix, base name, "_": there are two thousand of them at each start */
    struct lang_string *name;
    struct lang_builtin *b;

    VS_ASSERT(start + len + 1 < sizeof(text));
    memcpy(text, prefix, start);
    memcpy(text + start, eng_op_get(id)->name + skip, len);
    if (in_place)
        text[start + len++] = '_';
    name = lang_intern(vm, text + start, len);
    if (lang_dict_find(names, name) != NULL)
        return;
    b = lang_builtin_new(vm, lang_intern(vm, text, start + len)->text, lang_op_native, NULL);
    b->data = set_new(vm, rows, id, place, in_place, b->name);
    if (place == 'M')
        b->head.flags = LANG_BUILTIN_BINDS;
    lang_dict_put(vm, names, name, lang_object(b));
}

/* Adds the sets of overloads in `place`. */
static void put_all(struct lang_vm *vm, const struct row_chains *rows, struct lang_dict *names,
                    char place, const char *prefix)
{
    for (int id = 0; id < ENG_OP_COUNT; id++) {
        const char *where = eng_op_get((enum eng_op_id)id)->where;

        if (strchr(where, place) == NULL)
            continue;
        put(vm, rows, names, (enum eng_op_id)id, place, false, prefix, 0);
        if (strchr(where, 'I') != NULL)
            put(vm, rows, names, (enum eng_op_id)id, place, true, prefix, 0);
    }
}

/* Adds every row under its own name, and rows named "_x" also as "x" if no row has that name. */
static void put_internal(struct lang_vm *vm, const struct row_chains *rows, struct lang_dict *ops,
                         struct lang_dict *torch)
{
    for (int skip = 0; skip < 2; skip++) {
        for (int id = 0; id < ENG_OP_COUNT; id++) {
            const struct eng_op *op = eng_op_get((enum eng_op_id)id);
            bool twin = strchr(op->where, 'I') != NULL || strchr(op->where, 'P') != NULL;

            if (skip == 1 && op->name[0] != '_')
                continue;
            put(vm, rows, ops, (enum eng_op_id)id, 0, false, "torch._op.", (size_t)skip);
            if (twin)
                put(vm, rows, ops, (enum eng_op_id)id, 0, true, "torch._op.", (size_t)skip);
            if (skip == 0 && op->name[0] == '_') {
                put(vm, rows, torch, (enum eng_op_id)id, 0, false, "torch.", 0);
                put(vm, rows, torch, (enum eng_op_id)id, 0, true, "torch.", 0);
            }
        }
    }
}

void lang_bind_register(struct lang_vm *vm)
{
    struct lang_dict *torch = space(vm, "torch")->names;
    struct lang_namespace *ops = lang_namespace_new(vm, "torch._op");
    struct row_chains rows;

    chains_make(&rows);
    put_all(vm, &rows, torch, 'T', "torch.");
    put_all(vm, &rows, space(vm, "torch.nn.functional")->names, 'F', "F.");
    put_all(vm, &rows, vm->cls.tensor->names, 'M', "Tensor.");
    put_internal(vm, &rows, ops->names, torch);
    lang_dict_put(vm, torch, lang_intern_text(vm, "_op"), lang_object(ops));
    lang_class_changed(vm);
}

void lang_bind_release(struct lang_vm *vm)
{
    for (size_t i = 0; i < vm->op_set_count; i++)
        vs_free(vm->op_sets[i]);
    vs_free(vm->op_sets);
}
