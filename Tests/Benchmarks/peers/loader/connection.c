// A connection to a server: reading and writing bytes, and the check of deliveries.
#define _GNU_SOURCE
#include "peers.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

const struct protocol *protocol;
long payload_bytes, names;

static int dial_path(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    if (connect(fd, (void *)&address, sizeof address)) fail("%s: %s", path, strerror(errno));
    return fd;
}

static int dial_port(const char *host, const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(port))};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) fail("%s is not an address", host);
    if (connect(fd, (void *)&address, sizeof address)) fail("%s:%s: %s", host, port, strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

struct connection connect_to(const char *address, long number) {
    struct connection c = {.number = number, .kept = malloc(KEPT_BYTES)};
    const char *colon = strrchr(address, ':');
    if (!colon) {
        c.fd = dial_path(address);
    } else {
        char host[64] = {0};
        if (colon - address >= (long)sizeof host) fail("%s is not an address", address);
        memcpy(host, address, colon - address);
        c.fd = dial_port(host, colon + 1);
    }
    return c;
}

void send_all(int fd, const void *bytes, size_t count) {
    for (const char *at = bytes; count;) {
        ssize_t n = write(fd, at, count);
        if (n < 0 && errno == EAGAIN) {
            struct pollfd writable = {.fd = fd, .events = POLLOUT};
            if (poll(&writable, 1, STALL_SECONDS * 1000) == 0) fail("a write did not end within %d s", STALL_SECONDS);
            continue;
        }
        if (n < 0) fail("write: %s", strerror(errno));
        at += n;
        count -= n;
    }
}

void read_exactly(int fd, void *bytes, size_t count) {
    ssize_t n = count ? recv(fd, bytes, count, MSG_WAITALL) : 0;
    if (n != (ssize_t)count) fail("the server closed the connection");
}

void read_line(int fd, char *line, size_t capacity) {
    size_t used = 0;
    for (;;) {
        ssize_t n = recv(fd, line + used, capacity - used, MSG_PEEK);
        if (n <= 0) fail("the server closed the connection, or a line is over %zu bytes", capacity);
        char *end = memchr(line + used, '\n', n);
        size_t take = end ? (size_t)(end + 1 - line) - used : (size_t)n;
        read_exactly(fd, line + used, take);
        used += take;
        if (end) {
            *end = 0;
            return;
        }
    }
}

void delivered(struct connection *c, const char *payload, size_t size) {
    uint64_t number;
    if ((long)size != payload_bytes) fail("a message of %zu bytes instead of %ld", size, payload_bytes);
    memcpy(&number, payload, sizeof number);
    if ((long)number != c->count) fail("message %lu instead of %ld", number, c->count);
    c->count++;
}

void receive(struct connection *c) {
    static char input[KEPT_BYTES + READ_BYTES];
    memcpy(input, c->kept, c->kept_bytes);
    ssize_t n = read(c->fd, input + c->kept_bytes, READ_BYTES);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) fail("the server closed a connection");
    const char *at = input, *end = input + c->kept_bytes + n;
    for (size_t size; at < end && (size = protocol->take(c, at, end - at)); at += size) {}
    c->kept_bytes = end - at;
    if (c->kept_bytes > KEPT_BYTES) fail("a frame over %d bytes", KEPT_BYTES);
    memcpy(c->kept, at, c->kept_bytes);
    if (protocol->acknowledge) protocol->acknowledge(c);
}
