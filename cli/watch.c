/*
 * cli/watch.c - see watch.h.
 *
 * Must not know:  how a net is run.
 * Invariant:      as in the header.
 */
#include "cli/watch.h"

#include <stdio.h>
#include <string.h>

static void on_memory(void *user, enum eng_device_memory what, uint64_t address, uint64_t bytes)
{
    struct trc_cupti *cupti = user;

    switch (what) {
    case ENG_DEVICE_TAKEN:
        trc_cupti_asked(cupti, true, address, bytes);
        return;
    case ENG_DEVICE_GIVEN:
        trc_cupti_asked(cupti, false, address, bytes);
        return;
    case ENG_DEVICE_CREATED:
        trc_cupti_created(cupti, bytes);
        return;
    }
}

enum vs_status cli_watch_open(struct cli_watch *w, const char *option,
                              const struct eng_device *device, struct vs_error *err)
{
    bool is_on = option && strcmp(option, "on") == 0;
    bool is_off = option && strcmp(option, "off") == 0;
    enum vs_status st;

    memset(w, 0, sizeof(*w));
    if (option && !is_on && !is_off && strcmp(option, "auto") != 0)
        return vs_fail(err, VS_E_USAGE, "record: --cupti cannot be `%s`; legal: auto, on, off",
                       option);
    if (is_on && !device)
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "record: --cupti on needs a GPU; CUPTI works with --device cuda only");
    if (!device)
        return VS_OK;
    w->device = device;
    if (is_off) {
        strcpy(w->why, "off");
        return VS_OK;
    }
    st = trc_cupti_open(&w->cupti, err);
    if (st && is_on)
        return st;
    if (st) {
        snprintf(w->why, sizeof(w->why), "%s", err->text);
        fprintf(stderr, "vramscope: warning: %s; the trace has no GPU times of ops\n", w->why);
        return VS_OK;
    }
    device->watch(on_memory, w->cupti);
    return VS_OK;
}

void cli_watch_options(const struct cli_watch *w, struct trc_recorder_options *options)
{
    options->beside = w->cupti ? trc_cupti_write : NULL;
    options->beside_user = w->cupti;
}

const struct eng_observer *cli_watch_observer(const struct cli_watch *w, struct trc_recorder *rec)
{
    const struct eng_observer *observer = trc_recorder_observer(rec);

    return w->cupti ? trc_cupti_observer(w->cupti, observer) : observer;
}

void cli_watch_stop(struct cli_watch *w, struct trc_recorder *rec)
{
    struct vs_error ignored = VS_ERROR_INIT; /* the error of a failed run was reported already */

    if (*w->why)
        trc_recorder_meta_set(rec, "cupti", w->why);
    if (!w->cupti)
        return;
    (void)!w->device->wait(&ignored);
    w->device->watch(NULL, NULL);
    trc_cupti_stop(w->cupti);
    if (trc_cupti_trouble(w->cupti))
        fprintf(stderr, "vramscope: warning: cupti: %s; the GPU times are incomplete\n",
                trc_cupti_trouble(w->cupti));
}

void cli_watch_close(struct cli_watch *w)
{
    if (w->cupti && w->device)
        w->device->watch(NULL, NULL);
    trc_cupti_close(w->cupti);
    memset(w, 0, sizeof(*w));
}
