/*
 * tests/lang/syntax/test_parser.c - the syntax tree of every construct compared with CPython's, precedence, and the
 * messages for what is refused.
 */
#include <glob.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "lang/syntax/diag.h"
#include "lang/syntax/parser.h"
#include "tests/lang/case_file.h"
#include "tests/lang/dump.h"
#include "tests/skip.h"

#define GOLDEN "tests/golden/lang/"

/* Parse, or fail the test with the message. */
static struct lang_module *parse(struct vs_arena *arena, const char *file, const char *text,
                                 size_t len)
{
    struct vs_error err = VS_ERROR_INIT;
    struct lang_module *module = NULL;

    if (lang_parse(file, text, len, arena, &module, &err))
        fail_msg("%s", err.text);
    return module;
}

/* The message for a text that must be refused. */
static void parse_refused(const char *text, size_t len, struct vs_error *err)
{
    struct vs_arena *arena = vs_arena_new();
    struct lang_module *module = NULL;

    memset(err, 0, sizeof(*err));
    assert_int_equal(lang_parse("net.py", text, len, arena, &module, err), VS_E_SYNTAX);
    assert_int_equal(err->status, VS_E_SYNTAX);
    assert_null(module);
    vs_arena_free(arena);
}

/* The tree of one expression as text; to be freed. */
static char *expr_text(const char *source)
{
    struct vs_arena *arena = vs_arena_new();
    struct lang_module *module = parse(arena, source, source, strlen(source));
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);

    assert_int_equal(module->code->body.count, 1);
    assert_int_equal(module->code->body.stmts[0]->kind, LANG_STMT_EXPR);
    dump_expr(out, module->code->body.stmts[0]->u.expr);
    (void)fclose(out);
    vs_arena_free(arena);
    return text;
}

static void assert_same_tree(const char *a, const char *b)
{
    char *x = expr_text(a);
    char *y = expr_text(b);

    if (strcmp(x, y) != 0)
        fail_msg("%s is read as %s, not as %s", a, x, y);
    free(x);
    free(y);
}

/* ---- against CPython ---- */

static void compare_tree(const char *name)
{
    struct vs_arena *arena = vs_arena_new();
    char path[256];
    char *source;
    char *want;
    char *got = NULL;
    size_t source_len;
    size_t want_len;
    size_t got_len = 0;
    FILE *out = open_memstream(&got, &got_len);
    size_t line = 1;

    (void)snprintf(path, sizeof(path), GOLDEN "%s.py", name);
    source = case_file_read(path, &source_len);
    dump_tree(out, parse(arena, path, source, source_len));
    (void)fclose(out);
    (void)snprintf(path, sizeof(path), GOLDEN "%s.ast", name);
    want = case_file_read(path, &want_len);
    for (size_t i = 0; i < want_len || i < got_len; i++) {
        if (i >= want_len || i >= got_len || want[i] != got[i])
            fail_msg("%s:%zu: CPython has ...%.120s\nand we ...%.120s", path, line,
                     want + (i > 30 ? i - 30 : 0), got + (i > 30 ? i - 30 : 0));
        line += want[i] == '\n';
    }
    free(source);
    free(want);
    free(got);
    vs_arena_free(arena);
}

static void statements_are_read_as_cpython_reads_them(void **state)
{
    (void)state;
    compare_tree("statements");
    compare_tree("scopes");
}

static void expressions_are_read_as_cpython_reads_them(void **state)
{
    (void)state;
    compare_tree("expressions");
}

static void strings_are_read_as_cpython_reads_them(void **state)
{
    (void)state;
    compare_tree("strings");
}

static void layout_is_read_as_cpython_reads_it(void **state)
{
    (void)state;
    compare_tree("layout");
}

