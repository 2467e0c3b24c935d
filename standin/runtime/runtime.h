/*
 * standin/runtime/runtime.h - what the simulated functions share: the GPU, its memory, handles, the thread's
 * error.
 *
 * For:            the library vramscope_standin.so; nothing else includes it.
 * Must not know:  PyTorch and Python.
 * Invariant:      nothing here waits for anybody, and no address of the device is ever read or written.
 *
 * Simulated functions are static, have the names and the parameters of NVIDIA's headers (enums as int, handles as
 * pointers), and are listed at the end of their file. They are called through stub libraries (standin/stub.h), and so
 * have no symbols of their own.
 */
#ifndef STANDIN_RUNTIME_H
#define STANDIN_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

/* Statuses: those of the runtime and the driver are the same numbers. */
enum {
    STI_SUCCESS = 0,
    STI_INVALID_VALUE = 1,
    STI_OUT_OF_MEMORY = 2,
    STI_NO_DEVICE = 100,
    STI_INVALID_DEVICE = 101,
    STI_NOT_FOUND = 500,
    STI_LAUNCH_TIMEOUT = 702,
    STI_NOT_READY = 600,
    STI_PEER_ALREADY_ENABLED = 704,
    STI_NOT_SUPPORTED = 801,
    STI_CAPTURE_UNSUPPORTED = 900
};

#define STI_DEVICES_MAX 64

/* The simulated GPU; each of `count` devices is one, at most STI_DEVICES_MAX. Columns of base/target.def. */
struct sti_gpu {
    char name[64];
    char title[64];
    uint64_t capacity_bytes;
    int capability;
    int processors;
    int threads;
    int count;
};

/* Versions as the libraries say them: 13020 is CUDA 13.2, 92600 cuDNN 9.26.0, 22703 NCCL 2.27.3. */
struct sti_versions {
    int cuda;
    int cudnn;
    int nccl;
};

const struct sti_gpu *sti_gpu(void);
const struct sti_versions *sti_versions(void);
/* Before the first call of a simulated function; `cudnn` and `nccl` also later, 0: as it was. */
void sti_gpu_set(const struct sti_gpu *gpu);
void sti_versions_set(const struct sti_versions *versions);

/* ---- functions ---- */

typedef void sti_function(void);

/* A simulated function. A table of them ends with a NULL name. */
struct sti_call {
    const char *name;
    sti_function *function;
};
#define STI_CALL(function_)                                                                        \
    {                                                                                              \
#function_, (sti_function *)function_                                                      \
    }
#define STI_CALLS_END                                                                              \
    {                                                                                              \
        NULL, NULL                                                                                 \
    }

/* The function with this name, of all tables; NULL: it is not simulated. */
sti_function *sti_call_find(const char *name);
/* All names, NULL at the end; the caller frees the list, not the names. */
const char **sti_call_names(void) VS_MUST_USE;
/*
 * What a function of this name that is not in a table does: NULL: it is unknown, names itself and refuses; else it does
 * nothing and succeeds. So behave functions of libraries that compute, unless their name says that they answer.
 */
sti_function *sti_call_default(const char *name);

/* ---- handles and errors ---- */

/* A number that no other handle has; it points to nothing. */
void *sti_handle(void);
/* Keep `status` as the calling thread's last error, if it is one, and return it. */
int sti_error(int status);
int sti_error_last(bool clear);
/* The device that the calling thread works on. */
int sti_device(void);
int sti_device_set(int device);

/*
 * Time on the device: it passes only by work that is put there, 1 ms for each kernel and each call of a library that
 * computes. So programs that measure, as Inductor does to choose a kernel, choose the same each time.
 */
void sti_work(void);
uint64_t sti_work_count(void);

/* A property of the device by its number in enum cudaDeviceAttr, which the driver shares. */
int sti_attribute(int attribute);

/* ---- memory ---- */

enum sti_memory_kind {
    STI_MEMORY_NONE,   /* not CUDA's: ordinary memory of the host */
    STI_MEMORY_HOST,   /* pinned */
    STI_MEMORY_DEVICE, /* an address of the device */
    STI_MEMORY_MANAGED /* memory of the host that the device may use */
};

/* Where an address lies. base, bytes: its allocation. */
struct sti_memory {
    enum sti_memory_kind kind;
    int device;
    uintptr_t base;
    uint64_t bytes;
};

/*
 * Take `bytes` of the device's memory, in units of 2 MiB as the driver does. Returns STI_OUT_OF_MEMORY where less is
 * free. 0 bytes: the address is NULL.
 */
