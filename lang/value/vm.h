/*
 * lang/value/vm.h - the virtual machine (vm) that runs nets: stack, frames, caches, failures.
 *
 * For:            the files of lang/ that run a net (not the parser).
 * Must not know:  files on disk, traces.
 * Invariant:      a vm belongs to one thread and one engine context. All its state is in struct lang_vm.
 *
 * A failure is noted once, with the source location where it happened. Every calling function then returns false, and
 * frames drop their values as they are left. No code of the net runs while a failure is noted.
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
#include "lang/value/warning.h"

#define LANG_STACK_VALUES                                                                          \
    (1u << 20)              /* address space is reserved; pages are touched only when used */
#define LANG_MAX_DEPTH 1000 /* nested calls, Python's recursion limit */
#define LANG_MAX_C_STACK (5u << 20) /* bytes of the C stack a run may use */
#define LANG_CACHE_SIZE 1024        /* class attribute cache, a power of two */
#define LANG_GLOBALS_SIZE 512       /* cache of global names, a power of two */

/* Names that the vm itself looks up. */
enum lang_name {
#define LANG_NAME(id, text) LANG_N_##id,
#include "lang/value/names.def"
#undef LANG_NAME
    LANG_NAME_COUNT
};

/* A file that has been loaded. */
struct lang_net {
    struct lang_net *next;
    struct vs_arena *arena; /* of names and codes; of a net file, also of its tree */
    const struct lang_module *module;
    struct lang_string **names;   /* by lang_str.id, interned */
    struct lang_rtcode *codes;    /* module->code_count of them, in the module's order */
    struct lang_rtcode **by_code; /* the same, sorted by the address of their trees */
    struct lang_namespace *space;
    bool is_user; /* a net file, whose lines and functions are locations in the trace */
    const char *
        scope; /* function name in the trace for all functions of this file; NULL: the name of each */
};

/* The runtime data of a code object of the tree, borrowed. O(log codes). */
const struct lang_rtcode *lang_net_code(const struct lang_net *net, const struct lang_code *code);
/*
 * A loaded file: its tree with the data needed to run it, which is allocated in `arena`. Its module-level names are
 * those of `space` (borrowed); for `scope` see struct lang_net. The vm owns the result, and the arena if it is a net
 * file.
 */
struct lang_net *lang_net_new(struct lang_vm *vm, const struct lang_module *module,
                              struct vs_arena *arena, struct lang_namespace *space,
                              const char *scope) VS_MUST_USE;

/*
 * The frame of a running function, class body or module.
 *
 * at      the expression being evaluated, for messages
 * step    index of the current operator in a chain of operators
 * names   dict of the names of a class body or module; else NULL
 * func_before, line_before  the location before the call, which is restored afterwards
 * result  the returned value while the frame is being left
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
struct lang_parts;

/* Precedes each object that can be part of a reference cycle. */
struct lang_link {
    struct lang_link *prev;
    struct lang_link *next;
};

struct lang_cache_entry {
    const struct lang_class *cls;
    const struct lang_string *name;
    uint64_t shape;          /* the entry is valid while it equals lang_vm.classes_shape */
    struct lang_value value; /* borrowed; unbound: there is no such attribute */
};

/*
 * Address of the value of a global name, found in the names of its file or in the builtins; valid while the shapes of
 * both dicts are unchanged.
 */
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
        *not_implemented, *variable, *tensor, *parameter, *dtype, *device, *module,
        *autograd_function, *ctx, *exception;
};

struct lang_vm {
    struct eng *eng;
    struct lang_options options;

    struct lang_value *stack;
    struct lang_value *stack_end;
    struct lang_value *sp; /* first free value */
    struct lang_frame *frame;
    const char *c_stack; /* an address near the bottom of the C stack */
    uint32_t depth;
    uint32_t free_depth; /* nesting of objects freed by objects that are freed */
    struct lang_obj *
        *late; /* objects whose release was deferred because the nesting got too deep */
    size_t late_count;
    size_t late_cap;

    uint64_t budget;     /* rest of options.budget plus 1; 0: unlimited */
    uint64_t until_poll; /* statements until lang_budget_poll; 0: never */
    uint64_t poll_interval;
    bool failed;
    bool observed; /* the engine has an observer: emit hold and drop events */
    struct vs_error err;
    struct lang_value
        *parked; /* values of the frames of a stopped recomputation, in the order to release them */
    size_t parked_count;
    size_t parked_cap;

    struct lang_string **interned;
    size_t interned_count;
    size_t interned_cap;
    struct vs_table interned_by_hash;
    struct lang_string *names[LANG_NAME_COUNT];
    struct vs_pool pool;      /* all objects */
    struct lang_link tracked; /* ring of all objects that can be part of a reference cycle */
    struct lang_cache_entry cache[LANG_CACHE_SIZE];
    uint64_t classes_shape; /* changes whenever a class changes */
    struct lang_global_entry globals[LANG_GLOBALS_SIZE];

    struct lang_classes cls;
    const struct lang_instance_type
        *instance_type; /* this and the next two are set before any code runs */
    const struct lang_tensor_type *tensor_type;
    const struct lang_module_type *module_type;
    struct lang_dict *builtins;
    struct lang_dict *spaces; /* modules by full name */
    struct lang_dict *warned; /* texts of the warnings given so far */
    struct lang_net *nets;
    struct lang_library *own_library; /* NULL if options.library was given */
    struct vs_arena *library_arena;   /* names and codes of the library's nets */
    struct lang_op_set **op_sets;     /* lang/torch/bind.h: owned */
    size_t op_set_count;
    size_t op_set_cap;
    struct lang_item_names item_names;
    struct lang_tensor_names tensor_names;
    uint32_t callbacks;       /* number of active callbacks from the engine */
    uint32_t gathering;       /* number of active torch.autograd.grad() calls */
    struct lang_parts *parts; /* lang/value/parts.h; NULL: nobody listens */
    const char *func;         /* the location set last, with `line` */
    uint32_t line;
};

