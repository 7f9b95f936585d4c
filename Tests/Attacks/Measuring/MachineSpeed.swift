import Glibc

/// The speed of the machine for one thread: the number of fixed computations per second of the thread's CPU time.
///
/// The speed falls while another thread shares the CPU's core or caches. It also falls while the host of a virtual
/// machine runs other work, because the kernel counts that time as CPU time of the interrupted thread.
struct MachineSpeed {
    private static let interval = Duration.milliseconds(10)

    private var numbers = [UInt64](repeating: 1, count: 16 << 10)
    private var next = ContinuousClock.now
    private var count = 0
    private var time = Duration.zero

    /// Runs the computation if it is due.
    mutating func step() {
        guard ContinuousClock.now >= next else { return }
        let begin = Self.processorTime
        for index in numbers.indices.dropFirst() { numbers[index] = numbers[index] &* 31 &+ numbers[index - 1] }
        time += Self.processorTime - begin
        count += 1
        next = .now + Self.interval
    }

    /// Returns the computations per second since the last call.
    mutating func take() -> Double {
        defer { (count, time) = (0, .zero) }
        return Double(count) / max(time / .seconds(1), 1e-9)
    }

    private static var processorTime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
