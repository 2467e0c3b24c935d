/*
 * lang/run/machine.c - creates a vm with the standard library, and frees it.
 *
 * For:            lang/run/lang.h.
 * Must not know:  what the library's files contain.
 * Invariant:      freeing a vm breaks all reference cycles, so that every tensor and every object is released.
 */
#include "lang/run/lang.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/autograd/autograd.h"
#include "lang/builtins/builtins.h"
#include "lang/interp/call.h"
#include "lang/interp/interp.h"
#include "lang/interp/ops.h"
#include "lang/prelude/prelude.h"
#include "lang/run/library.h"
#include "lang/syntax/parser.h"
#include "lang/torch/autograd_function.h"
#include "lang/torch/bind.h"
#include "lang/torch/hooks.h"
#include "lang/torch/nn_module.h"
#include "lang/torch/tensor_methods.h"
#include "lang/torch/tensor_ops.h"
#include "lang/torch/torch.h"

static const char *const NAME_TEXTS[] = {
#define LANG_NAME(id, text) text,
#include "lang/value/names.def"
#undef LANG_NAME
};

/* Modules, each after its parent module. */
static const char *const SPACES[] = {
    "torch",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.utils",
    "torch.amp",
    "torch.cuda",
    "torch.cuda.amp",
    "torch.autograd",
    "torch.autograd.graph",
    "torch.optim",
    "torch.utils",
    "torch.utils.checkpoint",
    "torch.linalg",
    "math",
    "torch.optim.lr_scheduler",
    "copy",
    "functools",
    "torch.ops",
    "_train",
    "_toggles",
    "gc",
    "torch.backends",
    "torch.backends.cudnn",
    "torch.backends.cuda",
    "torch.backends.cuda.matmul",
};

/* ---- modules ---- */

/* Creates a module; "torch.nn" also becomes an attribute of torch. */
static void space_add(struct lang_vm *vm, const char *name)
{
    struct lang_namespace *s = lang_namespace_new(vm, name);
    const char *dot = strrchr(name, '.');

    lang_dict_put(vm, vm->spaces, s->name, lang_object(s));
    if (dot != NULL) {
        struct lang_value *parent =
            lang_dict_find(vm->spaces, lang_intern(vm, name, (size_t)(dot - name)));

        VS_ASSERT(parent != NULL);
        lang_dict_put(vm, parent->as.space->names, lang_intern_text(vm, dot + 1),
                      lang_keep(lang_object(s)));
    }
}

/* ---- loading ---- */

/* Runs the top level of a file; a failure is moved to err. */
static enum vs_status net_run(struct lang_vm *vm, struct lang_net *net, struct vs_error *err)
{
    int here = 0;

    if (vm->frame == NULL) {
        vm->c_stack = (const char *)&here;
        lang_spend_begin(vm, net->is_user ? vm->options.budget : 0);
    }
    return lang_run_module(vm, net) ? VS_OK : lang_failure_take(vm, err);
}

enum vs_status lang_load(struct lang_vm *vm, const char *file_name, const char *text, size_t len,
                         struct lang_net **out, struct vs_error *err)
{
    struct vs_arena *arena = vs_arena_new();
    struct lang_module *module;
    struct lang_namespace *space;
    struct lang_net *net;
    enum vs_status st = lang_parse(file_name, text, len, arena, &module, err);

    if (st) {
        vs_arena_free(arena);
        return st;
    }
    space = lang_namespace_new(vm, "__main__");
    lang_dict_put(vm, space->names, lang_name(vm, LANG_N_name),
                  lang_keep(lang_object(lang_name(vm, LANG_N_name_main))));
    net = lang_net_new(vm, module, arena, space, NULL);
    lang_drop_obj(vm, space);
    net->is_user = true;
    st = net_run(vm, net, err);
    if (st == VS_OK)
        *out = net;
    return st;
}

static enum vs_status load_library(struct lang_vm *vm, struct vs_error *err)
{
    const struct lang_library *library = vm->options.library;
    struct lang_prelude_file file;

    if (library == NULL) {
        enum vs_status st = lang_library_new(&vm->own_library, err);

        if (st)
            return st;
        library = vm->own_library;
    }
    vm->library_arena = vs_arena_new();
    for (size_t i = 0; lang_prelude_file(i, &file); i++) {
        struct lang_string *name = lang_intern_text(vm, file.module);
        const char *scope = strcmp(file.module, "_train") == 0 ? "training loop" : NULL;
        enum vs_status st;

        if (lang_dict_find(vm->spaces, name) == NULL)
            space_add(vm, file.module);
        st = net_run(vm,
                     lang_net_new(vm, lang_library_module(library, i), vm->library_arena,
                                  lang_dict_find(vm->spaces, name)->as.space, scope),
                     err);
        if (st) {
            vs_error_prefix(err, "the library of the net language");
            return st;
        }
    }
    return VS_OK;
}

