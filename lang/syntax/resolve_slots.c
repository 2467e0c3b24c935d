/*
 * lang/syntax/resolve_slots.c - see resolve_slots.h.
 *
 * Must not know:  how slots are numbered: resolve_frame.c.
 * Invariant:      the order of every walk here is the order of evaluation in CPython's byte code, which is the order in
 *                 which its compiler gives locals their slots (3.12: Python/compile.c).
 */
#include "lang/syntax/resolve_slots.h"

#include <string.h>

#include "lang/syntax/resolve_frame.h"

/* frame: of the code that is being walked; codes: those visited so far */
struct walker {
    struct resolver *r;
    struct resolve_frame *frame;
    struct lang_code **codes;
    size_t code_count;
    size_t code_cap;
};

static void load(void *user, struct lang_expr *expr);
static void block(struct walker *w, const struct lang_block *body);

/* ---- codes ---- */

/*
 * "Net.forward", "f.<locals>.g". `bound` is the name that a def or class binds, NULL for code without one. A name
 * declared global in the enclosing code has no path.
 */
static const struct lang_str *qualname(struct walker *w, const struct lang_code *code,
                                       const struct lang_str *bound)
{
    const struct lang_code *around = code->parent;
    bool has_locals = around && (around->kind == LANG_CODE_DEF || around->kind == LANG_CODE_LAMBDA);
    const struct resolve_symbol *sym;
    char *text;

    if (!around || around->kind == LANG_CODE_MODULE)
        return code->name;
    sym = bound ? resolve_find(w->r, w->frame->scope, bound) : NULL;
    if (sym && sym->where == RESOLVE_IS_DECLARED_GLOBAL)
        return code->name;
    text = vs_arena_printf(w->r->scratch, "%s%s.%s", around->qualname->text,
                           has_locals ? ".<locals>" : "", code->name->text);
    return lang_strs_get(w->r->strs, text, strlen(text));
}

static void comp_loops(struct walker *w, struct lang_comp *comp);

static void enter_code(struct walker *w, struct lang_code *code, const struct lang_str *bound)
{
    struct resolve_frame frame;

    w->codes = vs_grow(w->codes, w->code_count, &w->code_cap, sizeof(struct lang_code *));
    w->codes[w->code_count++] = code;
    resolve_frame_init(&frame, w->r, code, w->frame);
    code->qualname = qualname(w, code, bound);
    w->frame = &frame;
    if (code->kind == LANG_CODE_LAMBDA)
        load(w, code->value);
    else if (code->kind == LANG_CODE_GENERATOR)
        comp_loops(w, &code->value->u.comp);
    else
        block(w, &code->body);
    w->frame = frame.around;
    resolve_frame_finish(&frame);
}

/* ---- expressions ---- */

static void load_all(struct walker *w, const struct lang_exprs *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        load(w, list->items[i]);
}

static void maybe(struct walker *w, struct lang_expr *expr)
{
    if (expr)
        load(w, expr);
}

/* A target that is bound or deleted. */
static void store(struct walker *w, struct lang_expr *expr)
{
    switch (expr->kind) {
    case LANG_EXPR_NAME:
        resolve_frame_store(w->frame, &expr->u.name);
        return;
    case LANG_EXPR_TUPLE:
    case LANG_EXPR_LIST:
        for (uint32_t i = 0; i < expr->u.list.count; i++)
            store(w, expr->u.list.items[i]);
        return;
    case LANG_EXPR_STARRED:
        store(w, expr->u.starred);
        return;
    default: /* attributes and items: their object is read */
        load(w, expr);
        return;
    }
}

/* Targets, conditions and the element; the first iterable has been visited outside. */
static void comp_loops(struct walker *w, struct lang_comp *comp)
{
    for (uint32_t i = 0; i < comp->for_count; i++) {
        if (i > 0)
            load(w, comp->fors[i].iter);
        store(w, comp->fors[i].target);
        load_all(w, &comp->fors[i].conds);
    }
    load(w, comp->elt);
    maybe(w, comp->value);
}

static void hide_variables(struct walker *w, struct lang_comp *comp)
{
    const struct resolve_scope *scope = w->frame->inner;
    uint32_t n = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (const struct resolve_symbol *sym = scope->symbols; sym; sym = sym->next) {
            if (!(sym->flags & RESOLVE_LOCAL) || (sym->flags & RESOLVE_NONLOCAL))
                continue;
            if (pass == 0)
                n++;
            else
                resolve_frame_hide(w->frame, sym->name, &comp->hidden[comp->hidden_count++]);
        }
        if (pass == 0)
            comp->hidden = vs_arena_calloc(w->r->arena, n + 1, sizeof(*comp->hidden));
    }
}

static void comprehension(struct walker *w, struct lang_expr *expr)
{
    struct lang_comp *comp = &expr->u.comp;
    struct resolve_scope *outer = w->frame->inner;

    if (comp->code) {
        enter_code(w, comp->code, NULL);
        load(w, comp->fors[0].iter);
        return;
    }
    load(w, comp->fors[0].iter);
    w->frame->inner = resolve_scope_of(w->r, expr);
    hide_variables(w, comp);
    comp_loops(w, comp);
    w->frame->inner = outer;
}

static void defaults(struct walker *w, const struct lang_code *code)
{
    for (uint32_t i = 0; i < code->param_count; i++)
        maybe(w, code->params[i].default_value);
}

static void load(void *user, struct lang_expr *expr)
{
    struct walker *w = user;

    switch (expr->kind) {
    case LANG_EXPR_NAME:
        resolve_frame_load(w->frame, &expr->u.name);
        return;
    case LANG_EXPR_LAMBDA:
        defaults(w, expr->u.lambda);
        enter_code(w, expr->u.lambda, NULL);
        return;
    case LANG_EXPR_COMP:
        comprehension(w, expr);
        return;
    case LANG_EXPR_NAMED:
        load(w, expr->u.named.value);
        store(w, expr->u.named.target);
        return;
    default: /* kinds that bind no name and open no scope */
        resolve_children(expr, load, w);
        return;
    }
}

