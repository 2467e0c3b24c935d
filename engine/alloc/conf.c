/*
 * engine/alloc/conf.c - reads PyTorch's allocator settings.
 *
 * For:            engine/alloc/conf.h.
 * Must not know:  what the settings do.
 * Invariant:      one row of `keys` is one key: its name, its legal values, the function that reads it.
 *
 * Grammar and ranges: PyTorch 2.6 (c10/cuda/CUDAAllocatorConfig.cpp), with the keys and ranges added up to August 2026
 * (c10/core/AllocatorConfig.cpp). Where PyTorch accepts the numeric beginning of a value ("20x"), this rejects it.
 */
#include "engine/alloc/conf.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIB UINT64_C(1048576)
#define TOKEN_MAX 48

/* The rest of the text, and the key being read. */
struct reader {
    const char *at;
    const char *key;
    const char *legal;
    struct vs_error *err;
};

typedef enum vs_status (*read_fn)(struct reader *rd, struct eng_alloc_conf *conf);

struct key {
    struct eng_alloc_conf_key doc;
    read_fn read;
};

void eng_alloc_conf_init(struct eng_alloc_conf *conf)
{
    *conf = (struct eng_alloc_conf){
        .max_split_bytes = ENG_NO_LIMIT,
        .memory_fraction = 1.0,
        .large_segment_bytes = 20 * MIB,
    };
}

/* ---- tokens: , : [ ] and everything between them, without spaces ---- */

static bool is_mark(char c)
{
    return c == ',' || c == ':' || c == '[' || c == ']';
}

/* Reads the next token into `out`, truncated at TOKEN_MAX - 1; "" at the end of the text. */
static void next_token(struct reader *rd, char out[TOKEN_MAX])
{
    size_t len = 0;

    while (*rd->at == ' ')
        rd->at++;
    if (is_mark(*rd->at)) {
        out[len++] = *rd->at++;
    } else {
        for (; *rd->at && !is_mark(*rd->at); rd->at++) {
            if (*rd->at != ' ' && len < TOKEN_MAX - 1)
                out[len++] = *rd->at;
        }
    }
    out[len] = '\0';
}

static bool is_next(const struct reader *rd, char mark)
{
    const char *at = rd->at;

    while (*at == ' ')
        at++;
    return *at == mark;
}

static bool take_mark(struct reader *rd, char mark)
{
    char token[TOKEN_MAX];

    if (!is_next(rd, mark))
        return false;
    next_token(rd, token);
    return true;
}

static enum vs_status fail_value(const struct reader *rd, const char *value)
{
    return vs_fail(rd->err, VS_E_VALUE, "alloc-conf: %s cannot be '%s': it takes %s", rd->key,
                   value, rd->legal);
}

/* ---- values ---- */

static bool parse_whole(const char *token, uint64_t *out)
{
    char *end;

    if (!isdigit((unsigned char)token[0]) || strlen(token) > 18)
        return false;
    *out = strtoull(token, &end, 10);
    return *end == '\0';
}

static bool parse_real(const char *token, double *out)
{
    char *end;

    if (!isdigit((unsigned char)token[0]) && token[0] != '.')
        return false;
    *out = strtod(token, &end);
    return *end == '\0' && isfinite(*out);
}

static enum vs_status read_whole(struct reader *rd, uint64_t least, uint64_t most, uint64_t *out)
{
    char token[TOKEN_MAX];
    uint64_t value;

    next_token(rd, token);
    if (!parse_whole(token, &value) || value < least || value > most)
        return fail_value(rd, token);
    *out = value;
    return VS_OK;
}

static enum vs_status read_bool(struct reader *rd, bool *out)
{
    char token[TOKEN_MAX];

    next_token(rd, token);
    if (strcmp(token, "True") != 0 && strcmp(token, "False") != 0)
        return fail_value(rd, token);
    *out = token[0] == 'T';
    return VS_OK;
}

