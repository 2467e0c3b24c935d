/*
 * base/attr.h - the compiler attributes that the project uses.
 *
 * For:            every folder; no other file spells an attribute.
 * Must not know:  anything else of the project.
 * Invariant:      the code means the same where a compiler ignores an attribute.
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
/* Marks a formula that is compiled for the host and for a GPU. */
#ifdef __CUDACC__
#define VS_ON_DEVICE __host__ __device__
#else
#define VS_ON_DEVICE
#endif
/* A vector type of `bytes` bytes whose elements have the type that the attribute is put on. */
#define VS_VECTOR(bytes) __attribute__((vector_size(bytes)))
#define VS_UNUSED __attribute__((unused))
#define VS_ALWAYS_INLINE inline __attribute__((always_inline))
/* Keeps a function out of line, so that profilers can find it by name. */
#define VS_NEVER_INLINE __attribute__((noinline))
#define VS_LIKELY(x) __builtin_expect(!!(x), 1)
#define VS_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
