/*
 * standin/runtime/ranks/store.h - the store of a run in which one rank of many runs alone: a server that PyTorch's
 * TCPStore connects to, and that answers for the ranks that are not there.
 *
 * For:            standin/runtime/enter.h.
 * Must not know:  NCCL, CUDA.
 * Invariant:      every request is answered at once; nobody ever waits for a key.
 *
 * What the others would have put under a key is what this process put under the same key with another number in it
 * ("sizes/3" for "sizes/0"). Where there is no such key, and it is not where a process group keeps the unique id of a
 * communicator of NCCL, its value is empty, and that is reported (standin/runtime/unknown.h: "key").
 */
#ifndef STANDIN_STORE_H
#define STANDIN_STORE_H

#include "standin/runtime/enter.h"

/* The port of this machine on which it listens, from the first call on as long as the process lives; 0: it cannot. */
STI_EXPORT int sti_store_port(void);

#endif
