import NotifyLog
import NotifyWire

/// The responses of servers, and the ends of calls.
extension Broker {
    // MARK: Responses

    mutating func respond(_ respond: Respond, _ slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        let call = CallID(number: respond.call)
        guard let open = services[call], let server = open.server, services[server]?.connection == slot else {
            throw WireError(.unknownCall, "this connection holds no call \(respond.call)")
        }
        var refusal: WireError?
        if open.isAwaited {
            switch respond.outcome {
            case .replied:
                do throws(WireError) {
                    try reply(to: call, of: open, with: respond, from: slot)
                } catch {
                    refusal = error
                    let text = "the server's reply was refused: \(error.message)"
                    fail(call, WireError(.requestFailed, text), isResponse: true)
                }
            case .failed:
                let text = String(decoding: respond.payload.prefix(Limits.reasonBytes), as: UTF8.self)
                    .limited(toBytes: Limits.reasonBytes)
                fail(call, WireError(.requestFailed, text), isResponse: true)
            case .returned:
                services.returned(call)
                send(call, now: now)
            }
        }
        if services[call]?.server == server { end(heldCall: call) }
        if services[server] == nil { connections[slot].servers.removeAll { $0 == server } }
        sendWaitingCalls(to: server, now: now)
        if let refusal { throw refusal }
    }

    /// The size up to which a reply is kept for a user that has no memory left, as long as it reads its replies.
    private static let smallReplyBytes = 4 << 10

    /// Whether a reply of this size may wait for the asker. An asker that does not read its replies needs memory for
    /// them, because they can't be dropped like messages.
    @inline(__always)
    private func hasRoom(for bytes: Int, _ asker: ConnectionSlot) -> Bool {
        let unread = egress[asker].unreadAnswerBytes
        if bytes <= Self.smallReplyBytes, unread <= configuration.answerBytesPerConnection { return true }
        let uncharged = max(0, unread - connections[asker].outboxCharge.own)
        return ledger.room(of: connections[asker].uid) - uncharged >= bytes
    }

    private mutating func reply(
        to call: CallID, of open: OpenCall, with response: Respond, from slot: ConnectionSlot
    ) throws(WireError) {
        guard response.payload.count <= configuration.maximumPayloadBytes else {
            throw WireError(
                .payloadTooLarge,
                "a payload of \(response.payload.count) bytes is over the limit of \(configuration.maximumPayloadBytes)"
            )
        }
        if !response.headers.isEmpty { try HeaderList.validate(response.headers) }
        let asker = open.request.connection
        guard hasRoom(for: response.payload.count, asker.slot) else {
            let text = "the server has replied, but this user has no memory left for the reply"
            return fail(call, WireError(.requestFailed, text), isResponse: true)
        }
        let server = connections[slot]
        egress.append(to: asker.slot) { outbox in
            ServiceReply.append(
                request: open.request.number, uid: server.uid, gid: server.gid, pid: server.pid, response.headers,
                response.payload, to: &outbox)
        }
        end(call)
    }

    // MARK: The end of calls

    /// Ends the calls whose time limit has passed.
    mutating func endExpiredCalls(now: Duration) {
        for _ in 0..<Self.expiredCallsPerTurn {
            guard let call = services.takeExpired(now: now), let open = services[call] else { return }
            let text =
                open.state == .waiting
                ? "no server had room in time; the request was not executed"
                : "the server did not reply in time; the request may have been executed"
            fail(call, WireError(.timedOut, text))
        }
    }

    /// Ends all calls, because the daemon is being stopped.
    mutating func failCalls() {
        for slot in connections.slots {
            for call in connections[slot].asks.values.sorted(by: { $0.number < $1.number }) {
                let isWaiting = services[call]?.state == .waiting
                fail(
                    call,
                    isWaiting
                        ? WireError(.closing, "the daemon is shutting down; the request was not executed")
                        : WireError(
                            .serverGone, "the daemon is shutting down; the request may have been executed"))
            }
        }
    }

    /// The maximum number of calls that expire in one turn of the event loop.
    private static let expiredCallsPerTurn = 1_024

    /// Answers the asker of a call with an error.
    ///
    /// - Parameter isResponse: Whether the server has responded. If not, a server that holds the call gets a
    ///   ``ServiceCallEnded``.
    mutating func fail(_ call: CallID, _ error: WireError, isResponse: Bool = false) {
        guard let open = services[call], open.isAwaited else { return }
        let asker = open.request.connection
        abandon(call, isResponse: isResponse)
        guard connections.contains(asker) else { return }
        connections[asker.slot].asks[open.request.number] = nil
        refuse(asker.slot, request: open.request.number, error)
    }

    /// Ends a call that was answered.
    private mutating func end(_ call: CallID) {
        guard let open = services[call] else { return }
        release(open)
        connections[open.request.connection.slot].asks[open.request.number] = nil
    }

    /// Ends a call whose response is not awaited any more. If a server holds it, the call stays until the server has
    /// responded, and is charged to the server's user.
    mutating func abandon(_ call: CallID, isResponse: Bool = false) {
        guard let open = services[call], open.isAwaited else { return }
        release(open)
        guard let server = services.abandon(call).flatMap({ services[$0] }) else { return }
        ledger.change(.requestBytes, by: OpenCall.fixedBytes, uid: connections[server.connection].uid)
        if !isResponse { answer(server.connection, ServiceCallEnded(call: call.number)) }
    }

    /// Removes a call that its server holds no more.
    mutating func end(heldCall call: CallID) {
        if let open = services[call], !open.isAwaited, let server = open.server.flatMap({ services[$0] }) {
            ledger.change(.requestBytes, by: -OpenCall.fixedBytes, uid: connections[server.connection].uid)
        }
        services.responded(call)
    }

    private mutating func release(_ open: OpenCall) {
        ledger.change(.requests, by: -1, uid: open.uid)
        ledger.change(.requestBytes, by: -open.byteCount, uid: open.uid)
    }
}
