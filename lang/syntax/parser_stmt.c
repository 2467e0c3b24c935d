/*
 * lang/syntax/parser_stmt.c - files, blocks and the statements that have blocks.
 *
 * Must not know:  slots.
 * Invariant:      a chain of `elif` is one node, so its length does not count as nesting.
 */
#include "lang/syntax/parser_internal.h"

static void statement(struct lang_parser *p);

static void push_stmt(struct lang_parser *p, struct lang_stmt *stmt)
{
    parser_push(p, &stmt, sizeof(stmt));
}

static struct lang_block take_block(struct lang_parser *p, size_t mark)
{
    struct lang_block block;

    block.stmts = parser_take(p, mark, sizeof(*block.stmts), &block.count);
    return block;
}

/* Simple statements up to the end of the line, each pushed. */
static void simple_line(struct lang_parser *p)
{
    do {
        push_stmt(p, parser_simple_stmt(p));
    } while (parser_accept(p, LANG_TOK_SEMICOLON) && !parser_is(p, LANG_TOK_NEWLINE));
    if (!parser_accept(p, LANG_TOK_NEWLINE))
        parser_unexpected(p, "the end of the line");
}

struct lang_block parser_block(struct lang_parser *p, const char *what, uint32_t line)
{
    size_t mark = p->scratch_len;

    p->is_future_ok = false;
    parser_expect(p, LANG_TOK_COLON);
    if (!parser_accept(p, LANG_TOK_NEWLINE)) {
        simple_line(p);
        return take_block(p, mark);
    }
    if (!parser_accept(p, LANG_TOK_INDENT)) {
        parser_fail(p, p->tok->span, "write `pass` for an empty block",
                    "expected an indented block after %s in line %u", what, line);
        return take_block(p, mark);
    }
    while (!parser_is(p, LANG_TOK_DEDENT) && !parser_is(p, LANG_TOK_END))
        statement(p);
    (void)parser_accept(p, LANG_TOK_DEDENT);
    return take_block(p, mark);
}

static struct lang_block else_block(struct lang_parser *p)
{
    struct lang_block none = {NULL, 0};
    uint32_t line = p->tok->span.line;

    return parser_accept(p, LANG_TOK_ELSE) ? parser_block(p, "`else`", line) : none;
}

static struct lang_block loop_block(struct lang_parser *p, const char *what, uint32_t line)
{
    struct lang_block block;

    p->loops++;
    block = parser_block(p, what, line);
    p->loops--;
    return block;
}

static struct lang_stmt *if_stmt(struct lang_parser *p)
{
    struct lang_stmt *stmt = parser_stmt_new(p, LANG_STMT_IF, p->tok->span);
    size_t mark = p->scratch_len;
    const char *what = "`if`";

    do {
        struct lang_clause clause;
        uint32_t line = p->tok->span.line;

        parser_advance(p);
        clause.test = parser_named_expr(p);
        clause.body = parser_block(p, what, line);
        parser_push(p, &clause, sizeof(clause));
        what = "`elif`";
    } while (parser_is(p, LANG_TOK_ELIF));
    stmt->u.branch.clauses =
        parser_take(p, mark, sizeof(struct lang_clause), &stmt->u.branch.count);
    stmt->u.branch.otherwise = else_block(p);
    return stmt;
}

static struct lang_stmt *while_stmt(struct lang_parser *p)
{
    struct lang_stmt *stmt = parser_stmt_new(p, LANG_STMT_WHILE, p->tok->span);
    uint32_t line = p->tok->span.line;

    parser_advance(p);
    stmt->u.while_loop.test = parser_named_expr(p);
    stmt->u.while_loop.body = loop_block(p, "`while`", line);
    stmt->u.while_loop.otherwise = else_block(p);
    return stmt;
}

static struct lang_stmt *for_stmt(struct lang_parser *p)
{
    struct lang_stmt *stmt = parser_stmt_new(p, LANG_STMT_FOR, p->tok->span);
    uint32_t line = p->tok->span.line;

    parser_advance(p);
    stmt->u.for_loop.target = parser_for_target(p);
    parser_expect(p, LANG_TOK_IN);
    stmt->u.for_loop.iter = parser_exprs(p);
    stmt->u.for_loop.body = loop_block(p, "`for`", line);
    stmt->u.for_loop.otherwise = else_block(p);
    return stmt;
}

/*
 * `with (a as b, c):` or `with (a, b)[0]:`? The brackets are those of the list of items if a colon follows the closing
 * one and nothing inside says that this is an expression.
 */
