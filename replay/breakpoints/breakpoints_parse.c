/*
 * replay/breakpoints/breakpoints_parse.c - parses the language of conditions into terms.
 *
 * Must not know:  traces.
 * Invariant:      an error message names the column, what is there, and what is allowed there.
 */
#include "replay/breakpoints/breakpoints_internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes.h"
#include "base/event.h"
#include "base/mem.h"
#include "base/text.h"

#define KIND(k) (UINT32_C(1) << (k))
#define ALL_KINDS ((UINT32_C(1) << VS_EVENT_KIND_COUNT) - 1)
/* Kinds of events about a block. */
/* Kinds of events that set the category of a block. */
#define CATEGORY_KINDS (KIND(VS_EV_ALLOC) | KIND(VS_EV_CATEGORY))

#define BLOCK_KINDS                                                                                \
    (KIND(VS_EV_ALLOC) | KIND(VS_EV_FREE) | KIND(VS_EV_SAVE) | KIND(VS_EV_UNSAVE) |                \
     KIND(VS_EV_HOLD) | KIND(VS_EV_DROP) | KIND(VS_EV_CATEGORY) | KIND(VS_EV_CAST) |               \
     KIND(VS_EV_USE) | KIND(VS_EV_FREE_COMPLETED))

/* ---- words ---- */

/*
 * The next word: `len` bytes at `at`, without quotes; is_quoted: it was quoted. len 0 without quotes: the end of the
 * text.
 */
struct word {
    const char *at;
    size_t len;
    bool is_quoted;
    size_t column;
};

struct parser {
    const char *text;
    const char *at;
    struct word word;
    struct rpl_condition *out;
    struct vs_error *err;
};

static bool is_operator(char c)
{
    return c == '<' || c == '>' || c == '=' || c == '!' || c == '~';
}

static void advance(struct parser *p)
{
    struct word *w = &p->word;

    while (isspace((unsigned char)*p->at))
        p->at++;
    w->column = (size_t)(p->at - p->text) + 1;
    w->at = p->at;
    w->is_quoted = false;
    if (*p->at == '"' || *p->at == '\'') {
        const char *end = strchr(p->at + 1, *p->at);

        w->is_quoted = true;
        w->at = p->at + 1;
        p->at = end ? end + 1 : p->at + strlen(p->at);
        w->len = (size_t)((end ? end : p->at) - w->at);
        return;
    }
    if (is_operator(*p->at)) {
        while (is_operator(*p->at))
            p->at++;
    } else {
        while (*p->at && !isspace((unsigned char)*p->at) && !is_operator(*p->at) && *p->at != '"' &&
               *p->at != '\'')
            p->at++;
    }
    w->len = (size_t)(p->at - w->at);
}

static bool at_end(const struct parser *p)
{
    return p->word.len == 0 && !p->word.is_quoted;
}

static bool word_is(const struct parser *p, const char *text)
{
    return !p->word.is_quoted && p->word.len == strlen(text) &&
           strncasecmp(p->word.at, text, p->word.len) == 0;
}

/* Report that the word here is not one of those allowed: `wanted`. */
static enum vs_status refuse(const struct parser *p, const char *wanted)
{
    if (at_end(p))
        return vs_fail(p->err, VS_E_SYNTAX, "column %zu: %s is missing", p->word.column, wanted);
    return vs_fail(p->err, VS_E_SYNTAX, "column %zu: `%.*s` is not %s", p->word.column,
                   (int)p->word.len, p->word.at, wanted);
}

/* ---- values ---- */

static enum vs_status take_bytes(struct parser *p, int64_t *out)
{
    char *text = vs_strndup(p->word.at, p->word.len);
    uint64_t bytes;
    bool is_size = vs_bytes_parse(text, &bytes) && bytes <= INT64_MAX;

    vs_free(text);
    if (!is_size)
        return refuse(p, "a number of bytes, such as 512M");
    *out = (int64_t)bytes;
    advance(p);
    return VS_OK;
}

static enum vs_status take_number(struct parser *p, int64_t *out)
{
    const char *at = p->word.at + (p->word.len && *p->word.at == '#');
    char *end;

    errno = 0;
    *out = strtoll(at, &end, 10);
    if (at_end(p) || errno || end != p->word.at + p->word.len || end == at)
        return refuse(p, "a number");
    advance(p);
    return VS_OK;
}

static enum vs_status take_percent(struct parser *p, double *out)
{
    char *end;