int sti_memory_take(int device, uint64_t bytes, void **out);
/* Give it back; STI_INVALID_VALUE: it was not taken. NULL is nothing. */
int sti_memory_give(void *address);
/* Memory of the host: pinned, or managed. Zeros. */
int sti_memory_host(uint64_t bytes, enum sti_memory_kind kind, void **out);
/* Memory that the program has is pinned from now on, or not any more. */
int sti_memory_register(void *address, uint64_t bytes);
int sti_memory_unregister(void *address);
/* Addresses without memory, and memory without an address. */
int sti_memory_reserve(uint64_t bytes, void **out);
int sti_memory_unreserve(void *address);
int sti_memory_create(int device, uint64_t bytes);
void sti_memory_release(int device, uint64_t bytes);

struct sti_memory sti_memory_of(const void *address);
bool sti_memory_is_device(const void *address);
uint64_t sti_memory_used(int device);

/* ---- values ---- */

/*
 * Copy: to the host come zeros, or what is kept of the device; this counts as a read of values. Within the host it is
 * memmove.
 */
void sti_copy(void *to, const void *from, size_t bytes);
void sti_copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                   size_t height);
/*
 * Small copies to the device are kept, by address, until some kernels have been launched: what processes tell each
 * other about a model is compared on the host. They come back once a communicator is made, which calls
 * sti_values_share with the number of its ranks: the more there are the more is kept.
 */
void sti_values_share(int ranks);
/* A kernel was launched. */
void sti_values_age(void);
/* The next read of values by this thread gets these bytes, cut or followed by zeros; len 0: not any more. */
void sti_values_expect(const void *bytes, size_t len);
/* What is kept at a device address, copied to `out`; false: nothing. */
bool sti_values_get(const void *address, void *out, size_t bytes);
void sti_values_put(const void *address, const void *bytes, size_t len);
/*
 * When something happened: number counts stamps; launch: so many kernels had been launched; is_held: values are held,
 * and what is kept then lasts until nobody holds them.
 */
struct sti_stamp {
    uint64_t number;
    uint64_t launch;
    bool is_held;
};
struct sti_stamp sti_values_stamp(void);
/* Does what was put at `put` last until `read`? */
bool sti_values_last(struct sti_stamp put, struct sti_stamp read);
/* Keep what was put there then, unless something that is kept there is later. */
void sti_values_put_at(const void *address, const void *bytes, size_t len, struct sti_stamp put);
/* What is kept for a read at `read`: the number of its stamp; 0: nothing. */
uint64_t sti_values_get_at(const void *address, void *out, size_t bytes, struct sti_stamp read);
/* More bytes at one address are not kept. */
size_t sti_values_limit(void);

/* ---- reads ---- */

#define STI_READ_KINDS_MAX 24
#define STI_READ_NAME_MAX 64

/* The values that the host read so far. */
struct sti_reads {
    uint64_t count;
    uint64_t bytes;
};
/* How often an operator of PyTorch did so, by its name: item, nonzero; "copy": none did. */
struct sti_read_kind {
    char name[STI_READ_NAME_MAX];
    uint64_t count;
};

typedef void sti_on_read(uint64_t bytes, const char *kind);

/* The host reads so many bytes of values now, on this thread. */
void sti_read_note(uint64_t bytes);
struct sti_reads sti_reads(void);
/* The kinds of reads so far, in the order in which they came; false: there are fewer. */
bool sti_reads_kind(size_t index, struct sti_read_kind *out);
/* Call `on_read` at the first read of each kind that is new from now on. NULL: not any more. */
void sti_reads_watch(sti_on_read *on_read);

/* ---- other ranks: nccl_result.c, nccl_wait.c ---- */

/*
 * The host waits for the device, and so for the collectives that other ranks take part in. Returns STI_LAUNCH_TIMEOUT
 * the first time that one of them is not there.
 */
int sti_ranks_wait(void);
/* The host looks at [address, address + len): what collectives put there is kept from now on. Waits for other ranks. */
void sti_results_settle(const void *address, size_t len);
/* Something else is put there: what collectives would have put there does not matter. */
void sti_results_drop(const void *address, size_t len);
/*
 * A copy within the device: what collectives would have put at `to` does not matter. True: they put something at `from`
 * that is not known yet, and will be copied when it is. Does not wait.
 */
bool sti_results_copy(void *to, const void *from, size_t len);

/* ---- streams ---- */

/* The capture that a stream takes part in; 0: none. */
uint64_t sti_stream_capture(const void *stream);

#endif