static struct lang_dict *names_of(struct lang_vm *vm, const char *space)
{
    return lang_dict_find(vm->spaces, lang_intern_text(vm, space))->as.space->names;
}

/* Functions of the library that are also methods of tensors. */
static void library_aliases(struct lang_vm *vm)
{
    static const struct {
        const char *space;
        const char *function;
        const char *method;
    } aliases[] = {
        {"torch", "norm", "norm"},
        {"torch", "_new_of_size", "new"},
        {"torch", "tensor_split", "tensor_split"},
        {"torch.cuda", "_record_stream", "record_stream"},
    };

    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        const struct lang_value *function = lang_dict_find(
            names_of(vm, aliases[i].space), lang_intern_text(vm, aliases[i].function));

        if (function != NULL && function->kind == LANG_FUNCTION)
            lang_dict_put(vm, vm->cls.tensor->names, lang_intern_text(vm, aliases[i].method),
                          lang_keep(*function));
    }
    lang_class_changed(vm);
}

/* ---- creating ---- */

static void vm_init(struct lang_vm *vm)
{
    vm->instance_type = &lang_instance_type;
    vm->tensor_type = &lang_tensor_type;
    vm->module_type = &lang_module_type;
    for (int i = 0; i < LANG_NAME_COUNT; i++)
        vm->names[i] = lang_intern_text(vm, NAME_TEXTS[i]);
    vm->builtins = lang_dict_new(vm);
    vm->spaces = lang_dict_new(vm);
    vm->warned = lang_dict_new(vm);
    lang_classes_make(vm);
    for (size_t i = 0; i < sizeof(SPACES) / sizeof(SPACES[0]); i++)
        space_add(vm, SPACES[i]);
    lang_builtins_register(vm);
    lang_torch_register(vm);
}

enum vs_status lang_vm_new(struct eng *e, const struct lang_options *options, struct lang_vm **out,
                           struct vs_error *err)
{
    struct lang_vm *vm = vs_calloc(1, sizeof(*vm));
    enum vs_status st;
    int here = 0;

    vm->eng = e;
    if (options != NULL)
        vm->options = *options;
    vm->observed = vm->options.observed;
    vm->stack = vs_alloc(LANG_STACK_VALUES * sizeof(*vm->stack));
    vm->stack_end = vm->stack + LANG_STACK_VALUES;
    vm->sp = vm->stack;
    vm->c_stack = (const char *)&here;
    vm_init(vm);
    st = load_library(vm, err);
    if (st) {
        lang_vm_free(vm);
        return st;
    }
    library_aliases(vm);
    *out = vm;
    return VS_OK;
}

struct eng *lang_vm_eng(struct lang_vm *vm)
{
    return vm->eng;
}

/* ---- freeing ---- */

static void classes_drop(struct lang_vm *vm)
{
    struct lang_class **all = (struct lang_class **)(void *)&vm->cls;

    for (size_t i = 0; i < sizeof(vm->cls) / sizeof(struct lang_class *); i++) {
        struct lang_class *c = all[i];

        all[i] = NULL;
        lang_drop_obj(vm, c);
    }
}

static void memory_free(struct lang_vm *vm)
{
    for (struct lang_net *net = vm->nets, *next; net != NULL; net = next) {
        next = net->next;
        if (net->is_user)
            vs_arena_free(net->arena);
        vs_free(net);
    }
    vs_arena_free(vm->library_arena);
    lang_library_free(vm->own_library);
    for (size_t i = 0; i < vm->interned_count; i++)
        lang_drop_obj(vm, vm->interned[i]);
    lang_bind_release(vm);
    vs_free(vm->interned);
    vs_table_release(&vm->interned_by_hash);
    vs_free(vm->late);
    vs_free(vm->parked);
    lang_hold_tables_release(vm);
    vs_free(vm->stack);
    vs_pool_release(&vm->pool);
    vs_free(vm);
}

void lang_vm_free(struct lang_vm *vm)
{
    if (vm == NULL)
        return;
    vm->observed = false;
    lang_unwind(vm, vm->stack);
    lang_parked_clear(vm);
    for (struct lang_net *net = vm->nets; net != NULL; net = net->next)
        lang_drop_obj(vm, net->space);
    lang_drop_obj(vm, vm->spaces);
    lang_drop_obj(vm, vm->builtins);
    lang_drop_obj(vm, vm->warned);
    vm->spaces = vm->builtins = vm->warned = NULL;
    lang_cycles_break(vm);
    eng_cycles_break(vm->eng);
    classes_drop(vm);
    lang_cycles_break(vm);
    VS_ASSERT(vm->tracked.next == &vm->tracked || vm->tracked.next == NULL);
    memory_free(vm);
}
