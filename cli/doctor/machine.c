/*
 * cli/doctor/machine.c - see machine.h.
 */
#include "cli/doctor/machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/lesson/folder.h"
#include "engine/device/cpu/products/cpu_blas.h"
#include "engine/device/plugin.h"
#include "standin/cache.h"
#include "standin/torch.h"
#include "store/query.h"
#include "tracer/cupti/cupti_api.h"
#include "tracer/nvml/nvml_api.h"

static void why_keep(struct doc_library *library, const struct vs_error *err)
{
    snprintf(library->why, sizeof(library->why), "%s", err->text);
}

/* ---- the driver and its libraries ---- */

static void in_path(const char *name, char *out, size_t size)
{
    const char *folders = getenv("PATH");

    out[0] = '\0';
    while (folders && *folders) {
        const char *end = strchrnul(folders, ':');

        snprintf(out, size, "%.*s/%s", (int)(end - folders), folders, name);
        if (access(out, X_OK) == 0)
            return;
        folders = *end ? end + 1 : end;
    }
    out[0] = '\0';
}

static void nvml_find(struct doc_machine *out)
{
    struct vs_error err = VS_ERROR_INIT;
    struct nvml_api api;

    if (nvml_api_load(&api, &err) || smi_read(&api, &out->smi, &err))
        why_keep(&out->nvml, &err);
}

static void cupti_find(struct doc_library *out)
{
    struct vs_error err = VS_ERROR_INIT;

    if (cupti_check(&err))
        why_keep(out, &err);
}

/* ---- what belongs to vramscope ---- */

/* The path of vramscope_<name>.so, without ".." in it; empty: there is none. */
static void path_find(const char *name, struct doc_library *out)
{
    char path[PATH_MAX + 64];

    if (!eng_plugin_find(name, path, sizeof(path)) || !realpath(path, out->path))
        out->path[0] = '\0';
}

static void plugin_find(const char *name, struct doc_library *out)
{
    path_find(name, out);
    if (!*out->path)
        snprintf(out->why, sizeof(out->why), "vramscope_%s.so is not beside the program", name);
}

static void device_find(struct doc_library *out)
{
    struct vs_error err = VS_ERROR_INIT;
    struct eng_device device;

    path_find("cuda", out);
    if (eng_device_open("cuda", &device, &err))
        why_keep(out, &err);
    else
        device.close();
}

static void blas_find(struct doc_library *out)
{
    struct vs_error err = VS_ERROR_INIT;

    path_find("blas", out);
    if (cpu_blas_check(&err))
        why_keep(out, &err);
}

static void lessons_find(struct doc_machine *out)
{
    struct cli_lesson_folder folder = {.path = NULL};
    struct vs_error err = VS_ERROR_INIT;

    if (cli_lesson_folder_read(NULL, &folder, &err))
        snprintf(out->lessons_why, sizeof(out->lessons_why), "%s", err.text);
    cli_lesson_folder_release(&folder);
}

/* ---- where stub libraries are kept ---- */

/* Bytes of the files in the folder `name` of `root`. */
static uint64_t folder_bytes(const char *root, const char *name)
{
    char path[PATH_MAX];
    uint64_t bytes = 0;
    struct dirent *entry;
    DIR *folder;

    if (snprintf(path, sizeof(path), "%s/%s", root, name) >= (int)sizeof(path))
        return 0;
    folder = opendir(path);
    while (folder && (entry = readdir(folder)) != NULL) {
        struct stat info;

        if (fstatat(dirfd(folder), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(info.st_mode))
            bytes += (uint64_t)info.st_size;
    }
    if (folder)
        closedir(folder);
    return bytes;
}

/* Folders that are complete have a key's name; the others are being written. */
static void sets_count(struct doc_cache *out)
{
    DIR *root = opendir(out->folder);
    struct dirent *entry;

    while (root && (entry = readdir(root)) != NULL)
        if (strlen(entry->d_name) == 16 && strspn(entry->d_name, "0123456789abcdef") == 16) {
            out->sets++;
            out->bytes += folder_bytes(out->folder, entry->d_name);
        }
    if (root)
        closedir(root);
}

/* Can a library be written there, and loaded from there? What is not there yet will be made in the folder above. */
static void cache_check(struct doc_cache *out)
{
    char path[PATH_MAX];
    struct statvfs info;
    char *slash;

    snprintf(path, sizeof(path), "%s", out->folder);
    while (access(path, F_OK) != 0 && (slash = strrchr(path, '/')) != NULL)
        *slash = '\0';
    if (!*path)
        snprintf(path, sizeof(path), "/");
    if (access(path, W_OK | X_OK) != 0)
        snprintf(out->why, sizeof(out->why), "%s: %s", path, strerror(errno));
    else if (statvfs(path, &info) == 0 && info.f_flag & ST_NOEXEC)
        snprintf(out->why, sizeof(out->why), "%s is on a file system mounted noexec", path);
}

static void cache_find(struct doc_cache *out)
{
    if (!sti_cache_root(out->folder, sizeof(out->folder))) {
        out->folder[0] = '\0';
        snprintf(out->why, sizeof(out->why), "neither XDG_CACHE_HOME nor HOME is set");
        return;
    }
    sets_count(out);
    cache_check(out);
}

/* ---- the machine ---- */

static void system_find(struct doc_machine *out)
{
    const ssize_t n = readlink("/proc/self/exe", out->program, sizeof(out->program) - 1);
    struct utsname name;

    out->program[n > 0 ? n : 0] = '\0';
    if (uname(&name) == 0)
        snprintf(out->machine, sizeof(out->machine), "%.*s", DOC_SHORT - 1, name.machine);
    if (!confstr(_CS_GNU_LIBC_VERSION, out->libc, sizeof(out->libc)))
        snprintf(out->libc, sizeof(out->libc), "other");
    snprintf(out->sqlite, sizeof(out->sqlite), "%s", sto_sqlite_version());
}

void doc_machine_find(struct doc_machine *out)
{
    system_find(out);
    out->driver_file = sti_driver_path("");
    nvml_find(out);
    in_path("nvidia-smi", out->nvidia_smi, sizeof(out->nvidia_smi));
    cupti_find(&out->cupti);
    blas_find(&out->blas);
    plugin_find("inject", &out->inject);
    plugin_find("standin", &out->standin);
    device_find(&out->cuda);
    cache_find(&out->cache);
    tui_term_facts(&out->terminal);
    lessons_find(out);
}

void doc_machine_release(struct doc_machine *machine)
{
    smi_release(&machine->smi);
}
