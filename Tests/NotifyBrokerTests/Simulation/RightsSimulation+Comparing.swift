import NotifyLog
import NotifyWire
import TestSupport
import WireTestSupport

@testable import NotifyBroker

/// Comparisons of the broker at rest with the models.
extension RightsSimulation {
    /// Lets the broker come to rest, and compares it with the models.
    func rest() {
        log("rest")
        for member in members { member.client.makeRoom() }
        settle()
        for _ in 0..<50 where allViolations.isEmpty {
            advance(.milliseconds(100))
            settle()
            // The broker counts some messages twice while the log does not have all progress, so the loop continues.
            if !host.core.broker.commits.health.isFailing, !host.core.broker.durables.hasUnsavedProgress { break }
        }
        for index in models.indices where allViolations.isEmpty { compare(index) }
    }

    func compareGaps(_ index: Int) {
        if models[index].compareGaps() > 0 { note("dropped with a gap") }
    }

    /// - Returns: The description of a subscription, and whether the store has counted messages for the description.
    private func describe(_ index: Int) -> (description: DurableDescription, isCounted: Bool)? {
        let request = poster.nextRequest()
        poster.send(Describe(request: request, uid: Self.uid, durableName: models[index].name))
        let isCounted = host.core.broker.durables.backlogs.started != nil
        settle()
        return descriptions.removeValue(forKey: request).map { ($0, isCounted) }
    }

    /// The members of a subscription, after a comparison of the model with the broker.
    private struct Attached {
        /// The groups of each member.
        var identities: [[UInt32]] = []
        /// The groups of each member that gets messages now.
        var receivers: [[UInt32]] = []
        var held: Set<UInt64> = []

        var isEmpty: Bool { identities.isEmpty }

        /// Whether members of all identities get messages. Otherwise some rights might not be evaluated yet.
        var areAllReceivers: Bool { Set(identities).isSubset(of: receivers) }

        func hasMember(for family: NameFamily, _ rights: RightsTable) -> Bool {
            identities.contains { rights.permits(family, $0) }
        }
    }

    private func attached(_ index: Int, _ durable: DurableSubscription) -> Attached {
        var attached = Attached()
        let areAllStalled = durable._members.all.allSatisfy(\.isStalled)
        for member in members {
            guard let hold = member.holds[index] else { continue }
            let known = durable._members.all.first {
                $0.attachment.connection == member.client.id && $0.attachment.number == RightsMember.number(index)
            }
            guard let known, hold.isAttached, known.isCommitted else {
                fail("'\(models[index].name)' has no member \(member.client.id)")
                continue
            }
            let held = inFlight(to: member, index)
            if held.count != known.unacknowledged || !held.isSubset(of: hold.open) {
                fail("\(member.client.id) holds \(hold.open), the broker knows \(held), \(known.unacknowledged)")
            }
            attached.held.formUnion(held)
            attached.identities.append(member.groups)
            if known.room > 0, areAllStalled || !known.isStalled { attached.receivers.append(member.groups) }
        }
        return attached
    }

    /// The bounds of the numbers that the broker may report.
    private struct Bounds {
        var least = 0
        var most = 0

        var isExact: Bool { least == most }

        mutating func count(isCertain: Bool) {
            least += isCertain ? 1 : 0
            most += 1
        }
    }

    private func compare(_ index: Int) {
        compareGaps(index)
        guard let (description, isCounted) = describe(index), let durable = host.durable(models[index].name) else {
            return fail("'\(models[index].name)' is not described")
        }
        let attached = attached(index, durable)
        let reader = host.reader(models[index].name)
        let isRead = reader?.isLive ?? false
        if !attached.receivers.isEmpty, !isRead { fail("'\(models[index].name)' is not read to the end") }
        let forbidden = rights.forbidden(models[index].identities)
        var (withheld, pending) = (Bounds(), Bounds())
        for (sequence, message) in models[index].unfinished(store) {
            pending.count(isCertain: !forbidden.contains(message.family))
            let isPassed = sequence <= reader?.position ?? .max || durable.redeliveryState(of: sequence) != nil
            guard !attached.held.contains(sequence), isRead || isPassed else { continue }
            let hasReader =
                attached.isEmpty ? isEvaluated(sequence, durable) : !attached.receivers.isEmpty
            // Times are rounded to 10 ms.
            let isDue = message.waitsUntil + .milliseconds(20) <= host.now.monotonic && hasReader
            if isDue { check(sequence, message, attached, isForbidden: forbidden.contains(message.family)) }
            guard !forbidden.contains(message.family), !attached.hasMember(for: message.family, rights) else {
                continue
            }
            if attached.isEmpty {
                let isForEveryone = models[index].identities.allSatisfy { rights.permits(message.family, $0) }
                if isForEveryone { continue }
                if isDue { note("withheld without a client") }
            }
            withheld.count(isCertain: isDue && attached.areAllReceivers)
            if isDue { models[index].change(sequence) { $0.wasWithheld = true } }
        }
        // The store counts from its own cursor, which skipped messages do not move.
        let cursor = store.subscriptions[durable.id]?.progress.cursor ?? 0
        pending.most += models[index].skipped(after: cursor, rights)
        compare(description, attached, withheld)
        if isCounted { compare(description.entry, pending) }
    }

