// What does `#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>` bring?
#pragma once
#if __METAL_VERSION__ >= 400
#include "../mpp_matmul2d.h"
#endif
