/*
 * engine/autograd/ready.h - in which order leaves get their gradients.
 *
 * For:            whoever groups gradients by the moment at which they are ready, as DistributedDataParallel's reducer does.
 * Must not know:  what is done with the order.
 * Invariant:      nothing is held: leaves are known by their number (`born`), so that noting changes no lifetime.
 */
#ifndef ENG_READY_H
#define ENG_READY_H

#include "engine/core/tensor.h"

/*
 * From now on the gradients of these leaves are expected, each once; what was noted before is forgotten. A leaf that gets a second
 * gradient before the end of the backward in which the last one got its first fails that backward (VS_E_AUTOGRAD), as PyTorch's
 * reducer does; after it nothing is looked at until the next call.
 */
void eng_ready_expect(struct eng *e, struct eng_tensor *const *leaves, size_t count);

/* How many of them have got theirs; and the place in `leaves` of the one that was number `i` (from 0). */
size_t eng_ready_count(const struct eng *e);
size_t eng_ready_at(const struct eng *e, size_t i);

#endif
