// Encoding and checking frames.
#include "frames.h"
#include "process.h"
#include <unistd.h>

bool has_frame(const char *bytes, size_t size) { return size >= HEADER_FIXED && size >= frame_size(bytes); }

void check(const char *frame) {
    const char *body = frame + HEADER_FIXED;
    switch (kind_of(frame)) {
    case GAP: fail("a gap of %lu messages", u64(body + GAP_DROPPED));
    case ERROR: fail("refused: %.*s", (int)body_size(frame) - ERROR_FIXED, body + ERROR_FIXED);
    case CLOSING: fail("the daemon is closing");
    }
}

void check_kind(const char *frame, uint8_t kind) {
    check(frame);
    if (kind_of(frame) != kind) fail("frame 0x%02x instead of 0x%02x", kind_of(frame), kind);
}

size_t payload_offset(const char *body) {
    return DELIVER_FIXED + (uint8_t)body[DELIVER_NAME_LENGTH] + (uint8_t)body[DELIVER_OBJECT_LENGTH]
        + (uint8_t)body[DELIVER_ID_LENGTH] + u16(body + DELIVER_HEADERS_LENGTH);
}

static void put16(char *at, uint16_t value) { memcpy(at, &value, sizeof value); }
static void put32(char *at, uint32_t value) { memcpy(at, &value, sizeof value); }
static void put64(char *at, uint64_t value) { memcpy(at, &value, sizeof value); }

// Writes a header, and clears the fixed fields. Returns where the body begins.
static char *begin(char *at, uint8_t kind, size_t fixed, size_t rest) {
    memset(at, 0, HEADER_FIXED + fixed);
    put32(at + HEADER_LENGTH, fixed + rest);
    at[HEADER_KIND] = kind;
    return at + HEADER_FIXED;
}

size_t put_hello(char *at, int fd) {
    char *body = begin(at, HELLO, HELLO_FIXED, 0);
    memcpy(body + HELLO_PROTOCOL, "NTFY", 4);
    put16(body + HELLO_LOWEST, 1);
    put16(body + HELLO_HIGHEST, 1);
    put32(body + HELLO_INSTANCE, getpid());
    put32(body + HELLO_INSTANCE + 4, fd);
    return frame_size(at);
}

size_t put_subscribe(char *at, struct subscribing subscribing) {
    size_t durable = strlen(subscribing.durable), pattern = strlen(subscribing.pattern);
    char *body = begin(at, SUBSCRIBE, SUBSCRIBE_FIXED, durable + 1 + pattern);
    put64(body + SUBSCRIBE_REQUEST, subscribing.request);
    put32(body + SUBSCRIBE_SUBSCRIPTION, subscribing.subscription);
    put32(body + SUBSCRIBE_WINDOW, subscribing.window);
    put32(body + SUBSCRIBE_CREDIT, UINT32_MAX);
    body[SUBSCRIBE_NAME_LENGTH] = durable;
    body[SUBSCRIBE_PATTERNS] = 1;
    body[SUBSCRIBE_SHARING] = subscribing.is_group;
    char *text = body + SUBSCRIBE_FIXED;
    memcpy(text, subscribing.durable, durable);
    text[durable] = pattern;
    memcpy(text + durable + 1, subscribing.pattern, pattern);
    return frame_size(at);
}

size_t put_detach(char *at, uint64_t request, uint32_t subscription) {
    char *body = begin(at, DETACH, DETACH_FIXED, 0);
    put64(body + DETACH_REQUEST, request);
    put32(body + DETACH_SUBSCRIPTION, subscription);
    return frame_size(at);
}

size_t put_remove(char *at, uint64_t request, const char *durable) {
    size_t size = strlen(durable);
    char *body = begin(at, REMOVE, REMOVE_FIXED, size);
    put64(body + REMOVE_REQUEST, request);
    put32(body + REMOVE_UID, UINT32_MAX);
    body[REMOVE_NAME_LENGTH] = size;
    memcpy(body + REMOVE_FIXED, durable, size);
    return frame_size(at);
}

