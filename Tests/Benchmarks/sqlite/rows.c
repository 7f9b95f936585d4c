// Inserts rows into a new SQLite database with a write-ahead log, as a program without a daemon would: rows FILE ROWS
// PAYLOAD BATCH PAGE. BATCH rows share a transaction, which is not flushed (synchronous=NORMAL), and pages have PAGE
// bytes. Prints the rate, and the processor time of a row.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static sqlite3 *database;

static void check(int result) {
    if (result == SQLITE_OK || result == SQLITE_DONE) return;
    fprintf(stderr, "rows: %s\n", sqlite3_errmsg(database));
    exit(1);
}

static void execute(const char *statement) { check(sqlite3_exec(database, statement, NULL, NULL, NULL)); }

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
    if (count != 6) {
        fprintf(stderr, "usage: rows FILE ROWS PAYLOAD BATCH PAGE\n");
        return 2;
    }
    long rows = atol(arguments[2]), payload = atol(arguments[3]), batch = atol(arguments[4]);
    char pragma[64];
    check(sqlite3_open(arguments[1], &database));
    snprintf(pragma, sizeof pragma, "PRAGMA page_size = %ld", atol(arguments[5]));
    execute(pragma);
    execute("PRAGMA journal_mode = WAL");
    execute("PRAGMA synchronous = NORMAL");
    execute("PRAGMA locking_mode = EXCLUSIVE");
    execute("CREATE TABLE messages (sequence INTEGER PRIMARY KEY, payload BLOB NOT NULL) STRICT");
    sqlite3_stmt *insert;
    check(sqlite3_prepare_v2(database, "INSERT INTO messages VALUES (?, ?)", -1, &insert, NULL));
    char *bytes = malloc(payload);
    memset(bytes, 'x', payload);

    double elapsed = seconds(CLOCK_MONOTONIC), processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (long row = 0; row < rows; row++) {
        if (row % batch == 0) execute("BEGIN");
        check(sqlite3_bind_int64(insert, 1, row + 1));
        check(sqlite3_bind_blob(insert, 2, bytes, payload, SQLITE_STATIC));
        check(sqlite3_step(insert));
        check(sqlite3_reset(insert));
        if (row % batch == batch - 1 || row == rows - 1) execute("COMMIT");
    }
    elapsed = seconds(CLOCK_MONOTONIC) - elapsed;
    processor = seconds(CLOCK_PROCESS_CPUTIME_ID) - processor;
    printf("rows/s %.0f ns/row %.0f\n", rows / elapsed, processor / rows * 1e9);
    check(sqlite3_finalize(insert));
    check(sqlite3_close(database));
}
