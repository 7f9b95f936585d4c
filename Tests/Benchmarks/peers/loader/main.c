// Drives one server in one mode: loader [--names NAMES] PROTOCOL ADDRESS PID SUBSCRIBERS SECONDS PAYLOAD ...
//
// PROTOCOL is one of those below, ADDRESS a path or HOST:PORT, PID the server's process, whose processor time is read
// from /proc. One connection posts, each of SUBSCRIBERS connections receives and acknowledges where the mode has
// acknowledgements. A message is complete when every subscriber has it and, if the mode has receipts, the poster has
// its receipt. The load fails if a message is missing or out of order.
//
// For each PAYLOAD, messages are posted for SECONDS one at a time, and for SECONDS pipelined: at most 1,000 messages
// are in flight, and fewer if those exceed 2 MiB for one subscriber or 32 MiB for all. A line is printed for each
// measurement. It has the 99th percentile of round trips only if there were 100 or more.
//
// Requests are answered by one subscriber, and are complete when the poster has the reply. They are measured only one at
// a time.
//
// With --names, messages are posted under NAMES names in turn, to subscriptions with one pattern for all of these names.
// Each name is posted once before the measurement, which is only pipelined.
#include "peers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_MESSAGES = 3, MOST_IN_FLIGHT = 1000, BYTES_EACH = 2 << 20, BYTES_TOTAL = 32 << 20, OVERHEAD = 64 };

static const struct protocol *const protocols[] = {
    &notifyd_volatile, &notifyd_receipts, &notifyd_stored, &notifyd_synced, &notifyd_request, &nats_core,
    &nats_jetstream, &nats_request, &redis_pubsub, &redis_streams, &mqtt_qos0, &mqtt_qos1,
};
enum { PROTOCOLS = sizeof protocols / sizeof *protocols };

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static long pipelined_window(long subscribers) {
    long each = payload_bytes + OVERHEAD, window = BYTES_EACH / each;
    if (subscribers && window > BYTES_TOTAL / (each * subscribers)) window = BYTES_TOTAL / (each * subscribers);
    return window > MOST_IN_FLIGHT ? MOST_IN_FLIGHT : window < 1 ? 1 : window;
}

static void print(struct measurement m, long subscribers, const char *pacing) {
    double copies = (double)m.messages * (subscribers ? subscribers : 1);
    printf("%ld %s rate %.0f processor-ns %.0f", payload_bytes, pacing, copies / m.seconds, m.processor / copies * 1e9);
    if (m.trips) {
        qsort(m.trips, m.messages, sizeof *m.trips, by_value);
        printf(" p50-us %.1f", m.trips[m.messages / 2] * 1e6);
        if (m.messages >= 100) printf(" p99-us %.1f", m.trips[m.messages * 99 / 100] * 1e6);
        free(m.trips);
    }
    printf("\n");
}

int main(int count, char **arguments) {
    if (count > 2 && !strcmp(arguments[1], "--names")) {
        names = atol(arguments[2]);
        if (names < 1) fail("NAMES is at least 1");
        count -= 2, arguments += 2;
    }
    for (int i = 0; count > 6 && i < PROTOCOLS; i++)
        if (!strcmp(arguments[1], protocols[i]->name)) protocol = protocols[i];
    if (!protocol) fail("[--names NAMES] PROTOCOL ADDRESS PID SUBSCRIBERS SECONDS PAYLOAD ...");
    if (names && !protocol->has_names) fail("%s has no names", protocol->name);
    int pid = atoi(arguments[3]);
    long subscribers = atol(arguments[4]);
    double seconds = atof(arguments[5]);
    if (subscribers < 0 || (!subscribers && !protocol->has_receipts) || seconds <= 0)
        fail("SUBSCRIBERS and SECONDS are positive; SUBSCRIBERS may be 0 where posts have receipts");
    if (protocol->is_request && subscribers != 1) fail("one subscriber answers requests");
    struct session session = open_session(arguments[2], subscribers);
    for (int i = 6; i < count; i++) {
        payload_bytes = atol(arguments[i]);
        if (payload_bytes < 8 || payload_bytes > KEPT_BYTES / 2) fail("PAYLOAD is 8 to %d", KEPT_BYTES / 2);
        long window = pipelined_window(subscribers);
        if (names)
            measure(&session, pid, 0, names, window);
        else
            print(measure(&session, pid, seconds, LEAST_MESSAGES, 1), subscribers, "single");
        if (!protocol->is_request)
            print(measure(&session, pid, seconds, LEAST_MESSAGES, window), subscribers, "pipelined");
    }
    return 0;
}
