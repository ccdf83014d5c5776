#include "operator_rows.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "core/units.hpp"

namespace iterscope::python {

namespace nb = nanobind;

namespace {

nb::object text(const std::string& bytes)
{
    return nb::steal(
        PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

}  // namespace

PyObject* operator_rows(const OperatorReport& report, bool full)
{
    try {
        nb::list rows;
        for (const OperatorRow& row : full ? report.table.full : report.table.direct) {
            nb::dict made;
            made["section"] = text(report.region_names[row.region]);
            made["op"] = text(row.name);
            made["cpu_sec"] = seconds(row.stats.cpu_ns);
            made["self_cpu_sec"] = seconds(row.stats.self_cpu_ns);
            made["cuda_sec"] = seconds(row.stats.device_ns);
            made["self_cuda_sec"] = seconds(row.stats.self_device_ns);
            made["mem_mb"] = mebibytes(row.stats.memory_bytes);
            made["self_mem_mb"] = mebibytes(row.stats.self_memory_bytes);
            made["count"] = row.stats.count;
            rows.append(made);
        }
        return rows.release().ptr();
    } catch (nb::python_error& error) {
        error.restore();
        return nullptr;
    }
}

}  // namespace iterscope::python
