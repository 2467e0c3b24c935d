/*
 * cli/account.h - the driver's account of a GPU's memory at chosen moments of a recording: why nvidia-smi says what it says.
 *
 * For:            the record command. replay/report/account.h makes sentences of it.
 * Must not know:  what the run does.
 * Invariant:      a figure that could not be had is left out of the trace. Nothing here makes a recording fail.
 *
 * Moments: before CUDA begins; after its context (the device says so itself, as gpu_free); ready, when the libraries have their handles;
 * and the ends of phases of the last step, of which the last counts.
 */
#ifndef CLI_ACCOUNT_H
#define CLI_ACCOUNT_H

#include <stdbool.h>

#include "engine/device/plugin.h"
#include "tracer/nvml/smi.h"
#include "tracer/recorder.h"

/* By the driver's account (NVML); SMI_UNKNOWN: not had. process: bytes of this one. */
struct cli_account_sample {
    uint64_t used;
    uint64_t free;
    uint64_t process;
};

/*
 * device           that is looked at; NULL: none, and nothing is noted
 * why              NVML is not there; "" where it is
 * ready_free, end_free   free bytes as CUDA says
 * end_event        the last event before the last moment; 0: there was none
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

/* Before CUDA begins. Zeroed or released before. */
void cli_account_before(struct cli_account *a);
/* The device is open; borrowed until the release. */
void cli_account_ready(struct cli_account *a, const struct eng_device *device);
/* A phase of the last step has ended, with event number `event`. */
void cli_account_end(struct cli_account *a, uint64_t event);
/* What is known goes into the trace. */
void cli_account_write(const struct cli_account *a, struct trc_recorder *rec);
void cli_account_release(struct cli_account *a);

#endif