static void precedence_is_that_of_python(void **state)
{
    /* from the weakest to the strongest, each with two operands */
    static const char *const levels[][4] = {
        {"or"},       {"and"},    {"==", "<", "in", "is not"}, {"|"},  {"^"}, {"&"},
        {"<<", ">>"}, {"+", "-"}, {"*", "/", "//", "@"},       {"**"},
    };
    size_t count = sizeof(levels) / sizeof(levels[0]);

    (void)state;
    for (size_t weak = 0; weak < count; weak++) {
        for (size_t strong = weak + 1; strong < count; strong++) {
            for (size_t i = 0; i < 4 && levels[weak][i]; i++) {
                for (size_t k = 0; k < 4 && levels[strong][k]; k++) {
                    char plain[64];
                    char bracketed[64];
                    const char *w = levels[weak][i];
                    const char *s = levels[strong][k];

                    (void)snprintf(plain, sizeof(plain), "a %s b %s c", w, s);
                    (void)snprintf(bracketed, sizeof(bracketed), "a %s (b %s c)", w, s);
                    assert_same_tree(plain, bracketed);
                    (void)snprintf(plain, sizeof(plain), "a %s b %s c", s, w);
                    (void)snprintf(bracketed, sizeof(bracketed), "(a %s b) %s c", s, w);
                    assert_same_tree(plain, bracketed);
                }
            }
        }
    }
    assert_same_tree("not a == b", "not (a == b)");
    assert_same_tree("not a and b", "(not a) and b");
    assert_same_tree("-a ** b", "-(a ** b)");
    assert_same_tree("-a * b", "(-a) * b");
    assert_same_tree("a ** -b", "a ** (-b)");
    assert_same_tree("lambda: a or b", "lambda: (a or b)");
    assert_same_tree("a or b if c else d", "(a or b) if c else d");
}

static void equal_operators_go_from_left_to_right_but_powers_do_not(void **state)
{
    char *text = expr_text("a - b + c - d");

    (void)state;
    assert_string_equal(text, "(- (+ (- a b) c) d)");
    free(text);
    text = expr_text("a ** b ** c");
    assert_string_equal(text, "(** a (** b c))");
    free(text);
}

static void every_sample_net_and_the_prelude_parse(void **state)
{
    static const char *const patterns[] = {"sample_nets/*.py", "lang/prelude/*.py",
                                           "lang/prelude/*/*.py", "tests/nets/*.py"};

    (void)state;
    for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
        glob_t found;

        assert_int_equal(glob(patterns[i], 0, NULL, &found), 0);
        for (size_t k = 0; k < found.gl_pathc; k++) {
            struct vs_arena *arena = vs_arena_new();
            size_t len;
            char *text = case_file_read(found.gl_pathv[k], &len);

            (void)parse(arena, found.gl_pathv[k], text, len);
            free(text);
            vs_arena_free(arena);
        }
        globfree(&found);
    }
}

/* ---- messages ---- */

static void message_of(const char *source, size_t len, char *out, size_t out_size)
{
    struct vs_error err;

    parse_refused(source, len, &err);
    (void)snprintf(out, out_size, "%s", err.text);
}

static void unsupported_syntax_is_refused_with_an_alternative(void **state)
{
    (void)state;
    case_file_check(GOLDEN "refused.txt", message_of);
}

static void invalid_python_is_refused_at_its_position(void **state)
{
    (void)state;
    case_file_check(GOLDEN "wrong.txt", message_of);
}

static void columns_count_characters(void **state)
{
    struct vs_error err;

    (void)state;
    parse_refused("ä = '€' 1\n", strlen("ä = '€' 1\n"), &err);
    assert_string_equal(err.text, "net.py:1:9: expected the end of the line, found `1`\n"
                                  "     1 | ä = '€' 1\n"
                                  "       |         ^");
}

static void invalid_utf8_and_nul_bytes_are_refused(void **state)
{
    static const char *const bad[] = {"x = '\xff'",         "x = '\xc0\x80'",
                                      "x = '\xed\xa0\x80'", "x = '\xf4\x90\x80\x80'",
                                      "x = '\xe2\x82'",     "\x80"};
    struct vs_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        parse_refused(bad[i], strlen(bad[i]), &err);
        assert_non_null(strstr(err.text, "not UTF-8"));
    }
    parse_refused("x = 1\0y", 7, &err);
    assert_string_equal(err.text, "net.py:1:6: a NUL byte (0x00)\n"
                                  "     1 | x = 1?y\n"
                                  "       |      ^\n"
                                  "  save the file as UTF-8");
}

