/*
 * tests/standin/runtime/played.c - see played.h.
 */
#include "tests/standin/runtime/played.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "tests/skip.h"
#include "tests/standin/shared.h"

static void symbol(void *library, const char *name, void *out)
{
    void *address = dlsym(library, name);

    assert_non_null(address);
    memcpy(out, &address, sizeof(address));
}

const struct played *played_open(void)
{
    static struct played played;
    char path[640];
    void *library;

    if (played.enter)
        return &played;
#ifndef __x86_64__
    tests_skip("a GPU is simulated on x86-64 alone");
#endif
    snprintf(path, sizeof(path), "%s/vramscope_standin.so", shared_build());
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    symbol(library, "sti_admit", &played.admit);
    symbol(library, "sti_plays", &played.plays);
    symbol(library, "sti_set", &played.set);
    symbol(library, "sti_stub_folder", &played.stub_folder);
    symbol(library, "sti_set_versions", &played.set_versions);
    symbol(library, "sti_watch_reads", &played.watch_reads);
    symbol(library, "sti_expect", &played.expect);
    symbol(library, "sti_count_kind", &played.count_kind);
    symbol(library, "sti_count_reads", &played.count_reads);
    symbol(library, "sti_next_split", &played.next_split);
    symbol(library, "sti_store_port", &played.store_port);
    symbol(library, "sti_exchange_open", &played.exchange_open);
    symbol(library, "sti_hold_values", &played.hold_values);
    symbol(library, "sti_value_at", &played.value_at);
    symbol(library, "sti_say_for_others", &played.say_for_others);
    symbol(library, "sti_function_named", &played.function_named);
    symbol(library, "sti_enter", &played.enter);
    return &played;
}

static const char *torch_folder(void)
{
    static char path[640];

    snprintf(path, sizeof(path), "%s/fake/standin/torch/lib", shared_build());
    return path;
}

int played_setup(void **state)
{
    char text[1024];
    char log[512];
    const struct sti_request request = {
        .torch = torch_folder(),
        .gpu = "t4",
        .cache = shared_path("cache"),
        .log = log,
        .count = 2,
        .cuda = 13020,
    };

    (void)state;
    snprintf(log, sizeof(log), "%s", shared_path("log"));
    if (played_open()->enter(&request, text, sizeof(text)) != STI_PLAYED)
        fail_msg("%s", text);
    assert_non_null(strstr(text, "Tesla T4"));
    return 0;
}

const char *played_log(void)
{
    static char text[4096];
    FILE *file = fopen(shared_path("log"), "r");
    size_t len = 0;

    if (file) {
        len = fread(text, 1, sizeof(text) - 1, file);
        fclose(file);
    }
    text[len] = '\0';
    return text;
}

void *played_function(const char *name)
{
    void *function = played_open()->function_named(name);

    if (!function)
        fail_msg("%s is not simulated", name);
    return function;
}
