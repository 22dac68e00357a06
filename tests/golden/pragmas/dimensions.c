#pragma tilek kernel num_gangs[3](2) num_workers[n](4) num_gangs[](2)
#pragma tilek loop tile(gang, 3) tile(worker, x) tile(gang, -1)
#pragma tilek loop tile[n](dynamic) tile[](static, 2)
#pragma tilek loop tile(gang, worker)
