/*
 * standin/runtime/enter.h - what the library vramscope_standin.so exports: a GPU is simulated in this process from here
 * on.
 *
 * For:            tracer/python/vramscope_standin.py, which calls it through ctypes, and tests.
 * Must not know:  Python.
 * Invariant:      nothing is loaded and no file is written unless a GPU is simulated.
 *
 * Texts that come back are one or more lines for the user, cut to `size` bytes with their NUL.
 */
#ifndef STANDIN_ENTER_H
#define STANDIN_ENTER_H

#include <stddef.h>
#include <stdint.h>

#define STI_EXPORT __attribute__((visibility("default")))

/* How sti_enter ended. */
enum {
    STI_SIMULATED = 0, /* the stub libraries are loaded; the text says what is simulated */
    STI_HAS_DRIVER =
        1, /* this machine has a driver, and no GPU was asked for by name; the text names what shows it */
    STI_NO_CUDA =
        2, /* this PyTorch cannot use a GPU of CUDA; the text says why, and what to install */
    STI_FAILED = 3 /* the text says why */
};

/*
 * What to simulate. Strings are borrowed for the call; NULL is "".
 *
 * torch    the folder of PyTorch's libraries, torch/lib
 * gpu      a name of base/target.def; "": the default, and only where there is no driver
 * cache    where stub libraries are kept; "": the user's cache (standin/cache.h)
 * log      the file that facts are appended to (standin/runtime/unknown.h); "": none
 * count    how many GPUs
 * cuda     the version of CUDA that PyTorch was built with, 13020 for 13.2
 */
struct sti_request {
    const char *torch;
    const char *gpu;
    const char *cache;
    const char *log;
    int count;
    int cuda;
};

/* Before PyTorch's libraries are loaded; a second call in a process does nothing and returns STI_SIMULATED. */
STI_EXPORT int sti_enter(const struct sti_request *request, char *text, size_t size);

/*
 * Before the library at `path` is loaded: it may need libraries and functions of CUDA that PyTorch does not; they are
 * provided. 0: all is there; otherwise the text says what is not.
 */
STI_EXPORT int sti_admit(const char *path, char *text, size_t size);

/* Is a library of this name simulated? It is then loaded, and can be opened by its name. */
STI_EXPORT int sti_simulates(const char *soname);

/*
 * The folder that has the stub libraries as files, for compilers that link with them, as Triton does; "": they are in
 * memory only.
 */
STI_EXPORT void sti_stub_folder(char *out, size_t size);

/*
 * A setting. 0: it is set; 1: there is no such setting or value.
 *
 * async    before sti_enter: "early" (what is put into a stream is complete at once) or "late" (standin/runtime/late.h)
 * gpu      after it, before the program uses the GPU: it is this one of base/target.def
 * memory   likewise: the GPU has so many bytes
 */
STI_EXPORT int sti_set(const char *name, const char *value);

/* The versions of cuDNN and NCCL that PyTorch was built with, which it compares; 0: as it was. */
STI_EXPORT void sti_set_versions(int cudnn, int nccl);

/* The next part that a communicator of NCCL is split into has `size` ranks: it is no parameter of that call. */
STI_EXPORT void sti_next_split(int size);

/*
 * From now on (on), until as many calls with 0: all values that are copied to the device, or come there from other
 * ranks, are kept, up to 64 MiB each.
 */
STI_EXPORT void sti_hold_values(int on);
/* What is kept of the device's [address, address + len), copied to `out`, and 1; 0: it is not known. */
STI_EXPORT int sti_value_at(const void *address, void *out, size_t len);
/* It is known now: something on the device was computed on the host, too. */
STI_EXPORT void sti_value_set(const void *address, const void *bytes, size_t len);
/*
 * For a rank that runs alone, while values are held: what it receives next from another rank, in a broadcast, or in a
 * message (is_message: by ncclRecv); first in, first out. NULL: forget what has not been received.
 */
STI_EXPORT void sti_send_for_others(const void *bytes, size_t len, int is_message);

/*
 * Call `on_read` at the first read of values by the host of each kind, with its bytes and its kind: the operator of
 * PyTorch that the program called, such as item, or copy. NULL: not any more.
 */
STI_EXPORT void sti_watch_reads(void (*on_read)(uint64_t bytes, const char *kind));
/* How often the host read values of the device so far, and how many bytes. */
STI_EXPORT void sti_count_reads(uint64_t *count, uint64_t *bytes);
/* The same of one kind, the first being 0: returns how often, and its name, cut to `size`; 0: there are fewer kinds. */
STI_EXPORT uint64_t sti_count_kind(size_t index, char *name, size_t size);

/*
 * The collectives and messages of NCCL's so far, "COUNT BYTES NAME", sorted by name, with " | " between: how often
 * each was called, and the bytes that this rank gave. Cut to `size`.
 */
STI_EXPORT void sti_collectives(char *out, size_t size);

/*
 * The next read of values by this thread gets these bytes, cut or followed by zeros, for it is known what a GPU would
 * give; len 0: not any more.
 */
STI_EXPORT void sti_expect(const void *bytes, size_t len);

/* The simulated function of this name, or NULL; for tests. */
STI_EXPORT void *sti_function_named(const char *name);

#endif
