/* Made from tilepragma/plan/shared_constants.py, which explains the numbers; a test compares. */
#ifndef TILEK_SHARED_CONSTANTS_H
#define TILEK_SHARED_CONSTANTS_H

enum {
    TILEK_BLOCK_COST = 5,
    TILEK_MOST_TIMES = 3,
    TILEK_OTHER_COST = 12,
    TILEK_OTHER_TIMES = 2,
    TILEK_FEW_ROWS = 24,
    TILEK_COLUMN_COST = 12,
    TILEK_COLUMNS_EACH = 2,
    TILEK_LEAST_OPERATIONS = 1048576,
    TILEK_BREAK_EVEN = 8000,
    TILEK_MOST_WAVES = 64,
    TILEK_LEAST_WORKERS = 64,
    TILEK_LANES = 32,
    TILEK_HIDING_WORKERS = 320,
    TILEK_COPIED_POINTS = 4,
};

#define TILEK_PREFERRED_WORKERS {{256, 1, 1}, {32, 8, 1}, {32, 4, 2}}

#endif
