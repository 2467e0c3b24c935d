/*
 * engine/core/observer.h - the callbacks through which the engine reports events.
 *
 * For:            tracer/ (the recorder) and tests.
 * Must not know:  files, threads, SQL, terminals.
 * Invariant:      calls come in the order of what happens, from one thread; a string, location or tensor is announced
 *                 before the first event that mentions it. No event follows an `oom` event.
 *
 * With no observer the cost of an event is one NULL test. A callback must not fail, block on I/O or call the engine.
 */
#ifndef ENG_OBSERVER_H
#define ENG_OBSERVER_H

#include <stdint.h>

#include "base/event.h"

struct eng_observer {
    void *user;
    /* One event, valid only during the call. Its time_ns is 0: the observer sets it from its own clock. */
    void (*emit)(void *user, const struct vs_event *event);
    /* The id of `text` (not NULL), from 1; equal texts get equal ids. */
    uint32_t (*string)(void *user, const char *text);
    /* The id of `location`, from 1; equal locations get equal ids. */
    uint32_t (*location)(void *user, const struct vs_location *location);
    /* Describes a tensor before the first event that mentions it. */
    void (*tensor)(void *user, const struct vs_tensor_desc *desc);
};

#endif
