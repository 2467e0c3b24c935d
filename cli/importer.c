/*
 * cli/importer.c - see importer.h.
 *
 * Must not know:  command-line options.
 * Invariant:      a trace that could not be written completely is not marked complete.
 */
#include "cli/importer.h"

#include <string.h>

#include "base/mem.h"
#include "import/partial.h"
#include "import/writing.h"
#include "recording/memlist.h"
#include "replay/index/index.h"

static enum vs_status lists_read(const char *path, int64_t device, struct cli_importer *s,
                                 struct vs_error *err)
{
    if (device == CLI_ALL_DEVICES)
        return rec_memlist_read_devices(path, &s->lists, &s->count, err);
    s->lists = vs_calloc(1, sizeof(*s->lists));
    s->count = 1;
    return rec_memlist_read_whole(path, device, s->lists, err);
}

bool cli_import_ran_out(const struct imp_import *import)
{
    for (size_t i = 0; i < import->event_count; i++)
        if (import->events[i].kind == VS_EV_OOM)
            return true;
    return false;
}

/* The name of a device's trace, as store/devices.c chooses it. */
static size_t shown_of(const struct cli_importer *s)
{
    size_t shown = 0;

    for (size_t i = 1; i < s->count; i++) {
        const bool is_out = cli_import_ran_out(&s->imports[i]);
        const bool was_out = cli_import_ran_out(&s->imports[shown]);

        if (is_out != was_out ? is_out : s->imports[i].event_count > s->imports[shown].event_count)
            shown = i;
    }
    return shown;
}

enum vs_status cli_importer_read(const char *path, int64_t device, bool is_strict,
                                 struct cli_importer *out, struct vs_error *err)
{
    enum vs_status st = lists_read(path, device, out, err);

    if (st)
        return st;
    out->imports = vs_calloc(out->count, sizeof(*out->imports));
    for (size_t i = 0; i < out->count && !st; i++) {
        struct imp_import *import = &out->imports[i];

        st = imp_make(&out->lists[i], import, err);
        if (st && !is_strict) {
            imp_release(import);
            imp_make_partial(&out->lists[i], err->text, import);
            st = VS_OK;
        }
        if (st)
            vs_error_prefix(err, "%s", path);
    }
    if (!st)
        out->shown = shown_of(out);
    return st;
}

static enum vs_status toggles_write(const struct vs_toggles *toggles, struct sto_writer *writer,
                                    struct vs_error *err)
{
    enum vs_status st = VS_OK;

    for (size_t i = 0; i < VS_TOGGLE_COUNT && !st; i++)
        if (vs_toggles_is_set(toggles, (enum vs_toggle)i))
            st = sto_writer_toggle_add(writer, vs_toggle_info((enum vs_toggle)i)->name,
                                       vs_toggles_get(toggles, (enum vs_toggle)i), false, err);
    return st;
}

enum vs_status cli_importer_write(struct cli_importer *s, const char *name,
                                  const struct cli_fact *facts, const char *path, bool force,
                                  bool is_whole, struct vs_error *err)
{
    struct sto_writer_options options = {.force = force};
    struct vs_error later = VS_ERROR_INIT;
    struct sto_writer *writer = NULL;
    enum vs_status st = sto_writer_open(path, &options, &writer, err);
    enum vs_status closed;

    if (st)
        return st;
    st = imp_write(s->imports, s->lists, s->count, name, writer, err);
    for (; facts->key && !st; facts++)
        st = sto_writer_meta_set(writer, facts->key, facts->value, err);
    if (!st && s->toggles)
        st = toggles_write(s->toggles, writer, err);
    closed = sto_writer_close(writer, !st && is_whole, st ? &later : err);
    /* otherwise the first command that reads the trace builds it; traces of several devices have none stored */
    if (!st && !closed && s->count == 1)
        (void)!rpl_index_make(path, s->imports->event_count, NULL, NULL, &later);
    return st ? st : closed;
}

void cli_importer_release(struct cli_importer *importer)
{
    for (size_t i = 0; i < importer->count; i++) {
        vs_memlist_release(&importer->lists[i]);
        if (importer->imports)
            imp_release(&importer->imports[i]);
    }
    vs_free(importer->lists);
    vs_free(importer->imports);
    memset(importer, 0, sizeof(*importer));
}
