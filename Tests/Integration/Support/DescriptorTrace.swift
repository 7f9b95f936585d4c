import Foundation
import TestSupport

/// The calls with which a program opens descriptors, recorded with strace.
struct DescriptorTrace {
    private static let opening = [
        "open", "openat", "openat2", "creat", "socket", "socketpair", "accept", "accept4", "pipe", "pipe2", "dup",
        "dup2", "dup3", "fcntl", "eventfd", "eventfd2", "epoll_create", "epoll_create1", "timerfd_create", "signalfd",
        "signalfd4", "memfd_create", "inotify_init", "inotify_init1",
    ]
    private static let starting = ["clone", "clone3"]

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// A launcher that traces the program that it executes. Each thread has a file of its own, so that no call is
    /// divided into two lines.
    var launcher: [String] {
        // With a question mark before its name, strace accepts a call that this processor does not have.
        let calls = (Self.opening + Self.starting).map { "?" + $0 }.joined(separator: ",")
        return ["strace", "-D", "-qq", "-ff", "-o", folder.file("trace"), "-e", "trace=\(calls)"]
    }

    /// The successful calls of all threads of a process, but not of its children. Complete when the process has ended.
    func opened(by process: ChildProcess) throws -> Calls {
        var calls = Calls(threads: [Int(process.pid)], lines: [])
        var position = 0
        while position < calls.threads.count {
            let file = folder.file("trace.\(calls.threads[position])")
            position += 1
            for line in try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n") {
                guard let call = try /(\w+)\(.*\) += (\d+).*/.wholeMatch(in: line) else { continue }
                if Self.starting.contains(String(call.1)) {
                    if line.contains("CLONE_THREAD"), let thread = Int(call.2) { calls.threads.append(thread) }
                } else if call.1 != "fcntl" || line.contains("F_DUPFD") {
                    calls.lines.append(String(line))
                }
            }
        }
        return calls
    }

    struct Calls {
        fileprivate(set) var threads: [Int]
        fileprivate(set) var lines: [String]

        /// The calls that opened a descriptor which a program would inherit. Calls of other libraries are left out if
        /// they open a file that every process may read, and the library closes it at once.
        var inheritable: [String] {
            lines.filter { line in !line.contains("CLOEXEC") && !exceptions.contains { line.contains($0) } }
        }

        private var exceptions: [String] {
            // Swift's runtime, before `main`.
            ["\"/proc/self/maps\", O_RDONLY)"]
                // SwiftNIO counts the processors before it creates the event loops that all libraries share.
                + ["\"/sys/fs/cgroup/"]
                // Dispatch checks which of its threads are blocked.
                + threads.map { "\"/proc/\($0)/stat\", O_RDONLY|O_NONBLOCK)" }
        }
    }
}
