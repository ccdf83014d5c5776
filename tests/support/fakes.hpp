#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <algorithm>

#include <iterscope/error.hpp>
#include <iterscope/profiler.hpp>

namespace iterscope::test {

/// What the fakes were asked, in order: "clock", "sync", "peak", "reset".
using Calls = std::vector<std::string>;

/// Stands still until it is moved. Each reading is logged.
class FakeClock final : public Clock {
public:
    explicit FakeClock(std::shared_ptr<Calls> calls = std::make_shared<Calls>())
        : calls_(std::move(calls))
    {
    }

    std::int64_t now_ns() noexcept override
    {
        calls_->push_back("clock");
        return now_;
    }
    void advance_ms(std::int64_t milliseconds) { now_ += milliseconds * 1'000'000; }

private:
    std::shared_ptr<Calls> calls_;
    std::int64_t now_ = 1'000'000'000;
};

/// An accelerator whose memory the test moves; its work takes no time.
class FakeDevice final : public Device {
public:
    explicit FakeDevice(std::shared_ptr<Calls> calls = std::make_shared<Calls>())
        : calls_(std::move(calls))
    {
    }

    std::string name() const override { return "fake:1"; }
    bool is_accelerator() const noexcept override { return true; }
    void synchronize() override
    {
        calls_->push_back("sync");
        if (fails) {
            throw DeviceError("synchronising fake:1 failed (told to); try again");
        }
    }
    std::int64_t peak_bytes() override
    {
        calls_->push_back("peak");
        return peak_;
    }
    void reset_peak_bytes() override
    {
        calls_->push_back("reset");
        if (fails_reset) {
            throw DeviceError("resetting the peak of fake:1 failed (told to); try again");
        }
        peak_ = used_;
    }

    void allocate_mb(std::int64_t mebibytes)
    {
        used_ += mebibytes * 1048576;
        peak_ = std::max(peak_, used_);
    }
    void release_mb(std::int64_t mebibytes) { used_ -= mebibytes * 1048576; }

    bool fails = false;
    bool fails_reset = false;

private:
    std::shared_ptr<Calls> calls_;
    std::int64_t used_ = 0;
    std::int64_t peak_ = 0;
};

/// Keeps every record as a map from metric to value.
class MemorySink final : public Sink {
public:
    struct Row {
        std::int64_t iteration;
        std::map<std::string, double> values;
    };

    void begin(RunContext& context) override
    {
        ++begun;
        last_context = context;
    }
    void write(const IterationRecord& record, const ColumnTable& columns) override
    {
        Row row{record.iteration, {}};
        for (const Metric& metric : record.metrics) {
            row.values[columns.name(metric.column)] = metric.value;
        }
        rows.push_back(std::move(row));
    }
    void finish(const RunSummary& summary) override
    {
        ++finished;
        last_summary = summary;
    }

    int begun = 0;
    int finished = 0;
    RunContext last_context;
    RunSummary last_summary;
    std::vector<Row> rows;
};

/// A `custom` profiler on a fake clock, with everything it says and writes at hand.
struct Bench {
    explicit Bench(Options options = {}, bool has_accelerator = false)
        : calls(std::make_shared<Calls>()),
          clock(std::make_shared<FakeClock>(calls)),
          device(std::make_shared<FakeDevice>(calls)),
          sink(std::make_shared<MemorySink>())
    {
        Services services;
        services.clock = clock;
        if (has_accelerator) {
            services.device = device;
        }
        services.sinks = {sink};
        services.warn = [this](const std::string& line) { warnings.push_back(line); };
        services.inform = [this](const std::string& line) { infos.push_back(line); };
        services.environment = [this](const char* name) -> const char* {
            const auto found = variables.find(name);
            return found == variables.end() ? nullptr : found->second.c_str();
        };
        profiler = make_profiler(std::move(options), std::move(services));
    }

    /// The region `name` for `milliseconds` of the fake clock.
    void spend(const char* name, std::int64_t milliseconds)
    {
        const ScopedRegion region = profiler->track_step(name);
        clock->advance_ms(milliseconds);
    }
    double metric(const std::string& name) const
    {
        for (const auto& [key, value] : profiler->current_metrics()) {
            if (key == name) {
                return value;
            }
        }
        return -1;
    }

    std::map<std::string, std::string> variables;
    std::vector<std::string> warnings;
    std::vector<std::string> infos;
    std::shared_ptr<Calls> calls;
    std::shared_ptr<FakeClock> clock;
    std::shared_ptr<FakeDevice> device;
    std::shared_ptr<MemorySink> sink;
    std::unique_ptr<Profiler> profiler;
};

}  // namespace iterscope::test
