/*
 * cli/lesson/expr.c - see expr.h.
 *
 * Must not know:  where a figure comes from.
 * Invariant:      every function of the grammar ends at the first character that is not its own.
 */
#include "cli/lesson/expr.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"

/* Greatest depth of brackets. */
#define DEPTH_MAX 50
#define NAME_MAX_BYTES 32

/* st: the first error, after which values are of no use. */
struct reader {
    const char *text;
    const char *at;
    const char *star;
    cli_expr_figure_fn *figure;
    void *user;
    unsigned depth;
    enum vs_status st;
    struct vs_error *err;
};

static double either(struct reader *r);

static double fail(struct reader *r, const char *expected)
{
    if (!r->st)
        r->st =
            vs_fail(r->err, VS_E_SYNTAX, "`%s`: expected %s before `%s`", r->text, expected, r->at);
    return 0.0;
}

static void blanks(struct reader *r)
{
    while (isspace((unsigned char)*r->at))
        r->at++;
}

/* Takes `word` if it is next; a word of letters must end there. */
static bool take(struct reader *r, const char *word)
{
    const size_t len = strlen(word);

    blanks(r);
    if (strncmp(r->at, word, len) != 0 ||
        (isalpha((unsigned char)*word) &&
         (isalnum((unsigned char)r->at[len]) || r->at[len] == '_')))
        return false;
    r->at += len;
    return true;
}

/* An argument of a figure: a word such as before, backward, layer1.0, -1, *; or a text in quotes. */
static struct cli_expr_arg argument(struct reader *r)
{
    struct cli_expr_arg arg;

    blanks(r);
    if (*r->at == '"') {
        arg = (struct cli_expr_arg){r->at + 1, strcspn(r->at + 1, "\"")};
        r->at += arg.len + 1 + (r->at[arg.len + 1] == '"');
        return arg;
    }
    if (r->star && take(r, "*"))
        return (struct cli_expr_arg){r->star, strlen(r->star)};
    arg = (struct cli_expr_arg){r->at, strcspn(r->at, ",) ")};
    r->at += arg.len;
    return arg;
}

static double figure(struct reader *r, const char *name)
{
    struct cli_expr_arg args[CLI_EXPR_ARGS_MAX];
    size_t count = 0;
    double value = 0.0;

    do {
        if (count == CLI_EXPR_ARGS_MAX)
            return fail(r, "fewer arguments");
        args[count++] = argument(r);
    } while (take(r, ","));
    if (!take(r, ")"))
        return fail(r, "`)`");
    if (!r->st)
        r->st = r->figure(r->user, name, args, count, &value, r->err);
    return value;
}

static double bracket_end(struct reader *r, double value)
{
    return take(r, ")") ? value : fail(r, "`)`");
}

static double named(struct reader *r)
{
    char name[NAME_MAX_BYTES];
    size_t len = 0;

    while (isalnum((unsigned char)r->at[len]) || r->at[len] == '_')
        len++;
    if (!len || len >= sizeof(name))
        return fail(r, "a figure or a number");
    memcpy(name, r->at, len);
    name[len] = '\0';
    r->at += len;
    if (strcmp(name, "KiB") == 0)
        return 1024.0;
    if (strcmp(name, "MiB") == 0)
        return 1024.0 * 1024.0;
    if (strcmp(name, "GiB") == 0)
        return 1024.0 * 1024.0 * 1024.0;
    if (!take(r, "("))
        return fail(r, "`(`");
    if (strcmp(name, "abs") == 0)
        return bracket_end(r, fabs(either(r)));
    if (strcmp(name, "floor") == 0)
        return bracket_end(r, floor(either(r)));
    return figure(r, name);
}

static double factor(struct reader *r)
{
    double value;

    blanks(r);
    if (r->st || ++r->depth > DEPTH_MAX)
        return fail(r, "fewer brackets");
    if (take(r, "(")) {
        value = bracket_end(r, either(r));
    } else if (take(r, "-")) {
        value = -factor(r);
    } else if (isdigit((unsigned char)*r->at)) {
        char *end;

        value = strtod(r->at, &end);
        r->at = end;
    } else {
        value = named(r);
    }
    r->depth--;
    return value;
}

static double product(struct reader *r)
{
    double value = factor(r);

    while (!r->st) {
        if (take(r, "*")) {
            value *= factor(r);
        } else if (take(r, "/")) {
            const double by = factor(r);

            if (!r->st && by == 0.0)
                return fail(r, "a divisor other than 0");
            value /= by;
        } else {
            break;
        }
    }
    return value;
}

