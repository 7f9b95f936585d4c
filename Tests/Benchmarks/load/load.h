// Declarations shared by the files of the load generator.
#pragma once
#include "frames.h"
#include "names.h"
#include "process.h"

enum { READ_BYTES = 1 << 18, STALL_SECONDS = 120 };

struct load {
    const char *socket;
    enum durability durability;
    long subscribers, messages, payload, window, batch;
    long names;           // how many names the posts have; 0: all have NAME
    long members;         // of the group that gets the messages; 0: one client alone gets them
    long each;            // the subscriptions of each subscriber's connection; all after the first are to '>'
    uint64_t seed;        // of a random order of the names; 0: they take turns
    int pid;
    bool receipts, rounds;
    bool values;          // each post sets the value of its name
};

// connection.c

struct connection {
    int fd;
    char *kept;           // the beginning of a frame that is not complete yet
    size_t kept_bytes;
    uint64_t count;       // deliveries or receipts so far
    uint64_t sequence;    // of the last delivery
    uint64_t acknowledged;
    uint8_t *received;    // for members: which payload numbers one of them has received; NULL for others
    uint64_t messages;    // the number of flags in `received`
};

struct connection connect_to(const char *path);
// Reads once and checks every complete frame. Returns without an effect when there is nothing to read.
void receive(struct connection *c);
// Sends all bytes. The connection must be blocking.
void send_all(int fd, const char *bytes, size_t count);
// Reads the next frame of the connection, which must be of this kind. `input` holds the frame until the next read.
const char *expect(int fd, uint8_t kind);
// The number of a request other than a post. The numbers increase on each connection, as the protocol requires.
uint64_t next_request(void);
// Subscribes to NAME. An empty durable name means a volatile subscription.
void subscribe(int fd, const char *durable, long window);
// Subscribes to all names, as the given subscription, from 2.
void subscribe_to_all(int fd, uint32_t subscription);
// Joins the group of a durable subscription to NAME.
void join(int fd, const char *durable, long window);
// Leaves the durable subscription, so that its acknowledgements are in the log.
void detach(int fd);

// posting.c

struct result {
    double seconds, processor, memory, growth;
    double *trips;        // of each message if the window is 1, or if it is stored
};

// Posts all messages, and waits until every subscriber has them and every receipt has arrived.
struct result post_all(struct load *load);
// Posts all messages again on the same connections for each line of the standard input, and prints a line after each
// round.
void post_rounds(struct load *load);

// subscriptions.c

// Creates as many durable subscriptions as the load has messages.
void create_subscriptions(struct load *load);

// replay.c

// Stores the messages for a durable subscription without a client, and measures their delivery after a client attaches.
struct result replay(struct load *load);
// Stores the messages once. For each line of the standard input, delivers them to a client that attaches and acknowledges
// nothing, and prints a line after each round.
void replay_rounds(struct load *load);

// values.c

// Sets the values of the load's names. Then stores messages of these names, and sets their values, in turns and in a
// random order of the names, and prints a line after each of the rounds. Both times include the processor time that the
// daemon uses after the last receipt.
void set_values(struct load *load, long rounds);
// Reads random values of the names one by one, each after a ping, and prints the times.
void read_values(const char *socket, long names, long reads);
// Reads the values of all names page by page as a watch does, until there is no further change, and prints the rate.
void watch_values(const char *socket, long names);

// spawn.c

// Runs the program repeatedly for `seconds`, with `size` bytes on its standard input. Returns the runs per second.
double spawn_all(long seconds, long size, const char *program);