static bool is_item_list(const struct lang_parser *p)
{
    const struct lang_token *tok = p->tok;
    uint32_t depth = 0;

    if (!parser_is(p, LANG_TOK_LPAREN))
        return false;
    for (;; tok++) {
        switch ((enum lang_token_kind)tok->kind) {
        case LANG_TOK_LPAREN:
        case LANG_TOK_LBRACKET:
        case LANG_TOK_LBRACE:
            depth++;
            break;
        case LANG_TOK_RPAREN:
        case LANG_TOK_RBRACKET:
        case LANG_TOK_RBRACE:
            if (--depth == 0)
                return tok[1].kind == LANG_TOK_COLON && tok[-1].kind != LANG_TOK_LPAREN;
            break;
        case LANG_TOK_FOR:
        case LANG_TOK_WALRUS:
            if (depth == 1)
                return false;
            break;
        case LANG_TOK_END:
        case LANG_TOK_ERROR:
            return false;
        default: /* anything else inside */
            break;
        }
    }
}

static struct lang_expr *with_target(struct lang_parser *p)
{
    struct lang_expr *target;

    if (parser_is(p, LANG_TOK_STAR))
        target = parser_star_expr(p, false);
    else
        target = parser_binary(p);
    if (!p->failed)
        parser_check_target(p, target, PARSER_TARGET_ASSIGN);
    return target;
}

static struct lang_stmt *with_stmt(struct lang_parser *p)
{
    struct lang_stmt *stmt = parser_stmt_new(p, LANG_STMT_WITH, p->tok->span);
    uint32_t line = p->tok->span.line;
    size_t mark = p->scratch_len;
    bool has_brackets;

    parser_advance(p);
    has_brackets = is_item_list(p);
    if (has_brackets)
        parser_advance(p);
    do {
        struct lang_with_item item = {NULL, NULL};

        if (has_brackets && parser_is(p, LANG_TOK_RPAREN) && p->scratch_len > mark)
            break;
        item.context = parser_expr(p);
        if (parser_accept(p, LANG_TOK_AS))
            item.target = with_target(p);
        parser_push(p, &item, sizeof(item));
    } while (parser_accept(p, LANG_TOK_COMMA));
    if (has_brackets)
        parser_expect(p, LANG_TOK_RPAREN);
    stmt->u.with.items = parser_take(p, mark, sizeof(struct lang_with_item), &stmt->u.with.count);
    stmt->u.with.body = parser_block(p, "`with`", line);
    return stmt;
}

/* `@a` lines and the `def` or `class` under them. */
static struct lang_stmt *decorated(struct lang_parser *p)
{
    size_t mark = p->scratch_len;
    struct lang_exprs decorators;

    while (parser_accept(p, LANG_TOK_AT)) {
        struct lang_expr *expr = parser_named_expr(p);

        parser_push(p, &expr, sizeof(expr));
        parser_expect(p, LANG_TOK_NEWLINE);
    }
    decorators = parser_take_exprs(p, mark);
    if (parser_is(p, LANG_TOK_CLASS))
        return parser_class(p, decorators);
    if (!parser_is(p, LANG_TOK_DEF))
        parser_unexpected(p, "`def` or `class` after the decorator");
    return parser_def(p, decorators);
}

static struct lang_stmt *compound(struct lang_parser *p)
{
    struct lang_exprs none = {NULL, 0};

    switch ((enum lang_token_kind)p->tok->kind) {
    case LANG_TOK_IF:
        return if_stmt(p);
    case LANG_TOK_FOR:
        return for_stmt(p);
    case LANG_TOK_WHILE:
        return while_stmt(p);
    case LANG_TOK_WITH:
        return with_stmt(p);
    case LANG_TOK_DEF:
        return parser_def(p, none);
    case LANG_TOK_CLASS:
        return parser_class(p, none);
    case LANG_TOK_AT:
        return decorated(p);
    default: /* statements of one line */
        return NULL;
    }
}

/* A line of simple statements or a compound statement, pushed. */
static void statement(struct lang_parser *p)
{
    struct lang_stmt *stmt;

    if (parser_is(p, LANG_TOK_ELIF) || parser_is(p, LANG_TOK_ELSE))
        parser_fail(p, p->tok->span, NULL, "`%s` has no matching block above",
                    lang_token_info((enum lang_token_kind)p->tok->kind)->text);
    stmt = compound(p);
    if (!stmt) {
        simple_line(p);
        return;
    }
    stmt->span = parser_span_from(p, stmt->span);
    parser_refuse_generator(p);
    push_stmt(p, stmt);
}

struct lang_block parser_file(struct lang_parser *p, struct lang_code *code)
{
    size_t mark = p->scratch_len;

    p->is_future_ok = true;
    while (!parser_is(p, LANG_TOK_END))
        statement(p);
    code->span = parser_span_from(p, code->span);
    code->body = take_block(p, mark);
    parser_take_doc(code);
    return code->body;
}