static double sum(struct reader *r)
{
    double value = product(r);

    while (!r->st) {
        if (take(r, "+"))
            value += product(r);
        else if (take(r, "-"))
            value -= product(r);
        else
            break;
    }
    return value;
}

static double comparison(struct reader *r)
{
    double a;

    if (take(r, "not"))
        return comparison(r) == 0.0;
    a = sum(r);
    if (take(r, "<="))
        return a <= sum(r);
    if (take(r, ">="))
        return a >= sum(r);
    if (take(r, "=="))
        return a == sum(r);
    if (take(r, "!="))
        return a != sum(r);
    if (take(r, "<"))
        return a < sum(r);
    if (take(r, ">"))
        return a > sum(r);
    return a;
}

/* Both sides are evaluated even if the first decides, so that a mistake in either is found. */
static double both(struct reader *r)
{
    double value = comparison(r);

    while (!r->st && take(r, "and")) {
        const double next = comparison(r);

        value = value != 0.0 && next != 0.0;
    }
    return value;
}

static double either(struct reader *r)
{
    double value = both(r);

    while (!r->st && take(r, "or")) {
        const double next = both(r);

        value = value != 0.0 || next != 0.0;
    }
    return value;
}

enum vs_status cli_expr_value(const char *text, const char *star, cli_expr_figure_fn *figure_of,
                              void *user, double *out, struct vs_error *err)
{
    struct reader r = {.text = text,
                       .at = text,
                       .star = star,
                       .figure = figure_of,
                       .user = user,
                       .st = VS_OK,
                       .err = err};

    *out = either(&r);
    blanks(&r);
    if (!r.st && *r.at)
        (void)fail(&r, "an operator or the end");
    return r.st;
}

/* ---- formats ---- */

static void add_exact(double value, const char *unit, struct vs_text *out)
{
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%s%s%s", value < 0.0 ? "-" : "",
                 vs_bytes_exact_text((uint64_t)llround(fabs(value)), buf), unit);
}

static void add_bytes(double value, struct vs_text *out)
{
    char buf[VS_BYTES_TEXT_MAX];

    vs_text_addf(out, "%s%s", value < 0.0 ? "-" : "",
                 vs_bytes_text((uint64_t)llround(fabs(value)), buf));
}

enum vs_status cli_expr_format(double value, const char *format, struct vs_text *out,
                               struct vs_error *err)
{
    char buf[VS_CHANGE_TEXT_MAX];

    if (strcmp(format, "bytes") == 0)
        add_bytes(value, out);
    else if (strcmp(format, "B") == 0)
        add_exact(value, " B", out);
    else if (strcmp(format, "count") == 0)
        add_exact(value, "", out);
    else if (strcmp(format, "%") == 0)
        vs_text_addf(out, "%.1f %%", 100.0 * value);
    else if (strcmp(format, "change") == 0)
        vs_text_add(out, vs_change_text(1.0, value, buf));
    else if (strcmp(format, "x") == 0)
        vs_text_addf(out, "%.2f", value);
    else if (strcmp(format, "GFLOP") == 0)
        vs_text_addf(out, "%.4g GFLOP", value / 1e9);
    else
        return vs_fail(err, VS_E_VALUE,
                       "there is no format `%s`; bytes, B, count, %%, change, x and GFLOP are",
                       format);
    return VS_OK;
}

/* One {EXPRESSION as FORMAT}, without its brackets. */
static enum vs_status field(const char *text, size_t len, cli_expr_figure_fn *figure_of, void *user,
                            struct vs_text *out, struct vs_error *err)
{
    char *copy = vs_strndup(text, len);
    char *as = strstr(copy, " as ");
    double value;
    enum vs_status st;

    if (as)
        *as = '\0';
    st = cli_expr_value(copy, NULL, figure_of, user, &value, err);
    if (!st)
        st = cli_expr_format(value, as ? as + 4 : "bytes", out, err);
    vs_free(copy);
    return st;
}

enum vs_status cli_expr_text(const char *text, cli_expr_figure_fn *figure_of, void *user,
                             struct vs_text *out, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    while (*text && !st) {
        const size_t plain = strcspn(text, "{");
        const char *end = text[plain] ? strchr(text + plain, '}') : NULL;

        if (text[plain] && !end)
            return vs_fail(err, VS_E_SYNTAX, "`%s`: a `{` without its `}`", text);
        vs_text_add_n(out, text, plain);
        text += plain;
        if (end) {
            st = field(text + 1, (size_t)(end - text - 1), figure_of, user, out, err);
            text = end + 1;
        }
    }
    return st;
}
