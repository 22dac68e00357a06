/* Successive over-relaxation, sequentially, as the equations of the thesis (chapter 6) have it: what faster programs are held to, bit for bit.
 *
 * A mesh has n x n inner points in an array of (n + 2) x (n + 2), row by row; its border is given and stays. Solved are, for inner points,
 *
 *     4 u[i][j] - u[i-1][j] - u[i][j-1] - u[i+1][j] - u[i][j+1] = f[i][j]             (6.2), f being h^2 times the source
 *     20 u[i][j] - 4 (the four above) - (the four at the corners) = 6 f[i][j]         nine points
 *
 * A sweep relaxes every inner point once; it returns the greatest change of a point. Real is double unless it is defined before. */
#ifndef REFERENCES_SOR_H
#define REFERENCES_SOR_H

#include <stddef.h>

#ifndef REAL
#define REAL double
#endif

enum { MOST_LAYERS = 64 };

typedef struct sor_problem sor_problem;

/* Relaxes the point (i, j), 1 <= i, j <= n, and returns by how much it changed. */
typedef REAL relaxation(const sor_problem *problem, int i, int j);

struct sor_problem {
    relaxation *relax;
    int n;
    REAL omega;
    REAL *u;
    const REAL *f;
};

static REAL magnitude(REAL value)
{
    return value < 0 ? -value : value;
}

/* (6.4) and (6.5), with a right-hand side: which neighbours are new already is the order's matter. */
static REAL relax_five(const sor_problem *problem, int i, int j)
{
    const ptrdiff_t row = problem->n + 2;
    REAL *const here = problem->u + i * row + j;
    const REAL before = *here;
    const REAL sum = here[-row] + here[-1] + here[row] + here[1] + problem->f[i * row + j];

    *here = (1 - problem->omega) * before + problem->omega / 4 * sum;
    return magnitude(*here - before);
}

static REAL relax_nine(const sor_problem *problem, int i, int j)
{
    const ptrdiff_t row = problem->n + 2;
    REAL *const here = problem->u + i * row + j;
    const REAL before = *here;
    const REAL edges = here[-row] + here[-1] + here[row] + here[1];
    const REAL corners = here[-row - 1] + here[-row + 1] + here[row - 1] + here[row + 1];
    const REAL sum = 4 * edges + corners + 6 * problem->f[i * row + j];

    *here = (1 - problem->omega) * before + problem->omega / 20 * sum;
    return magnitude(*here - before);
}

/* One sweep of SOR: forward in lexicographic order (6.4), or backward, in the opposite order (6.5). */
static REAL sor_sweep(const sor_problem *problem, int backward)
{
    const int n = problem->n;
    REAL most = 0;

    for (int r = 1; r <= n; r++)
        for (int c = 1; c <= n; c++) {
            const REAL change = problem->relax(problem, backward ? n + 1 - r : r, backward ? n + 1 - c : c);
            if (change > most)
                most = change;
        }
    return most;
}

/* Relaxes the points of one colour. Two colours, i + j being even (red) or odd (black), suffice for five points; four, by the parities of i and j, for
 * nine. The point (1, 1) has the first colour, 0. */
static REAL relax_colour(const sor_problem *problem, int colours, int colour)
{
    REAL most = 0;

    for (int i = 1; i <= problem->n; i++)
        for (int j = 1; j <= problem->n; j++) {
            if ((colours == 2 ? (i + j) % 2 : 2 * ((i - 1) % 2) + (j - 1) % 2) != colour)
                continue;
            const REAL change = problem->relax(problem, i, j);
            if (change > most)
                most = change;
        }
    return most;
}

/* One sweep by colours: no point's neighbours have its colour. */
static REAL coloured_sweep(const sor_problem *problem, int colours)
{
    REAL most = 0;

    for (int colour = 0; colour < colours; colour++) {
        const REAL change = relax_colour(problem, colours, colour);
        if (change > most)
            most = change;
    }
    return most;
}

/* The places [first, last] that a tile has along one dimension of a forward sweep. */
typedef struct {
    int first, last;
} places;

