/*
 * bench/snapshot_writer.c - see snapshot_writer.h.
 */
#include "bench/snapshot_writer.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "engine/alloc/alloc.h"
#include "engine/alloc/driver.h"

/* ---- a run ---- */

#define LAYERS 48
#define PARAMS 12 /* a layer */
#define SAVED 8
#define TEMPS 6
#define GRAD_TEMPS 10
#define VARIANTS 4 /* places that the loop is called from */
#define SITES 80

/* One recorded event. */
struct entry {
    uint64_t address;
    uint64_t bytes;
    uint32_t stack;
    uint8_t kind;
};

struct run {
    struct eng_alloc *alloc;
    struct entry *entries;
    size_t count, cap;
    uint32_t stack; /* of what happens now */
    uint64_t random;
    struct eng_block *params[LAYERS][PARAMS][3]; /* and the optimizer's two */
    struct eng_block *grads[LAYERS][PARAMS];
    struct eng_block *saved[LAYERS][SAVED];
};

static void on_event(void *user, const struct eng_alloc_event *event)
{
    struct run *run = user;

    run->entries = vs_grow(run->entries, run->count, &run->cap, sizeof(*run->entries));
    run->entries[run->count++] = (struct entry){.address = event->address,
                                                .bytes = event->bytes,
                                                .stack = run->stack,
                                                .kind = (uint8_t)event->kind};
}

static uint64_t random_below(struct run *run, uint64_t n)
{
    run->random = run->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (run->random >> 33) % n;
}

/* The stack of call `site`, the same in each layer; frees have stacks of their own. */
static uint32_t stack_of(uint64_t variant, unsigned site, bool is_free)
{
    return (uint32_t)((variant * SITES + site) * 2 + is_free);
}

static struct eng_block *get(struct run *run, uint64_t variant, unsigned site, uint64_t bytes)
{
    struct eng_block *block = NULL;

    run->stack = stack_of(variant, site, false);
    VS_ASSERT(eng_alloc_get(run->alloc, bytes, 0, &block, NULL) == VS_OK);
    return block;
}

static void put(struct run *run, uint64_t variant, unsigned site, struct eng_block *block)
{
    run->stack = stack_of(variant, site, true);
    eng_alloc_put(run->alloc, block);
}

static uint64_t param_bytes(unsigned param)
{
    static const uint64_t WIDTHS[PARAMS] = {1,    1,    1024, 1024, 1024, 1024,
                                            4096, 4096, 4096, 1,    1,    3};

    return WIDTHS[param] * 1024 * 4;
}

static void forward(struct run *run, uint64_t variant, uint64_t tokens)
{
    for (unsigned layer = 0; layer < LAYERS; layer++) {
        struct eng_block *temps[TEMPS];

        for (unsigned i = 0; i < SAVED; i++)
            run->saved[layer][i] = get(run, variant, i, tokens * 1024 * (1 + i % 4) + 4 * i);
        for (unsigned i = 0; i < TEMPS; i++)
            temps[i] = get(run, variant, SAVED + i, tokens * (i ? 2048 * i : 4));
        for (unsigned i = 0; i < TEMPS; i++)
            put(run, variant, SAVED + i, temps[i]);
    }
}

static void backward(struct run *run, uint64_t variant, uint64_t tokens)
{
    for (unsigned layer = LAYERS; layer-- > 0;) {
        for (unsigned i = 0; i < GRAD_TEMPS; i++) {
            struct eng_block *temp = get(run, variant, 16 + i, tokens * 1024 * (1 + i % 5));

            if (i < SAVED)
                put(run, variant, i, run->saved[layer][i]);
            put(run, variant, 16 + i, temp);
        }
        for (unsigned i = 0; i < PARAMS; i++)
            run->grads[layer][i] = get(run, variant, 28 + i, param_bytes(i));
    }
}

static void optimizer(struct run *run, uint64_t variant, bool is_first)
{
    for (unsigned layer = 0; layer < LAYERS; layer++)
        for (unsigned i = 0; i < PARAMS; i++) {
            for (unsigned j = 1; j < 3 && is_first; j++)
                run->params[layer][i][j] = get(run, variant, 41, param_bytes(i));
            for (unsigned j = 0; j < 3; j++) {
                struct eng_block *temp = get(run, variant, 42 + i * 3 + j, param_bytes(i));

                put(run, variant, 42 + i * 3 + j, temp);
            }
            put(run, variant, 28 + i, run->grads[layer][i]); /* zero_grad */
        }
}

