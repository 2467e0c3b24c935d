/*
 * lang/syntax/parser.c - see parser.h: functions shared by the parser's files, and lang_parse().
 *
 * Must not know:  slots.
 * Invariant:      see parser_internal.h.
 */
#include "lang/syntax/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lang/syntax/parser_internal.h"
#include "lang/syntax/resolve.h"

/* A longer name is not repeated in a message. */
#define SHOWN_TOKEN 40

static const struct lang_token end_token = {.kind = LANG_TOK_END};

/* ---- errors ---- */

static void stop(struct lang_parser *p)
{
    p->failed = true;
    p->tok = &end_token;
    p->last = &end_token;
}

void parser_fail(struct lang_parser *p, struct lang_span span, const char *hint, const char *fmt,
                 ...)
{
    va_list ap;

    if (p->failed)
        return;
    va_start(ap, fmt);
    lang_diagv(p->err, VS_E_SYNTAX, p->source, span, hint, fmt, ap);
    va_end(ap);
    stop(p);
}

static void fail_as_lexer(struct lang_parser *p)
{
    if (p->failed)
        return;
    *p->err = p->tokens->error;
    stop(p);
}

/* What `tok` is, as it is written where that says more. */
static const char *found_text(const struct lang_parser *p, char buf[SHOWN_TOKEN + 3])
{
    const struct lang_token *tok = p->tok;
    uint32_t len = tok->end - tok->start;

    if ((tok->kind != LANG_TOK_NAME && tok->kind != LANG_TOK_NUMBER &&
         tok->kind < LANG_TOK_LPAREN) ||
        len > SHOWN_TOKEN)
        return lang_token_info((enum lang_token_kind)tok->kind)->text;
    (void)snprintf(buf, SHOWN_TOKEN + 3, "`%.*s`", (int)len, p->source->text + tok->start);
    return buf;
}

void parser_unexpected(struct lang_parser *p, const char *wanted)
{
    const struct lang_token *tok = p->tok;
    const char *hint = NULL;
    char found[SHOWN_TOKEN + 3];

    if (p->failed || parser_refuse_keyword(p, tok))
        return;
    if (p->tokens->is_unclosed && tok->start > p->tokens->unclosed_start) {
        fail_as_lexer(p);
        return;
    }
    if (tok->kind == LANG_TOK_INDENT) {
        parser_fail(p, tok->span, NULL, "this line is indented without a reason");
        return;
    }
    if (p->last && p->last->kind == LANG_TOK_NAME && strcmp(p->last->name->text, "print") == 0 &&
        parser_starts_expr(p))
        hint = "print is a function: print(...)";
    else if (tok->kind == LANG_TOK_ASSIGN)
        hint = "write `==` to compare; `=` assigns and is a statement of its own";
    parser_fail(p, tok->span, hint, "expected %s, found %s", wanted, found_text(p, found));
}

/* ---- tokens ---- */

void parser_advance(struct lang_parser *p)
{
    if (p->failed || p->tok->kind == LANG_TOK_END)
        return;
    p->last = p->tok++;
    if (p->tok->kind == LANG_TOK_ERROR)
        fail_as_lexer(p);
}

bool parser_accept(struct lang_parser *p, enum lang_token_kind kind)
{
    if (!parser_is(p, kind))
        return false;
    parser_advance(p);
    return true;
}

void parser_expect(struct lang_parser *p, enum lang_token_kind kind)
{
    char wanted[32];

    if (parser_accept(p, kind))
        return;
    (void)snprintf(wanted, sizeof(wanted), kind >= LANG_TOK_LPAREN ? "`%s`" : "%s",
                   lang_token_info(kind)->text);
    parser_unexpected(p, wanted);
}

enum lang_token_kind parser_next_kind(const struct lang_parser *p)
{
    if (p->tok->kind == LANG_TOK_END)
        return LANG_TOK_END;
    return (enum lang_token_kind)p->tok[1].kind;
}

bool parser_enter(struct lang_parser *p)
{
    if (p->nesting == LANG_MAX_NESTING) {
        parser_fail(p, p->tok->span, "assign parts of it to variables",
                    "expressions are nested too deeply");
        return false;
    }
    p->nesting++;
    return true;
}

void parser_leave(struct lang_parser *p)
{
    VS_ASSERT(p->nesting > 0);
    p->nesting--;
}

/* ---- nodes ---- */

struct lang_span parser_span_from(const struct lang_parser *p, struct lang_span start)
{
    if (p->last) {
        start.end_line = p->last->span.end_line;
        start.end_col = p->last->span.end_col;
    }
    return start;
}

struct lang_expr *parser_expr_new(struct lang_parser *p, enum lang_expr_kind kind,
                                  struct lang_span start)
{
    struct lang_expr *expr = vs_arena_calloc(p->arena, 1, sizeof(*expr));

    expr->kind = kind;
    expr->height = 1;
    expr->span = parser_span_from(p, start);
    return expr;
}

void parser_adopt(struct lang_parser *p, struct lang_expr *expr, const struct lang_expr *child)
{
    if (!child || child->height < expr->height)
        return;
    if (child->height >= LANG_MAX_HEIGHT) {
        parser_fail(p, expr->span, "assign parts of it to variables",
                    "the expression is nested too deeply");
        return;
    }
    expr->height = (uint16_t)(child->height + 1);
}

