import NotifyLog
import NotifyWire
import TestSupport

@testable import NotifyBroker

/// Deletions by the store: by its rules, because a backlog is too large, because a subscription is unused, or on
/// request.
extension Simulation {
    /// Lets the store delete by itself, or a client purge the log. The random numbers come from a separate generator,
    /// so that older seeds, which run without deletions, still repeat the same runs.
    func retain() {
        guard model.retains else { return }
        switch Int.random(in: 0..<1000, using: &retention) {
        case 0..<24: maintain()
        case 24..<32: purge()
        default: break
        }
    }

    private func maintain() {
        var deletion = Deletion()
        // The store reports several segments together.
        for _ in 0..<(retention.chance(30) ? 2 : 1) { deletion.add(maintainOneSegment()) }
        if retention.chance(50) { deletion.names = store.removedNames(after: deletion) }
        guard !deletion.isEmpty else { return }
        note("retention: \(deletion.losses) \(deletion.released) \(deletion.expired)")
        happened.deletions += deletion.usage.isEmpty ? 0 : 1
        happened.losses += deletion.losses.count
        happened.releases += deletion.released.count
        outcomes.append(.deleted(deletion))
        model.check(store)
    }

    private func maintainOneSegment() -> Deletion {
        guard let segment = segment() else { return Deletion() }
        switch Int.random(in: 0..<10, using: &retention) {
        case 0..<3: return store.delete { segment.contains($0.sequence) }
        case 3..<6:
            let names = store.messages.filter { segment.contains($0.sequence) }.map(\.name)
            let name = names.randomElement(using: &retention) ?? []
            return store.delete { segment.contains($0.sequence) && $0.name == name }
        case 6..<9:
            return store.release(of: Self.users.randomElement(using: &retention) ?? 0, through: segment.upperBound)
        default:
            let unused = store.subscriptions.values.filter { !$0.progress.isAttached }.sorted { $0.id < $1.id }
            guard let record = unused.randomElement(using: &retention) else { return Deletion() }
            model.work.renewals[record.name, default: 0] += 1
            var deletion = Deletion()
            deletion.expired = [record.id]
            return deletion
        }
    }

    /// A random range of successive messages. Old messages are chosen more often.
    private func segment() -> ClosedRange<UInt64>? {
        guard !store.messages.isEmpty else { return nil }
        let newest = store.messages.count - 1
        let first = Int.random(in: 0...(retention.chance(50) ? newest / 4 : newest), using: &retention)
        let last = min(first + Int.random(in: 0..<12, using: &retention), newest)
        return store.messages[first].sequence...store.messages[last].sequence
    }

    private func purge() {
        let isRoot = retention.chance(95)
        let clients = clients.filter { isReady($0) && ($0.uid == 0) == isRoot }
        guard let client = clients.randomElement(using: &retention), let end = segment()?.lowerBound else { return }
        let patterns =
            retention.chance(10) ? ["notifyd.dead.*"] : Self.volatilePatterns.randomElement(using: &retention) ?? []
        note("purge \(patterns) before \(end)")
        happened.purges += 1
        client.client.send(Purge(request: client.client.nextRequest(), before: end, patterns: patterns))
    }
}
