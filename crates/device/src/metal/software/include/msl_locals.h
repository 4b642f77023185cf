// What does `decltype` give of a local variable?
//
// From the compiler of 27 on a type in the address space of the thread, which the operations' getters do not take. Read last: no header
// of this processor may see it.
#pragma once
#include "msl_spaces.h"
#if RIGEL_SDK >= 270
#define decltype(...) metal::in_thread<__decltype(__VA_ARGS__)>
#endif
