"""What a test needs of HIP, by ctypes."""

import ctypes
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_void_p

TO_DEVICE, TO_HOST = 1, 2
BUFFER_POINTER, BUFFER_SIZE, END = 1, 2, 3


class HipError(Exception):
    pass


class Hip:
    def __init__(self, library):
        self.library = ctypes.CDLL(library)
        self.library.hipGetErrorName.restype = c_char_p

    def __call__(self, function, *arguments):
        status = self.library[function](*arguments)
        if status != 0:
            raise HipError(f"{function}: {self.library.hipGetErrorName(status).decode()}")

    def set_device(self, number):
        self("hipSetDevice", c_int(number))

    def allocate(self, size):
        pointer = c_void_p()
        self("hipMalloc", byref(pointer), c_size_t(size))
        return pointer.value

    def free(self, pointer):
        self("hipFree", c_void_p(pointer))

    def upload(self, pointer, array):
        self("hipMemcpy", c_void_p(pointer), c_void_p(array.ctypes.data), c_size_t(array.nbytes), TO_DEVICE)

    def download(self, array, pointer):
        self("hipMemcpy", c_void_p(array.ctypes.data), c_void_p(pointer), c_size_t(array.nbytes), TO_HOST)

    def load(self, code):
        module = c_void_p()
        self("hipModuleLoadData", byref(module), code)
        return module

    def unload(self, module):
        self("hipModuleUnload", module)

    def launch(self, module, symbol, grid, block, lds, arguments, in_buffer):
        """Arguments are ctypes values, passed by an array of pointers or in one buffer (`extra`)."""
        function = c_void_p()
        self("hipModuleGetFunction", byref(function), module, symbol.encode())
        if in_buffer:
            data = packed(arguments)
            size = c_size_t(len(data))
            extra = (c_void_p * 5)(BUFFER_POINTER, ctypes.addressof(data), BUFFER_SIZE, ctypes.addressof(size), END)
            pointers = None
        else:
            pointers = (c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))
            extra = None
        sizes = [c_uint(n) for n in (*grid, block, 1, 1, lds)]
        self("hipModuleLaunchKernel", function, *sizes, c_void_p(), pointers, extra)
        self("hipDeviceSynchronize")


def packed(arguments):
    """Each argument at the next multiple of its size, as the compiler lays them out."""
    data = b""
    for argument in arguments:
        size = ctypes.sizeof(argument)
        data += bytes(-len(data) % size) + bytes(argument)
    return ctypes.create_string_buffer(data, len(data))
