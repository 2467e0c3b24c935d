/*
 * lang/value/object.h - the objects of the net language: their fields and constructors.
 *
 * For:            everything in lang/ that runs a net.
 * Must not know:  frames, the engine's ops.
 * Invariant:      an object that is freed releases its members in CPython's order: lists and tuples from the last item
 *                 to the first, dicts and instances from the first entry to the last, a function its defaults before
 *                 its cells, a method its function before its self.
 *
 * Functions `_new` return a new reference. Parameters named "taken" transfer ownership of a reference to the function;
 * all other parameters are borrowed. The functions here cannot fail unless they say so.
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

/* A function written in C. Sets *out to a new reference and returns true; false: a failure has been noted in vm. */
typedef bool lang_native_fn(struct lang_vm *vm, const struct lang_call *call,
                            struct lang_value *out);

/* ---- strings ---- */

#define LANG_STR_INTERNED 1 /* head.flags: equal interned strings are the same object */

/*
 * chars  number of code points; text is UTF-8, `len` bytes and a NUL
 * hash   0: not computed yet; read it with lang_str_hash()
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
/* The interned string with this text, borrowed; it and its text live as long as the vm. */
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

/* A tuple of `count` unbound items, which the caller fills in. */
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
/* Removes the item at index `at` and returns it; the reference passes to the caller. */
struct lang_value lang_list_pop(struct lang_vm *vm, struct lang_list *list,
                                uint32_t at) VS_MUST_USE;
void lang_list_set(struct lang_vm *vm, struct lang_list *list, uint32_t at,
                   struct lang_value taken);
/*
 * Replaces `count` items from index `at` by `new_count` values (taken). The old items are released afterwards, from the
 * last to the first.
 */
void lang_list_splice(struct lang_vm *vm, struct lang_list *list, uint32_t at, uint32_t count,
                      struct lang_value *taken, uint32_t new_count);

/* Sets *items and *count to the items of a list or tuple, borrowed; false for any other value. */
bool lang_items(struct lang_value v, struct lang_value **items, uint32_t *count);

/* ---- dicts and sets ---- */

struct lang_entry {
    struct lang_value key; /* unbound: deleted */
    struct lang_value value;
    uint32_t hash;
};

/*
 * A dict; its entries are in insertion order.
 *
 * used   number of entries including deleted ones; live: number of entries without them
 * index  hash table with open addressing: index of an entry plus 1, 0 for a free slot; NULL for a small dict
 * has_strangers  some key is a string that is not interned, so keys cannot be compared by pointer
 * shape  changes whenever an entry is added or removed; while it is the same, values stay at their addresses
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
/* The value of an interned name, borrowed until the dict changes; NULL where there is none. */
struct lang_value *lang_dict_find(const struct lang_dict *dict, const struct lang_string *name);
/* dict[name] = taken. */
void lang_dict_put(struct lang_vm *vm, struct lang_dict *dict, struct lang_string *name,
                   struct lang_value taken);
/* Removes the entry and returns its value, whose reference passes to the caller; unbound where there is none. */
struct lang_value lang_dict_take(struct lang_vm *vm, struct lang_dict *dict,
                                 struct lang_string *name) VS_MUST_USE;

/*
 * Look up (*out is borrowed, NULL where there is none), store and remove (*out is the value, whose reference passes to
 * the caller, unbound where there is none) with any key. False with a failure noted: the key is not hashable.
 */
VS_MUST_USE bool lang_dict_lookup(struct lang_vm *vm, const struct lang_dict *dict,
                                  struct lang_value key, struct lang_value **out);
VS_MUST_USE bool lang_dict_store(struct lang_vm *vm, struct lang_dict *dict, struct lang_value key,
                                 struct lang_value taken);
VS_MUST_USE bool lang_dict_remove(struct lang_vm *vm, struct lang_dict *dict, struct lang_value key,
                                  struct lang_value *out);
void lang_dict_clear(struct lang_vm *vm, struct lang_dict *dict);
/* The next live entry from position *at, which is advanced past it; NULL at the end. Start with *at = 0. */
struct lang_entry *lang_dict_next(const struct lang_dict *dict, uint32_t *at);

struct lang_set {
    struct lang_obj head;
    struct lang_dict *keys; /* values None */
};

struct lang_set *lang_set_new(struct lang_vm *vm) VS_MUST_USE;

/* ---- slices, ranges, cells, super, descriptors ---- */

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

/* A variable shared by functions. `name` and `scope` are those of its hold events; NULL where it has none. */
struct lang_cell {
    struct lang_obj head;
    struct lang_value value;
    const char *name;
    const char *scope;
};

struct lang_cell *lang_cell_new(struct lang_vm *vm, struct lang_value taken) VS_MUST_USE;

