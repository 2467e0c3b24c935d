/*
 * lang/syntax/parser_refuse.c - messages about Python constructs that the net language does not have, with suggestions.
 *
 * Must not know:  how other constructs are parsed.
 * Invariant:      docs/guide/net-language.md explains every row.
 */
#include <assert.h>
#include <stdio.h>

#include "lang/syntax/parser_internal.h"

#define SEE "; see docs/guide/net-language.md"

struct refusal {
    const char *what;
    const char *hint;
};

static const struct refusal refusals[] = {
    [PARSER_REFUSE_TRY] = {"`try` is not part of the net language",
                           "write the check out with `if`, or let the error stop the run" SEE},
    [PARSER_REFUSE_EXCEPT] = {"`except` is not part of the net language",
                              "write the check out with `if`, or let the error stop the run" SEE},
    [PARSER_REFUSE_FINALLY] = {"`finally` is not part of the net language",
                               "write the last lines after the block" SEE},
    [PARSER_REFUSE_YIELD] = {"`yield` is not part of the net language",
                             "collect the values in a list and return it" SEE},
    [PARSER_REFUSE_ASYNC] = {"`async` is not part of the net language",
                             "leave it out: a net does one thing at a time" SEE},
    [PARSER_REFUSE_AWAIT] = {"`await` is not part of the net language",
                             "leave it out: a net does one thing at a time" SEE},
    [PARSER_REFUSE_MATCH] = {"`match` is not part of the net language",
                             "compare with `if` and `elif`" SEE},
    [PARSER_REFUSE_TYPE_ALIAS] = {"`type` statements are not part of the net language",
                                  "leave it out: annotations are not looked at" SEE},
    [PARSER_REFUSE_TYPE_PARAMS] = {"type parameters are not part of the net language",
                                   "leave them out: annotations are not looked at" SEE},
    [PARSER_REFUSE_BASES] = {"a class has one base in the net language",
                             "keep the other one as a member, or derive that one first" SEE},
    [PARSER_REFUSE_METACLASS] = {"metaclasses are not part of the net language",
                                 "leave `metaclass=` out" SEE},
    [PARSER_REFUSE_CLASS_KEYWORD] = {"a class takes no keyword arguments in the net language",
                                     "set it as an attribute in the body of the class" SEE},
    [PARSER_REFUSE_STAR_IMPORT] = {"`import *` is not part of the net language",
                                   "list the names, or import the module under a short name" SEE},
    [PARSER_REFUSE_RELATIVE_IMPORT] = {"a net file belongs to no package",
                                       "put what it needs into the file itself" SEE},
    [PARSER_REFUSE_BYTES] = {"bytes are not part of the net language", "use a str" SEE},
    [PARSER_REFUSE_NAMED_CHAR] = {"characters by name (\\N) are not part of the net language",
                                  "write the character itself, or \\u with its number" SEE},
    [PARSER_REFUSE_BIG_INT] = {"integers have 64 bits in the net language",
                               "use a float if it need not be exact" SEE},
    [PARSER_REFUSE_SET_COMP] = {"set comprehensions are not part of the net language",
                                "write a list comprehension: [... for ... in ...]" SEE},
    [PARSER_REFUSE_GENERATOR] =
        {"a generator expression stands only as an argument of a call in the net language",
         "write a list comprehension: [... for ... in ...]" SEE},
    [PARSER_REFUSE_STAR_ANNOTATION] = {"a starred annotation is not part of the net language",
                                       "leave it out: annotations are not looked at" SEE},
    [PARSER_REFUSE_WALRUS_ANNOTATION] =
        {"`:=` inside an annotation is not part of the net language",
         "assign it on a line before" SEE},
    [PARSER_REFUSE_SURROGATE] = {"half of a surrogate pair is not part of the net language",
                                 "write the character itself, or \\U with its number" SEE},
};
static_assert(sizeof(refusals) / sizeof(refusals[0]) == PARSER_REFUSAL_COUNT, "a row each");

void parser_refuse(struct lang_parser *p, enum parser_refusal what, struct lang_span span)
{
    VS_ASSERT(what < PARSER_REFUSAL_COUNT);
    parser_fail(p, span, refusals[what].hint, "%s", refusals[what].what);
}

bool parser_refuse_keyword(struct lang_parser *p, const struct lang_token *token)
{
    static const struct {
        enum lang_token_kind kind;
        enum parser_refusal what;
    } rows[] = {
        {LANG_TOK_TRY, PARSER_REFUSE_TRY},         {LANG_TOK_EXCEPT, PARSER_REFUSE_EXCEPT},
        {LANG_TOK_FINALLY, PARSER_REFUSE_FINALLY}, {LANG_TOK_YIELD, PARSER_REFUSE_YIELD},
        {LANG_TOK_ASYNC, PARSER_REFUSE_ASYNC},     {LANG_TOK_AWAIT, PARSER_REFUSE_AWAIT},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].kind == (enum lang_token_kind)token->kind) {
            parser_refuse(p, rows[i].what, token->span);
            return true;
        }
    }
    return false;
}