void parser_push(struct lang_parser *p, const void *item, size_t size)
{
    while (p->scratch_cap - p->scratch_len < size)
        p->scratch = vs_grow(p->scratch, p->scratch_cap, &p->scratch_cap, 1);
    memcpy(p->scratch + p->scratch_len, item, size);
    p->scratch_len += size;
}

void *parser_take(struct lang_parser *p, size_t mark, size_t size, uint32_t *count)
{
    size_t bytes = p->scratch_len - mark;
    void *items = NULL;

    VS_ASSERT(p->scratch_len >= mark && bytes % size == 0);
    *count = (uint32_t)(bytes / size);
    if (bytes) {
        items = vs_arena_alloc(p->arena, bytes);
        memcpy(items, p->scratch + mark, bytes);
    }
    p->scratch_len = mark;
    return items;
}

struct lang_exprs parser_take_exprs(struct lang_parser *p, size_t mark)
{
    struct lang_exprs list;

    list.items = parser_take(p, mark, sizeof(*list.items), &list.count);
    return list;
}

const struct lang_str *parser_private(struct lang_parser *p, const struct lang_str *name)
{
    char *text;

    if (!p->class_name || name->len < 2 || name->text[0] != '_' || name->text[1] != '_' ||
        (name->text[name->len - 1] == '_' && name->text[name->len - 2] == '_'))
        return name;
    text = vs_arena_printf(p->arena, "_%s%s", p->class_name, name->text);
    return lang_strs_get(p->strs, text, strlen(text));
}

const struct lang_str *parser_name(struct lang_parser *p, const char *what)
{
    const struct lang_str *name = p->tok->name;

    if (!parser_is(p, LANG_TOK_NAME)) {
        parser_unexpected(p, what);
        return lang_strs_get(p->strs, "", 0);
    }
    parser_advance(p);
    return name;
}

struct lang_code *parser_code_new(struct lang_parser *p, enum lang_code_kind kind,
                                  const struct lang_str *name, struct lang_span start)
{
    struct lang_code *code = vs_arena_calloc(p->arena, 1, sizeof(*code));

    code->kind = kind;
    code->name = name;
    code->span = start;
    code->class_cell = LANG_NO_SLOT;
    return code;
}

/* ---- entry point ---- */

const char *lang_op_text(enum lang_op op)
{
    switch (op) {
    case LANG_OP_NEG:
    case LANG_OP_SUB:
        return "-";
    case LANG_OP_POS:
    case LANG_OP_ADD:
        return "+";
    case LANG_OP_INVERT:
        return "~";
    case LANG_OP_NOT:
        return "not";
    case LANG_OP_MUL:
        return "*";
    case LANG_OP_DIV:
        return "/";
    case LANG_OP_FLOORDIV:
        return "//";
    case LANG_OP_MOD:
        return "%";
    case LANG_OP_POW:
        return "**";
    case LANG_OP_MATMUL:
        return "@";
    case LANG_OP_LSHIFT:
        return "<<";
    case LANG_OP_RSHIFT:
        return ">>";
    case LANG_OP_AND:
        return "&";
    case LANG_OP_XOR:
        return "^";
    case LANG_OP_OR:
        return "|";
    case LANG_OP_LT:
        return "<";
    case LANG_OP_LE:
        return "<=";
    case LANG_OP_GT:
        return ">";
    case LANG_OP_GE:
        return ">=";
    case LANG_OP_EQ:
        return "==";
    case LANG_OP_NE:
        return "!=";
    case LANG_OP_IN:
        return "in";
    case LANG_OP_NOT_IN:
        return "not in";
    case LANG_OP_IS:
        return "is";
    case LANG_OP_IS_NOT:
        return "is not";
    }
    return "?";
}

static struct lang_module *parse_module(struct lang_parser *p)
{
    struct lang_module *module = vs_arena_calloc(p->arena, 1, sizeof(*module));
    struct lang_span start = {1, 1, 1, 1};

    module->source = p->source;
    module->code =
        parser_code_new(p, LANG_CODE_MODULE, lang_strs_get(p->strs, "<module>", 8), start);
    if (p->tok->kind == LANG_TOK_ERROR)
        fail_as_lexer(p);
    module->code->body = parser_file(p, module->code);
    return module;
}

enum vs_status lang_parse(const char *file_name, const char *text, size_t len,
                          struct vs_arena *arena, struct lang_module **out, struct vs_error *err)
{
    struct lang_parser p;
    struct lang_tokens tokens;
    struct lang_strs strs;
    struct lang_module *module = NULL;
    const struct lang_source *source;
    enum vs_status st;

    VS_ASSERT(file_name && (text || !len) && arena && out && err);
    st = lang_source_new(file_name, text, len, arena, &source, err);
    if (st)
        return st;
    lang_strs_init(&strs, arena);
    lang_tokens_init(&tokens, source, &strs);
    memset(&p, 0, sizeof(p));
    p.source = source;
    p.arena = arena;
    p.strs = &strs;
    p.tokens = &tokens;
    p.tok = tokens.items;
    p.err = err;
    module = parse_module(&p);
    st = p.failed ? VS_E_SYNTAX : lang_resolve(module, arena, &strs, err);
    if (st)
        goto out;
    module->strs = lang_strs_list(&strs);
    module->str_count = (uint32_t)strs.count;
    *out = module;
out:
    vs_free(p.scratch);
    vs_free(p.text);
    lang_tokens_release(&tokens);
    lang_strs_release(&strs);
    return st;
}
