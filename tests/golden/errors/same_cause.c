struct list { int n; double *values, *weights; };

void one_cause(struct list *lists, int n, double *out)
{
#pragma tilek kernel independent data(lists[0:n], out[0:n])
    for (int i = 0; i < n; i++) {
        out[i] = lists[i].values[0];
        out[i] += lists[i].values[1] * lists[i].weights[1];
        lists[i].weights[2] = out[i];
    }
}
