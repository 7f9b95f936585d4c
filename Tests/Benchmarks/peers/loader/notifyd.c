// notifyd: volatile posts without receipts to volatile subscriptions, and stored or synced posts with receipts to
// durable subscriptions. Frames are those of NotifyWire.docc/Protocol.md.
#include "peers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADER = 8, HELLO_FIXED = 28, POST_FIXED = 16, SUBSCRIBE_FIXED = 32, DELIVER_FIXED = 36, ERROR_FIXED = 24,
       ACKNOWLEDGE_ONE = 24, FLAG_RECEIPT = 1, DURABLE_WINDOW = 1000 };
enum { HELLO = 0x01, POST = 0x02, SUBSCRIBE = 0x03, ACKNOWLEDGE = 0x06, WELCOME = 0x41, RECEIPT = 0x42,
       SUBSCRIBED = 0x43, DELIVER = 0x50, GAP = 0x53, ERROR = 0x60, CLOSING = 0x61 };
enum { VOLATILE = 1, STORED = 2, SYNCED = 3 };

struct cursor {
    uint64_t delivered, acknowledged;
};

static uint16_t u16(const char *p) { uint16_t v; memcpy(&v, p, 2); return v; }
static uint32_t u32(const char *p) { uint32_t v; memcpy(&v, p, 4); return v; }
static uint64_t u64(const char *p) { uint64_t v; memcpy(&v, p, 8); return v; }

// Writes a frame's header and clears its fixed fields. Returns where the body begins.
static char *frame(char *at, uint32_t body, uint32_t fixed, uint8_t kind, uint8_t flags) {
    memset(at, 0, HEADER + fixed);
    memcpy(at, &body, 4);
    at[4] = kind;
    at[5] = flags;
    return at + HEADER;
}

// Reads one frame, which must be of this kind.
static void expect(int fd, uint8_t kind) {
    char bytes[1024];
    read_exactly(fd, bytes, HEADER);
    if (u32(bytes) > sizeof bytes - HEADER) fail("a frame of %u bytes", u32(bytes));
    read_exactly(fd, bytes + HEADER, u32(bytes));
    if ((uint8_t)bytes[4] == ERROR) fail("%.*s", (int)u32(bytes) - ERROR_FIXED, bytes + HEADER + ERROR_FIXED);
    if ((uint8_t)bytes[4] != kind) fail("frame 0x%02x instead of 0x%02x", (uint8_t)bytes[4], kind);
}

static void greet(struct connection *c) {
    char bytes[HEADER + HELLO_FIXED];
    char *hello = frame(bytes, HELLO_FIXED, HELLO_FIXED, HELLO, 0);
    memcpy(hello, "NTFY\1\0\1\0", 8);
    int instance[4] = {getpid(), c->fd};
    memcpy(hello + 12, instance, sizeof instance);
    send_all(c->fd, bytes, sizeof bytes);
    expect(c->fd, WELCOME);
}

static void subscribe_as(struct connection *c, const char *durable) {
    char bytes[HEADER + SUBSCRIBE_FIXED + 64];
    uint8_t durable_bytes = strlen(durable);
    uint32_t body = SUBSCRIBE_FIXED + durable_bytes + 1 + NAME_BYTES, window = DURABLE_WINDOW;
    char *at = frame(bytes, body, SUBSCRIBE_FIXED, SUBSCRIBE, 0);
    at[0] = at[8] = 1;                 // request 1, subscription 1
    memcpy(at + 12, &window, 4);
    memset(at + 16, 0xff, 4);          // no bound on credit
    at[21] = durable_bytes;
    at[23] = 1;                        // one pattern
    memcpy(at + SUBSCRIBE_FIXED, durable, durable_bytes);
    at[SUBSCRIBE_FIXED + durable_bytes] = NAME_BYTES;
    memcpy(at + SUBSCRIBE_FIXED + durable_bytes + 1, NAME, NAME_BYTES);
    send_all(c->fd, bytes, HEADER + body);
    expect(c->fd, SUBSCRIBED);
}

