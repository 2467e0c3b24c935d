/*
 * lang/value/object_iter.c - allocation and release of iterators and generators.
 *
 * For:            lang/value/object_iter.h.
 * Must not know:  how the next item is computed.
 * Invariant:      a generator is released in CPython's order: its active loops from the innermost, then its slots
 *                 from the first.
 */
#include "lang/value/object_iter.h"

#include "base/mem.h"
#include "lang/value/hold.h"
#include "lang/value/vm.h"

struct lang_iter *lang_iter_new(struct lang_vm *vm, enum lang_iter_kind what,
                                struct lang_value source_taken)
{
    struct lang_iter *it = lang_obj_new(vm, LANG_ITER, sizeof(*it));

    it->what = what;
    it->source = source_taken;
    return it;
}

void lang_iter_free(struct lang_vm *vm, struct lang_iter *it)
{
    if (it->what != LANG_ITER_MAP) /* CPython's order: filter drops its function first, map last */
        lang_drop(vm, it->function);
    lang_drop(vm, it->source);
    if (it->what == LANG_ITER_MAP)
        lang_drop(vm, it->function);
    lang_drop(vm, it->last);
    lang_obj_release_memory(vm, &it->head, sizeof(*it));
}

void lang_generator_finish(struct lang_vm *vm, struct lang_generator *g)
{
    uint32_t slot_count = g->code->code->slot_count;

    g->is_done = true;
    while (g->loop_count > 0)
        lang_drop(vm, g->loops[--g->loop_count]);
    for (uint32_t i = 0; i < slot_count; i++) {
        struct lang_value v = g->slots[i];

        g->slots[i] = lang_unbound();
        if (vm->observed && lang_can_hold(v))
            lang_unhold(vm, v, VS_HOLD_LOCAL, g->code->slot_names[i]->text, g->code->scope);
        lang_drop(vm, v);
    }
}

void lang_generator_free(struct lang_vm *vm, struct lang_generator *g)
{
    lang_generator_finish(vm, g);
    vs_free(g->slots);
    vs_free(g->loops);
    lang_obj_release_memory(vm, &g->head, sizeof(*g));
}
