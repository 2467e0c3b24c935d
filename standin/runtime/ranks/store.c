/*
 * standin/runtime/ranks/store.c - see store.h.
 *
 * The requests are those of PyTorch's TCPStore, the same from 2.4 to 2.15: a byte for the kind, then its parameters;
 * numbers have eight bytes, a text or a value its length before it.
 */
#include "standin/runtime/ranks/store.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "standin/runtime/unknown.h"

#define REQUEST_BYTES_MAX ((size_t)64 << 20)
#define READ_BYTES 65536u
/* The unique id of a communicator of NCCL, which rank 0 makes; its bytes have no meaning. */
#define UNIQUE_ID_BYTES 128u
#define GROUP_OF_CUDA "/cuda//"

enum request {
    VALIDATE,
    SET,
    COMPARE_SET,
    GET,
    ADD,
    CHECK,
    WAIT,
    GETNUMKEYS,
    DELETE_KEY,
    APPEND,
    MULTI_GET,
    MULTI_SET,
    CANCEL_WAIT,
    PING,
    QUEUE_PUSH,
    QUEUE_POP,
    QUEUE_LEN
};

struct bytes {
    const char *at;
    size_t len;
};

struct pair {
    char *key;
    size_t key_len;
    char *value;
    size_t len;
};

/* in: what has arrived of its next requests; a client whose fd is -1 has gone. */
struct client {
    int fd;
    char *in;
    size_t len, cap;
};

/* pairs: in the order in which their keys were first set. Only the server's thread uses them. */
static struct {
    pthread_mutex_t lock;
    int port;
    int listener;
    struct pair *pairs;
    size_t count, cap;
    struct client *clients;
    size_t client_count, client_cap;
} store = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- keys ---- */

static struct pair *pair_find(struct bytes key)
{
    for (size_t i = 0; i < store.count; i++)
        if (store.pairs[i].key_len == key.len && memcmp(store.pairs[i].key, key.at, key.len) == 0)
            return &store.pairs[i];
    return NULL;
}

static void pair_set(struct bytes key, struct bytes value)
{
    struct pair *pair = pair_find(key);

    if (!pair) {
        store.pairs = vs_grow(store.pairs, store.count, &store.cap, sizeof(*store.pairs));
        pair = &store.pairs[store.count++];
        *pair = (struct pair){.key = vs_strndup(key.at, key.len), .key_len = key.len};
    }
    vs_free(pair->value);
    pair->value = vs_strndup(value.at, value.len);
    pair->len = value.len;
}

