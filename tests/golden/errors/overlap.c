struct inner { double x, y; };
struct outer { struct inner part; };
void f(int n, struct outer *o, struct inner *a)
{
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        a[i] = o->part;
        o->part.x = 1;
    }
#pragma tilek kernel
    for (int i = 0; i < n; i++) {
        a[i] = o->part;
        a[i].x = o->part.x;
    }
}
