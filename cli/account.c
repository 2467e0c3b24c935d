/*
 * cli/account.c - see account.h.
 *
 * Must not know:  what the figures add up to.
 * Invariant:      see account.h.
 */
#include "cli/account.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct cli_account_sample sample_of(const struct smi *smi, const struct eng_device *device)
{
    const int *pci = device->info.pci;
    const struct smi_gpu *gpu = smi_find(smi, pci[0], pci[1], pci[2]);

    if (!gpu || *gpu->why)
        return (struct cli_account_sample){SMI_UNKNOWN, SMI_UNKNOWN, SMI_UNKNOWN};
    return (struct cli_account_sample){gpu->used, gpu->free,
                                       smi_process_bytes(gpu, (unsigned)getpid())};
}

static struct cli_account_sample sample_take(const struct cli_account *a)
{
    struct cli_account_sample sample = {SMI_UNKNOWN, SMI_UNKNOWN, SMI_UNKNOWN};
    struct vs_error err = VS_ERROR_INIT;
    struct smi smi = {.count = 0};

    if (!*a->why && !smi_read(&a->api, &smi, &err))
        sample = sample_of(&smi, a->device);
    smi_release(&smi);
    return sample;
}

static uint64_t free_of(const struct eng_device *device)
{
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;

    device->driver.mem_info(device->driver.user, &free_bytes, &total_bytes);
    return free_bytes;
}

void cli_account_before(struct cli_account *a)
{
    struct vs_error err = VS_ERROR_INIT;

    memset(a, 0, sizeof(*a));
    if (nvml_api_load(&a->api, &err) || smi_read(&a->api, &a->first, &err))
        snprintf(a->why, sizeof(a->why), "%s", err.text);
}

void cli_account_ready(struct cli_account *a, const struct eng_device *device)
{
    a->device = device;
    a->before = sample_of(&a->first, device);
    a->ready = sample_take(a);
    a->ready_free = free_of(device);
}

void cli_account_end(struct cli_account *a, uint64_t event)
{
    if (!a->device)
        return;
    a->end = sample_take(a);
    a->end_free = free_of(a->device);
    a->end_event = event;
}

static void note(struct trc_recorder *rec, const char *key, uint64_t value)
{
    char text[24];

    if (value == SMI_UNKNOWN)
        return;
    snprintf(text, sizeof(text), "%" PRIu64, value);
    trc_recorder_meta_set(rec, key, text);
}

void cli_account_write(const struct cli_account *a, struct trc_recorder *rec)
{
    if (!a->device)
        return;
    if (*a->why)
        trc_recorder_meta_set(rec, "account_missing", a->why);
    note(rec, "account_before_used", a->before.used);
    note(rec, "account_before_free", a->before.free);
    note(rec, "account_ready_smi_free", a->ready.free);
    note(rec, "account_ready_free", a->ready_free);
    if (!a->end_event)
        return;
    note(rec, "account_end_event", a->end_event);
    note(rec, "account_end_used", a->end.used);
    note(rec, "account_end_process", a->end.process);
    note(rec, "account_end_free", a->end_free);
}

void cli_account_release(struct cli_account *a)
{
    smi_release(&a->first);
    memset(a, 0, sizeof(*a));
}
