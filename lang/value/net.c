/*
 * lang/value/net.c - loaded files: the syntax tree with the data needed to run it.
 *
 * For:            struct lang_net of lang/value/vm.h.
 * Must not know:  how code is run.
 * Invariant:      each code object of the tree has exactly one struct lang_rtcode.
 */
#include <stdlib.h>

#include "lang/value/vm.h"

static bool is_plain(const struct lang_code *code)
{
    return code->positional_count == code->param_count && !code->makes_cells &&
           code->free_count == 0;
}

static void code_init(struct lang_net *net, struct lang_rtcode *rt, const struct lang_code *code)
{
    rt->code = code;
    rt->net = net;
    rt->name = net->names[code->name->id];
    rt->qualname = net->names[code->qualname->id];
    rt->slot_names = vs_arena_alloc(net->arena, (code->slot_count + 1) * sizeof(rt->slot_names[0]));
    for (uint32_t i = 0; i < code->slot_count; i++)
        rt->slot_names[i] = net->names[code->slots[i].name->id];
    rt->scope = net->scope != NULL ? net->scope : rt->qualname->text;
    rt->is_plain = is_plain(code);
}

static int compare_codes(const void *a, const void *b)
{
    const struct lang_rtcode *const *x = a;
    const struct lang_rtcode *const *y = b;

    return ((*x)->code > (*y)->code) - ((*x)->code < (*y)->code);
}

const struct lang_rtcode *lang_net_code(const struct lang_net *net, const struct lang_code *code)
{
    uint32_t low = 0;
    uint32_t high = net->module->code_count;

    while (low < high) {
        uint32_t i = low + (high - low) / 2;

        if (net->by_code[i]->code == code)
            return net->by_code[i];
        if (net->by_code[i]->code < code)
            low = i + 1;
        else
            high = i;
    }
    vs_die("a code object that does not belong to the net");
}

struct lang_net *lang_net_new(struct lang_vm *vm, const struct lang_module *module,
                              struct vs_arena *arena, struct lang_namespace *space,
                              const char *scope)
{
    struct lang_net *net = vs_calloc(1, sizeof(*net));
    uint32_t count;

    net->arena = arena;
    net->module = module;
    net->scope = scope;
    net->names = vs_arena_alloc(net->arena, (net->module->str_count + 1) * sizeof(net->names[0]));
    for (uint32_t i = 0; i < net->module->str_count; i++)
        net->names[i] = lang_intern(vm, net->module->strs[i]->text, net->module->strs[i]->len);
    count = net->module->code_count;
    net->codes = vs_arena_calloc(net->arena, count, sizeof(net->codes[0]));
    net->by_code = vs_arena_calloc(net->arena, count, sizeof(net->by_code[0]));
    for (uint32_t i = 0; i < count; i++) {
        code_init(net, &net->codes[i], net->module->codes[i]);
        net->by_code[i] = &net->codes[i];
    }
    qsort(net->by_code, count, sizeof(net->by_code[0]), compare_codes);
    net->space = space;
    space->head.refs++;
    net->next = vm->nets;
    vm->nets = net;
    return net;
}
