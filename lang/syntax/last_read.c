/*
 * lang/syntax/last_read.c - see last_read.h.
 */
#include "lang/syntax/last_read.h"

#include <string.h>

#include "base/mem.h"
#include "lang/syntax/resolve_internal.h"

/*
 * A statement of the function; of a compound one, what stands in its header. parent: index of the compound statement
 * around it; NONE: it is in the function's own block. block, at: where it stands.
 */
#define NONE SIZE_MAX
struct site {
    const struct lang_stmt *stmt;
    const struct lang_block *block;
    uint32_t at;
    size_t parent;
    bool reads;
    bool binds;
};

/* The statements in the order of the text. `now` is that whose expressions are walked. */
struct walk {
    const struct lang_str *name;
    struct site *sites;
    size_t count;
    size_t cap;
    size_t now;
};

/* ---- reads and binds of one statement ---- */

static void on_expr(void *user, struct lang_expr *expr);

static void walk_comp(struct walk *w, const struct lang_comp *comp)
{
    for (uint32_t i = 0; i < comp->for_count; i++) {
        on_expr(w, comp->fors[i].iter);
        for (uint32_t k = 0; k < comp->fors[i].conds.count; k++)
            on_expr(w, comp->fors[i].conds.items[k]);
    }
    on_expr(w, comp->elt);
    if (comp->value)
        on_expr(w, comp->value);
}

static void on_expr(void *user, struct lang_expr *expr)
{
    struct walk *w = user;

    if (expr->kind == LANG_EXPR_NAME) {
        w->sites[w->now].reads |= expr->u.name.name == w->name;
    } else if (expr->kind == LANG_EXPR_COMP) {
        walk_comp(w, &expr->u.comp);
    } else if (expr->kind == LANG_EXPR_NAMED) {
        w->sites[w->now].binds |= expr->u.named.target->u.name.name == w->name;
        on_expr(w, expr->u.named.value);
    } else if (expr->kind != LANG_EXPR_LAMBDA) {
        resolve_children(expr, on_expr, w);
    }
}

static void walk_maybe(struct walk *w, struct lang_expr *expr)
{
    if (expr)
        on_expr(w, expr);
}

/* A target binds the names in it; attributes and items read theirs. */
static void walk_target(struct walk *w, struct lang_expr *target)
{
    if (target->kind == LANG_EXPR_NAME)
        w->sites[w->now].binds |= target->u.name.name == w->name;
    else if (target->kind == LANG_EXPR_STARRED)
        walk_target(w, target->u.starred);
    else if (target->kind == LANG_EXPR_TUPLE || target->kind == LANG_EXPR_LIST)
        for (uint32_t i = 0; i < target->u.list.count; i++)
            walk_target(w, target->u.list.items[i]);
    else
        on_expr(w, target);
}

static void walk_targets(struct walk *w, const struct lang_exprs *targets)
{
    for (uint32_t i = 0; i < targets->count; i++)
        walk_target(w, targets->items[i]);
}

/* ---- statements ---- */

static void walk_block(struct walk *w, const struct lang_block *block, size_t parent);

static void walk_with(struct walk *w, const struct lang_stmt *stmt)
{
    for (uint32_t i = 0; i < stmt->u.with.count; i++) {
        on_expr(w, stmt->u.with.items[i].context);
        if (stmt->u.with.items[i].target)
            walk_target(w, stmt->u.with.items[i].target);
    }
    walk_block(w, &stmt->u.with.body, w->now);
}

static void walk_if(struct walk *w, const struct lang_stmt *stmt)
{
    const size_t at = w->now;

    for (uint32_t i = 0; i < stmt->u.branch.count; i++) {
        w->now = at;
        on_expr(w, stmt->u.branch.clauses[i].test);
        walk_block(w, &stmt->u.branch.clauses[i].body, at);
    }
    walk_block(w, &stmt->u.branch.otherwise, at);
}

