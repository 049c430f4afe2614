// SQLite, loaded when it is first called.
#include <sqlite3.h>

#include "loaded/forward.h"

RDMABENCH_FORWARD_3(sqlite, sqlite3_bind_int64)
RDMABENCH_FORWARD_6(sqlite, sqlite3_bind_text64)
RDMABENCH_FORWARD_2(sqlite, sqlite3_busy_timeout)
RDMABENCH_FORWARD_1(sqlite, sqlite3_changes)
RDMABENCH_FORWARD_1(sqlite, sqlite3_close_v2)
RDMABENCH_FORWARD_2(sqlite, sqlite3_column_bytes)
RDMABENCH_FORWARD_2(sqlite, sqlite3_column_int64)
RDMABENCH_FORWARD_2(sqlite, sqlite3_column_text)
RDMABENCH_FORWARD_1(sqlite, sqlite3_errcode)
RDMABENCH_FORWARD_1(sqlite, sqlite3_errmsg)
RDMABENCH_FORWARD_5(sqlite, sqlite3_exec)
RDMABENCH_FORWARD_1(sqlite, sqlite3_finalize)
RDMABENCH_FORWARD_4(sqlite, sqlite3_open_v2)
RDMABENCH_FORWARD_5(sqlite, sqlite3_prepare_v2)
RDMABENCH_FORWARD_1(sqlite, sqlite3_reset)
RDMABENCH_FORWARD_1(sqlite, sqlite3_step)
