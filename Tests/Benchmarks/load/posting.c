// One connection posts, and every subscriber's connection receives.
#define _GNU_SOURCE
#include "load.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct poster {
    struct connection *connection;
    char *frames;         // a batch of posts
    size_t frame_size, name_at, at, size;
    long sent;
    double *written;      // when each message was written; null if the times are not needed
};

// Spreads numbers evenly, in an order without a pattern (the finalizer of SplitMix64).
static uint64_t shuffled(uint64_t number) {
    number += 0x9e3779b97f4a7c15;
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
    number = (number ^ number >> 27) * 0x94d049bb133111eb;
    return number ^ number >> 31;
}

// The payload of a post begins with the number of the message, which subscribers check.
static void number_post(char *at, size_t name_at, uint64_t number, struct load *load) {
    char *name = at + name_at;
    set_request(at, number + 1);
    if (load->names) number_name(name, (load->seed ? shuffled(load->seed + number) : number) % load->names);
    memcpy(name + (load->names ? NUMBERED_NAME_BYTES : NAME_BYTES), &number, sizeof number);
}

static struct poster poster_on(struct connection *connection, struct load *load) {
    struct poster p = {.connection = connection};
    const char *name = load->names ? NUMBERED_NAME : NAME;
    p.name_at = load->values ? set_value_name_offset() : post_name_offset();
    size_t payload_at = p.name_at + strlen(name);
    p.frame_size = payload_at + load->payload;
    p.frames = malloc(p.frame_size * load->batch);
    for (long i = 0; i < load->batch; i++) {
        char *at = p.frames + i * p.frame_size;
        (load->values ? put_set_value : put_post)(at, name, load->payload, load->durability, load->receipts);
        memset(at + payload_at, 'x', load->payload);
    }
    return p;
}

// The number of posts of the next write; 0 if nothing can be written yet.
static long next_batch(struct poster *p, struct load *load, long done) {
    long left = load->messages - p->sent, in_flight = p->sent - done, count = load->window - in_flight;
    if (load->rounds && in_flight) return 0;
    if (count > left) count = left;
    // Half a batch is not worth a write while more of the window is in flight.
    if (count < load->batch / 2 && count < left) return 0;
    return count > load->batch ? load->batch : count;
}

// Writes while the window and the socket have room. Returns whether the socket is full.
static bool post(struct poster *p, struct load *load, long done) {
    for (;;) {
        if (p->at == p->size) {
            long count = next_batch(p, load, done);
            if (count <= 0) return false;
            for (long i = 0; i < count; i++) number_post(p->frames + i * p->frame_size, p->name_at, p->sent + i, load);
            p->at = 0;
            p->size = count * p->frame_size;
            double written = p->written ? now() : 0;
            for (long i = 0; p->written && i < count; i++) p->written[p->sent + i] = written;
            p->sent += count;
        }
        ssize_t n = write(p->connection->fd, p->frames + p->at, p->size - p->at);
        if (n < 0 && errno == EAGAIN) return true;
        if (n < 0) fail("write: %s", strerror(errno));
        p->at += n;
    }
}

// The number of messages that every subscriber has, and that have a receipt if receipts are requested.
static long finished(struct connection *connections, struct load *load) {
    long least = load->messages;
    for (long i = 0; i < load->subscribers; i++)
        if ((long)connections[i].count < least) least = connections[i].count;
    if (load->receipts && (long)connections[load->subscribers].count < least)
        least = connections[load->subscribers].count;
    return least;
}

static void watch(int epoll, int operation, struct connection *c, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = c};
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    if (epoll_ctl(epoll, operation, c->fd, &event)) fail("epoll: %s", strerror(errno));
}

struct posting {
    struct connection *connections;    // the subscribers', and the poster's behind them
    struct poster poster;
    double growth;
    long done;
    int epoll;
};

static struct posting open_all(struct load *load) {
    struct posting posting = {.epoll = epoll_create1(0)};
    double before = resident_megabytes(load->pid);
    posting.connections = calloc(load->subscribers + 1, sizeof *posting.connections);
    for (long i = 0; i <= load->subscribers; i++) {
        struct connection *connection = &posting.connections[i];
        *connection = connect_to(load->socket);
        if (i < load->subscribers) {
            subscribe(connection->fd, "", 0);
            for (long s = 2; s <= load->each; s++) subscribe_to_all(connection->fd, s);
        }
        watch(posting.epoll, EPOLL_CTL_ADD, connection, EPOLLIN);
    }
    posting.growth = resident_megabytes(load->pid) - before;
    posting.poster = poster_on(&posting.connections[load->subscribers], load);
    return posting;
}

static void close_all(struct posting *posting, struct load *load) {
    for (long i = 0; i <= load->subscribers; i++) {
        close(posting->connections[i].fd);
        free(posting->connections[i].kept);
    }
    free(posting->connections);
    free(posting->poster.frames);
    free(posting->poster.written);
    close(posting->epoll);
}

// Posts until `messages` of the load have been sent, and all their deliveries and receipts have arrived.
static void run(struct posting *posting, struct load *load, double *trips) {
    struct connection *connection = posting->poster.connection;
    bool was_full = false;
    while (posting->done < load->messages) {
        bool is_full = post(&posting->poster, load, posting->done);
        if (is_full != was_full)
            watch(posting->epoll, EPOLL_CTL_MOD, connection, EPOLLIN | (is_full ? EPOLLOUT : 0));
        was_full = is_full;
        struct epoll_event events[256];
        int count = epoll_wait(posting->epoll, events, 256, STALL_SECONDS * 1000);
        if (count < 0 && errno == EINTR) continue;     // stopped and continued
        if (count <= 0)
            fail("nothing for %d s, after %ld of %ld messages", STALL_SECONDS, posting->done, load->messages);
        for (int i = 0; i < count; i++)
            if (events[i].events & ~EPOLLOUT) receive(events[i].data.ptr);
        long before = posting->done;
        posting->done = finished(posting->connections, load);
        double end = trips ? now() : 0;
        for (long i = before; trips && i < posting->done; i++) trips[i] = end - posting->poster.written[i];
    }
}

struct result post_all(struct load *load) {
    struct posting posting = open_all(load);
    struct result result = {.growth = posting.growth};
    if (load->window == 1 || (load->durability && load->receipts)) {
        result.trips = malloc(sizeof *result.trips * load->messages);
        posting.poster.written = malloc(sizeof *posting.poster.written * load->messages);
    }
    double processor = processor_seconds(load->pid), start = now();
    run(&posting, load, result.trips);
    result.seconds = now() - start;
    result.processor = processor_seconds(load->pid) - processor;
    result.memory = resident_megabytes(load->pid);
    close_all(&posting, load);
    return result;
}

void post_rounds(struct load *load) {
    struct posting posting = open_all(load);
    long messages = load->messages;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int c; (c = getchar()) != EOF;) {
        if (c != '\n') continue;
        run(&posting, load, NULL);
        load->messages += messages;
        puts("complete");
    }
    close_all(&posting, load);
}
