#pragma tilek data
#pragma tilek enter data if(x)
#pragma tilek exit data async
#pragma tilek update