size_t put_acknowledge(char *at, uint32_t subscription, uint64_t through) {
    char *body = begin(at, ACKNOWLEDGE, ACKNOWLEDGE_FIXED, 2 * sizeof through);
    put32(body + ACKNOWLEDGE_SUBSCRIPTION, subscription);
    put32(body + ACKNOWLEDGE_COUNT, 1);
    put64(body + ACKNOWLEDGE_RANGES, 0);
    put64(body + ACKNOWLEDGE_RANGES + sizeof through, through);
    return frame_size(at);
}

static size_t put_message(char *at, uint8_t kind, size_t fixed, const char *name, size_t payload,
                          enum durability durability) {
    size_t size = strlen(name);
    char *body = begin(at, kind, fixed, size + payload);
    body[POST_NAME_LENGTH] = size;
    body[POST_DURABILITY] = durability;
    memcpy(body + fixed, name, size);
    return frame_size(at);
}

size_t put_post(char *at, const char *name, size_t payload, enum durability durability, bool has_receipt) {
    size_t size = put_message(at, POST, POST_FIXED, name, payload, durability);
    at[HEADER_FLAGS] = has_receipt ? POST_RECEIPT : 0;
    return size;
}

size_t put_set_value(char *at, const char *name, size_t payload, enum durability durability, bool has_receipt) {
    size_t size = put_message(at, SET_VALUE, SET_VALUE_FIXED, name, payload, durability);
    at[HEADER_FLAGS] = has_receipt ? SET_VALUE_RECEIPT : 0;
    return size;
}

size_t put_ping(char *at, uint64_t request) {
    put64(begin(at, PING, sizeof request, 0), request);
    return PING_SIZE;
}

// Writes a pattern with its length.
static void put_pattern(char *at, const char *pattern) {
    size_t size = strlen(pattern);
    *at = size;
    memcpy(at + 1, pattern, size);
}

size_t put_serve(char *at, uint64_t request, uint32_t server, uint32_t concurrency, const char *pattern) {
    char *body = begin(at, SERVE, SERVE_FIXED, 1 + strlen(pattern));
    put64(body + SERVE_REQUEST, request);
    put32(body + SERVE_SERVER, server);
    put32(body + SERVE_CONCURRENCY, concurrency);
    body[SERVE_PATTERNS] = 1;
    put_pattern(body + SERVE_FIXED, pattern);
    return frame_size(at);
}

size_t put_ask(char *at, const char *name, size_t payload, uint32_t milliseconds) {
    size_t size = strlen(name);
    char *body = begin(at, ASK, ASK_FIXED, size + payload);
    put32(body + ASK_LIMIT, milliseconds);
    body[ASK_NAME_LENGTH] = size;
    memcpy(body + ASK_FIXED, name, size);
    return frame_size(at);
}

size_t put_reply(char *at, uint64_t call, const char *payload, size_t size) {
    char *body = begin(at, RESPOND, RESPOND_FIXED, size);
    put64(body + RESPOND_CALL, call);
    memcpy(body + RESPOND_FIXED, payload, size);
    return frame_size(at);
}

size_t put_read_values(char *at, struct reading reading) {
    char *body = begin(at, READ_VALUES, READ_VALUES_FIXED, 1 + strlen(reading.pattern));
    put64(body + READ_VALUES_REQUEST, reading.request);
    put64(body + READ_VALUES_EPOCH, reading.epoch);
    put64(body + READ_VALUES_RUN, reading.run);
    put64(body + READ_VALUES_POSITION, reading.position);
    put64(body + READ_VALUES_LAST, reading.last);
    put32(body + READ_VALUES_MESSAGES, reading.messages);
    body[READ_VALUES_OPTIONS] = reading.options;
    body[READ_VALUES_PATTERNS] = 1;
    put_pattern(body + READ_VALUES_FIXED, reading.pattern);
    return frame_size(at);
}
