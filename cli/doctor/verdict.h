/*
 * cli/doctor/verdict.h - what works on a machine, command by command, and what is to be installed for what does not.
 *
 * For:            `vramscope doctor`.
 * Must not know:  how anything was found; it reads struct doc_findings alone.
 * Invariant:      each command of vramscope is in one row or more.
 */
#ifndef CLI_DOCTOR_VERDICT_H
#define CLI_DOCTOR_VERDICT_H

#include <stddef.h>

#include "cli/doctor/doctor.h"

/*
 * command  one or more commands with what is characteristic of the row: "record NET --device cuda"; commands of equal
 *          needs are separated by ", "
 * text     how it works, or why it does not and what to install; one or more sentences without a final newline
 */
struct doc_verdict {
    const char *command;
    bool works;
    char text[2 * DOC_WHY];
};

/* Row number `i` (from 0), in the order of the output; false past the end. */
bool doc_verdict_at(const struct doc_findings *f, size_t i, struct doc_verdict *out);

/* Can programs of this Python be recorded, on a real or on a simulated GPU? */
bool doc_records_programs(const struct doc_findings *f);

#endif
