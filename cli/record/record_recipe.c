/*
 * cli/record/record_recipe.c - see record_recipe.h.
 */
#include "cli/record/record_recipe.h"

#include <string.h>

#include "base/mem.h"
#include "whatif/program_toggles.h"

/* Toggles that this program applies itself: the allocator's settings, the GPU, how many ranks, and which. */
static bool is_of_recorder(enum vs_toggle toggle)
{
    return toggle == VS_TOGGLE_ALLOC_CONF || toggle == VS_TOGGLE_TARGET ||
           toggle == VS_TOGGLE_WORLD || toggle == VS_TOGGLE_RANK;
}

enum vs_status cli_toggles_check(const struct cli_args *args, struct vs_error *err)
{
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++) {
        const enum vs_toggle toggle = (enum vs_toggle)i;
        const char *reason =
            vs_toggles_is_set(&args->toggles, toggle)
                ? wif_program_refusal(toggle, vs_toggles_get(&args->toggles, toggle))
                : NULL;

        if (reason)
            return vs_fail(err, VS_E_USAGE, "record: --%s cannot be applied to a program: %s",
                           vs_toggle_info(toggle)->name, reason);
    }
    return VS_OK;
}

void cli_toggles_settings(const struct cli_args *args, struct vs_text *out)
{
    for (size_t i = 0; i < VS_TOGGLE_COUNT; i++)
        if (vs_toggles_is_set(&args->toggles, (enum vs_toggle)i) &&
            !is_of_recorder((enum vs_toggle)i))
            vs_text_addf(out, "toggle.%s %s\n", vs_toggle_info((enum vs_toggle)i)->name,
                         vs_toggles_get(&args->toggles, (enum vs_toggle)i));
}

void cli_toggles_environment(const struct cli_args *args, struct cli_launch *launch)
{
    /* PyTorch before 2.9 knows the first name alone */
    static const char *const NAMES[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};
    const char *conf = vs_toggles_get(&args->toggles, VS_TOGGLE_ALLOC_CONF);

    if (!vs_toggles_is_set(&args->toggles, VS_TOGGLE_ALLOC_CONF))
        return;
    for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++) {
        VS_ASSERT(launch->count < CLI_LAUNCH_SETTINGS_MAX);
        launch->names[launch->count] = NAMES[i];
        launch->values[launch->count++] = strcmp(conf, "default") == 0 ? "" : conf;
    }
}

void cli_recipe_fill(const struct cli_args *args, const char *const *argv, struct wif_recipe *out)
{
    const char *option;

    wif_recipe_here(out);
    for (size_t i = 0; argv[i]; i++)
        wif_words_add(&out->command, argv[i]);
    for (size_t i = 0; (option = wif_recipe_option(i)) != NULL; i++) {
        struct vs_text word = {NULL, 0, 0};

        if (!cli_args_has(args, option))
            continue;
        vs_text_addf(&word, "--%s", option);
        wif_words_add(&out->options, vs_text_get(&word));
        wif_words_add(&out->options, cli_args_value(args, option));
        vs_text_release(&word);
    }
}