/* ---- statements ---- */

/* An annotation that CPython evaluates, and what is below it even where it does not. */
static void annotation(struct walker *w, struct lang_expr *expr)
{
    if (expr && !w->r->ignores_annotations)
        load(w, expr);
}

static void def(struct walker *w, struct lang_stmt *stmt)
{
    struct lang_code *code = stmt->u.def.code;

    load_all(w, &stmt->u.def.decorators);
    defaults(w, code);
    for (uint32_t i = 0; i < code->param_count; i++)
        annotation(w, code->params[i].annotation);
    annotation(w, code->returns);
    enter_code(w, code, stmt->u.def.bind.name);
    resolve_frame_store(w->frame, &stmt->u.def.bind);
}

static void class_def(struct walker *w, struct lang_stmt *stmt)
{
    load_all(w, &stmt->u.class_def.decorators);
    enter_code(w, stmt->u.class_def.code, stmt->u.class_def.bind.name);
    maybe(w, stmt->u.class_def.base);
    resolve_frame_store(w->frame, &stmt->u.class_def.bind);
}

static void annotate(struct walker *w, struct lang_stmt *stmt)
{
    struct lang_expr *target = stmt->u.annotate.target;
    bool is_name = target->kind == LANG_EXPR_NAME;

    if (stmt->u.annotate.value)
        load(w, stmt->u.annotate.value);
    if (stmt->u.annotate.value || !is_name)
        store(w, target);
    if (!resolve_is_function(w->frame->scope))
        annotation(w, stmt->u.annotate.annotation);
}

static void branch(struct walker *w, const struct lang_stmt *stmt)
{
    for (uint32_t i = 0; i < stmt->u.branch.count; i++) {
        load(w, stmt->u.branch.clauses[i].test);
        block(w, &stmt->u.branch.clauses[i].body);
    }
    block(w, &stmt->u.branch.otherwise);
}

static void loop(struct walker *w, const struct lang_stmt *stmt)
{
    if (stmt->kind == LANG_STMT_FOR) {
        load(w, stmt->u.for_loop.iter);
        store(w, stmt->u.for_loop.target);
        block(w, &stmt->u.for_loop.body);
        block(w, &stmt->u.for_loop.otherwise);
    } else {
        load(w, stmt->u.while_loop.test);
        block(w, &stmt->u.while_loop.body);
        block(w, &stmt->u.while_loop.otherwise);
    }
}

static void with(struct walker *w, const struct lang_stmt *stmt)
{
    for (uint32_t i = 0; i < stmt->u.with.count; i++) {
        load(w, stmt->u.with.items[i].context);
        if (stmt->u.with.items[i].target)
            store(w, stmt->u.with.items[i].target);
    }
    block(w, &stmt->u.with.body);
}

static void statement(struct walker *w, struct lang_stmt *stmt)
{
    switch (stmt->kind) {
    case LANG_STMT_EXPR:
    case LANG_STMT_RETURN:
        maybe(w, stmt->u.expr);
        return;
    case LANG_STMT_ASSIGN:
        load(w, stmt->u.assign.value);
        for (uint32_t i = 0; i < stmt->u.assign.targets.count; i++)
            store(w, stmt->u.assign.targets.items[i]);
        return;
    case LANG_STMT_AUGMENT:
        store(w, stmt->u.augment.target);
        load(w, stmt->u.augment.value);
        return;
    case LANG_STMT_ANNOTATE:
        annotate(w, stmt);
        return;
    case LANG_STMT_DEL:
        for (uint32_t i = 0; i < stmt->u.targets.count; i++)
            store(w, stmt->u.targets.items[i]);
        return;
    case LANG_STMT_IF:
        branch(w, stmt);
        return;
    case LANG_STMT_FOR:
    case LANG_STMT_WHILE:
        loop(w, stmt);
        return;
    case LANG_STMT_BREAK:
    case LANG_STMT_CONTINUE:
    case LANG_STMT_PASS:
    case LANG_STMT_GLOBAL:
    case LANG_STMT_NONLOCAL:
        return;
    case LANG_STMT_ASSERT:
        load(w, stmt->u.assertion.test);
        maybe(w, stmt->u.assertion.message);
        return;
    case LANG_STMT_RAISE:
        maybe(w, stmt->u.raise.value);
        maybe(w, stmt->u.raise.cause);
        return;
    case LANG_STMT_WITH:
        with(w, stmt);
        return;
    case LANG_STMT_DEF:
        def(w, stmt);
        return;
    case LANG_STMT_CLASS:
        class_def(w, stmt);
        return;
    case LANG_STMT_IMPORT:
    case LANG_STMT_IMPORT_FROM:
        for (uint32_t i = 0; i < stmt->u.import.count; i++)
            resolve_frame_store(w->frame, &stmt->u.import.names[i].bind);
        return;
    }
}

static void block(struct walker *w, const struct lang_block *body)
{
    for (uint32_t i = 0; i < body->count; i++)
        statement(w, body->stmts[i]);
}

void resolve_slots(struct resolver *r)
{
    struct walker w = {r, NULL, NULL, 0, 0};
    struct lang_module *module = r->module;

    enter_code(&w, module->code, NULL);
    module->code_count = (uint32_t)w.code_count;
    module->codes = vs_arena_alloc(r->arena, w.code_count * sizeof(*module->codes));
    memcpy(module->codes, w.codes, w.code_count * sizeof(*module->codes));
    vs_free(w.codes);
}
