/*
 * lang/value/value.h - a value of the net language: 16 bytes, reference counted as in CPython.
 *
 * For:            everything in lang/ that runs a net.
 * Must not know:  the syntax tree, frames, ops.
 * Invariant:      a stored struct lang_value owns one reference. Arguments of functions are borrowed unless the
 *                 function says that it takes them. An object is freed as soon as its last reference is
 *                 dropped.
 *
 * Numbers, None, booleans, dtypes and devices are stored in the value itself. A tensor value holds one reference to the
 * engine's tensor. Everything else is an object (lang/value/object.h). Objects in a reference
 * cycle live until gc.collect() (lang/value/cycles.c) or until the vm is freed, as in CPython with its automatic
 * collector off.
 */
#ifndef LANG_VALUE_H
#define LANG_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/dtype.h"
#include "engine/core/tensor.h"

struct lang_vm;

enum lang_kind {
    LANG_UNBOUND, /* an empty slot: no value of the language */
    LANG_NONE,
    LANG_BOOL,
    LANG_INT,
    LANG_FLOAT,
    LANG_ELLIPSIS,
    LANG_NOT_IMPLEMENTED,
    LANG_DTYPE,
    LANG_DEVICE, /* as.on_host */
    LANG_TENSOR,
    LANG_STR, /* this kind and all after it are objects */
    LANG_TUPLE,
    LANG_LIST,
    LANG_DICT,
    LANG_SET,
    LANG_SLICE,
    LANG_RANGE,
    LANG_FUNCTION,
    LANG_METHOD,
    LANG_BUILTIN,
    LANG_CLASS,
    LANG_INSTANCE,
    LANG_NAMESPACE,
    LANG_CELL,
    LANG_ITER,
    LANG_GENERATOR,
    LANG_SUPER,
    LANG_DESCRIPTOR, /* property, staticmethod, classmethod */
    LANG_CONTEXT,    /* torch.no_grad(), torch.autocast(...) */
    LANG_OPAQUE,     /* C data */
    LANG_KIND_COUNT
};

/* The head of every object. Objects are created only by the functions of lang/value/object.h. */
struct lang_obj {
    uint32_t refs;
    uint8_t kind; /* enum lang_kind */
    uint8_t flags;
    uint16_t unused;
};

struct lang_value {
    uint32_t kind; /* enum lang_kind */
    uint32_t unused;
    union {
        int64_t i; /* also of a bool: 0 or 1 */
        double f;
        enum vs_dtype dtype;
        bool on_host;
        struct eng_tensor *tensor;
        struct lang_obj *obj;
        struct lang_string *str;
        struct lang_tuple *tuple;
        struct lang_list *list;
        struct lang_dict *dict;
        struct lang_set *set;
        struct lang_slice *slice;
        struct lang_range *range;
        struct lang_function *function;
        struct lang_method *method;
        struct lang_builtin *builtin;
        struct lang_class *cls;
        struct lang_instance *instance;
        struct lang_namespace *space;
        struct lang_cell *cell;
        struct lang_iter *iter;
        struct lang_generator *generator;
        struct lang_super *super;
        struct lang_descriptor *descriptor;
        struct lang_context *context;
        struct lang_opaque *opaque;
    } as;
};

static inline struct lang_value lang_unbound(void)
{
    return (struct lang_value){.kind = LANG_UNBOUND};
}

static inline struct lang_value lang_none(void)
{
    return (struct lang_value){.kind = LANG_NONE};
}

static inline struct lang_value lang_bool(bool b)
{
    return (struct lang_value){.kind = LANG_BOOL, .as.i = b};
}

static inline struct lang_value lang_int(int64_t i)
{
    return (struct lang_value){.kind = LANG_INT, .as.i = i};
}

static inline struct lang_value lang_float(double f)
{
    return (struct lang_value){.kind = LANG_FLOAT, .as.f = f};
}

static inline struct lang_value lang_dtype(enum vs_dtype dtype)
{
    return (struct lang_value){.kind = LANG_DTYPE, .as.dtype = dtype};
}

static inline struct lang_value lang_device(bool on_host)
{
    return (struct lang_value){.kind = LANG_DEVICE, .as.on_host = on_host};
}

/* The value of a tensor, whose reference it takes over; NULL gives None. */
static inline struct lang_value lang_tensor(struct eng_tensor *t)
{
    if (t == NULL)
        return lang_none();
    return (struct lang_value){.kind = LANG_TENSOR, .as.tensor = t};
}

/* The value of an object of any kind, whose reference it takes over. */
static inline struct lang_value lang_object(void *object)
{
    struct lang_value v = {.kind = LANG_UNBOUND};

    v.as.obj = object;
    v.kind = v.as.obj->kind;
    return v;
}

static inline bool lang_is_object(struct lang_value v)
{
    return v.kind >= LANG_STR;
}

static inline bool lang_is_bound(struct lang_value v)
{
    return v.kind != LANG_UNBOUND;
}

/* An int or a bool, as isinstance(v, int). */
static inline bool lang_is_int(struct lang_value v)
{
    return v.kind == LANG_INT || v.kind == LANG_BOOL;
}

static inline bool lang_is_number(struct lang_value v)
{
    return v.kind == LANG_INT || v.kind == LANG_FLOAT || v.kind == LANG_BOOL;
}

/* The number as a float. */
static inline double lang_number(struct lang_value v)
{
    return v.kind == LANG_FLOAT ? v.as.f : (double)v.as.i;
}

/* A new reference to v. */
static inline struct lang_value lang_keep(struct lang_value v)
{
    if (v.kind >= LANG_STR)
        v.as.obj->refs++;
    else if (v.kind == LANG_TENSOR)
        eng_ref(v.as.tensor);
    return v;
}

/* Frees an object whose last reference was dropped; see object.c. */
void lang_obj_free(struct lang_vm *vm, struct lang_obj *obj);

/* Releases one reference. */
static inline void lang_drop(struct lang_vm *vm, struct lang_value v)
{
    if (v.kind >= LANG_STR) {
        if (--v.as.obj->refs == 0)
            lang_obj_free(vm, v.as.obj);
    } else if (v.kind == LANG_TENSOR) {
        eng_unref(v.as.tensor);
    }
}

static inline void lang_drop_obj(struct lang_vm *vm, void *object)
{
    struct lang_obj *obj = object;

    if (obj != NULL && --obj->refs == 0)
        lang_obj_free(vm, obj);
}

/* Stores v (taken) in *slot and then drops the old value. */
static inline void lang_assign(struct lang_vm *vm, struct lang_value *slot, struct lang_value v)
{
    struct lang_value old = *slot;

    *slot = v;
    lang_drop(vm, old);
}

/* Drops `count` values of an array, from the first to the last. */
void lang_drop_all(struct lang_vm *vm, struct lang_value *values, uint32_t count);

/* Python's name of the value's type: "int", "NoneType", "Tensor", "Net". Borrowed. */
const char *lang_type_name(struct lang_vm *vm, struct lang_value v);

/* `a is b`. */
bool lang_is_same(struct lang_value a, struct lang_value b);

/*
 * Both return false with a failure noted in vm where Python raises an exception.
 *
 * equal    a == b as `in` and dict keys compare: a tensor is equal only to itself
 * hash     the hash of a dict key; lists, dicts and sets have none
 */
VS_MUST_USE bool lang_equal(struct lang_vm *vm, struct lang_value a, struct lang_value b,
                            bool *out);
VS_MUST_USE bool lang_hash(struct lang_vm *vm, struct lang_value v, uint32_t *out);

#endif
