// A durable subscription that gets stored messages when it attaches.
#include "load.h"
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static const char DURABLE[] = "load";

static void remove_subscription(int fd) {
    char remove[HEADER + 13 + sizeof DURABLE - 1];
    size_t size = frame(remove, sizeof remove - HEADER, REMOVE, 0);
    number_request(remove + HEADER);
    memset(remove + HEADER + 8, 0xff, 4);
    remove[HEADER + 12] = sizeof DURABLE - 1;
    memcpy(remove + HEADER + 13, DURABLE, sizeof DURABLE - 1);
    send_all(fd, remove, size);
    expect(fd, REMOVED);
}

static void acknowledge(struct connection *c) {
    char acknowledge[HEADER + 24];
    size_t size = frame(acknowledge, 24, ACKNOWLEDGE, 0);
    acknowledge[HEADER] = acknowledge[HEADER + 4] = 1;
    memcpy(acknowledge + HEADER + 16, &c->sequence, 8);
    send_all(c->fd, acknowledge, size);
}

struct result replay(struct load *load) {
    struct connection creator = connect_to(load->socket);
    subscribe(creator.fd, DURABLE, load->window);
    detach(creator.fd);
    close(creator.fd);
    struct load storing = *load;
    storing.subscribers = 0;
    storing.window = 2000, storing.batch = 100;
    post_all(&storing);

    struct result result = {0};
    struct connection reader = connect_to(load->socket);
    struct timeval limit = {.tv_sec = STALL_SECONDS};
    setsockopt(reader.fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    double processor = processor_seconds(load->pid), start = now();
    subscribe(reader.fd, DURABLE, load->window);
    for (uint64_t acknowledged = 0; reader.count < (uint64_t)load->messages;) {
        uint64_t before = reader.count;
        size_t kept = reader.kept_bytes;
        receive(&reader);
        if (reader.count == before && reader.kept_bytes == kept)
            fail("nothing for %d s, after %lu of %ld messages", STALL_SECONDS, before, load->messages);
        if (reader.count - acknowledged >= (uint64_t)load->window / 4 || reader.count == (uint64_t)load->messages) {
            acknowledge(&reader);
            acknowledged = reader.count;
        }
    }
    result.seconds = now() - start;
    result.processor = processor_seconds(load->pid) - processor;
    result.memory = resident_megabytes(load->pid);
    detach(reader.fd);
    remove_subscription(reader.fd);
    close(reader.fd);
    return result;
}
