/*
 * tests/standin/runtime/ranks/test_store.c - the key-value store of a single rank, over its socket, with the requests
 * of PyTorch's TCPStore.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/standin/runtime/simulated.h"
#include "tests/standin/shared.h"

#define WAIT_SECONDS 20

enum { SET = 1, COMPARE_SET, GET, ADD, CHECK, WAIT, NUMKEYS, DELETE, APPEND, MULTI_GET };

static int server;

static int client_new(void)
{
    const struct timeval limit = {.tv_sec = WAIT_SECONDS};
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr = {htonl(INADDR_LOOPBACK)},
        .sin_port = htons((uint16_t)simulated_open()->store_port()),
    };
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void put(const void *bytes, size_t len)
{
    assert_int_equal(send(server, bytes, len, MSG_NOSIGNAL), (ssize_t)len);
}

static void put_number(uint64_t number)
{
    put(&number, sizeof(number));
}

static void put_text(const char *text)
{
    put_number(strlen(text));
    put(text, strlen(text));
}

static void request(int which, const char *key)
{
    const char byte = (char)which;

    put(&byte, 1);
    if (key)
        put_text(key);
}

static void take(void *out, size_t len)
{
    const ssize_t got = recv(server, out, len, MSG_WAITALL);

    if (got != (ssize_t)len)
        fail_msg("%zd of %zu bytes came within %d s", got, len, WAIT_SECONDS);
}

static uint64_t take_number(void)
{
    uint64_t number = 0;

    take(&number, sizeof(number));
    return number;
}

static const char *take_text(void)
{
    static char text[256];
    const uint64_t len = take_number();

    assert_true(len < sizeof(text));
    take(text, len);
    text[len] = '\0';
    return text;
}

static int take_byte(void)
{
    char byte = 0;

    take(&byte, 1);
    return byte;
}

static int setup(void **state)
{
    const char hello[] =
        "\0\xce\xf7\x85\x3c\x0dPING"; /* VALIDATE and its number, PING and a nonce */
    char nonce[4];
    const int status = simulated_setup(state);

    server = client_new();
    put(hello, sizeof(hello) - 1);
    take(nonce, sizeof(nonce));
    assert_memory_equal(nonce, "PING", 4);
    return status;
}

static void stored_values_can_be_read_back(void **state)
{
    (void)state;
    request(SET, "a");
    put_text("one");
    request(APPEND, "a");
    put_text("two");
    request(GET, "a");
    assert_string_equal(take_text(), "onetwo");
    request(COMPARE_SET, "a");
    put_text("other");
    put_text("new");
    assert_string_equal(take_text(), "onetwo");
    request(COMPARE_SET, "a");
    put_text("onetwo");
    put_text("new");
    assert_string_equal(take_text(), "new");
    request(DELETE, "a");
    assert_int_equal(take_number(), 1);
    request(DELETE, "a");
    assert_int_equal(take_number(), 0);
}

static void add_accumulates_numbers(void **state)
{
    (void)state;
    request(ADD, "count");
    put_number(40);
    assert_int_equal(take_number(), 40);
    request(ADD, "count");
    put_number(2);
    assert_int_equal(take_number(), 42);
    request(GET, "count");
    assert_string_equal(take_text(), "42");
}

static void waiting_for_a_key_returns_at_once_although_it_is_not_set(void **state)
{
    (void)state;
    request(WAIT, NULL);
    put_number(2);
    put_text("barrier/last");
    put_text("barrier/other");
    assert_int_equal(take_byte(), 0);
    request(CHECK, NULL);
    put_number(1);
    put_text("dump");
    assert_int_equal(take_byte(), 1);
}

static void keys_of_other_ranks_return_the_values_of_this_rank(void **state)
{
    (void)state;
    request(SET, "group/7/size");
    put_text("seven");
    request(GET, "group/12/size");
    assert_string_equal(take_text(), "seven");
    request(SET, "rank1");
    put_text("own");
    request(MULTI_GET, NULL);
    put_number(3);
    put_text("rank0");
    put_text("rank1");
    put_text("rank10");
    for (int i = 0; i < 3; i++)
        assert_string_equal(take_text(), "own");
}

static void an_unknown_key_is_empty_and_reported(void **state)
{
    (void)state;
    request(GET, "unheard");
    assert_string_equal(take_text(), "");
    assert_non_null(strstr(simulated_log(), "key unheard\n"));
    request(GET, "groups/7/size"); /* more than a number differs from what is set */
    assert_string_equal(take_text(), "");
}

static void the_id_of_a_communicator_has_the_length_of_nccl(void **state)
{
    (void)state;
    request(GET, "/default_pg/0//cuda//0");
    assert_int_equal(strlen(take_text()), 128);
    assert_null(strstr(simulated_log(), "default_pg"));
}

static void requests_of_several_clients_may_arrive_in_parts(void **state)
{
    const int first = server;
    const char half[] = {SET, 1, 0, 0, 0};
    const char rest[] = {0, 0, 0, 0, 'p', 2, 0, 0, 0, 0, 0, 0, 0, 'o', 'k'};

    (void)state;
    put(half, sizeof(half));
    server = client_new();
    request(ADD, "other");
    put_number(1);
    assert_int_equal(take_number(), 1);
    close(server);
    server = first;
    put(rest, sizeof(rest));
    request(GET, "p");
    assert_string_equal(take_text(), "ok");
}

static void a_client_with_another_protocol_is_disconnected(void **state)
{
    const int first = server;
    char byte;

    (void)state;
    server = client_new();
    put("GET / HTTP/1.1\r\n\r\n", 18); /* G: no request */
    assert_true(recv(server, &byte, 1, 0) <= 0);
    close(server);
    server = client_new();
    request(GET, NULL);
    put_number(UINT64_MAX);
    assert_true(recv(server, &byte, 1, 0) <= 0);
    close(server);
    server = first;
    request(NUMKEYS, NULL);
    assert_true(take_number() > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_values_can_be_read_back),
        cmocka_unit_test(add_accumulates_numbers),
        cmocka_unit_test(waiting_for_a_key_returns_at_once_although_it_is_not_set),
        cmocka_unit_test(keys_of_other_ranks_return_the_values_of_this_rank),
        cmocka_unit_test(an_unknown_key_is_empty_and_reported),
        cmocka_unit_test(the_id_of_a_communicator_has_the_length_of_nccl),
        cmocka_unit_test(requests_of_several_clients_may_arrive_in_parts),
        cmocka_unit_test(a_client_with_another_protocol_is_disconnected),
    };

    return cmocka_run_group_tests(tests, setup, shared_cleanup);
}
