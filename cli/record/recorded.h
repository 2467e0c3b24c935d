/*
 * cli/record/recorded.h - what `record` prints of the trace of a net when the run is over.
 */
#ifndef CLI_RECORDED_H
#define CLI_RECORDED_H

#include <stdbool.h>

/*
 * Print one line on the trace at `path`: events and peak; after an out-of-memory error (is_oom) instead the report on
 * what filled the device, with advice; as_json: a JSON object in both cases. Returns the exit status: 1, with the error
 * printed, where the trace cannot be read or the result not be written.
 */
int cli_recorded_show(const char *path, bool is_oom, bool as_json);

#endif
