/*
 * whatif/recipe.h - what a program's trace keeps so that the program can be run again: command, folder, options,
 * environment, scripts, who recorded it.
 *
 * For:            `vramscope record` of a program, which writes it; whatif/rerun.h, which runs the program again.
 * Must not know:  how a program is run.
 * Invariant:      nothing of the environment is kept but the variables of a list, none of which is a secret.
 *
 * A trace never starts a program by itself: whoever runs it has asked the user, and wif_recipe_is_own says whether the
 * trace was made by this user on this machine.
 */
#ifndef WIF_RECIPE_H
#define WIF_RECIPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"
#include "replay/trace/trace.h"
#include "whatif/whatif.h"

/* A growing list of words; `items` is NULL or ends with a NULL, which `count` does not count. */
struct wif_words {
    char **items;
    size_t count;
    size_t cap;
};
void wif_words_add(struct wif_words *words, const char *word);
void wif_words_release(struct wif_words *words);

/*
 * A program to run again. Zero-initialise.
 *
 * command      the program and its arguments
 * options      of `record`, as words: "--gpu", "h100"; toggles are the trace's own
 * environment  NAME=VALUE, the variables of the list that were set
 * scripts      paths of the user's own files that it loaded
 * folder       the working directory
 * recorded_by  user and machine that recorded it; compared as text
 */
struct wif_recipe {
    struct wif_words command;
    struct wif_words options;
    struct wif_words environment;
    struct wif_words scripts;
    char *folder;
    char *recorded_by;
};
void wif_recipe_release(struct wif_recipe *recipe);

/* Option number `i` (from 0) of `record` that is kept, without its dashes; NULL past the end. */
const char *wif_recipe_option(size_t i);
/* Before the name of a toggle: the key of `meta` with what the script itself says there. */
#define WIF_SCRIPT_VALUE "script_"
/* Append the names of the environment variables that are kept. */
void wif_recipe_variables(struct wif_words *out);
/* Fill folder, environment and recorded_by with those of this process; the others are the caller's. */
void wif_recipe_here(struct wif_recipe *out);
/*
 * Call `note` with the keys of `meta` that say it (docs/formats/trace-format.md), among them the text of each script as
 * it is now. Scripts that cannot be read, or have more than WIF_SCRIPT_BYTES_MAX bytes, are left out.
 */
#define WIF_SCRIPT_BYTES_MAX (256u * 1024)
void wif_recipe_write(const struct wif_recipe *recipe, wif_note_fn *note, void *user);
/* Does the trace have one? */
bool wif_recipe_is_in(const struct rpl_trace *trace);
/*
 * Read it from a trace. The caller releases `out`, also after a failure. VS_E_UNSUPPORTED: the trace has none.
 * VS_E_DAMAGED: it names no command, or an option or a variable that `record` does not keep, by which another program
 * could run than the one that is shown.
 */
VS_MUST_USE enum vs_status wif_recipe_read(const struct rpl_trace *trace, struct wif_recipe *out,
                                           struct vs_error *err);
/* Whether this user recorded it on this machine. */
bool wif_recipe_is_own(const struct wif_recipe *recipe);
/* Append the command as a shell would take it: cd FOLDER && NAME=VALUE … PROGRAM ARG …, in one line. */
void wif_recipe_add_command(const struct wif_recipe *recipe, struct vs_text *out);
/* The same for a message: of variables with long values, such as PATH, the names alone, "PATH=…". */
void wif_recipe_add_brief(const struct wif_recipe *recipe, struct vs_text *out);
/* Whether the file at `path` has another text by now, or can no longer be read. */
bool wif_script_has_changed(const char *path, const char *text);
/*
 * Append a line for each script that has changed since `trace` was recorded, and its lines that have: "-12 old", "+12
 * new". Nothing: none has.
 */
void wif_recipe_add_changes(const struct wif_recipe *recipe, const struct rpl_trace *trace,
                            struct vs_text *out);

#endif
