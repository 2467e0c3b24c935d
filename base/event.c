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
