/*
 * tests/lang/test_interp.c - programs print what CPython prints, and let go of values where CPython lets go.
 *
 * The programs and their output are in tests/golden/lang/cases.txt, made by tests/oracle/lang_cases.py under python3.12.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "engine/engine.h"
#include "lang/lang.h"

#define CASES "tests/golden/lang/cases.txt"

static void add_output(void *user, const char *text, size_t len)
{
    struct vs_text *out = user;

    vs_text_add_n(out, text, len);
}

/* What a program prints until its last line has run; a failure's message where it fails. */
static void run_program(const char *text, size_t len, struct vs_text *out)
{
    struct eng_options eng_options = {.seed = 1};
    struct lang_options options = {.user = out, .print = add_output, .probes = true};
    struct vs_error err = VS_ERROR_INIT;
    struct lang_net *net = NULL;
    struct lang_vm *vm = NULL;
    struct eng *eng = NULL;
    size_t printed;

    assert_int_equal(eng_new(&eng_options, &eng, &err), VS_OK);
    assert_int_equal(lang_vm_new(eng, &options, &vm, &err), VS_OK);
    if (lang_load(vm, "case.py", text, len, &net, &err))
        vs_text_addf(out, "%s\n", err.text);
    printed = out->len;
    lang_vm_free(vm); /* what is alive now dies unheard */
    eng_free(eng);
    if (out->data != NULL) {
        out->len = printed;
        out->data[printed] = '\0';
    }
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    long len;
    char *text;

    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    len = ftell(f);
    rewind(f);
    text = vs_alloc((size_t)len + 1);
    assert_int_equal(fread(text, 1, (size_t)len, f), len);
    text[len] = '\0';
    fclose(f);
    return text;
}

static void programs_print_what_cpython_prints(void **state)
{
    char *file = read_file(CASES);
    const char *at = file;
    int count = 0;
    int wrong = 0;

    (void)state;
    while (strncmp(at, "=== ", 4) == 0) {
        const char *program = strchr(at, '\n') + 1;
        const char *mark = strstr(program, "--- prints\n");
        const char *expected;
        const char *end;
        struct vs_text out = {NULL, 0, 0};

        assert_non_null(mark);
        expected = mark + strlen("--- prints\n");
        end = strstr(expected - 1, "\n=== ");
        end = end == NULL ? file + strlen(file) : end + 1;
        run_program(program, (size_t)(mark - program), &out);
        if (out.len != (size_t)(end - expected) ||
            memcmp(vs_text_get(&out), expected, out.len) != 0) {
            print_error("%.*s\n  expected:\n%.*s  printed:\n%s\n", (int)(program - 1 - at), at,
                        (int)(end - expected), expected, vs_text_get(&out));
            wrong++;
        }
        vs_text_release(&out);
        count++;
        at = end;
    }
    vs_free(file);
    assert_true(count > 150);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_print_what_cpython_prints),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
