/*
 * cli/record/record_numbers.h - values of record's options that are numbers.
 *
 * Errors:  VS_E_USAGE with the option, the value and what is legal.
 */
#ifndef CLI_RECORD_NUMBERS_H
#define CLI_RECORD_NUMBERS_H

#include <stdint.h>

#include "base/error.h"

/* Of --seed: 0 to 2^64 - 1. */
enum vs_status cli_record_seed(const char *text, uint64_t *out, struct vs_error *err);
/* Of --keep: a number of events, 500000, 500k, 10m or 1g; from 1 to 10^12. */
enum vs_status cli_record_keep(const char *text, uint64_t *out, struct vs_error *err);

#endif
