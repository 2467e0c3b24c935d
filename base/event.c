/*
 * base/event.c - names of the enumerators in event.h.
 *
 * Must not know:  who reads the names.
 * Invariant:      every enumerator has a row.
 */
#include "base/event.h"

struct word {
    const char *name;
    const char *text;
};

/* clang-format off */
static const struct word EVENTS[VS_EVENT_KIND_COUNT] = {
#define VS_EVENT(id, name, text) [id] = {name, text},
#include "base/event.def"
#undef VS_EVENT
};
static const struct word CATEGORIES[VS_CATEGORY_COUNT] = {
#define VS_CATEGORY(id, name, text) [id] = {name, text},
#include "base/category.def"
#undef VS_CATEGORY
};
static const char *const PHASES[VS_PHASE_COUNT] = {
#define VS_PHASE(id, name) [id] = name,
#include "base/phase.def"
#undef VS_PHASE
};
static const struct word HOLDERS[VS_HOLDER_COUNT] = {
#define VS_HOLDER(id, name, text) [id] = {name, text},
#include "base/holder.def"
#undef VS_HOLDER
};
/* clang-format on */

const char *vs_event_kind_name(enum vs_event_kind kind)
{
    return EVENTS[kind].name;
}

const char *vs_event_kind_text(enum vs_event_kind kind)
{
    return EVENTS[kind].text;
}

const char *vs_category_name(enum vs_category category)
{
    return CATEGORIES[category].name;
}

const char *vs_category_text(enum vs_category category)
{
    return CATEGORIES[category].text;
}

const char *vs_phase_name(enum vs_phase phase)
{
    return PHASES[phase];
}

const char *vs_holder_name(enum vs_holder holder)
{
    return HOLDERS[holder].name;
}

const char *vs_holder_text(enum vs_holder holder)
{
    return HOLDERS[holder].text;
}

size_t vs_event_strings(struct vs_event *event, uint64_t *out[VS_EVENT_STRINGS_MAX])
{
    switch ((enum vs_event_kind)event->kind) {
    case VS_EV_HOLD:
    case VS_EV_DROP:
        out[0] = &event->hold.name;
        out[1] = &event->hold.scope;
        return 2;
    case VS_EV_ANY_OP: /* a recomputation has its name in the same field */
        out[0] = &event->op.name;
        return 1;
    case VS_EV_USE:
        out[0] = &event->use.op;
        return 1;
    case VS_EV_ALLOC:
    case VS_EV_FREE:
    case VS_EV_FREE_COMPLETED:
    case VS_EV_ANY_SEGMENT:
    case VS_EV_OOM:
    case VS_EV_SAVE:
    case VS_EV_UNSAVE:
    case VS_EV_CATEGORY:
    case VS_EV_PHASE:
    case VS_EV_STEP:
    case VS_EV_ANY_AMP:
    case VS_EVENT_KIND_COUNT:
        break;
    }
    return 0;
}
