/*
 * standin/runtime/enter.c - see enter.h.
 */
#include "standin/runtime/enter.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "base/target.h"
#include "standin/cache.h"
#include "standin/family.h"
#include "standin/runtime/late.h"
#include "standin/runtime/loader.h"
#include "standin/runtime/runtime.h"
#include "standin/runtime/unknown.h"
#include "standin/torch.h"

#define GPU_DEFAULT "a100-80"
/* Where PyTorch does not say: what its build of 2.15 has. */
#define CUDNN_DEFAULT 92600
#define NCCL_DEFAULT 23007

static struct {
    pthread_mutex_t lock;
    bool is_simulated;
    int supplements;
    char folder[PATH_MAX];
} entered = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *given(const char *text)
{
    return text ? text : "";
}

static int answer(int how, char *text, size_t size, const char *what)
{
    snprintf(text, size, "%s", what);
    return how;
}

/* How many of `count` devices CUDA_VISIBLE_DEVICES leaves: its numbers up to the first that is none of them. */
static int visible_of(int count)
{
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    int visible = 0;
    char *end;

    if (!text)
        return count;
    for (; visible < count; text = end + 1) {
        const long number = strtol(text, &end, 10);

        if (end == text || number < 0 || number >= count)
            break;
        visible++;
        if (*end != ',')
            break;
    }
    return visible;
}

static void gpu_set(const struct vs_target *target, int count)
{
    struct sti_gpu gpu = {
        .capacity_bytes = target->capacity_bytes,
        .capability = target->capability,
        .processors = target->processors,
        .threads = target->threads,
        .count = count,
    };

    snprintf(gpu.name, sizeof(gpu.name), "%s", target->name);
    snprintf(gpu.title, sizeof(gpu.title), "NVIDIA %s", target->title);
    sti_gpu_set(&gpu);
}

/* ---- stub libraries ---- */

static enum vs_status cache_load(const struct sti_cache *cache, struct vs_error *err)
{
    char path[PATH_MAX];
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < cache->count && !st; i++)
        if (snprintf(path, sizeof(path), "%s/%s", cache->folder, cache->names[i]) <
            (int)sizeof(path))
            st = sti_loader_file(path, err);
    if (!st)
        snprintf(entered.folder, sizeof(entered.folder), "%s", cache->folder);
    return st;
}

static enum vs_status needs_load(const struct sti_needs *needs, struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < needs->count && !st; i++)
        if (!sti_loader_has(needs->libraries[i].soname))
            st = sti_loader_need(&needs->libraries[i], false, err);
    return st;
}

/*
 * From the cache; else written there; else, where neither can be done (no home, a disk that is full or mounted noexec),
 * made in memory, which takes longer at each start.
 */
static enum vs_status stubs_load(const char *torch, const char *root, const char *const *functions,
                                 struct vs_error *err)
{
    struct vs_error ignored = VS_ERROR_INIT;
    struct sti_needs needs = {.strings = NULL};
    struct sti_cache cache;
    uint64_t key = 0;
    enum vs_status st = sti_torch_key(torch, functions, &key, err);
    bool is_loaded = false;

    if (!st && *root && sti_cache_find(root, key, &cache)) {
        is_loaded = cache_load(&cache, &ignored) == VS_OK;
        sti_cache_release(&cache);
    }
    if (st || is_loaded)
        return st;
    st = sti_torch_needs(torch, functions, &needs, err);
    if (!st && *root && sti_cache_write(root, key, &needs, &ignored) == VS_OK &&
        sti_cache_find(root, key, &cache)) {
        is_loaded = cache_load(&cache, &ignored) == VS_OK;
        sti_cache_release(&cache);
    }
    if (!st && !is_loaded)
        st = needs_load(&needs, err);
    sti_needs_release(&needs);
    return st;
}

/* ---- entering ---- */

static int enter(const struct sti_request *request, char *text, size_t size)
{
    const char *name = given(request->gpu);
    const struct vs_target *target = vs_target_find(*name ? name : GPU_DEFAULT);
    const char *driver = sti_driver_path("");
    const struct sti_versions versions = {request->cuda, CUDNN_DEFAULT, NCCL_DEFAULT};
    struct vs_error err = VS_ERROR_INIT;
    char root[PATH_MAX];
    char bytes[VS_BYTES_TEXT_MAX];
    const char **functions;
    enum vs_status st;

    if (!*name && driver)
        return answer(STI_HAS_DRIVER, text, size, driver);
    if (!target)
        return answer(STI_FAILED, text, size, "there is no GPU of this name in vramscope");
    st = sti_torch_check(given(request->torch), &err);
    if (!st && request->cuda && request->cuda < STI_CUDA_OLDEST)
        st = vs_fail(&err, VS_E_UNSUPPORTED,
                     "%s: this PyTorch is built for CUDA %d.%d; supported are CUDA 12 and 13: "
                     "install a build for one of them",
                     request->torch, request->cuda / 1000, request->cuda % 1000 / 10);
    if (st)
        return answer(st == VS_E_UNSUPPORTED ? STI_NO_CUDA : STI_FAILED, text, size, err.text);
    if (*given(request->cache))
        snprintf(root, sizeof(root), "%s", request->cache);
    else if (!sti_cache_root(root, sizeof(root)))
        root[0] = '\0';
    gpu_set(target, visible_of(request->count < 1                 ? 1
                               : request->count > STI_DEVICES_MAX ? STI_DEVICES_MAX
                                                                  : request->count));
    sti_versions_set(&versions);
    sti_log_open(given(request->log));
    functions = sti_call_names();
    st = stubs_load(request->torch, root, functions, &err);
    vs_free(functions);
    if (st)
        return answer(STI_FAILED, text, size, err.text);
    entered.is_simulated = true;
    snprintf(text, size, "%s, %s, compute capability %d.%d", target->title,
             vs_bytes_text(target->capacity_bytes, bytes), target->capability / 10,
             target->capability % 10);
    return STI_SIMULATED;
}

