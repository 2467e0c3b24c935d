/*
 * tracer/inject/session.h - the files that a process writes, one a device, and the file in which it says how that goes.
 *
 * For:            the other files of this folder.
 * Must not know:  CUPTI, NVTX.
 * Invariant:      one thread at a time has the memory and the sinks: that which holds the lock. Nothing of the program's own is written,
 *                 and whatever goes wrong ends the recording, not the program.
 */
#ifndef TRC_INJECT_SESSION_H
#define TRC_INJECT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "tracer/inject/memory.h"

/* What is said of a device in its trace; "" and 0 are left out. versions as CUDA writes them: 13000 is 13.0. */
struct inj_facts {
    char name[128];
    uint64_t total_bytes;
    uint64_t free_bytes;
    int driver_version;
    int runtime_version;
};

/* CUDA begins: read the environment. true: the first time, and VRAMSCOPE_OUT is set. */
bool inj_session_begin(void);
/* Begin the process's first file. false: it cannot be, which has been said; then nothing is recorded. */
bool inj_session_open(void);

/* Close the files: they are complete. For the end of the process; nothing is recorded afterwards. */
void inj_session_end(void);

/* A fork is about to happen, and has: in the parent, in the child. */
void inj_session_fork_begin(void);
void inj_session_fork_parent(void);
void inj_session_fork_child(void);

/* Has the session begun, and not ended? */
bool inj_session_is_on(void);

/* A line in the status file. `key` as docs/internals/injection.md lists them. */
void inj_status(const char *key, const char *fmt, ...) VS_PRINTF(2, 3);
/* The same, for the first time of each key only. */
void inj_status_once(const char *key, const char *fmt, ...) VS_PRINTF(2, 3);

/* The device is of no use any more: said once in the status file, and in every trace. */
void inj_session_lost(const char *error, const char *call);

/* Is the device known? If not, tell the facts before its first event. Takes the lock. */
bool inj_session_knows(uint32_t device);
void inj_session_introduce(uint32_t device, const struct inj_facts *facts);

/* The blocks of the process, with the lock taken; NULL where nothing is recorded, and then the lock is not taken. */
struct inj_memory *inj_session_lock(void) VS_MUST_USE;
void inj_session_unlock(void);
/* With the lock: what was told is in the files when this returns. After what a program may end of. */
void inj_session_commit(void);

/* A range named as a phase or step began, or the phase of the range around it goes on. */
void inj_session_phase(enum vs_phase phase);
void inj_session_step(void);
/* The phase that holds now. */
enum vs_phase inj_session_phase_now(void);

#endif
