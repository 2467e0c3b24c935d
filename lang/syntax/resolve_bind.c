/*
 * lang/syntax/resolve_bind.c - see resolve_internal.h: finds the scope that binds each name.
 *
 * Must not know:  slots, the tree.
 * Invariant:      a captured name has a symbol in every scope between the one that binds it and the one that uses it.
 */
#include "lang/syntax/resolve_internal.h"

/* The scope whose frame runs a comprehension; the scope itself where it has code. */
static const struct resolve_scope *frame_of(const struct resolve_scope *scope)
{
    while (resolve_is_inlined(scope))
        scope = scope->parent;
    return scope;
}

/*
 * The enclosing scope of `scope` that binds `name` for it; NULL where there is none (the name is global). Class bodies
 * bind no names for inner scopes except `__class__`.
 */
static struct resolve_scope *binder(const struct resolver *r, const struct resolve_scope *scope,
                                    const struct lang_str *name)
{
    bool is_in_frame = resolve_is_inlined(scope);

    for (struct resolve_scope *s = scope->parent; s; s = s->parent) {
        const struct resolve_symbol *sym;

        if (resolve_is_class(s)) {
            if (name == r->class_name && !is_in_frame)
                return s;
            is_in_frame = false;
            continue;
        }
        if (resolve_is_module(s))
            return NULL;
        is_in_frame = is_in_frame && resolve_is_inlined(s);
        sym = resolve_find(r, s, name);
        if (!sym || (sym->flags & RESOLVE_NONLOCAL))
            continue;
        if (sym->flags & RESOLVE_GLOBAL)
            return NULL;
        if (sym->flags & RESOLVE_BOUND)
            return s;
    }
    return NULL;
}

/* Records that `scope` captures `name` of `from`, in both and in every scope between them. */
static void capture(struct resolver *r, struct resolve_scope *scope, struct resolve_scope *from,
                    const struct lang_str *name)
{
    for (struct resolve_scope *s = scope->parent; s != from; s = s->parent) {
        struct resolve_symbol *sym = resolve_get(r, s, name);

        if (resolve_is_class(s) && (sym->flags & (RESOLVE_BOUND | RESOLVE_GLOBAL)))
            sym->is_free_class = true;
        else
            sym->where = RESOLVE_IS_FREE;
    }
    if (frame_of(scope) == frame_of(from))
        return; /* a comprehension in the frame of the variable: no cell needed */
    if (resolve_is_class(from))
        from->has_class_cell = true;
    else
        resolve_get(r, from, name)->where = RESOLVE_IS_CELL;
}

static void bind_symbol(struct resolver *r, struct resolve_scope *scope, struct resolve_symbol *sym)
{
    struct resolve_scope *from;

    if (sym->flags & RESOLVE_GLOBAL) {
        sym->where = RESOLVE_IS_DECLARED_GLOBAL;
        return;
    }
    if (!(sym->flags & RESOLVE_NONLOCAL) && (sym->flags & RESOLVE_BOUND)) {
        if (sym->where != RESOLVE_IS_CELL)
            sym->where = RESOLVE_IS_LOCAL;
        return;
    }
    if (sym->where == RESOLVE_IS_FREE)
        return; /* recorded already, from an inner scope */
    from = resolve_is_module(scope) ? NULL : binder(r, scope, sym->name);
    if (from) {
        sym->where = RESOLVE_IS_FREE;
        capture(r, scope, from, sym->name);
    } else if (sym->flags & RESOLVE_NONLOCAL) {
        resolve_fail(r, sym->declared, "assign it in the enclosing function first",
                     "no enclosing function has a variable `%s`", sym->name->text);
    }
}

/* The variables of a comprehension below `scope` are slots of the frame that scope is part of. */
static void take_over(struct resolver *r, struct resolve_scope *scope,
                      const struct resolve_scope *comp)
{
    for (const struct resolve_symbol *sym = comp->symbols; sym; sym = sym->next) {
        struct resolve_symbol *own = resolve_find(r, scope, sym->name);

        if (!own) {
            own = resolve_get(r, scope, sym->name);
            own->flags = sym->flags;
            own->where = sym->where;
            own->is_copied = true;
        }
        if (sym->where == RESOLVE_IS_CELL || sym->is_comp_cell) {
            own->is_comp_cell = true;
            if (own->where == RESOLVE_IS_LOCAL && resolve_is_function(scope))
                own->where = RESOLVE_IS_CELL;
        }
    }
}

static void bind_all(struct resolver *r, struct resolve_scope *scope)
{
    for (struct resolve_symbol *sym = scope->symbols; sym; sym = sym->next)
        bind_symbol(r, scope, sym);
    for (struct resolve_scope *child = scope->first_child; child; child = child->next)
        bind_all(r, child);
}

static void take_over_all(struct resolver *r, struct resolve_scope *scope)
{
    for (struct resolve_scope *child = scope->first_child; child; child = child->next) {
        take_over_all(r, child);
        if (resolve_is_inlined(child))
            take_over(r, scope, child);
    }
}

void resolve_bind(struct resolver *r, struct resolve_scope *scope)
{
    bind_all(r, scope);
    take_over_all(r, scope);
}
