#pragma tilek loop seq tile(gang) tile(static, 2)
#pragma tilek loop tile(thread) seq
#pragma tilek loop independent seq
#pragma tilek kernel loop seq independent
