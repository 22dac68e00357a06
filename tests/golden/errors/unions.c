struct view { union { int whole; short halves[2]; struct { short low, high; }; double cells[100]; }; int n; };
struct odd { int n; struct { int a, b; }; };
double sum;
void f(int n, double *a, struct view *v, struct view *list)
{
    struct view local = {{0}, 1};
    struct { union { int x; float y; } part; } apart = {{1}};
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        v->whole = i;
        a[i] = v->low;
    }
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        a[i] = v->high + (v->low = i);
#pragma tilek kernel
    for (int i = 0; i < 100; i++)
        v->cells[i] = v->halves[i % 2] + v->high;
#pragma tilek kernel private(local.whole)
    for (int i = 0; i < n; i++) {
        local.whole = i;
        a[i] = local.whole + local.high;
    }
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        list[i].whole = list[i].n;
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        apart.part.x = i;
        struct odd made = {i, {1, 2}};
        a[i] = made.b;
    }
    /* What shares no memory, or is only read, is a member like others. */
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        a[i] = v->whole + v->high + v->n;
#pragma tilek kernel
    for (int i = 0; i < n; i++)
        a[i] = v->high + (v->n = i);
    int rounds = 0;
#pragma tilek kernel
    while (rounds < 50) {
        for (int i = 0; i < 100; i++)
            v->cells[i] += 1;
        for (int i = 0; i < 100; i++)
            a[i] += v->cells[i];
        rounds += v->low;
    }
}
