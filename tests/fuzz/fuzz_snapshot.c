/*
 * tests/fuzz/fuzz_snapshot.c - reads any bytes as a snapshot: the result is one error message or a list of memory
 * events, which may or may not be replayed.
 *
 * Input: the contents of a file, decompressed; a pickle, or a list as text.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "engine/alloc_history/memlist.h"
#include "recording/memlist.h"
#include "recording/snapshot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay(const struct vs_memlist *list)
{
    struct eng_record_peaks peaks;
    struct vs_error err = VS_ERROR_INIT;

    if (eng_record_peaks_of(list, &peaks, &err))
        VS_ASSERT(err.text[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct vs_memlist list = {.events = NULL};
    struct vs_error err = VS_ERROR_INIT;
    char *text = vs_alloc(size + 1);
    enum vs_status st;

    memcpy(text, data, size);
    text[size] = '\0';
    st = rec_memlist_parse(text, size, -1, &list, &err);
    VS_ASSERT(!st || err.text[0]);
    if (!st)
        replay(&list);
    vs_memlist_release(&list);
    vs_free(text);
    return 0;
}