static void run_all(struct run *run, uint64_t events)
{
    for (unsigned layer = 0; layer < LAYERS; layer++)
        for (unsigned i = 0; i < PARAMS; i++)
            run->params[layer][i][0] = get(run, 0, 79, param_bytes(i));
    for (uint64_t step = 0; run->count < events; step++) {
        uint64_t tokens = 256 + 64 * random_below(run, 29);

        forward(run, step % VARIANTS, tokens);
        backward(run, step % VARIANTS, tokens);
        optimizer(run, step % VARIANTS, step == 0);
    }
}

/* ---- CPython's pickler ---- */

#define FRAME_BYTES 65536
#define FRAMES_OF_PYTHON 24
#define FRAMES_OF_CPP 28

enum word {
    W_SEGMENTS,
    W_DEVICE,
    W_ADDRESS,
    W_TOTAL_SIZE,
    W_STREAM,
    W_SEGMENT_TYPE,
    W_POOL_ID,
    W_IS_EXPANDABLE,
    W_BLOCKS,
    W_SIZE,
    W_REQUESTED_SIZE,
    W_STATE,
    W_TRACES,
    W_ACTION,
    W_ADDR,
    W_TIME,
    W_CONTEXT,
    W_METADATA,
    W_FRAMES,
    W_NAME,
    W_FILENAME,
    W_LINE,
    W_EMPTY,
    W_LARGE,
    W_SMALL,
    W_ACTIVE,
    W_INACTIVE,
    W_KINDS, /* one for each kind of the allocator */
    W_COUNT = W_KINDS + ENG_ALLOC_EV_COUNT
};

/*
 * memo: of the next object. words, frames: memo number and one; 0: not written yet. list: likewise of the last stack.
 * Each capture is a list of its own, as PyTorch has it; frames are shared.
 */
struct pickler {
    FILE *file;
    char buffer[2 * FRAME_BYTES];
    size_t len;
    uint32_t memo;
    uint32_t words[W_COUNT];
    uint32_t *frames;
    uint32_t list;
};

/* A site's own frames, in C++ and in Python; then those of the loop. */
#define FRAMES_OWN ((size_t)SITES * 8)
#define FRAMES_SHARED ((size_t)VARIANTS * (FRAMES_OF_PYTHON + FRAMES_OF_CPP))

static void frame_end(struct pickler *p)
{
    unsigned char head[9] = {0x95};

    for (int i = 0; i < 8; i++)
        head[1 + i] = (unsigned char)(p->len >> 8 * i & 0xff);
    fwrite(head, 1, sizeof(head), p->file);
    fwrite(p->buffer, 1, p->len, p->file);
    p->len = 0;
}

/* One opcode with its operand, `count` bytes of it little-endian, and the text behind. */
static void op(struct pickler *p, unsigned char code, uint64_t operand, int count, const char *text)
{
    size_t text_len = text ? strlen(text) : 0;

    p->buffer[p->len++] = (char)code;
    for (int i = 0; i < count; i++)
        p->buffer[p->len++] = (char)(operand >> 8 * i & 0xff);
    memcpy(p->buffer + p->len, text ? text : "", text_len);
    p->len += text_len;
    if (p->len >= FRAME_BYTES)
        frame_end(p);
}

static uint32_t memoize(struct pickler *p)
{
    op(p, 0x94, 0, 0, NULL);
    return ++p->memo; /* the number and one */
}

static void put_get(struct pickler *p, uint32_t number_and_one)
{
    uint32_t number = number_and_one - 1;

    op(p, number < 256 ? 'h' : 'j', number, number < 256 ? 1 : 4, NULL);
}

static uint32_t put_text(struct pickler *p, const char *text)
{
    size_t len = strlen(text);

    op(p, len < 256 ? 0x8c : 'X', len, len < 256 ? 1 : 4, text);
    return memoize(p);
}