static void subscribe_volatile(struct connection *c) { subscribe_as(c, ""); }

static void subscribe_durable(struct connection *c) {
    char durable[32];
    snprintf(durable, sizeof durable, "peers-%ld", c->number);
    c->state = calloc(1, sizeof(struct cursor));
    subscribe_as(c, durable);
}

static size_t post(char *at, long payload, size_t *payload_at, uint8_t durability) {
    uint32_t body = POST_FIXED + NAME_BYTES + payload;
    char *post = frame(at, body, POST_FIXED, POST, durability == VOLATILE ? 0 : FLAG_RECEIPT);
    post[10] = NAME_BYTES;
    post[13] = durability;
    memcpy(post + POST_FIXED, NAME, NAME_BYTES);
    *payload_at = HEADER + POST_FIXED + NAME_BYTES;
    return HEADER + body;
}

static size_t post_volatile(char *at, long size, size_t *payload_at) { return post(at, size, payload_at, VOLATILE); }
static size_t post_stored(char *at, long size, size_t *payload_at) { return post(at, size, payload_at, STORED); }
static size_t post_synced(char *at, long size, size_t *payload_at) { return post(at, size, payload_at, SYNCED); }

static void number(char *at, uint64_t number) {
    uint64_t request = number + 1;
    memcpy(at + HEADER, &request, sizeof request);
}

static void deliver(struct connection *c, const char *body, size_t size) {
    size_t payload = DELIVER_FIXED + (uint8_t)body[30] + (uint8_t)body[31] + (uint8_t)body[32] + u16(body + 28);
    delivered(c, body + payload, size - payload);
    if (c->state) ((struct cursor *)c->state)->delivered = u64(body);
}

static size_t take(struct connection *c, const char *bytes, size_t size) {
    if (size < HEADER || size < HEADER + (size_t)u32(bytes)) return 0;
    const char *body = bytes + HEADER;
    switch ((uint8_t)bytes[4]) {
    case DELIVER: deliver(c, body, u32(bytes)); break;
    case RECEIPT:
        if ((long)u64(body) != c->count + 1) fail("receipt %lu instead of %ld", u64(body), c->count + 1);
        c->count++;
        break;
    case GAP: fail("a gap of %lu messages", u64(body + 8));
    case ERROR: fail("refused: %.*s", (int)u32(bytes) - ERROR_FIXED, body + ERROR_FIXED);
    case CLOSING: fail("the daemon is closing");
    }
    return HEADER + u32(bytes);
}

// Acknowledges everything up to the last message with one range.
static void acknowledge(struct connection *c) {
    struct cursor *cursor = c->state;
    if (!cursor || cursor->delivered == cursor->acknowledged) return;
    char bytes[HEADER + ACKNOWLEDGE_ONE];
    char *body = frame(bytes, ACKNOWLEDGE_ONE, ACKNOWLEDGE_ONE, ACKNOWLEDGE, 0);
    body[0] = body[4] = 1;             // subscription 1, one range
    memcpy(body + 16, &cursor->delivered, 8);
    send_all(c->fd, bytes, sizeof bytes);
    cursor->acknowledged = cursor->delivered;
}

const struct protocol notifyd_volatile = {
    .name = "notifyd-volatile", .greet = greet, .subscribe = subscribe_volatile, .post = post_volatile,
    .number = number, .take = take,
};
const struct protocol notifyd_stored = {
    .name = "notifyd-stored", .has_receipts = true, .greet = greet, .subscribe = subscribe_durable,
    .post = post_stored, .number = number, .take = take, .acknowledge = acknowledge,
};
const struct protocol notifyd_synced = {
    .name = "notifyd-synced", .has_receipts = true, .greet = greet, .subscribe = subscribe_durable,
    .post = post_synced, .number = number, .take = take, .acknowledge = acknowledge,
};
