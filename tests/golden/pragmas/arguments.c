#pragma tilek kernel data num_threads name
#pragma tilek kernel data() num_threads() async() if()
#pragma tilek kernel num_threads(1, 2) if(a, b) name(a, b) wait(1, , 2)
#pragma tilek kernel independent(1) num_gangs(1, 2, 3, 4) num_workers[1](2, 3)
#pragma tilek kernel name(3) name[1](x) device(-1)
#pragma tilek loop tile seq(1) unroll collapse()
#pragma tilek wait()
#pragma tilek update device
#pragma tilek kernel name(kernel)
#pragma tilek kernel name(template)
#pragma tilek kernel name(dot)
