/*
 * engine/device/cuda/cuda_api.c - fills the table of CUDA's functions: see cuda_api.h.
 *
 * Must not know:  what the functions are for.
 * Invariant:      the runtime is linked into the plug-in, because kernels are registered with it; the rest is looked
 *                 up at run time, so that the plug-in loads where a library is missing and can say which.
 */
#include "engine/device/cuda/cuda_api.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum library { RUNTIME, DRIVER, BLAS, DNN, LIBRARIES };

/* The versions it was built for. */
static const char *const NAMES[LIBRARIES] = {NULL, "libcuda.so.1", "libcublas.so.13",
                                             "libcudnn.so.9"};

struct libraries {
    void *handle[LIBRARIES];
};

/* In the folders of a list separated by colons. */
static void *open_in(const char *folders, const char *name)
{
    while (folders && *folders) {
        const char *end = strchr(folders, ':');
        int length = end ? (int)(end - folders) : (int)strlen(folders);
        char path[PATH_MAX];
        void *library;

        snprintf(path, sizeof(path), "%.*s/%s", length, folders, name);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library)
            return library;
        folders = end ? end + 1 : NULL;
    }
    return NULL;
}

static enum vs_status open_all(struct libraries *l, struct vs_error *err)
{
    for (int i = DRIVER; i < LIBRARIES; i++) {
        l->handle[i] = dlopen(NAMES[i], RTLD_NOW | RTLD_LOCAL);
        if (!l->handle[i])
            l->handle[i] = open_in(getenv("VRAMSCOPE_CUDA_LIBS"), NAMES[i]);
        if (!l->handle[i])
            return vs_fail(err, VS_E_UNSUPPORTED,
                           i == DRIVER
                               ? "cuda: there is no NVIDIA driver (%s) on this machine"
                               : "cuda: %s is not found; put its folder into LD_LIBRARY_PATH or "
                                 "VRAMSCOPE_CUDA_LIBS",
                           NAMES[i]);
    }
    return VS_OK;
}

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

/* The runtime's functions are linked in. */
static void *runtime_function(const char *name)
{
#define CUDA_API(library, result, function, args)                                                  \
    if (library == RUNTIME && strcmp(name, TEXT(function)) == 0)                                   \
        return LINKED(library, function);
#define LINKED(library, function) LINKED_##library(function)
#define LINKED_RUNTIME(function) (void *)(uintptr_t)function
#define LINKED_DRIVER(function) NULL
#define LINKED_BLAS(function) NULL
#define LINKED_DNN(function) NULL
#include "engine/device/cuda/cuda_api.def"
#undef CUDA_API
    return NULL;
}

/* Fills one entry; functions of the driver have versions: the newest name is what its header's macro makes of it. */
static enum vs_status symbol_find(const struct libraries *l, enum library library, const char *name,
                                  void *out, struct vs_error *err)
{
    void *function = library == RUNTIME ? runtime_function(name) : dlsym(l->handle[library], name);

    if (!function)
        return vs_fail(err, VS_E_UNSUPPORTED, "cuda: %s has no %s: it is of another version",
                       NAMES[library] ? NAMES[library] : "the runtime", name);
    memcpy(out, &function, sizeof(function));
    return VS_OK;
}

enum vs_status cuda_api_load(struct cuda_api *out, struct vs_error *err)
{
    struct libraries l = {{NULL}};
    enum vs_status st = open_all(&l, err);

    if (st)
        return st;
#define CUDA_API(library, result, name, args)                                                      \
    st = symbol_find(&l, library, TEXT(name), &out->name, err);                                    \
    if (st)                                                                                        \
        return st;
#include "engine/device/cuda/cuda_api.def"
#undef CUDA_API
    return VS_OK;
}
