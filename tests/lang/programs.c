/*
 * tests/lang/programs.c - see programs.h.
 */
#include "tests/lang/programs.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/context.h"
#include "engine/core/engine.h"
#include "lang/run/lang.h"
#include "lang/value/warning.h"

static void add_output(void *user, const char *text, size_t len)
{
    struct vs_text *out = user;

    vs_text_add_n(out, text, len);
}

static void add_warning(void *user, const struct lang_warning *warning)
{
    struct vs_text *out = user;

    vs_text_addf(out, "warning %" PRIu32 ": %s\n", warning->line, warning->text);
}

void lang_program_run(const char *file_name, const char *text, size_t len,
                      const struct eng_kernels *kernels, const struct eng_observer *observer,
                      struct vs_text *out)
{
    struct eng_options eng_options = {.seed = 1, .kernels = kernels, .observer = observer};
    struct lang_options options = {.user = out,
                                   .print = add_output,
                                   .warn = add_warning,
                                   .probes = true,
                                   .observed = observer != NULL};
    struct vs_error err = VS_ERROR_INIT;
    struct lang_net *net = NULL;
    struct lang_vm *vm = NULL;
    struct eng *eng = NULL;
    size_t printed;

    assert_int_equal(eng_new(&eng_options, &eng, &err), VS_OK);
    assert_int_equal(lang_vm_new(eng, &options, &vm, &err), VS_OK);
    if (lang_load(vm, file_name, text, len, &net, &err))
        vs_text_addf(out, "%s\n", err.text);
    printed = out->len;
    lang_vm_free(vm); /* no events are recorded for values that are freed now */
    eng_free(eng);
    if (out->data != NULL) {
        out->len = printed;
        out->data[printed] = '\0';
    }
}

char *lang_program_read(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    char *text;
    long size;

    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    size = ftell(f);
    rewind(f);
    text = vs_alloc((size_t)size + 1);
    assert_int_equal(fread(text, 1, (size_t)size, f), size);
    text[size] = '\0';
    fclose(f);
    *len = (size_t)size;
    return text;
}

int lang_programs_check(const char *path, const char *mark, const struct eng_kernels *kernels,
                        int *count)
{
    size_t len;
    char *file = lang_program_read(path, &len);
    const char *at = file;
    int wrong = 0;

    *count = 0;
    while (strncmp(at, "=== ", 4) == 0) {
        const char *program = strchr(at, '\n') + 1;
        const char *middle = strstr(program, mark);
        const char *expected;
        const char *end;
        struct vs_text out = {NULL, 0, 0};

        assert_non_null(middle);
        expected = middle + strlen(mark);
        end = strstr(expected - 1, "\n=== ");
        end = end == NULL ? file + len : end + 1;
        lang_program_run("net.py", program, (size_t)(middle - program), kernels, NULL, &out);
        if (out.len != (size_t)(end - expected) ||
            memcmp(vs_text_get(&out), expected, out.len) != 0) {
            print_error("%.*s\n  expected:\n%.*s  came:\n%s\n", (int)(program - 1 - at), at,
                        (int)(end - expected), expected, vs_text_get(&out));
            wrong++;
        }
        vs_text_release(&out);
        (*count)++;
        at = end;
    }
    vs_free(file);
    return wrong;
}
