/*
 * engine/device/cpu/products/cpu_blas.c - see cpu_blas.h.
 */
#include "engine/device/cpu/products/cpu_blas.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "engine/device/plugin.h"

#define LIBRARY "libopenblas.so.0"

static struct {
    pthread_once_t once;
    struct cpu_blas calls;
    struct vs_error err;
} blas = {.once = PTHREAD_ONCE_INIT};

/* *call: the address of a pointer to a function, which C does not let us say. */
static void find(void *library, const char *name, void *call)
{
    void *found = dlsym(library, name);

    if (!found)
        vs_fail(&blas.err, VS_E_UNSUPPORTED,
                "%s has no %s; the package libopenblas0 has one that does", LIBRARY, name);
    memcpy(call, &found, sizeof(found));
}

static void load(void)
{
    char own[PATH_MAX + 64];
    const bool has_own = eng_plugin_find("blas", own, sizeof(own));
    void *library = dlopen(has_own ? own : LIBRARY, RTLD_NOW | RTLD_LOCAL);
    __typeof__(openblas_set_num_threads) *threads_set;

    if (!library) {
        vs_fail(&blas.err, VS_E_UNSUPPORTED,
                "products on the CPU need OpenBLAS (the package libopenblas0): %s", dlerror());
        return;
    }
    find(library, "cblas_dgemm", &blas.calls.dgemm);
    find(library, "cblas_sgemm", &blas.calls.sgemm);
    find(library, "openblas_set_num_threads", &threads_set);
    /* cpu_matmul.c splits products over threads: two thread pools would compete for the processors */
    if (threads_set)
        threads_set(1);
}

const struct cpu_blas *cpu_blas_get(void)
{
    pthread_once(&blas.once, load);
    if (blas.err.status)
        vs_die("%s", blas.err.text);
    return &blas.calls;
}

enum vs_status cpu_blas_check(struct vs_error *err)
{
    pthread_once(&blas.once, load);
    return blas.err.status ? vs_fail(err, blas.err.status, "%s", blas.err.text) : VS_OK;
}
