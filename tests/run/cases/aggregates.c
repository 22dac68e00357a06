/* Pointers to rows, structs and arrays that functions get, or that iterations have each for themselves. */
#include "check.h"

static double **rows_of(int rows, int columns)
{
    double **const made = check_allocate(rows, sizeof *made);
    made[0] = check_doubles((size_t)rows * columns);
    for (int r = 1; r < rows; r++)
        made[r] = made[r - 1] + columns;
    return made;
}

static void free_rows(double **rows)
{
    free(rows[0]);
    free(rows);
}

// case rows_in_function: functions index pointers to rows themselves, pass rows and tables on, and move along both
static double squares(const double *a, const double *b, int m)
{
    double sum = 0;
    for (int c = 0; c < m; c++)
        sum += (a[c] - b[c]) * (a[c] - b[c]);
    return sum;
}

static int nearest(const double *point, double **table, int rows, int columns)
{
    int best = 0;
    for (int r = 1; r < rows; r++)
        if (squares(point, table[r], columns) < squares(point, *(table + best), columns))
            best = r;
    return best;
}

static double corner(const double *const *p, int rows, int m) { return p[rows - 1][m - 1] + **p + *(*p + 1); }

static double from_second(double *const *restrict p, int rows, int columns)
{
    double *const *const rest = p + 1;
    const double *const row = rest[rows - 2];
    return row[columns - 1] + corner((const double *const *)rest, rows - 1, columns);
}

static void add_to_row(double **p, int r, int columns, double value)
{
    double *const row = p[r];
    for (int c = 0; c < columns; c++)
        row[c] += value;
}

CASE(rows_in_function)
{
    enum { N = 41, ROWS = 6, COLUMNS = 5 };
    double **const points = rows_of(N, COLUMNS), **const table = rows_of(ROWS, COLUMNS), **const out = rows_of(N, 3);
    int found[N];
#pragma tilek kernel independent data(points[0:N][0:COLUMNS], table[0:ROWS][0:COLUMNS], out[0:N][0:3], found[0:N])
    for (int i = 0; i < N; i++) {
        found[i] = nearest(points[i], table, ROWS, COLUMNS);
        add_to_row(out, i, 3, from_second(table, ROWS, COLUMNS) + corner((const double *const *)&points[i], 1, COLUMNS));
    }
#pragma tilek kernel independent data(table[2:ROWS-2][1:COLUMNS-1], out[4:N-4][0:3])
    for (int i = 4; i < N; i++)
        out[i][1] -= squares(table[2 + i % 4] + 1, table[5] + 1, COLUMNS - 1) + corner((const double *const *)(out + i), 1, 3);
    check_record("found", found, sizeof found);
    check_record_rows("out", (void *const *)out, N, 3 * sizeof(double));
    free_rows(points);
    free_rows(table);
    free_rows(out);
}

// case planes_in_function: three levels of pointers, of which a function gets one, two or all; typedefs, struct members, arrays of pointers
typedef double *row;
typedef row *plane;
struct space {
    int planes, rows, columns;
    plane *at;
};

static double row_sum(row r, int columns)
{
    double sum = 0;
    for (int c = 0; c < columns; c++)
        sum += r[c];
    return sum;
}

static double plane_sum(plane p, int rows, int columns)
{
    double sum = 0;
    for (int r = 0; r < rows; r++)
        sum += row_sum(p[r], columns) * (r + 1);
    return sum;
}

static double space_sum(double ***s, int which, int rows, int columns)
{
    double diagonal = 0;
    for (int r = 0; r < rows; r++)
        diagonal += s[which][r][r % columns];
    return diagonal + plane_sum(s[which], rows, columns) + plane_sum(s[which] + 1, rows - 1, columns);
}

CASE(planes_in_function)
{
    enum { PLANES = 4, ROWS = 7, COLUMNS = 5 };
    struct space space = {PLANES, ROWS, COLUMNS, check_allocate(PLANES, sizeof(plane))}, *const s = &space;
    for (int p = 0; p < PLANES; p++)
        s->at[p] = rows_of(ROWS + p, COLUMNS) + p;
    row mixed[PLANES];
    for (int p = 0; p < PLANES; p++)
        mixed[p] = s->at[PLANES - 1 - p][p];
    double sums[PLANES][3];
#pragma tilek kernel independent data(s->at[0:PLANES][0:ROWS][0:COLUMNS], mixed[0:PLANES][0:COLUMNS])
    for (int p = 0; p < PLANES; p++) {
        sums[p][0] = space_sum(s->at, p, s->rows, s->columns);
        sums[p][1] = plane_sum(s->at[p], s->rows, s->columns) + row_sum(s->at[p][2], s->columns);
        sums[p][2] = plane_sum(mixed, PLANES, COLUMNS);
    }
    check_record("sums", sums, sizeof sums);
    for (int p = 0; p < PLANES; p++)
        free_rows(s->at[p] - p);
    free(s->at);
}

// case lengths_in_function: arrays of variable lengths in a function that moves along their rows and changes what the length was
static double first_of(int m, double (*p)[m], int r)
{
    double (*const next)[m] = p + 1;
    const int columns = m;
    m = 1;
    return p[r][columns - 1] + next[r][0] + m;
}

CASE(lengths_in_function)
{
    const int n = 19, m = 7;
    double (*const a)[m] = (double (*)[m])check_doubles((size_t)n * m);
    double out[19] = {0};
#pragma tilek kernel independent data(a[0:n][0:m], out[0:n])
    for (int i = 0; i < n - 2; i++)
        out[i] = first_of(m, a, i) - first_of(m, a + 1, i) * first_of(m, &a[i], 0);
    check_record("out", out, sizeof out);
    free(a);
}