static bool pair_delete(struct bytes key)
{
    struct pair *pair = pair_find(key);

    if (!pair)
        return false;
    vs_free(pair->key);
    vs_free(pair->value);
    *pair = store.pairs[--store.count];
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Are they the same but for one number? */
static bool is_twin(const struct pair *pair, struct bytes key)
{
    size_t from = 0;
    size_t a = pair->key_len;
    size_t b = key.len;

    while (from < a && from < b && pair->key[from] == key.at[from])
        from++;
    while (a > from && b > from && pair->key[a - 1] == key.at[b - 1])
        a--, b--;
    /* both differ within a number: one of the two may be the longer one, "1" and "12" */
    if (a == from && b == from)
        return false;
    for (size_t i = from; i < a; i++)
        if (!is_digit(pair->key[i]))
            return false;
    for (size_t i = from; i < b; i++)
        if (!is_digit(key.at[i]))
            return false;
    return (a > from && b > from) || (from > 0 && is_digit(key.at[from - 1])) ||
           (b < key.len && is_digit(key.at[b]));
}

/* Is it where a process group of CUDA's devices keeps the ids of its communicators? */
static bool is_of_group(struct bytes key)
{
    return memmem(key.at, key.len, GROUP_OF_CUDA, strlen(GROUP_OF_CUDA)) != NULL;
}

/* What the others would have put there. */
static struct bytes value_of_others(struct bytes key)
{
    static char id[UNIQUE_ID_BYTES];
    char text[512];

    for (size_t i = store.count; i-- > 0;)
        if (is_twin(&store.pairs[i], key))
            return (struct bytes){store.pairs[i].value, store.pairs[i].len};
    memset(id, 'V', sizeof(id));
    if (is_of_group(key))
        return (struct bytes){id, sizeof(id)};
    snprintf(text, sizeof(text), "%.*s", (int)(key.len < 400 ? key.len : 400), key.at);
    sti_log("key", text);
    return (struct bytes){"", 0};
}

static struct bytes value_of(struct bytes key)
{
    const struct pair *pair = pair_find(key);

    return pair ? (struct bytes){pair->value, pair->len} : value_of_others(key);
}

/* ---- requests ---- */

/* Where the next parameter of a request is; is_short: it has not arrived yet. */
struct cursor {
    const char *at;
    size_t left;
    bool is_short;
    bool is_wrong;
};

static struct bytes take(struct cursor *c, size_t len)
{
    const struct bytes out = {c->at, len};

    if (len > c->left) {
        c->is_short = true;
        return (struct bytes){"", 0};
    }
    c->at += len;
    c->left -= len;
    return out;
}

static uint64_t take_number(struct cursor *c)
{
    const struct bytes bytes = take(c, sizeof(uint64_t));
    uint64_t number = 0;

    memcpy(&number, bytes.at, bytes.len);
    return number;
}

static struct bytes take_bytes(struct cursor *c)
{
    const uint64_t len = take_number(c);

    if (len > REQUEST_BYTES_MAX)
        c->is_wrong = true;
    return c->is_short || c->is_wrong ? (struct bytes){"", 0} : take(c, (size_t)len);
}

static void put_number(struct vs_text *out, uint64_t number)
{
    vs_text_add_n(out, (const char *)&number, sizeof(number));
}

static void put_bytes(struct vs_text *out, struct bytes value)
{
    put_number(out, value.len);
    vs_text_add_n(out, value.at, value.len);
}

static void add(struct bytes key, int64_t delta, struct vs_text *out)
{
    const struct pair *pair = pair_find(key);
    const int64_t sum = (pair ? strtoll(pair->value, NULL, 10) : 0) + delta;
    char text[24];
    const int len = snprintf(text, sizeof(text), "%" PRId64, sum);

    pair_set(key, (struct bytes){text, (size_t)len});
    put_number(out, (uint64_t)sum);
}

static void compare_set(struct bytes key, struct bytes expected, struct bytes desired,
                        struct vs_text *out)
{
    const struct pair *pair = pair_find(key);

    if (pair ? pair->len == expected.len && memcmp(pair->value, expected.at, expected.len) == 0
             : expected.len == 0)
        pair_set(key, desired);
    pair = pair_find(key);
    put_bytes(out, pair ? (struct bytes){pair->value, pair->len} : expected);
}

static void append(struct bytes key, struct bytes value)
{
    const struct pair *pair = pair_find(key);
    struct vs_text all = {NULL, 0, 0};

    if (pair)
        vs_text_add_n(&all, pair->value, pair->len);
    vs_text_add_n(&all, value.at, value.len);
    pair_set(key, (struct bytes){vs_text_get(&all), all.len});
    vs_text_release(&all);
}

/* Requests with a list of keys. Nothing is done before all of them have arrived. */
static void list_answer(enum request request, struct cursor *c, struct vs_text *out)
{
    const uint64_t count = take_number(c);
    const struct cursor start = *c;
    bool is_there = true;

    for (uint64_t i = 0; i < count && !c->is_short && !c->is_wrong; i++) {
        const struct bytes key = take_bytes(c);

        is_there = is_there && pair_find(key);
        if (request == MULTI_SET)
            (void)take_bytes(c);
    }
    if (c->is_short || c->is_wrong)
        return;
    if (request == WAIT ||
        request == CHECK) { /* the others have come; but nobody has called for help */
        vs_text_add_n(out, request == CHECK && !is_there ? "\1" : "\0", 1);
        return;
    }
    *c = start;
    for (uint64_t i = 0; i < count; i++) {
        const struct bytes key = take_bytes(c);

        if (request == MULTI_SET)
            pair_set(key, take_bytes(c));
        else
            put_bytes(out, value_of(key));
    }
}

/* Requests with one key and up to two values. */
static void key_answer(enum request request, struct cursor *c, struct vs_text *out)
{
    const struct bytes key = take_bytes(c);
    const uint64_t number = request == ADD ? take_number(c) : 0;
    const struct bytes value =
        request == SET || request == APPEND || request == COMPARE_SET || request == QUEUE_PUSH
            ? take_bytes(c)
            : (struct bytes){"", 0};
    const struct bytes desired = request == COMPARE_SET ? take_bytes(c) : value;

    if (c->is_short || c->is_wrong)
        return;
    if (request == SET || request == QUEUE_PUSH)
        pair_set(key, value);
    else if (request == APPEND)
        append(key, value);
    else if (request == COMPARE_SET)
        compare_set(key, value, desired, out);
    else if (request == ADD)
        add(key, (int64_t)number, out);
    else if (request == GET)
        put_bytes(out, value_of(key));
    else if (request == DELETE_KEY)
        put_number(out, pair_delete(key));
    else if (request == QUEUE_LEN)
        put_number(out, pair_find(key) != NULL);
    else {
        put_number(out, 1);
        put_bytes(out, value_of(key));
    }
}

static void answer(struct cursor *c, struct vs_text *out)
{
    const unsigned char request = (unsigned char)*take(c, 1).at;

    switch (request) {
    case VALIDATE:
        (void)take(c, sizeof(uint32_t));
        break;
    case PING: {
        const struct bytes nonce = take(c, sizeof(uint32_t));

        vs_text_add_n(out, nonce.at, nonce.len);
        break;
    }
    case GETNUMKEYS:
        put_number(out, store.count);
        break;
    case CANCEL_WAIT:
        vs_text_add_n(out, "\1", 1);
        break;
    case CHECK:
    case WAIT:
    case MULTI_GET:
    case MULTI_SET:
        list_answer((enum request)request, c, out);
        break;
    default:
        c->is_wrong = request > QUEUE_LEN;
        if (!c->is_wrong)
            key_answer((enum request)request, c, out);
    }
}

/* ---- clients ---- */

static bool send_all(int fd, const char *text, size_t len)
{
    while (len) {
        const ssize_t sent = send(fd, text, len, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        text += sent;
        len -= (size_t)sent;
    }
    return true;
}

/* Answer what has arrived as a whole. False: this client does not speak as a TCPStore does, or has gone. */
static bool client_answer(struct client *client)
{
    struct vs_text out = {NULL, 0, 0};
    struct cursor c = {client->in, client->len, false, false};
    bool is_good;

    while (c.left) {
        const struct cursor before = c;
        const size_t start = out.len;

        answer(&c, &out);
        if (c.is_short) {
            c = before;
            out.len = start;
            break;
        }
        if (c.is_wrong)
            break;
    }
    memmove(client->in, c.at, c.left);
    client->len = c.left;
    is_good = !c.is_wrong && (!out.len || send_all(client->fd, vs_text_get(&out), out.len));
    vs_text_release(&out);
    return is_good;
}

static bool client_read(struct client *client)
{
    ssize_t got;

    if (client->len > REQUEST_BYTES_MAX + READ_BYTES)
        return false;
    if (client->cap - client->len < READ_BYTES) {
        client->cap = client->len * 2 + READ_BYTES;
        client->in = vs_realloc(client->in, client->cap, 1);
    }
    do
        got = recv(client->fd, client->in + client->len, READ_BYTES, 0);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        return false;
    client->len += (size_t)got;
    return client_answer(client);
}

static void client_close(struct client *client)
{
    close(client->fd);
    vs_free(client->in);
    *client = (struct client){.fd = -1};
}

static void client_accept(void)
{
    const int fd = accept4(store.listener, NULL, NULL, SOCK_CLOEXEC);
    size_t i = 0;

    if (fd < 0)
        return;
    while (i < store.client_count && store.clients[i].fd >= 0)
        i++;
    if (i == store.client_count) {
        store.clients =
            vs_grow(store.clients, store.client_count, &store.client_cap, sizeof(*store.clients));
        store.client_count++;
    }
    store.clients[i] = (struct client){.fd = fd};
}

static void *serve(void *unused)
{
    struct pollfd *fds = NULL;
    size_t cap = 0;

    (void)unused;
    for (;;) {
        const size_t count = store.client_count;

        while (cap < count + 1)
            fds = vs_grow(fds, cap, &cap, sizeof(*fds));
        fds[0] = (struct pollfd){.fd = store.listener, .events = POLLIN};
        for (size_t i = 0; i < count; i++) /* poll takes no notice of a negative one */
            fds[i + 1] = (struct pollfd){.fd = store.clients[i].fd, .events = POLLIN};
        if (poll(fds, (nfds_t)(count + 1), -1) < 0 && errno != EINTR)
            break;
        for (size_t i = 0; i < count; i++)
            if (fds[i + 1].revents && !client_read(&store.clients[i]))
                client_close(&store.clients[i]);
        if (fds[0].revents)
            client_accept();
    }
    vs_free(fds);
    return NULL;
}

/* ---- the server ---- */

static bool listener_open(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(address);

    store.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (store.listener >= 0 &&
        bind(store.listener, (struct sockaddr *)&address, sizeof(address)) == 0 &&
        listen(store.listener, SOMAXCONN) == 0 &&
        getsockname(store.listener, (struct sockaddr *)&address, &len) == 0) {
        store.port = ntohs(address.sin_port);
        return true;
    }
    if (store.listener >= 0)
        close(store.listener);
    return false;
}

/* The program's signals are for its own threads. */
static bool thread_start(void)
{
    pthread_t thread;
    sigset_t all;
    sigset_t old;
    bool is_started;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    is_started = pthread_create(&thread, NULL, serve, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (is_started)
        pthread_detach(thread);
    return is_started;
}

int sti_store_port(void)
{
    int port;

    pthread_mutex_lock(&store.lock);
    if (!store.port && listener_open() && !thread_start()) {
        close(store.listener);
        store.port = 0;
    }
    port = store.port;
    pthread_mutex_unlock(&store.lock);
    return port;
}
