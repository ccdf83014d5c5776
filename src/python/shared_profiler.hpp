#pragma once

#include <Python.h>

#include <memory>
#include <string>
#include <vector>

#include <iterscope/profiler.hpp>

namespace iterscope::python {

/// A profiler with the lines that it had to say. They are kept until the Python call that caused
/// them ends, because a warning may become an exception there and because the profiler also
/// speaks where the interpreter lock is not held.
struct SharedProfiler {
    std::unique_ptr<Profiler> profiler;
    std::vector<std::string> warnings;
    std::vector<std::string> infos;
    /// A region waits for the device: others may run Python meanwhile.
    bool waits_for_device = false;

    bool has_lines() const noexcept { return !warnings.empty() || !infos.empty(); }
};

/// Issues the kept lines. Returns false with a Python error set when a warning became one.
bool say_lines(SharedProfiler& shared);

/// Releases the interpreter lock while it lives, where the profiler may wait for a device.
class MaybeUnlocked {
public:
    explicit MaybeUnlocked(const SharedProfiler& shared)
        : state_(shared.waits_for_device ? PyEval_SaveThread() : nullptr)
    {
    }
    ~MaybeUnlocked()
    {
        if (state_ != nullptr) {
            PyEval_RestoreThread(state_);
        }
    }
    MaybeUnlocked(const MaybeUnlocked&) = delete;
    MaybeUnlocked& operator=(const MaybeUnlocked&) = delete;

private:
    PyThreadState* state_;
};

/// Adds the type Region; returns false with a Python error set.
bool add_region_type(PyObject* module);
/// A new Region object for a name that `shared` knows.
PyObject* make_region(std::shared_ptr<SharedProfiler> shared, RegionId region);
/// The id of a Region object that `make_region` made.
RegionId region_id(PyObject* region) noexcept;

}  // namespace iterscope::python
