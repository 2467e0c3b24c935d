/*
 * recording/snapshot_html.c - see snapshot_html.h.
 *
 * PyTorch writes `const local_files = [{"name": "snapshot.pickle", "base64": "…"}]` as one line of JavaScript.
 *
 * Must not know:  the format of a snapshot.
 * Invariant:      the write position stays behind the read position: four characters become three bytes.
 */
#include "recording/snapshot_html.h"

#include <stdint.h>
#include <string.h>

#define KEY "\"base64\""

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool rec_html_is(const char *text, size_t len)
{
    size_t at = 0;

    while (at < len && is_space(text[at]))
        at++;
    return at < len && text[at] == '<';
}

/* The first character of the base64 text after `from`, or NULL. */
static char *value_find(char *from, char *end)
{
    char *at = memmem(from, (size_t)(end - from), KEY, sizeof(KEY) - 1);

    if (!at)
        return NULL;
    at += sizeof(KEY) - 1;
    while (at < end && is_space(*at))
        at++;
    if (at == end || *at++ != ':')
        return NULL;
    while (at < end && is_space(*at))
        at++;
    return at < end && *at == '"' ? at + 1 : NULL;
}

/* 0 … 63; -1: not in the base64 alphabet. */
static int digit_of(unsigned char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

enum vs_status rec_html_unpack(char *text, size_t len, size_t *out_len, struct vs_error *err)
{
    char *end = text + len;
    char *at = value_find(text, end);
    uint32_t bits = 0;
    unsigned count = 0;
    size_t n = 0;

    if (!at)
        return vs_fail(err, VS_E_FORMAT,
                       "this page holds no memory snapshot as torch.cuda._memory_viz (trace_plot, "
                       "segment_plot) writes it");
    for (; at < end && *at != '"' && *at != '='; at++) {
        int digit = digit_of((unsigned char)*at);

        if (*at == '\\') /* JSON may write \/ */
            continue;
        if (digit < 0)
            return vs_fail(err, VS_E_FORMAT, "offset %zu of the page: invalid base64",
                           (size_t)(at - text));
        bits = bits << 6 | (uint32_t)digit;
        if (++count % 4)
            continue;
        text[n++] = (char)(bits >> 16);
        text[n++] = (char)(bits >> 8);
        text[n++] = (char)bits;
    }
    while (at < end && *at == '=')
        at++;
    if (at == end)
        return vs_fail(err, VS_E_FORMAT, "the page is truncated inside the snapshot");
    if (value_find(at, end))
        return vs_fail(err, VS_E_UNSUPPORTED,
                       "the page holds several snapshots; import the files themselves");
    if (count % 4 == 1)
        return vs_fail(err, VS_E_FORMAT, "offset %zu of the page: the base64 ends within a byte",
                       (size_t)(at - text));
    if (count % 4) {
        bits <<= 6 * (4 - count % 4);
        text[n++] = (char)(bits >> 16);
        if (count % 4 == 3)
            text[n++] = (char)(bits >> 8);
    }
    text[n] = '\0';
    *out_len = n;
    return VS_OK;
}