static void put_int(struct pickler *p, uint64_t n)
{
    int count = 1;

    if (n < 256) {
        op(p, 'K', n, 1, NULL);
    } else if (n < 65536) {
        op(p, 'M', n, 2, NULL);
    } else if (n < UINT64_C(1) << 31) {
        op(p, 'J', n, 4, NULL);
    } else {
        while (n >> (8 * count - 1))
            count++;
        op(p, 0x8a, (uint64_t)count | n << 8, count + 1, NULL);
    }
}

static void put_word(struct pickler *p, unsigned word)
{
    static const char *const TEXTS[W_KINDS] = {"segments",
                                               "device",
                                               "address",
                                               "total_size",
                                               "stream",
                                               "segment_type",
                                               "segment_pool_id",
                                               "is_expandable",
                                               "blocks",
                                               "size",
                                               "requested_size",
                                               "state",
                                               "device_traces",
                                               "action",
                                               "addr",
                                               "time_us",
                                               "compile_context",
                                               "user_metadata",
                                               "frames",
                                               "name",
                                               "filename",
                                               "line",
                                               "",
                                               "large",
                                               "small",
                                               "active_allocated",
                                               "inactive"};

    if (p->words[word])
        put_get(p, p->words[word]);
    else
        p->words[word] =
            put_text(p, word < W_KINDS ? TEXTS[word] : eng_alloc_event_name(word - W_KINDS));
}

static void put_word_int(struct pickler *p, unsigned word, uint64_t n)
{
    put_word(p, word);
    put_int(p, n);
}

static void begin(struct pickler *p, char box)
{
    op(p, (unsigned char)box, 0, 0, NULL);
    memoize(p);
}

static void end(struct pickler *p, char code)
{
    op(p, (unsigned char)code, 0, 0, NULL);
}

/* Items come in batches of a thousand. */
static void batch(struct pickler *p, size_t i)
{
    if (i % 1000 == 0 && i)
        end(p, 'e');
    if (i % 1000 == 0)
        end(p, '(');
}

static void put_frame(struct pickler *p, size_t number, bool is_cpp)
{
    char text[400];

    if (p->frames[number]) {
        put_get(p, p->frames[number]);
        return;
    }
    begin(p, '}');
    p->frames[number] = p->memo;
    end(p, '(');
    put_word(p, W_NAME);
    if (is_cpp)
        snprintf(text, sizeof(text),
                 "at::_ops::op_%zu::call(at::Tensor const&, std::optional<at::Tensor> const&, "
                 "c10::ArrayRef<c10::SymInt>, double, bool)%.*s",
                 number, (int)(number % 120),
                 " [clone .isra.0] from void c10::impl::wrap_kernel_functor_"
                 "unboxed_<at::TensorBase (at::TensorBase), "
                 "c10::guts::typelist::typelist<> >");
    else
        snprintf(text, sizeof(text), "forward_%zu", number);
    put_text(p, text);
    put_word(p, W_FILENAME);
    snprintf(text, sizeof(text), "/usr/lib/python3.12/site-packages/torch/nn/modules/module_%zu.py",
             number % 300);
    put_text(p, is_cpp ? "??" : number % 7 ? text : "/home/someone/project/train/model.py");
    put_word_int(p, W_LINE, is_cpp ? 0 : 20 + number % 1900);
    end(p, 'u');
}

/*
 * Innermost first: C++, the site's own Python, the loop. A free that is completed at once has the list of its request.
 */
static void put_stack(struct pickler *p, uint32_t stack, bool is_again)
{
    size_t own = stack / 2 % SITES * 8;
    size_t shared = FRAMES_OWN + stack / 2 / SITES * (FRAMES_OF_PYTHON + FRAMES_OF_CPP);

    put_word(p, W_FRAMES);
    if (is_again) {
        put_get(p, p->list);
        return;
    }
    begin(p, ']');
    p->list = p->memo;
    end(p, '(');
    for (size_t i = 0; i < FRAMES_OF_CPP; i++)
        put_frame(p, i < 4 ? own + i : shared + i, true);
    for (size_t i = 0; i < FRAMES_OF_PYTHON; i++)
        put_frame(p, i < 4 ? own + 4 + i : shared + FRAMES_OF_CPP + i, false);
    if (stack % 2)
        put_frame(p, own, true);
    end(p, 'e');
}

