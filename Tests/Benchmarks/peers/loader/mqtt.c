// MQTT 3.1.1: QoS 0 with clean sessions, and QoS 1 with persistent sessions.
#include "peers.h"
#include <stdio.h>
#include <string.h>

enum { CONNECT = 0x10, CONNACK = 0x20, PUBLISH = 0x30, PUBACK = 0x40, SUBSCRIBE = 0x82, SUBACK = 0x90, QOS1 = 0x02,
       CLEAN_SESSION = 0x02, LEVEL = 4, IDENTIFIERS = 65535 };

// The acknowledgements of the messages that were read at once.
static char acknowledgements[READ_BYTES];
static size_t acknowledgement_bytes;

// Writes a string after its length. Returns the position after the string.
static char *put_string(char *at, const char *text, size_t size) {
    at[0] = size >> 8, at[1] = size;
    memcpy(at + 2, text, size);
    return at + 2 + size;
}

static void expect(int fd, uint8_t kind, char *answer, size_t size) {
    read_exactly(fd, answer, size);
    if ((uint8_t)answer[0] != kind || (size_t)answer[1] != size - 2)
        fail("packet 0x%02x instead of 0x%02x", (uint8_t)answer[0], kind);
}

static void greet_with(struct connection *c, uint8_t flags) {
    char client[24], packet[64] = {CONNECT}, answer[4];
    int client_bytes = snprintf(client, sizeof client, "peers%ld", c->number);
    char *at = put_string(packet + 2, "MQTT", 4);
    *at++ = LEVEL, *at++ = flags;
    *at++ = 0, *at++ = 0;                          // no keep-alive
    at = put_string(at, client, client_bytes);
    packet[1] = at - packet - 2;
    send_all(c->fd, packet, at - packet);
    expect(c->fd, CONNACK, answer, sizeof answer);
    if (answer[3]) fail("the connection is refused with %d", answer[3]);
}

static void greet_clean(struct connection *c) { greet_with(c, CLEAN_SESSION); }
static void greet_persistent(struct connection *c) { greet_with(c, 0); }

static void subscribe_with(struct connection *c, int qos) {
    char packet[64] = {(char)SUBSCRIBE, 0, 0, 1}, answer[5];
    char *at = put_string(packet + 4, NAME, NAME_BYTES);
    *at++ = qos;
    packet[1] = at - packet - 2;
    send_all(c->fd, packet, at - packet);
    expect(c->fd, SUBACK, answer, sizeof answer);
    if (answer[4] != qos) fail("the subscription is granted 0x%02x", (uint8_t)answer[4]);
}

static void subscribe_qos0(struct connection *c) { subscribe_with(c, 0); }
static void subscribe_qos1(struct connection *c) { subscribe_with(c, 1); }

static size_t post(char *at, long payload, size_t *payload_at, int qos) {
    char *start = at;
    size_t left = 2 + NAME_BYTES + 2 * qos + payload;
    *at++ = PUBLISH | (qos ? QOS1 : 0);
    for (; left > 127; left >>= 7) *at++ = left | 128;
    *at++ = left;
    at = put_string(at, NAME, NAME_BYTES) + 2 * qos;
    *payload_at = at - start;
    return *payload_at + payload;
}

static size_t post_qos0(char *at, long payload, size_t *payload_at) { return post(at, payload, payload_at, 0); }
static size_t post_qos1(char *at, long payload, size_t *payload_at) { return post(at, payload, payload_at, 1); }

static uint16_t identifier(uint64_t number) { return number % IDENTIFIERS + 1; }

// The identifier follows the name. The name follows the length, whose last byte is below 128.
static void number_qos1(char *at, uint64_t number) {
    do at++; while (*at & 128);
    at += 1 + 2 + NAME_BYTES;
    at[0] = identifier(number) >> 8, at[1] = identifier(number);
}

static void take_receipt(struct connection *c, const char *body) {
    int got = (uint8_t)body[0] << 8 | (uint8_t)body[1];
    if (got != identifier(c->count)) fail("acknowledgement %d instead of %d", got, identifier(c->count));
    c->count++;
}

static void take_message(struct connection *c, bool has_identifier, const char *body, size_t size) {
    size_t payload = 2 + ((uint8_t)body[0] << 8 | (uint8_t)body[1]);
    if (has_identifier) {
        char *to = acknowledgements + acknowledgement_bytes;
        to[0] = PUBACK, to[1] = 2;
        memcpy(to + 2, body + payload, 2);
        acknowledgement_bytes += 4;
        payload += 2;
    }
    delivered(c, body + payload, size - payload);
}

static size_t take(struct connection *c, const char *bytes, size_t size) {
    size_t left = 0, at = 1;
    for (int shift = 0;; shift += 7) {
        if (at >= size) return 0;
        left |= (size_t)(bytes[at] & 127) << shift;
        if (!(bytes[at++] & 128)) break;
    }
    if (size < at + left) return 0;
    uint8_t kind = bytes[0];
    if ((kind & 0xf0) == PUBLISH) take_message(c, kind & QOS1, bytes + at, left);
    else if (kind == PUBACK) take_receipt(c, bytes + at);
    else fail("packet 0x%02x", kind);
    return at + left;
}

static void acknowledge(struct connection *c) {
    send_all(c->fd, acknowledgements, acknowledgement_bytes);
    acknowledgement_bytes = 0;
}

const struct protocol mqtt_qos0 = {
    .name = "mqtt-qos0", .greet = greet_clean, .subscribe = subscribe_qos0, .post = post_qos0, .take = take,
};
const struct protocol mqtt_qos1 = {
    .name = "mqtt-qos1", .has_receipts = true, .greet = greet_persistent, .subscribe = subscribe_qos1,
    .post = post_qos1, .number = number_qos1, .take = take, .acknowledge = acknowledge,
};
