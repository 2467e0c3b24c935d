/*
 * lang/syntax/resolve.c - see resolve.h: the tables of scopes and symbols, and the order of the steps.
 *
 * Must not know:  tokens, values.
 * Invariant:      a map has each key once.
 */
#include "lang/syntax/resolve.h"

#include <stdarg.h>
#include <string.h>

#include "base/hash.h"
#include "lang/syntax/resolve_internal.h"
#include "lang/syntax/resolve_slots.h"

void resolve_fail(struct resolver *r, struct lang_span span, const char *hint, const char *fmt, ...)
{
    va_list ap;

    if (r->failed)
        return;
    r->failed = true;
    va_start(ap, fmt);
    lang_diagv(r->err, VS_E_SYNTAX, r->module->source, span, hint, fmt, ap);
    va_end(ap);
}

/* ---- the map ---- */

static void *map_get(const struct resolve_map *map, uint64_t key)
{
    struct vs_probe probe = vs_probe(vs_hash_number(key));

    while (vs_table_next(&map->table, &probe))
        if (map->items[probe.item].key == key)
            return map->items[probe.item].value;
    return NULL;
}

/* The key is not there. */
static void map_put(struct resolve_map *map, uint64_t key, void *value)
{
    vs_table_add(&map->table, vs_hash_number(key), map->count);
    map->items = vs_grow(map->items, map->count, &map->cap, sizeof(*map->items));
    map->items[map->count++] = (struct resolve_pair){key, value};
}

static void map_release(struct resolve_map *map)
{
    vs_free(map->items);
    vs_table_release(&map->table);
    memset(map, 0, sizeof(*map));
}

/* ---- scopes and symbols ---- */

static uint64_t symbol_key(const struct resolve_scope *scope, const struct lang_str *name)
{
    return ((uint64_t)scope->id << 32 | name->id) + 1;
}

struct resolve_symbol *resolve_find(const struct resolver *r, const struct resolve_scope *scope,
                                    const struct lang_str *name)
{
    return map_get(&r->symbols, symbol_key(scope, name));
}

struct resolve_symbol *resolve_get(struct resolver *r, struct resolve_scope *scope,
                                   const struct lang_str *name)
{
    struct resolve_symbol *sym = resolve_find(r, scope, name);

    if (sym)
        return sym;
    sym = vs_arena_calloc(r->scratch, 1, sizeof(*sym));
    sym->name = name;
    *scope->symbols_end = sym;
    scope->symbols_end = &sym->next;
    map_put(&r->symbols, symbol_key(scope, name), sym);
    return sym;
}

struct resolve_scope *resolve_scope_new(struct resolver *r, struct resolve_scope *parent,
                                        const void *node)
{
    struct resolve_scope *scope = vs_arena_calloc(r->scratch, 1, sizeof(*scope));

    scope->id = ++r->scope_count;
    scope->parent = parent;
    scope->symbols_end = &scope->symbols;
    if (parent) {
        if (parent->last_child)
            parent->last_child->next = scope;
        else
            parent->first_child = scope;
        parent->last_child = scope;
    }
    map_put(&r->scopes, (uint64_t)(uintptr_t)node, scope);
    return scope;
}

struct resolve_scope *resolve_scope_of(const struct resolver *r, const void *node)
{
    struct resolve_scope *scope = map_get(&r->scopes, (uint64_t)(uintptr_t)node);

    VS_ASSERT(scope);
    return scope;
}

/* ---- the steps ---- */

/* Under `from __future__ import annotations` the names in annotations are ignored. */
static bool ignores_annotations(const struct lang_block *body)
{
    for (uint32_t i = 0; i < body->count; i++) {
        const struct lang_stmt *stmt = body->stmts[i];

        if (stmt->kind != LANG_STMT_IMPORT_FROM ||
            strcmp(stmt->u.import.module->text, "__future__") != 0)
            return false;
        for (uint32_t k = 0; k < stmt->u.import.count; k++)
            if (strcmp(stmt->u.import.names[k].path->text, "annotations") == 0)
                return true;
    }
    return false;
}

enum vs_status lang_resolve(struct lang_module *module, struct vs_arena *arena,
                            struct lang_strs *strs, struct vs_error *err)
{
    struct resolver r;
    struct resolve_scope *root;

    VS_ASSERT(module && arena && strs && err);
    memset(&r, 0, sizeof(r));
    r.module = module;
    r.arena = arena;
    r.scratch = vs_arena_new();
    r.strs = strs;
    r.err = err;
    r.ignores_annotations = ignores_annotations(&module->code->body);
    r.class_name = lang_strs_get(strs, "__class__", 9);
    r.super_name = lang_strs_get(strs, "super", 5);
    root = resolve_collect(&r);
    if (!r.failed)
        resolve_bind(&r, root);
    if (!r.failed)
        resolve_slots(&r);
    map_release(&r.symbols);
    map_release(&r.scopes);
    vs_arena_free(r.scratch);
    return r.failed ? VS_E_SYNTAX : VS_OK;
}
