import Foundation

/// The event-loop thread of notifyd.
struct LoopThread {
    private let path: String

    init?(daemon pid: pid_t) {
        let tasks = "/proc/\(pid)/task"
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
        let loop = threads.first { thread in
            (try? String(contentsOfFile: "\(tasks)/\(thread)/comm", encoding: .utf8))?.hasPrefix("NIO-ELT") == true
        }
        guard let loop else { return nil }
        path = "\(tasks)/\(loop)/schedstat"
    }

    var times: SchedulingTimes { SchedulingTimes(path: path) }

    /// The CPU time of the thread.
    var processorTime: Duration { times.running }
}
