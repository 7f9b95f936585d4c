// Values: storing them, reading one of many, and reading all of them.
#include "load.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// As many messages as the client library requests.
enum { PAGE_MESSAGES = 4096 };

// Posts the messages, as values or not, and frees the times of their receipts.
static struct result post_as(struct load load, bool values, uint64_t seed) {
    load.values = values, load.seed = seed;
    struct result result = post_all(&load);
    free(result.trips);
    return result;
}

// Waits until the daemon has ended its work. Returns the processor time that it has used meanwhile.
static double finish(int pid) {
    double start = processor_seconds(pid), last, used = start;
    do {
        last = used;
        usleep(200 * 1000);
        used = processor_seconds(pid);
    } while (used - last > 0.01);
    return used - start;
}

void set_values(struct load *load, long rounds) {
    struct load first = *load;
    first.messages = load->names;
    post_as(first, true, 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (long round = 0; round < rounds; round++) {
        struct result results[2];
        for (int values = 0; values < 2; values++) {
            results[values] = post_as(*load, values, 1 + round * load->messages);
            double rest = finish(load->pid);
            results[values].seconds += rest, results[values].processor += rest;
            printf("%s-rate %.0f  %s-ns %.0f  ", values ? "value" : "stored", load->messages / results[values].seconds,
                   values ? "value" : "stored", results[values].processor / load->messages * 1e9);
        }
        printf("ratio %.3f\n", results[1].seconds / results[0].seconds);
    }
}

// Reads whole frames from a blocking connection.
struct reader {
    int fd;
    char *bytes;
    size_t at, end;
};

static struct reader open_reader(const char *socket) {
    struct connection c = connect_to(socket);
    free(c.kept);
    return (struct reader){.fd = c.fd, .bytes = malloc(2 * READ_BYTES)};
}

static void close_reader(struct reader *r) {
    close(r->fd);
    free(r->bytes);
}

// The next frame, which must be of this kind. It is valid until the next call.
static const char *next_frame(struct reader *r, uint8_t kind) {
    while (!has_frame(r->bytes + r->at, r->end - r->at)) {
        memmove(r->bytes, r->bytes + r->at, r->end - r->at);
        r->end -= r->at, r->at = 0;
        if (r->end > READ_BYTES) fail("a frame over %d bytes", READ_BYTES);
        ssize_t n = read(r->fd, r->bytes + r->end, READ_BYTES);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail("read: %s", strerror(errno));
        if (n == 0) fail("the daemon closed the connection");
        r->end += n;
    }
    const char *frame = r->bytes + r->at;
    r->at += frame_size(frame);
    check_kind(frame, kind);
    return frame;
}

// Requests a page, and reads its first frame, whose body is returned. It is valid until the next frame is read.
static const char *request_page(struct reader *r, struct reading reading) {
    char frame[READ_VALUES_MOST];
    reading.request = next_request();
    send_all(r->fd, frame, put_read_values(frame, reading));
    const char *page = next_frame(r, VALUE_PAGE) + HEADER_FIXED;
    if (u64(page + VALUE_PAGE_REQUEST) != reading.request) fail("a page for another request");
    if (u64(page + VALUE_PAGE_DAMAGED)) fail("%lu damaged values", u64(page + VALUE_PAGE_DAMAGED));
    return page;
}

static bool has_name(const char *delivery, const char *name) {
    const char *body = delivery + HEADER_FIXED;
    return (uint8_t)body[DELIVER_NAME_LENGTH] == strlen(name) && !memcmp(body + DELIVER_FIXED, name, strlen(name));
}

static double ping(struct reader *r) {
    char frame[PING_SIZE];
    size_t size = put_ping(frame, next_request());
    double start = now();
    send_all(r->fd, frame, size);
    next_frame(r, PONG);
    return now() - start;
}

static double read_one(struct reader *r, long number) {
    char name[sizeof NUMBERED_NAME];
    memcpy(name, NUMBERED_NAME, sizeof name);
    number_name(name, number);
    double start = now();
    const char *page = request_page(r, (struct reading){.last = UINT64_MAX, .messages = 1, .pattern = name});
    if (u32(page + VALUE_PAGE_COUNT) != 1) fail("%u values of %s", u32(page + VALUE_PAGE_COUNT), name);
    const char *delivery = next_frame(r, DELIVER);
    double seconds = now() - start;
    if (!has_name(delivery, name)) fail("a value of another name than %s", name);
    return seconds;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void read_values(const char *socket, long names, long reads) {
    struct reader reader = open_reader(socket);
    double *pings = malloc(sizeof *pings * reads), *gets = malloc(sizeof *gets * reads);
    srandom(1);
    for (long i = 0; i < reads; i++) {
        pings[i] = ping(&reader);
        gets[i] = read_one(&reader, random() % names);
    }
    qsort(pings, reads, sizeof *pings, by_value);
    qsort(gets, reads, sizeof *gets, by_value);
    long half = reads / 2, most = reads * 99 / 100;
    printf("ping-us p50 %.1f p99 %.1f  get-us p50 %.1f p99 %.1f  difference-us median %.1f ninety-ninth %.1f\n",
           pings[half] * 1e6, pings[most] * 1e6, gets[half] * 1e6, gets[most] * 1e6, (gets[half] - pings[half]) * 1e6,
           (gets[most] - pings[half]) * 1e6);
    free(pings);
    free(gets);
    close_reader(&reader);
}

// Reads the deliveries of a page, and notes the numbers of their names.
static void read_deliveries(struct reader *r, uint32_t count, uint8_t *seen, long names) {
    for (; count; count--) {
        const char *delivery = next_frame(r, DELIVER);
        char digits[DIGITS + 1] = {0};
        memcpy(digits, delivery + HEADER_FIXED + DELIVER_FIXED + NUMBERED_NAME_BYTES - DIGITS, DIGITS);
        long number = strtol(digits, NULL, 16);
        if (number >= names || seen[number]++) fail("a value of the name %ld, which has none or was read", number);
    }
}

void watch_values(const char *socket, long names) {
    struct reader reader = open_reader(socket);
    uint8_t *seen = calloc(names, 1);
    struct reading reading = {.last = UINT64_MAX, .messages = PAGE_MESSAGES, .pattern = NUMBERED_PATTERN};
    uint64_t sequence = 0;
    long count = 0;
    double start = now();
    for (bool ends = false; !ends;) {
        const char *page = request_page(&reader, reading);
        uint32_t messages = u32(page + VALUE_PAGE_COUNT);
        uint8_t flags = page[VALUE_PAGE_FLAGS];
        if (flags & ~REACHES_END) fail("a page with the flags %d", flags);
        if (!reading.options && !reading.position) sequence = u64(page + VALUE_PAGE_SEQUENCE);
        reading.epoch = u64(page + VALUE_PAGE_EPOCH), reading.run = u64(page + VALUE_PAGE_RUN);
        reading.position = u64(page + VALUE_PAGE_POSITION);
        if (reading.options) {
            ends = flags & REACHES_END;
        } else if (!(flags & REACHES_END)) {
            if (reading.last == UINT64_MAX) reading.last = u64(page + VALUE_PAGE_LAST);
        } else if (reading.last <= LAST_STORED_KEY) {
            reading.position = LAST_STORED_KEY, reading.last = UINT64_MAX;
        } else {
            reading.options = READ_CHANGES, reading.position = sequence;
            reading.last = u64(page + VALUE_PAGE_ANNOUNCED);
        }
        read_deliveries(&reader, messages, seen, names);
        count += messages;
    }
    double seconds = now() - start;
    if (count != names) fail("%ld values of %ld", count, names);
    printf("watch-rate %.0f\n", count / seconds);
    free(seen);
    close_reader(&reader);
}
