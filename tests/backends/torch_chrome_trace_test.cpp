#include <gtest/gtest.h>

#include <ATen/ThreadLocalState.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/rand.h>
#include <ATen/record_function.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <thread>

#include <iterscope/error.hpp>

#include "backends/torch/chrome_trace.hpp"
#include "backends/torch/kineto_collector.hpp"
#include "backends/torch/kineto_events.hpp"
#include "backends/torch/trace_json.hpp"
#include "support/run_folder.hpp"
#include "support/trace_checker.hpp"

namespace iterscope {
namespace {

namespace fs = std::filesystem;
using test::slice_names;
using test::trace_problems;
using Strings = std::vector<std::string>;

class TorchChromeTrace : public test::RunFolder {
protected:
    static ChromeTrace::Target target() { return {"traces", "my run", 3, 4}; }

    /// Two iterations with every region open once in each; `inside` is called in the last region.
    template <class Inside>
    static std::unique_ptr<KinetoCollector::Result> record(std::size_t regions, Inside inside)
    {
        KinetoCollector collector(c10::kCPU, true);
        collector.open();
        collector.begin_iteration(7);
        for (int i = 0; i < 2; ++i) {
            if (i > 0) {
                collector.next_iteration(7 + i);
            }
            for (RegionId region = 0; region < regions; ++region) {
                collector.enter(region);
                if (region + 1 == regions) {
                    inside(collector);
                }
                collector.leave(region);
            }
        }
        OperatorTable table;
        collector.end_iteration(table);
        auto result = collector.take_result();
        collector.close();
        return result;
    }
    static std::unique_ptr<KinetoCollector::Result> record(std::size_t regions)
    {
        return record(regions, [](KinetoCollector&) { work(); });
    }
    static void work()
    {
        const at::Tensor x = at::rand({8});
        at::add(x, x);
    }
    static std::ptrdiff_t count(const Strings& names, const std::string& name)
    {
        return std::ranges::count(names, name);
    }
    Strings files() const
    {
        Strings names;
        for (const auto& entry : fs::recursive_directory_iterator(folder / "traces")) {
            names.push_back(fs::relative(entry.path(), folder / "traces").string());
        }
        std::ranges::sort(names);
        return names;
    }
};

TEST_F(TorchChromeTrace, HasTheRegionsTheIterationsAndTheOperators)
{
    ChromeTrace trace(target());
    trace.write(*record(2), {"gradient", "denoise"});
    EXPECT_EQ(trace.path(), folder / "traces" / "rank_3.pt.trace.json");
    const std::string text = read(trace.path());
    EXPECT_EQ(trace_problems(text), Strings());
    const Strings names = slice_names(text);
    EXPECT_EQ(count(names, "gradient"), 2);
    EXPECT_EQ(count(names, "denoise"), 2);
    EXPECT_EQ(count(names, "iter_7"), 1);
    EXPECT_EQ(count(names, "iter_8"), 1);
    EXPECT_EQ(count(names, "aten::add"), 2);
    EXPECT_EQ(text.find(mark_prefix()), std::string::npos);
    const auto json = nlohmann::json::parse(text);
    EXPECT_EQ(json["distributedInfo"]["rank"], 3);
    EXPECT_EQ(json["distributedInfo"]["world_size"], 4);
    EXPECT_EQ(json["traceName"], trace.path().string());
    EXPECT_EQ(files(), Strings{"rank_3.pt.trace.json"});  // nothing else is left
}

TEST_F(TorchChromeTrace, AnyRegionNameComesBackExactly)
{
    const Strings odd = {R"(a"b\c)",
                         "x\ny\x01\tz",
                         "x\ny\x02\tz",
                         "Entrauschen \xC3\xBC \xE2\x88\x87",
                         "\xF0\x9F\x8E\x89",
                         R"(\u0041)",
                         R"(", "pid": )",
                         std::string("nul\0l", 5),
                         "\x7F",
                         "iter_7",
                         "  },"};
    ChromeTrace trace(target());
    trace.write(*record(odd.size()), odd);
    const std::string text = read(trace.path());
    EXPECT_EQ(trace_problems(text), Strings());
    const Strings names = slice_names(text);
    for (const std::string& name : odd) {
        EXPECT_EQ(count(names, name), name == "iter_7" ? 3 : 2) << name;
    }
}

