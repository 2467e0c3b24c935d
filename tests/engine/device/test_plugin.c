/*
 * tests/engine/device/test_plugin.c - a plug-in of another build is refused with a message, and none of its functions
 * is called. The library is tests/engine/device/fake/plugin.c, built beside the program; the test sets its version and
 * sizes in the loaded library.
 *
 * The library is tests/engine/device/fake/plugin.c, built beside the program; what it says of itself is set here,
 * where it is loaded already.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/device/plugin.h"

static struct eng_device_plugin *plugin;

/* Beside the program under test. */
static int setup(void **state)
{
    const char *program = getenv("VRAMSCOPE");
    char path[4096];
    char file[4200];
    char *slash;
    void *library;

    (void)state;
    snprintf(path, sizeof(path), "%s", program ? program : "build/vramscope");
    slash = strrchr(path, '/');
    assert_non_null(slash);
    snprintf(slash, sizeof(path) - (size_t)(slash - path), "/fake");
    setenv("VRAMSCOPE_PLUGINS", path, 1);
    snprintf(file, sizeof(file), "%s/vramscope_old.so", path);
    library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    plugin = dlsym(library, "eng_device_plugin");
    assert_non_null(plugin);
    return 0;
}

static int as_built(void **state)
{
    (void)state;
    plugin->version = ENG_PLUGIN_VERSION;
    plugin->tables = ENG_PLUGIN_TABLES;
    return 0;
}

static void is_refused(const char *words)
{
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;

    assert_int_equal(eng_device_open("old", &device, &err), VS_E_UNSUPPORTED);
    if (!strstr(err.text, words) || !strstr(err.text, "build both from one checkout"))
        fail_msg("it says: %s", err.text);
}

static void a_plug_in_of_this_build_is_called(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;

    (void)state;
    assert_int_equal(eng_device_open("old", &device, &err), VS_E_IO);
}

static void a_plug_in_of_another_version_is_refused(void **state)
{
    char words[64];

    (void)state;
    plugin->version = ENG_PLUGIN_VERSION - 1;
    snprintf(words, sizeof(words), "of version %u, this program wants %u", plugin->version,
             (unsigned)ENG_PLUGIN_VERSION);
    is_refused(words);
    plugin->version = ENG_PLUGIN_VERSION + 1;
    is_refused("is of version");
}

/* A table that lacks its last entry, or has one more, although the version is the same. */
static void a_plug_in_with_tables_of_another_size_is_refused(void **state)
{
    char words[64];

    (void)state;
    plugin->tables = ENG_PLUGIN_TABLES - (uint32_t)sizeof(void *);
    snprintf(words, sizeof(words), "tables have %u bytes, this program's %u", plugin->tables,
             (unsigned)ENG_PLUGIN_TABLES);
    is_refused(words);
    plugin->tables = ENG_PLUGIN_TABLES + (uint32_t)sizeof(void *);
    is_refused("tables have");
}

static void a_missing_plug_in_is_reported(void **state)
{
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;

    (void)state;
    assert_int_equal(eng_device_open("nowhere", &device, &err), VS_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "there is no such plug-in"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_plug_in_of_this_build_is_called, as_built),
        cmocka_unit_test_setup(a_plug_in_of_another_version_is_refused, as_built),
        cmocka_unit_test_setup(a_plug_in_with_tables_of_another_size_is_refused, as_built),
        cmocka_unit_test(a_missing_plug_in_is_reported),
    };

    return cmocka_run_group_tests_name("engine/device/plugin", tests, setup, NULL);
}
