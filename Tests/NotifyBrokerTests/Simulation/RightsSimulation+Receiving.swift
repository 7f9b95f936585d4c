import NotifyLog
import NotifyWire
import TestSupport
import WireTestSupport

@testable import NotifyBroker

/// Frames that clients receive, and restarts of the broker.
extension RightsSimulation {
    // MARK: Receiving

    func read() {
        readPoster()
        for case .message(let message) in watcher.client.take() {
            if let family = family(of: message), rights.permits(family, watcher.groups) { continue }
            fail("a client with \(watcher.groups) received \(message.name) \(message.sequence)")
        }
        for member in members {
            if member.client.isClosed { fail("the broker closed \(member.client.id)") }
            for frame in member.client.take() { read(frame, member) }
            guard member.client.room == .max else { continue }
            member.isLate = false
            member.permitted = rights.permitted(member.groups)
        }
    }

    private func readPoster() {
        for frame in poster.take() {
            switch frame {
            case .receipt(let receipt):
                let expected = receipts.removeValue(forKey: receipt.request)
                if receipt.stored != expected {
                    fail("\(receipt.sequence) is kept for \(receipt.stored) subscriptions, not \(expected as Any)")
                }
            case .durableDescription(let description): descriptions[description.request] = description
            default: break
            }
        }
    }

    /// The family of the message's name; for a dead letter, the family of the original message's name. Nil if the name
    /// belongs to no family.
    private func family(of message: ReceivedMessage) -> NameFamily? {
        guard message.name.hasPrefix(DeadLetterHeaders.namePrefix) else { return NameFamily(name: message.name) }
        return message.headers.withUnsafeBytes { DeadLetterHeaders(reading: $0) }.flatMap { NameFamily(name: $0.name) }
    }

    private func read(_ frame: Received, _ member: RightsMember) {
        switch frame {
        case .message(let message): receive(message, member)
        case .gap(let gap):
            log("gap \(member.client.id) \(gap.subscription) \(gap.dropped) \(gap.range)")
            models[RightsMember.index(gap.subscription)].received(gap)
        case .subscribed(let subscribed):
            let index = RightsMember.index(subscribed.subscription)
            if member.holds[index]?.request == subscribed.request { member.holds[index]?.isAttached = true }
            if refusals[member.client.id]?.contains(subscribed.request) ?? false {
                fail("an identity above the limit attached to '\(models[index].name)'")
            }
        case .error(let error): read(error, member)
        default: break
        }
    }

    private func read(_ error: ErrorFrame, _ member: RightsMember) {
        switch error.code {
        case ErrorCode.limitReached.rawValue:
            note("an identity was refused")
            if refusals[member.client.id]?.remove(error.request) == nil { fail("refused: \(error.message)") }
        // The commit of the attachment failed.
        case ErrorCode.logFull.rawValue, ErrorCode.storageFailed.rawValue:
            for (index, hold) in member.holds where hold.request == error.request { member.holds[index] = nil }
        case ErrorCode.takenOver.rawValue: break
        // The error may be about an attachment that has ended.
        case ErrorCode.unknownSubscription.rawValue, ErrorCode.notDelivered.rawValue: break
        default: fail("an unexpected error: \(error)")
        }
    }

    private func receive(_ message: ReceivedMessage, _ member: RightsMember) {
        let (sequence, index) = (message.sequence, RightsMember.index(message.subscription))
        log("message \(member.client.id) \(models[index].name) \(sequence) delivery \(message.delivery)")
        guard let family = family(of: message), member.permitted.contains(family) else {
            return fail("\(member.client.id) with \(member.groups) received \(message.name) \(sequence)")
        }
        models[index].received(message, family, isLate: member.isLate)
        if models[index].messages[sequence]?.wasWithheld ?? false { note("delivered after it was withheld") }
        models[index].change(sequence) { $0.wasWithheld = false }
        guard let hold = member.holds[index] else {
            if !member.isLate { fail("\(sequence) for \(member.client.id), which is no member") }
            return
        }
        if !hold.isAttached, !member.isLate { fail("\(sequence) before the attachment was confirmed") }
        if !hold.open.contains(sequence) { member.holds[index]?.open.append(sequence) }
        member.holds[index]?.got.insert(sequence)
    }

    // MARK: Restarting

    func crash() {
        log("crash")
        note("crashed")
        for index in models.indices {
            if members.contains(where: \.isLate) { models[index].lostGaps() }
            compareGaps(index)
        }
        start()
    }

    /// Stops the broker cleanly and starts it again.
    func stop() {
        log("stop")
        note("stopped")
        for member in members {
            for index in member.holds.keys {
                models[index].ended(inFlight(to: member, index), isFailure: false, waitsUntil: host.now.monotonic)
            }
            member.holds = [:]
            member.client.makeRoom()
        }
        host.drain()
        for _ in 0..<1000 where !host.isDrained {
            tick()
            work()
        }
        if !host.isDrained { fail("the drain does not end") }
        tick()
        for index in models.indices { compareGaps(index) }
        store.close(nextSequence: host.nextSequence)
        start()
    }

    private func start() {
        (members, outcomes, receipts, refusals) = ([], [], [:], [:])
        if random.chance(30) {
            rights.change(NameFamily.restricted.randomElement(using: &random) ?? .red, using: &random)
        }
        for index in models.indices {
            guard let record = store.subscription(named: models[index].name) else { continue }
            models[index].rightsChanged(to: rights)
            models[index].restarted(record, store.copies[record.id] ?? [:], now: host.now.monotonic)
        }
        host = TestHost(
            configuration, policy: rights.policy(generation), store: store, at: host.now.monotonic, isReady: false)
        settle()
        poster = host.connect(uid: 0)
        watcher = Self.watch(host, &random)
        settle()
    }
}