/* Tile t (1 or 2) of subdomain d of ceil(n/P), layers above the lowest one: places count from 0.
 *
 * The subdomain drifts by one place a layer (6.6), (6.7); the first and the last one end at the mesh's border in all layers. The cutting plane
 * between its tiles goes the other way (6.9): tile 1 has P - 1 places in the lowest layer, from where it shrinks on both sides, tile 2 the others.
 * Where P does not divide n (the thesis assumes that it does), the last subdomain has those of its places that lie in the mesh. */
static places tile_places(int t, int d, int layer, int n, int P)
{
    const int base = d * P;
    const int cut = base + P - 1 - layer;
    const int first = d == 0 ? 0 : base + layer;
    const int last = base + P - 1 + layer;
    const places low = {first, cut - 1 < n ? cut - 1 : n - 1}, high = {cut, last < n ? last : n - 1};

    return t == 1 ? low : high;
}

/* A tile of a K-layer sweep: its points in lexicographic order of (layer, i, j), mirrored where the sweep is backward. change[k] becomes the greatest
 * change in layer k. A neighbour has the most up-to-date value, whichever layer that is of: all layers are one array. */
static void mlsor_tile(const sor_problem *problem, int K, int P, int backward, const int t[2], const int d[2],
                       REAL *change)
{
    const int n = problem->n;

    for (int layer = 0; layer < K; layer++) {
        const places rows = tile_places(t[0], d[0], layer, n, P);
        const places columns = tile_places(t[1], d[1], layer, n, P);
        for (int r = rows.first; r <= rows.last; r++)
            for (int c = columns.first; c <= columns.last; c++) {
                const REAL found = problem->relax(problem, backward ? n - r : r + 1, backward ? n - c : c + 1);
                if (found > change[layer])
                    change[layer] = found;
            }
    }
}

/* What MLSOR cannot do: a K that is not 1 to floor(P/2). NULL where there is nothing. */
static const char *mlsor_refuses(int K, int P)
{
    return K < 1 || K > P / 2 || K > MOST_LAYERS ? "K is not from 1 to floor(P/2)" : NULL;
}

/* K layers at once, forward or backward: the kernels K11, K12, K21 and K22, each over all subdomains. What the subdomains of a kernel do does
 * not depend on their order, nor does it matter (for five points) whether K12 or K21 comes first: `upside_down` takes these orders the other way. */
static void mlsor_sweep(const sor_problem *problem, int K, int P, int backward, int upside_down, REAL *change)
{
    const int subdomains = (problem->n + P - 1) / P;

    for (int k = 0; k < K; k++)
        change[k] = 0;
    for (int kernel = 0; kernel < 4; kernel++) {
        const int turned = upside_down && (kernel == 1 || kernel == 2) ? 3 - kernel : kernel;
        const int t[2] = {1 + turned / 2, 1 + turned % 2};
        for (int s = 0; s < subdomains * subdomains; s++) {
            const int taken = upside_down ? subdomains * subdomains - 1 - s : s;
            const int d[2] = {taken / subdomains, taken % subdomains};
            mlsor_tile(problem, K, P, backward, t, d, change);
        }
    }
}

/* A way to solve: lexicographic where there are no colours and no K, by 2 or 4 colours, or MLSOR with K layers and subdomains of P x P.
 * `alternating`: every other sweep, or K sweeps, goes backward. */
typedef struct {
    int colours, K, P, alternating;
} sor_method;

/* The sweeps of a round: what is between two looks at the mesh. */
static int sweeps_of_round(const sor_method *method)
{
    return method->K ? method->K : 1;
}

static void sor_round(const sor_method *method, const sor_problem *problem, int round)
{
    const int backward = method->alternating && round % 2;
    REAL change[MOST_LAYERS];

    if (method->K)
        mlsor_sweep(problem, method->K, method->P, backward, 0, change);
    else if (method->colours)
        coloured_sweep(problem, method->colours);
    else
        sor_sweep(problem, backward);
}

#endif
