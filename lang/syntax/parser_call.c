/*
 * lang/syntax/parser_call.c - arguments of calls and parameters of functions.
 *
 * Must not know:  the callee.
 * Invariant:      arguments are stored in the order of their evaluation: all positional ones, then all keyword ones.
 */
#include <string.h>

#include "lang/syntax/parser_internal.h"

/* ---- arguments ---- */

/* Kinds of arguments read so far in one list. */
struct arg_state {
    bool has_keyword; /* name=value */
    bool has_kwargs;  /* **value */
    bool has_bare_generator;
    struct lang_span generator;
};

static void positional(struct lang_parser *p, struct arg_state *state, struct lang_expr **out)
{
    struct lang_span start = p->tok->span;
    bool is_starred = parser_is(p, LANG_TOK_STAR);
    struct lang_expr *arg;

    if (state->has_kwargs)
        parser_fail(p, start, NULL, "a positional argument follows **");
    if (state->has_keyword && !is_starred && !p->failed)
        parser_fail(p, start, "put it before the keyword arguments",
                    "a positional argument follows a keyword argument");
    if (is_starred) {
        parser_advance(p);
        arg = parser_expr(p);
        parser_accept_generator(p, arg);
        *out = parser_expr_new(p, LANG_EXPR_STARRED, start);
        (*out)->u.starred = arg;
        parser_adopt(p, *out, arg);
        return;
    }
    arg = parser_named_expr(p);
    parser_accept_generator(p, arg);
    if (parser_is(p, LANG_TOK_FOR) || parser_is(p, LANG_TOK_ASYNC)) {
        arg = parser_comp(p, LANG_COMP_GENERATOR, arg, NULL, start);
        state->has_bare_generator = true;
        state->generator = arg->span;
    } else if (parser_is(p, LANG_TOK_ASSIGN)) {
        parser_fail(p, arg->span, "write `==` to compare",
                    "only a name can stand before `=` in a call");
    }
    *out = arg;
}

static void keyword(struct lang_parser *p, struct arg_state *state, struct lang_keyword *out)
{
    struct lang_span start = p->tok->span;

    out->name = NULL;
    if (parser_accept(p, LANG_TOK_DOUBLESTAR)) {
        state->has_kwargs = true;
    } else {
        out->name = parser_name(p, "a name");
        parser_check_bound(p, out->name, start);
        parser_expect(p, LANG_TOK_ASSIGN);
        state->has_keyword = true;
    }
    out->value = parser_expr(p);
    out->span = parser_span_from(p, start);
    if (parser_is(p, LANG_TOK_FOR))
        parser_fail(p, out->value->span, "put it into parentheses of its own",
                    "a generator expression without its own parentheses");
}

static void check_repeated(struct lang_parser *p, const struct lang_keyword *keywords,
                           uint32_t count)
{
    bool *is_seen;

    if (count < 2)
        return;
    is_seen = vs_calloc(p->strs->count, sizeof(*is_seen));
    for (uint32_t i = 0; i < count; i++) {
        if (!keywords[i].name)
            continue;
        if (is_seen[keywords[i].name->id])
            parser_fail(p, keywords[i].span, NULL, "the argument `%s` is given twice",
                        keywords[i].name->text);
        is_seen[keywords[i].name->id] = true;
    }
    vs_free(is_seen);
}

/*
 * Positional and keyword arguments are mixed in the text, so two lists are built at once: the positional ones on the
 * scratch stack, the keyword ones in a linked list that is converted at the end.
 */
struct keyword_link {
    struct keyword_link *next;
    struct lang_keyword keyword;
};

static void take_keywords(struct lang_parser *p, struct lang_expr *call,
                          const struct keyword_link *first)
{
    size_t mark = p->scratch_len;

    for (; first; first = first->next)
        parser_push(p, &first->keyword, sizeof(first->keyword));
    call->u.call.keywords =
        parser_take(p, mark, sizeof(struct lang_keyword), &call->u.call.keyword_count);
    check_repeated(p, call->u.call.keywords, call->u.call.keyword_count);
    for (uint32_t i = 0; i < call->u.call.keyword_count; i++)
        parser_adopt(p, call, call->u.call.keywords[i].value);
}

void parser_args(struct lang_parser *p, struct lang_expr *call)
{
    size_t mark = p->scratch_len;
    struct arg_state state = {false, false, false, {0, 0, 0, 0}};
    struct keyword_link *first = NULL;
    struct keyword_link **end = &first;
    bool is_single = true;

    while (!parser_is(p, LANG_TOK_RPAREN) && !p->failed) {
        if (parser_is(p, LANG_TOK_DOUBLESTAR) ||
            (parser_is(p, LANG_TOK_NAME) && parser_next_kind(p) == LANG_TOK_ASSIGN)) {
            *end = vs_arena_calloc(p->arena, 1, sizeof(**end));
            keyword(p, &state, &(*end)->keyword);
            end = &(*end)->next;
        } else {
            struct lang_expr *arg;

            positional(p, &state, &arg);
            parser_push(p, &arg, sizeof(arg));
        }
        if (!parser_accept(p, LANG_TOK_COMMA))
            break;
        is_single = false;
    }
    if (state.has_bare_generator && (!is_single || first))
        parser_fail(p, state.generator, "put it into parentheses of its own",
                    "a generator expression beside other arguments");
    parser_expect(p, LANG_TOK_RPAREN);
    call->u.call.args = parser_take_exprs(p, mark);
    for (uint32_t i = 0; i < call->u.call.args.count; i++)
        parser_adopt(p, call, call->u.call.args.items[i]);
    take_keywords(p, call, first);
}

