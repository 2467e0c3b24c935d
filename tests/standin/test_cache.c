/*
 * tests/standin/test_cache.c - stub libraries are cached completely or not at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "standin/cache.h"
#include "tests/standin/shared.h"

#define KEY UINT64_C(0x1234)

static void needs_fill(struct sti_needs *needs)
{
    memset(needs, 0, sizeof(*needs));
    sti_needs_symbol(needs, "libfirst_of_cache.so.1", "first", "V");
    sti_needs_library(needs, "libsecond_of_cache.so.1");
    sti_needs_settle(needs);
}

static void write_cache(const char *root, enum vs_status expected)
{
    struct sti_needs needs;
    struct vs_error err = VS_ERROR_INIT;
    enum vs_status st;

    needs_fill(&needs);
    st = sti_cache_write(root, KEY, &needs, &err);
    sti_needs_release(&needs);
    if (st != expected)
        fail_msg("%s: %s", vs_status_name(st), err.text);
}

static int entries(const char *folder)
{
    DIR *dir = opendir(folder);
    int n = 0;

    assert_non_null(dir);
    while (readdir(dir))
        n++;
    closedir(dir);
    return n - 2;
}

static void a_written_cache_is_found_and_can_be_loaded(void **state)
{
    const char *root = shared_path("a/b/cache");
    struct sti_cache cache;
    char path[1024];
    void *handle;

    (void)state;
    assert_false(sti_cache_find(root, KEY, &cache));
    write_cache(root, VS_OK);
    assert_true(sti_cache_find(root, KEY, &cache));
    assert_false(sti_cache_find(root, KEY + 1, &(struct sti_cache){.folder = NULL}));
    assert_int_equal(cache.count, 2);
    assert_string_equal(cache.names[0], "libfirst_of_cache.so.1");
    snprintf(path, sizeof(path), "%s/%s", cache.folder, cache.names[0]);
    handle = dlopen(path, RTLD_NOW);
    assert_non_null(handle);
    assert_non_null(dlvsym(handle, "first", "V"));
    dlclose(handle);
    assert_int_equal(entries(root), 1); /* nothing half-written is left */
    sti_cache_release(&cache);
}

static void writing_a_cache_again_changes_nothing(void **state)
{
    const char *root = shared_path("again");
    struct sti_cache cache;

    (void)state;
    write_cache(root, VS_OK);
    write_cache(root, VS_OK);
    assert_int_equal(entries(root), 1);
    assert_true(sti_cache_find(root, KEY, &cache));
    sti_cache_release(&cache);
}

static void a_damaged_cache_folder_is_rewritten(void **state)
{
    const char *root = shared_path("damaged");
    struct sti_cache cache;
    char path[1024];

    (void)state;
    write_cache(root, VS_OK);
    snprintf(path, sizeof(path), "%s/%016x/libfirst_of_cache.so.1", root, (unsigned)KEY);
    assert_int_equal(truncate(path, 100), 0);
    assert_false(sti_cache_find(root, KEY, &cache));
    write_cache(root, VS_OK);
    assert_true(sti_cache_find(root, KEY, &cache));
    sti_cache_release(&cache);
    snprintf(path, sizeof(path), "%s/%016x/list", root, (unsigned)KEY);
    assert_int_equal(unlink(path), 0);
    assert_false(sti_cache_find(root, KEY, &cache));
    write_cache(root, VS_OK);
    assert_int_equal(entries(root), 1);
}

static void a_folder_that_cannot_be_created_is_an_error(void **state)
{
    (void)state;
    write_cache(shared_file("file", "", 0), VS_E_IO);
}

static void the_cache_is_in_the_users_cache_folder(void **state)
{
    char root[512];

    (void)state;
    setenv("XDG_CACHE_HOME", "/x", 1);
    assert_true(sti_cache_root(root, sizeof(root)));
    assert_string_equal(root, "/x/vramscope/standin");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/home/u", 1);
    assert_true(sti_cache_root(root, sizeof(root)));
    assert_string_equal(root, "/home/u/.cache/vramscope/standin");
    unsetenv("HOME");
    assert_false(sti_cache_root(root, sizeof(root)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_written_cache_is_found_and_can_be_loaded),
        cmocka_unit_test(writing_a_cache_again_changes_nothing),
        cmocka_unit_test(a_damaged_cache_folder_is_rewritten),
        cmocka_unit_test(a_folder_that_cannot_be_created_is_an_error),
        cmocka_unit_test(the_cache_is_in_the_users_cache_folder),
    };

    return cmocka_run_group_tests(tests, NULL, shared_cleanup);
}
