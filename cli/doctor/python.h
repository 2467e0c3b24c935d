/*
 * cli/doctor/python.h - asks a Python what it is, and which PyTorch it would import.
 *
 * For:            `vramscope doctor`.
 * Must not know:  the machine.
 * Invariant:      PyTorch is not imported, only found: it may not be importable here, and would take seconds.
 */
#ifndef CLI_DOCTOR_PYTHON_H
#define CLI_DOCTOR_PYTHON_H

#include "cli/doctor/doctor.h"

/*
 * Ask `program`, searched in PATH as a shell does, for at most `limit_ms` milliseconds; it is killed then, with what it
 * started. Never fails: what could not be found out is in `out`, which borrows `program`.
 */
void doc_python_query(const char *program, int limit_ms, struct doc_python *out);

#endif
