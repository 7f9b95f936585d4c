import NotifyLog
import NotifyWire

/// Requests that wait until an earlier change of the same durable subscription is committed or has failed.
extension Broker {
    /// Pauses the connection until the outcome of the next commit, if its next frame is for a durable subscription that
    /// is being changed or removed. The frame is processed after that outcome. While storage fails, the frame is
    /// refused instead, because the outcome may never come.
    ///
    /// - Returns: Whether the connection was paused.
    mutating func pauseIfChanging(_ frame: FrameDecoder.Frame, _ slot: ConnectionSlot) -> Bool {
        // Without a pending commit, there is no pending change.
        guard !commits.isIdle, commits.refusal == nil, let durable = durable(of: frame, slot),
            durables[durable].isChanging
        else {
            if connections[slot].waitsSince != nil { connections[slot].waitsSince = nil }
            return false
        }
        scheduler.spend(FairScheduler.Cost.subscribe)
        connections[slot].waitsSince = connections[slot].waitsSince ?? commits.nextBatchID
        guard commits.pauseUntilOutcome(slot) else { return false }
        pause(slot, .logBehind)
        return true
    }

    /// Resumes the connections that are paused until the outcome of a commit. The connection whose frame has waited
    /// longest comes first, so that each gets its turn even if others keep sending requests.
    mutating func resumePausedConnections() {
        let paused = commits.takePausedConnections()
        let sorted = paused.sorted { connections[$0].waitsSince ?? .max < connections[$1].waitsSince ?? .max }
        for slot in sorted { resume(slot, .logBehind) }
    }

    /// Whether the durable subscription that a request names is being changed or removed.
    func isChanging(for purpose: TimeSearch.Purpose, _ slot: ConnectionSlot) -> Bool {
        let durable: DurableSlot? =
            switch purpose {
            case .subscribe(let subscribe): self.durable(of: subscribe, slot)
            case .reset(let reset): try? managed(reset, by: slot)
            case .find: nil
            }
        return durable.map { durables[$0].isChanging } ?? false
    }

    /// The durable subscription that a valid frame attaches to, changes or removes; nil if there is none.
    private func durable(of frame: FrameDecoder.Frame, _ slot: ConnectionSlot) -> DurableSlot? {
        switch FrameKind(rawValue: frame.kind) {
        case .subscribe: (try? Subscribe(frame)).flatMap { durable(of: $0, slot) }
        case .remove: try? managed(Remove(frame), by: slot)
        case .reset: try? managed(Reset(frame), by: slot)
        case .edit: try? managed(Edit(frame), by: slot)
        case .configure: try? managed(Configure(frame), by: slot)
        default: nil
        }
    }

    private func durable(of subscribe: Subscribe, _ slot: ConnectionSlot) -> DurableSlot? {
        durables.slot(of: DurableKey(uid: connections[slot].uid, name: subscribe.durableName))
    }
}
