import NotifyCenter
import NotifyWire
import ServiceLifecycle

extension NotificationClient.Subscription {
    /// Reads pages of the snapshot into the buffer until items can be taken from it, or the snapshot has ended.
    ///
    /// A page that a lost connection cuts short is requested again on the next connection. A page that the daemon does
    /// not send in time is requested again, too, because a subscription waits for messages without limit.
    ///
    /// - Returns: False if the task was cancelled.
    nonisolated(nonsending) func readSnapshot() async throws(NotifyError) -> Bool {
        if Fork.isChild { throw .forked }
        while let next = buffer.rangeToRead() {
            let range = next.range
            let request = ReadLog(
                first: range.first, last: range.last, deletionMark: next.deletionMark,
                maximumMessages: UInt32(next.maximumMessages), awaitsPending: true, object: spec.object ?? "",
                patterns: spec.patterns.map(\.string))
            do throws(NotifyError) {
                let page = try await core.answer(to: PageCall(request), endsOnShutdown: true)
                buffer.put(.page(page, of: range))
            } catch {
                if Task.isShuttingDownGracefully {
                    buffer.put(.end(nil))
                } else if Task.isCancelled {
                    return false
                } else if ![.connectionLost, .notConnected, .timedOut].contains(error.code) {
                    buffer.put(.end(error))
                }
            }
        }
        return true
    }
}
