/*
 * lang/value/vm.h - the machine that runs nets: its stack, frames, caches, and how a failure is noted.
 *
 * For:            the files of lang/ that run a net (not the parser).
 * Must not know:  files on disk, traces.
 * Invariant:      one machine, one thread, one engine context. Nothing of it lives outside struct lang_vm.
 *
 * A failure is noted once, with the place where it happened, and every function on the way returns false; frames drop
 * what they hold on the way out. While a failure is noted no code of the net runs.
 */
#ifndef LANG_VM_H
#define LANG_VM_H

#include "base/error.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/table.h"
#include "engine/core/engine.h"
#include "lang/syntax/ast.h"
#include "lang/value/hold_tables.h"
#include "lang/value/object.h"
#include "lang/value/options.h"
#include "lang/value/type.h"

#define LANG_STACK_VALUES (1u << 20) /* reserved, touched only as far as used */
#define LANG_MAX_DEPTH 1000          /* calls inside calls, as Python's recursion limit */
#define LANG_MAX_C_STACK (5u << 20)  /* bytes of the C stack a run may use */
#define LANG_CACHE_SIZE 1024         /* class attribute cache, a power of two */
#define LANG_GLOBALS_SIZE 512        /* cache of global names, a power of two */

/* Names the machine itself looks for. */
enum lang_name {
#define LANG_NAME(id, text) LANG_N_##id,
#include "lang/value/names.def"
#undef LANG_NAME
    LANG_NAME_COUNT
};

/* A file that has been loaded. */
struct lang_net {
    struct lang_net *next;
    struct vs_arena *arena; /* the names and codes, and a user's tree */
    const struct lang_module *module;
    struct lang_string **names;   /* by lang_str.id, interned */
    struct lang_rtcode *codes;    /* module->code_count of them, in the module's order */
    struct lang_rtcode **by_code; /* the same by the address of their tree */
    struct lang_namespace *space;
    bool is_user;      /* a net file: its lines and functions are places of the trace */
    const char *scope; /* what the trace calls every function of this file; NULL: its own name */
};

/* The runtime side of a piece of the tree. */
const struct lang_rtcode *lang_net_code(const struct lang_net *net, const struct lang_code *code);
/*
 * A file's tree with what running it needs, which is allocated in `arena`; its names are those of `space` (lent),
 * `scope` is that of struct lang_net. The vm owns the net, and the arena of a user's net.
 */
struct lang_net *lang_net_new(struct lang_vm *vm, const struct lang_module *module,
                              struct vs_arena *arena, struct lang_namespace *space,
                              const char *scope) VS_MUST_USE;

/*
 * A call in progress.
 *
 * at      expression being worked on, for messages
 * step    of a chain of operators: which
 * names   of a class body or the module: where its names live; else NULL
 * result  what it returns, while it is being left
 */
struct lang_frame {
    struct lang_frame *prev;
    const struct lang_rtcode *code;
    struct lang_net *net;
    struct lang_value *slots;
    struct lang_dict *names;
    const struct lang_expr *at;
    const struct lang_stmt *stmt;
    const char *func_before;
    struct lang_value result;
    uint32_t line_before;
    uint32_t step;
    bool is_user;
};

struct lang_op_set;

/* In front of each object that can be part of a cycle. */
struct lang_link {
    struct lang_link *prev;
    struct lang_link *next;
};

struct lang_cache_entry {
    const struct lang_class *cls;
    const struct lang_string *name;
    uint64_t shape;          /* right while the classes still have this one */
    struct lang_value value; /* borrowed; unbound: known to be absent */
};

/* Where a global name of a file was found last, in its own names or the builtins; right while both have this shape. */
struct lang_global_entry {
    const struct lang_dict *names;
    const struct lang_string *name;
    uint32_t names_shape;
    uint32_t builtins_shape;
    const struct lang_value *value;
};

struct lang_classes {
    struct lang_class *object, *type, *none, *boolean, *integer, *floating, *str, *tuple, *size,
        *list, *dict, *set, *slice, *range, *function, *method, *builtin, *namespace, *iterator,
        *generator, *super, *property, *staticmethod, *classmethod, *context, *opaque, *ellipsis,
        *not_implemented, *tensor, *parameter, *dtype, *device, *module, *autograd_function, *ctx,
        *exception;
};

struct lang_vm {
    struct eng *eng;
    struct lang_options options;

    struct lang_value *stack;
    struct lang_value *stack_end;
    struct lang_value *sp; /* first free one */
    struct lang_frame *frame;
    const char *c_stack; /* an address near its bottom */
    uint32_t depth;
    uint32_t free_depth;    /* objects dying inside objects that die */
    struct lang_obj **late; /* those put off because that got too deep */
    size_t late_count;
    size_t late_cap;

    uint64_t budget;     /* what is left of options.budget, + 1; 0: no end */
    uint64_t until_poll; /* statements until lang_budget_poll; 0: never */
    uint64_t poll_interval;
    bool failed;
    bool observed; /* the engine has an observer: emit who holds what */
    struct vs_error err;
    struct lang_value *parked; /* what frames left by a stopped re-run held, in order of dying */
    size_t parked_count;
    size_t parked_cap;

