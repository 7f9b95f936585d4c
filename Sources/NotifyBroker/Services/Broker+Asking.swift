import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire

/// Requests to servers, and their responses.
extension Broker {
    // MARK: Asking

    mutating func askReceived(_ frame: FrameDecoder.Frame, from slot: ConnectionSlot, now: BrokerTime) throws(WireError)
    {
        let ask = try Ask(frame)
        do throws(WireError) {
            let call = try open(ask, from: slot, now: now)
            statistics.requests += 1
            if recorder.isRecording { recordAsk(ask, from: slot, nil, now: now) }
            send(call, now: now)
        } catch {
            if !recorder.monitors.isEmpty { recordAsk(ask, from: slot, error, now: now) }
            throw error
        }
    }

    private mutating func open(_ ask: Ask, from slot: ConnectionSlot, now: BrokerTime) throws(WireError) -> CallID {
        let (uid, parts) = (connections[slot].uid, ask.parts)
        guard parts.payload.count <= configuration.maximumPayloadBytes else {
            throw WireError(
                .payloadTooLarge,
                "a payload of \(parts.payload.count) bytes is over the limit of \(configuration.maximumPayloadBytes)")
        }
        let timeout = Duration.milliseconds(ask.timeoutMilliseconds)
        guard timeout > .zero, timeout <= Limits.maximumAskTimeout else {
            throw WireError(
                .invalidArgument,
                "the time limit of a request is 1 ms to \(Limits.maximumAskTimeout.text), not \(timeout.text)")
        }
        if !parts.headers.isEmpty { try HeaderList.validate(parts.headers) }
        do {
            try NotificationName.validate(utf8: parts.name)
        } catch {
            throw WireError(error)
        }
        _ = try access.checkPost(parts.name, connections[slot].identity)
        let resolution = resolveServices(parts.name)
        guard !resolution.isEmpty else { throw .noResponders(parts.name) }
        let frame = encodedCall(parts, from: slot, now: now)
        let bytes = OpenCall.byteCount(frame, services: resolution.count)
        try ledger.check(.requestBytes, adding: bytes, uid: uid)
        try ledger.checkRoom(for: bytes, uid: uid)
        try ledger.take(.requests, uid: uid)
        let request = RequestID(connection: connections[slot].id, number: ask.request)
        let call = services.open(
            frame, for: request, uid: uid, deadline: now.monotonic + timeout, byteCount: bytes)
        ledger.change(.requestBytes, by: bytes, uid: uid)
        connections[slot].asks[ask.request] = call
        return call
    }

    @inline(__always)
    private func encodedCall(_ parts: MessageParts, from slot: ConnectionSlot, now: BrokerTime) -> ByteBuffer {
        let connection = connections[slot]
        let stamp = Stamp(
            sequence: 0, timeMicroseconds: now.wallMicroseconds, uid: connection.uid, gid: connection.gid,
            pid: connection.pid)
        var frame = ByteBuffer()
        frame.reserveCapacity(FrameHeader.size + ServiceCall.fixedSize + parts.byteCount)
        ServiceCall(call: 0, server: 0, timeoutMilliseconds: 0, stamp: stamp, parts: parts).append(to: &frame)
        return frame
    }

    /// The services that match a name and may serve it.
    private mutating func resolveServices(_ name: UnsafeRawBufferPointer) -> Resolution {
        let work = services.table.work
        defer { scheduler.spend(services.table.work - work) }
        return Self.resolve(name, &services, access)
    }

    private static func resolve(
        _ name: UnsafeRawBufferPointer, _ services: inout Services, _ access: AccessControl
    ) -> Resolution {
        lazy var rules = access.policy.nameRules(.serve, name)
        return services.resolve(name) { access.permits(rules, $0) }
    }

    mutating func cancel(_ cancel: CancelAsk, _ slot: ConnectionSlot) {
        guard let call = connections[slot].asks[cancel.request] else { return }
        fail(call, WireError(.requestCancelled, "the request was cancelled; the server may have executed it"))
    }

    /// Ends the requests of a connection that ends.
    mutating func endAsks(of slot: ConnectionSlot) {
        for call in connections[slot].asks.values.sorted(by: { $0.number < $1.number }) { abandon(call) }
        connections[slot].asks = [:]
    }

    // MARK: Handing over