static void control_characters_do_not_reach_the_terminal(void **state)
{
    struct vs_error err;

    (void)state;
    parse_refused("x = '\x1b[31m' \xc2\x9b 1\n", 16, &err);
    assert_null(strchr(err.text, '\x1b'));
    assert_null(strstr(err.text, "\xc2\x9b"));
}

static void a_long_line_is_cut_around_the_location(void **state)
{
    char text[4096];
    struct vs_error err;

    (void)state;
    memset(text, 'a', sizeof(text));
    text[3000] = ' ';
    parse_refused(text, 4000, &err);
    assert_string_equal(err.text,
                        "net.py:1:3002: expected the end of the line, found a name\n"
                        "     1 | ...aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa "
                        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\n"
                        "       |                                            "
                        "^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^");
}

static void line_endings_and_byte_order_marks_do_not_matter(void **state)
{
    static const char source[] = "\xef\xbb\xbfif a:\r\n  b\r\rc = '''x\r\ny'''";
    struct vs_arena *arena = vs_arena_new();
    struct lang_module *module = parse(arena, "net.py", source, strlen(source));

    (void)state;
    assert_int_equal(module->code->body.count, 2);
    assert_int_equal(module->code->body.stmts[1]->span.line, 4);
    assert_string_equal(module->code->body.stmts[1]->u.assign.value->u.str->text, "x\ny");
    vs_arena_free(arena);
}

static void a_decimal_comma_of_the_locale_changes_nothing(void **state)
{
    const char *old = setlocale(LC_NUMERIC, NULL);
    struct vs_arena *arena = vs_arena_new();
    struct lang_module *module;
    char kept[64];

    (void)state;
    (void)snprintf(kept, sizeof(kept), "%s", old ? old : "C");
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8")) {
        vs_arena_free(arena);
        tests_skip("the locale de_DE.UTF-8 is not installed");
    }
    module = parse(arena, "net.py", "x = 1.5", 7);
    assert_true(module->code->body.stmts[0]->u.assign.value->u.float_value == 1.5);
    (void)setlocale(LC_NUMERIC, kept);
    vs_arena_free(arena);
}

/* ---- spans ---- */

static void spans_cover_their_expressions(void **state)
{
    static const char source[] = "x = foo(a,\n  b) + c.d[1] # y\n";
    struct vs_arena *arena = vs_arena_new();
    struct lang_module *module = parse(arena, "net.py", source, strlen(source));
    const struct lang_expr *sum = module->code->body.stmts[0]->u.assign.value;
    const struct lang_expr *call = sum->u.binary.first;
    const struct lang_expr *index = sum->u.binary.steps[0].operand;

    (void)state;
    assert_memory_equal(&sum->span, (&(struct lang_span){1, 5, 2, 14}), sizeof(sum->span));
    assert_memory_equal(&call->span, (&(struct lang_span){1, 5, 2, 5}), sizeof(call->span));
    assert_memory_equal(&index->span, (&(struct lang_span){2, 8, 2, 14}), sizeof(index->span));
    assert_memory_equal(&sum->u.binary.steps[0].at, (&(struct lang_span){2, 6, 2, 7}),
                        sizeof(struct lang_span));
    assert_memory_equal(&index->u.index.value->u.attr.at, (&(struct lang_span){2, 10, 2, 11}),
                        sizeof(struct lang_span));
    vs_arena_free(arena);
}

/* ---- limits ---- */

/* head, then part repeated count times, then tail; to be freed */
static char *repeated(const char *head, const char *part, size_t count, const char *tail)
{
    size_t part_len = strlen(part);
    size_t size = strlen(head) + part_len * count + strlen(tail) + 1;
    char *text = malloc(size);
    char *end;

    assert_non_null(text);
    (void)snprintf(text, size, "%s", head);
    end = text + strlen(text);
    for (size_t i = 0; i < count; i++, end += part_len)
        memcpy(end, part, part_len);
    memcpy(end, tail, strlen(tail) + 1);
    return text;
}

