/*
 * tests/fuzz/fuzz_report.c - makes a report of any events: the result is a report or one error message.
 *
 * Input: 24 bytes for each event; every fourth input starts with a tensor too. Values are kept small, so that events
 * refer to each other.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "replay/report/report.h"

#define BYTES_PER_EVENT 24

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t number(const uint8_t *p)
{
    /* mostly small, at times huge */
    return p[0] < 250 ? p[0] % 16 : (uint64_t)p[0] << 56 | p[1];
}

static struct vs_event event_of(const uint8_t *p)
{
    struct vs_event event;

    memset(&event, 0, sizeof(event));
    event.kind = p[0];
    event.raw.aux = p[1];
    event.raw.a = number(p + 2);
    event.raw.b = number(p + 4);
    event.raw.c = number(p + 6);
    event.raw.d = number(p + 8);
    event.raw.e = (uint32_t)number(p + 10);
    event.location = p[12] % 8;
    return event;
}

static void tensor_add(struct rpl_trace *trace, const uint8_t *p)
{
    struct vs_tensor_desc desc;

    memset(&desc, 0, sizeof(desc));
    desc.id = rpl_trace_tensor_count(trace) + 1;
    desc.block = number(p);
    desc.name = p[2] % 4;
    desc.dtype = p[3];
    desc.ndim = p[4] % (VS_MAX_DIMS + 1);
    for (int i = 0; i < VS_MAX_DIMS; i++)
        desc.sizes[i] = (int8_t)p[5 + i];
    rpl_trace_add_tensor(trace, &desc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct rpl_trace *trace = rpl_trace_new();
    struct rpl_report report;
    struct vs_text text = {NULL, 0, 0};
    struct vs_error err = VS_ERROR_INIT;

    memset(&report, 0, sizeof(report));
    rpl_trace_add_string(trace, "relu");
    rpl_trace_add_string(trace, "layer1.0");
    rpl_trace_add_string(trace, "Net.forward");
    for (uint32_t i = 1; i < 8; i++)
        rpl_trace_add_location(trace, &(struct vs_location){i, i % 4, i % 3, i, i % 5});
    rpl_trace_set_source(trace, "net.py", "a\nb\nc\nd\n");
    for (; size >= BYTES_PER_EVENT; data += BYTES_PER_EVENT, size -= BYTES_PER_EVENT) {
        struct vs_event event = event_of(data);

        if (data[13] % 4 == 0 && event.kind == VS_EV_ALLOC) {
            tensor_add(trace, data + 14 - 4);
            event.alloc.tensor = rpl_trace_tensor_count(trace);
        }
        rpl_trace_add_event(trace, &event);
    }
    if (rpl_report_fill(&report, trace, 5, &err) == VS_OK) {
        rpl_report_text(&report, "fuzz", &text);
        rpl_report_json(&report, &text);
    } else if (!err.text[0]) {
        __builtin_trap();
    }
    vs_text_release(&text);
    rpl_report_release(&report);
    rpl_trace_free(trace);
    return 0;
}
