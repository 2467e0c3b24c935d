/*
 * tracer/inject/frames.c - see frames.h.
 */
#include "tracer/inject/frames.h"

#include <ctype.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/text.h"
#include "tracer/inject/lock.h"
#include "tracer/inject/python.h"

#define TEXT_MAX 400

/* A known native address. text: NULL for a frame of this library. */
struct kept_pc {
    uintptr_t pc;
    const char *text;
    bool is_own;
};

static struct frames {
    const char **texts;
    size_t text_count, text_cap;
    struct vs_table texts_by_hash;
    struct kept_pc *pcs;
    size_t pc_count, pc_cap;
    struct vs_table pcs_by_address;
} frames;

/* ---- texts ---- */

const char *inj_text_keep(const char *text)
{
    const uint64_t hash = vs_hash_text(text);
    struct vs_probe probe = vs_probe(hash);
    const char *kept = NULL;

    inj_lock(INJ_LOCK_TEXTS);
    while (!kept && vs_table_next(&frames.texts_by_hash, &probe))
        if (strcmp(frames.texts[probe.item], text) == 0)
            kept = frames.texts[probe.item];
    if (!kept) {
        vs_table_add(&frames.texts_by_hash, hash, frames.text_count);
        frames.texts =
            vs_grow(frames.texts, frames.text_count, &frames.text_cap, sizeof(*frames.texts));
        kept = frames.texts[frames.text_count++] = vs_strdup(text);
    }
    inj_unlock(INJ_LOCK_TEXTS);
    return kept;
}

/* ---- names of native addresses ---- */

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path ? path : "?";
}

/* Whether the file is not one of the libraries between a program and the driver. */
static bool module_is_own(const char *module)
{
    static const char *const OTHERS[] = {
        "libcu",      "libnv",     "libnccl", "libtorch", "libc10",    "libstdc++",
        "libc.so",    "libpython", "python",  "ld-linux", "libm.so",   "libgomp",
        "libpthread", "_C.",       "libffi",  "_ctypes.", "libshm.so", "libgcc",
        "libtriton",  "libc-",     "libasan", "libtsan",
    };

    for (size_t i = 0; i < sizeof(OTHERS) / sizeof(OTHERS[0]); i++)
        if (strncmp(module, OTHERS[i], strlen(OTHERS[i])) == 0)
            return false;
    return true;
}

/* The same for a symbol: the CUDA runtime may be linked statically into the program. */
static bool symbol_is_own(const char *symbol)
{
    if (strncmp(symbol, "cuda", 4) == 0 || strncmp(symbol, "__cuda", 6) == 0)
        return false;
    return !(strncmp(symbol, "cu", 2) == 0 && isupper((unsigned char)symbol[2]));
}

/* The demangled name, if the C++ library is loaded. The caller frees it. */
static char *demangled(const char *symbol)
{
    typedef char *demangle_fn(const char *, char *, size_t *, int *);
    demangle_fn *demangle = NULL;
    void *function;
    int status = 0;

    if (strncmp(symbol, "_Z", 2) != 0)
        return NULL;
    function = dlsym(RTLD_DEFAULT, "__cxa_demangle");
    if (!function)
        return NULL;
    memcpy(&demangle, &function, sizeof(function));
    return demangle(symbol, NULL, NULL, &status);
}

/* Whether the address is in this library. */
static bool is_ours(const Dl_info *info)
{
    Dl_info own;
    const void *here;
    const char *(*function)(const char *) = inj_text_keep;

    memcpy(&here, &function, sizeof(here));
    return dladdr(here, &own) != 0 && own.dli_fbase == info->dli_fbase;
}

/* pc: a return address, so the call is before it. */
static struct kept_pc pc_resolve(uintptr_t pc)
{
    struct kept_pc kept = {pc, "?", false};
    char text[TEXT_MAX];
    char *plain = NULL;
    const char *module;
    Dl_info info;

    /* an address without an object: the cast has no other spelling */
    if (dladdr((void *)(pc - 1), &info) == 0 || !info.dli_fbase)
        return kept;
    if (is_ours(&info)) {
        kept.text = NULL;
        return kept;
    }
    module = base_name(info.dli_fname);
    kept.is_own = module_is_own(module) && (!info.dli_sname || symbol_is_own(info.dli_sname));
    if (info.dli_sname) {
        plain = demangled(info.dli_sname);
        snprintf(text, sizeof(text), "%s!%s", module, plain ? plain : info.dli_sname);
    } else {
        snprintf(text, sizeof(text), "%s+0x%" PRIxPTR, module, pc - 1 - (uintptr_t)info.dli_fbase);
    }
    free(plain); /* allocated with malloc by the C++ library */
    kept.text = inj_text_keep(text);
    return kept;
}

/* ---- known addresses ---- */

/* Call with the lock held. NULL: unknown. */
static const struct kept_pc *pc_get(uintptr_t pc)
{
    struct vs_probe probe = vs_probe(vs_hash_number(pc));

    while (vs_table_next(&frames.pcs_by_address, &probe))
        if (frames.pcs[probe.item].pc == pc)
            return &frames.pcs[probe.item];
    return NULL;
}

static bool pc_find(uintptr_t pc, struct kept_pc *out)
{
    const struct kept_pc *known;
    bool is_known;

    inj_lock(INJ_LOCK_TEXTS);
    known = pc_get(pc);
    is_known = known != NULL;
    if (known)
        *out = *known;
    inj_unlock(INJ_LOCK_TEXTS);
    return is_known;
}

/* Another thread may have added it in the meantime. */
static void pc_keep(const struct kept_pc *kept)
{
    inj_lock(INJ_LOCK_TEXTS);
    if (!pc_get(kept->pc)) {
        vs_table_add(&frames.pcs_by_address, vs_hash_number(kept->pc), frames.pc_count);
        frames.pcs = vs_grow(frames.pcs, frames.pc_count, &frames.pc_cap, sizeof(*frames.pcs));
        frames.pcs[frames.pc_count++] = *kept;
    }
    inj_unlock(INJ_LOCK_TEXTS);
}

/* ---- stacks ---- */

void inj_frames_prepare(void)
{
    void *pcs[1];

    (void)backtrace(pcs, 1);
}

size_t inj_frames_get(struct inj_frame *out, size_t max)
{
    size_t count = inj_python_frames(out, max);
    void *pcs[INJ_FRAMES_MAX];
    int depth;

    inj_lock(INJ_LOCK_UNWIND);
    depth = backtrace(pcs, INJ_FRAMES_MAX);
    inj_unlock(INJ_LOCK_UNWIND);
    for (int i = 0; i < depth && count < max; i++) {
        const uintptr_t pc = (uintptr_t)pcs[i];
        struct kept_pc kept;

        if (!pc)
            continue;
        if (!pc_find(pc, &kept)) {
            kept = pc_resolve(pc);
            pc_keep(&kept);
        }
        if (kept.text)
            out[count++] = (struct inj_frame){.text = kept.text, .is_own = kept.is_own};
    }
    return count;
}
