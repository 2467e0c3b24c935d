/*
 * tests/standin/runtime/simulated.h - opens the library that simulates a GPU in the test's process, over the fake
 * of PyTorch.
 */
#ifndef TESTS_STANDIN_RUNTIME_SIMULATED_H
#define TESTS_STANDIN_RUNTIME_SIMULATED_H

#include <stddef.h>
#include <stdint.h>

#include "standin/runtime/enter.h"

/* The functions of standin/runtime/enter.h in the opened library. */
struct simulated {
    int (*enter)(const struct sti_request *request, char *text, size_t size);
    int (*admit)(const char *path, char *text, size_t size);
    int (*simulates)(const char *soname);
    int (*set)(const char *name, const char *value);
    void (*stub_folder)(char *out, size_t size);
    void (*set_versions)(int cudnn, int nccl);
    void (*watch_reads)(void (*on_read)(uint64_t bytes, const char *kind));
    void (*expect)(const void *bytes, size_t len);
    uint64_t (*count_kind)(size_t index, char *name, size_t size);
    void (*collectives)(char *out, size_t size);
    void (*count_reads)(uint64_t *count, uint64_t *bytes);
    void (*next_split)(int size);
    int (*store_port)(void);
    void (*exchange_open)(const char *folder);
    void (*hold_values)(int on);
    int (*value_at)(const void *address, void *out, size_t len);
    void (*send_for_others)(const void *bytes, size_t len, int is_message);
    void *(*function_named)(const char *name);
};

/* Open it. Skips the test where this machine cannot simulate a GPU. */
const struct simulated *simulated_open(void);
/* A group setup of cmocka: open it, and simulate a t4 (15095 MiB), two of them, of CUDA 13.2. */
int simulated_setup(void **state);
/* What facts it wrote, in a buffer that the next call reuses. */
const char *simulated_log(void);
/* A simulated function; fails the test where it is not. The caller knows its type. */
void *simulated_function(const char *name);

/* Call `name`, of the given type: SIMULATED(int (*)(void *), "cudaFree")(p). */
#define SIMULATED(type, name) ((type)(uintptr_t)simulated_function(name))

#endif
