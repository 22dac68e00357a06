/* Local alignment of two sequences: the table of scores, each from the three neighbours above and to the left. Scores are integers. */
#include "../common/sample.h"

#define GREATER(x, y) ((x) > (y) ? (x) : (y))

enum { MATCH = 5, MISMATCH = -3, GAP = 4 };

static void align(int n, int m, const char *left, const char *right, int score[n + 1][m + 1])
{
    int i, j;

#pragma tilek kernel
    for (i = 1; i <= n; i++)
        for (j = 1; j <= m; j++) {
            const int along = score[i - 1][j - 1] + (left[i - 1] == right[j - 1] ? MATCH : MISMATCH);
            const int gap = GREATER(score[i - 1][j], score[i][j - 1]) - GAP;
            score[i][j] = GREATER(0, GREATER(along, gap));
        }
}

int main(int argc, char **argv)
{
    const int defaults[] = {6000, 7000};
    sample run = sample_start(argc, argv, "smith_waterman", "N M", 2, defaults);
    const int n = run.sizes[0], m = run.sizes[1];
    const size_t rows = (size_t)n + 1, columns = (size_t)m + 1;
    char *const left = sample_allocate(rows, 1), *const right = sample_allocate(columns, 1);
    float *const chance = sample_allocate(rows + columns, sizeof *chance);
    int *const score = sample_allocate(rows * columns, sizeof *score);
    sample_fill(chance, rows + columns, 1);
    for (int i = 0; i < n; ++i)
        left[i] = "ACGT"[(int)((chance[i] + 1.0f) * 1.999f)];
    for (int j = 0; j < m; ++j) /* like the other one in three places of four */
        right[j] = chance[n + j] < 0.5f && n > 0 ? left[j % n] : "ACGT"[(int)((chance[n + j] + 1.0f) * 1.999f)];

    const double start = sample_seconds();
    align(n, m, left, right, (int (*)[m + 1])score);
    const double seconds = sample_seconds() - start;

    float *const line = sample_allocate(columns, sizeof *line);
    for (size_t i = 0; i < rows; ++i) {
        for (size_t j = 0; j < columns; ++j)
            line[j] = (float)score[i * columns + j];
        sample_record(&run, line, columns);
    }
    free(line);
    free(left);
    free(right);
    free(chance);
    free(score);
    return sample_finish(&run, seconds);
}
