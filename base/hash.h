/*
 * base/hash.h - hashes for tables in memory.
 *
 * For:            base/table.h. Not for files: another version may compute other hashes.
 * Must not know:  tables.
 * Invariant:      equal bytes have equal hashes, whatever their alignment.
 */
#ifndef VS_BASE_HASH_H
#define VS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t vs_hash_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 32;
}

/*
 * Hash of one number, cheaper than vs_hash_bytes; consecutive numbers are spread evenly. Do not use it for numbers
 * that differ only in bits 40 to 63: those bits do not reach the low bits of the hash.
 */
static inline uint64_t vs_hash_number(uint64_t number)
{
    return number * UINT64_C(0x9E3779B97F4A7C15) >> 32;
}

/*
 * Hash of `len` bytes. Reads eight bytes at a time; an incomplete last group is filled up with zeros.
 */
static inline uint64_t vs_hash_bytes(const void *data, size_t len)
{
    const char *p = data;
    uint64_t hash = vs_hash_mix(0, len);
    uint64_t word;

    for (; len >= sizeof(word); len -= sizeof(word), p += sizeof(word)) {
        memcpy(&word, p, sizeof(word));
        hash = vs_hash_mix(hash, word);
    }
    word = 0;
    if (len > 0)
        memcpy(&word, p, len);
    return vs_hash_mix(hash, word);
}

static inline uint64_t vs_hash_text(const char *text)
{
    return vs_hash_bytes(text, strlen(text));
}

#endif
