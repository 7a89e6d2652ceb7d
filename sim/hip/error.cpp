#include "sim/hip/error.hpp"

#include "sim/hip/log.hpp"
#include "sim/hip/runtime.hpp"
#include "sim/hip/version.hpp"
#include "sim/loader/code_object.hpp"

#include <algorithm>
#include <new>

namespace rapt::sim::hip {

namespace {

struct Entry {
  Error error;
  const char *name, *text;
};

// Names are HIP's; the texts follow HIP's documentation.
constexpr Entry entries[] = {
    {Error::success, "hipSuccess", "no error"},
    {Error::invalid_value, "hipErrorInvalidValue", "invalid argument"},
    {Error::out_of_memory, "hipErrorOutOfMemory", "out of memory"},
    {Error::not_initialized, "hipErrorNotInitialized", "initialization error"},
    {Error::deinitialized, "hipErrorDeinitialized", "driver shutting down"},
    {Error::profiler_disabled, "hipErrorProfilerDisabled", "profiler disabled while using external profiling tool"},
    {Error::profiler_not_initialized, "hipErrorProfilerNotInitialized", "profiler is not initialized"},
    {Error::profiler_already_started, "hipErrorProfilerAlreadyStarted", "profiler already started"},
    {Error::profiler_already_stopped, "hipErrorProfilerAlreadyStopped", "profiler already stopped"},
    {Error::invalid_configuration, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {Error::invalid_pitch_value, "hipErrorInvalidPitchValue", "invalid pitch argument"},
    {Error::invalid_symbol, "hipErrorInvalidSymbol", "invalid device symbol"},
    {Error::invalid_device_pointer, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    {Error::invalid_memcpy_direction, "hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {Error::insufficient_driver, "hipErrorInsufficientDriver", "driver version is insufficient for runtime version"},
    {Error::missing_configuration, "hipErrorMissingConfiguration", "__global__ function call is not configured"},
    {Error::prior_launch_failure, "hipErrorPriorLaunchFailure", "unspecified launch failure in prior launch"},
    {Error::invalid_device_function, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {Error::no_device, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {Error::invalid_device, "hipErrorInvalidDevice", "invalid device ordinal"},
    {Error::invalid_image, "hipErrorInvalidImage", "device kernel image is invalid"},
    {Error::invalid_context, "hipErrorInvalidContext", "invalid device context"},
    {Error::context_already_current, "hipErrorContextAlreadyCurrent", "context is already current context"},
    {Error::map_failed, "hipErrorMapFailed", "mapping of buffer object failed"},
    {Error::unmap_failed, "hipErrorUnmapFailed", "unmapping of buffer object failed"},
    {Error::array_is_mapped, "hipErrorArrayIsMapped", "array is mapped"},
    {Error::already_mapped, "hipErrorAlreadyMapped", "resource already mapped"},
    {Error::no_binary_for_gpu, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
    {Error::already_acquired, "hipErrorAlreadyAcquired", "resource already acquired"},
    {Error::not_mapped, "hipErrorNotMapped", "resource not mapped"},
    {Error::not_mapped_as_array, "hipErrorNotMappedAsArray", "resource not mapped as array"},
    {Error::not_mapped_as_pointer, "hipErrorNotMappedAsPointer", "resource not mapped as pointer"},
    {Error::ecc_not_correctable, "hipErrorECCNotCorrectable", "uncorrectable ECC error encountered"},
    {Error::unsupported_limit, "hipErrorUnsupportedLimit", "limit is not supported on this architecture"},
    {Error::context_already_in_use, "hipErrorContextAlreadyInUse",
     "exclusive-thread device already in use by a different thread"},
    {Error::peer_access_unsupported, "hipErrorPeerAccessUnsupported",
     "peer access is not supported between these two devices"},
    {Error::invalid_kernel_file, "hipErrorInvalidKernelFile", "invalid kernel file"},
    {Error::invalid_graphics_context, "hipErrorInvalidGraphicsContext", "invalid OpenGL or DirectX context"},
    {Error::invalid_source, "hipErrorInvalidSource", "device kernel image is invalid"},
    {Error::file_not_found, "hipErrorFileNotFound", "file not found"},
    {Error::shared_object_symbol_not_found, "hipErrorSharedObjectSymbolNotFound", "shared object symbol not found"},
    {Error::shared_object_init_failed, "hipErrorSharedObjectInitFailed", "shared object initialization failed"},
    {Error::operating_system, "hipErrorOperatingSystem", "OS call failed or operation not supported on this OS"},
    {Error::invalid_handle, "hipErrorInvalidHandle", "invalid resource handle"},
    {Error::illegal_state, "hipErrorIllegalState", "the operation cannot be performed in the present state"},
    {Error::not_found, "hipErrorNotFound", "named symbol not found"},
    {Error::not_ready, "hipErrorNotReady", "device not ready"},
    {Error::illegal_address, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {Error::launch_out_of_resources, "hipErrorLaunchOutOfResources", "too many resources requested for launch"},
    {Error::launch_time_out, "hipErrorLaunchTimeOut", "the launch timed out and was terminated"},
    {Error::peer_access_already_enabled, "hipErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {Error::peer_access_not_enabled, "hipErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {Error::set_on_active_process, "hipErrorSetOnActiveProcess", "cannot set while device is active in this process"},
    {Error::context_is_destroyed, "hipErrorContextIsDestroyed", "context is destroyed"},
    {Error::device_assert, "hipErrorAssert", "device-side assert triggered"},
    {Error::host_memory_already_registered, "hipErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {Error::host_memory_not_registered, "hipErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {Error::launch_failure, "hipErrorLaunchFailure", "unspecified launch failure"},
    {Error::cooperative_launch_too_large, "hipErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {Error::not_supported, "hipErrorNotSupported", "operation not supported"},
    {Error::stream_capture_unsupported, "hipErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {Error::stream_capture_invalidated, "hipErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {Error::stream_capture_merge, "hipErrorStreamCaptureMerge",
     "operation would result in a merge of separate capture sequences"},
    {Error::stream_capture_unmatched, "hipErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {Error::stream_capture_unjoined, "hipErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {Error::stream_capture_isolation, "hipErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {Error::stream_capture_implicit, "hipErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {Error::captured_event, "hipErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {Error::stream_capture_wrong_thread, "hipErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {Error::graph_exec_update_failure, "hipErrorGraphExecUpdateFailure",
     "the graph update was not performed because it included changes which violated constraints specific to "
     "instantiated graph update"},
    {Error::invalid_channel_descriptor, "hipErrorInvalidChannelDescriptor", "invalid channel descriptor"},
    {Error::invalid_texture, "hipErrorInvalidTexture", "invalid texture"},
    {Error::unknown, "hipErrorUnknown", "unknown error"},
    {Error::runtime_memory, "hipErrorRuntimeMemory", "runtime memory call returned error"},
    {Error::runtime_other, "hipErrorRuntimeOther", "runtime call other than memory returned error"},
};

const Entry* find(Error error) {
  const auto* found =
      std::find_if(std::begin(entries), std::end(entries), [&](const Entry& entry) { return entry.error == error; });
  return found == std::end(entries) ? nullptr : found;
}

}  // namespace

const char* error_name(Error error) {
  const Entry* entry = find(error);
  return entry == nullptr ? "hipErrorUnknown" : entry->name;
}

const char* error_text(Error error) {
  const Entry* entry = find(error);
  return entry == nullptr ? "unknown error" : entry->text;
}

// Until ROCm 6 every call overwrites the last error; since 7, a call that succeeds or is not ready keeps it.
void set_last_error(Error error) {
  thread().last_command_error = error;
  if (major < 7 || (error != Error::success && error != Error::not_ready)) thread().last_error = error;
}

Error current_failure(const char* function) {
  Error error = Error::unknown;
  std::string message;
  try {
    throw;
  } catch (const Failure& failure) {
    error = failure.error;
    message = failure.what();
  } catch (const LoadError& failure) {
    error = failure.kind == LoadError::Kind::wrong_arch ? Error::no_binary_for_gpu : Error::invalid_image;
    message = failure.what();
  } catch (const std::bad_alloc&) {
    error = Error::out_of_memory;
    message = "out of memory";
  } catch (const std::exception& failure) {
    message = failure.what();
  } catch (...) {
    message = "unknown failure";
  }
  log(std::string(function) + ": " + error_name(error) + ": " + message);
  return error;
}

}  // namespace rapt::sim::hip

using namespace rapt::sim::hip;

RAPT_HIP Error hipGetLastError() { return std::exchange(thread().last_error, Error::success); }
RAPT_HIP Error hipPeekAtLastError() { return thread().last_error; }
RAPT_HIP Error hipExtGetLastError() { return std::exchange(thread().last_command_error, Error::success); }

RAPT_HIP const char* hipGetErrorName(Error error) { return error_name(error); }
RAPT_HIP const char* hipGetErrorString(Error error) { return error_text(error); }

RAPT_HIP Error hipDrvGetErrorName(Error error, const char** name) {
  if (name == nullptr || find(error) == nullptr) return Error::invalid_value;
  *name = error_name(error);
  return Error::success;
}

RAPT_HIP Error hipDrvGetErrorString(Error error, const char** text) {
  if (text == nullptr || find(error) == nullptr) return Error::invalid_value;
  *text = error_text(error);
  return Error::success;
}
