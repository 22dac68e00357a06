#pragma tilek loop tile(auto) tile[1](auto)
#pragma tilek kernel sor(multilayer, layers: 4)
