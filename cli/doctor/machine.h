/*
 * cli/doctor/machine.h - finds what this machine has: GPUs, libraries, a terminal, and what belongs to vramscope.
 *
 * For:            `vramscope doctor`.
 * Must not know:  what follows from it (cli/doctor/verdict.h).
 * Invariant:      nothing is changed, no file is written; a GPU is opened and closed again.
 */
#ifndef CLI_DOCTOR_MACHINE_H
#define CLI_DOCTOR_MACHINE_H

#include "cli/doctor/doctor.h"

/* Never fails: what is not there is said in `out`. Zero-initialise; the caller releases it. */
void doc_machine_find(struct doc_machine *out);
void doc_machine_release(struct doc_machine *machine);

#endif
