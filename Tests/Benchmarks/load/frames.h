// The frames of notifyd that the load generators send and receive. Every constant is compared with
// NotifyWire.docc/Protocol.md by FramesHeaderTests: a kind, the size of the fixed fields (_FIXED), or the offset of a
// field, whose size and description are those of the document. Frames are little-endian. The machine is assumed to be
// little-endian, too.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    HEADER_FIXED = 8,
    HEADER_LENGTH = 0,             // 4: length of the body
    HEADER_KIND = 4,               // 1: kind
    HEADER_FLAGS = 5,              // 1: flags

    HELLO = 0x01,
    HELLO_FIXED = 28,
    HELLO_PROTOCOL = 0,            // 4: the bytes `NTFY`
    HELLO_LOWEST = 4,              // 2: lowest version that the client speaks: 1
    HELLO_HIGHEST = 6,             // 2: highest version that it speaks: 1
    HELLO_INSTANCE = 12,           // 16: client instance: random bytes

    POST = 0x02,
    POST_FIXED = 16,
    POST_RECEIPT = 1,              // flag: the poster wants a receipt
    POST_REQUEST = 0,              // 8: request
    POST_NAME_LENGTH = 10,         // 1: length of the name
    POST_DURABILITY = 13,          // 1: durability: 0 automatic, 1 volatile, 2 stored, 3 synced

    SUBSCRIBE = 0x03,
    SUBSCRIBE_FIXED = 60,
    SUBSCRIBE_REQUEST = 0,         // 8: request
    SUBSCRIBE_SUBSCRIPTION = 8,    // 4: subscription
    SUBSCRIBE_WINDOW = 12,         // 4: window
    SUBSCRIBE_CREDIT = 16,         // 4: credit
    SUBSCRIBE_NAME_LENGTH = 21,    // 1: length of the durable name
    SUBSCRIBE_PATTERNS = 23,       // 1: number of patterns
    SUBSCRIBE_SHARING = 32,        // 1: sharing of a durable subscription: 0 exclusive, 1 group

    DETACH = 0x04,
    DETACH_FIXED = 12,
    DETACH_REQUEST = 0,            // 8: request
    DETACH_SUBSCRIPTION = 8,       // 4: subscription

    REMOVE = 0x05,
    REMOVE_FIXED = 14,
    REMOVE_REQUEST = 0,            // 8: request
    REMOVE_UID = 8,                // 4: uid of the subscription's owner; 0xFFFFFFFF for the client's own
    REMOVE_NAME_LENGTH = 13,       // 1: length of the next field

    ACKNOWLEDGE = 0x06,
    ACKNOWLEDGE_FIXED = 8,
    ACKNOWLEDGE_SUBSCRIPTION = 0,  // 4: subscription
    ACKNOWLEDGE_COUNT = 4,         // 4: number of ranges
    ACKNOWLEDGE_RANGES = 8,        // …: each range: first sequence (8), last sequence (8)

    PING = 0x08,

    SERVE = 0x18,
    SERVE_FIXED = 17,
    SERVE_REQUEST = 0,             // 8: request
    SERVE_SERVER = 8,              // 4: server
    SERVE_CONCURRENCY = 12,        // 4: concurrency
    SERVE_PATTERNS = 16,           // 1: number of patterns

    ASK = 0x1A,
    ASK_FIXED = 16,
    ASK_REQUEST = 0,               // 8: request
    ASK_LIMIT = 8,                 // 4: time limit in milliseconds
    ASK_NAME_LENGTH = 14,          // 1: length of the name

    RESPOND = 0x1C,
    RESPOND_FIXED = 12,
    RESPOND_CALL = 0,              // 8: call

    SET_VALUE = 0x1D,
    SET_VALUE_FIXED = 24,
    SET_VALUE_RECEIPT = 1,         // flag: asks for a receipt

    READ_VALUES = 0x1F,
    READ_VALUES_FIXED = 48,
    READ_VALUES_REQUEST = 0,       // 8: request
    READ_VALUES_EPOCH = 8,         // 8: epoch of the values
    READ_VALUES_RUN = 16,          // 8: run of the daemon
    READ_VALUES_POSITION = 24,     // 8: position
    READ_VALUES_LAST = 32,         // 8: last key to read
    READ_VALUES_MESSAGES = 40,     // 4: maximum number of messages in the page
    READ_VALUES_OPTIONS = 44,      // 1: options: 1 read changes
    READ_VALUES_PATTERNS = 46,     // 1: number of patterns

    WELCOME = 0x41,
    RECEIPT = 0x42,
    RECEIPT_REQUEST = 0,           // 8: request
    SUBSCRIBED = 0x43,
    DETACHED = 0x44,
    REMOVED = 0x45,
    PONG = 0x48,
    SERVING = 0x4D,

    SERVICE_REPLY = 0x4F,
    SERVICE_REPLY_FIXED = 24,
    SERVICE_REPLY_REQUEST = 0,         // 8: request
    SERVICE_REPLY_HEADERS_LENGTH = 20, // 2: length of the headers

    DELIVER = 0x50,
    DELIVER_FIXED = 36,
    DELIVER_SEQUENCE = 0,          // 8: sequence
    DELIVER_HEADERS_LENGTH = 28,   // 2: length of the headers
    DELIVER_NAME_LENGTH = 30,      // 1: length of the name
    DELIVER_OBJECT_LENGTH = 31,    // 1: length of the object
    DELIVER_ID_LENGTH = 32,        // 1: length of the message id

    GAP = 0x53,
    GAP_DROPPED = 8,               // 8: number of messages dropped

    SERVICE_CALL = 0x54,
    SERVICE_CALL_FIXED = 40,
    SERVICE_CALL_CALL = 0,             // 8: call
    SERVICE_CALL_HEADERS_LENGTH = 36,  // 2: length of the headers
    SERVICE_CALL_NAME_LENGTH = 38,     // 1: length of the name

    VALUE_PAGE = 0x5E,
    VALUE_PAGE_FIXED = 72,
    VALUE_PAGE_REQUEST = 0,        // 8: request
    VALUE_PAGE_COUNT = 8,          // 4: number of deliver frames that follow
    VALUE_PAGE_FLAGS = 12,         // 1: flags: 1 the page reaches the end
    VALUE_PAGE_EPOCH = 16,         // 8: epoch of the values
    VALUE_PAGE_RUN = 24,           // 8: run of the daemon
    VALUE_PAGE_POSITION = 32,      // 8: position after which the next page continues
    VALUE_PAGE_ANNOUNCED = 40,     // 8: the second position
    VALUE_PAGE_SEQUENCE = 48,      // 8: the highest committed sequence when the page was requested
    VALUE_PAGE_LAST = 56,          // 8: without option 1: the last key
    VALUE_PAGE_DAMAGED = 64,       // 8: number of damaged values

    ERROR = 0x60,
    ERROR_FIXED = 24,

    CLOSING = 0x61,
};