static void walk_for(struct walk *w, const struct lang_stmt *stmt)
{
    const size_t at = w->now;

    on_expr(w, stmt->u.for_loop.iter);
    walk_target(w, stmt->u.for_loop.target);
    walk_block(w, &stmt->u.for_loop.body, at);
    walk_block(w, &stmt->u.for_loop.otherwise, at);
}

static void walk_while(struct walk *w, const struct lang_stmt *stmt)
{
    const size_t at = w->now;

    on_expr(w, stmt->u.while_loop.test);
    walk_block(w, &stmt->u.while_loop.body, at);
    walk_block(w, &stmt->u.while_loop.otherwise, at);
}

static void walk_stmt(struct walk *w, const struct lang_stmt *stmt)
{
    switch (stmt->kind) {
    case LANG_STMT_EXPR:
    case LANG_STMT_RETURN:
        walk_maybe(w, stmt->u.expr);
        return;
    case LANG_STMT_ASSIGN:
        on_expr(w, stmt->u.assign.value);
        walk_targets(w, &stmt->u.assign.targets);
        return;
    case LANG_STMT_AUGMENT:
        on_expr(w, stmt->u.augment.target);
        on_expr(w, stmt->u.augment.value);
        walk_target(w, stmt->u.augment.target);
        return;
    case LANG_STMT_ANNOTATE:
        walk_maybe(w, stmt->u.annotate.value);
        walk_target(w, stmt->u.annotate.target);
        return;
    case LANG_STMT_DEL:
        walk_targets(w, &stmt->u.targets);
        return;
    case LANG_STMT_IF:
        walk_if(w, stmt);
        return;
    case LANG_STMT_FOR:
        walk_for(w, stmt);
        return;
    case LANG_STMT_WHILE:
        walk_while(w, stmt);
        return;
    case LANG_STMT_ASSERT:
        on_expr(w, stmt->u.assertion.test);
        walk_maybe(w, stmt->u.assertion.message);
        return;
    case LANG_STMT_RAISE:
        walk_maybe(w, stmt->u.raise.value);
        walk_maybe(w, stmt->u.raise.cause);
        return;
    case LANG_STMT_WITH:
        walk_with(w, stmt);
        return;
    case LANG_STMT_DEF:
    case LANG_STMT_CLASS: /* what they read of this function are cells, which are refused */
    case LANG_STMT_BREAK:
    case LANG_STMT_CONTINUE:
    case LANG_STMT_PASS:
    case LANG_STMT_IMPORT:
    case LANG_STMT_IMPORT_FROM:
    case LANG_STMT_GLOBAL:
    case LANG_STMT_NONLOCAL:
        return;
    }
}

static void walk_block(struct walk *w, const struct lang_block *block, size_t parent)
{
    for (uint32_t i = 0; i < block->count; i++) {
        w->sites = vs_grow(w->sites, w->count, &w->cap, sizeof(*w->sites));
        w->now = w->count++;
        w->sites[w->now] = (struct site){block->stmts[i], block, i, parent, false, false};
        walk_stmt(w, block->stmts[i]);
    }
}

/* ---- the search ---- */

/* The function, and its variable of that name, which no nested function shares. */
static const struct lang_code *code_find(const struct lang_module *module, const char *qualname,
                                         const char *name, uint32_t *slot)
{
    for (uint32_t i = 0; i < module->code_count; i++) {
        const struct lang_code *code = module->codes[i];

        if (code->kind != LANG_CODE_DEF || strcmp(code->qualname->text, qualname) != 0)
            continue;
        for (*slot = 0; *slot < code->local_count; ++*slot)
            if (!code->slots[*slot].is_cell && strcmp(code->slots[*slot].name->text, name) == 0)
                return code;
    }
    return NULL;
}

static bool is_loop(const struct site *site)
{
    return site->stmt->kind == LANG_STMT_FOR || site->stmt->kind == LANG_STMT_WHILE;
}

