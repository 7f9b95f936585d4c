// notifyd: volatile posts to volatile subscriptions, with or without receipts, stored or synced posts with receipts to
// durable subscriptions, and requests to a server.
#include "peers.h"
#include "../../load/frames.h"
#include <stdio.h>
#include <stdlib.h>

enum { DURABLE_WINDOW = 1000, CONCURRENCY = 16, LIMIT_MILLISECONDS = 60000 };

struct cursor {
    uint64_t delivered, acknowledged;
};

// Reads one frame, which must be of this kind.
static void expect(int fd, uint8_t kind) {
    char bytes[1024];
    read_exactly(fd, bytes, HEADER_FIXED);
    if (frame_size(bytes) > sizeof bytes) fail("a frame of %zu bytes", frame_size(bytes));
    read_exactly(fd, bytes + HEADER_FIXED, body_size(bytes));
    check_kind(bytes, kind);
}

static void greet(struct connection *c) {
    char bytes[HEADER_FIXED + HELLO_FIXED];
    send_all(c->fd, bytes, put_hello(bytes, c->fd));
    expect(c->fd, WELCOME);
}

static void subscribe_as(struct connection *c, const char *durable) {
    char bytes[SUBSCRIBE_MOST];
    struct subscribing subscribing = {.request = 1, .subscription = 1, .window = DURABLE_WINDOW,
                                      .pattern = post_pattern(), .durable = durable};
    send_all(c->fd, bytes, put_subscribe(bytes, subscribing));
    expect(c->fd, SUBSCRIBED);
}

static void subscribe_volatile(struct connection *c) { subscribe_as(c, ""); }

static void subscribe_durable(struct connection *c) {
    char durable[32];
    snprintf(durable, sizeof durable, "peers-%ld", c->number);
    c->state = calloc(1, sizeof(struct cursor));
    subscribe_as(c, durable);
}

static size_t post(char *at, long payload, size_t *payload_at, enum durability durability, bool has_receipt) {
    size_t size = put_post(at, post_name(), payload, durability, has_receipt);
    *payload_at = size - payload;
    return size;
}

static size_t post_volatile(char *at, long size, size_t *payload_at) {
    return post(at, size, payload_at, VOLATILE, false);
}
static size_t post_receipts(char *at, long size, size_t *payload_at) {
    return post(at, size, payload_at, VOLATILE, true);
}
static size_t post_stored(char *at, long size, size_t *payload_at) { return post(at, size, payload_at, STORED, true); }
static size_t post_synced(char *at, long size, size_t *payload_at) { return post(at, size, payload_at, SYNCED, true); }

static void serve(struct connection *c) {
    char bytes[SERVE_MOST];
    send_all(c->fd, bytes, put_serve(bytes, 1, 1, CONCURRENCY, post_pattern()));
    expect(c->fd, SERVING);
    c->state = malloc(HEADER_FIXED + RESPOND_FIXED + KEPT_BYTES);      // a reply
}

static size_t ask(char *at, long payload, size_t *payload_at) {
    size_t size = put_ask(at, post_name(), payload, LIMIT_MILLISECONDS);
    *payload_at = size - payload;
    return size;
}

// Replies with the payload of the call.
static void answer(struct connection *c, const char *body, size_t size) {
    size_t at = SERVICE_CALL_FIXED + (uint8_t)body[SERVICE_CALL_NAME_LENGTH] + u16(body + SERVICE_CALL_HEADERS_LENGTH);
    delivered(c, body + at, size - at);
    send_all(c->fd, c->state, put_reply(c->state, u64(body + SERVICE_CALL_CALL), body + at, size - at));
}

static void take_reply(struct connection *c, const char *body, size_t size) {
    long request = u64(body + SERVICE_REPLY_REQUEST);
    if (request != c->count + 1) fail("reply %ld instead of %ld", request, c->count + 1);
    size_t at = SERVICE_REPLY_FIXED + u16(body + SERVICE_REPLY_HEADERS_LENGTH);
    delivered(c, body + at, size - at);
}

static void number(char *at, uint64_t number) { set_request(at, number + 1); }

static void deliver(struct connection *c, const char *body, size_t size) {
    size_t payload = payload_offset(body);
    delivered(c, body + payload, size - payload);
    if (c->state) ((struct cursor *)c->state)->delivered = u64(body + DELIVER_SEQUENCE);
}

static void take_receipt(struct connection *c, const char *body) {
    long request = u64(body + RECEIPT_REQUEST);
    if (request != c->count + 1) fail("receipt %ld instead of %ld", request, c->count + 1);
    c->count++;
}

static size_t take(struct connection *c, const char *bytes, size_t size) {
    if (!has_frame(bytes, size)) return 0;
    switch (kind_of(bytes)) {
    case DELIVER: deliver(c, bytes + HEADER_FIXED, body_size(bytes)); break;
    case RECEIPT: take_receipt(c, bytes + HEADER_FIXED); break;
    case SERVICE_CALL: answer(c, bytes + HEADER_FIXED, body_size(bytes)); break;
    case SERVICE_REPLY: take_reply(c, bytes + HEADER_FIXED, body_size(bytes)); break;
    default: check(bytes);
    }
    return frame_size(bytes);
}

// Acknowledges everything up to the last message with one range.
static void acknowledge(struct connection *c) {
    struct cursor *cursor = c->state;
    if (!cursor || cursor->delivered == cursor->acknowledged) return;
    char bytes[ACKNOWLEDGE_ONE];
    send_all(c->fd, bytes, put_acknowledge(bytes, 1, cursor->delivered));
    cursor->acknowledged = cursor->delivered;
}

const struct protocol notifyd_volatile = {
    .name = "notifyd-volatile", .has_names = true, .greet = greet, .subscribe = subscribe_volatile,
    .post = post_volatile, .number = number, .take = take,
};
const struct protocol notifyd_receipts = {
    .name = "notifyd-receipts", .has_receipts = true, .has_names = true, .greet = greet,
    .subscribe = subscribe_volatile, .post = post_receipts, .number = number, .take = take,
};
const struct protocol notifyd_stored = {
    .name = "notifyd-stored", .has_receipts = true, .greet = greet, .subscribe = subscribe_durable,
    .post = post_stored, .number = number, .take = take, .acknowledge = acknowledge,
};
const struct protocol notifyd_synced = {
    .name = "notifyd-synced", .has_receipts = true, .greet = greet, .subscribe = subscribe_durable,
    .post = post_synced, .number = number, .take = take, .acknowledge = acknowledge,
};
const struct protocol notifyd_request = {
    .name = "notifyd-request", .has_receipts = true, .is_request = true, .greet = greet, .subscribe = serve,
    .post = ask, .number = number, .take = take,
};
