/*
 * standin/torch.c - see torch.h.
 */
#include "standin/torch.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "standin/elf.h"

/* Must be changed whenever the format of stub libraries changes. */
#define STUBS_VERSION 2

/* The library that looks functions of the driver and of NVML up by name (c10/cuda/driver_api.cpp). */
#define DRIVER_API "libc10_cuda.so"

#define INSTALL                                                                                    \
    "install PyTorch's build for CUDA; of the packages it asks for, those of nvidia are not "      \
    "needed (`pip install --no-deps torch`)"

static bool is_in(const char *folder, const char *name)
{
    char path[PATH_MAX];

    return snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path) &&
           access(path, R_OK) == 0;
}

enum vs_status sti_torch_check(const char *folder, struct vs_error *err)
{
    struct sti_elf elf;
    char path[PATH_MAX];
    enum vs_status st;

    if (is_in(folder, "libtorch_hip.so"))
        return vs_fail(
            err, VS_E_UNSUPPORTED,
            "%s: this PyTorch is built for ROCm, and a GPU is simulated for CUDA alone: " INSTALL,
            folder);
    if (is_in(folder, "libtorch_cpu.so") && !is_in(folder, "libtorch_cuda.so"))
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "%s: this PyTorch is built for the CPU alone, so there is nothing that "
                       "would use a GPU: " INSTALL,
                       folder);
    if (!is_in(folder, "libtorch_cuda.so"))
        return vs_fail(err, VS_E_NOT_FOUND, "%s: no libraries of PyTorch are there", folder);
    if (snprintf(path, sizeof(path), "%s/libtorch_cuda.so", folder) >= (int)sizeof(path))
        return vs_fail(err, VS_E_IO, "%s: the path is too long", folder);
    st = sti_elf_read(path, true, &elf, err);
    if (!st)
        sti_elf_release(&elf);
    return st;
}

static int is_library(const struct dirent *entry)
{
    return strncmp(entry->d_name, "lib", 3) == 0 && strstr(entry->d_name, ".so") != NULL;
}

/* The libraries in the order of their names; the caller frees each and the list with free(). -1: there is no folder. */
static int libraries_of(const char *folder, struct dirent ***out)
{
    return scandir(folder, out, is_library, alphasort);
}

static void entries_free(struct dirent **entries, int count)
{
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
}

enum vs_status sti_torch_key(const char *folder, const char *const *functions, uint64_t *out,
                             struct vs_error *err)
{
    struct dirent **entries;
    const int count = libraries_of(folder, &entries);
    uint64_t key = vs_hash_mix(STUBS_VERSION, vs_hash_text(folder));
    char path[PATH_MAX];
    struct stat info;

    if (count < 0)
        return vs_fail(err, VS_E_NOT_FOUND, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        if (snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name) >=
                (int)sizeof(path) ||
            stat(path, &info) != 0)
            continue;
        key = vs_hash_mix(key, vs_hash_text(entries[i]->d_name));
        key = vs_hash_mix(key, (uint64_t)info.st_size);
        key = vs_hash_mix(key, (uint64_t)info.st_mtim.tv_sec);
        key = vs_hash_mix(key, (uint64_t)info.st_mtim.tv_nsec);
    }
    entries_free(entries, count);
    for (; *functions; functions++)
        key = vs_hash_mix(key, vs_hash_text(*functions));
    *out = key;
    return VS_OK;
}

enum vs_status sti_torch_needs(const char *folder, const char *const *functions,
                               struct sti_needs *out, struct vs_error *err)
{
    struct dirent **entries;
    const int count = libraries_of(folder, &entries);
    char path[PATH_MAX];
    enum vs_status st = VS_OK;

    memset(out, 0, sizeof(*out));
    if (count < 0)
        return vs_fail(err, VS_E_NOT_FOUND, "%s: %s", folder, strerror(errno));
    sti_needs_library(out, "libcuda.so.1");
    sti_needs_library(out, "libnvidia-ml.so.1");
    for (int i = 0; i < count && !st; i++)
        if (snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name) < (int)sizeof(path))
            st = sti_needs_file(out, path, err);
    entries_free(entries, count);
    if (!st && is_in(folder, DRIVER_API) &&
        snprintf(path, sizeof(path), "%s/" DRIVER_API, folder) < (int)sizeof(path))
        st = sti_needs_names(out, path, err);
    for (; *functions && !st; functions++)
        sti_needs_function(out, *functions);
    sti_needs_settle(out);
    return st;
}

const char *sti_driver_path(const char *root)
{
    static const char *const PATHS[] = {"/dev/nvidiactl", "/dev/nvidia0",
                                        "/proc/driver/nvidia/version", "/dev/dxg"};
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof(PATHS) / sizeof(PATHS[0]); i++)
        if (snprintf(path, sizeof(path), "%s%s", root, PATHS[i]) < (int)sizeof(path) &&
            access(path, F_OK) == 0)
            return PATHS[i];
    return NULL;
}
