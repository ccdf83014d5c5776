#include "trace_file.hpp"

#include "../../core/run_name.hpp"

namespace iterscope {

void TraceFile::begin(RunContext& context)
{
    warn_ = context.warn;
    // Without other files the run has no stem of its own yet.
    const std::string name = context.stem.empty()
                                 ? run_stem(safe_file_name(context.options.name), context.launch, 1)
                                 : context.stem;
    trace_.emplace(ChromeTrace::Target{*context.options.trace_dir, name, context.launch.rank,
                                       context.launch.size});
    if (trace_->has_moved()) {
        warn_("the trace goes to '" + trace_->path().string() +
              "' (trace_dir already holds another run's); give every run its own trace_dir");
    }
}

void TraceFile::cancel() noexcept
{
    if (trace_) {
        trace_->cancel();
    }
}

void TraceFile::write(::torch::autograd::profiler::ProfilerResult& result,
                      const std::vector<std::string>& region_names)
{
    try {
        trace_->write(result, region_names);
    } catch (const std::exception& error) {
        warn_(error.what());
    }
}

std::pair<std::string, std::filesystem::path> TraceFile::file() const
{
    return {trace_ ? "trace" : "", trace_ ? trace_->path() : std::filesystem::path()};
}

}  // namespace iterscope
