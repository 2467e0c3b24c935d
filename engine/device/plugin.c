/*
 * engine/device/plugin.c - see plugin.h.
 *
 * Must not know:  any device.
 * Invariant:      a library is never unloaded, because tables may point into it.
 */
#include "engine/device/plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of the running program without the last slash; empty if it cannot be found out. */
static void program_folder(char *out, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", out, size - 1);
    char *slash;

    out[n > 0 ? n : 0] = '\0';
    slash = strrchr(out, '/');
    if (slash)
        *slash = '\0';
}

static bool is_in(const char *folder, const char *below, const char *name, char *out, size_t size)
{
    const int len = snprintf(out, size, "%s%s/vramscope_%s.so", folder, below, name);

    return len > 0 && (size_t)len < size && access(out, R_OK) == 0;
}

bool eng_plugin_find(const char *name, char *out, size_t size)
{
    const char *folder = getenv("VRAMSCOPE_PLUGINS");
    char own[PATH_MAX];

    program_folder(own, sizeof(own));
    if ((folder && *folder && is_in(folder, "", name, out, size)) ||
        is_in(own, "", name, out, size) || is_in(own, "/../lib/vramscope", name, out, size))
        return true;
    out[0] = '\0';
    return false;
}

enum vs_status eng_device_open(const char *name, struct eng_device *out, struct vs_error *err)
{
    char path[PATH_MAX + 64];
    const struct eng_device_plugin *plugin;
    void *library;

    if (!eng_plugin_find(name, path, sizeof(path)))
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "device %s: there is no such plug-in beside the program; `make cuda` "
                       "builds it",
                       name);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return vs_fail(err, VS_E_UNSUPPORTED, "device %s: %s", name, dlerror());
    plugin = dlsym(library, "eng_device_plugin");
    if (!plugin)
        return vs_fail(err, VS_E_UNSUPPORTED, "device %s: the library is no plug-in of vramscope",
                       name);
    if (plugin->version != ENG_PLUGIN_VERSION)
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "device %s: the plug-in is of version %u, this program wants %u: build both "
                       "from one checkout",
                       name, plugin->version, (unsigned)ENG_PLUGIN_VERSION);
    if (plugin->tables != ENG_PLUGIN_TABLES)
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "device %s: the plug-in's tables have %u bytes, this program's %u: build "
                       "both from one checkout",
                       name, plugin->tables, (unsigned)ENG_PLUGIN_TABLES);
    return plugin->open(eng_kernels_cpu(), out, err);
}
