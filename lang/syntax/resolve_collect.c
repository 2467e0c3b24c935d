/*
 * lang/syntax/resolve_collect.c - see resolve_internal.h: finds the names of each scope.
 *
 * Must not know:  slots.
 * Invariant:      names of a comprehension are recorded in CPython's order (targets and conditions, then the element),
 *                 because they are saved and restored in that order.
 */
#include "lang/syntax/resolve_internal.h"

struct collector {
    struct resolver *r;
    struct resolve_scope *scope;
};

static void visit(void *user, struct lang_expr *expr);
static void block(struct collector *c, const struct lang_block *body);

/* ---- symbols ---- */

static void note(struct collector *c, const struct lang_str *name, uint32_t flag,
                 struct lang_span span)
{
    struct resolve_symbol *sym = resolve_get(c->r, c->scope, name);

    if ((flag & RESOLVE_PARAM) && (sym->flags & RESOLVE_PARAM))
        resolve_fail(c->r, span, NULL, "two parameters are called `%s`", name->text);
    if (c->scope->in_iter_target) {
        if (sym->flags & (RESOLVE_GLOBAL | RESOLVE_NONLOCAL))
            resolve_fail(c->r, span, "give one of them another name",
                         "`%s` is bound by `:=` and by `for` in one comprehension", name->text);
        sym->flags |= RESOLVE_ITERATION;
    }
    sym->flags |= flag;
}

static struct resolve_scope *enter(struct collector *c, const void *node, struct lang_code *code)
{
    struct resolve_scope *around = c->scope;
    struct resolve_scope *scope = resolve_scope_new(c->r, around, node);

    scope->code = code;
    scope->in_iter = around ? around->in_iter : 0;
    c->scope = scope;
    return around;
}

/* A walrus in comprehensions binds its name in the function or module that encloses them all. */
static void note_walrus(struct collector *c, const struct lang_expr *target)
{
    const struct lang_str *name = target->u.name.name;
    struct resolve_scope *inner = c->scope;
    struct resolve_scope *scope = inner;
    struct resolve_symbol *sym;

    for (; scope->is_comp; scope = scope->parent) {
        sym = resolve_find(c->r, scope, name);
        if (sym && (sym->flags & RESOLVE_ITERATION) &&
            (sym->flags & (RESOLVE_LOCAL | RESOLVE_GLOBAL)))
            resolve_fail(c->r, target->span, "give it another name",
                         "`:=` cannot bind `%s`, the variable of the comprehension", name->text);
    }
    if (resolve_is_class(scope)) {
        resolve_fail(c->r, target->span, "use a loop",
                     "`:=` inside a comprehension in the body of a class");
        return;
    }
    sym = resolve_get(c->r, scope, name);
    if (resolve_is_module(scope)) {
        resolve_get(c->r, inner, name)->flags |= RESOLVE_GLOBAL;
        sym->flags |= RESOLVE_LOCAL;
        return;
    }
    resolve_get(c->r, inner, name)->flags |=
        sym->flags & RESOLVE_GLOBAL ? RESOLVE_GLOBAL : RESOLVE_NONLOCAL;
    sym->flags |= RESOLVE_LOCAL;
}

/* ---- expressions ---- */

static void visit_all(struct collector *c, const struct lang_exprs *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        visit(c, list->items[i]);
}

/* A target: names in it are bound, everything else is read. */
static void target(struct collector *c, struct lang_expr *expr)
{
    switch (expr->kind) {
    case LANG_EXPR_NAME:
        note(c, expr->u.name.name, RESOLVE_LOCAL, expr->span);
        return;
    case LANG_EXPR_TUPLE:
    case LANG_EXPR_LIST:
        for (uint32_t i = 0; i < expr->u.list.count; i++)
            target(c, expr->u.list.items[i]);
        return;
    case LANG_EXPR_STARRED:
        target(c, expr->u.starred);
        return;
    default: /* attributes and items */
        visit(c, expr);
        return;
    }
}

static void comp_iter(struct collector *c, struct lang_expr *iter)
{
    c->scope->in_iter++;
    visit(c, iter);
    c->scope->in_iter--;
}

static void comp_for(struct collector *c, const struct lang_comp_for *each)
{
    c->scope->in_iter_target = true;
    target(c, each->target);
    c->scope->in_iter_target = false;
}

static void comprehension(struct collector *c, const struct lang_expr *expr)
{
    const struct lang_comp *comp = &expr->u.comp;
    struct resolve_scope *around;

    comp_iter(c, comp->fors[0].iter);
    around = enter(c, expr, comp->code);
    c->scope->is_comp = true;
    for (uint32_t i = 0; i < comp->for_count; i++) {
        comp_for(c, &comp->fors[i]);
        if (i > 0)
            comp_iter(c, comp->fors[i].iter);
        visit_all(c, &comp->fors[i].conds);
    }
    if (comp->value)
        visit(c, comp->value);
    visit(c, comp->elt);
    c->scope = around;
}

