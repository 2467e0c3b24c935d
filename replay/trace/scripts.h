/*
 * replay/trace/scripts.h - the text of a recorded program's own files, and the line of it at which something happened.
 *
 * For:            reports, the source view.
 * Must not know:  what the files contain now.
 * Invariant:      a line is shown only of the one recorded file that has the name in the function's name.
 */
#ifndef RPL_SCRIPTS_H
#define RPL_SCRIPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/event.h"
#include "replay/trace/trace.h"

/* A file of the program as it was when it was recorded. Zero-initialise; both are owned. */
struct rpl_script {
    char *path;
    char *text;
};
void rpl_script_release(struct rpl_script *script);

/* The key of a file's text in the trace's meta table begins so; its path follows. */
#define RPL_SCRIPT_KEY "rerun_script "

/* Called with each recorded file, which is borrowed. */
typedef void rpl_script_fn(void *user, const struct rpl_script *script);
void rpl_scripts_each(const struct rpl_trace *trace, rpl_script_fn *fn, void *user);

/*
 * The file of `func`, a function's name as a location of a program has it: "train.py:main". False, and `out` empty:
 * none of that name was recorded, or several were.
 */
VS_MUST_USE bool rpl_script_of(const struct rpl_trace *trace, const char *func,
                               struct rpl_script *out);
/* The file that the program was started with, or else the first one. False: none was recorded. */
VS_MUST_USE bool rpl_script_main(const struct rpl_trace *trace, struct rpl_script *out);
/* Is `func` in this file? By the file's name. */
bool rpl_script_has(const struct rpl_script *script, const char *func);

/*
 * The text of a location's line, of the net or of the program's own file, without leading whitespace, as
 * rpl_trace_source_line gives it; *len 0: there is none. Valid as long as the trace is not refreshed.
 */
const char *rpl_location_source(const struct rpl_trace *trace, const struct vs_location *location,
                                size_t *len);
/* The same of a function's name and a line in its file. */
const char *rpl_function_source(const struct rpl_trace *trace, const char *func, uint32_t line,
                                size_t *len);

#endif
