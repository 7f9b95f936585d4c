import Foundation

/// The times of a thread, as the kernel's scheduler counts them.
struct SchedulingTimes {
    /// The CPU time.
    var running = Duration.zero
    /// The time in which the thread was ready to run and the CPUs did other work.
    var waiting = Duration.zero

    /// - Parameter path: The thread's `schedstat` file.
    init(path: String) {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        let fields = text.split(separator: " ").prefix(2).compactMap { Int64($0) }
        guard fields.count == 2 else { return }
        running = .nanoseconds(fields[0])
        waiting = .nanoseconds(fields[1])
    }

    /// The times of this program, which has one thread.
    static var own: SchedulingTimes { SchedulingTimes(path: "/proc/self/schedstat") }
}