    struct lang_string **interned;
    size_t interned_count;
    size_t interned_cap;
    struct vs_table interned_by_hash;
    struct lang_string *names[LANG_NAME_COUNT];
    struct vs_pool pool;      /* all objects */
    struct lang_link tracked; /* ring of all objects that can be part of a cycle */
    struct lang_cache_entry cache[LANG_CACHE_SIZE];
    uint64_t classes_shape; /* another number whenever a class changes */
    struct lang_global_entry globals[LANG_GLOBALS_SIZE];

    struct lang_classes cls;
    const struct lang_instance_type *instance_type; /* set before any code runs, as the next two */
    const struct lang_tensor_type *tensor_type;
    const struct lang_module_type *module_type;
    struct lang_dict *builtins;
    struct lang_dict *spaces; /* modules by full name */
    struct lang_dict *warned; /* texts given already */
    struct lang_net *nets;
    struct lang_library *own_library; /* where none was given */
    struct vs_arena *library_arena;   /* names and codes of the library's nets */
    struct lang_op_set **op_sets;     /* lang/torch/bind.h: owned */
    size_t op_set_count;
    size_t op_set_cap;
    struct lang_item_names item_names;
    struct lang_tensor_names locations;
    uint32_t callbacks; /* the engine's, that run */
    uint32_t gathering; /* running torch.autograd.grad() calls */
    const char *func;   /* the place as set last */
    uint32_t line;
};

/* ---- objects ---- */

/* Empty everything that could hold itself: after this only what is held from outside is left. When the vm goes. */
void lang_cycles_break(struct lang_vm *vm);

/* ---- failures ---- */

/* The failure into `err`, for a caller outside; the machine and the engine work again. Returns its status. */
enum vs_status lang_failure_take(struct lang_vm *vm, struct vs_error *err);

/*
 * Note a failure at the innermost line of the net file. False, so that `return lang_fail(...)` is one line. A macro
 * because the compiler has to see the false: otherwise it takes what the caller had wanted for used though not set.
 */
void lang_fail_note(struct lang_vm *vm, enum vs_status status, const char *fmt, ...)
    VS_PRINTF(3, 4);
static inline bool lang_false(void)
{
    return false;
}
#define lang_fail(...) (lang_fail_note(__VA_ARGS__), lang_false())
/* With a second line (hint, may be NULL): what to write instead. */
void lang_fail_hint_note(struct lang_vm *vm, enum vs_status status, const char *hint,
                         const char *fmt, ...) VS_PRINTF(4, 5);
#define lang_fail_hint(...) (lang_fail_hint_note(__VA_ARGS__), lang_false())
/* The engine failed: note it with its place. Returns false. */
bool lang_fail_engine(struct lang_vm *vm);
/* A failure of the engine is pending: note it and return false; true where all is well. */
VS_MUST_USE bool lang_check_engine(struct lang_vm *vm);
/* "did you mean `x`?" among the names of a dict, or NULL. The text is a temporary of the vm. */
const char *lang_suggest(struct lang_vm *vm, const struct lang_dict *names, const char *wrong);

/* ---- the stack ---- */

/* Room for `count` more values, or a failure. */
VS_MUST_USE bool lang_reserve(struct lang_vm *vm, size_t count);

/* Room has been made: an expression leaves a few values only, see LANG_HEADROOM. */
static inline void lang_push(struct lang_vm *vm, struct lang_value taken)
{
    *vm->sp++ = taken;
}

static inline struct lang_value lang_pop(struct lang_vm *vm)
{
    return *--vm->sp;
}

/* Drop the topmost `count` values, lowest first, and leave `result` (taken) in their place. */
static inline void lang_replace(struct lang_vm *vm, uint32_t count, struct lang_value result)
{
    struct lang_value *at = vm->sp - count;

    for (uint32_t i = 0; i < count; i++)
        lang_drop(vm, at[i]);
    *at = result;
    vm->sp = at + 1;
}

/* Drop what lies from `at` up, topmost first. */
void lang_unwind(struct lang_vm *vm, struct lang_value *at);

/* ---- places ---- */

/* The line of the innermost frame becomes the engine's where that frame belongs to a net file. */
static inline void lang_line(struct lang_vm *vm, const struct lang_frame *f, uint32_t line)
{
    if (f->is_user && line != vm->line) {
        vm->line = line;
        eng_location_line(vm->eng, line);
    }
}

/* What is called from outside begins: so much budget, and 0: without an end. */
void lang_spend_begin(struct lang_vm *vm, uint64_t budget);
/*
 * One statement or turn of a loop more: false with a failure noted where the budget is spent, or somebody wants it to
 * stop.
 */
bool lang_budget_poll(struct lang_vm *vm);
static inline bool lang_spend(struct lang_vm *vm)
{
    return vm->until_poll == 0 || --vm->until_poll > 0 || lang_budget_poll(vm);
}

/*
 * An op on `count` tensors was called, which takes as long as so many statements: the next look comes sooner, unless
 * statements are counted.
 */
static inline void lang_spend_op(struct lang_vm *vm, uint32_t count)
{
    if (vm->until_poll > 1 && !vm->budget)
        vm->until_poll = count < vm->until_poll ? vm->until_poll - count : 1;
}

/* Deep recursion of the machine itself: false with a failure noted. */
VS_MUST_USE bool lang_check_depth(struct lang_vm *vm);

static inline struct lang_string *lang_name(struct lang_vm *vm, enum lang_name name)
{
    return vm->names[name];
}

#endif
