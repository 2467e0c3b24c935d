/*
 * lang/syntax/resolve_frame.c - see resolve_frame.h.
 *
 * Must not know:  statements and expressions.
 * Invariant:      see resolve_frame.h.
 */
#include "lang/syntax/resolve_frame.h"

#include <stdlib.h>
#include <string.h>

enum patch_kind {
    PATCH_CELL,       /* the own cell of `sym` */
    PATCH_FREE,       /* the captured cell of `sym` */
    PATCH_CLASS_CELL, /* the cell `__class__` of a class body */
};

struct resolve_patch {
    uint32_t *slot;
    const struct resolve_symbol *sym;
    enum patch_kind kind;
};

/* ---- locals ---- */

static uint32_t local_slot(struct resolve_frame *f, struct resolve_symbol *sym)
{
    if (!sym->var) {
        f->vars = vs_grow(f->vars, f->var_count, &f->var_cap, sizeof(struct resolve_symbol *));
        f->vars[f->var_count++] = sym;
        sym->var = (uint32_t)f->var_count;
    }
    return sym->var - 1;
}

static void patch(struct resolve_frame *f, uint32_t *slot, const struct resolve_symbol *sym,
                  enum patch_kind kind)
{
    struct resolve_patch *p;

    f->patches = vs_grow(f->patches, f->patch_count, &f->patch_cap, sizeof(*f->patches));
    p = &f->patches[f->patch_count++];
    p->slot = slot;
    p->sym = sym;
    p->kind = kind;
    *slot = 0;
}

void resolve_frame_init(struct resolve_frame *f, struct resolver *r, struct lang_code *code,
                        struct resolve_frame *around)
{
    memset(f, 0, sizeof(*f));
    f->r = r;
    f->code = code;
    f->around = around;
    f->scope = resolve_scope_of(r, code->kind == LANG_CODE_GENERATOR ? (const void *)code->value
                                                                     : (const void *)code);
    f->inner = f->scope;
    code->is_method_like = around && around->code->kind == LANG_CODE_CLASS;
    code->parent = around ? around->code : NULL;
    for (uint32_t i = 0; i < code->param_count; i++)
        (void)local_slot(f, resolve_get(r, f->scope, code->params[i].name));
    if (code->kind == LANG_CODE_GENERATOR)
        (void)local_slot(f, resolve_get(r, f->scope, lang_strs_get(r->strs, ".0", 2)));
}

/* ---- names ---- */

/*
 * What `name` is where the walk stands, and whose symbol says so: that of a comprehension which binds it, or
 * the frame's own. *is_comps: the former.
 */
static struct resolve_symbol *meaning(const struct resolve_frame *f, const struct lang_str *name,
                                      bool *is_comps)
{
    struct resolve_symbol *first = NULL;
    struct resolve_symbol *sym;

    *is_comps = true;
    for (const struct resolve_scope *s = f->inner; s != f->scope; s = s->parent) {
        sym = resolve_find(f->r, s, name);
        if (!sym || sym->is_copied)
            continue;
        first = first ? first : sym;
        if (sym->where == RESOLVE_IS_LOCAL || sym->where == RESOLVE_IS_CELL)
            return sym;
    }
    sym = resolve_find(f->r, f->scope, name);
    VS_ASSERT(sym);
    *is_comps = first && (sym->is_copied || resolve_is_class(f->scope));
    return *is_comps ? first : sym;
}

static void resolve_name(struct resolve_frame *f, struct lang_ref *ref, bool is_load)
{
    bool is_class = resolve_is_class(f->scope);
    bool is_comps;
    struct resolve_symbol *sym = meaning(f, ref->name, &is_comps);
    struct resolve_symbol *own = resolve_find(f->r, f->scope, ref->name);
    bool is_dict = !is_comps && !resolve_is_function(f->scope);

    ref->scope = LANG_SCOPE_GLOBAL;
    ref->slot = 0;
    switch (sym->where) {
    case RESOLVE_IS_DECLARED_GLOBAL:
        break;
    case RESOLVE_IS_GLOBAL:
        if (is_dict && is_class)
            ref->scope = LANG_SCOPE_CLASS;
        break;
    case RESOLVE_IS_LOCAL:
        if (is_dict && is_class) {
            ref->scope = LANG_SCOPE_CLASS;
        } else if (!is_dict) {
            ref->scope = LANG_SCOPE_LOCAL;
            ref->slot = local_slot(f, own);
        }
        break;
    case RESOLVE_IS_CELL:
        ref->scope = LANG_SCOPE_CELL;
        patch(f, &ref->slot, own, PATCH_CELL);
        break;
    case RESOLVE_IS_FREE:
        ref->scope = is_dict && is_load ? LANG_SCOPE_CLASS_CELL : LANG_SCOPE_CELL;
        patch(f, &ref->slot, own, PATCH_FREE);
        break;
    }
}

void resolve_frame_load(struct resolve_frame *f, struct lang_ref *ref)
{
    resolve_name(f, ref, true);
}

void resolve_frame_store(struct resolve_frame *f, struct lang_ref *ref)
{
    resolve_name(f, ref, false);
}

void resolve_frame_hide(struct resolve_frame *f, const struct lang_str *name,
                        struct lang_hidden *out)
{
    out->slot = local_slot(f, resolve_find(f->r, f->scope, name));
    out->make_cell = resolve_find(f->r, f->inner, name)->where == RESOLVE_IS_CELL;
}