static void params(struct collector *c, const struct lang_code *code)
{
    for (uint32_t i = 0; i < code->param_count; i++)
        note(c, code->params[i].name, RESOLVE_PARAM, code->params[i].span);
}

static void defaults(struct collector *c, const struct lang_code *code)
{
    for (uint32_t i = 0; i < code->param_count; i++)
        if (code->params[i].default_value)
            visit(c, code->params[i].default_value);
}

static void lambda(struct collector *c, struct lang_code *code)
{
    struct resolve_scope *around;

    defaults(c, code);
    around = enter(c, code, code);
    params(c, code);
    visit(c, code->value);
    c->scope = around;
}

static void name(struct collector *c, const struct lang_expr *expr)
{
    note(c, expr->u.name.name, RESOLVE_USE, expr->span);
    if (expr->u.name.name == c->r->super_name && resolve_is_function(c->scope))
        note(c, c->r->class_name, RESOLVE_USE, expr->span);
}

static void named(struct collector *c, const struct lang_expr *expr)
{
    if (c->scope->in_iter)
        resolve_fail(c->r, expr->span, "assign it on a line before",
                     "`:=` inside the iterable of a comprehension");
    else if (c->scope->is_comp)
        note_walrus(c, expr->u.named.target);
    visit(c, expr->u.named.value);
    target(c, expr->u.named.target);
}

static void maybe(struct collector *c, struct lang_expr *expr)
{
    if (expr)
        visit(c, expr);
}

static void visit(void *user, struct lang_expr *expr)
{
    struct collector *c = user;

    switch (expr->kind) {
    case LANG_EXPR_NAME:
        name(c, expr);
        return;
    case LANG_EXPR_LAMBDA:
        lambda(c, expr->u.lambda);
        return;
    case LANG_EXPR_COMP:
        comprehension(c, expr);
        return;
    case LANG_EXPR_NAMED:
        named(c, expr);
        return;
    default: /* kinds that bind no name and open no scope */
        resolve_children(expr, visit, c);
        return;
    }
}

/* ---- statements ---- */

static void annotation(struct collector *c, struct lang_expr *expr)
{
    if (expr && !c->r->ignores_annotations)
        visit(c, expr);
}

static void def(struct collector *c, const struct lang_stmt *stmt)
{
    struct lang_code *code = stmt->u.def.code;
    struct resolve_scope *around;

    note(c, stmt->u.def.bind.name, RESOLVE_LOCAL, stmt->u.def.at);
    defaults(c, code);
    for (uint32_t i = 0; i < code->param_count; i++)
        annotation(c, code->params[i].annotation);
    annotation(c, code->returns);
    visit_all(c, &stmt->u.def.decorators);
    around = enter(c, code, code);
    params(c, code);
    block(c, &code->body);
    c->scope = around;
}

static void class_def(struct collector *c, const struct lang_stmt *stmt)
{
    struct lang_code *code = stmt->u.class_def.code;
    struct resolve_scope *around;

    note(c, stmt->u.class_def.bind.name, RESOLVE_LOCAL, stmt->u.class_def.at);
    maybe(c, stmt->u.class_def.base);
    visit_all(c, &stmt->u.class_def.decorators);
    around = enter(c, code, code);
    block(c, &code->body);
    c->scope = around;
}

static void declare(struct collector *c, const struct lang_stmt *stmt, uint32_t flag,
                    const char *word)
{
    if (flag == RESOLVE_NONLOCAL && resolve_is_module(c->scope))
        resolve_fail(c->r, stmt->span, NULL, "`nonlocal` outside a function");
    for (uint32_t i = 0; i < stmt->u.names.count; i++) {
        const struct lang_str *each = stmt->u.names.names[i];
        const struct resolve_symbol *sym = resolve_find(c->r, c->scope, each);
        uint32_t flags = sym ? sym->flags : 0;

        if (flags & RESOLVE_PARAM)
            resolve_fail(c->r, stmt->span, NULL, "`%s` is a parameter and %s", each->text, word);
        else if (flags & (RESOLVE_USE | RESOLVE_LOCAL | RESOLVE_ANNOTATED))
            resolve_fail(c->r, stmt->span, "put the declaration first",
                         "`%s` is used before it is declared %s", each->text, word);
        else if (flags & (RESOLVE_GLOBAL | RESOLVE_NONLOCAL) & ~flag)
            resolve_fail(c->r, stmt->span, NULL, "`%s` is nonlocal and global", each->text);
        note(c, each, flag, stmt->span);
        resolve_get(c->r, c->scope, each)->declared = stmt->span;
    }
}

