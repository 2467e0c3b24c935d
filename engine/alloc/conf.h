/*
 * engine/alloc/conf.h - the settings of the caching allocator, and PyTorch's text for them.
 *
 * For:            the toggle `alloc-conf`, whose values are those of PYTORCH_CUDA_ALLOC_CONF / PYTORCH_ALLOC_CONF.
 * Must not know:  environment variables, the allocator's state.
 * Invariant:      a text that PyTorch would reject is rejected, and changes nothing.
 */
#ifndef ENG_ALLOC_CONF_H
#define ENG_ALLOC_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/error.h"

#define ENG_ROUNDUP_INTERVALS 16
#define ENG_NO_LIMIT UINT64_MAX

/*
 * The settings that change what the allocator does.
 *
 * max_split_bytes            blocks of this size or more are never split; ENG_NO_LIMIT: all may be (PyTorch's default)
 * max_non_split_rounding     an unsplittable block may exceed its request by less than this; 0: large_segment_bytes
 * gc_threshold               fraction of the memory limit above which unused segments are returned; 0: never
 * memory_fraction            fraction of the device's total that may be reserved; 1.0: no limit
 * expandable_reserve         address space of one expandable segment as a fraction of the device's total, at most 9/8
 *                            of it; 0: 9/8
 * expandable_reserve_bytes   the same in bytes; takes precedence unless 0
 * roundup_divisions[i]       power-of-two divisions for requests of interval i; 0 and 1: off. Interval 0 is everything
 *                            below 2 MiB, i is [2^i, 2^(i+1)) MiB, 15 is everything from 32 GiB up
 * large_segment_bytes        segment for requests between 1 and 10 MiB, and granule of large expandable segments
 * expandable_segments        new segments grow by mapping granules into reserved address space
 * throw_on_cudamalloc_oom    with a fraction below 1: a request over the limit is refused before any retry
 *
 * Keys without effect on addresses and sizes (release_lock_on_cudamalloc, graph_capture_record_stream_reuse, pinned_*)
 * are checked and then ignored.
 */
struct eng_alloc_conf {
    uint64_t max_split_bytes;
    uint64_t max_non_split_rounding;
    double gc_threshold;
    double memory_fraction;
    double expandable_reserve;
    uint64_t expandable_reserve_bytes;
    uint64_t large_segment_bytes;
    uint32_t roundup_divisions[ENG_ROUNDUP_INTERVALS];
    bool expandable_segments;
    bool throw_on_cudamalloc_oom;
};

/* PyTorch's defaults. */
void eng_alloc_conf_init(struct eng_alloc_conf *conf);

/*
 * Applies `text` ("key:value,key:[a:b,>:c],…"; spaces are ignored, booleans are True and False, "" changes nothing) to
 * `conf`; keys that are not mentioned keep their value.
 *
 * VS_E_VALUE: an unknown key, an illegal value, a missing ':' or ','; the text of `err` names the key and the legal
 * values. VS_E_UNSUPPORTED: backend:cudaMallocAsync and reserves per size class. `conf` is unchanged on failure.
 */
VS_MUST_USE enum vs_status eng_alloc_conf_parse(const char *text, struct eng_alloc_conf *conf,
                                                struct vs_error *err);

/* Help about one key: its name, its legal values, what it does. `idx` from 0; NULL past the end. */
struct eng_alloc_conf_key {
    const char *name;
    const char *legal;
    const char *text;
};
const struct eng_alloc_conf_key *eng_alloc_conf_key_get(unsigned idx);

#endif