// The values of POST_DURABILITY, from 0.
enum durability { AUTOMATIC, VOLATILE, STORED, SYNCED };

static inline uint16_t u16(const char *at) { uint16_t v; memcpy(&v, at, sizeof v); return v; }
static inline uint32_t u32(const char *at) { uint32_t v; memcpy(&v, at, sizeof v); return v; }
static inline uint64_t u64(const char *at) { uint64_t v; memcpy(&v, at, sizeof v); return v; }

// Received frames, from their headers on.

static inline uint8_t kind_of(const char *frame) { return frame[HEADER_KIND]; }
static inline size_t body_size(const char *frame) { return u32(frame + HEADER_LENGTH); }
static inline size_t frame_size(const char *frame) { return HEADER_FIXED + body_size(frame); }
// Whether the bytes begin with a whole frame.
bool has_frame(const char *bytes, size_t size);
// Fails if the frame is an error, a gap, or the end of the daemon.
void check(const char *frame);
// Fails if the frame is of another kind.
void check_kind(const char *frame, uint8_t kind);
// The offset of the payload in the body of a deliver frame.
size_t payload_offset(const char *body);

// Frames to send. Each function writes a frame to `at`, and returns its size.

size_t put_hello(char *at, int fd);

struct subscribing {
    uint64_t request;
    uint32_t subscription, window;
    const char *pattern, *durable;     // a volatile subscription has an empty durable name
    bool is_group;
};
enum { SUBSCRIBE_MOST = HEADER_FIXED + SUBSCRIBE_FIXED + 255 + 1 + 255 };
size_t put_subscribe(char *at, struct subscribing subscribing);

size_t put_detach(char *at, uint64_t request, uint32_t subscription);
// Removes a durable subscription of the client's own user.
size_t put_remove(char *at, uint64_t request, const char *durable);
// Acknowledges everything up to the sequence with one range.
enum { ACKNOWLEDGE_ONE = HEADER_FIXED + ACKNOWLEDGE_FIXED + 2 * sizeof(uint64_t) };
size_t put_acknowledge(char *at, uint32_t subscription, uint64_t through);

// The payload follows the name, and is not written.
size_t put_post(char *at, const char *name, size_t payload, enum durability durability, bool has_receipt);
static inline size_t post_name_offset(void) { return HEADER_FIXED + POST_FIXED; }
// A set value, whose first fields are those of a post.
size_t put_set_value(char *at, const char *name, size_t payload, enum durability durability, bool has_receipt);
static inline size_t set_value_name_offset(void) { return HEADER_FIXED + SET_VALUE_FIXED; }
// Sets the request number of a post or set value.
static inline void set_request(char *post, uint64_t request) {
    memcpy(post + HEADER_FIXED + POST_REQUEST, &request, sizeof request);
}

enum { PING_SIZE = HEADER_FIXED + sizeof(uint64_t) };
size_t put_ping(char *at, uint64_t request);

// Requests to servers. The payload follows the name of an ask, and is not written.
enum { SERVE_MOST = HEADER_FIXED + SERVE_FIXED + 1 + 255 };
size_t put_serve(char *at, uint64_t request, uint32_t server, uint32_t concurrency, const char *pattern);
size_t put_ask(char *at, const char *name, size_t payload, uint32_t milliseconds);
// A reply without headers. The payload is written.
size_t put_reply(char *at, uint64_t call, const char *payload, size_t size);

struct reading {
    uint64_t request, epoch, run, position;
    uint64_t last;                     // the last key, or the second position
    uint32_t messages;
    uint8_t options;
    const char *pattern;
};
enum { READ_VALUES_MOST = HEADER_FIXED + READ_VALUES_FIXED + 1 + 255, READ_CHANGES = 1, REACHES_END = 1 };
#define LAST_STORED_KEY ((uint64_t)INT64_MAX)
size_t put_read_values(char *at, struct reading reading);
