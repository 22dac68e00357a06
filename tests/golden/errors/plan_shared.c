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
#pragma tilek kernel data(x[0:n], y[0:n])
    for (int t = 0; t < 4; t++) {
        total[t] = 1;
#pragma tilek loop independent
        for (int i = 0; i < n; i++)
            total[t] += x[i];
    }
#pragma tilek kernel data(x[0:n], y[0:n])
    for (int t = 0; t < 4; t++)
        for (int s = 0; s < 4; s++)
#pragma tilek loop independent
            for (int i = 0; i < n; i++)
                store(total, t, x[i] * s);
#pragma tilek kernel independent data(x[0:n], y[0:n])
    for (int i = 0; i < n; i++)
        y[i / 2] = x[i];
#pragma tilek kernel independent data(x[0:n], y[0:n])
    for (int i = 0; i < n - 1; i++) {
        y[i] = x[i];
        y[i + 1] = x[i] * 2;
    }
#pragma tilek kernel data(x[0:n])
#pragma tilek loop independent tile(thread) tile(dynamic)
    for (int i = 0; i < n; i++)
        if (x[i] > 3)
            number = x[i];
    y[1] = number;
}

typedef struct {
    double cells[4];
} quad;

static void third(double *to, double value)
{
    int at = 3;
    to[at] += value;
}

void apart(int n, int half, const double *x, double *y, quad *q)
{
#pragma tilek kernel independent data(x[0:n], y[0:2*n])
    for (int i = 0; i < half; i++) {
        y[i] = x[i];
        y[i + n] = x[i] * 2;
    }
#pragma tilek kernel independent data(x[0:n], y[0:n])
    for (int i = 0; i < n; i++)
        y[i / 3] = 1;
#pragma tilek kernel data(x[0:n], q[0:n])
    for (int t = 0; t < n; t++)
#pragma tilek loop independent
        for (int i = 0; i < 4; i++)
            q[t].cells[i] += x[t];
#pragma tilek kernel independent data(x[0:n], y[0:n])
    for (int i = 0; i < n; i++)
        third(y, x[i]);
#pragma tilek kernel independent data(x[0:n], y[0:n])
    for (int i = 0; i < n; i++)
        for (int j = 0; j < (int)x[i]; j++)
            total[1] += x[j];
#pragma tilek kernel independent data(x[0:n], y[0:n])
    for (int i = 3; i < 9; i++)
        for (int j = 0; j < half; j++)
            y[i + j] += x[i];
}
