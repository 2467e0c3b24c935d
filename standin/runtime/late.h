/*
 * standin/runtime/late.h - which events are complete, where work on the device ends as late as CUDA allows.
 *
 * For:            the functions about streams, events and copies.
 * Must not know:  capture, priorities, what the work is.
 * Invariant:      unless it is switched on, everything is complete and nothing is kept. All answers follow from the
 *                 order of calls, never from a clock, so a program behaves the same each time.
 *
 * Late means: an event is complete when the host has waited for it, for its stream, for a later event of its stream or
 * for something that waited for it. There are bounds: a stream of a GPU holds 1,024 kernels, so an event is also
 * complete when 1,024 were put after it; one that is asked for 100 times, with no kernel put between, is complete,
 * because a program that polls sees time pass; and with 1,024 waits of streams for each other the host waits for all.
 */
#ifndef STANDIN_LATE_H
#define STANDIN_LATE_H

#include <stdbool.h>

/* Before the first stream or event is used. */
void sti_late_set(bool is_late);

/* `event` is put into `stream`, behind all that is in it; later ones of the same name replace it. */
void sti_late_record(const void *event, const void *stream);
/* What is put into `stream` from now on begins when `event` is complete. */
void sti_late_wait(const void *stream, const void *event);

/* Is it complete? An event that was never recorded, or a stream in which nothing is, is. */
bool sti_late_is_event_done(const void *event);
bool sti_late_is_stream_done(const void *stream);

/* The host waits: for an event, for a stream, for the device. */
void sti_late_sync_event(const void *event);
void sti_late_sync_stream(const void *stream);
void sti_late_sync_all(void);

/* An event or a stream was destroyed. */
void sti_late_forget(const void *handle);

#endif
