typedef struct { double x, y; } pair;

static void store(double *to, int at, double value) { to[at] = value; }

static double total[4];

void shared(int n, const double *x, double *y, pair *p)
{
    pair d = {0, 0};
    double number;
#pragma tilek kernel independent data(x[0:n], y[0:n])
    for (int i = 0; i < n; i++) {
        total[2] = x[i];
        y[i] = total[2] * 2 + total[1];
    }
#pragma tilek kernel independent data(x[0:n], y[0:n])
    for (int i = 0; i < n; i++)
        store(total, 3, x[i]);
#pragma tilek kernel independent data(x[0:n], y[0:n])
    for (int i = 0; i < n; i++) {
        y[i] = d.x;
        d.x = x[i];
    }
#pragma tilek kernel independent data(x[0:n], y[0:n])
    for (int i = 0; i < n; i++)
        if (x[i] > 0) {
            p->x = x[i];
            y[i] = p->x * p->x;
        }
#pragma tilek kernel independent data(x[0:n], y[0:n])
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            y[i] += x[j];
#pragma tilek kernel private(p) data(x[0:n], y[0:n])
#pragma tilek loop independent
    for (int i = 0; i < n; i++) {
        p->x = x[i];
        y[i] = p->x;
    }
    double cells[n];
#pragma tilek kernel independent data(x[0:n], y[0:n])
    for (int i = 0; i < n; i++) {
        cells[0] = x[i];
        y[i] = cells[0];
    }
#pragma tilek kernel private(cells) data(x[0:n], y[0:n])
#pragma tilek loop independent
    for (int i = 0; i < n; i++) {
        cells[0] = x[i];
        y[i] = cells[0];
    }
#pragma tilek kernel firstprivate(total) data(x[0:n], y[0:n])
#pragma tilek loop independent
    for (int i = 0; i < n; i++)
        y[i] = x[i] + total[1];
#pragma tilek kernel independent data(x[0:n])
    for (int i = 0; i < n; i++)
        number = x[i], d.y = number;
    y[0] = d.y;
}
