#include "observer_thread.hpp"

#include <chrono>
#include <cstring>
#include <string_view>

#include "../../core/units.hpp"
#include "communication.hpp"

namespace iterscope {

namespace {

constexpr std::int64_t k_nowhere = -2;

std::int64_t now_ns()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

const PlaceInfo* carried_place()
{
    return static_cast<const PlaceInfo*>(c10::ThreadLocalDebugInfo::get(k_place_kind));
}

bool same_name(const char* a, const char* b) { return a == b || std::strcmp(a, b) == 0; }

/// An annotation of the thread that opened it.
struct AnnotationContext final : at::ObserverContext {
    const ObserverThread* thread = nullptr;
    std::uint64_t annotation = 0;
};

/// Asynchronous work: it ends on any thread.
struct AsyncContext final : at::ObserverContext {
    std::shared_ptr<ObserverSession> session;
    std::shared_ptr<WorkerSums> sums;
    PlaceId place = 0;
    std::int64_t iteration = 0;
    std::int64_t start_ns = 0;
    bool is_collective = false;
    std::size_t collective = 0;
};

void end_async(const at::RecordFunction& function, AsyncContext& context)
{
    const std::int64_t end_ns = now_ns();
    const auto add_operator = [&] {
        const std::lock_guard lock(context.sums->mutex);
        if (context.iteration != context.session->iteration()) {
            return false;
        }
        OperatorStats& stats = context.sums->sums.touch(context.place, function.name()).full;
        ++stats.count;
        stats.cpu_ns += end_ns - context.start_ns;
        stats.self_cpu_ns += end_ns - context.start_ns;
        return true;
    };
    const bool is_in_time = context.is_collective
                                ? context.session->end_collective(
                                      context.collective, context.iteration, end_ns, add_operator)
                                : add_operator();
    if (!is_in_time) {
        context.session->count_late();
    }
}

std::unique_ptr<at::ObserverContext> on_start(const at::RecordFunction& function)
{
    ObserverThread& thread = ObserverThread::current();
    if (function.scope() == at::RecordScope::USER_SCOPE) {
        return thread.begin_scope(function);
    }
    thread.begin_operation(function);
    return nullptr;
}

void on_end(const at::RecordFunction& function, at::ObserverContext* context)
{
    if (context == nullptr) {
        ObserverThread::current().end_operation();
    } else if (auto* async = dynamic_cast<AsyncContext*>(context)) {
        end_async(function, *async);
    } else {
        ObserverThread::current().end_scope(function, *context);
    }
}

}  // namespace

ObserverThread& ObserverThread::current()
{
    static thread_local ObserverThread thread;
    return thread;
}

at::RecordFunctionCallback ObserverThread::callback()
{
    // The scopes of PyTorch's own profiler.
    return at::RecordFunctionCallback(on_start, on_end)
        .scopes({at::RecordScope::FUNCTION, at::RecordScope::USER_SCOPE,
                 at::RecordScope::BACKWARD_FUNCTION});
}

void ObserverThread::record_into(OperatorSums* sums, std::shared_ptr<ObserverSession> session)
{
    frames_.reserve(64);
    own_sums_ = sums;
    session_ = std::move(session);
    worker_.reset();
}

void ObserverThread::stop_recording()
{
    frames_.clear();
    own_sums_ = nullptr;
    session_.reset();
}

bool ObserverThread::is_under_operator() const noexcept
{
    return !frames_.empty() &&
           (frames_.back().kind == ObservedFrame::Kind::operation || frames_.back().under_operator);
}

void ObserverThread::push_region(PlaceId place, std::int64_t iteration)
{
    frames_.push_back({ObservedFrame::Kind::region, false, false, place, 0, iteration, 0, ""});
}

bool ObserverThread::pop_region()
{
    while (!frames_.empty() && frames_.back().kind == ObservedFrame::Kind::annotation) {
        frames_.pop_back();  // left open by its owner; its own end counts it
    }
    if (frames_.empty() || frames_.back().kind != ObservedFrame::Kind::region) {
        return false;
    }
    frames_.pop_back();
    return true;
}

bool ObserverThread::attach(const std::shared_ptr<ObserverSession>& session)
{
    if (session_ == session) {
        return true;
    }
    if (own_sums_ != nullptr) {
        return false;  // this thread records a session of its own
    }
    session_ = session;
    worker_ = session->add_worker();
    return true;
}

ObserverThread::Origin ObserverThread::origin()
{
    if (!frames_.empty()) {
        return {frames_.back().place, frames_.back().iteration};
    }
    const PlaceInfo* carried = carried_place();
    if (carried == nullptr || !attach(carried->session)) {
        return {0, k_nowhere};
    }
    return {carried->place, carried->iteration};
}

void ObserverThread::begin_operation(const at::RecordFunction& function)
{
    const auto [place, iteration] = origin();
    const bool under_operator = is_under_operator();
    frames_.push_back({ObservedFrame::Kind::operation, under_operator, false, place, 0, iteration,
                       now_ns(), function.name()});
}

void ObserverThread::end_operation()
{
    const std::int64_t end_ns = now_ns();
    while (!frames_.empty() && frames_.back().kind == ObservedFrame::Kind::annotation) {
        frames_.pop_back();
    }
    if (frames_.empty() || frames_.back().kind != ObservedFrame::Kind::operation) {
        return;  // the iteration in which it began was cut short
    }
    const ObservedFrame frame = frames_.back();
    frames_.pop_back();
    close(frame, frame.name, end_ns);
}

void ObserverThread::close(const ObservedFrame& frame, const char* name, std::int64_t end_ns)
{
    const std::int64_t duration = end_ns - frame.start_ns;
    const std::int64_t memory = frame.memory_bytes + frame.child_memory_bytes;
    const OperatorStats own{.count = 1,
                            .cpu_ns = duration,
                            .self_cpu_ns = duration - frame.child_ns,
                            .memory_bytes = memory,
                            .self_memory_bytes = frame.memory_bytes};
    // An only child of the same name is the same call to PyTorch's tables.
    const bool is_merged = frame.has_twin_child && frame.children == 1;
    OperatorStats whole = own;
    OperatorStats rest = own;
    if (is_merged) {
        whole.self_cpu_ns += frame.twin_self_ns;
        whole.self_memory_bytes += frame.twin_self_memory_bytes;
        rest.count = 0;
        rest.cpu_ns -= frame.twin_ns;
        rest.memory_bytes -= frame.twin_memory_bytes;
    }
    const bool is_operation = frame.kind == ObservedFrame::Kind::operation;
    add(frame, name, rest, is_operation && !frame.under_operator ? &whole : nullptr);
    if (frames_.empty() || frames_.back().kind == ObservedFrame::Kind::region) {
        return;
    }
    ObservedFrame& parent = frames_.back();
    ++parent.children;
    parent.child_ns += duration;
    parent.child_memory_bytes += memory;
    if (is_operation && parent.kind == frame.kind && same_name(parent.name, name)) {
        parent.has_twin_child = true;
        parent.twin_ns = duration;
        parent.twin_self_ns = whole.self_cpu_ns;
        parent.twin_memory_bytes = memory;
        parent.twin_self_memory_bytes = whole.self_memory_bytes;
    }
}

void ObserverThread::add(const ObservedFrame& frame, const char* name, const OperatorStats& stats,
                         const OperatorStats* direct)
{
    if (frame.iteration == k_nowhere) {
        return;
    }
    const auto add_to = [&](OperatorSums& sums) {
        OperatorSums::Entry& entry = sums.touch(frame.place, name);
        entry.full += stats;
        if (direct != nullptr) {
            entry.direct += *direct;
        }
    };
    if (own_sums_ != nullptr) {
        add_to(*own_sums_);
        return;
    }
    const std::lock_guard lock(worker_->mutex);
    if (frame.iteration == session_->iteration()) {
        add_to(worker_->sums);
    } else {
        session_->count_late();
    }
}

std::unique_ptr<at::ObserverContext> ObserverThread::begin_scope(const at::RecordFunction& function)
{
    const auto [place, iteration] = origin();
    if (!function.isAsync()) {
        auto context = std::make_unique<AnnotationContext>();
        context->thread = this;
        context->annotation = next_annotation_++;
        ObservedFrame frame{ObservedFrame::Kind::annotation,
                            is_under_operator(),
                            false,
                            place,
                            0,
                            iteration,
                            now_ns(),
                            ""};
        frame.annotation = context->annotation;
        frames_.push_back(frame);
        return context;
    }
    auto context = std::make_unique<AsyncContext>();
    if (iteration == k_nowhere) {
        context->session = std::make_shared<ObserverSession>();  // its end finds no iteration
        context->sums = std::make_shared<WorkerSums>();
        return context;
    }
    if (worker_ == nullptr) {
        worker_ = session_->add_worker();
    }
    context->session = session_;
    context->sums = worker_;
    context->place = place;
    context->iteration = iteration;
    context->start_ns = now_ns();
    if (const auto name = collective_name(function.name())) {
        context->is_collective = true;
        context->collective = session_->begin_collective(
            {{k_no_region, *name, communication_group(), unix_now_ns(), 0},
             place,
             context->start_ns});
    }
    return context;
}

std::optional<ObservedFrame> ObserverThread::take_annotation(std::uint64_t annotation)
{
    for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
        if (frame->annotation == annotation) {
            const ObservedFrame found = *frame;
            frames_.erase(std::next(frame).base());
            return found;
        }
    }
    return std::nullopt;
}

void ObserverThread::end_scope(const at::RecordFunction& function, at::ObserverContext& context)
{
    const std::int64_t end_ns = now_ns();
    const auto& opened = static_cast<AnnotationContext&>(context);
    if (opened.thread != this) {
        return;
    }
    if (const auto frame = take_annotation(opened.annotation)) {
        close(*frame, function.name(), end_ns);
    }
}

void ObserverThread::add_memory(std::int64_t bytes)
{
    if (!frames_.empty() && frames_.back().kind != ObservedFrame::Kind::region) {
        frames_.back().memory_bytes += bytes;
        return;
    }
    const auto [place, iteration] = origin();
    const ObservedFrame outside{
        ObservedFrame::Kind::operation, false, false, place, 0, iteration, 0, k_memory_row};
    const OperatorStats stats{.count = 1, .memory_bytes = bytes, .self_memory_bytes = bytes};
    add(outside, k_memory_row, stats, &stats);
}

}  // namespace iterscope
