/*
 * tests/base/temporary/test_folder.c - temporary folders: what is in them goes with them, whoever made them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/temporary/folder.h"
#include "tests/e2e/program.h"

static int setup(void **state)
{
    (void)state;
    return setenv("TMPDIR", program_folder(), 1);
}

static int cleanup(void **state)
{
    (void)state;
    program_cleanup();
    return 0;
}

/* Make a folder with a file, and one in a folder of its own. */
static void make(struct vs_folder *folder, enum vs_folder_use use)
{
    struct vs_error err = VS_ERROR_INIT;
    char inner[VS_FOLDER_PATH_MAX + 16];

    assert_int_equal(vs_folder_open(folder, use, &err), VS_OK);
    snprintf(inner, sizeof(inner), "%s/inner", folder->path);
    assert_int_equal(mkdir(inner, 0700), 0);
    assert_int_equal(vs_folder_write(folder, "settings", "a", 1, &err), VS_OK);
    assert_int_equal(vs_folder_write(folder, "inner/whatif.db.new-1-0", "a", 1, &err), VS_OK);
}

static void one_that_is_released_is_gone_with_all_that_is_in_it(void **state)
{
    struct vs_folder folder;

    (void)state;
    make(&folder, VS_FOLDER_RECORD);
    assert_int_equal(program_count("vramscope-record-*"), 1);
    vs_folder_release(&folder);
    assert_int_equal(program_count("vramscope-*"), 0);
}

static void those_of_killed_processes_are_removed_and_others_stay(void **state)
{
    struct vs_folder mine;
    pid_t pid;

    (void)state;
    make(&mine, VS_FOLDER_WHATIF);
    pid = fork();
    assert_int_not_equal(pid, -1);
    if (pid == 0) {
        struct vs_folder record, whatif;

        make(&record, VS_FOLDER_RECORD);
        make(&whatif, VS_FOLDER_WHATIF);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(program_count("vramscope-record-*"), 1);
    assert_int_equal(program_count("vramscope-whatif-*"), 2);
    vs_folders_clean();
    assert_int_equal(program_count("vramscope-record-*"), 0);
    assert_int_equal(program_count("vramscope-whatif-*"), 1);
    assert_int_equal(access(mine.path, F_OK), 0);
    vs_folder_release(&mine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_is_released_is_gone_with_all_that_is_in_it),
        cmocka_unit_test(those_of_killed_processes_are_removed_and_others_stay),
    };

    return cmocka_run_group_tests(tests, setup, cleanup);
}
