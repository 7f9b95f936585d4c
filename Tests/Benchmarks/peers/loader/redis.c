// Redis in two modes: PUBLISH and SUBSCRIBE, and streams. The replies to PUBLISH are ignored. The replies of a stream
// are the receipts, and each subscriber has a consumer group of its own and acknowledges every message.
#define _GNU_SOURCE
#include "peers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 100, ID_BYTES = 48, BULK_BYTES = ID_BYTES + 8, BEFORE_ENTRIES = 4, ENTRY_TOKENS = 5, PUSH_TOKENS = 4 };

// The position of a subscriber in a reply or a pushed message, and the messages that it has to acknowledge.
struct reader {
    long token, entries;  // tokens so far, messages in the reply
    int ids;
    size_t id_bytes;
    char id[AT_ONCE * BULK_BYTES];
};

// The first character of each token of a reply to XREADGROUP (one stream, its name and its entries, each with an id and
// fields), and of a pushed message ("message", the channel and the payload).
static const char before_entries[] = "**$*", entry[] = "*$*$$", push[] = "*$$$";

static void send_text(struct connection *c, const char *text) { send_all(c->fd, text, strlen(text)); }
static void greet(struct connection *c) { (void)c; }

static void subscribe_channel(struct connection *c) {
    char text[256];
    snprintf(text, sizeof text, "*2\r\n$9\r\nSUBSCRIBE\r\n$%d\r\n%s\r\n", NAME_BYTES, NAME);
    send_text(c, text);
    static const char *const answer[] = {"*3", "$9", "subscribe", "$11", NAME, ":1"};
    for (int i = 0; i < 6; i++) {
        read_line(c->fd, text, sizeof text);
        if (strncmp(text, answer[i], strlen(answer[i]))) fail("%s", text);
    }
    c->state = calloc(1, sizeof(struct reader));
}

static void read_group(struct connection *c) {
    char text[256];
    snprintf(text, sizeof text, "XREADGROUP GROUP g%ld reader COUNT %d BLOCK 0 STREAMS %s >\r\n", c->number, AT_ONCE,
             NAME);
    send_text(c, text);
}

static void subscribe_group(struct connection *c) {
    char text[256];
    snprintf(text, sizeof text, "XGROUP CREATE %s g%ld $ MKSTREAM\r\n", NAME, c->number);
    send_text(c, text);
    read_line(c->fd, text, sizeof text);
    if (strncmp(text, "+OK", 3)) fail("%s", text);
    c->state = calloc(1, sizeof(struct reader));
    read_group(c);
}

static size_t post(char *at, long payload, size_t *payload_at, const char *command) {
    *payload_at = sprintf(at, "%s$%ld\r\n", command, payload);
    memcpy(at + *payload_at + payload, "\r\n", 2);
    return *payload_at + payload + 2;
}

static size_t post_channel(char *at, long payload, size_t *payload_at) {
    return post(at, payload, payload_at, "*3\r\n$7\r\nPUBLISH\r\n$11\r\nbench.topic\r\n");
}
static size_t post_stream(char *at, long payload, size_t *payload_at) {
    return post(at, payload, payload_at, "*5\r\n$4\r\nXADD\r\n$11\r\nbench.topic\r\n$1\r\n*\r\n$1\r\np\r\n");
}

// A token: a line, and the bytes that the line announces.
struct token {
    const char *bytes;
    long number;          // size of the bytes, or of an array
    size_t size;          // of the line and the bytes; 0: not complete
};

static struct token token_at(const char *at, size_t size) {
    const char *end = memchr(at, '\n', size);
    if (!end) return (struct token){0};
    if (*at == '-') fail("%.*s", (int)(end - at), at);
    struct token token = {.bytes = end + 1, .number = atol(at + 1), .size = end + 1 - at};
    if (*at == '$') token.size += token.number + 2;
    if (token.size > size) token.size = 0;
    return token;
}

static void expect(const char *at, char kind) {
    if (*at != kind) fail("a reply with %c instead of %c", *at, kind);
}

static void keep_id(struct reader *r, const char *at, size_t size) {
    if (r->ids == AT_ONCE || size > BULK_BYTES) fail("more messages than requested");
    memcpy(r->id + r->id_bytes, at, size);
    r->id_bytes += size;
    r->ids++;
}

static void take_entry_token(struct connection *c, const char *at, struct token token) {
    struct reader *r = c->state;
    long place = r->token++ - BEFORE_ENTRIES;
    if (place < 0) {
        expect(at, before_entries[place + BEFORE_ENTRIES]);
        r->entries = token.number;
        return;
    }
    expect(at, entry[place % ENTRY_TOKENS]);
    if (place % ENTRY_TOKENS == 1) keep_id(r, at, token.size);
    if (place % ENTRY_TOKENS == ENTRY_TOKENS - 1) delivered(c, token.bytes, token.number);
}

static size_t take_reply(struct connection *c, const char *at, size_t size) {
    struct token token = token_at(at, size);
    if (!token.size) return 0;
    if (c->number < 0)
        c->count++;
    else if (*at != ':')                           // ':' is the reply to XACK, which is ignored
        take_entry_token(c, at, token);
    return token.size;
}

// When a reply is complete, acknowledges all of its messages, and requests the next ones.
static void acknowledge(struct connection *c) {
    struct reader *r = c->state;
    if (!r || r->token < BEFORE_ENTRIES || r->token < BEFORE_ENTRIES + r->entries * ENTRY_TOKENS) return;
    char text[sizeof r->id + 128], group[24];
    int group_bytes = sprintf(group, "g%ld", c->number);
    int size = sprintf(text, "*%d\r\n$4\r\nXACK\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", r->ids + 3, NAME_BYTES, NAME,
                       group_bytes, group);
    memcpy(text + size, r->id, r->id_bytes);
    send_all(c->fd, text, size + r->id_bytes);
    *r = (struct reader){0};
    read_group(c);
}

static size_t take_push(struct connection *c, const char *at, size_t size) {
    struct token token = token_at(at, size);
    if (!token.size || c->number < 0) return token.size;
    struct reader *r = c->state;
    expect(at, push[r->token]);
    if (++r->token == PUSH_TOKENS) {
        delivered(c, token.bytes, token.number);
        r->token = 0;
    }
    return token.size;
}

const struct protocol redis_pubsub = {
    .name = "redis-pubsub", .greet = greet, .subscribe = subscribe_channel, .post = post_channel, .take = take_push,
};
const struct protocol redis_streams = {
    .name = "redis-streams", .has_receipts = true, .greet = greet, .subscribe = subscribe_group, .post = post_stream,
    .take = take_reply, .acknowledge = acknowledge,
};
