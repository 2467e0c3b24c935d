/*
 * whatif/notes.c - what a run of a net adds to the meta table of its trace; see wif_run_notes in whatif.h.
 *
 * Must not know:  where the notes are kept.
 */
#include <inttypes.h>

#include "base/text.h"
#include "lang/run/run.h"
#include "whatif/whatif.h"

static void note_uint(wif_note_fn *note, void *user, const char *key, uint64_t value)
{
    struct vs_text text = {NULL, 0, 0};

    vs_text_addf(&text, "%" PRIu64, value);
    note(user, key, vs_text_get(&text));
    vs_text_release(&text);
}

/* The counts of the steps, separated by commas; the last one is that of all later steps, too. */
static void note_recomputed(const struct lang_result *result, wif_note_fn *note, void *user)
{
    struct vs_text text = {NULL, 0, 0};

    for (size_t i = 0; i < result->recomputed_count; i++) {
        const struct lang_recomputed *run = &result->recomputed[i];
        const uint64_t steps = i + 1 < result->recomputed_count ? run->steps : 1;

        for (uint64_t k = 0; k < steps; k++)
            vs_text_addf(&text, "%s%" PRIu64, text.len ? "," : "", run->ops);
    }
    if (result->recomputed_count)
        note(user, "recomputed_ops", vs_text_get(&text));
    vs_text_release(&text);
}

static void note_inplace(const struct lang_result *result, wif_note_fn *note, void *user)
{
    struct vs_text text = {NULL, 0, 0};

    for (size_t i = 0; i < result->inplace_count; i++)
        vs_text_addf(&text, "%s%s", i ? "," : "", result->inplace[i]);
    if (result->inplace_count)
        note(user, "inplace", vs_text_get(&text));
    vs_text_clear(&text);
    for (size_t i = 0; i < result->refusal_count; i++)
        vs_text_addf(&text, "%s%s %s: %s", i ? "\n" : "", result->refusals[i].toggle,
                     result->refusals[i].path, result->refusals[i].reason);
    if (result->refusal_count)
        note(user, "refused", vs_text_get(&text));
    vs_text_release(&text);
}

/* Of the fields of a line none may have a tab or a newline. */
static void add_field(struct vs_text *out, const char *text)
{
    for (const char *c = text; *c; c++)
        vs_text_add_char(out, *c == '\t' || *c == '\n' ? ' ' : *c);
}

/* A line for each: kind, line of the net, text and advice, separated by tabs (replay/report/warnings.h). */
static void note_warnings(const struct lang_result *result, wif_note_fn *note, void *user)
{
    struct vs_text text = {NULL, 0, 0};

    for (size_t i = 0; i < result->warning_count; i++) {
        const struct lang_warning *warning = &result->warnings[i];

        vs_text_addf(&text, "%s%s\t%" PRIu32 "\t", i ? "\n" : "", lang_warning_name(warning->kind),
                     warning->line);
        add_field(&text, warning->text);
        vs_text_add_char(&text, '\t');
        add_field(&text, lang_warning_advice(warning->kind));
    }
    if (result->warning_count)
        note(user, "warnings", vs_text_get(&text));
    vs_text_release(&text);
}

/* As a recorded program's: calls, bytes and name of each collective, with " | " between. */
static void note_collectives(const struct lang_result *result, wif_note_fn *note, void *user)
{
    struct vs_text text = {NULL, 0, 0};

    for (size_t i = 0; i < result->collective_count; i++) {
        const struct lang_collective *collective = &result->collectives[i];

        vs_text_addf(&text, "%s%" PRIu64 " %" PRIu64 " %s", i ? " | " : "", collective->count,
                     collective->bytes, collective->name);
    }
    if (result->collective_count)
        note(user, "collectives", vs_text_get(&text));
    vs_text_release(&text);
}

void wif_run_notes(const struct lang_result *result, wif_note_fn *note, void *user)
{
    note_uint(note, user, "parameters", result->parameters);
    if (result->saved_known) {
        note_uint(note, user, "saved_tensors", result->saved_tensors);
        note_uint(note, user, "saved_bytes", result->saved_bytes);
        note_uint(note, user, "saved_bytes_all", result->saved_bytes_all);
        if (result->host_bytes)
            note_uint(note, user, "host_bytes", result->host_bytes);
    }
    if (result->workspace_notes.measured)
        note(user, "workspaces", result->workspace_notes.measured);
    if (result->workspace_notes.unmeasured)
        note(user, "unmeasured", result->workspace_notes.unmeasured);
    if (result->workspace_notes.shortages)
        note(user, "shortages", result->workspace_notes.shortages);
    if (result->placement)
        note(user, "placement", result->placement);
    if (result->segments_max)
        note_uint(note, user, "segments_max", result->segments_max);
    note_collectives(result, note, user);
    note_recomputed(result, note, user);
    note_inplace(result, note, user);
    note_warnings(result, note, user);
}
