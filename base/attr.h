/*
 * base/attr.h - compiler attributes, the only place that spells them.
 *
 * For:            every folder.
 * Must not know:  anything else of the project.
 * Invariant:      the code means the same where the compiler ignores an attribute.
 */
#ifndef VS_BASE_ATTR_H
#define VS_BASE_ATTR_H

#define VS_MUST_USE __attribute__((warn_unused_result))
#define VS_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#ifdef __cplusplus
#define VS_NORETURN [[noreturn]]
#else
#define VS_NORETURN _Noreturn
#endif
/* Formulas that the host and a GPU share. */
#ifdef __CUDACC__
#define VS_ON_DEVICE __host__ __device__
#else
#define VS_ON_DEVICE
#endif
/* A type of `bytes` bytes of the elements it is put on, added and multiplied as one. */
#define VS_VECTOR(bytes) __attribute__((vector_size(bytes)))
#define VS_UNUSED __attribute__((unused))
#define VS_ALWAYS_INLINE inline __attribute__((always_inline))
/* A function that profilers are told to look into, by name. */
#define VS_NEVER_INLINE __attribute__((noinline))
#define VS_LIKELY(x) __builtin_expect(!!(x), 1)
#define VS_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
