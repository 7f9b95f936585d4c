// A connection to the daemon, and the checks of received frames.
#include "load.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char input[2 * READ_BYTES];

void send_all(int fd, const char *bytes, size_t count) {
    while (count) {
        ssize_t n = write(fd, bytes, count);
        if (n < 0) fail("write: %s", strerror(errno));
        bytes += n;
        count -= n;
    }
}

const char *expect(int fd, uint8_t kind) {
    size_t have = 0, want = HEADER_FIXED;
    while (have < want) {
        ssize_t n = read(fd, input + have, want - have);
        if (n < 0) fail("read: %s", strerror(errno));
        if (n == 0) fail("the daemon closed the connection");
        have += n;
        if (have == HEADER_FIXED) want = frame_size(input);
        if (want > READ_BYTES) fail("a frame of %zu bytes", want);
    }
    check_kind(input, kind);
    return input;
}

struct connection connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct connection c = {.fd = socket(AF_UNIX, SOCK_STREAM, 0), .kept = malloc(READ_BYTES)};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    if (connect(c.fd, (void *)&address, sizeof address)) fail("%s: %s", path, strerror(errno));
    char hello[HEADER_FIXED + HELLO_FIXED];
    send_all(c.fd, hello, put_hello(hello, c.fd));
    expect(c.fd, WELCOME);
    return c;
}

uint64_t next_request(void) {
    static uint64_t last;
    return ++last;
}

static void subscribe_as(int fd, uint32_t subscription, const char *pattern, const char *durable, long window,
                         bool is_group) {
    char frame[SUBSCRIBE_MOST];
    struct subscribing subscribing = {.request = next_request(), .subscription = subscription, .window = window,
                                      .pattern = pattern, .durable = durable, .is_group = is_group};
    send_all(fd, frame, put_subscribe(frame, subscribing));
    expect(fd, SUBSCRIBED);
}

void subscribe(int fd, const char *durable, long window) { subscribe_as(fd, 1, NAME, durable, window, false); }
void join(int fd, const char *durable, long window) { subscribe_as(fd, 1, NAME, durable, window, true); }
void subscribe_to_all(int fd, uint32_t subscription) { subscribe_as(fd, subscription, ">", "", 0, false); }

void detach(int fd) {
    char frame[HEADER_FIXED + DETACH_FIXED];
    send_all(fd, frame, put_detach(frame, next_request(), 1));
    expect(fd, DETACHED);
}

static void check_delivery(struct connection *c, const char *body) {
    uint64_t sequence = u64(body + DELIVER_SEQUENCE), number = u64(body + payload_offset(body));
    if (sequence <= c->sequence) fail("sequence %lu after %lu", sequence, c->sequence);
    if (c->received) {
        if (number >= c->messages) fail("message %lu of %lu", number, c->messages);
        if (c->received[number]++) fail("message %lu twice", number);
    } else if (number != c->count) fail("message %lu instead of %lu", number, c->count);
    c->sequence = sequence;
    c->count++;
}

static void check_receipt(struct connection *c, const char *body) {
    uint64_t request = u64(body + RECEIPT_REQUEST);
    if (request != c->count + 1) fail("receipt %lu instead of %lu", request, c->count + 1);
    c->count++;
}

static void handle(struct connection *c, const char *frame) {
    switch (kind_of(frame)) {
    case DELIVER: check_delivery(c, frame + HEADER_FIXED); break;
    case RECEIPT: check_receipt(c, frame + HEADER_FIXED); break;
    default: check(frame);
    }
}

void receive(struct connection *c) {
    memcpy(input, c->kept, c->kept_bytes);
    ssize_t n = read(c->fd, input + c->kept_bytes, READ_BYTES);
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) fail("read: %s", strerror(errno));
    if (n == 0) fail("the daemon closed a connection");
    char *at = input, *end = input + c->kept_bytes + n;
    for (; has_frame(at, end - at); at += frame_size(at)) handle(c, at);
    c->kept_bytes = end - at;
    if (c->kept_bytes > READ_BYTES) fail("a frame over %d bytes", READ_BYTES);
    memcpy(c->kept, at, c->kept_bytes);
}
