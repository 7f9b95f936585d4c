import NotifyCenter
import NotifyWire
import ServiceLifecycle

extension NotifyClient.Subscription {
    /// Reads pages of the snapshot into the buffer until the buffer has something to take, or the snapshot has ended.
    ///
    /// A page that a lost connection cuts short is requested again on the next one.
    ///
    /// - Returns: False if the task was cancelled.
    nonisolated(nonsending) func readSnapshot() async throws(NotifyError) -> Bool {
        while let (range, maximumMessages) = buffer.rangeToRead() {
            let request = ReadLog(
                request: 0, first: range.first, last: range.last, maximumMessages: UInt32(maximumMessages),
                awaitsPending: true, object: spec.object ?? "", patterns: spec.patterns.map(\.string))
            do throws(NotifyError) {
                buffer.put(.page(try await core.answer { .log(request, $0, page: nil) }, of: range))
            } catch {
                if Task.isShuttingDownGracefully {
                    buffer.put(.end(nil))
                } else if Task.isCancelled {
                    return false
                } else if error.code != .connectionLost, error.code != .notConnected {
                    buffer.put(.end(error))
                }
            }
        }
        return true
    }
}