int sti_enter(const struct sti_request *request, char *text, size_t size)
{
    int how = STI_SIMULATED;

    pthread_mutex_lock(&entered.lock);
    if (!entered.is_simulated)
        how = enter(request, text, size);
    pthread_mutex_unlock(&entered.lock);
    return how;
}

/* ---- other libraries ---- */

/* What `needs` has and no loaded stub: whole libraries, and functions, which go into one library more. */
static enum vs_status missing_load(const struct sti_needs *needs, struct vs_error *err)
{
    struct sti_needs more = {.strings = NULL};
    char soname[64];
    enum vs_status st = VS_OK;

    snprintf(soname, sizeof(soname), "libvramscope_more.so.%d", entered.supplements);
    for (size_t i = 0; i < needs->count && !st; i++) {
        const struct sti_need *need = &needs->libraries[i];

        if (!sti_loader_has(need->soname)) {
            st = sti_loader_need(need, false, err);
            continue;
        }
        for (size_t k = 0; k < need->count; k++)
            if (!sti_loader_has_function(need->soname, need->symbols[k].name) &&
                !sti_loader_has_function(NULL, need->symbols[k].name))
                sti_needs_symbol(&more, soname, need->symbols[k].name, NULL);
    }
    sti_needs_settle(&more);
    if (!st && more.count) {
        entered.supplements++;
        st = sti_loader_need(&more.libraries[0], true, err);
    }
    sti_needs_release(&more);
    return st;
}

int sti_admit(const char *path, char *text, size_t size)
{
    struct vs_error err = VS_ERROR_INIT;
    struct sti_needs needs = {.strings = NULL};
    enum vs_status st;

    *text = '\0';
    if (!entered.is_simulated)
        return 0;
    pthread_mutex_lock(&entered.lock);
    st = sti_needs_file(&needs, path, &err);
    sti_needs_settle(&needs);
    if (!st && needs.count)
        st = missing_load(&needs, &err);
    sti_needs_release(&needs);
    pthread_mutex_unlock(&entered.lock);
    if (st)
        snprintf(text, size, "%s", err.text);
    return st != VS_OK;
}

int sti_simulates(const char *soname)
{
    return sti_loader_has(soname);
}

void sti_stub_folder(char *out, size_t size)
{
    snprintf(out, size, "%s", entered.folder);
}

static int async_set(const char *value)
{
    const bool is_late = strcmp(value, "late") == 0;

    if (!is_late && strcmp(value, "early") != 0)
        return 1;
    sti_late_set(is_late);
    return 0;
}

static int gpu_change(const char *name)
{
    const struct vs_target *target = vs_target_find(name);

    if (!target)
        return 1;
    gpu_set(target, sti_gpu()->count);
    return 0;
}

static int memory_set(const char *value)
{
    struct sti_gpu gpu = *sti_gpu();
    char *end;

    gpu.capacity_bytes = strtoull(value, &end, 10);
    if (end == value || *end || gpu.capacity_bytes == 0)
        return 1;
    sti_gpu_set(&gpu);
    return 0;
}

int sti_set(const char *name, const char *value)
{
    if (strcmp(name, "async") == 0)
        return async_set(value);
    if (strcmp(name, "gpu") == 0)
        return gpu_change(value);
    if (strcmp(name, "memory") == 0)
        return memory_set(value);
    return 1;
}

void sti_set_versions(int cudnn, int nccl)
{
    const struct sti_versions versions = {0, cudnn, nccl};

    sti_versions_set(&versions);
}

void sti_watch_reads(void (*on_read)(uint64_t bytes, const char *kind))
{
    sti_reads_watch(on_read);
}

void sti_count_reads(uint64_t *count, uint64_t *bytes)
{
    const struct sti_reads reads = sti_reads();

    *count = reads.count;
    *bytes = reads.bytes;
}

void sti_expect(const void *bytes, size_t len)
{
    sti_values_expect(bytes, len);
}

uint64_t sti_count_kind(size_t index, char *name, size_t size)
{
    struct sti_read_kind kind = {.count = 0};

    if (sti_reads_kind(index, &kind))
        snprintf(name, size, "%s", kind.name);
    return kind.count;
}

void *sti_function_named(const char *name)
{
    sti_function *function = sti_call_find(name);
    void *out;

    memcpy(&out, &function, sizeof(out));
    return out;
}
