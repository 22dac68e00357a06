#pragma tilek loop tile(auto) tile[1](auto)
