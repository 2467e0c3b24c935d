/*
 * lang/value/object.h - the objects of the net language: what is in each, and how it is made.
 *
 * For:            everything in lang/ that runs a net.
 * Must not know:  frames, the engine's ops.
 * Invariant:      an object's death releases what it holds in CPython's order: lists and tuples from the last item to
 *                 the first, dicts and instances from the first entry to the last, a function its defaults before its
 *                 cells, a method its function before its object.
 *
 * `_new` gives a reference to the caller. Parameters called "taken" pass a reference over; all others are lent.
 */
#ifndef LANG_OBJECT_H
#define LANG_OBJECT_H

#include <stddef.h>

#include "lang/value/value.h"

struct lang_vm;
struct lang_code;
struct lang_net;
struct lang_holding; /* lang/value/hold.h: names that hold a container, for the trace */
struct lang_call;    /* lang/interp/call.h */

/* A function in C. Result in *out (the caller's reference); false: failed, message noted. */
typedef bool lang_native_fn(struct lang_vm *vm, const struct lang_call *call,
                            struct lang_value *out);

/* ---- strings ---- */

#define LANG_STR_INTERNED 1 /* head.flags: equal ones are one object */

/*
 * chars  code points; text is UTF-8, len bytes and a NUL
 * hash   0: not computed yet
 */
struct lang_string {
    struct lang_obj head;
    uint32_t len;
    uint32_t hash;
    uint32_t chars;
    char text[];
};

struct lang_string *lang_str_new(struct lang_vm *vm, const char *text, size_t len) VS_MUST_USE;
struct lang_value lang_str(struct lang_vm *vm, const char *text) VS_MUST_USE;
struct lang_value lang_str_printf(struct lang_vm *vm, const char *fmt, ...)
    VS_PRINTF(2, 3) VS_MUST_USE;
/* The one object with this text; it and its text live as long as the vm. Borrowed. */
struct lang_string *lang_intern(struct lang_vm *vm, const char *text, size_t len);
struct lang_string *lang_intern_text(struct lang_vm *vm, const char *text);
struct lang_string *lang_intern_str(struct lang_vm *vm, struct lang_string *str);
uint32_t lang_str_hash(struct lang_string *str);
bool lang_str_same(const struct lang_string *a, const struct lang_string *b);
bool lang_str_is(struct lang_value v, const char *text);

/* ---- tuples and lists ---- */

#define LANG_TUPLE_SIZE 1   /* head.flags: torch.Size */
#define LANG_TUPLE_VALUES 2 /* has .values and .indices */

struct lang_tuple {
    struct lang_obj head;
    uint32_t count;
    struct lang_holding *held_by;
    struct lang_value items[];
};

/* All items unbound: the caller fills them in. */
struct lang_tuple *lang_tuple_new(struct lang_vm *vm, uint32_t count) VS_MUST_USE;
struct lang_tuple *lang_tuple_pair(struct lang_vm *vm, struct lang_value a_taken,
                                   struct lang_value b_taken) VS_MUST_USE;
struct lang_tuple *lang_size_new(struct lang_vm *vm, const int64_t *sizes, int count) VS_MUST_USE;

struct lang_list {
    struct lang_obj head;
    uint32_t count;
    uint32_t cap;
    struct lang_value *items;
    struct lang_holding *held_by;
};

struct lang_list *lang_list_new(struct lang_vm *vm, uint32_t cap) VS_MUST_USE;
void lang_list_append(struct lang_vm *vm, struct lang_list *list, struct lang_value taken);
void lang_list_insert(struct lang_vm *vm, struct lang_list *list, uint32_t at,
                      struct lang_value taken);
/* The item at `at`, the caller's. */
struct lang_value lang_list_pop(struct lang_vm *vm, struct lang_list *list,
                                uint32_t at) VS_MUST_USE;
void lang_list_set(struct lang_vm *vm, struct lang_list *list, uint32_t at,
                   struct lang_value taken);
/*
 * Replace `count` items from `at` on by `new_count` values (taken); the old ones go last to first, when the new ones
 * are in.
 */
void lang_list_splice(struct lang_vm *vm, struct lang_list *list, uint32_t at, uint32_t count,
                      struct lang_value *taken, uint32_t new_count);

/* Items of a list or tuple, borrowed; false for anything else. */
bool lang_items(struct lang_value v, struct lang_value **items, uint32_t *count);

/* ---- dicts and sets ---- */

struct lang_entry {
    struct lang_value key; /* unbound: deleted */
    struct lang_value value;
    uint32_t hash;
};

/*
 * Entries in order of insertion.
 *
 * used   entries in use, deleted ones included; live: without them
 * index  open addressing over entries (entry + 1, 0 free) once there are more than a few; NULL before
 * has_strangers  a key is a string that is not interned: an equal one need not be the same
 * shape  another number whenever an entry comes or goes: while it is the same, values stay where they are
 */
