/*
 * tests/share.c - see share.h.
 */
#include "tests/share.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

size_t tests_share(size_t usual)
{
    const char *share = getenv("GRID_SHARE");
    size_t count = share ? strtoull(share, NULL, 10) : 0;

    return count ? count : usual;
}

size_t tests_share_first(const char *name)
{
    return (size_t)(vs_hash_bytes(name, strlen(name)) % tests_share(1));
}

bool tests_share_has(size_t row, size_t column, size_t columns)
{
    const size_t share = tests_share(1);

    return (row + column) % (share < columns ? share : columns) == 0;
}
