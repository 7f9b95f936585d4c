// NATS in three modes: core subjects without receipts, requests, and JetStream. A request is a message with the subject
// of its reply, which is the inbox of the client and a token of the request, as the clients of NATS make it. The stream
// of JetStream is in files, and its acknowledgements are the receipts. Each subscriber has a durable push consumer, and
// acknowledges all messages up to the last one that it received.
#define _GNU_SOURCE
#include "peers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 2048 };

static const char INBOX[] = "_INBOX.abcdefghijklmnopqrstuv";

static void send_text(struct connection *c, const char *text) { send_all(c->fd, text, strlen(text)); }

static void expect_pong(struct connection *c) {
    char line[LINE_BYTES];
    read_line(c->fd, line, sizeof line);
    if (strncmp(line, "PONG", 4)) fail("%s", line);
}

static void greet(struct connection *c) {
    char line[LINE_BYTES];
    read_line(c->fd, line, sizeof line);           // INFO
    send_text(c, "CONNECT {\"verbose\":false,\"pedantic\":false,\"lang\":\"c\",\"version\":\"1\",\"protocol\":1}\r\n"
                 "PING\r\n");
    expect_pong(c);
}

static void subscribe_core(struct connection *c) {
    char text[LINE_BYTES];
    snprintf(text, sizeof text, "SUB %s 1\r\nPING\r\n", post_pattern());
    send_text(c, text);
    expect_pong(c);
}

// Sends a request to JetStream, and waits for the answer on the subject `answer`.
static void request(struct connection *c, const char *subject, const char *answer, const char *body) {
    char text[LINE_BYTES];
    snprintf(text, sizeof text, "PUB $JS.API.%s %s %zu\r\n%s\r\n", subject, answer, strlen(body), body);
    send_text(c, text);
    read_line(c->fd, text, sizeof text);           // MSG
    if (strncmp(text, "MSG ", 4)) fail("%s", text);
    read_line(c->fd, text, sizeof text);
    if (strstr(text, "\"error\"")) fail("%s: %s", subject, text);
}

static void create_stream(struct connection *c) {
    char body[LINE_BYTES];
    send_text(c, "SUB receipts 1\r\n");
    snprintf(body, sizeof body, "{\"name\":\"S\",\"subjects\":[\"%s\"],\"storage\":\"file\",\"retention\":\"limits\","
             "\"discard\":\"old\",\"max_msgs\":-1,\"max_bytes\":-1,\"num_replicas\":1}", NAME);
    request(c, "STREAM.CREATE.S", "receipts", body);
}

static void subscribe_durable(struct connection *c) {
    char subject[64], answer[64], text[LINE_BYTES];
    snprintf(answer, sizeof answer, "answer.%ld", c->number);
    snprintf(text, sizeof text, "SUB deliver.%ld 1\r\nSUB %s 2\r\n", c->number, answer);
    send_text(c, text);
    snprintf(subject, sizeof subject, "CONSUMER.DURABLE.CREATE.S.c%ld", c->number);
    snprintf(text, sizeof text, "{\"stream_name\":\"S\",\"config\":{\"durable_name\":\"c%ld\",\"deliver_subject\":"
             "\"deliver.%ld\",\"deliver_policy\":\"all\",\"ack_policy\":\"all\",\"max_ack_pending\":-1,"
             "\"ack_wait\":600000000000,\"replay_policy\":\"instant\"}}", c->number, c->number);
    c->state = calloc(1, LINE_BYTES);              // the acknowledgement of the last message
    request(c, subject, answer, text);
}

static size_t write_post(char *at, long payload, size_t *payload_at, const char *receipts) {
    *payload_at = sprintf(at, "PUB %s %s%ld\r\n", post_name(), receipts, payload);
    memcpy(at + *payload_at + payload, "\r\n", 2);
    return *payload_at + payload + 2;
}

static void open_inbox(struct connection *c) {
    char text[LINE_BYTES];
    snprintf(text, sizeof text, "SUB %s.* 1\r\nPING\r\n", INBOX);
    send_text(c, text);
    expect_pong(c);
}

static void subscribe_replying(struct connection *c) {
    subscribe_core(c);
    c->state = malloc(LINE_BYTES + KEPT_BYTES);    // a reply
}