    if (at_end(p) || !isdigit((unsigned char)*p->word.at))
        return refuse(p, "a percentage, such as 10%");
    *out = strtod(p->word.at, &end);
    if (end < p->word.at + p->word.len && *end == '%')
        end++;
    if (end != p->word.at + p->word.len)
        return refuse(p, "a percentage, such as 10%");
    advance(p);
    return VS_OK;
}

/* Parse one of `count` names; *out is its index. */
static enum vs_status take_name(struct parser *p, const char *(*name)(int), int count,
                                const char *what, int64_t *out)
{
    struct vs_text list = {NULL, 0, 0};
    enum vs_status st;

    for (int i = 0; !at_end(p) && i < count; i++)
        if (strlen(name(i)) == p->word.len && strncasecmp(name(i), p->word.at, p->word.len) == 0) {
            *out = i;
            advance(p);
            return VS_OK;
        }
    vs_text_addf(&list, "%s (", what);
    for (int i = 0; i < count; i++)
        vs_text_addf(&list, "%s%s", i ? ", " : "", name(i));
    vs_text_add(&list, ")");
    st = refuse(p, vs_text_get(&list));
    vs_text_release(&list);
    return st;
}

static const char *category_name(int i)
{
    return vs_category_name((enum vs_category)i);
}

static const char *phase_name(int i)
{
    return vs_phase_name((enum vs_phase)i);
}

static enum vs_status take_compare(struct parser *p, const char *allowed,
                                   enum rpl_term_compare *out)
{
    static const struct {
        const char *text;
        enum rpl_term_compare compare;
    } known[] = {
        {"=", RPL_TERM_IS},          {"==", RPL_TERM_IS},         {"!=", RPL_TERM_IS_NOT},
        {">", RPL_TERM_MORE},        {">=", RPL_TERM_MORE_OR_IS}, {"<", RPL_TERM_LESS},
        {"<=", RPL_TERM_LESS_OR_IS}, {"~", RPL_TERM_LIKE},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (word_is(p, known[i].text) && strchr(allowed, *known[i].text)) {
            *out = known[i].compare;
            advance(p);
            return VS_OK;
        }
    return refuse(p, *allowed == '=' ? "one of = != ~" : "one of > >= < <= = !=");
}

/* ---- terms ---- */

static struct rpl_term *term_add(struct parser *p, enum rpl_term_field field)
{
    struct rpl_term *term = &p->out->terms[p->out->count++];

    term->field = field;
    p->out->is_event |= field >= RPL_TERM_SIZE;
    p->out->has_size |= field == RPL_TERM_SIZE;
    p->out->has_category |= field == RPL_TERM_CATEGORY;
    return term;
}

/* Parse a text to compare with: = GLOB, != GLOB, ~ EXPRESSION, or a glob alone. */
static enum vs_status take_match(struct parser *p, struct rpl_term *term)
{
    char message[128];
    int code;

    term->compare = RPL_TERM_IS;
    if (!at_end(p) && !p->word.is_quoted && is_operator(*p->word.at)) {
        enum vs_status st = take_compare(p, "=!~", &term->compare);

        if (st)
            return st;
    }
    if (at_end(p) || (!p->word.is_quoted && is_operator(*p->word.at)))
        return refuse(p, "a name or pattern");
    term->text = vs_strndup(p->word.at, p->word.len);
    if (term->compare == RPL_TERM_LIKE) {
        code = regcomp(&term->regex, term->text, REG_EXTENDED | REG_NOSUB);
        if (code) {
            regerror(code, &term->regex, message, sizeof(message));
            return vs_fail(p->err, VS_E_SYNTAX,
                           "column %zu: `%s` cannot be searched for: %s; quote what has a meaning "
                           "in expressions with \\",
                           p->word.column, term->text, message);
        }
        term->has_regex = true;
    }
    advance(p);
    return VS_OK;
}

/* Restrict the kinds of events that can be hits to these. */
static void narrow(struct parser *p, uint32_t kinds)
{
    p->out->kinds &= kinds;
}

static enum vs_status take_size(struct parser *p, uint32_t kinds)
{
    struct rpl_term *term = term_add(p, RPL_TERM_SIZE);
    enum vs_status st = take_compare(p, "><=!", &term->compare);

    narrow(p, kinds);
    return st ? st : take_bytes(p, &term->number);
}

static enum vs_status take_block(struct parser *p, uint32_t kinds)
{
    struct rpl_term *term = term_add(p, RPL_TERM_BLOCK);

