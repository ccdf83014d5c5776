#pragma once

namespace iterscope {

/// Keeps Kineto from printing two lines at each start and stop of a recording while it exists,
/// unless KINETO_LOG_LEVEL is set. The level is given back as it was.
class QuietKineto {
public:
    QuietKineto();
    ~QuietKineto();
    QuietKineto(const QuietKineto&) = delete;
    QuietKineto& operator=(const QuietKineto&) = delete;

    /// The first preparation in a process sets a level of its own.
    void insist() noexcept;

private:
    int before_ = 0;
    bool is_active_;
};

}  // namespace iterscope
