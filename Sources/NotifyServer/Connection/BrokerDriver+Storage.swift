import Logging
import NIOCore
import NotifyBroker
import NotifyLog
import NotifyWire

/// The broker's requests to the store, and the store's answers. A tick follows each answer.
extension BrokerDriver {
    func observeDeletions() {
        store.setDeletionHandler(onEventLoop { $0.core.broker.deleted($1, now: $0.now) })
    }

    func commit(_ batch: CommitBatch) {
        store.commit(batch, completion: onEventLoop { $0.committed($1) })
    }

    func readPage(_ request: PageRequest) {
        store.readPage(request, completion: onEventLoop { $0.core.broker.pageRead($1, now: $0.now) })
    }

    func readRedeliveries(_ request: RedeliveryRequest) {
        store.readRedeliveries(request, completion: onEventLoop { $0.core.broker.redeliveriesRead($1, now: $0.now) })
    }

    func request(_ work: StoreWork, _ ticket: StoreTicket) {
        store.perform(work, answer: onEventLoop { $0.core.broker.stored($1, for: ticket, now: $0.now) })
    }

    /// Reports the storage problem to the service manager. Does nothing while storage works.
    func reportProblem() {
        if let problem { notifier.status("degraded: \(problem)") }
    }

    private func committed(_ outcome: CommitOutcome) {
        core.broker.committed(outcome, now: now)
        if let readiness {
            self.readiness = nil
            switch outcome.result {
            case .success: readiness.succeed()
            case .failure(let failure) where failure.kind == .full: readiness.succeed()
            case .failure(let failure): readiness.fail(failure)
            }
        }
        if isRepairRequested { repairStorage() }
    }

    func reportHealth(_ problem: String?) {
        self.problem = problem
        if let problem {
            logger.error("stored posts are refused: \(problem)")
            reportProblem()
        } else {
            logger.notice("storage works again")
            notifier.status("running")
        }
    }

    /// A completion for the store that passes the answer to `handle` on the event loop, and schedules a tick.
    func onEventLoop<Answer: Sendable>(
        _ handle: @escaping @Sendable (BrokerDriver, Answer) -> Void
    ) -> @Sendable (Answer) -> Void {
        let loopBound = NIOLoopBound(self, eventLoop: eventLoop)
        return { [eventLoop] answer in
            eventLoop.execute {
                handle(loopBound.value, answer)
                loopBound.value.scheduleTick()
            }
        }
    }
}
