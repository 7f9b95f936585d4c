import NotifyWire
import Testing

@testable import NotifyClient

/// A member of a group acknowledges a message after its connection was lost, and leaves the subscription. The message
/// is settled if the daemon will not deliver it again, for example because another member has acknowledged it.
@Suite(.timeLimit(.minutes(25))) struct SettledAcknowledgementTests {
    /// Leaves the subscription. The daemon reports `state` for the message. If `state` is nil, the daemon reports that
    /// the message is not stored.
    ///
    /// - Returns: The code of the error; nil for success.
    private func leave(_ state: TraceEntry.State?) async throws -> NotifyError.Code? {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let opening = client.subscribe(to: [">"], as: .durable("d", sharing: .group))
                let first = try await daemon.accept()
                let number = try await first.acceptSubscription().subscription
                first.send { $0.writeRun(number, [7]) }
                let subscription = try await opening
                guard let message = try await subscription.messages().first(where: { _ in true }) else {
                    return .coding
                }
                try await first.close()
                let second = try await daemon.accept()
                try await second.acceptSubscription(after: 7, isResumed: true)
                try await client.ping()
                try await second.expectPing()
                message.acknowledge()
                async let left: NotifyError.Code? = {
                    do throws(NotifyError) {
                        try await subscription.leave()
                        return nil
                    } catch {
                        return error.code
                    }
                }()
                let trace: TraceRequest = try await second.expect()
                #expect(trace.sequence == 7)
                if let state {
                    second.send(
                        TraceEntry(
                            request: trace.request, state: state, mayHaveBeenSeen: true, uid: 0, pid: 0, client: 0,
                            durableName: "d"))
                    second.send(ListEnd(request: trace.request))
                } else {
                    second.send(ErrorFrame(request: trace.request, code: .unknownMessage, message: "not stored"))
                }
                try await second.expectDetach()
                return await left
            }
        }
    }

    @Test(arguments: [TraceEntry.State.acknowledged, .deadLetter, .forbidden])
    func `leaving succeeds if the message needs no acknowledgement any more`(state: TraceEntry.State) async throws {
        #expect(try await leave(state) == nil)
    }

    @Test func `leaving succeeds if no message of many unsent acknowledgements is stored any more`() async throws {
        let sequences = Array(1...1100 as ClosedRange<UInt64>)
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let opening = client.subscribe(to: [">"], as: .durable("d", window: 1100, sharing: .group))
                let first = try await daemon.accept()
                let number = try await first.acceptSubscription().subscription
                first.send { $0.writeRun(number, sequences) }
                let subscription = try await opening
                var iterator = subscription.makeAsyncIterator()
                var messages: [NotificationClient.Message] = []
                while messages.count < sequences.count, case .message(let message)? = try await iterator.next() {
                    messages.append(message)
                }
                try await first.close()
                let second = try await daemon.accept()
                try await second.acceptSubscription(after: 1100, isResumed: true)
                try await client.ping()
                try await second.expectPing()
                for message in messages { message.acknowledge() }
                async let left: Void = subscription.leave()
                var asked: [UInt64] = []
                while asked.count < sequences.count {
                    let trace: TraceRequest = try await second.expect()
                    asked.append(trace.sequence)
                    second.send(ErrorFrame(request: trace.request, code: .unknownMessage, message: "not stored"))
                }
                #expect(asked == sequences)
                try await second.expectDetach()
                try await left
            }
        }
    }

    @Test func `leaving succeeds if the message is no longer stored`() async throws {
        #expect(try await leave(nil) == nil)
    }

    @Test(arguments: [TraceEntry.State.pending, .inFlight, .waiting])
    func `leaving has an unknown outcome if the message may still be delivered`(state: TraceEntry.State) async throws {
        #expect(try await leave(state) == .outcomeUnknown)
    }
}