TEST_F(TorchChromeTrace, LabelsOfTheUsersCannotBreakIt)
{
    ChromeTrace trace(target());
    trace.write(*record(1,
                        [](KinetoCollector&) {
                            RECORD_USER_SCOPE(R"(say "hi" \ and)");
                            work();
                        }),
                {"a"});
    const std::string text = read(trace.path());
    EXPECT_EQ(trace_problems(text), Strings());
    EXPECT_TRUE(std::ranges::any_of(
        slice_names(text), [](const std::string& name) { return name.starts_with("say "); }));
}

TEST_F(TorchChromeTrace, WorkThatOutlastsItsCallerHasATrackOfItsOwn)
{
    // As torch.distributed does it: the end brings the state of the thread that began.
    const auto end_elsewhere = [](at::RecordFunction& function) {
        const at::ThreadLocalState state;
        std::thread([&] {
            const at::ThreadLocalStateGuard guard(state);
            function.end();
        }).join();
    };
    std::optional<at::RecordFunction> never_ended;
    const auto begin = [](at::RecordFunction& function, const char* name) {
        function._setAsync();
        function.before(name);
    };
    ChromeTrace trace(target());
    trace.write(*record(1,
                        [&](KinetoCollector&) {
                            std::optional<at::RecordFunction> outer(at::RecordScope::FUNCTION);
                            outer->before("c10d::allreduce_");
                            at::RecordFunction first(at::RecordScope::USER_SCOPE);
                            begin(first, "gloo:all_reduce");
                            at::RecordFunction second(at::RecordScope::USER_SCOPE);
                            begin(second, "gloo:broadcast");
                            outer.reset();
                            work();
                            end_elsewhere(first);
                            work();
                            end_elsewhere(second);
                            if (!never_ended) {
                                never_ended.emplace(at::RecordScope::USER_SCOPE);
                                begin(*never_ended, "gloo:barrier");
                            }
                        }),
                {"a"});
    const std::string text = read(trace.path());
    EXPECT_EQ(trace_problems(text), Strings());
    const Strings names = slice_names(text);
    EXPECT_EQ(count(names, "gloo:all_reduce"), 2);
    EXPECT_EQ(count(names, "gloo:broadcast"), 2);
    EXPECT_EQ(count(names, "gloo:barrier"), 1);
}

TEST_F(TorchChromeTrace, IsValidBeforeAnythingIsRecorded)
{
    const ChromeTrace trace(target());
    EXPECT_EQ(trace_problems(read(trace.path())), Strings());
    EXPECT_EQ(nlohmann::json::parse(read(trace.path()))["distributedInfo"]["rank"], 3);
}

TEST_F(TorchChromeTrace, IsReplacedByTheNextCycle)
{
    ChromeTrace trace(target());
    trace.write(*record(1), {"a"});
    trace.write(*record(2), {"a", "b"});
    EXPECT_EQ(count(slice_names(read(trace.path())), "b"), 2);
    EXPECT_EQ(files(), Strings{"rank_3.pt.trace.json"});
}

TEST_F(TorchChromeTrace, AnExceptionInARegionLeavesDurations)
{
    ChromeTrace trace(target());
    trace.write(*record(1,
                        [](KinetoCollector&) {
                            try {
                                at::add(at::rand({2}), at::rand({3}));
                            } catch (const std::exception&) {
                            }
                        }),
                {"a"});
    EXPECT_EQ(trace_problems(read(trace.path())), Strings());
}

TEST_F(TorchChromeTrace, NothingOfAnotherRunIsOverwritten)
{
    ChromeTrace first(target());
    first.write(*record(1), {"first"});
    EXPECT_FALSE(first.has_moved());
    const std::string before = read(first.path());
    ChromeTrace second(target());
    EXPECT_TRUE(second.has_moved());
    EXPECT_EQ(second.path().filename(), "rank_3.pt.trace.json");
    second.write(*record(1), {"second"});
    ChromeTrace third(target());
    third.write(*record(1), {"third"});
    EXPECT_EQ(read(first.path()), before);
    EXPECT_EQ(count(slice_names(read(second.path())), "second"), 2);
    EXPECT_EQ(count(slice_names(read(third.path())), "third"), 2);
    third.cancel();
    EXPECT_FALSE(fs::exists(third.path().parent_path()));
    EXPECT_TRUE(fs::exists(second.path()));
    EXPECT_EQ(second.path().parent_path().parent_path(), folder / "traces");
}

