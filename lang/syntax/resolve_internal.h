/*
 * lang/syntax/resolve_internal.h - scopes and symbols, the data structures of name resolution.
 *
 * For:            resolve_collect.c (names by scope), resolve_bind.c (the scope that binds each name), resolve_slots.c
 *                 (their slots).
 * Must not know:  tokens, values.
 * Invariant:      all of it is allocated in an arena that is freed when lang_resolve() returns; the tree has no
 *                 pointers to it.
 */
#ifndef LANG_RESOLVE_INTERNAL_H
#define LANG_RESOLVE_INTERNAL_H

#include "base/table.h"
#include "lang/syntax/diag.h"
#include "lang/syntax/resolve.h"

/* How a name occurs in a scope. */
enum {
    RESOLVE_PARAM = 1 << 0,
    RESOLVE_LOCAL = 1 << 1, /* assigned, deleted, imported, defined */
    RESOLVE_USE = 1 << 2,
    RESOLVE_GLOBAL = 1 << 3,
    RESOLVE_NONLOCAL = 1 << 4,
    RESOLVE_ANNOTATED = 1 << 5,
    RESOLVE_ITERATION = 1 << 6, /* the variable of a comprehension's `for` */
    RESOLVE_BOUND = RESOLVE_PARAM | RESOLVE_LOCAL,
};

enum resolve_where {
    RESOLVE_IS_GLOBAL,
    RESOLVE_IS_DECLARED_GLOBAL,
    RESOLVE_IS_LOCAL,
    RESOLVE_IS_CELL, /* a local that inner functions capture */
    RESOLVE_IS_FREE, /* captured from an enclosing scope */
};

/*
 * A name in a scope.
 *
 * is_comp_cell   a comprehension that runs in this scope has a captured variable of this name
 * is_free_class  in a class body: the class binds the name, and its methods capture it from an enclosing scope
 * is_copied      the name belongs only to a comprehension that runs in this scope
 * var            slot among the locals plus 1; 0: none. Only in scopes with a code.
 * cell, free     slots, once the code is complete
 */
struct resolve_symbol {
    const struct lang_str *name;
    uint32_t flags;
    enum resolve_where where;
    bool is_comp_cell;
    bool is_free_class;
    bool is_copied;
    uint32_t var;
    uint32_t cell;
    uint32_t free;
    struct lang_span declared; /* of a `nonlocal`, for messages */
    struct resolve_symbol *next;
};

/*
 * code             NULL for a comprehension that runs in the enclosing frame
 * kind             of the code; of a list or dict comprehension unused
 * is_comp          a comprehension or generator expression
 * symbols          in the order of their first occurrence
 * has_class_cell   a class body with a method that needs `__class__`
 * in_iter, in_iter_target  while names are collected: inside the iterable, inside the target of a comprehension's `for`
 */
struct resolve_scope {
    uint32_t id;
    struct lang_code *code;
    bool is_comp;
    bool has_class_cell;
    uint32_t in_iter;
    bool in_iter_target;
    struct resolve_scope *parent;
    struct resolve_scope *first_child;
    struct resolve_scope *last_child;
    struct resolve_scope *next;
    struct resolve_symbol *symbols;
    struct resolve_symbol **symbols_end;
};

/* A hash map from 64-bit keys to pointers. */
struct resolve_pair {
    uint64_t key;
    void *value;
};
struct resolve_map {
    struct resolve_pair *items;
    size_t count;
    size_t cap;
    struct vs_table table;
};

struct resolver {
    struct lang_module *module;
    struct vs_arena *arena;   /* of the tree */
    struct vs_arena *scratch; /* of the scopes */
    struct lang_strs *strs;
    struct vs_error *err;
    bool failed;
    bool ignores_annotations; /* from __future__ import annotations */
    uint32_t scope_count;
    struct resolve_map symbols;        /* by scope id and string id */
    struct resolve_map scopes;         /* by address of the code or of the comprehension's node */
    const struct lang_str *class_name; /* "__class__" */
    const struct lang_str *super_name; /* "super" */
};

/* Records an error; only the first one is kept. The walk continues. */
void resolve_fail(struct resolver *r, struct lang_span span, const char *hint, const char *fmt, ...)
    VS_PRINTF(4, 5);

/* The symbol of a name in a scope: `find` returns NULL where there is none, `get` then adds it. */
struct resolve_symbol *resolve_find(const struct resolver *r, const struct resolve_scope *scope,
                                    const struct lang_str *name);
struct resolve_symbol *resolve_get(struct resolver *r, struct resolve_scope *scope,
                                   const struct lang_str *name);

struct resolve_scope *resolve_scope_new(struct resolver *r, struct resolve_scope *parent,
                                        const void *node);
struct resolve_scope *resolve_scope_of(const struct resolver *r, const void *node);

/* A comprehension that runs in the enclosing frame. */
static inline bool resolve_is_inlined(const struct resolve_scope *scope)
{
    return !scope->code;
}

static inline bool resolve_is_class(const struct resolve_scope *scope)
{
    return scope->code && scope->code->kind == LANG_CODE_CLASS;
}

static inline bool resolve_is_module(const struct resolve_scope *scope)
{
    return scope->code && scope->code->kind == LANG_CODE_MODULE;
}

/* Functions, lambdas, comprehensions: names bound there are variables, not entries of a dict. */
static inline bool resolve_is_function(const struct resolve_scope *scope)
{
    return !resolve_is_class(scope) && !resolve_is_module(scope);
}

/* Creates the scopes and records every name in them; returns the scope of the module. */
struct resolve_scope *resolve_collect(struct resolver *r);

/* Sets `where` of each symbol of `scope` and of all scopes inside it. */
void resolve_bind(struct resolver *r, struct resolve_scope *scope);

/*
 * Calls `fn` with each direct subexpression of `expr`, in the order of evaluation. Not for NAME, LAMBDA, COMP and
 * NAMED, which the callers handle themselves because they bind names or open a scope.
 */
typedef void resolve_expr_fn(void *user, struct lang_expr *expr);
void resolve_children(const struct lang_expr *expr, resolve_expr_fn *fn, void *user);

#endif
