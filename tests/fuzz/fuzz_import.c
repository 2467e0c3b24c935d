/*
 * tests/fuzz/fuzz_import.c - any snapshot at all becomes a trace, whole or in part, that gives a report, or one message.
 *
 * Input: what a file holds, unpacked.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "import/partial.h"
#include "replay/report.h"
#include "store/memlist.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void report(const struct imp_import *import)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct rpl_report report = {.trace = NULL};
    struct vs_text text = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;

    for (size_t i = 0; i < import->string_count; i++)
        rpl_trace_add_string(trace, import->strings[i]);
    for (size_t i = 0; i < import->place_count; i++)
        rpl_trace_add_place(trace, &import->places[i]);
    for (size_t i = 0; i < import->event_count; i++)
        rpl_trace_add_event(trace, &import->events[i]);
    if (rpl_report_fill(&report, trace, 5, &err)) {
        VS_ASSERT(err.text[0]);
    } else {
        rpl_report_text(&report, "fuzz", &text);
        rpl_report_json(&report, &text);
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
    report(&import);
    imp_release(&import);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vs_memlist list = {.events = NULL};
    struct vs_error err = VS_ERROR_INIT;
    char *text = vs_alloc(size + 1);

    memcpy(text, data, size);
    text[size] = '\0';
    if (sto_memlist_parse(text, size, STO_SNAPSHOT_FIRST, &list, &err))
        VS_ASSERT(err.text[0]);
    else if (list.has_addresses && list.has_state)
        import(&list);
    vs_memlist_release(&list);
    vs_free(text);
    return 0;
}