static void assert_parses(char *text)
{
    struct vs_arena *arena = vs_arena_new();

    (void)parse(arena, "net.py", text, strlen(text));
    vs_arena_free(arena);
    free(text);
}

static void assert_too_deep(char *text, const char *message)
{
    struct vs_error err;

    parse_refused(text, strlen(text), &err);
    if (!strstr(err.text, message))
        fail_msg("%s\ndoes not say: %s", err.text, message);
    free(text);
}

static void long_operator_chains_need_no_recursion(void **state)
{
    (void)state;
    assert_parses(repeated("a", " + b", 100000, "\n"));
    assert_parses(repeated("a", " < b", 100000, "\n"));
    assert_parses(repeated("a", " and b", 100000, "\n"));
    assert_parses(repeated("if a: pass\n", "elif b: pass\n", 50000, ""));
    assert_parses(repeated("x = ", "'a' ", 100000, "\n"));
    assert_parses(repeated("a", " = b", 50000, "\n"));
    assert_parses(repeated("", "x; ", 50000, "\n"));
}

static void the_nesting_of_expressions_is_bounded(void **state)
{
    (void)state;
    for (size_t n = 190; n <= 210; n += 20) {
        char *open = repeated("x = ", "(", n, "a");
        char *text = repeated(open, ")", n, "\n");

        free(open);
        if (n < LANG_MAX_NESTING)
            assert_parses(text);
        else
            assert_too_deep(text, "brackets are nested too deeply");
    }
    assert_too_deep(repeated("x = ", "[", 100000, ""), "brackets are nested too deeply");
    assert_too_deep(repeated("x = ", "-", 100000, "1"), "expressions are nested too deeply");
    assert_too_deep(repeated("x = ", "not ", 100000, "1"), "expressions are nested too deeply");
    assert_too_deep(repeated("x = ", "a ** ", 100000, "1"), "expressions are nested too deeply");
    assert_too_deep(repeated("x = ", "lambda: ", 100000, "1"), "expressions are nested too deeply");
    assert_too_deep(repeated("x = ", "a if b else ", 100000, "1"),
                    "expressions are nested too deeply");
    assert_too_deep(repeated("x = a", ".b", 100000, ""), "the expression is nested too deeply");
    assert_too_deep(repeated("x = a", "()", 100000, ""), "the expression is nested too deeply");
    assert_too_deep(repeated("x = ", "f'{", 100000, ""), "expressions are nested too deeply");
}

static void the_nesting_of_blocks_is_bounded(void **state)
{
    char text[110 * 120];
    size_t len = 0;
    struct vs_error err;

    (void)state;
    for (int i = 0; i < 105; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%*sif a:\n", i, "");
    parse_refused(text, len, &err);
    assert_non_null(strstr(err.text, "blocks are nested too deeply"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_are_read_as_cpython_reads_them),
        cmocka_unit_test(expressions_are_read_as_cpython_reads_them),
        cmocka_unit_test(strings_are_read_as_cpython_reads_them),
        cmocka_unit_test(layout_is_read_as_cpython_reads_it),
        cmocka_unit_test(precedence_is_that_of_python),
        cmocka_unit_test(equal_operators_go_from_left_to_right_but_powers_do_not),
        cmocka_unit_test(every_sample_net_and_the_prelude_parse),
        cmocka_unit_test(unsupported_syntax_is_refused_with_an_alternative),
        cmocka_unit_test(invalid_python_is_refused_at_its_position),
        cmocka_unit_test(columns_count_characters),
        cmocka_unit_test(invalid_utf8_and_nul_bytes_are_refused),
        cmocka_unit_test(control_characters_do_not_reach_the_terminal),
        cmocka_unit_test(a_long_line_is_cut_around_the_location),
        cmocka_unit_test(line_endings_and_byte_order_marks_do_not_matter),
        cmocka_unit_test(a_decimal_comma_of_the_locale_changes_nothing),
        cmocka_unit_test(spans_cover_their_expressions),
        cmocka_unit_test(long_operator_chains_need_no_recursion),
        cmocka_unit_test(the_nesting_of_expressions_is_bounded),
        cmocka_unit_test(the_nesting_of_blocks_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
