/*
 * tests/fuzz/fuzz_import.c - imports any snapshot: the result is one error message or a trace, complete or partial,
 * that gives a report.
 *
 * Input: the contents of a file, decompressed.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "import/importing.h"
#include "import/partial.h"
#include "recording/memlist.h"
#include "replay/report/report.h"
#include "whatif/whatif.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Its requests once more, as recorded, and under settings and on a device it never saw. */
static void whatif(struct rpl_trace *trace)
{
    static const char *const CONFS[] = {
        "alloc-conf=expandable_segments:True", "alloc-conf=max_split_size_mb:21",
        ("alloc-conf=roundup_power2_divisions:4,garbage_collection_threshold:0.5,"
         "per_process_memory_fraction:0.5")};
    struct rpl_trace *out = rpl_trace_new();
    struct vs_error err = VS_ERROR_INIT;

    if (wif_run(trace, NULL, out, &err))
        VS_ASSERT(err.text[0]);
    else
        VS_ASSERT(rpl_trace_event_count(out) == rpl_trace_event_count(trace));
    for (size_t i = 0; i < sizeof(CONFS) / sizeof(CONFS[0]); i++) {
        struct vs_toggles set = {{NULL}};
        enum vs_status st = vs_toggles_set_pair(&set, CONFS[i], &err);

        VS_ASSERT(!st);
        if (wif_run_on(trace, &set, UINT64_C(64) << 20, out, &err))
            VS_ASSERT(err.text[0]);
        vs_toggles_release(&set);
    }
    rpl_trace_free(out);
}

static void report(const struct imp_import *import, const struct vs_memlist *list)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct rpl_report report = {.trace = NULL};
    struct vs_text text = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;

    for (size_t i = 0; i < import->string_count; i++)
        rpl_trace_add_string(trace, import->strings[i]);
    for (size_t i = 0; i < import->location_count; i++)
        rpl_trace_add_location(trace, &import->locations[i]);
    for (size_t i = 0; i < import->event_count; i++)
        rpl_trace_add_event(trace, &import->events[i]);
    if (rpl_report_fill(&report, trace, 5, &err)) {
        VS_ASSERT(err.text[0]);
    } else {
        rpl_report_text(&report, "fuzz", &text);
        rpl_report_json(&report, &text);
    }
    if (!import->partial) {
        vs_text_clear(&text);
        vs_text_addf(&text, "%" PRIu64, import->start_events);
        rpl_trace_set_meta(trace, "source_kind", "imported");
        if (list->conf)
            rpl_trace_set_meta(trace, "alloc_conf", list->conf);
        rpl_trace_set_meta(trace, "start_events", vs_text_get(&text));
        whatif(trace);
    }
    vs_text_release(&text);
    rpl_report_release(&report);
    rpl_trace_free(trace);
}

static void import(const struct vs_memlist *list)
{
    struct imp_import import = {.events = NULL};
    struct vs_error err = VS_ERROR_INIT;

    if (imp_make(list, &import, &err)) {
        VS_ASSERT(err.text[0]);
        imp_release(&import);
        imp_make_partial(list, err.text, &import);
        VS_ASSERT(import.partial);
    }
    report(&import, list);
    imp_release(&import);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vs_memlist list = {.events = NULL};
    struct vs_error err = VS_ERROR_INIT;
    char *text = vs_alloc(size + 1);

    memcpy(text, data, size);
    text[size] = '\0';
    if (rec_memlist_parse(text, size, REC_SNAPSHOT_FIRST, &list, &err))
        VS_ASSERT(err.text[0]);
    else if (list.has_addresses && list.has_state)
        import(&list);
    vs_memlist_release(&list);
    vs_free(text);
    return 0;
}
