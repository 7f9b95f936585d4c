#include <sqlite3.h>

/* Swift can't call functions with variable arguments. */

/* Turns an option of a connection (SQLITE_DBCONFIG_...) on or off. */
static inline int notifyd_set_option(sqlite3 *connection, int option, int isOn) {
    return sqlite3_db_config(connection, option, isOn, (int *)0);
}
