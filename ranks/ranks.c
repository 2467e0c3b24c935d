/*
 * ranks/ranks.c - see ranks.h.
 *
 * Must not know:  MPI.
 * Invariant:      a plug-in is never unloaded.
 */
#include "ranks/ranks.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool number_get(const char *name, int min, int *out)
{
    const char *text = getenv(name);
    char *end = NULL;
    long n;

    if (!text || !*text)
        return false;
    errno = 0;
    n = strtol(text, &end, 10);
    if (*end || errno || n < min || n > 1 << 24)
        return false;
    *out = (int)n;
    return true;
}

bool vs_ranks_started(int *rank, int *count)
{
    return number_get("OMPI_COMM_WORLD_SIZE", 1, count) &&
           number_get("OMPI_COMM_WORLD_RANK", 0, rank) && *rank < *count;
}

enum vs_status vs_ranks_open(const char *path, bool (*goes_on)(void), struct vs_ranks *out,
                             struct vs_error *err)
{
    const struct vs_ranks_plugin *plugin;
    /* global: Open MPI's own components look for its symbols there */
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);

    memset(out, 0, sizeof(*out));
    if (!library)
        return vs_fail(err, VS_E_UNSUPPORTED, "MPI: %s", dlerror());
    plugin = dlsym(library, "vs_ranks_plugin");
    if (!plugin)
        return vs_fail(err, VS_E_UNSUPPORTED, "MPI: %s is no plug-in of vramscope", path);
    if (plugin->version != VS_RANKS_VERSION)
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "MPI: the plug-in is of version %u, this program wants %u: build both from "
                       "one checkout",
                       plugin->version, (unsigned)VS_RANKS_VERSION);
    return plugin->open(goes_on, out, err);
}
