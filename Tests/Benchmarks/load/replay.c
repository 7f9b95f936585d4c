// A durable subscription that gets stored messages when it attaches.
#include "load.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char DURABLE[] = "load";

static void remove_subscription(int fd) {
    char frame[HEADER_FIXED + REMOVE_FIXED + sizeof DURABLE];
    send_all(fd, frame, put_remove(frame, next_request(), DURABLE));
    expect(fd, REMOVED);
}

static void acknowledge(struct connection *c) {
    char frame[ACKNOWLEDGE_ONE];
    send_all(c->fd, frame, put_acknowledge(frame, 1, c->sequence));
    c->acknowledged = c->count;
}

static void attach(int fd, struct load *load) {
    (load->members ? join : subscribe)(fd, DURABLE, load->window);
}

// Receives all messages on the connections of the readers, and acknowledges them. Returns when all have arrived.
static void receive_all(struct connection *readers, long count, struct load *load) {
    struct pollfd *waiting = calloc(count, sizeof *waiting);
    for (long i = 0; i < count; i++) waiting[i] = (struct pollfd){.fd = readers[i].fd, .events = POLLIN};
    for (uint64_t total = 0; total < (uint64_t)load->messages;) {
        if (poll(waiting, count, STALL_SECONDS * 1000) <= 0)
            fail("nothing for %d s, after %lu of %ld messages", STALL_SECONDS, total, load->messages);
        for (long i = 0; i < count; i++) {
            if (!waiting[i].revents) continue;
            struct connection *reader = &readers[i];
            uint64_t before = reader->count;
            receive(reader);
            total += reader->count - before;
            if (reader->count - reader->acknowledged >= (uint64_t)load->window / 4) acknowledge(reader);
        }
    }
    for (long i = 0; i < count; i++)
        if (readers[i].count > readers[i].acknowledged) acknowledge(&readers[i]);
    free(waiting);
}

// Creates the subscription, and stores the messages.
static void store_all(struct load *load) {
    struct connection creator = connect_to(load->socket);
    attach(creator.fd, load);
    detach(creator.fd);
    close(creator.fd);
    struct load storing = *load;
    storing.rounds = 0;
    storing.subscribers = 0;
    storing.window = 2000, storing.batch = 100;
    post_all(&storing);
}

void replay_rounds(struct load *load) {
    if (load->members || load->window < load->messages)
        fail("with --rounds, WINDOW is at least MESSAGES, and there is no --group");
    store_all(load);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int c; (c = getchar()) != EOF;) {
        if (c != '\n') continue;
        struct connection reader = connect_to(load->socket);
        attach(reader.fd, load);
        while (reader.count < (uint64_t)load->messages) receive(&reader);
        detach(reader.fd);
        close(reader.fd);
        puts("complete");
    }
    struct connection remover = connect_to(load->socket);
    remove_subscription(remover.fd);
    close(remover.fd);
}

struct result replay(struct load *load) {
    store_all(load);

    struct result result = {0};
    long count = load->members ? load->members : 1;
    struct connection *readers = calloc(count, sizeof *readers);
    // No number has arrived twice, and there are as many messages as numbers, so no message is missing.
    uint8_t *received = load->members ? calloc(load->messages, 1) : NULL;
    for (long i = 0; i < count; i++) {
        readers[i] = connect_to(load->socket);
        readers[i].received = received;
        readers[i].messages = load->messages;
    }
    double processor = processor_seconds(load->pid), start = now();
    for (long i = 0; i < count; i++) attach(readers[i].fd, load);
    receive_all(readers, count, load);
    result.seconds = now() - start;
    result.processor = processor_seconds(load->pid) - processor;
    result.memory = resident_megabytes(load->pid);
    for (long i = 0; i < count; i++) detach(readers[i].fd);
    remove_subscription(readers[0].fd);
    for (long i = 0; i < count; i++) close(readers[i].fd);
    free(readers);
    free(received);
    return result;
}
