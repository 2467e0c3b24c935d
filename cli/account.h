/*
 * cli/account.h - samples of a GPU's memory as the driver counts it, at chosen events of a recording.
 *
 * For:            the record command; replay/report/account.h explains nvidia-smi's figure with it.
 * Must not know:  what is being run.
 * Invariant:      a figure that is not available is left out of the trace. No function here makes a recording fail.
 *
 * Samples are taken before CUDA is initialised; when the libraries have their handles (`ready`); and at the end of each
 * phase of the last step, of which the last is kept. The device itself reports the free bytes after creating its
 * context.
 */
#ifndef CLI_ACCOUNT_H
#define CLI_ACCOUNT_H

#include <stdbool.h>

#include "engine/device/plugin.h"
#include "tracer/nvml/smi.h"
#include "tracer/recorder.h"

/* Bytes as NVML counts them; SMI_UNKNOWN: not available. process: those of this process. */
struct cli_account_sample {
    uint64_t used;
    uint64_t free;
    uint64_t process;
};

/*
 * device           the sampled device; NULL: none, and nothing is recorded
 * why              why NVML is not available; "" if it is
 * ready_free, end_free   free bytes as CUDA says
 * end_event        the last event before the last sample; 0: none
 */
struct cli_account {
    const struct eng_device *device;
    struct nvml_api api;
    char why[VS_ERROR_TEXT_MAX];
    struct smi first;
    struct cli_account_sample before, ready, end;
    uint64_t ready_free, end_free;
    uint64_t end_event;
};

/* Call before CUDA is initialised. Initialises *a. */
void cli_account_before(struct cli_account *a);
/* Call when the device is open; it is borrowed until the release. */
void cli_account_ready(struct cli_account *a, const struct eng_device *device);
/* Call when a phase of the last step has ended with event number `event`. */
void cli_account_end(struct cli_account *a, uint64_t event);
/* Write the available figures into the trace. */
void cli_account_write(const struct cli_account *a, struct trc_recorder *rec);
void cli_account_release(struct cli_account *a);

#endif