    /// Hands a waiting call to a server, or lets it wait for one. Answers it if no server may get it.
    mutating func send(_ call: CallID, now: BrokerTime) {
        guard let open = services[call], open.state == .waiting else { return }
        let frame = open.frame
        let visits = services.visits
        defer { scheduler.spend(1 + (services.visits - visits) / FairScheduler.Cost.visitsPerUnit) }
        frame.withUnsafeReadableBytes { bytes in
            let name = ServiceCall.name(inFrame: bytes)
            let resolution = resolveServices(name)
            guard services.maySend(call, toOneOf: resolution) else { return fail(call, .noResponders(name)) }
            var blocked: [ConnectionSlot] = []
            let server = Self.hand(
                call, toOneOf: resolution, &services, connections, egress, limit: maximumUnreadCalls, &blocked)
            for slot in blocked { connections[slot].hasBlockedServers = true }
            if let server { write(call, to: server, now: now) }
        }
    }

    /// Sends the waiting calls again, because rights have changed.
    mutating func sendUnmatchedCalls(now: BrokerTime) {
        for call in services.takeUnmatched() { send(call, now: now) }
    }

    /// Answers a waiting call if no server is left that may get it. Sends it to the servers of another user if they have
    /// its name now. Other services of the same user have the call in their queues.
    ///
    /// - Parameter uid: The user whose server has ended.
    mutating func handOver(_ call: CallID, from uid: UInt32, now: BrokerTime) {
        guard let frame = services[call]?.frame, services[call]?.state == .waiting else { return }
        frame.withUnsafeReadableBytes { bytes in
            let name = ServiceCall.name(inFrame: bytes)
            let resolution = resolveServices(name)
            if !services.maySend(call, toOneOf: resolution) {
                fail(call, .noResponders(name))
            } else if services.belong(resolution, toOtherThan: uid) {
                send(call, now: now)
            }
        }
    }

    /// - Parameter blocked: The connections that have room for the call but don't read are appended.
    private static func hand(
        _ call: CallID, toOneOf resolution: Resolution, _ services: inout Services, _ connections: Connections,
        _ egress: Egress, limit: Int, _ blocked: inout [ConnectionSlot]
    ) -> ServerID? {
        services.hand(call, toOneOf: resolution) { slot in
            let mayGet = mayGetCalls(slot, connections, egress, limit: limit)
            if !mayGet { blocked.append(slot) }
            return mayGet
        }
    }

    /// Whether a connection reads the calls that it is sent, and may still respond.
    private static func mayGetCalls(
        _ slot: ConnectionSlot, _ connections: Connections, _ egress: Egress, limit: Int
    ) -> Bool {
        egress[slot].unreadAnswerBytes <= limit && !connections[slot].isInputEnded
    }

    /// The unread bytes at which a connection gets no further calls.
    private var maximumUnreadCalls: Int { configuration.answerBytesPerConnection / 2 }

    /// Hands waiting calls to a server, as long as it has room and its connection reads.
    mutating func sendWaitingCalls(to server: ServerID, now: BrokerTime) {
        guard let slot = services[server]?.connection else { return }
        let visits = services.visits
        defer { scheduler.spend((services.visits - visits) / FairScheduler.Cost.visitsPerUnit) }
        while true {
            guard Self.mayGetCalls(slot, connections, egress, limit: maximumUnreadCalls) else {
                connections[slot].hasBlockedServers = true
                return
            }
            guard let call = services.nextCall(for: server) else { return }
            write(call, to: server, now: now)
        }
    }

    /// Hands waiting calls to the servers of a connection that reads again.
    ///
    /// - Returns: Whether the connection has servers.
    mutating func resumeServers(of slot: ConnectionSlot, now: BrokerTime) -> Bool {
        guard connections[slot].hasBlockedServers, egress[slot].unreadAnswerBytes <= maximumUnreadCalls else {
            return false
        }
        connections[slot].hasBlockedServers = false
        for server in connections[slot].servers { sendWaitingCalls(to: server, now: now) }
        return true
    }

    private mutating func write(_ call: CallID, to server: ServerID, now: BrokerTime) {
        guard let open = services[call], let server = services[server] else { return }
        var frame = open.frame
        let left = max(.milliseconds(1), open.deadline - now.monotonic)
        ServiceCall.address(
            &frame, call: call.number, server: server.number,
            timeoutMilliseconds: UInt32(left / .milliseconds(1)))
        egress.append(to: server.connection) { $0.writeImmutableBuffer(frame) }
    }
}

extension WireError {
    fileprivate static func noResponders(_ name: UnsafeRawBufferPointer) -> WireError {
        WireError(.noResponders, "no server answers '\(String(decoding: name, as: UTF8.self))'")
    }
}