TEST_F(TorchChromeTrace, AFolderThatCannotBeUsedIsAnErrorAtOnce)
{
    std::ofstream("file") << "x";
    EXPECT_THROW(ChromeTrace({"file", "", 0, 1}), IoError);
    EXPECT_THROW(ChromeTrace({"file/below", "", 0, 1}), IoError);
    if (geteuid() != 0) {
        fs::create_directory("locked");
        fs::permissions("locked", fs::perms::owner_read | fs::perms::owner_exec);
        EXPECT_THROW(ChromeTrace({"locked", "", 0, 1}), IoError);
    }
    EXPECT_THROW(ChromeTrace({"/proc/iterscope", "", 0, 1}), IoError);
}

TEST_F(TorchChromeTrace, AFolderThatWentAwayLeavesAnErrorAndNoFile)
{
    ChromeTrace trace(target());
    fs::remove_all("traces");
    EXPECT_THROW(trace.write(*record(1), {"a"}), IoError);
    EXPECT_FALSE(fs::exists("traces"));
}

TEST_F(TorchChromeTrace, AResultIsWrittenOnce)
{
    ChromeTrace trace(target());
    const auto result = record(1);
    trace.write(*result, {"a"});
    const std::string before = read(trace.path());
    EXPECT_THROW(trace.write(*result, {"a"}), IoError);
    EXPECT_EQ(read(trace.path()), before);
}

TEST(TraceJson, EscapesEverythingThatIsNoJson)
{
    EXPECT_EQ(json_escape("plain"), "plain");
    EXPECT_EQ(json_escape("a\"b\\\n\x7F"), "a\\\"b\\\\\\u000a\\u007f");
    EXPECT_EQ(json_escape("\xC3\xBC"), "\xC3\xBC");
    EXPECT_EQ(json_escape("a\xFF\xC3"), "a\\udcff\\udcc3");  // no UTF-8
    EXPECT_EQ(json_escape("\xED\xA0\x80"), "\\udced\\udca0\\udc80");
    EXPECT_EQ(json_escape("\xC0\xAF"), "\\udcc0\\udcaf");
}

TEST(TraceJson, MendsWhatKinetoWrites)
{
    TraceEdits edits;
    edits.label_prefix = "p-";
    edits.region_names = {"a\"b"};
    std::istringstream in(
        "  {\n    \"ph\": \"X\",\n    \"name\": \"p-r0\",\n    \"dur\": -5.0\n  },\n"
        "  {\n    \"name\": \"p-r7\",\n  },\n"
        "  {\n    \"name\": \"p-i12\",\n  },\n"
        "  {\n    \"name\": \"say \"hi\" \\\",\n  },\n"
        "  {\n    \"name\": \"fine \\\" \\u0041\",\n  }\n"
        "  ],\"traceName\": \"/tmp/x\" }\n");
    edits.trace_name = "q\"";
    std::string out;
    TraceEditor(edits).copy(in, [&](std::string_view piece) { out += piece; });
    EXPECT_EQ(out,
              "  {\n    \"ph\": \"X\",\n    \"name\": \"a\\\"b\",\n    \"dur\": 0\n  },\n"
              "  {\n    \"name\": \"p-r7\",\n  },\n"
              "  {\n    \"name\": \"iter_12\",\n  },\n"
              "  {\n    \"name\": \"say \\\"hi\\\" \\\\\",\n  },\n"
              "  {\n    \"name\": \"fine \\\" \\u0041\",\n  }\n"
              "  ],\"traceName\": \"q\\\"\" }\n");
}

TEST(TraceChecker, FindsWhatIsWrong)
{
    const auto event = [](const std::string& body) {
        return "{\"traceEvents\": "
               "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":10}," +
               body + "]}";
    };
    const std::string head = R"({"ph":"X","name":"b","pid":1,)";
    EXPECT_EQ(trace_problems(event(head + R"("tid":1,"ts":12,"dur":3})")).size(), 0U);
    EXPECT_EQ(trace_problems(event(head + R"("tid":1,"ts":12,"dur":30})")).size(), 1U);
    EXPECT_EQ(trace_problems(event(head + R"("tid":2,"ts":12,"dur":30})")).size(), 0U);
    EXPECT_EQ(trace_problems(event(head + R"("tid":1,"ts":12,"dur":-1})")).size(), 1U);
    EXPECT_EQ(trace_problems(event(head + R"("tid":1,"ts":"12","dur":1})")).size(), 1U);
    EXPECT_EQ(trace_problems(event(head + R"("ts":12,"dur":1})")).size(), 1U);
    EXPECT_EQ(trace_problems("{").size(), 1U);
}

}  // namespace
}  // namespace iterscope
