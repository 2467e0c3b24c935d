/*
 * engine/autograd/ready.h - the order in which leaves receive their gradients.
 *
 * For:            grouping gradients by when they are ready, as DistributedDataParallel's reducer does.
 * Must not know:  what is done with the order.
 * Invariant:      no references are kept: leaves are identified by their number (`born`), so lifetimes do not change.
 */
#ifndef ENG_READY_H
#define ENG_READY_H

#include "engine/core/tensor.h"

/*
 * Starts recording: the gradients of these leaves are expected, each once. Earlier records are discarded. A leaf that
 * receives a second gradient before the end of the backward in which the last leaf received its first one fails that
 * backward (VS_E_AUTOGRAD), as PyTorch's reducer does. After that backward nothing is recorded until the next call.
 */
void eng_ready_expect(struct eng *e, struct eng_tensor *const *leaves, size_t count);

/* How many have received their gradient; and the index in `leaves` of the one that was number `i` (from 0). */
size_t eng_ready_count(const struct eng *e);
size_t eng_ready_at(const struct eng *e, size_t i);

#endif