struct lang_dict {
    struct lang_obj head;
    uint32_t used;
    uint32_t live;
    uint32_t cap;
    uint32_t index_size;
    uint32_t shape;
    bool has_strangers;
    struct lang_entry *entries;
    uint32_t *index;
    struct lang_holding *held_by;
};

struct lang_dict *lang_dict_new(struct lang_vm *vm) VS_MUST_USE;
/* By an interned name. Borrowed, NULL: none. Valid until the dict changes. */
struct lang_value *lang_dict_find(const struct lang_dict *dict, const struct lang_string *name);
/* key lent, value taken. */
void lang_dict_put(struct lang_vm *vm, struct lang_dict *dict, struct lang_string *name,
                   struct lang_value taken);
/* Take the entry out; unbound when there is none. The key goes at once, the value is the caller's. */
struct lang_value lang_dict_take(struct lang_vm *vm, struct lang_dict *dict,
                                 struct lang_string *name) VS_MUST_USE;

/* The same with any key. False: not hashable. *out is NULL (unbound) where there is none. */
VS_MUST_USE bool lang_dict_lookup(struct lang_vm *vm, const struct lang_dict *dict,
                                  struct lang_value key, struct lang_value **out);
VS_MUST_USE bool lang_dict_store(struct lang_vm *vm, struct lang_dict *dict, struct lang_value key,
                                 struct lang_value taken);
VS_MUST_USE bool lang_dict_remove(struct lang_vm *vm, struct lang_dict *dict, struct lang_value key,
                                  struct lang_value *out);
void lang_dict_clear(struct lang_vm *vm, struct lang_dict *dict);
/* The next live entry from *at on, which is moved behind it; NULL at the end. */
struct lang_entry *lang_dict_next(const struct lang_dict *dict, uint32_t *at);

struct lang_set {
    struct lang_obj head;
    struct lang_dict *keys; /* values None */
};

struct lang_set *lang_set_new(struct lang_vm *vm) VS_MUST_USE;

/* ---- small ones ---- */

struct lang_slice {
    struct lang_obj head;
    struct lang_value start;
    struct lang_value stop;
    struct lang_value step;
};

struct lang_slice *lang_slice_new(struct lang_vm *vm, struct lang_value start_taken,
                                  struct lang_value stop_taken,
                                  struct lang_value step_taken) VS_MUST_USE;

struct lang_range {
    struct lang_obj head;
    int64_t start;
    int64_t stop;
    int64_t step;
    int64_t count;
};

struct lang_range *lang_range_new(struct lang_vm *vm, int64_t start, int64_t stop,
                                  int64_t step) VS_MUST_USE;

/* A variable that functions share. `name` and `scope`: for the trace, NULL where it has none. */
struct lang_cell {
    struct lang_obj head;
    struct lang_value value;
    const char *name;
    const char *scope;
};

struct lang_cell *lang_cell_new(struct lang_vm *vm, struct lang_value taken) VS_MUST_USE;

struct lang_super {
    struct lang_obj head;
    struct lang_class *after; /* the search starts at its base */
    struct lang_value self;
};

enum lang_descriptor_kind { LANG_PROPERTY, LANG_STATICMETHOD, LANG_CLASSMETHOD };

struct lang_descriptor {
    struct lang_obj head;
    enum lang_descriptor_kind what;
    struct lang_value func;
    struct lang_value setter; /* of a property; None without */
};

struct lang_descriptor *lang_descriptor_new(struct lang_vm *vm, enum lang_descriptor_kind what,
                                            struct lang_value func) VS_MUST_USE;

/* A piece of C data. `release` (may be NULL) runs when the last reference goes. */
struct lang_opaque {
    struct lang_obj head;
    const char *type;
    void *data;
    void (*release)(struct lang_vm *vm, void *data);
};

struct lang_opaque *lang_opaque_new(struct lang_vm *vm, const char *type, void *data,
                                    void (*release)(struct lang_vm *vm, void *data)) VS_MUST_USE;

/* ---- functions ---- */

/* Code of a file that has been loaded: the tree, and what running it needs. Lives as long as its net. */
struct lang_rtcode {
    const struct lang_code *code;
    struct lang_net *net;
    struct lang_string *name;
    struct lang_string *qualname;
    struct lang_string **slot_names; /* interned, one a slot */
    const char *scope;               /* of its locals, in the trace; lives as long as the vm */
    bool is_plain; /* only positional parameters and no cells: arguments are slots as they come */
};

/*
 * defaults: one a parameter, unbound where it has none; cells: code->free_count of them. Each NULL where there are
 * none.
 */
