#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace iterscope::test {

/// A two-device accelerator in host memory, registered with PyTorch as PrivateUse1: it drives the
/// code that real accelerators go through where there is none. Every call is logged.
struct PrivateUse {
    struct Memory {
        std::int64_t current = 0;
        std::int64_t peak = 0;
    };

    static constexpr c10::DeviceType k_type = c10::DeviceType::PrivateUse1;

    std::vector<std::string> calls;
    std::array<Memory, 2> memory;
    c10::DeviceIndex current_device = 0;
    bool is_initialized = true;
    bool fails = false;

    static PrivateUse& instance()
    {
        static PrivateUse backend;
        return backend;
    }
    /// A new log, empty memory, device 0. The first call registers the backend.
    static PrivateUse& reset();

    void log(const char* what, c10::DeviceIndex index)
    {
        calls.push_back(std::string(what) + " " + std::to_string(index));
    }
};

class PrivateUseGuard final : public c10::impl::DeviceGuardImplInterface {
public:
    static constexpr c10::DeviceType static_type = PrivateUse::k_type;

    c10::DeviceType type() const override { return static_type; }
    c10::Device exchangeDevice(c10::Device device) const override
    {
        const c10::Device before = getDevice();
        setDevice(device);
        return before;
    }
    c10::Device getDevice() const override
    {
        return {static_type, PrivateUse::instance().current_device};
    }
    void setDevice(c10::Device device) const override { uncheckedSetDevice(device); }
    void uncheckedSetDevice(c10::Device device) const noexcept override
    {
        PrivateUse::instance().current_device = device.index();
    }
    c10::Stream getStream(c10::Device device) const override
    {
        return c10::Stream(c10::Stream::DEFAULT, device);
    }
    c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
    c10::DeviceIndex deviceCount() const noexcept override { return 2; }
    void synchronizeDevice(const c10::DeviceIndex index) const override
    {
        PrivateUse::instance().log("synchronize", index);
        TORCH_CHECK(!PrivateUse::instance().fails, "a kernel went astray");
    }
};

class PrivateUseAllocator final : public c10::DeviceAllocator {
public:
    c10::DataPtr allocate(std::size_t bytes) override
    {
        PrivateUse& backend = PrivateUse::instance();
        const c10::DeviceIndex index = backend.current_device;
        PrivateUse::Memory& memory = backend.memory[static_cast<std::size_t>(index)];
        memory.current += static_cast<std::int64_t>(bytes);
        memory.peak = std::max(memory.peak, memory.current);
        auto* block = new Block{bytes, index, std::malloc(bytes)};
        return {block->data, block, &release, c10::Device(PrivateUse::k_type, index)};
    }
    void copy_data(void* target, const void* source, std::size_t bytes) const override
    {
        default_copy_data(target, source, bytes);
    }
    bool initialized() override { return PrivateUse::instance().is_initialized; }
    void emptyCache(c10::MempoolId_t /*pool*/) override {}
    void recordStream(const c10::DataPtr& /*data*/, c10::Stream /*stream*/) override {}
    c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex index) override
    {
        PrivateUse::instance().log("stats", index);
        const PrivateUse::Memory& memory =
            PrivateUse::instance().memory[static_cast<std::size_t>(index)];
        c10::CachingDeviceAllocator::DeviceStats stats;
        stats.allocated_bytes[0].current = memory.current;
        stats.allocated_bytes[0].peak = memory.peak;
        stats.reserved_bytes[0].peak = 10 * memory.peak + 1;  // cached bytes are another thing
        return stats;
    }
    void resetAccumulatedStats(c10::DeviceIndex /*index*/) override {}
    void resetPeakStats(c10::DeviceIndex index) override
    {
        PrivateUse::instance().log("reset", index);
        PrivateUse::Memory& memory = PrivateUse::instance().memory[static_cast<std::size_t>(index)];
        memory.peak = memory.current;
    }

private:
    struct Block {
        std::size_t bytes;
        c10::DeviceIndex index;
        void* data;
    };

    static void release(void* context)
    {
        auto* block = static_cast<Block*>(context);
        PrivateUse::instance().memory[static_cast<std::size_t>(block->index)].current -=
            static_cast<std::int64_t>(block->bytes);
        std::free(block->data);
        delete block;
    }
};

inline PrivateUse& PrivateUse::reset()
{
    static PrivateUseAllocator allocator;
    static const c10::impl::DeviceGuardImplRegistrar registrar(k_type, new PrivateUseGuard);
    static const bool is_registered = (c10::SetAllocator(k_type, &allocator), true);
    static_cast<void>(is_registered);
    instance() = PrivateUse();
    return instance();
}

}  // namespace iterscope::test
