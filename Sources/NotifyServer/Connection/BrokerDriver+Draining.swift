import Logging
import NIOCore
import NotifyBroker
import NotifyWire

/// Ending the connections of a daemon that is stopped.
extension BrokerDriver {
    /// Commits pending messages, sends `closing` to every client, and closes the connections. The future succeeds when
    /// all output is flushed, or after `limit`.
    func drain(within limit: Duration) -> EventLoopFuture<Void> {
        let drained = eventLoop.makePromise(of: Void.self)
        self.drained = drained
        core.broker.drainRequested()
        scheduleTick()
        limitDrain(to: limit, until: now.monotonic + limit)
        return drained.futureResult
    }

    private func limitDrain(to limit: Duration, until deadline: Duration) {
        guard drained != nil else { return }
        let left = deadline - now.monotonic
        guard left > .zero else {
            logger.warning("draining timed out after \(limit.text): not all output was flushed")
            return finishDrain()
        }
        drainTimer = schedule(in: left) { $0.limitDrain(to: limit, until: deadline) }
    }

    /// Whether the daemon ends, and with it all sockets.
    var isEnding: Bool { drained != nil }

    private func finishDrain() {
        for handler in handlers {
            handler?.close()
        }
        leftSockets.closeAll()
        cancelTimer()
        drainTimer?.cancel()
        drained?.succeed()
        drained = nil
    }

    /// Closes connections whose outbox is flushed, as many as may end before the loop polls again, and ends the drain
    /// once no connection is left. Must be called only after the broker has sent `closing` to every client.
    func closeFlushedConnections() {
        var areAllClosed = true
        for handler in handlers {
            guard let handler, let id = handler.id else { continue }
            areAllClosed = false
            guard !drainEndings.isUsedUp else {
                isWorkLeft = true
                return
            }
            if !handler.isClosing, core.broker.isFlushed(id) {
                handler.closeWhenFlushed()
                drainEndings.connectionEnded()
            }
        }
        if areAllClosed { finishDrain() }
    }
}
