"""The CUDA driver by ctypes: the few calls that launching and timing a kernel takes.

    gpu = driver.Gpu()                       # the first GPU; DriverError without one
    read = gpu.load("x.cubin").kernel("read")
    memory = gpu.allocate(1 << 30)
    milliseconds = gpu.time(lambda: read.launch(132, 256, memory, ctypes.c_uint64(4)))

Everything runs on the default stream. Addresses are plain integers; arguments of
kernels are integers (addresses) or ctypes values.
"""

import ctypes

NAME_BYTES = 256
MULTIPROCESSORS = 16
L2_BYTES = 38
CAPABILITY_MAJOR, CAPABILITY_MINOR = 75, 76
MAX_DYNAMIC_SHARED = 8


class DriverError(Exception):
    """What the driver refused, in one line."""


class Driver:
    """libcuda's functions by their names, each checked: the first argument says
    what was wanted, for the error's text."""

    def __init__(self, library="libcuda.so.1"):
        try:
            self.library = ctypes.CDLL(library)
        except OSError:
            raise DriverError(f"no CUDA driver ({library})") from None

    def __call__(self, what, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result:
            text = ctypes.c_char_p()
            self.library.cuGetErrorString(result, ctypes.byref(text))
            raise DriverError(f"{what}: {(text.value or b'error %d' % result).decode()}")


class Kernel:
    def __init__(self, call, function, name):
        self.call, self.function, self.name = call, function, name

    def reserve_shared(self, bytes):
        """Allows so much dynamic shared memory in a launch."""
        self.call(f"shared memory for {self.name}", "cuFuncSetAttribute", self.function,
                  MAX_DYNAMIC_SHARED, ctypes.c_int(bytes))

    def launch(self, blocks, threads, *arguments, shared=0):
        values = [ctypes.c_uint64(value) if isinstance(value, int) else value for value in arguments]
        pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        self.call(f"launching {self.name}", "cuLaunchKernel", self.function, blocks, 1, 1, threads,
                  1, 1, shared, None, pointers, None)


class Module:
    def __init__(self, call, path):
        self.call = call
        with open(path, "rb") as file:
            image = file.read()
        self.handle = ctypes.c_void_p()
        call(f"loading {path}", "cuModuleLoadData", ctypes.byref(self.handle), image)

    def kernel(self, name):
        function = ctypes.c_void_p()
        self.call(f"finding {name}", "cuModuleGetFunction", ctypes.byref(function), self.handle,
                  name.encode())
        return Kernel(self.call, function, name)


class Gpu:
    """The first GPU, with its primary context current in this thread."""

    def __init__(self, library="libcuda.so.1"):
        self.call = call = Driver(library)
        call("starting the CUDA driver", "cuInit", 0)
        self.device = ctypes.c_int()
        call("opening the GPU", "cuDeviceGet", ctypes.byref(self.device), 0)
        context = ctypes.c_void_p()
        call("using the GPU", "cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        call("using the GPU", "cuCtxSetCurrent", context)

    def name(self):
        text = ctypes.create_string_buffer(NAME_BYTES)
        self.call("the GPU's name", "cuDeviceGetName", text, NAME_BYTES, self.device)
        return text.value.decode()

    def driver_version(self):
        """Of CUDA, such as 13000 for 13.0; the driver's own number is nvidia-smi's."""
        version = ctypes.c_int()
        self.call("the driver's version", "cuDriverGetVersion", ctypes.byref(version))
        return version.value

    def attribute(self, which):
        value = ctypes.c_int()
        self.call("what the GPU can do", "cuDeviceGetAttribute", ctypes.byref(value), which,
                  self.device)
        return value.value

    def free_bytes(self):
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("free memory", "cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def load(self, path):
        return Module(self.call, path)

    def allocate(self, bytes):
        address = ctypes.c_uint64()
        self.call(f"allocating {bytes} bytes", "cuMemAlloc_v2", ctypes.byref(address),
                  ctypes.c_size_t(bytes))
        return address.value

    def free(self, address):
        self.call("freeing memory", "cuMemFree_v2", ctypes.c_uint64(address))

    def clear(self, address, bytes):
        self.call("clearing memory", "cuMemsetD8_v2", ctypes.c_uint64(address), 0,
                  ctypes.c_size_t(bytes))

    def read(self, address, bytes):
        buffer = ctypes.create_string_buffer(bytes)
        self.call("reading memory", "cuMemcpyDtoH_v2", buffer, ctypes.c_uint64(address),
                  ctypes.c_size_t(bytes))
        return buffer.raw

    def synchronize(self):
        self.call("waiting for the GPU", "cuCtxSynchronize")

    def time(self, work):
        """Milliseconds between events before and behind what work() launches."""
        events = []
        for _ in range(2):
            event = ctypes.c_void_p()
            self.call("an event", "cuEventCreate", ctypes.byref(event), 0)
            events.append(event)
        self.call("an event", "cuEventRecord", events[0], None)
        work()
        self.call("an event", "cuEventRecord", events[1], None)
        self.call("waiting for the GPU", "cuEventSynchronize", events[1])
        elapsed = ctypes.c_float()
        self.call("an event", "cuEventElapsedTime", ctypes.byref(elapsed), *events)
        for event in events:
            self.call("an event", "cuEventDestroy_v2", event)
        return elapsed.value