static bool is_power_of_two(uint64_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

/* MiB, up to a size that still fits in 64 bits. */
#define MOST_MB (UINT64_MAX / MIB)

static enum vs_status read_max_split(struct reader *rd, struct eng_alloc_conf *conf)
{
    uint64_t mb = 0;
    enum vs_status st = read_whole(rd, 20, MOST_MB, &mb);

    if (!st)
        conf->max_split_bytes = mb * MIB;
    return st;
}

static enum vs_status read_non_split_rounding(struct reader *rd, struct eng_alloc_conf *conf)
{
    uint64_t mb = 0;
    enum vs_status st = read_whole(rd, 20, MOST_MB / 2, &mb);

    if (!st)
        conf->max_non_split_rounding = mb * MIB;
    return st;
}

static enum vs_status read_large_segment(struct reader *rd, struct eng_alloc_conf *conf)
{
    uint64_t mb = 0;
    enum vs_status st = read_whole(rd, 11, UINT64_C(1) << 30, &mb);

    if (!st)
        conf->large_segment_bytes = mb * MIB;
    return st;
}

static enum vs_status read_gc_threshold(struct reader *rd, struct eng_alloc_conf *conf)
{
    char token[TOKEN_MAX];
    double value;

    next_token(rd, token);
    if (!parse_real(token, &value) || value <= 0.0 || value >= 1.0)
        return fail_value(rd, token);
    conf->gc_threshold = value;
    return VS_OK;
}

static enum vs_status read_fraction(struct reader *rd, struct eng_alloc_conf *conf)
{
    char token[TOKEN_MAX];
    double value;

    next_token(rd, token);
    if (!parse_real(token, &value) || value < 0.0 || value > 1.0)
        return fail_value(rd, token);
    conf->memory_fraction = value;
    return VS_OK;
}

static enum vs_status read_expandable(struct reader *rd, struct eng_alloc_conf *conf)
{
    return read_bool(rd, &conf->expandable_segments);
}

static enum vs_status read_throw(struct reader *rd, struct eng_alloc_conf *conf)
{
    return read_bool(rd, &conf->throw_on_cudamalloc_oom);
}

/* A fraction of the device ("0.5") or GiB ("40G"). */
static enum vs_status read_reserve(struct reader *rd, struct eng_alloc_conf *conf)
{
    char token[TOKEN_MAX];
    char number[TOKEN_MAX];
    size_t len;
    bool is_gib;
    double value;

    next_token(rd, token);
    len = strlen(token);
    is_gib = len > 0 && (token[len - 1] == 'G' || token[len - 1] == 'g');
    memcpy(number, token, sizeof(number));
    if (is_gib)
        number[len - 1] = '\0';
    if (!parse_real(number, &value) || value <= 0.0)
        return fail_value(rd, token);
    conf->expandable_reserve = is_gib ? 0.0 : value;
    /* 2^33 GiB is more than any device has; more would not fit in 64 bits */
    conf->expandable_reserve_bytes =
        !is_gib ? 0 : (uint64_t)((value < 0x1p33 ? value : 0x1p33) * 0x1p30);
    return VS_OK;
}

static enum vs_status read_reserve_by_class(struct reader *rd, struct eng_alloc_conf *conf)
{
    (void)conf;
    return vs_fail(rd->err, VS_E_UNSUPPORTED,
                   "alloc-conf: %s is not supported: streams have no classes here; "
                   "use expandable_segments_reserve",
                   rd->key);
}

static enum vs_status read_backend(struct reader *rd, struct eng_alloc_conf *conf)
{
    char token[TOKEN_MAX];

    (void)conf;
    next_token(rd, token);
    if (strcmp(token, "native") == 0)
        return VS_OK;
    if (strcmp(token, "cudaMallocAsync") == 0)
        return vs_fail(rd->err, VS_E_UNSUPPORTED,
                       "alloc-conf: backend:cudaMallocAsync is not supported: it is CUDA's own "
                       "pool, not PyTorch's allocator; use backend:native");
    return fail_value(rd, token);
}

/* Checked and then ignored: without effect on the device's memory. */
static enum vs_status read_ignored_bool(struct reader *rd, struct eng_alloc_conf *conf)
{
    bool unused;

    (void)conf;
    return read_bool(rd, &unused);
}

static enum vs_status read_ignored_threads(struct reader *rd, struct eng_alloc_conf *conf)
{
    char token[TOKEN_MAX];
    uint64_t n;

    (void)conf;
    next_token(rd, token);
    return parse_whole(token, &n) && is_power_of_two(n) && n <= 128 ? VS_OK : fail_value(rd, token);
}

static enum vs_status read_ignored_size(struct reader *rd, struct eng_alloc_conf *conf)
{
    uint64_t unused;

    (void)conf;
    return read_whole(rd, 1, MOST_MB, &unused);
}

static unsigned log2_floor(uint64_t n)
{
    return 63U - (unsigned)__builtin_clzll(n);
}

static void fill(uint32_t *divisions, size_t from, size_t to, uint64_t value)
{
    for (size_t i = from; i < to; i++)
        divisions[i] = (uint32_t)value;
}

/*
 * [64:8,256:4,>:1]: from 64 MiB 8 divisions, from 256 MiB 4, above that 1. The first entry also covers everything
 * smaller; intervals between two entries keep their value; '>' starts at the last interval given (PyTorch 2.6).
 */
static enum vs_status read_roundup_list(struct reader *rd, uint32_t *divisions)
{
    bool is_first = true;
    size_t last = 0;

    while (!take_mark(rd, ']')) {
        char bound[TOKEN_MAX];
        char token[TOKEN_MAX];
        uint64_t mb;
        uint64_t value;

        next_token(rd, bound);
        if (!take_mark(rd, ':'))
            return fail_value(rd, bound);
        next_token(rd, token);
        if (!parse_whole(token, &value) || (value != 0 && !is_power_of_two(value)) ||
            value > UINT32_MAX)
            return fail_value(rd, token);
        if (strcmp(bound, ">") == 0) {
            fill(divisions, last, ENG_ROUNDUP_INTERVALS, value);
        } else {
            if (!parse_whole(bound, &mb) || !is_power_of_two(mb))
                return fail_value(rd, bound);
            last = log2_floor(mb);
            if (last >= ENG_ROUNDUP_INTERVALS)
                last = ENG_ROUNDUP_INTERVALS - 1;
            fill(divisions, is_first ? 0 : last, last + 1, value);
            is_first = false;
        }
        if (!is_next(rd, ']') && !take_mark(rd, ','))
            return fail_value(rd, rd->at);
    }
    return VS_OK;
}

static enum vs_status read_roundup(struct reader *rd, struct eng_alloc_conf *conf)
{
    char token[TOKEN_MAX];
    uint64_t value;

    if (take_mark(rd, '['))
        return read_roundup_list(rd, conf->roundup_divisions);
    next_token(rd, token);
    if (!parse_whole(token, &value) || !is_power_of_two(value) || value > UINT32_MAX)
        return fail_value(rd, token);
    fill(conf->roundup_divisions, 0, ENG_ROUNDUP_INTERVALS, value);
    return VS_OK;
}

/* ---- the keys ---- */

static const struct key keys[] = {
    {{"max_split_size_mb", "a whole number of MiB, at least 20",
      "blocks of this size and more are never split"},
     read_max_split},
    {{"max_non_split_rounding_mb", "a whole number of MiB, at least 20",
      "how much larger than asked an unsplittable block may be"},
     read_non_split_rounding},
    {{"garbage_collection_threshold", "a number above 0 and below 1",
      "share of the memory limit above which old unused segments are returned; needs a memory "
      "fraction below 1"},
     read_gc_threshold},
    {{"roundup_power2_divisions",
      "a power of two, or a list like [64:8,256:4,>:1] of interval starts in MiB (powers of two, "
      "'>' for the rest) and divisions (powers of two or 0)",
      "round requests up to steps between powers of two"},
     read_roundup},
    {{"expandable_segments", "True or False",
      "grow segments by mapping memory into reserved addresses"},
     read_expandable},
    {{"expandable_segments_reserve", "a share of the device like 0.5 or a size like 40G",
      "address space of one expandable segment"},
     read_reserve},
    {{"expandable_segments_reserve_by_class", "not supported", "address space by class of stream"},
     read_reserve_by_class},
    {{"large_segment_size_mb", "a whole number of MiB above 10",
      "segment for requests between 1 and 10 MiB"},
     read_large_segment},
    {{"per_process_memory_fraction", "a number from 0 to 1",
      "share of the device that may be reserved; 1 is no limit"},
     read_fraction},
    {{"throw_on_cudamalloc_oom", "True or False",
      "with a fraction below 1, refuse requests over the limit before any retry"},
     read_throw},
    {{"backend", "native", "which allocator"}, read_backend},
    {{"release_lock_on_cudamalloc", "True or False", "no effect on memory"}, read_ignored_bool},
    {{"release_lock_on_hipmalloc", "True or False", "no effect on memory"}, read_ignored_bool},
    {{"graph_capture_record_stream_reuse", "True or False", "graph captures only"},
     read_ignored_bool},
    {{"pinned_use_cuda_host_register", "True or False", "host memory"}, read_ignored_bool},
    {{"pinned_use_hip_host_register", "True or False", "host memory"}, read_ignored_bool},
    {{"pinned_use_background_threads", "True or False", "host memory"}, read_ignored_bool},
    {{"pinned_free_catch_all", "True or False", "host memory"}, read_ignored_bool},
    {{"pinned_num_register_threads", "a power of two from 1 to 128", "host memory"},
     read_ignored_threads},
    {{"pinned_reserve_segment_size_mb", "a whole number of MiB above 0", "host memory"},
     read_ignored_size},
};

#define KEY_COUNT (sizeof(keys) / sizeof(keys[0]))

const struct eng_alloc_conf_key *eng_alloc_conf_key_get(unsigned idx)
{
    return idx < KEY_COUNT ? &keys[idx].doc : NULL;
}

static enum vs_status fail_unknown(const struct reader *rd, const char *token)
{
    char names[1024] = "";
    size_t len = 0;

    for (size_t i = 0; i < KEY_COUNT; i++) {
        size_t n = strlen(keys[i].doc.name);

        if (len + n + 3 > sizeof(names))
            break;
        memcpy(names + len, i ? ", " : "", i ? 2 : 0);
        len += i ? 2 : 0;
        memcpy(names + len, keys[i].doc.name, n + 1);
        len += n;
    }
    return vs_fail(rd->err, VS_E_VALUE, "alloc-conf: unknown key '%s'; known are: %s", token,
                   names);
}

/* Reads "key:value" at rd->at. */
static enum vs_status read_pair(struct reader *rd, struct eng_alloc_conf *conf)
{
    char token[TOKEN_MAX];

    next_token(rd, token);
    for (size_t i = 0; i < KEY_COUNT; i++) {
        if (strcmp(token, keys[i].doc.name) != 0)
            continue;
        rd->key = keys[i].doc.name;
        rd->legal = keys[i].doc.legal;
        if (!take_mark(rd, ':'))
            return vs_fail(rd->err, VS_E_VALUE, "alloc-conf: %s: ':' and a value expected: %s",
                           rd->key, rd->legal);
        return keys[i].read(rd, conf);
    }
    return fail_unknown(rd, token);
}

enum vs_status eng_alloc_conf_parse(const char *text, struct eng_alloc_conf *conf,
                                    struct vs_error *err)
{
    struct reader rd = {.at = text, .err = err};
    struct eng_alloc_conf next = *conf;

    while (!is_next(&rd, '\0')) {
        enum vs_status st = read_pair(&rd, &next);

        if (st)
            return st;
        if (!is_next(&rd, '\0') && !take_mark(&rd, ','))
            return vs_fail(err, VS_E_VALUE,
                           "alloc-conf: ',' expected after the value of %s, not '%s'", rd.key,
                           rd.at);
    }
    *conf = next;
    return VS_OK;
}
