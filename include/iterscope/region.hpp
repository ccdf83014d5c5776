#pragma once

#include <utility>

#include <iterscope/backend.hpp>

namespace iterscope {

class Profiler;

/// An open region: it is closed when the object goes out of scope, also by an exception. It must
/// not outlive its profiler.
class [[nodiscard]] ScopedRegion {
public:
    ScopedRegion(Profiler& profiler, RegionId region);
    ~ScopedRegion();

    ScopedRegion(ScopedRegion&& other) noexcept
        : profiler_(std::exchange(other.profiler_, nullptr)), region_(other.region_)
    {
    }
    ScopedRegion(const ScopedRegion&) = delete;
    ScopedRegion& operator=(const ScopedRegion&) = delete;
    ScopedRegion& operator=(ScopedRegion&&) = delete;

private:
    /// Null when the region was entered outside the window.
    Profiler* profiler_ = nullptr;
    RegionId region_;
};

/// A region's name, looked up once. It must not outlive its profiler.
class Region {
public:
    Region(Profiler& profiler, RegionId id) noexcept : profiler_(&profiler), id_(id) {}

    /// Opens the region until the result goes out of scope. Throws UsageError (another thread).
    ScopedRegion enter() const { return {*profiler_, id_}; }

    RegionId id() const noexcept { return id_; }

private:
    Profiler* profiler_;
    RegionId id_;
};

}  // namespace iterscope
