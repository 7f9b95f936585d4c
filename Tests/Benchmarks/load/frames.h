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

    WELCOME = 0x41,
    RECEIPT = 0x42,
    RECEIPT_REQUEST = 0,           // 8: request
    SUBSCRIBED = 0x43,
    DETACHED = 0x44,
    REMOVED = 0x45,

    DELIVER = 0x50,
    DELIVER_FIXED = 36,
    DELIVER_SEQUENCE = 0,          // 8: sequence
    DELIVER_HEADERS_LENGTH = 28,   // 2: length of the headers
    DELIVER_NAME_LENGTH = 30,      // 1: length of the name
    DELIVER_OBJECT_LENGTH = 31,    // 1: length of the object
    DELIVER_ID_LENGTH = 32,        // 1: length of the message id

    GAP = 0x53,
    GAP_DROPPED = 8,               // 8: number of messages dropped

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
// Sets the request number of a post.
static inline void set_request(char *post, uint64_t request) {
    memcpy(post + HEADER_FIXED + POST_REQUEST, &request, sizeof request);
}
