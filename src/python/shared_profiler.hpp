#pragma once

#include <Python.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <iterscope/profiler.hpp>

namespace iterscope::python {

/// Lines that a profiler had to say. They are kept until the Python call that caused them ends,
/// because a warning may become an exception there and because the profiler also speaks where the
/// interpreter lock is not held.
class KeptLines {
public:
    void warn(std::string line) { keep(warnings_, std::move(line)); }
    void inform(std::string line) { keep(infos_, std::move(line)); }
    bool empty() const noexcept { return is_empty_.load(std::memory_order_acquire); }

    /// Issues all of them; `level` frames above the caller is the user's code. Returns false with a
    /// Python error set when a warning became one.
    bool say(Py_ssize_t level = 1);

private:
    void keep(std::vector<std::string>& lines, std::string line);

    std::mutex mutex_;
    std::atomic<bool> is_empty_{true};
    std::vector<std::string> warnings_;
    std::vector<std::string> infos_;
};

/// A profiler, shared by its Python object, its regions and the solvers that were handed it.
struct SharedProfiler {
    KeptLines lines;
    std::unique_ptr<Profiler> profiler;
};

/// Adds the type Region; returns false with a Python error set.
bool add_region_type(PyObject* module);
/// A new Region object for a name that `shared` knows.
PyObject* make_region(std::shared_ptr<SharedProfiler> shared, RegionId region);
/// A new Region object that never records.
PyObject* make_idle_region();
/// The id of a Region object that `make_region` made.
RegionId region_id(PyObject* region) noexcept;

}  // namespace iterscope::python
