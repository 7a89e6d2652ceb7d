// The C boundary: runs a body and turns exceptions into a status and this thread's message.
#pragma once

#include <new>
#include <string>

#include "base/error.hpp"

namespace rapt {

rapt_status fail(rapt_status status, const char* message) noexcept;  // stores the message

template <class Body>
rapt_status guarded(const Body& body) noexcept {
  try {
    body();
    return RAPT_OK;
  } catch (const Error& e) {
    return fail(e.status(), e.what());
  } catch (const std::bad_alloc&) {
    return fail(RAPT_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& e) {
    return fail(RAPT_INTERNAL_ERROR, e.what());
  } catch (...) {
    return fail(RAPT_INTERNAL_ERROR, "unknown exception");
  }
}

template <class T>
void require(const T* pointer, const char* name) {
  if (pointer == nullptr) throw Error(RAPT_INVALID_ARGUMENT, std::string(name) + " is null");
}

}  // namespace rapt