static void put_block(struct pickler *p, const struct eng_block *block)
{
    bool is_live = eng_block_state(block) == ENG_BLOCK_ALLOCATED;

    begin(p, '}');
    end(p, '(');
    put_word_int(p, W_ADDRESS, eng_block_address(block));
    put_word_int(p, W_SIZE, eng_block_bytes(block));
    put_word_int(p, W_REQUESTED_SIZE, is_live ? eng_block_requested_bytes(block) : 0);
    put_word(p, W_STATE);
    put_word(p, is_live ? W_ACTIVE : W_INACTIVE);
    end(p, 'u');
}

static void put_segment(struct pickler *p, const struct eng_segment *segment)
{
    size_t i = 0;

    begin(p, '}');
    end(p, '(');
    put_word_int(p, W_DEVICE, 0);
    put_word_int(p, W_ADDRESS, segment->address);
    put_word_int(p, W_TOTAL_SIZE, segment->bytes);
    put_word_int(p, W_STREAM, 0);
    put_word(p, W_SEGMENT_TYPE);
    put_word(p, segment->is_small ? W_SMALL : W_LARGE);
    put_word(p, W_POOL_ID);
    put_int(p, 0);
    put_int(p, 0);
    op(p, 0x86, 0, 0, NULL);
    memoize(p);
    put_word(p, W_IS_EXPANDABLE);
    op(p, 0x89, 0, 0, NULL);
    put_word(p, W_BLOCKS);
    begin(p, ']');
    for (const struct eng_block *b = segment->first; b; b = eng_block_next(b), i++) {
        batch(p, i);
        put_block(p, b);
    }
    end(p, 'e');
    end(p, 'u');
}

static void put_entry(struct pickler *p, const struct entry *entry, uint64_t at)
{
    begin(p, '}');
    end(p, '(');
    put_word(p, W_ACTION);
    put_word(p, W_KINDS + entry->kind);
    put_word_int(p, W_ADDR, entry->address);
    put_word_int(p, W_SIZE, entry->bytes);
    put_word_int(p, W_STREAM, 0);
    put_word_int(p, W_TIME, UINT64_C(1783874495854988) + at * 7);
    put_word(p, W_CONTEXT);
    put_text(p, "N/A");
    put_word(p, W_METADATA);
    put_word(p, W_EMPTY);
    put_stack(p, entry->stack, entry->kind == ENG_ALLOC_EV_FREE_COMPLETED);
    end(p, 'u');
}

static void put_all(struct pickler *p, const struct run *run)
{
    struct eng_segment segment = {.address = 0};

    fwrite("\x80\x04", 1, 2, p->file);
    begin(p, '}');
    end(p, '(');
    put_word(p, W_SEGMENTS);
    begin(p, ']');
    for (size_t i = 0; eng_alloc_segment_next(run->alloc, &segment); i++) {
        batch(p, i);
        put_segment(p, &segment);
    }
    end(p, 'e');
    put_word(p, W_TRACES);
    begin(p, ']');
    begin(p, ']');
    for (size_t i = 0; i < run->count; i++) {
        batch(p, i);
        put_entry(p, &run->entries[i], i);
    }
    end(p, 'e');
    end(p, 'a');
    end(p, 'u');
    end(p, '.');
    frame_end(p);
}

uint64_t snapshot_make(FILE *out, uint64_t events)
{
    struct eng_sim_options sim_options = {.total_bytes = UINT64_C(80) << 30};
    struct eng_sim_driver *sim = eng_sim_driver_new(&sim_options);
    struct run *run = vs_calloc(1, sizeof(*run));
    struct eng_alloc_options options = {.driver = eng_sim_driver_get(sim),
                                        .listener = {.user = run, .event = on_event}};
    struct pickler *p = vs_calloc(1, sizeof(*p));
    uint64_t count;

    run->alloc = eng_alloc_new(&options);
    run->random = 5;
    run_all(run, events);
    p->file = out;
    p->frames = vs_calloc(FRAMES_OWN + FRAMES_SHARED, sizeof(*p->frames));
    put_all(p, run);
    count = run->count;
    vs_free(p->frames);
    vs_free(p);
    vs_free(run->entries);
    eng_alloc_free(run->alloc);
    vs_free(run);
    eng_sim_driver_free(sim);
    return count;
}