static void annotate(struct collector *c, const struct lang_stmt *stmt)
{
    struct lang_expr *to = stmt->u.annotate.target;

    if (to->kind == LANG_EXPR_NAME) {
        const struct resolve_symbol *sym = resolve_find(c->r, c->scope, to->u.name.name);

        if (stmt->u.annotate.is_simple && sym && !resolve_is_module(c->scope) &&
            (sym->flags & (RESOLVE_GLOBAL | RESOLVE_NONLOCAL)))
            resolve_fail(c->r, to->span, "leave the annotation out",
                         "`%s` belongs to another scope and cannot be annotated here",
                         to->u.name.name->text);
        if (stmt->u.annotate.is_simple)
            note(c, to->u.name.name, RESOLVE_LOCAL | RESOLVE_ANNOTATED, to->span);
        else if (stmt->u.annotate.value)
            note(c, to->u.name.name, RESOLVE_LOCAL, to->span);
    } else {
        visit(c, to);
    }
    annotation(c, stmt->u.annotate.annotation);
    maybe(c, stmt->u.annotate.value);
}

static void imports(struct collector *c, const struct lang_stmt *stmt)
{
    for (uint32_t i = 0; i < stmt->u.import.count; i++)
        note(c, stmt->u.import.names[i].bind.name, RESOLVE_LOCAL, stmt->u.import.names[i].span);
}

static void branch(struct collector *c, const struct lang_stmt *stmt)
{
    for (uint32_t i = 0; i < stmt->u.branch.count; i++) {
        visit(c, stmt->u.branch.clauses[i].test);
        block(c, &stmt->u.branch.clauses[i].body);
    }
    block(c, &stmt->u.branch.otherwise);
}

static void with(struct collector *c, const struct lang_stmt *stmt)
{
    for (uint32_t i = 0; i < stmt->u.with.count; i++) {
        visit(c, stmt->u.with.items[i].context);
        if (stmt->u.with.items[i].target)
            target(c, stmt->u.with.items[i].target);
    }
    block(c, &stmt->u.with.body);
}

static void loop(struct collector *c, const struct lang_stmt *stmt)
{
    if (stmt->kind == LANG_STMT_FOR) {
        target(c, stmt->u.for_loop.target);
        visit(c, stmt->u.for_loop.iter);
        block(c, &stmt->u.for_loop.body);
        block(c, &stmt->u.for_loop.otherwise);
    } else {
        visit(c, stmt->u.while_loop.test);
        block(c, &stmt->u.while_loop.body);
        block(c, &stmt->u.while_loop.otherwise);
    }
}

static void statement(struct collector *c, const struct lang_stmt *stmt)
{
    switch (stmt->kind) {
    case LANG_STMT_EXPR:
    case LANG_STMT_RETURN:
        maybe(c, stmt->u.expr);
        return;
    case LANG_STMT_ASSIGN:
        for (uint32_t i = 0; i < stmt->u.assign.targets.count; i++)
            target(c, stmt->u.assign.targets.items[i]);
        visit(c, stmt->u.assign.value);
        return;
    case LANG_STMT_AUGMENT:
        target(c, stmt->u.augment.target);
        visit(c, stmt->u.augment.value);
        return;
    case LANG_STMT_ANNOTATE:
        annotate(c, stmt);
        return;
    case LANG_STMT_DEL:
        for (uint32_t i = 0; i < stmt->u.targets.count; i++)
            target(c, stmt->u.targets.items[i]);
        return;
    case LANG_STMT_IF:
        branch(c, stmt);
        return;
    case LANG_STMT_FOR:
    case LANG_STMT_WHILE:
        loop(c, stmt);
        return;
    case LANG_STMT_BREAK:
    case LANG_STMT_CONTINUE:
    case LANG_STMT_PASS:
        return;
    case LANG_STMT_ASSERT:
        visit(c, stmt->u.assertion.test);
        maybe(c, stmt->u.assertion.message);
        return;
    case LANG_STMT_RAISE:
        maybe(c, stmt->u.raise.value);
        maybe(c, stmt->u.raise.cause);
        return;
    case LANG_STMT_WITH:
        with(c, stmt);
        return;
    case LANG_STMT_DEF:
        def(c, stmt);
        return;
    case LANG_STMT_CLASS:
        class_def(c, stmt);
        return;
    case LANG_STMT_IMPORT:
    case LANG_STMT_IMPORT_FROM:
        imports(c, stmt);
        return;
    case LANG_STMT_GLOBAL:
        declare(c, stmt, RESOLVE_GLOBAL, "global");
        return;
    case LANG_STMT_NONLOCAL:
        declare(c, stmt, RESOLVE_NONLOCAL, "nonlocal");
        return;
    }
}

static void block(struct collector *c, const struct lang_block *body)
{
    for (uint32_t i = 0; i < body->count; i++)
        statement(c, body->stmts[i]);
}

struct resolve_scope *resolve_collect(struct resolver *r)
{
    struct collector c = {r, NULL};
    struct lang_code *code = r->module->code;

    (void)enter(&c, code, code);
    block(&c, &code->body);
    return c.scope;
}
