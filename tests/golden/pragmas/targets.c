#pragma tilek kernel target(gpu)
#pragma tilek kernel target(opncl, opencl, opencl)
#pragma tilek kernel target(auto, cuda)
#pragma tilek kernel target(opencl,)
