#include "kineto_log.hpp"

#include <atomic>
#include <cstdlib>

// Kineto's own switch, of which it ships no header: `std::atomic_int libkineto::Logger::
// severityLevel_`. Weak: where a build of PyTorch hides it, Kineto stays as loud as it is.
extern std::atomic<int> kineto_severity  // NOLINT(*-avoid-non-const-global-variables)
    __asm__("_ZN9libkineto6Logger14severityLevel_E") __attribute__((weak));

namespace iterscope {

namespace {

/// Above the highest level of a message (USDT, 5).
constexpr int k_silent = 6;

bool is_level_ours()
{
    const char* chosen = std::getenv("KINETO_LOG_LEVEL");
    return &kineto_severity != nullptr && (chosen == nullptr || *chosen == '\0');
}

}  // namespace

QuietKineto::QuietKineto() : is_active_(is_level_ours())
{
    if (is_active_) {
        before_ = kineto_severity.exchange(k_silent);
    }
}

void QuietKineto::insist() noexcept
{
    if (is_active_) {
        const int found = kineto_severity.exchange(k_silent);
        before_ = found == k_silent ? before_ : found;
    }
}

QuietKineto::~QuietKineto()
{
    if (is_active_) {
        kineto_severity.store(before_);
    }
}

}  // namespace iterscope
