// Which C++ stands for the address spaces of the Metal Shading Language?
//
// Two readings of one text. With MSL_CHECK_SPACES every space is a type of its own and nothing can be run; without it
// memory is flat and the text runs. C++ has no automatic array that threads share, hence THREADGROUP_ARRAY.
#pragma once
#include <stddef.h>
#include <stdint.h>

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

#ifdef MSL_CHECK_SPACES
#define device __attribute__((address_space(1)))
#define constant const __attribute__((address_space(2)))
#define threadgroup __attribute__((address_space(3)))
#define THREADGROUP_ARRAY extern __attribute__((address_space(3)))
#else
#define device
#define constant const
#define threadgroup
#define THREADGROUP_ARRAY static
#endif
#define thread

namespace metal {
enum class space { thread_space, device_space, constant_space, threadgroup_space };

template <class T> struct remove_addrspace { using type = T; };
#ifdef MSL_CHECK_SPACES
template <class T> struct remove_addrspace<__attribute__((address_space(1))) T> { using type = T; };
template <class T> struct remove_addrspace<const __attribute__((address_space(1))) T> { using type = const T; };
template <class T> struct remove_addrspace<__attribute__((address_space(2))) T> { using type = T; };
template <class T> struct remove_addrspace<const __attribute__((address_space(2))) T> { using type = const T; };
template <class T> struct remove_addrspace<__attribute__((address_space(3))) T> { using type = T; };
template <class T> struct remove_addrspace<const __attribute__((address_space(3))) T> { using type = const T; };

template <class T> struct space_of { static constexpr space value = space::thread_space; };
template <class T> struct space_of<__attribute__((address_space(1))) T> { static constexpr space value = space::device_space; };
template <class T> struct space_of<const __attribute__((address_space(1))) T> { static constexpr space value = space::device_space; };
template <class T> struct space_of<const __attribute__((address_space(2))) T> { static constexpr space value = space::constant_space; };
template <class T> struct space_of<__attribute__((address_space(3))) T> { static constexpr space value = space::threadgroup_space; };
#else
template <class T> struct space_of { static constexpr space value = space::device_space; };
#endif
// The type of a local variable as compilers of 27 give it to `decltype` (msl_locals.h).
template <class T> struct in_thread;
template <class T> struct remove_addrspace<in_thread<T>> { using type = T; };
template <class T> constexpr bool is_qualified = false;
template <class T> constexpr bool is_qualified<in_thread<T>> = true;
template <class T> using remove_addrspace_t = typename remove_addrspace<T>::type;

template <class T> struct remove_const { using type = T; };
template <class T> struct remove_const<const T> { using type = T; };
template <class T, class U> constexpr bool is_same_v = false;
template <class T> constexpr bool is_same_v<T, T> = true;
template <class T> constexpr bool is_const_v = false;
template <class T> constexpr bool is_const_v<const T> = true;
} // namespace metal
