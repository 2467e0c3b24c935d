/*
 * tests/standin/runtime/simulated.c - see simulated.h.
 */
#include "tests/standin/runtime/simulated.h"

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

const struct simulated *simulated_open(void)
{
    static struct simulated simulated;
    char path[640];
    void *library;

    if (simulated.enter)
        return &simulated;
#ifndef __x86_64__
    tests_skip("a GPU is simulated on x86-64 alone");
#endif
    snprintf(path, sizeof(path), "%s/vramscope_standin.so", shared_build());
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    symbol(library, "sti_admit", &simulated.admit);
    symbol(library, "sti_simulates", &simulated.simulates);
    symbol(library, "sti_set", &simulated.set);
    symbol(library, "sti_stub_folder", &simulated.stub_folder);
    symbol(library, "sti_set_versions", &simulated.set_versions);
    symbol(library, "sti_watch_reads", &simulated.watch_reads);
    symbol(library, "sti_expect", &simulated.expect);
    symbol(library, "sti_count_kind", &simulated.count_kind);
    symbol(library, "sti_collectives", &simulated.collectives);
    symbol(library, "sti_count_reads", &simulated.count_reads);
    symbol(library, "sti_next_split", &simulated.next_split);
    symbol(library, "sti_store_port", &simulated.store_port);
    symbol(library, "sti_exchange_open", &simulated.exchange_open);
    symbol(library, "sti_hold_values", &simulated.hold_values);
    symbol(library, "sti_value_at", &simulated.value_at);
    symbol(library, "sti_send_for_others", &simulated.send_for_others);
    symbol(library, "sti_function_named", &simulated.function_named);
    symbol(library, "sti_enter", &simulated.enter);
    return &simulated;
}

static const char *torch_folder(void)
{
    static char path[640];

    snprintf(path, sizeof(path), "%s/fake/standin/torch/lib", shared_build());
    return path;
}

int simulated_setup(void **state)
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
    if (simulated_open()->enter(&request, text, sizeof(text)) != STI_SIMULATED)
        fail_msg("%s", text);
    assert_non_null(strstr(text, "Tesla T4"));
    return 0;
}

const char *simulated_log(void)
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

void *simulated_function(const char *name)
{
    void *function = simulated_open()->function_named(name);

    if (!function)
        fail_msg("%s is not simulated", name);
    return function;
}