/* Whether `outer` is `inner` or a statement around it; NONE, the function, is around all. */
static bool is_around(const struct walk *w, size_t outer, size_t inner)
{
    while (inner != NONE && inner != outer)
        inner = w->sites[inner].parent;
    return inner == outer;
}

/* The last statement that reads the value bound by statement `bound` (NONE: the argument); NONE: there is no place. */
static size_t last_find(const struct walk *w, size_t bound)
{
    size_t last = bound;

    for (size_t i = bound == NONE ? 0 : bound + 1; i < w->count; i++) {
        if (w->sites[i].binds)
            return w->sites[i].reads ? NONE : last;
        if (w->sites[i].reads)
            last = i;
    }
    return last;
}

/* The statement after which the line is added: `last`, or one around it. */
static size_t climb(const struct walk *w, size_t bound, size_t last, bool outermost)
{
    const size_t home = bound == NONE ? NONE : w->sites[bound].parent;
    size_t at = last;

    for (size_t i = last; i != NONE && !is_around(w, i, bound); i = w->sites[i].parent)
        if (is_loop(&w->sites[i]) || outermost)
            at = i;
    if (outermost && w->sites[at].parent != home)
        return NONE;
    return at;
}

/* The last block of a compound statement; NULL: it is none. */
static const struct lang_block *last_block(const struct lang_stmt *stmt)
{
    if (stmt->kind == LANG_STMT_IF)
        return stmt->u.branch.otherwise.count
                   ? &stmt->u.branch.otherwise
                   : &stmt->u.branch.clauses[stmt->u.branch.count - 1].body;
    if (stmt->kind == LANG_STMT_FOR)
        return stmt->u.for_loop.otherwise.count ? &stmt->u.for_loop.otherwise
                                                : &stmt->u.for_loop.body;
    if (stmt->kind == LANG_STMT_WHILE)
        return stmt->u.while_loop.otherwise.count ? &stmt->u.while_loop.otherwise
                                                  : &stmt->u.while_loop.body;
    return stmt->kind == LANG_STMT_WITH ? &stmt->u.with.body : NULL;
}

/* The line on which a statement ends. The span of a compound one ends where the next one begins. */
static uint32_t last_line(const struct lang_stmt *stmt)
{
    const struct lang_block *block;

    while ((block = last_block(stmt)) != NULL)
        stmt = block->stmts[block->count - 1];
    return stmt->span.end_line;
}

/* Whether a line can be added after the statement, and is reached. */
static bool is_place(const struct site *site)
{
    const enum lang_stmt_kind kind = site->stmt->kind;
    const uint32_t end = last_line(site->stmt);
    const bool is_end = site->at + 1 == site->block->count;

    if (kind == LANG_STMT_RETURN || kind == LANG_STMT_RAISE || (is_end && site->parent == NONE))
        return false;
    return is_end || site->block->stmts[site->at + 1]->span.line > end;
}

bool lang_last_read(const struct lang_module *module, const char *qualname, const char *name,
                    uint32_t bound_line, bool outermost, struct lang_last_read *out)
{
    struct walk w = {NULL, NULL, 0, 0, 0};
    size_t bound = NONE;
    size_t last = NONE;
    uint32_t slot = 0;
    const struct lang_code *code = code_find(module, qualname, name, &slot);
    bool found = false;

    if (!code)
        return false;
    w.name = code->slots[slot].name;
    walk_block(&w, &code->body, NONE);
    for (size_t i = 0; i < w.count; i++)
        if (w.sites[i].binds && w.sites[i].stmt->span.line <= bound_line &&
            w.sites[i].stmt->span.end_line >= bound_line)
            bound = i;
    if (bound != NONE || slot < code->param_count)
        last = last_find(&w, bound);
    if (last != NONE)
        last = climb(&w, bound, last, outermost);
    if (last != NONE && is_place(&w.sites[last])) {
        const struct lang_stmt *stmt = w.sites[last].stmt;

        *out = (struct lang_last_read){stmt->span.line, last_line(stmt), stmt->span.col};
        found = true;
    }
    vs_free(w.sites);
    return found;
}