/* ---- the layout ---- */

static int by_name(const void *a, const void *b)
{
    const struct resolve_symbol *const *x = a;
    const struct resolve_symbol *const *y = b;

    return strcmp((*x)->name->text,
                  (*y)->name->text); /* names hold no NUL; UTF-8 sorts as code points do */
}

static bool is_own_cell(const struct resolve_frame *f, const struct resolve_symbol *sym)
{
    if (sym->is_comp_cell)
        return true;
    return sym->where == RESOLVE_IS_CELL && resolve_is_function(f->scope);
}

static bool is_captured(const struct resolve_symbol *sym)
{
    return sym->is_free_class || (sym->where == RESOLVE_IS_FREE && !sym->is_copied);
}

/* The symbols that `is` picks, by name; *count of them. From the scratch arena. */
static struct resolve_symbol **sorted_symbols(const struct resolve_frame *f, bool is_free,
                                              uint32_t *count)
{
    struct resolve_symbol **list;
    uint32_t n = 0;

    for (const struct resolve_symbol *sym = f->scope->symbols; sym; sym = sym->next)
        n += is_free ? is_captured(sym) : is_own_cell(f, sym) && !sym->var;
    list = vs_arena_alloc(f->r->scratch, (n + 1) * sizeof(struct resolve_symbol *));
    *count = 0;
    for (struct resolve_symbol *sym = f->scope->symbols; sym; sym = sym->next)
        if (is_free ? is_captured(sym) : is_own_cell(f, sym) && !sym->var)
            list[(*count)++] = sym;
    qsort(list, n, sizeof(struct resolve_symbol *), by_name);
    return list;
}

static void put_slot(struct lang_code *code, uint32_t at, const struct lang_str *name, bool is_cell,
                     bool is_free)
{
    code->slots[at].name = name;
    code->slots[at].is_cell = is_cell;
    code->slots[at].is_free = is_free;
    code->makes_cells = code->makes_cells || is_cell;
}

static void lay_out(struct resolve_frame *f)
{
    struct lang_code *code = f->code;
    bool has_class_cell = f->scope->has_class_cell;
    struct resolve_symbol **cells = sorted_symbols(f, false, &code->cell_count);
    struct resolve_symbol **frees = sorted_symbols(f, true, &code->free_count);
    uint32_t at = 0;

    code->local_count = (uint32_t)f->var_count;
    code->slot_count = code->local_count + code->cell_count + has_class_cell + code->free_count;
    code->slots = code->slot_count
                      ? vs_arena_calloc(f->r->arena, code->slot_count, sizeof(*code->slots))
                      : NULL;
    for (size_t i = 0; i < f->var_count; i++) {
        f->vars[i]->cell = at;
        put_slot(code, at++, f->vars[i]->name, is_own_cell(f, f->vars[i]), false);
    }
    for (uint32_t i = 0; i < code->cell_count; i++) {
        cells[i]->cell = at;
        put_slot(code, at++, cells[i]->name, true, false);
    }
    if (has_class_cell) {
        code->class_cell = at;
        put_slot(code, at++, f->r->class_name, true, false);
        code->cell_count++;
    }
    for (uint32_t i = 0; i < code->free_count; i++) {
        frees[i]->free = at;
        if (frees[i]->name == f->r->class_name && code->kind != LANG_CODE_CLASS)
            code->class_cell = at;
        put_slot(code, at++, frees[i]->name, false, true);
    }
}

/* Sets `captures`: the slots of the enclosing frame that have the captured cells. */
static void set_captures(struct resolve_frame *f)
{
    struct lang_code *code = f->code;
    struct resolve_frame *around = f->around;
    const struct lang_slot *frees;

    if (!code->free_count)
        return;
    frees = code->slots + (code->slot_count - code->free_count);
    code->captures = vs_arena_calloc(f->r->arena, code->free_count, sizeof(*code->captures));
    for (uint32_t i = 0; i < code->free_count; i++) {
        bool is_comps;
        const struct resolve_symbol *sym;
        const struct resolve_symbol *own = resolve_find(f->r, around->scope, frees[i].name);

        if (around->scope->has_class_cell && frees[i].name == f->r->class_name) {
            patch(around, &code->captures[i], NULL, PATCH_CLASS_CELL);
            continue;
        }
        sym = meaning(around, frees[i].name, &is_comps);
        if (sym->where == RESOLVE_IS_CELL)
            patch(around, &code->captures[i], own, PATCH_CELL);
        else
            patch(around, &code->captures[i], own, PATCH_FREE);
    }
}

void resolve_frame_finish(struct resolve_frame *f)
{
    struct lang_code *code = f->code;

    lay_out(f);
    for (size_t i = 0; i < f->patch_count; i++) {
        const struct resolve_patch *p = &f->patches[i];

        switch (p->kind) {
        case PATCH_CELL:
            *p->slot = p->sym->cell;
            break;
        case PATCH_FREE:
            *p->slot = p->sym->free;
            break;
        case PATCH_CLASS_CELL:
            *p->slot = code->class_cell;
            break;
        }
        VS_ASSERT(code->slots[*p->slot].is_cell || code->slots[*p->slot].is_free);
    }
    if (f->around)
        set_captures(f);
    vs_free(f->vars);
    vs_free(f->patches);
}
