import NotifyLog
import NotifyWire

/// Requests that wait until an earlier change of the same durable subscription is in the log, or has failed.
extension Broker {
    /// Pauses the connection until the outcome of the next commit if its next frame is for a durable subscription that
    /// is being changed or removed. The frame is not processed before.
    ///
    /// - Returns: Whether the connection was paused.
    mutating func pauseIfChanging(_ frame: FrameDecoder.Frame, _ slot: ConnectionSlot) -> Bool {
        // A change waits for a commit.
        guard !commits.isIdle, let durable = durable(of: frame, slot), durables[durable].isChanging else {
            return false
        }
        scheduler.spend(FairScheduler.Cost.subscribe)
        guard commits.pauseUntilOutcome(slot) else { return false }
        pause(slot, .logBehind)
        return true
    }

    /// Whether the durable subscription that a request names is being changed or removed.
    func isChanging(for purpose: TimeSearch.Purpose, _ slot: ConnectionSlot) -> Bool {
        let durable: DurableSlot? =
            switch purpose {
            case .subscribe(let subscribe): self.durable(of: subscribe, slot)
            case .reset(let reset): try? managed(reset.durableName, uid: reset.uid, by: slot)
            case .find: nil
            }
        return durable.map { durables[$0].isChanging } ?? false
    }

    /// The durable subscription that a valid frame attaches to, changes or removes; nil if there is none.
    private func durable(of frame: FrameDecoder.Frame, _ slot: ConnectionSlot) -> DurableSlot? {
        switch FrameKind(rawValue: frame.kind) {
        case .subscribe: (try? Subscribe(frame)).flatMap { durable(of: $0, slot) }
        case .remove: (try? Remove(frame)).flatMap { try? managed($0.durableName, uid: $0.uid, by: slot) }
        case .reset: (try? Reset(frame)).flatMap { try? managed($0.durableName, uid: $0.uid, by: slot) }
        case .edit: (try? Edit(frame)).flatMap { try? managed($0.durableName, uid: $0.uid, by: slot) }
        case .configure: (try? Configure(frame)).flatMap { try? managed($0.durableName, uid: $0.uid, by: slot) }
        default: nil
        }
    }

    private func durable(of subscribe: Subscribe, _ slot: ConnectionSlot) -> DurableSlot? {
        durables.slot(of: DurableKey(uid: connections[slot].uid, name: subscribe.durableName))
    }
}
