/*
 * cli/record/record_recipe.h - toggles that are applied to a recorded program from outside, and what its trace keeps so
 * that it can be run again.
 *
 * For:            `vramscope record` of a program.
 * Must not know:  how a toggle is applied (tracer/python/vramscope_toggles.py).
 */
#ifndef CLI_RECORD_RECIPE_H
#define CLI_RECORD_RECIPE_H

#include "base/attr.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/record/launch.h"
#include "whatif/recipe.h"

/* VS_E_USAGE: a toggle of `args` cannot be applied to a program; the text says why. */
VS_MUST_USE enum vs_status cli_toggles_check(const struct cli_args *args, struct vs_error *err);
/* Append the settings from which the program's processes take their toggles. */
void cli_toggles_settings(const struct cli_args *args, struct vs_text *out);
/* The environment that a toggle sets; borrows from `args`. */
void cli_toggles_environment(const struct cli_args *args, struct cli_launch *launch);

/* What this command line is. argv: of the program, NULL-ended. The caller releases `out`. */
void cli_recipe_fill(const struct cli_args *args, const char *const *argv, struct wif_recipe *out);

#endif