/* ---- parameters ---- */

struct param_state {
    enum lang_param_kind kind; /* of the next plain parameter */
    bool has_default;
    bool has_star;
    bool has_kwargs;
    bool is_lambda;
};

static void param_name(struct lang_parser *p, const struct param_state *state,
                       struct lang_param *param)
{
    param->span = p->tok->span;
    param->name = parser_private(p, parser_name(p, "the name of a parameter"));
    parser_check_bound(p, param->name, param->span);
    if (state->is_lambda || !parser_accept(p, LANG_TOK_COLON))
        return;
    if (parser_is(p, LANG_TOK_STAR))
        parser_refuse(p, PARSER_REFUSE_STAR_ANNOTATION, p->tok->span);
    param->annotation = parser_annotation(p);
}

static void plain_param(struct lang_parser *p, struct param_state *state)
{
    struct lang_param param = {NULL, state->kind, NULL, NULL, p->tok->span};

    param_name(p, state, &param);
    if (parser_accept(p, LANG_TOK_ASSIGN)) {
        param.default_value = parser_expr(p);
        state->has_default = true;
    } else if (state->has_default && state->kind == LANG_PARAM_POSITIONAL) {
        parser_fail(p, param.span, "give it a default, too, or put it before the others",
                    "a parameter without a default follows one with a default");
    }
    parser_push(p, &param, sizeof(param));
}

static void star_param(struct lang_parser *p, struct param_state *state)
{
    struct lang_param param = {NULL, LANG_PARAM_ARGS, NULL, NULL, p->tok->span};
    struct lang_span star = p->tok->span;

    if (state->has_star)
        parser_fail(p, star, NULL, "a second `*` among the parameters");
    parser_advance(p);
    state->has_star = true;
    state->kind = LANG_PARAM_KEYWORD_ONLY;
    if (parser_is(p, LANG_TOK_COMMA)) {
        if (parser_next_kind(p) != LANG_TOK_NAME)
            parser_fail(p, star, NULL, "a bare `*` with no parameter after it");
        return;
    }
    param_name(p, state, &param);
    parser_push(p, &param, sizeof(param));
}

static void kwargs_param(struct lang_parser *p, struct param_state *state)
{
    struct lang_param param = {NULL, LANG_PARAM_KWARGS, NULL, NULL, p->tok->span};

    parser_advance(p);
    param_name(p, state, &param);
    parser_push(p, &param, sizeof(param));
    state->has_kwargs = true;
}

/* A `/`: what has been read so far, from `mark`, is positional only. */
static void slash(struct lang_parser *p, const struct param_state *state, size_t mark)
{
    struct lang_param param;
    bool is_first = p->scratch_len == mark;

    if (is_first || state->has_star)
        parser_fail(p, p->tok->span, NULL, "`/` stands after positional parameters");
    for (size_t at = mark; at < p->scratch_len; at += sizeof(param)) {
        memcpy(&param, p->scratch + at, sizeof(param));
        if (param.kind == LANG_PARAM_POSITIONAL_ONLY)
            parser_fail(p, p->tok->span, NULL, "a second `/` among the parameters");
        param.kind = LANG_PARAM_POSITIONAL_ONLY;
        memcpy(p->scratch + at, &param, sizeof(param));
    }
    parser_advance(p);
}

/* Reorders the parameters by slot: *args comes after the keyword-only ones. */
static void order_params(struct lang_code *code)
{
    for (uint32_t i = 0; i < code->param_count; i++) {
        struct lang_param *params = code->params;

        code->positional_only_count += params[i].kind == LANG_PARAM_POSITIONAL_ONLY;
        code->positional_count += params[i].kind <= LANG_PARAM_POSITIONAL;
        code->has_kwargs = code->has_kwargs || params[i].kind == LANG_PARAM_KWARGS;
    }
    for (uint32_t i = 0; i < code->param_count; i++) {
        struct lang_param *params = code->params;

        code->keyword_only_count += params[i].kind == LANG_PARAM_KEYWORD_ONLY;
        if (params[i].kind == LANG_PARAM_ARGS && !code->has_args) {
            code->has_args = true;
            for (; i + 1 < code->param_count && params[i + 1].kind == LANG_PARAM_KEYWORD_ONLY;
                 i++) {
                struct lang_param args = params[i];

                params[i] = params[i + 1];
                params[i + 1] = args;
                code->keyword_only_count++;
            }
        }
    }
}

void parser_params(struct lang_parser *p, struct lang_code *code, bool is_lambda)
{
    enum lang_token_kind end = is_lambda ? LANG_TOK_COLON : LANG_TOK_RPAREN;
    struct param_state state = {LANG_PARAM_POSITIONAL, false, false, false, is_lambda};
    size_t mark = p->scratch_len;

    while (!parser_is(p, end) && !p->failed) {
        if (state.has_kwargs)
            parser_fail(p, p->tok->span, NULL, "a parameter after **");
        else if (parser_is(p, LANG_TOK_STAR))
            star_param(p, &state);
        else if (parser_is(p, LANG_TOK_DOUBLESTAR))
            kwargs_param(p, &state);
        else if (parser_is(p, LANG_TOK_SLASH))
            slash(p, &state, mark);
        else
            plain_param(p, &state);
        if (!parser_is(p, end) && !p->failed)
            parser_expect(p, LANG_TOK_COMMA);
    }
    code->params = parser_take(p, mark, sizeof(struct lang_param), &code->param_count);
    order_params(code);
}
