/*
 * lang/torch/callback.c - calls from the engine into the net.
 *
 * For:            lang/torch/callback.h.
 * Must not know:  which callback it is.
 * Invariant:      see callback.h.
 */
#include "lang/torch/callback.h"

#include "lang/interp/interp.h"

void lang_callback_begin(struct lang_vm *vm, struct lang_callback *cb)
{
    vm->callbacks++;
    cb->sp = vm->sp;
    cb->func = vm->func;
    cb->line = vm->line;
    vm->func = eng_location_func(vm->eng, NULL);
    eng_location_func(vm->eng, vm->func);
    vm->line = eng_location_line(vm->eng, 0);
    eng_location_line(vm->eng, vm->line);
}

bool lang_callback_end(struct lang_vm *vm, struct lang_callback *cb, bool ok)
{
    VS_ASSERT(ok == !vm->failed);
    vm->callbacks--;
    if (!ok)
        lang_unwind(vm, cb->sp);
    VS_ASSERT(vm->sp == cb->sp);
    if (!ok && vm->err.status == VS_E_STOPPED && eng_failed(vm->eng) != NULL) {
        vm->failed = false;
    } else if (!ok && eng_failed(vm->eng) == NULL) {
        eng_fail(vm->eng, vm->err.status, "%s", vm->err.text);
    }
    vm->func = cb->func;
    vm->line = cb->line;
    return ok;
}
