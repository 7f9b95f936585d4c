import NotifyLog
import NotifyWire
import TestSupport

@testable import NotifyBroker

/// Requests that wait for the store, and the charges for them.
extension Simulation {
    func askStore() {
        for _ in 0..<Int.random(in: 1...8, using: &random) {
            guard let client = any()?.client else { return }
            let request = client.nextRequest()
            let patterns = Self.volatilePatterns.randomElement(using: &random) ?? []
            note("ask the store \(client.id) \(request)")
            switch Int.random(in: 0..<3, using: &random) {
            case 0: client.send(CheckRequest(request: request, isFull: random.chance(50)))
            case 1: client.send(Find(request: request, position: .age(microseconds: 1_000_000)))
            default:
                client.send(
                    SummarizeLog(request: request, first: 1, last: .max, maximumNames: 2, patterns: patterns))
            }
        }
    }

    /// Compares each user's charges for waiting requests with the memory that the machines hold.
    func checkCharges() {
        let held = host.pendingBytesHeld
        for uid in Self.users {
            let (charged, held) = (host.amount(of: .pendingBytes, uid), held[uid] ?? 0)
            if charged != held {
                model.fail("user \(uid) is charged \(charged) pending bytes, the machines hold \(held)")
            }
        }
    }
}

extension TestHost {
    /// The pending bytes that the machines of the broker hold for each user.
    fileprivate var pendingBytesHeld: [UInt32: Int] {
        var held = core.broker.commits.pending.charges
        held.merge(core.broker.commits.inFlight?.log.charges ?? [:], uniquingKeysWith: +)
        for charge in core.broker.storeRequests.charges where charge.resource == .pendingBytes {
            held[charge.uid, default: 0] += charge.bytes
        }
        for read in core.broker.pages.histories.all { held[read.charge.uid, default: 0] += read.charge.bytes }
        for slot in core.broker.connections.slots {
            held[core.broker.connections[slot].uid, default: 0] += core.broker.connections[slot].listing?.byteCount ?? 0
        }
        return held
    }
}
