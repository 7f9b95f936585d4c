#include <sqlite3.h>

/* Swift can't call functions with variable arguments. */
static inline int notifyd_keep_files_on_close(sqlite3 *connection, int keeps) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps, (int *)0);
}
