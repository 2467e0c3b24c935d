/*
 * cli/watch.h - CUPTI during a recording on a GPU: starting it, stopping it, and warnings if it is missing.
 *
 * For:            the record command.
 * Must not know:  CUPTI; tracer/cupti/ does.
 * Invariant:      a recording without it is the same but for the GPU's times; that it is missing is said once.
 */
#ifndef CLI_WATCH_H
#define CLI_WATCH_H

#include "engine/core/observer.h"
#include "engine/device/plugin.h"
#include "tracer/cupti/cupti_session.h"
#include "tracer/recorder.h"

/*
 * device  that is watched; NULL: nothing is
 * why     nothing watches a run on a GPU: "off", or what is missing; empty where something does
 */
struct cli_watch {
    const struct eng_device *device;
    struct trc_cupti *cupti;
    char why[VS_ERROR_TEXT_MAX];
};

/*
 * Starts watching. `option` is what --cupti says: auto, on, off, or NULL, which is auto; device: NULL where the run is
 * not on a GPU, else borrowed until the close. Of `auto` it is said on stderr what is missing, and the run goes on.
 *
 * VS_E_USAGE: another value. VS_E_UNSUPPORTED: `on`, and there is no GPU or no CUPTI.
 */
VS_MUST_USE enum vs_status cli_watch_open(struct cli_watch *w, const char *option,
                                          const struct eng_device *device, struct vs_error *err);

/* What the recorder is opened with, and what the engine is given in place of its observer. */
void cli_watch_options(const struct cli_watch *w, struct trc_recorder_options *options);
const struct eng_observer *cli_watch_observer(const struct cli_watch *w, struct trc_recorder *rec);

/* The run is over: nothing is watched any more, and what went wrong is said. Before the recorder is closed. */
void cli_watch_stop(struct cli_watch *w, struct trc_recorder *rec);

/* After the recorder was closed. Zeroed is fine. */
void cli_watch_close(struct cli_watch *w);

#endif
