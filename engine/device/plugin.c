/*
 * engine/device/plugin.c - finding and opening a device's library: see plugin.h.
 *
 * Must not know:  any device.
 * Invariant:      a library is never unloaded: its kernels may be in tables.
 */
#include "engine/device/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of the running program, without the last slash; empty where it cannot be told. */
static void program_folder(char *out, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", out, size - 1);
    char *slash;

    out[n > 0 ? n : 0] = '\0';
    slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
}

static void *load_from(const char *folder, const char *below, const char *name, char *reason,
                       size_t reason_size)
{
    char path[PATH_MAX + 64];
    void *library;

    snprintf(path, sizeof(path), "%s%s/vramscope_%s.so", folder, below, name);
    if (access(path, R_OK) != 0)
        return NULL;
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        snprintf(reason, reason_size, "%s", dlerror());
    return library;
}

enum vs_status eng_device_open(const char *name, struct eng_device *out, struct vs_error *err)
{
    const char *folder = getenv("VRAMSCOPE_PLUGINS");
    char own[PATH_MAX];
    char reason[512] = "there is no such plug-in beside the program; `make cuda` builds it";
    const struct eng_device_plugin *plugin;
    void *library = NULL;

    program_folder(own, sizeof(own));
    if (folder && *folder)
        library = load_from(folder, "", name, reason, sizeof(reason));
    if (!library)
        library = load_from(own, "", name, reason, sizeof(reason));
    if (!library)
        library = load_from(own, "/../lib/vramscope", name, reason, sizeof(reason));
    if (!library)
        return vs_fail(err, VS_E_UNSUPPORTED, "device %s: %s", name, reason);
    plugin = dlsym(library, "eng_device_plugin");
    if (!plugin)
        return vs_fail(err, VS_E_UNSUPPORTED, "device %s: the library is no plug-in of vramscope",
                       name);
    if (plugin->version != ENG_PLUGIN_VERSION)
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "device %s: the plug-in is of version %u, this program wants %u: build both "
                       "from one checkout",
                       name, plugin->version, (unsigned)ENG_PLUGIN_VERSION);
    return plugin->open(eng_kernels_cpu(), out, err);
}
