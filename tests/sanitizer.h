/*
 * tests/sanitizer.h - the sanitizer with which a test was built: gcc announces it by macros, clang by features.
 *
 *   HAS_SANITIZER          1 with the address or the thread sanitizer, which replace malloc and reserve all address
 *                          space
 *   HAS_THREAD_SANITIZER   1 with the thread sanitizer, which does not support threads that are started after a process
 *                          with several threads was forked
 */
#ifndef TESTS_SANITIZER_H
#define TESTS_SANITIZER_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_THREAD_SANITIZER 1
#endif
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define HAS_THREAD_SANITIZER 1
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif
#ifndef HAS_THREAD_SANITIZER
#define HAS_THREAD_SANITIZER 0
#endif

#endif
