/*
 * tests/lang/test_torch2net.c - the list of names that torch2net.py knows equals the names of the net language.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "engine/core/op.h"
#include "lang/prelude/prelude.h"
#include "tests/lang/programs.h"

#define KNOWN "sample_nets/tools/netwriter/known.txt"

/* Functions and classes of the library that end in a message, because a row is missing. */
static const char *const MISSING[] = {"rrelu", "RReLU"};

/* Is `name` on one of the lines that start with `kind`? */
static bool is_known(const char *file, const char *kind, const char *name, size_t len)
{
    for (const char *line = file; line != NULL && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t end = strcspn(line, "\n");

        if (strncmp(line, kind, strlen(kind)) != 0 || line[strlen(kind)] != ' ')
            continue;
        for (const char *p = line + strlen(kind); p < line + end;) {
            size_t word = strcspn(++p, " \n");

            if (word == len && strncmp(p, name, len) == 0)
                return true;
            p += word;
        }
    }
    return false;
}

static void expect_known(const char *file, const char *kind, const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof(MISSING) / sizeof(MISSING[0]); i++) {
        if (strlen(MISSING[i]) == len && strncmp(MISSING[i], name, len) == 0)
            return;
    }
    if (!is_known(file, kind, name, len))
        fail_msg("%s: `%.*s` of the net language is missing in the lines that start with %s", KNOWN,
                 (int)len, name, kind);
}

static void every_name_of_known_txt_exists(void **state)
{
    static const char *const owner[][2] = {
        {"torch", "torch"}, {"F", "F"}, {"Tensor", "tensor"}, {"nn", "nn"}};
    struct vs_text program = {0}, out = {0};
    size_t len, asked = 0;
    char *file = lang_program_read(KNOWN, &len);

    (void)state;
    vs_text_addf(&program, "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
                           "tensor = torch.zeros(2, 2)\n");
    for (const char *p = file; p < file + len; p += strcspn(p, "\n") + 1) {
        size_t kind = strcspn(p, " \n");

        for (size_t k = 0; k < sizeof(owner) / sizeof(owner[0]); k++) {
            if (strlen(owner[k][0]) != kind || strncmp(p, owner[k][0], kind) != 0)
                continue;
            vs_text_addf(&program, "for n in \"%.*s\".split(\" \"):\n",
                         (int)(strcspn(p, "\n") - kind - 1), p + kind + 1);
            vs_text_addf(&program, "    if not hasattr(%s, n):\n        print(\"%s\", n)\n",
                         owner[k][1], owner[k][0]);
            asked++;
        }
    }
    assert_true(asked > 40);
    vs_text_addf(&program,
                 "def model():\n    return nn.Linear(1, 1)\n\n\ndef batch(n):\n    return 1, 2\n");
    lang_program_run("net.py", vs_text_get(&program), program.len, NULL, NULL, &out);
    assert_string_equal(vs_text_get(&out), "");
    vs_text_release(&out);
    vs_text_release(&program);
    vs_free(file);
}

static void known_txt_has_every_public_op(void **state)
{
    static const char *const kinds[][2] = {{"T", "torch"}, {"F", "F"}, {"M", "Tensor"}};
    size_t len;
    char *file = lang_program_read(KNOWN, &len);

    (void)state;
    for (int i = 0; i < ENG_OP_COUNT; i++) {
        const struct eng_op *row = eng_op_get((enum eng_op_id)i);

        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
            if (strchr(row->where, kinds[k][0][0]) != NULL)
                expect_known(file, kinds[k][1], row->name, strcspn(row->name, "."));
        }
    }
    vs_free(file);
}

static void known_txt_has_every_function_and_class_of_the_library(void **state)
{
    static const char *const kinds[][2] = {
        {"torch", "torch"}, {"torch.nn.functional", "F"}, {"torch.nn", "nn"}};
    struct lang_prelude_file prelude;
    size_t len, found = 0;
    char *file = lang_program_read(KNOWN, &len);

    (void)state;
    for (size_t i = 0; lang_prelude_file(i, &prelude); i++) {
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
            if (strcmp(prelude.module, kinds[k][0]) != 0)
                continue;
            for (const char *p = prelude.text; (p = strchr(p, '\n')) != NULL;) {
                size_t skip = strncmp(++p, "def ", 4) == 0   ? 4
                              : strncmp(p, "class ", 6) == 0 ? 6
                                                             : 0;

                if (skip == 0 || p[skip] == '_')
                    continue;
                if (strncmp(p + skip, "NonDynamicallyQuantizableLinear", 31) == 0)
                    continue; /* found in torch.nn.modules.linear alone */
                expect_known(file, kinds[k][1], p + skip, strcspn(p + skip, "(:"));
                found++;
            }
        }
    }
    assert_true(found > 120);
    vs_free(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_of_known_txt_exists),
        cmocka_unit_test(known_txt_has_every_public_op),
        cmocka_unit_test(known_txt_has_every_function_and_class_of_the_library),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