    narrow(p, kinds);
    if (word_is(p, "="))
        advance(p);
    return take_number(p, &term->number);
}

/* Parse what follows "alloc" or "free": a size, a block, or nothing. */
static enum vs_status take_alloc_or_free(struct parser *p, enum vs_event_kind kind)
{
    if (word_is(p, "block")) {
        advance(p);
        return take_block(p, KIND(kind));
    }
    if (word_is(p, "size")) {
        advance(p);
        return take_size(p, KIND(kind));
    }
    if (!at_end(p) && !p->word.is_quoted && is_operator(*p->word.at))
        return take_size(p, KIND(kind));
    term_add(p, RPL_TERM_KIND);
    narrow(p, KIND(kind));
    return VS_OK;
}

static enum vs_status take_bytes_term(struct parser *p, enum rpl_term_field field)
{
    struct rpl_term *term = term_add(p, field);
    enum vs_status st = take_compare(p, "><=!", &term->compare);

    return st ? st : take_bytes(p, &term->number);
}

static enum vs_status take_slack(struct parser *p)
{
    struct rpl_term *term = term_add(p, RPL_TERM_SLACK);
    enum vs_status st = take_compare(p, "><", &term->compare);

    return st ? st : take_percent(p, &term->percent);
}

static enum vs_status take_number_term(struct parser *p, enum rpl_term_field field)
{
    struct rpl_term *term = term_add(p, field);
    enum vs_status st = VS_OK;

    term->compare = RPL_TERM_IS;
    if (!at_end(p) && is_operator(*p->word.at))
        st = take_compare(p, "><=!", &term->compare);
    return st ? st : take_number(p, &term->number);
}

static enum vs_status take_phase(struct parser *p)
{
    struct rpl_term *term = term_add(p, RPL_TERM_PHASE);

    term->compare = RPL_TERM_IS;
    if (word_is(p, "=") || word_is(p, "!=")) {
        term->compare = word_is(p, "=") ? RPL_TERM_IS : RPL_TERM_IS_NOT;
        advance(p);
    }
    return take_name(p, phase_name, VS_PHASE_COUNT, "a phase", &term->number);
}

static enum vs_status take_category(struct parser *p)
{
    struct rpl_term *term = term_add(p, RPL_TERM_CATEGORY);

    narrow(p, CATEGORY_KINDS);
    term->compare = RPL_TERM_IS;
    if (word_is(p, "=") || word_is(p, "!=")) {
        term->compare = word_is(p, "=") ? RPL_TERM_IS : RPL_TERM_IS_NOT;
        advance(p);
    }
    return take_name(p, category_name, VS_CATEGORY_COUNT, "a category", &term->number);
}

/* True if the word is the name of a kind of event; *kind is the kind. */
static bool word_is_kind(const struct parser *p, int *kind)
{
    for (*kind = 0; *kind < VS_EVENT_KIND_COUNT; ++*kind)
        if (word_is(p, vs_event_kind_name((enum vs_event_kind) * kind)))
            return true;
    return false;
}

#define TERM_WORDS                                                                                 \
    "what a condition begins with (alloc, free, size, total, reserved, slack, op, module, func, "  \
    "line, category, phase, step, block, oom, or another kind of event)"

static enum vs_status take_term(struct parser *p)
{
    static const struct {
        const char *word;
        enum rpl_term_field field;
    } fields[] = {
        {"op", RPL_TERM_OP},
        {"module", RPL_TERM_MODULE},
        {"layer", RPL_TERM_MODULE},
        {"func", RPL_TERM_FUNC},
        {"line", RPL_TERM_LINE},
        {"total", RPL_TERM_TOTAL},
        {"reserved", RPL_TERM_RESERVED},
        {"slack", RPL_TERM_SLACK},
        {"phase", RPL_TERM_PHASE},
        {"step", RPL_TERM_STEP},
        {"size", RPL_TERM_SIZE},
        {"cat", RPL_TERM_CATEGORY},
        {"category", RPL_TERM_CATEGORY},
        {"block", RPL_TERM_BLOCK},
        {"alloc", RPL_TERM_KIND},
        {"free", RPL_TERM_KIND},
    };
    bool is_alloc = word_is(p, "alloc");
    int kind;

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (!word_is(p, fields[i].word))
            continue;
        advance(p);
        switch (fields[i].field) {
        case RPL_TERM_OP:
        case RPL_TERM_MODULE:
        case RPL_TERM_FUNC:
            return take_match(p, term_add(p, fields[i].field));
        case RPL_TERM_LINE:
        case RPL_TERM_STEP:
            return take_number_term(p, fields[i].field);
        case RPL_TERM_TOTAL:
        case RPL_TERM_RESERVED:
            return take_bytes_term(p, fields[i].field);
        case RPL_TERM_SLACK:
            return take_slack(p);
        case RPL_TERM_PHASE:
            return take_phase(p);
        case RPL_TERM_SIZE:
            return take_size(p, CATEGORY_KINDS);
        case RPL_TERM_CATEGORY:
            return take_category(p);
        case RPL_TERM_BLOCK:
            return take_block(p, BLOCK_KINDS);
        case RPL_TERM_KIND:
            return take_alloc_or_free(p, is_alloc ? VS_EV_ALLOC : VS_EV_FREE);
        }
    }
    if (!word_is_kind(p, &kind))
        return refuse(p, TERM_WORDS);
    advance(p);
    term_add(p, RPL_TERM_KIND);
    narrow(p, KIND(kind));
    return VS_OK;
}

