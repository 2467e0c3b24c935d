/*
 * tests/e2e/bad_input.c - see bad_input.h.
 */
#include "tests/e2e/bad_input.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int bad_input_cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

void bad_input_assert_message(struct program p, int status, const char *const *parts)
{
    if (p.status != status || strncmp(p.err, "vramscope: ", 11) != 0 || *p.out)
        fail_msg("status %d, not %d; out: %s; err: %s", p.status, status, p.out, p.err);
    for (; *parts; parts++)
        if (!strstr(p.err, *parts))
            fail_msg("\"%s\" is not in: %s", *parts, p.err);
    if (strstr(strstr(p.err, "vramscope: ") + 1, "vramscope: "))
        fail_msg("more than one message: %s", p.err);
    program_release(&p);
}

void bad_input_assert_no_file(const char *name)
{
    char command[512];

    snprintf(command, sizeof(command), "ls -a '%s' | grep -q '^%s'", program_folder(), name);
    if (system(command) == 0)
        fail_msg("something called %s… was left behind", name);
}

const char *bad_input_trace(const char *name)
{
    const char *path = program_path(name);
    struct program p =
        program_run("record", LENET, "-o", path, "--device", "meta", "--force", NULL);

    if (p.status)
        fail_msg("%s", p.err);
    program_release(&p);
    return path;
}

const char *bad_input_file(const char *name, const void *bytes, size_t count)
{
    const char *path = program_path(name);
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
    return path;
}

char *bad_input_bytes(const char *path, size_t *count)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 20);

    assert_non_null(file);
    assert_non_null(bytes);
    *count = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}
