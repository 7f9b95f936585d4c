import Glibc

/// The records that wait for the log's output, and the thread that writes them. If the output accepts no bytes, such as
/// a full pipe, only this thread is blocked. Records beyond a limit are dropped and counted.
final class RecordQueue: Sendable {
    /// The maximum size of the records that wait, in bytes.
    static let maximumBytes = 256 << 10

    private struct State {
        var waiting: [UInt8] = []
        /// Records dropped since the last report of dropped records.
        var dropped = 0
        var isWriting = false
        var isEnded = false
    }

    /// The next step of the thread.
    private enum Work {
        case write([UInt8])
        case end
    }

    private let descriptor: CInt
    private let state = SharedState(State())
    /// Returns the record that reports a number of dropped records.
    private let report: @Sendable (_ dropped: Int) -> String

    init(descriptor: CInt, report: @escaping @Sendable (_ dropped: Int) -> String) {
        self.descriptor = descriptor
        self.report = report
        start()
    }

    /// Adds a record, which the thread writes soon. Never waits for the output.
    func append(_ record: String) {
        state.change { state in
            if state.waiting.count + record.utf8.count <= Self.maximumBytes {
                state.waiting += record.utf8
            } else {
                state.dropped += 1
            }
        }
    }

    /// Waits until all records are written, at most for `limit`.
    ///
    /// - Returns: Whether all records are written.
    @discardableResult
    func flush(within limit: Duration) -> Bool {
        state.wait(atMost: limit) { $0.waiting.isEmpty && !$0.isWriting ? () : nil } != nil
    }

    /// Ends the thread once it has written all records.
    func end() { state.change { $0.isEnded = true } }

    // MARK: The thread

    private func start() {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let code = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<RecordQueue>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context.toOpaque())
        if code == 0 { pthread_detach(thread) } else { context.release() }
    }

    private func run() {
        while case .write(let records)? = state.wait(for: takeWork) {
            write(records)
            state.change { $0.isWriting = false }
        }
    }

    /// Takes all waiting records, and a report of the dropped ones. If there are none: the end if the queue has ended,
    /// else nil.
    private func takeWork(_ state: inout State) -> Work? {
        state.isWriting = !state.waiting.isEmpty || state.dropped > 0
        guard state.isWriting else { return state.isEnded ? .end : nil }
        var records: [UInt8] = []
        swap(&records, &state.waiting)
        if state.dropped > 0 { records += report(state.dropped).utf8 }
        state.dropped = 0
        return .write(records)
    }

    /// Writes all records. Stops at an error.
    private func write(_ records: [UInt8]) {
        records.withUnsafeBytes { bytes in
            var written = 0
            while written < bytes.count {
                let count = Glibc.write(descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
                if count >= 0 {
                    written += count
                } else if errno == EAGAIN {
                    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&entry, 1, -1)
                } else if errno != EINTR {
                    return
                }
            }
        }
    }
}
