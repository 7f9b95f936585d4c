// Declarations shared by the files of the load generator for several servers.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../../load/names.h"
#include "../../load/process.h"

enum { READ_BYTES = 1 << 18, KEPT_BYTES = 1 << 17, STALL_SECONDS = 60 };

// A connection of a subscriber, or of the poster.
struct connection {
    int fd;
    long number;          // of the subscriber; the poster's is -1
    char *kept;           // the beginning of a frame that is not complete yet
    size_t kept_bytes;
    long count;           // messages or receipts so far
    void *state;          // the protocol's own
};

// The protocol of one server in one mode. Callbacks marked "blocking" run before the connection is polled.
struct protocol {
    const char *name;
    bool has_receipts;    // each post is answered, and is complete only then
    bool has_names;       // posts and subscriptions use post_name and post_pattern
    bool is_request;      // the one subscriber replies to each post, and the reply is the receipt
    void (*greet)(struct connection *);                       // blocking
    void (*open_poster)(struct connection *);                 // blocking; may be null
    void (*subscribe)(struct connection *);                   // blocking
    // Writes a post with room for the payload to `at`, and sets the place of the payload. Returns the size of the post.
    size_t (*post)(char *at, long payload, size_t *payload_at);
    // Gives a post its request number; may be null. Numbers begin with 0.
    void (*number)(char *at, uint64_t number);
    // Processes the first frame of the bytes. Returns its size, or 0 if it is not complete.
    size_t (*take)(struct connection *, const char *bytes, size_t size);
    // Acknowledges the messages that were processed since the last call. Their bytes are still in the buffer. May be
    // null.
    void (*acknowledge)(struct connection *);
};

extern const struct protocol notifyd_volatile, notifyd_receipts, notifyd_stored, notifyd_synced, notifyd_request,
    nats_core, nats_jetstream, nats_request, redis_pubsub, redis_streams, mqtt_qos0, mqtt_qos1;

// connection.c

extern const struct protocol *protocol;
// The payload size of the posted messages, in bytes.
extern long payload_bytes;
// The number of names that messages are posted under in turn; 0: all are posted under NAME.
extern long names;
static inline const char *post_name(void) { return names ? NUMBERED_NAME : NAME; }
// Matches the names of all posts.
static inline const char *post_pattern(void) { return names ? NUMBERED_PATTERN : NAME; }

// Connects to a path, or to HOST:PORT.
struct connection connect_to(const char *address, long number);
void send_all(int fd, const void *bytes, size_t count);
// Reads exactly `count` bytes. The connection must be blocking.
void read_exactly(int fd, void *bytes, size_t count);
// Reads a line up to its newline, and replaces the newline by a zero. The connection must be blocking.
void read_line(int fd, char *line, size_t capacity);
// Reads once and processes every complete frame. Returns without an effect when there is nothing to read.
void receive(struct connection *c);
// Checks a message's size and number, and counts it.
void delivered(struct connection *c, const char *payload, size_t size);

// posting.c

struct session {
    struct connection *connections;    // the subscribers', and the poster's behind them
    long subscribers, sent, done;
    int epoll;
};

struct measurement {
    double seconds, processor;
    double *trips;        // of each message if the window is 1
    long messages;
};

struct session open_session(const char *address, long subscribers);
// Posts for `seconds`, but at least this number of messages, and waits until every subscriber has all messages and every
// receipt has arrived.
struct measurement measure(struct session *session, int pid, double seconds, long least, long window);