static size_t request_offset(void) { return strlen("PUB ") + strlen(post_name()) + 1 + strlen(INBOX) + 1; }

static size_t post_request(char *at, long payload, size_t *payload_at) {
    char reply[64];
    snprintf(reply, sizeof reply, "%s.%08lx ", INBOX, 0L);
    return write_post(at, payload, payload_at, reply);
}

static void number_request(char *at, uint64_t number) {
    char digits[DIGITS + 1];
    snprintf(digits, sizeof digits, "%08lx", number & UINT32_MAX);
    memcpy(at + request_offset(), digits, DIGITS);
}

// Replies with the payload of the request, to the subject between the words.
static void reply(struct connection *c, const char *subject, size_t subject_size, const char *payload, size_t size) {
    char *text = c->state;
    size_t at = snprintf(text, LINE_BYTES, "PUB %.*s %zu\r\n", (int)subject_size, subject, size);
    memcpy(text + at, payload, size);
    memcpy(text + at + size, "\r\n", 2);
    send_all(c->fd, text, at + size + 2);
}

// Checks that the reply is to the next request.
static void take_reply(struct connection *c, const char *line, const char *payload, size_t size) {
    long number = strtol(line + strlen("MSG ") + strlen(INBOX) + 1, NULL, 16);
    if (number != (c->count & UINT32_MAX)) fail("reply %ld instead of %ld", number, c->count);
    delivered(c, payload, size);
}

static size_t post_core(char *at, long payload, size_t *payload_at) { return write_post(at, payload, payload_at, ""); }
static size_t post_stored(char *at, long payload, size_t *payload_at) {
    return write_post(at, payload, payload_at, "receipts ");
}

// Counts a receipt, {"stream":"S","seq":N}. Fails if it is an error.
static void take_receipt(struct connection *c, const char *body, size_t size) {
    if (memmem(body, size, "\"error\"", 7)) fail("%.*s", (int)size, body);
    c->count++;
}

// The last two words of a message's line are the subject of its acknowledgement, and its size.
static size_t take_message(struct connection *c, const char *line, const char *end, size_t left) {
    const char *word = memrchr(line, ' ', end - line), *before = memrchr(line, ' ', word - line);
    size_t size = strtoul(word + 1, NULL, 10);
    if (left < size + 2) return 0;
    if (protocol->is_request) {
        if (c->number < 0)
            take_reply(c, line, end + 1, size);
        else {
            delivered(c, end + 1, size);
            reply(c, before + 1, word - before - 1, end + 1, size);
        }
        return end + 1 + size + 2 - line;
    }
    if (c->number < 0)
        take_receipt(c, end + 1, size);
    else
        delivered(c, end + 1, size);
    if (c->state) snprintf(c->state, LINE_BYTES, "PUB %.*s 0\r\n\r\n", (int)(word - before - 1), before + 1);
    return end + 1 + size + 2 - line;
}

static size_t take(struct connection *c, const char *bytes, size_t size) {
    const char *end = memchr(bytes, '\n', size);
    if (!end) return 0;
    if (bytes[0] == 'M') return take_message(c, bytes, end, size - (end + 1 - bytes));
    if (bytes[0] == '-') fail("%.*s", (int)(end - bytes), bytes);
    return end + 1 - bytes;                        // PING: unanswered, since the server waits longer than a load lasts
}

static void acknowledge(struct connection *c) {
    char *text = c->state;
    if (!text || !*text) return;
    send_text(c, text);
    *text = 0;
}

const struct protocol nats_core = {
    .name = "nats-core", .has_names = true, .greet = greet, .subscribe = subscribe_core, .post = post_core, .take = take,
};
const struct protocol nats_jetstream = {
    .name = "nats-jetstream", .has_receipts = true, .greet = greet, .open_poster = create_stream,
    .subscribe = subscribe_durable, .post = post_stored, .take = take, .acknowledge = acknowledge,
};
const struct protocol nats_request = {
    .name = "nats-request", .has_receipts = true, .is_request = true, .greet = greet, .open_poster = open_inbox,
    .subscribe = subscribe_replying, .post = post_request, .number = number_request, .take = take,
};
