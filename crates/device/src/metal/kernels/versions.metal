// With which language version and for which oldest system was this text compiled?
#include <metal_stdlib>
using namespace metal;

[[kernel]] void versions(device uint *words [[buffer(0)]]) {
  words[0] = __METAL_VERSION__;
#ifdef __ENVIRONMENT_OS_VERSION_MIN_REQUIRED__
  words[1] = __ENVIRONMENT_OS_VERSION_MIN_REQUIRED__;
#else
  words[1] = 0;
#endif
#ifdef __HAVE_TENSOR__
  words[2] = 1;
#else
  words[2] = 0;
#endif
#ifdef __HAVE_TENSOR_MULTIPLANE__
  words[3] = 1;
#else
  words[3] = 0;
#endif
}