struct lang_super {
    struct lang_obj head;
    struct lang_class *after; /* attributes are searched from its base on */
    struct lang_value self;
};

enum lang_descriptor_kind { LANG_PROPERTY, LANG_STATICMETHOD, LANG_CLASSMETHOD };

struct lang_descriptor {
    struct lang_obj head;
    enum lang_descriptor_kind what;
    struct lang_value func;
    struct lang_value setter; /* of a property; None where it has none */
};

struct lang_descriptor *lang_descriptor_new(struct lang_vm *vm, enum lang_descriptor_kind what,
                                            struct lang_value func) VS_MUST_USE;

/* C data as an object. `release` (may be NULL) is called with it when the last reference is dropped. */
struct lang_opaque {
    struct lang_obj head;
    const char *type;
    void *data;
    void (*release)(struct lang_vm *vm, void *data);
};

struct lang_opaque *lang_opaque_new(struct lang_vm *vm, const char *type, void *data,
                                    void (*release)(struct lang_vm *vm, void *data)) VS_MUST_USE;

/* ---- functions ---- */

/* A code object of a loaded file: its syntax tree and the data needed to run it. Lives as long as its net. */
struct lang_rtcode {
    const struct lang_code *code;
    struct lang_net *net;
    struct lang_string *name;
    struct lang_string *qualname;
    struct lang_string **slot_names; /* interned, one per slot */
    const char *scope; /* scope of its locals in hold events; lives as long as the vm */
    bool is_plain;     /* only positional parameters and no cells: the arguments are the slots */
};

/*
 * A function written in the net language. defaults: one per parameter, unbound where it has none; cells: the captured
 * cells, code->free_count of them. Both are NULL where there are none.
 */
struct lang_function {
    struct lang_obj head;
    const struct lang_rtcode *code;
    struct lang_value *defaults;
    struct lang_cell **cells;
    struct lang_dict *attrs; /* attributes set with f.x = …; NULL where there are none */
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

#define LANG_BUILTIN_BINDS 1     /* head.flags: becomes a bound method when found through a class */
#define LANG_BUILTIN_DECORATED 2 /* a function inside a context, see lang/interp/decorate.h */

/*
 * A function written in C.
 *
 * name     name in messages ("torch.relu"); lives as long as the vm
 * data     data for fn (a row of the op table)
 * closure  a value for fn; None where it has none
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
    LANG_CLASS_NATIVE = 1,    /* built in: net files cannot change its names */
    LANG_CLASS_MODULE = 2,    /* nn.Module or a subclass */
    LANG_CLASS_FUNCTION = 4,  /* torch.autograd.Function or a subclass */
    LANG_CLASS_CTX = 8,       /* the class of the ctx of a Function */
    LANG_CLASS_EXCEPTION = 16 /* Exception or a subclass */
};

/*
 * instance_kind  the kind of its instances: LANG_INT for `int` and so on, LANG_INSTANCE for classes of a net
 * make           runs when the class is called; inherited. NULL: a new instance is created and __init__ called
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
/* The attribute of the class or of its nearest base that has it, borrowed; unbound: none. `name` must be interned. */
struct lang_value lang_class_find(struct lang_vm *vm, struct lang_class *cls,
                                  struct lang_string *name);
/* Must be called after the names of any class have changed: invalidates the cache of class attributes. */
void lang_class_changed(struct lang_vm *vm);
bool lang_class_derives(const struct lang_class *cls, const struct lang_class *base);
/* The class of a value, borrowed. */
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
 * path  dotted path from the model, as in the trace; lives as long as the vm; NULL until the model's modules are named
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

/* A Python module: torch, torch.nn, a net file. Names with a leading "_" are visible to files of the library only. */
struct lang_namespace {
    struct lang_obj head;
    struct lang_string *name; /* "torch.nn" */
    struct lang_dict *names;
    /* its attributes may be set, and those with a leading "_" are visible (prelude files) */
    bool is_open;
};

struct lang_namespace *lang_namespace_new(struct lang_vm *vm, const char *name) VS_MUST_USE;

/* ---- memory of objects ---- */

/* Mutable objects can become part of a reference cycle; they are linked in the ring vm->tracked. */
bool lang_is_tracked(enum lang_kind kind);
/* Sets all attributes to None, in order; their drop events come before each is released. scope: the class's name. */
void lang_attrs_clear(struct lang_vm *vm, struct lang_dict *attrs, const char *scope);

/*
 * Memory for an object of `size` bytes, zeroed except for the head (one reference, `kind`). The same `size` must be
 * passed when its memory is released.
 */
void *lang_obj_new(struct lang_vm *vm, enum lang_kind kind, size_t size) VS_MUST_USE;
void lang_obj_release_memory(struct lang_vm *vm, struct lang_obj *obj, size_t size);

#endif
