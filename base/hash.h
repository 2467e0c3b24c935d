/*
 * base/hash.h - a hash of bytes, for tables in memory.
 *
 * For:            base/table.h. Not for files: another version may hash otherwise.
 * Must not know:  tables.
 * Invariant:      equal bytes, equal hashes, whatever their alignment
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
 * Of one number, faster: numbers that follow each other come to lie evenly apart. Not where all that differs are bits from the 40th on: of
 * those the low bits know nothing.
 */
static inline uint64_t vs_hash_number(uint64_t number)
{
    return number * UINT64_C(0x9E3779B97F4A7C15) >> 32;
}

/* Eight bytes at a time; what is left over is read as if zeros followed. */
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
