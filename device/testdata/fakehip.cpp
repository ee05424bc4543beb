// A stand-in for libamdhip64 in tests of the host program: device memory is host
// memory, and a launch copies files into the buffers that FAKE_HIP_RESULTS names,
// as ARGUMENT:FILE,... of the kernel FAKE_HIP_KERNEL.
#include <hip/hip_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

static std::string env(const char *name) {
    const char *v = std::getenv(name);
    return v ? v : "";
}

static int launches = 0;

extern "C" {
const char *hipGetErrorString(hipError_t e) { return e == hipErrorNoDevice ? "no device" : "fake error"; }
hipError_t hipGetDeviceCount(int *n) { *n = env("FAKE_HIP_ARCH").empty() ? 0 : 1; return *n ? hipSuccess : hipErrorNoDevice; }
hipError_t hipGetDeviceProperties(hipDeviceProp_t *p, int) {
    std::memset(p, 0, sizeof *p);
    std::strcpy(p->name, "fake");
    std::strcpy(p->gcnArchName, (env("FAKE_HIP_ARCH") + ":sramecc+:xnack-").c_str());
    p->multiProcessorCount = 256;
    p->clockRate = 2400000;
    return hipSuccess;
}
hipError_t hipSetDevice(int) { return hipSuccess; }
hipError_t hipMalloc(void **p, size_t n) { *p = std::malloc(n); return *p ? hipSuccess : hipErrorOutOfMemory; }
hipError_t hipMemset(void *p, int v, size_t n) { std::memset(p, v, n); return hipSuccess; }
hipError_t hipMemsetAsync(void *p, int v, size_t n, hipStream_t) { std::memset(p, v, n); return hipSuccess; }
hipError_t hipMemcpy(void *d, const void *s, size_t n, hipMemcpyKind) { std::memcpy(d, s, n); return hipSuccess; }
hipError_t hipModuleLoad(hipModule_t *m, const char *file) {
    std::FILE *f = std::fopen(file, "rb");
    if (!f) return hipErrorFileNotFound;
    std::fclose(f);
    *m = nullptr;
    return hipSuccess;
}
hipError_t hipModuleGetFunction(hipFunction_t *f, hipModule_t, const char *name) {
    *f = reinterpret_cast<hipFunction_t>(strdup(name));
    return hipSuccess;
}
hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, hipStream_t, void **, void **extra) {
    launches++;
    if (env("FAKE_HIP_KERNEL") != reinterpret_cast<const char *>(f)) return hipSuccess;
    const char *args = static_cast<const char *>(extra[1]);
    std::string todo = env("FAKE_HIP_RESULTS");
    while (!todo.empty()) {
        const std::string one = todo.substr(0, todo.find(','));
        todo = one.size() < todo.size() ? todo.substr(one.size() + 1) : "";
        const size_t colon = one.find(':');
        char *to;
        std::memcpy(&to, args + 8 * std::stoul(one.substr(0, colon)), 8);
        std::FILE *in = std::fopen(one.substr(colon + 1).c_str(), "rb");
        if (!in) return hipErrorFileNotFound;
        for (size_t n; (n = std::fread(to, 1, 1 << 20, in)) > 0;) to += n;
        std::fclose(in);
    }
    return hipSuccess;
}
hipError_t hipFree(void *p) { std::free(p); return hipSuccess; }
hipError_t hipDeviceSynchronize() { return hipSuccess; }
hipError_t hipEventCreate(hipEvent_t *e) { *e = nullptr; return hipSuccess; }
hipError_t hipEventDestroy(hipEvent_t) { return hipSuccess; }
hipError_t hipEventRecord(hipEvent_t, hipStream_t) { return hipSuccess; }
hipError_t hipEventSynchronize(hipEvent_t) { return hipSuccess; }
hipError_t hipEventElapsedTime(float *ms, hipEvent_t, hipEvent_t) { *ms = 0.25f + 0.001f * float(launches % 7); return hipSuccess; }
}
