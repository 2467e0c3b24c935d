/*
 * engine/core/observer.h - how the engine tells what happens, to whoever listens.
 *
 * For:            tracer/ (the recorder) and tests.
 * Must not know:  files, threads, SQL, terminals.
 * Invariant:      the calls come in the order in which things happen, from one thread; a string, place or tensor is
 *                 announced before the first event that mentions it. After an `oom` event comes nothing.
 *
 * With no observer the cost of an event is one NULL test. A callback must not fail, block on I/O or call the engine.
 */
#ifndef ENG_OBSERVER_H
#define ENG_OBSERVER_H

#include <stdint.h>

#include "base/event.h"

struct eng_observer {
    void *user;
    /* One event; `event` is only valid during the call. time_ns is 0: the observer puts in its own clock. */
    void (*emit)(void *user, const struct vs_event *event);
    /* The id of `text` (not NULL), from 1; equal texts get equal ids. */
    uint32_t (*string)(void *user, const char *text);
    /* The id of `place`, from 1; equal places get equal ids. */
    uint32_t (*location)(void *user, const struct vs_location *location);
    /* A tensor is about to be mentioned for the first time. */
    void (*tensor)(void *user, const struct vs_tensor_desc *desc);
};

#endif
