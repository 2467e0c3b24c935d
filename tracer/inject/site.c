/*
 * tracer/inject/site.c - see site.h.
 */
#include "tracer/inject/site.h"

#include <stdio.h>

#define OP_MAX 320

const struct inj_frame *inj_site_frame(const struct inj_site *site)
{
    const struct inj_frame *native = NULL;

    for (size_t i = 0; i < site->frame_count; i++) {
        const struct inj_frame *frame = &site->frames[i];

        if (frame->is_own && frame->is_python)
            return frame;
        if (frame->is_own && !native)
            native = frame;
    }
    if (native)
        return native;
    return site->frame_count ? &site->frames[0] : NULL;
}

static uint32_t text_id(const struct eng_observer *to, const char *text)
{
    return text && *text ? to->string(to->user, text) : 0;
}

uint32_t inj_site_place(struct inj_sink *sink, const struct inj_site *site)
{
    const struct eng_observer *to = sink->observer;
    const struct inj_frame *frame = inj_site_frame(site);
    struct vs_place place = {.phase = site->phase,
                             .module = text_id(to, site->module),
                             .func = frame ? text_id(to, frame->text) : 0,
                             .line = frame ? frame->line : 0};
    char op[OP_MAX];

    snprintf(op, sizeof(op), "%s%s%s", site->call, *site->kernel ? " after " : "", site->kernel);
    place.op = text_id(to, op);
    return to->place(to->user, &place);
}
