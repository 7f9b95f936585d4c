// A connection to the daemon: the frames to send, and the checks of received frames.
#include "load.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { DELIVER_FIXED = 36 };
const char NAME[] = "bench.topic";
_Static_assert(sizeof NAME - 1 == NAME_BYTES, "the length of NAME");

static char input[2 * READ_BYTES];

static uint64_t u64(const char *p) { uint64_t v; memcpy(&v, p, 8); return v; }
static uint32_t u32(const char *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static uint16_t u16(const char *p) { uint16_t v; memcpy(&v, p, 2); return v; }

size_t frame(char *at, uint32_t body, uint8_t kind, uint8_t flags) {
    memset(at, 0, HEADER + body);
    memcpy(at, &body, 4);
    at[4] = kind;
    at[5] = flags;
    return HEADER + body;
}

void send_all(int fd, const char *bytes, size_t count) {
    while (count) {
        ssize_t n = write(fd, bytes, count);
        if (n < 0) fail("write: %s", strerror(errno));
        bytes += n;
        count -= n;
    }
}

const char *expect(int fd, uint8_t kind) {
    size_t have = 0, want = HEADER;
    while (have < want) {
        ssize_t n = read(fd, input + have, want - have);
        if (n < 0) fail("read: %s", strerror(errno));
        if (n == 0) fail("the daemon closed the connection");
        have += n;
        if (have == HEADER) want = HEADER + u32(input);
        if (want > READ_BYTES) fail("a frame of %zu bytes", want);
    }
    if ((uint8_t)input[4] == ERROR) fail("%.*s", (int)(want - HEADER - 24), input + HEADER + 24);
    if ((uint8_t)input[4] != kind) fail("frame 0x%02x instead of 0x%02x", (uint8_t)input[4], kind);
    return input;
}

struct connection connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct connection c = {.fd = socket(AF_UNIX, SOCK_STREAM, 0), .kept = malloc(READ_BYTES)};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    if (connect(c.fd, (void *)&address, sizeof address)) fail("%s: %s", path, strerror(errno));
    char hello[HEADER + 28];
    size_t size = frame(hello, 28, HELLO, 0);
    memcpy(hello + HEADER, "NTFY\1\0\1\0", 8);
    int instance[4] = {getpid(), c.fd};
    memcpy(hello + HEADER + 12, instance, 16);
    send_all(c.fd, hello, size);
    expect(c.fd, WELCOME);
    return c;
}

void number_request(char *at) {
    static uint64_t last;
    last++;
    memcpy(at, &last, 8);
}

static void subscribe_as(int fd, uint32_t subscription, const char *pattern, const char *durable, long window,
                         bool is_group) {
    char subscribe[HEADER + SUBSCRIBE_FIXED + 64 + 1 + NAME_BYTES];
    uint8_t durable_bytes = strlen(durable), pattern_bytes = strlen(pattern);
    size_t size = frame(subscribe, SUBSCRIBE_FIXED + durable_bytes + 1 + pattern_bytes, SUBSCRIBE, 0);
    char *body = subscribe + HEADER;
    uint32_t window_field = window;
    number_request(body);
    memcpy(body + 8, &subscription, 4);
    memcpy(body + 12, &window_field, 4);
    memset(body + 16, 0xff, 4);           // unlimited credit
    body[21] = durable_bytes;
    body[23] = 1;                         // one pattern
    body[32] = is_group;
    memcpy(body + SUBSCRIBE_FIXED, durable, durable_bytes);
    body[SUBSCRIBE_FIXED + durable_bytes] = pattern_bytes;
    memcpy(body + SUBSCRIBE_FIXED + durable_bytes + 1, pattern, pattern_bytes);
    send_all(fd, subscribe, size);
    expect(fd, SUBSCRIBED);
}

void subscribe(int fd, const char *durable, long window) { subscribe_as(fd, 1, NAME, durable, window, false); }
void join(int fd, const char *durable, long window) { subscribe_as(fd, 1, NAME, durable, window, true); }
void subscribe_to_all(int fd, uint32_t subscription) { subscribe_as(fd, subscription, ">", "", 0, false); }

void detach(int fd) {
    char detach[HEADER + 12];
    size_t size = frame(detach, 12, DETACH, 0);
    number_request(detach + HEADER);
    detach[HEADER + 8] = 1;
    send_all(fd, detach, size);
    expect(fd, DETACHED);
}

static void check_delivery(struct connection *c, const char *body) {
    uint64_t sequence = u64(body);
    size_t payload = DELIVER_FIXED + (uint8_t)body[30] + (uint8_t)body[31] + (uint8_t)body[32] + u16(body + 28);
    if (sequence <= c->sequence) fail("sequence %lu after %lu", sequence, c->sequence);
    uint64_t number = u64(body + payload);
    if (c->received) {
        if (number >= c->messages) fail("message %lu of %lu", number, c->messages);
        if (c->received[number]++) fail("message %lu twice", number);
    } else if (number != c->count) fail("message %lu instead of %lu", number, c->count);
    c->sequence = sequence;
    c->count++;
}

static void handle(struct connection *c, const char *frame) {
    const char *body = frame + HEADER;
    switch ((uint8_t)frame[4]) {
    case DELIVER: check_delivery(c, body); break;
    case RECEIPT:
        if (u64(body) != c->count + 1) fail("receipt %lu instead of %lu", u64(body), c->count + 1);
        c->count++;
        break;
    case GAP: fail("a gap of %lu messages", u64(body + 8));
    case ERROR: fail("refused: %.*s", (int)u32(frame) - 24, body + 24);
    case CLOSING: fail("the daemon is closing");
    }
}

void receive(struct connection *c) {
    memcpy(input, c->kept, c->kept_bytes);
    ssize_t n = read(c->fd, input + c->kept_bytes, READ_BYTES);
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) fail("read: %s", strerror(errno));
    if (n == 0) fail("the daemon closed a connection");
    char *at = input, *end = input + c->kept_bytes + n;
    while (end - at >= HEADER && end - at >= HEADER + (ssize_t)u32(at)) {
        handle(c, at);
        at += HEADER + u32(at);
    }
    c->kept_bytes = end - at;
    if (c->kept_bytes > READ_BYTES) fail("a frame over %d bytes", READ_BYTES);
    memcpy(c->kept, at, c->kept_bytes);
}
