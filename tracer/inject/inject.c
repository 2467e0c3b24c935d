/*
 * tracer/inject/inject.c - the library's entry points: called by the CUDA driver, by NVTX and at the end of the
 * process.
 *
 * For:            CUDA_INJECTION64_PATH, NVTX_INJECTION64_PATH; docs/internals/injection.md.
 * Must not know:  how recording works.
 * Invariant:      whatever is missing, the program runs as without the library.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/cupti/cupti_api.h"
#include "tracer/inject/frames.h"
#include "tracer/inject/nvtx.h"
#include "tracer/inject/session.h"
#include "tracer/inject/subscribe.h"

#define CUPTI "cupti"
#define EXPORTED __attribute__((visibility("default")))

EXPORTED int InitializeInjection(void);
EXPORTED int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id));

/* The loader's message begins with the key of the status file; remove it. */
static const char *without_key(const char *text)
{
    const size_t len = strlen(CUPTI);

    return strncmp(text, CUPTI, len) == 0 && text[len] == ':' ? text + len + 2 : text;
}

static void cuda_begin(void)
{
    struct vs_error err = VS_ERROR_INIT;
    struct cupti_api api;
    enum vs_status st = cupti_api_load(&api, &err);

    inj_frames_prepare();
    if (!st)
        st = inj_subscribe(&api, &err);
    if (st)
        inj_status(CUPTI, "%s", without_key(err.text));
    else if (inj_session_open())
        atexit(inj_subscribe_ending);
}

/* Return 1, so that the driver continues. It would also continue on 0, but print a message of its own. */
int InitializeInjection(void)
{
    if (inj_session_begin())
        cuda_begin();
    return 1;
}

int InitializeInjectionNvtx2(const void *(*export_table)(uint32_t id))
{
    return getenv("VRAMSCOPE_OUT") ? inj_nvtx_attach(export_table) : 0;
}

__attribute__((constructor)) static void process_begin(void)
{
    pthread_atfork(inj_session_fork_begin, inj_session_fork_parent, inj_session_fork_child);
}

/* A destructor runs after the handlers of atexit(), which may free memory. */
__attribute__((destructor)) static void process_end(void)
{
    inj_session_end();
}
