/*
 * cli/record/record_numbers.h - values of record's options that are numbers.
 *
 * For:            `vramscope record`.
 * Must not know:  what the numbers are for.
 * Invariant:      an error is VS_E_USAGE, with the option, the value and what is legal.
 */
#ifndef CLI_RECORD_NUMBERS_H
#define CLI_RECORD_NUMBERS_H

#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"

/* Of --seed: 0 to 2^64 - 1. */
VS_MUST_USE enum vs_status cli_record_seed(const char *text, uint64_t *out, struct vs_error *err);
/* Of --keep: a number of events, 500000, 500k, 10m or 1g; from 1 to 10^12. */
VS_MUST_USE enum vs_status cli_record_keep(const char *text, uint64_t *out, struct vs_error *err);

#endif
