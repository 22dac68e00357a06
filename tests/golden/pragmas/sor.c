#pragma tilek kernel sor(redblack, colours: 2)
#pragma tilek kernel sor(multilayer, layers: 4, subdomain: 8)
#pragma tilek kernel sor(wavefronts)
#pragma tilek kernel sor(jacobi)
#pragma tilek kernel sor(wavefront, layers: 4)
#pragma tilek kernel sor(wavefront) sor(wavefront)
#pragma tilek kernel sor(wavefront) independent
#pragma tilek kernel sor
#pragma tilek kernel sor(wavefront,)
#pragma tilek loop sor(wavefront)
