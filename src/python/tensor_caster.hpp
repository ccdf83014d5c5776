#pragma once

#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <torch/csrc/autograd/python_variable.h>

namespace nanobind::detail {

/// torch.Tensor <-> at::Tensor, sharing memory and autograd history; None <- undefined tensor.
template <>
struct type_caster<at::Tensor> {
    NB_TYPE_CASTER(at::Tensor, const_name("torch.Tensor"))

    bool from_python(handle source, uint8_t, cleanup_list*) noexcept
    {
        if (!THPVariable_Check(source.ptr())) {
            return false;
        }
        value = THPVariable_Unpack(source.ptr());
        return true;
    }

    static handle from_cpp(const at::Tensor& tensor, rv_policy, cleanup_list*) noexcept
    {
        return THPVariable_Wrap(tensor);
    }
};

/// Measurements. A sequence of tensors, DeepInv's TensorList among them; a single tensor is a list
/// of one, never taken apart along its batch.
template <>
struct type_caster<std::vector<at::Tensor>> {
    NB_TYPE_CASTER(std::vector<at::Tensor>, const_name("list[torch.Tensor]"))

    bool from_python(handle source, uint8_t, cleanup_list*) noexcept
    {
        value.clear();
        if (THPVariable_Check(source.ptr())) {
            value.push_back(THPVariable_Unpack(source.ptr()));
            return true;
        }
        const Py_ssize_t size = PyObject_Size(source.ptr());
        for (Py_ssize_t i = 0; i < size; ++i) {
            const object item = steal(PyObject_CallMethod(source.ptr(), "__getitem__", "n", i));
            if (!item.is_valid() || !THPVariable_Check(item.ptr())) {
                PyErr_Clear();
                return false;
            }
            value.push_back(THPVariable_Unpack(item.ptr()));
        }
        PyErr_Clear();
        return size >= 0;
    }

    static handle from_cpp(const std::vector<at::Tensor>& tensors, rv_policy,
                           cleanup_list*) noexcept
    {
        PyObject* list = PyList_New(static_cast<Py_ssize_t>(tensors.size()));
        for (std::size_t i = 0; list != nullptr && i < tensors.size(); ++i) {
            PyObject* item = THPVariable_Wrap(tensors[i]);
            if (item == nullptr) {
                Py_CLEAR(list);
                break;
            }
            PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), item);
        }
        return list;
    }
};

}  // namespace nanobind::detail