/* ---- objects ---- */

/*
 * Clears all objects that can be part of a reference cycle, so that the cycles are freed. Called when the vm is freed.
 */
void lang_cycles_break(struct lang_vm *vm);
/*
 * gc.collect(): frees the reference cycles that nothing outside of them holds, and returns the number of their objects.
 * Never called by itself. O(objects).
 */
size_t lang_collect(struct lang_vm *vm);

/* ---- failures and warnings ---- */

/* A warning that PyTorch would give: reported once for each text in a run, with the line of the net. No event. */
void lang_warn(struct lang_vm *vm, const char *text);
/*
 * A warning of another kind (lang/value/warning.def); the same once for each text. lang_warn_at: about this line (0:
 * none) instead of the running one.
 */
void lang_warn_of(struct lang_vm *vm, enum lang_warning_kind kind, const char *text);
void lang_warn_at(struct lang_vm *vm, enum lang_warning_kind kind, const char *text, uint32_t line);

/* Moves the noted failure to `err` and clears it, so that vm and engine can be used again. Returns its status. */
enum vs_status lang_failure_take(struct lang_vm *vm, struct vs_error *err);

/*
 * Notes a failure at the innermost line of the net file. lang_fail(vm, status, fmt, ...) is false, so that a caller can
 * write `return lang_fail(...)`. It is a macro so that the compiler sees the constant; otherwise it warns about results
 * that might be used uninitialised.
 */
void lang_fail_note(struct lang_vm *vm, enum vs_status status, const char *fmt, ...)
    VS_PRINTF(3, 4);
static inline bool lang_false(void)
{
    return false;
}
#define lang_fail(...) (lang_fail_note(__VA_ARGS__), lang_false())
/* The same with a hint (may be NULL) on a second line that says what to write instead. */
void lang_fail_hint_note(struct lang_vm *vm, enum vs_status status, const char *hint,
                         const char *fmt, ...) VS_PRINTF(4, 5);
#define lang_fail_hint(...) (lang_fail_hint_note(__VA_ARGS__), lang_false())
/* Notes the engine's failure with its location. Returns false. */
bool lang_fail_engine(struct lang_vm *vm);
/* True where the engine has no failure; otherwise notes it and returns false. */
VS_MUST_USE bool lang_check_engine(struct lang_vm *vm);
/* "did you mean `x`?" for the most similar name in a dict, or NULL. The text lives as long as the vm. */
const char *lang_suggest(struct lang_vm *vm, const struct lang_dict *names, const char *wrong);

/* ---- the stack ---- */

/* Makes sure that `count` more values fit on the stack; false with a failure noted where they do not. */
VS_MUST_USE bool lang_reserve(struct lang_vm *vm, size_t count);

/* The caller has reserved space: a call reserves LANG_HEADROOM values, which is enough for one expression. */
static inline void lang_push(struct lang_vm *vm, struct lang_value taken)
{
    *vm->sp++ = taken;
}

static inline struct lang_value lang_pop(struct lang_vm *vm)
{
    return *--vm->sp;
}

/* Drops the topmost `count` values, lowest first, and pushes `result` (taken). */
static inline void lang_replace(struct lang_vm *vm, uint32_t count, struct lang_value result)
{
    struct lang_value *at = vm->sp - count;

    for (uint32_t i = 0; i < count; i++)
        lang_drop(vm, at[i]);
    *at = result;
    vm->sp = at + 1;
}

/* Drops the values from `at` to the top, topmost first. */
void lang_unwind(struct lang_vm *vm, struct lang_value *at);

/* ---- locations, budget, recursion ---- */

/* Makes `line` the engine's current line if the frame belongs to a net file. */
static inline void lang_line(struct lang_vm *vm, const struct lang_frame *f, uint32_t line)
{
    if (f->is_user && line != vm->line) {
        vm->line = line;
        eng_location_line(vm->eng, line);
    }
}

/* Sets the budget (statements and loop iterations, 0: unlimited) of a call from outside the vm. */
void lang_spend_begin(struct lang_vm *vm, uint64_t budget);
/*
 * lang_spend() counts one statement or loop iteration: false with a failure noted where the budget is spent or
 * options.stop returns true. lang_budget_poll() is its slow path, run only every few thousand statements.
 */
bool lang_budget_poll(struct lang_vm *vm);
static inline bool lang_spend(struct lang_vm *vm)
{
    return vm->until_poll == 0 || --vm->until_poll > 0 || lang_budget_poll(vm);
}

/*
 * An op on `count` tensors takes about as long as `count` statements: makes the next poll come sooner by that, unless
 * there is a budget, which counts statements only.
 */
static inline void lang_spend_op(struct lang_vm *vm, uint32_t count)
{
    if (vm->until_poll > 1 && !vm->budget)
        vm->until_poll = count < vm->until_poll ? vm->until_poll - count : 1;
}

/* False with a failure noted where calls are nested too deeply or the C stack is used up. */
VS_MUST_USE bool lang_check_depth(struct lang_vm *vm);

static inline struct lang_string *lang_name(struct lang_vm *vm, enum lang_name name)
{
    return vm->names[name];
}

#endif
