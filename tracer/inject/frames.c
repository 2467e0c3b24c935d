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
#include "base/text.h"
#include "tracer/inject/lock.h"
#include "tracer/inject/python.h"

#define SLOTS_AT_START 1024
#define TEXT_MAX 400

/* A table of things that stay: open addressing, at most half full. */
struct kept_text {
    const char *text;
    uint64_t hash;
};

/* text: NULL for a frame of this library. */
struct kept_pc {
    uintptr_t pc; /* 0: free */
    const char *text;
    bool is_own;
};

static struct frames {
    struct kept_text *texts;
    size_t text_count, text_slots;
    struct kept_pc *pcs;
    size_t pc_count, pc_slots;
} frames;

/* ---- texts ---- */

static size_t text_slot(const struct kept_text *slots, size_t count, uint64_t hash,
                        const char *text)
{
    size_t at = (size_t)hash & (count - 1);

    while (slots[at].text && (slots[at].hash != hash || strcmp(slots[at].text, text) != 0))
        at = (at + 1) & (count - 1);
    return at;
}

static void texts_double(void)
{
    const size_t count = frames.text_slots ? frames.text_slots * 2 : SLOTS_AT_START;
    struct kept_text *slots = vs_calloc(count, sizeof(*slots));

    for (size_t i = 0; i < frames.text_slots; i++)
        if (frames.texts[i].text)
            slots[text_slot(slots, count, frames.texts[i].hash, frames.texts[i].text)] =
                frames.texts[i];
    vs_free(frames.texts);
    frames.texts = slots;
    frames.text_slots = count;
}

const char *inj_text_keep(const char *text)
{
    const uint64_t hash = vs_hash_bytes(text, strlen(text));
    struct kept_text *slot;
    const char *kept;

    inj_lock(INJ_LOCK_TEXTS);
    if ((frames.text_count + 1) * 2 > frames.text_slots)
        texts_double();
    slot = &frames.texts[text_slot(frames.texts, frames.text_slots, hash, text)];
    if (!slot->text) {
        *slot = (struct kept_text){vs_strdup(text), hash};
        frames.text_count++;
    }
    kept = slot->text;
    inj_unlock(INJ_LOCK_TEXTS);
    return kept;
}

/* ---- what a native address is called ---- */

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path ? path : "?";
}

/* Libraries that stand between a program and the driver. */
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

/* The runtime may be linked into the program. */
static bool symbol_is_own(const char *symbol)
{
    if (strncmp(symbol, "cuda", 4) == 0 || strncmp(symbol, "__cuda", 6) == 0)
        return false;
    return !(strncmp(symbol, "cu", 2) == 0 && isupper((unsigned char)symbol[2]));
}

/* In C++'s own words, where its library is there. The caller frees. */
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

/* Is the address in this library? */
static bool is_ours(const Dl_info *info)
{
    Dl_info own;
    const void *here;
    const char *(*function)(const char *) = inj_text_keep;

    memcpy(&here, &function, sizeof(here));
    return dladdr(here, &own) != 0 && own.dli_fbase == info->dli_fbase;
}

/* pc: where the call returns to, so the call is before it. */
static struct kept_pc pc_look_up(uintptr_t pc)
{
    struct kept_pc kept = {pc, "?", false};
    char text[TEXT_MAX];
    char *plain = NULL;
    const char *module;
    Dl_info info;

    /* an address without an object behind it: no other way to write it */
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
    free(plain); /* the C++ library's, by malloc */
    kept.text = inj_text_keep(text);
    return kept;
}

/* ---- addresses that were seen ---- */

static size_t pc_slot(const struct kept_pc *slots, size_t count, uintptr_t pc)
{
    size_t at = (size_t)vs_hash_mix(0, pc) & (count - 1);

    while (slots[at].pc && slots[at].pc != pc)
        at = (at + 1) & (count - 1);
    return at;
}

static void pcs_double(void)
{
    const size_t count = frames.pc_slots ? frames.pc_slots * 2 : SLOTS_AT_START;
    struct kept_pc *slots = vs_calloc(count, sizeof(*slots));

    for (size_t i = 0; i < frames.pc_slots; i++)
        if (frames.pcs[i].pc)
            slots[pc_slot(slots, count, frames.pcs[i].pc)] = frames.pcs[i];
    vs_free(frames.pcs);
    frames.pcs = slots;
    frames.pc_slots = count;
}

static bool pc_find(uintptr_t pc, struct kept_pc *out)
{
    bool is_known = false;

    inj_lock(INJ_LOCK_TEXTS);
    if (frames.pc_slots) {
        *out = frames.pcs[pc_slot(frames.pcs, frames.pc_slots, pc)];
        is_known = out->pc != 0;
    }
    inj_unlock(INJ_LOCK_TEXTS);
    return is_known;
}

static void pc_keep(const struct kept_pc *kept)
{
    struct kept_pc *slot;

    inj_lock(INJ_LOCK_TEXTS);
    if ((frames.pc_count + 1) * 2 > frames.pc_slots)
        pcs_double();
    slot = &frames.pcs[pc_slot(frames.pcs, frames.pc_slots, kept->pc)];
    frames.pc_count += slot->pc == 0;
    *slot = *kept;
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
            kept = pc_look_up(pc);
            pc_keep(&kept);
        }
        if (kept.text)
            out[count++] = (struct inj_frame){.text = kept.text, .is_own = kept.is_own};
    }
    return count;
}
