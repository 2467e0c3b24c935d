/*
 * tests/lang/prelude/test_prelude.c - the files of the prelude: each is present, is in the net language, and uses only
 * existing ops.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "engine/core/op.h"
#include "lang/prelude/prelude.h"
#include "lang/syntax/parser.h"

/* The length of the name at `p`: letters, digits, underscores. */
static size_t name_len(const char *p)
{
    return strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

static bool row_is_called(const struct eng_op *row, const char *name, size_t len)
{
    return strncmp(row->name, name, len) == 0 && (row->name[len] == '\0' || row->name[len] == '.');
}

/*
 * Rows that functions of the library want and the table still lacks: calling these fails with a message. The list only
 * shrinks.
 */
static const char *const MISSING[] = {"rrelu", "rrelu_"};

static bool is_listed_as_missing(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof(MISSING) / sizeof(MISSING[0]); i++) {
        if (strlen(MISSING[i]) == len && strncmp(MISSING[i], name, len) == 0)
            return true;
    }
    return false;
}

/* A row, or the in-place twin of one. */
static bool op_exists(const char *name, size_t len)
{
    for (int i = 0; i < ENG_OP_COUNT; i++) {
        const struct eng_op *row = eng_op_get((enum eng_op_id)i);

        if (row_is_called(row, name, len))
            return true;
        if (len > 1 && name[len - 1] == '_' && row_is_called(row, name, len - 1))
            return true;
    }
    return false;
}

static void each_prelude_file_has_a_module_name_and_text(void **state)
{
    struct lang_prelude_file file;
    size_t count = 0;

    (void)state;
    for (; lang_prelude_file(count, &file); count++) {
        assert_true(file.len > 100);
        assert_int_equal(strlen(file.text), file.len);
        assert_true(strncmp(file.module, "torch", 5) == 0 || strcmp(file.module, "copy") == 0 ||
                    strcmp(file.module, "collections") == 0 ||
                    strcmp(file.module, "functools") == 0 || file.module[0] == '_');
    }
    assert_int_equal(count, 44);
}

static void each_prelude_file_is_in_the_net_language(void **state)
{
    struct lang_prelude_file file;

    (void)state;
    for (size_t i = 0; lang_prelude_file(i, &file); i++) {
        struct vs_arena *arena = vs_arena_new();
        struct lang_module *module = NULL;
        struct vs_error err = VS_ERROR_INIT;

        if (lang_parse(file.file, file.text, file.len, arena, &module, &err))
            fail_msg("%s", err.text);
        vs_arena_free(arena);
    }
}

static void each_op_used_by_the_prelude_is_in_the_op_table(void **state)
{
    static const char *const prefixes[] = {"torch._op.", "torch._foreach", "torch._amp"};
    struct lang_prelude_file file;
    size_t found = 0;

    (void)state;
    for (size_t i = 0; lang_prelude_file(i, &file); i++) {
        for (size_t k = 0; k < sizeof(prefixes) / sizeof(prefixes[0]); k++) {
            for (const char *p = file.text; (p = strstr(p, prefixes[k])) != NULL;) {
                const char *name = k == 0 ? p + strlen(prefixes[k]) : p + strlen("torch.");

                size_t len = name_len(name);

                if (op_exists(name, len) == is_listed_as_missing(name, len))
                    fail_msg("%s: %.*s: no row in op.def, or a row and still listed as missing",
                             file.file, (int)len, name);
                found++;
                p = name;
            }
        }
    }
    assert_true(found > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_prelude_file_has_a_module_name_and_text),
        cmocka_unit_test(each_prelude_file_is_in_the_net_language),
        cmocka_unit_test(each_op_used_by_the_prelude_is_in_the_op_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
