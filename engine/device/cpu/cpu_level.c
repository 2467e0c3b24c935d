/*
 * engine/device/cpu/cpu_level.c - see cpu_level.h.
 */
#include "engine/device/cpu/cpu_level.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char *const NAMES[CPU_LEVEL_COUNT] = {
    [CPU_BASELINE] = "baseline", [CPU_AVX2] = "avx2", [CPU_AVX512] = "avx512"};

const char *cpu_level_name(enum cpu_level level)
{
    return NAMES[level];
}

bool cpu_level_runs(enum cpu_level level)
{
#if defined(__x86_64__)
    if (level == CPU_AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (level == CPU_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
    return level == CPU_BASELINE;
}

static enum cpu_level highest_from(enum cpu_level level)
{
    while (!cpu_level_runs(level))
        level--;
    return level;
}

enum vs_status cpu_level_read(const char *text, enum cpu_level *out, struct vs_error *err)
{
    for (int i = 0; i < CPU_LEVEL_COUNT; i++) {
        if (strcmp(text, NAMES[i]) == 0) {
            *out = highest_from((enum cpu_level)i);
            return VS_OK;
        }
    }
    return vs_fail(err, VS_E_USAGE, "VRAMSCOPE_CPU is `%s`, not baseline, avx2 or avx512", text);
}

/* Determined once per process; the environment must not change afterwards. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static enum cpu_level settled;

static void settle(void)
{
    const char *text = getenv("VRAMSCOPE_CPU");
    struct vs_error err = VS_ERROR_INIT;

    if (!text || cpu_level_read(text, &settled, &err))
        settled = highest_from(CPU_AVX512);
}

enum cpu_level cpu_level(void)
{
    pthread_once(&once, settle);
    return settled;
}