    /// Whether the broker has evaluated the rights to a message that is due while no client is attached.
    private func isEvaluated(_ sequence: UInt64, _ durable: DurableSubscription) -> Bool {
        durable.redeliveryState(of: sequence) == .due && !host.core.broker.commits.health.isFailing
    }

    /// Checks a waiting message that is due and whose copy the broker has read.
    private func check(
        _ sequence: UInt64, _ message: RightsModel.Message, _ attached: Attached, isForbidden: Bool
    ) {
        if isForbidden { fail("\(sequence) is not dropped: \(message)") }
        if attached.receivers.contains(where: { rights.permits(message.family, $0) }) {
            fail("\(sequence) is not delivered: \(message)")
        }
    }

    private func compare(_ description: DurableDescription, _ attached: Attached, _ withheld: Bounds) {
        let entry = description.entry
        if Int(entry.members) != attached.identities.count || Int(entry.inFlight) != attached.held.count {
            fail("'\(entry.durableName)' has \(attached.identities.count) members with \(attached.held): \(entry)")
        }
        if !(withheld.least...withheld.most).contains(Int(description.withheld)) {
            fail("'\(entry.durableName)' withholds \(withheld), and reports \(description.withheld)")
        }
        note(withheld.isExact ? "withheld exactly" : "withheld about")
        if withheld.least > 0 { note("withheld") }
    }

    private func compare(_ entry: DurableEntry, _ pending: Bounds) {
        guard let reported = entry.pending else {
            return fail("'\(entry.durableName)' does not know what is pending")
        }
        if !(pending.least...pending.most).contains(Int(reported.messages)) {
            fail("\(pending) messages of '\(entry.durableName)' are pending, it reports \(reported.messages)")
        }
        note(pending.isExact ? "pending exactly" : "pending about")
    }

    // MARK: Completion

    /// Permits everything to all members, acknowledges everything, and checks that nothing is left.
    func finish() {
        log("finish")
        rights = RightsTable()
        setPolicy()
        for index in models.indices where !members.contains(where: { $0.holds[index] != nil }) { attach(index) }
        for _ in 0..<400 where allViolations.isEmpty {
            var isBusy = false
            for member in members {
                for (index, hold) in member.holds.sorted(by: { $0.key < $1.key }) {
                    for sequence in hold.open { acknowledge(member, index, sequence...sequence, [sequence]) }
                    isBusy = isBusy || !hold.open.isEmpty
                }
            }
            advance(.milliseconds(60))
            settle()
            guard isBusy || models.contains(where: { !$0.unfinished(store).isEmpty }) else { break }
        }
        rest()
        for index in models.indices { checkFinished(index) }
        checkEnd()
    }

    private func checkFinished(_ index: Int) {
        let model = models[index]
        for (sequence, message) in model.unfinished(store) { fail("\(sequence) is not finished: \(message)") }
        guard let durable = host.durable(model.name) else { return fail("'\(model.name)' has ended") }
        if durable.redeliveryCount > 0 { fail("'\(model.name)' has redeliveries: \(durable._redeliveries.messages)") }
        if let copies = store.copies[durable.id], !copies.isEmpty { fail("'\(model.name)' has copies: \(copies.keys)") }
        if durable.unacknowledged != 0 { fail("'\(model.name)' has messages in flight") }
        if model.messages.values.contains(where: \.isSkipped) { note("skipped") }
        if !model.unreportedLosses.isEmpty { fail("no gap reports the loss of \(model.unreportedLosses)") }
    }

    /// Closes all connections, and checks that no identities remain besides those of the subscriptions.
    private func checkEnd() {
        guard allViolations.isEmpty else { return }
        for client in members.map(\.client) + [poster, watcher.client] { host.closed(client) }
        (members, outcomes) = ([], [])
        host.run()
        let stored = Set(store.subscriptions.values.flatMap(\.owners))
        if host.core.broker.access.identityCount != stored.count {
            fail("\(host.core.broker.access.identityCount) identities are kept, \(stored.count) are stored")
        }
    }
}
