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

    /// The CPU time of the thread.
    var processorTime: Duration {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return .nanoseconds(text.split(separator: " ").first.flatMap { Int64($0) } ?? 0)
    }
}