struct lang_function {
    struct lang_obj head;
    const struct lang_rtcode *code;
    struct lang_value *defaults;
    struct lang_cell **cells;
    struct lang_dict *attrs; /* f.x = …; NULL before the first */
};

struct lang_function *lang_function_new(struct lang_vm *vm,
                                        const struct lang_rtcode *code) VS_MUST_USE;

struct lang_method {
    struct lang_obj head;
    struct lang_value func;
    struct lang_value self;
};

struct lang_method *lang_method_new(struct lang_vm *vm, struct lang_value func,
                                    struct lang_value self) VS_MUST_USE;

#define LANG_BUILTIN_BINDS 1     /* head.flags: found through a class it becomes a method */
#define LANG_BUILTIN_DECORATED 2 /* a function inside a context, see lang/interp/decorate.h */

/*
 * name     as messages call it ("torch.relu"); lives as long as the vm
 * data     the function's own, in C (a row of the op table)
 * closure  the function's own, a value; None without
 */
struct lang_builtin {
    struct lang_obj head;
    const char *name;
    lang_native_fn *fn;
    const void *data;
    struct lang_value closure;
};

struct lang_builtin *lang_builtin_new(struct lang_vm *vm, const char *name, lang_native_fn *fn,
                                      const void *data) VS_MUST_USE;

/* ---- classes ---- */

enum lang_class_flag {
    LANG_CLASS_NATIVE = 1,    /* made in C: its names are fixed for net files */
    LANG_CLASS_MODULE = 2,    /* nn.Module or derived from it */
    LANG_CLASS_FUNCTION = 4,  /* torch.autograd.Function or derived */
    LANG_CLASS_CTX = 8,       /* the ctx of one */
    LANG_CLASS_EXCEPTION = 16 /* Exception or derived */
};

/*
 * instance_kind  for `int`, `str`, …: the kind its instances have; LANG_INSTANCE otherwise
 * make           calling the class, where it is not "new instance, then __init__"; inherited. NULL: the ordinary way
 */
struct lang_class {
    struct lang_obj head;
    struct lang_string *name;
    struct lang_string *qualname;
    struct lang_class *base; /* NULL: none */
    struct lang_dict *names;
    uint32_t class_flags;
    enum lang_kind instance_kind;
    lang_native_fn *make;
};

struct lang_class *lang_class_new(struct lang_vm *vm, const char *name,
                                  struct lang_class *base) VS_MUST_USE;
/* The attribute of the class or of the nearest base that has it. Borrowed; unbound: none. `name` is interned. */
struct lang_value lang_class_find(struct lang_vm *vm, struct lang_class *cls,
                                  struct lang_string *name);
/* To be called after a change of any class's names. */
void lang_class_changed(struct lang_vm *vm);
bool lang_class_derives(const struct lang_class *cls, const struct lang_class *base);
/* The class of a value (borrowed). */
struct lang_class *lang_class_of(struct lang_vm *vm, struct lang_value v);
bool lang_isinstance(struct lang_vm *vm, struct lang_value v, const struct lang_class *cls);

struct lang_instance {
    struct lang_obj head;
    struct lang_class *cls;
    struct lang_dict *attrs;
};

/*
 * An instance of a class with LANG_CLASS_MODULE. The three dicts are also entries of attrs, which own them; NULL before
 * Module.__init__ has run.
 *
 * path  dotted path from the model, as in the trace; NULL before _name_modules; lives as long as the vm
 */
struct lang_module_instance {
    struct lang_instance base;
    struct lang_dict *params;
    struct lang_dict *buffers;
    struct lang_dict *modules;
    const char *path;
};

struct lang_instance *lang_instance_new(struct lang_vm *vm, struct lang_class *cls) VS_MUST_USE;

static inline struct lang_module_instance *lang_as_module(struct lang_value v)
{
    if (v.kind != LANG_INSTANCE || (v.as.instance->cls->class_flags & LANG_CLASS_MODULE) == 0)
        return NULL;
    return (struct lang_module_instance *)v.as.instance;
}

/* A module of names: torch, torch.nn, a net file. Names with a leading "_" are for files of the library only. */
struct lang_namespace {
    struct lang_obj head;
    struct lang_string *name; /* "torch.nn" */
    struct lang_dict *names;
    /* its attributes may be set and those with a leading "_" be seen (prelude files) */
    bool is_open;
};

struct lang_namespace *lang_namespace_new(struct lang_vm *vm, const char *name) VS_MUST_USE;

/* ---- memory of objects ---- */

/* Zeroed but for the head: one reference, `kind`. `size` is given again when the object is freed. */
void *lang_obj_new(struct lang_vm *vm, enum lang_kind kind, size_t size) VS_MUST_USE;
void lang_obj_release_memory(struct lang_vm *vm, struct lang_obj *obj, size_t size);

#endif
