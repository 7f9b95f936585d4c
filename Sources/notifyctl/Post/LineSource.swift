import DequeModule
import Glibc
import NotifyClient
import Synchronization

/// The lines of the input of `post --lines`, as they are read.
final class LineSource: Sendable {
    private struct State {
        /// The lines that were returned to be sent again. They are taken before those of `waiting`.
        var returned: Deque<InputLine> = []
        /// The lines that were read and not taken yet.
        var waiting: Deque<InputLine> = []
        // One byte more than the maximum payload of every daemon. A longer line is truncated to this length, so its
        // post fails, and the error is reported in the order of the lines.
        var splitter = LineSplitter(maximumBytes: NotificationClient.maximumPayloadBytes + 1)
        var reader: InputReader
        var readLines = 0
        var readBytes: UInt64 = 0
        var isAtEnd = false
        var isStopped = false

        mutating func add(_ lines: [[UInt8]]) {
            for payload in lines {
                readLines += 1
                waiting.append(InputLine(number: readLines, payload: payload))
            }
        }

        mutating func take(_ count: Int) -> [InputLine] {
            let again = returned.prefix(count)
            let others = waiting.prefix(count - again.count)
            defer {
                returned.removeFirst(again.count)
                waiting.removeFirst(others.count)
            }
            return Array(again) + others
        }
    }

    /// The size of the input, if it is a file.
    let totalBytes: UInt64?
    private let descriptor: Int32
    private let state: Mutex<State>

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        state = Mutex(State(reader: InputReader(descriptor: descriptor)))
        var status = stat()
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        totalBytes = isFile ? UInt64(max(0, status.st_size)) : nil
    }

    /// Waits for the next lines. Only one task may wait.
    ///
    /// - Returns: At most `count` lines; none at the end of the input, and after `stop`.
    /// - Throws: `CommandFailure` if the input can't be read; `CancellationError` in a cancelled task.
    func next(_ count: Int) async throws -> [InputLine] {
        while true {
            let (lines, reader) = state.withLock { state -> ([InputLine], InputReader?) in
                if state.isStopped { return ([], nil) }
                return (state.take(count), state.isAtEnd ? nil : state.reader)
            }
            guard lines.isEmpty, let reader else { return lines }
            do {
                let chunk = try await reader.next()
                state.withLock { state in
                    state.readBytes += UInt64(chunk.count)
                    state.add(
                        chunk.isEmpty ? [state.splitter.finish()].compactMap(\.self) : state.splitter.split(chunk))
                    state.isAtEnd = chunk.isEmpty
                }
            } catch is CancellationError where state.withLock({ $0.isStopped }) {
                return []
            }
        }
    }

    /// Ends the current wait for lines, and all later ones.
    func stop() {
        let reader = state.withLock { state in
            state.isStopped = true
            return state.reader
        }
        reader.cancel()
    }

    /// Continues after `stop`. The given lines come before the others.
    func resume(with lines: [InputLine]) {
        state.withLock { state in
            state.returned.prepend(contentsOf: lines)
            state.reader = InputReader(descriptor: descriptor)
            state.isStopped = false
        }
    }

    /// Takes the lines that were returned and not taken again.
    func takeReturned() -> [InputLine] { state.withLock { $0.take($0.returned.count) } }

    /// The number of bytes that were read.
    var readBytes: UInt64 { state.withLock { $0.readBytes } }

    /// The number of the first line that was never taken; nil if all were taken, or if no further line is known.
    var nextLine: Int? {
        state.withLock { state -> Int? in
            if let next = state.waiting.first { return next.number }
            guard !state.isAtEnd, state.splitter.hasPartialLine || hasUnreadBytes else { return nil }
            return state.readLines + 1
        }
    }

    private var hasUnreadBytes: Bool {
        var count: Int32 = 0
        return ioctl(descriptor, UInt(FIONREAD), &count) == 0 && count != 0
    }
}