enum vs_status rpl_condition_parse(struct rpl_condition *out, const char *text,
                                   struct vs_error *err)
{
    struct parser p = {.text = text, .at = text, .out = out, .err = err};
    enum vs_status st;

    out->kinds = ALL_KINDS;
    advance(&p);
    st = take_term(&p);
    while (!st && !at_end(&p)) {
        if (!word_is(&p, "and")) {
            st = refuse(&p, "`and` or the end");
        } else if (out->count == RPL_TERMS_MAX) {
            st = vs_fail(err, VS_E_SYNTAX, "column %zu: more than %d conditions in one",
                         p.word.column, RPL_TERMS_MAX);
        } else {
            advance(&p);
            st = take_term(&p);
        }
    }
    /* A size without a category is that of an alloc. */
    if (out->has_size && !out->has_category)
        narrow(&p, ALL_KINDS & ~KIND(VS_EV_CATEGORY));
    if (!st && !out->kinds)
        st = vs_fail(err, VS_E_SYNTAX,
                     "no event can meet all of these conditions: sizes and categories apply to an "
                     "alloc, unless `free size` is given");
    if (st)
        rpl_condition_release(out);
    return st;
}

void rpl_condition_release(struct rpl_condition *condition)
{
    for (size_t i = 0; i < condition->count; i++) {
        vs_free(condition->terms[i].text);
        if (condition->terms[i].has_regex)
            regfree(&condition->terms[i].regex);
    }
    memset(condition, 0, sizeof(*condition));
}

/* ---- matching ---- */

bool rpl_glob_matches(const char *glob, const char *text)
{
    const char *star = NULL;
    const char *after_star = NULL;

    while (*text) {
        if (*glob == '*') {
            star = ++glob;
            after_star = text;
        } else if (*glob == '?' || *glob == *text) {
            glob++;
            text++;
        } else if (star) {
            glob = star;
            text = ++after_star;
        } else {
            return false;
        }
    }
    while (*glob == '*')
        glob++;
    return *glob == '\0';
}

bool rpl_term_matches(const struct rpl_term *term, const char *text)
{
    size_t len;
    bool does;

    if (term->compare == RPL_TERM_LIKE)
        return regexec(&term->regex, text, 0, NULL, 0) == 0;
    does = rpl_glob_matches(term->text, text);
    len = strlen(term->text);
    if (!does && term->field == RPL_TERM_MODULE && len > 2 &&
        strcmp(term->text + len - 2, ".*") == 0) {
        char *itself = vs_strndup(term->text, len - 2);

        does = rpl_glob_matches(itself, text);
        vs_free(itself);
    }
    return does == (term->compare == RPL_TERM_IS);
}

bool rpl_term_compares(const struct rpl_term *term, int64_t number)
{
    switch (term->compare) {
    case RPL_TERM_IS:
    case RPL_TERM_LIKE:
        return number == term->number;
    case RPL_TERM_IS_NOT:
        return number != term->number;
    case RPL_TERM_MORE:
        return number > term->number;
    case RPL_TERM_MORE_OR_IS:
        return number >= term->number;
    case RPL_TERM_LESS:
        return number < term->number;
    case RPL_TERM_LESS_OR_IS:
        return number <= term->number;
    }
    return false;
}
