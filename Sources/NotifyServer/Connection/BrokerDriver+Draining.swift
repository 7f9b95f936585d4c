import Logging
import NIOCore
import NotifyBroker
import NotifyWire

/// The state of draining: the progress of a stopping daemon in closing its connections.
struct Drain {
    /// Succeeds when all output is flushed, or after the limit; nil unless the daemon is stopping.
    fileprivate var drained: EventLoopPromise<Void>?
    fileprivate var timer: Scheduled<Void>?
    /// Limits how many connections a drain closes before the loop polls again.
    fileprivate var endings = EndingBudget()

    mutating func turnBegan() { endings.turnBegan() }
}

/// Ending the connections of a stopping daemon.
extension BrokerDriver {
    /// Commits pending messages, sends `closing` to every client, and closes the connections. The future succeeds when
    /// all output is flushed, or after `limit`.
    func drain(within limit: Duration) -> EventLoopFuture<Void> {
        let drained = eventLoop.makePromise(of: Void.self)
        drain.drained = drained
        core.broker.drainRequested()
        scheduleTick()
        limitDrain(to: limit, until: now.monotonic + limit)
        return drained.futureResult
    }

    private func limitDrain(to limit: Duration, until deadline: Duration) {
        guard drain.drained != nil else { return }
        let left = deadline - now.monotonic
        guard left > .zero else {
            logger.warning("draining timed out after \(limit.text): not all output was flushed")
            return finishDrain()
        }
        drain.timer = schedule(in: left) { $0.limitDrain(to: limit, until: deadline) }
        mayWait()
    }

    /// Whether the daemon is stopping, so that all sockets will be closed.
    var isEnding: Bool { drain.drained != nil }

    private func finishDrain() {
        for handler in handlers {
            handler?.close()
        }
        leftSockets.closeAll()
        cancelTimer()
        drain.timer?.cancel()
        drain.drained?.succeed()
        drain.drained = nil
    }

    /// Closes connections whose outbox is flushed, as many as the budget allows before the next poll. Ends the drain
    /// once no connection is left. Must be called only after the broker has sent `closing` to every client.
    func closeFlushedConnections() {
        var areAllClosed = true
        for handler in handlers {
            guard let handler, let id = handler.id else { continue }
            areAllClosed = false
            guard !drain.endings.isUsedUp else {
                isWorkLeft = true
                return
            }
            if !handler.isClosing, core.broker.isFlushed(id) {
                handler.closeWhenFlushed()
                drain.endings.connectionEnded()
            }
        }
        if areAllClosed { finishDrain() }
    }
}
