/*
 * tracer/inject/session.h - the traces of a process, one per device, and its status file.
 *
 * For:            the other files of this folder.
 * Must not know:  CUPTI, NVTX.
 * Invariant:      only the thread that holds the session lock uses the memory table and the sinks. No file of the
 *                 program is written, and an error ends the recording, not the program.
 */
#ifndef TRC_INJECT_SESSION_H
#define TRC_INJECT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "tracer/inject/memory.h"

/* Facts about a device for its trace; "" and 0 mean unknown. Versions as CUDA encodes them: 13000 is 13.0. */
struct inj_facts {
    char name[128];
    uint64_t total_bytes;
    uint64_t free_bytes;
    int driver_version;
    int runtime_version;
};

/* CUDA is initialised: read the environment. True: it is the first call, and VRAMSCOPE_OUT is set. */
bool inj_session_begin(void);
/* Create the process's first file. False: it failed, which has been reported; nothing is recorded then. */
bool inj_session_open(void);

/* Close the files and mark them as complete, at the end of the process; nothing is recorded afterwards. */
void inj_session_end(void);

/* Before a fork; after it in the parent; after it in the child. */
void inj_session_fork_begin(void);
void inj_session_fork_parent(void);
void inj_session_fork_child(void);

/* Whether the session has begun and not ended. */
bool inj_session_is_on(void);

/* Add a line to the status file. docs/internals/injection.md lists the keys. */
void inj_status(const char *key, const char *fmt, ...) VS_PRINTF(2, 3);
/* The same, but only once for each key. */
void inj_status_once(const char *key, const char *fmt, ...) VS_PRINTF(2, 3);

/* The device is unusable after an error: report it once in the status file, and in every trace. */
void inj_session_lost(const char *error, const char *call);

/* Whether the facts of the device are known; if not, set them before its first event. Takes the lock. */
bool inj_session_knows(uint32_t device);
void inj_session_introduce(uint32_t device, const struct inj_facts *facts);

/*
 * Take the session lock and return the blocks of the process; NULL if nothing is recorded, and the lock is not taken
 * then.
 */
struct inj_memory *inj_session_lock(void) VS_MUST_USE;
void inj_session_unlock(void);
/* With the lock: write everything emitted so far to the files. For calls after which a program may end. */
void inj_session_commit(void);

/* A range marks the beginning of a phase or step, or a phase continues because a range inside it ended. */
void inj_session_phase(enum vs_phase phase);
void inj_session_step(void);
/* The current phase. */
enum vs_phase inj_session_phase_now(void);

#endif
