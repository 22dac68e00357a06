#pragma tilek loop tile(auto)
#pragma tilek loop tile[1](auto)
#pragma tilek loop tile(auto, 2)
#pragma tilek loop tile(auto) tile(gang)
