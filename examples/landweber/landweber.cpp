// Landweber's iteration x <- x + t A^T (b - A x) on a dense blur matrix, profiled; no torch
// anywhere.
//
// usage: landweber [ITERATIONS]
//
// Writes outputs/landweber_run.json and outputs/landweber_gpu_metrics.csv, and prints a summary.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <vector>

#include <iterscope/profiler.hpp>
#include <iterscope/summary.hpp>

namespace {

using Vector = std::vector<double>;

/// A circular blur of `size` samples: symmetric, rows of sum 1, eigenvalues from 1 - 2 w to 1.
class BlurMatrix {
public:
    BlurMatrix(std::size_t size, double weight) : size_(size), entries_(size * size, 0.0)
    {
        for (std::size_t row = 0; row < size; ++row) {
            entries_[row * size + row] = 1.0 - weight;
            entries_[row * size + (row + 1) % size] = weight / 2;
            entries_[row * size + (row + size - 1) % size] = weight / 2;
        }
    }

    Vector times(const Vector& x) const
    {
        Vector result(size_, 0.0);
        for (std::size_t row = 0; row < size_; ++row) {
            for (std::size_t column = 0; column < size_; ++column) {
                result[row] += entries_[row * size_ + column] * x[column];
            }
        }
        return result;
    }

    /// The matrix is symmetric.
    Vector transposed_times(const Vector& x) const { return times(x); }

private:
    std::size_t size_;
    Vector entries_;
};

double distance(const Vector& a, const Vector& b)
{
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return std::sqrt(sum);
}

Vector step_signal(std::size_t size)
{
    Vector signal(size, 0.0);
    for (std::size_t i = size / 4; i < size / 2; ++i) {
        signal[i] = 1.0;
    }
    return signal;
}

/// The residual |b - A x| after `iterations` steps from x = 0.
double solve(const BlurMatrix& matrix, const Vector& b, Vector& x, int iterations,
             iterscope::Profiler& profiler)
{
    constexpr double k_step = 1.0;  // below 2 / largest eigenvalue of A^T A, which is 1
    // Made once: entering a region then costs no look-up of its name.
    const iterscope::Region residual_region = profiler.region("residual");
    const iterscope::Region update_region = profiler.region("update");

    Vector residual(x.size());
    profiler.start_iterations();
    for (int iteration = 0; iteration < iterations; ++iteration) {
        {
            const auto scope = residual_region.enter();
            const Vector ax = matrix.times(x);
            for (std::size_t i = 0; i < x.size(); ++i) {
                residual[i] = b[i] - ax[i];
            }
        }
        {
            const auto scope = update_region.enter();
            const Vector gradient = matrix.transposed_times(residual);
            for (std::size_t i = 0; i < x.size(); ++i) {
                x[i] += k_step * gradient[i];
            }
        }
        profiler.end_iteration();
    }
    return distance(b, matrix.times(x));
}

int run(int iterations)
{
    constexpr std::size_t k_size = 256;
    const BlurMatrix matrix(k_size, 0.4);
    const Vector truth = step_signal(k_size);
    const Vector b = matrix.times(truth);

    iterscope::Options options;
    options.mode = iterscope::Mode::custom;
    options.name = "landweber";
    options.warmup = 2;  // caches and branch predictors settle
    options.save_file = true;
    options.parameters = {{"size", std::int64_t{k_size}}, {"iterations", std::int64_t{iterations}}};

    const auto summary = std::make_shared<iterscope::Summary>();
    iterscope::Services services;
    services.sinks = {summary};
    const auto profiler = iterscope::make_profiler(options, services);

    Vector x(k_size, 0.0);
    profiler->start();
    const double residual = solve(matrix, b, x, iterations, *profiler);
    profiler->finalize();

    summary->print(std::cout);
    for (const auto& [kind, path] : profiler->files()) {
        std::cout << "file " << kind << ' ' << path.string() << '\n';
    }
    std::cout << "residual " << residual << '\n';
    std::cout << "error " << distance(x, truth) / distance(truth, Vector(k_size, 0.0)) << '\n';
    return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        return run(argc > 1 ? std::atoi(argv[1]) : 50);
    } catch (const std::exception& error) {
        std::cerr << "landweber: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
}
