/*
 * whatif/process.h - the process in which a recorded program runs again: its command line, environment, end.
 *
 * For:            whatif/rerun.c.
 * Must not know:  which toggles are applied; how a program is recorded: this executable's command `record` does that.
 * Invariant:      a released process has ended, and so has what it started.
 */
#ifndef WIF_PROCESS_H
#define WIF_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/toggle.h"
#include "whatif/recipe.h"

#define WIF_PROCESS_EXECUTABLE "/proc/self/exe"

/*
 * Zero-initialise.
 *
 * pid       0 once it has ended, or before it was started
 * status    its wait status
 * is_here   it shares this process's group and terminal, and ends with `record` (cli/record/launch.h)
 * path      the trace that it writes; log_path: what it prints
 */
struct wif_process {
    pid_t pid;
    int status;
    bool is_here;
    char *path;
    char *log_path;
};

/* Append the words of: vramscope record OPTIONS --TOGGLE VALUE … --force --out PATH -- PROGRAM ARG … */
void wif_process_argv(const struct wif_recipe *recipe, const struct vs_toggles *toggles,
                      const char *path, struct wif_words *out);
/*
 * Append the environment of this process, but of the variables that a recipe keeps those that it kept. stop: where the
 * program is to stop, for `record`; NULL: nowhere.
 */
void wif_process_environment(const struct wif_recipe *recipe, const char *stop,
                             struct wif_words *out);

/*
 * Start it in a process group of its own. path: of the trace, which is replaced; absolute, because the program has a
 * folder of its own. What it prints goes into `path`.log. No signal is blocked in it. VS_E_IO: it could not be started.
 *
 * It is sent SIGTERM when the thread that called this ends (that is what Linux watches, not the process): call it on a
 * thread that lives as long as the program shall.
 */
VS_MUST_USE enum vs_status wif_process_start(struct wif_process *process,
                                             const struct wif_recipe *recipe,
                                             const struct vs_toggles *toggles, const char *path,
                                             const char *stop, struct vs_error *err);
/*
 * The same in this process's group, at its terminal: what it prints is seen, what is typed is its input. stop: not
 * NULL, so that the program ends when `record` does.
 */
VS_MUST_USE enum vs_status wif_process_start_here(struct wif_process *process,
                                                  const struct wif_recipe *recipe,
                                                  const struct vs_toggles *toggles,
                                                  const char *path, const char *stop,
                                                  struct vs_error *err);
/* Returns at once. */
bool wif_process_has_ended(struct wif_process *process);
/* Sleep between two polls. */
void wif_process_pause(void);
/* End it, by force after 5 s. */
void wif_process_stop(struct wif_process *process);
/*
 * How it ended, once it has. Running out of memory is a result. The log is removed where all is well. VS_E_VALUE: the
 * program failed or recorded nothing; the text has the line of Python's exception, or its last line.
 */
VS_MUST_USE enum vs_status wif_process_outcome(const struct wif_process *process,
                                               struct vs_error *err);
void wif_process_release(struct wif_process *process);

#endif
