import NotifyWire

extension Broker {
    /// A peer has connected. Over a limit it is told so, and closed.
    package mutating func connectionOpened(_ peer: Peer, now: Moment) -> ConnectionID {
        let deadline = now.monotonic + configuration.greetingTimeout
        let id = connections.insert { id in
            Connection(id: id, peer: peer, session: Session(greetingDeadline: deadline))
        }
        let slot = Int(id.slot)
        watchDeadline(of: slot)
        if slot == outboxes.count { outboxes.append(Outbox()) }
        accounts[peer.uid].connections += 1
        if connections.count > configuration.connections {
            fail(slot, .connectionLimit("the daemon", configuration.connections), now: now)
        } else if accounts[peer.uid].connections > configuration.connectionsPerUser {
            fail(slot, .connectionLimit("user \(peer.uid)", configuration.connectionsPerUser), now: now)
        } else if drain != .notBegun {
            connections[slot].session.drainBegan()
            // While the last batch is at work, it is told together with all others.
            if drain == .done { answer(slot, Closing(lastRequest: 0)) }
        }
        return id
    }

    /// The peer is gone, or the shell closed. Volatile subscriptions end; durable ones are detached.
    package mutating func connectionClosed(_ id: ConnectionID) {
        guard connections.contains(id) else { return }
        forget(Int(id.slot))
    }

    /// Bytes have arrived. Returns how many were used up: the rest is the beginning of a frame, to be given again with
    /// what follows it. `bytes` is not kept.
    package mutating func bytesReceived(
        _ bytes: UnsafeRawBufferPointer, from id: ConnectionID, now: Moment
    ) -> Int {
        // Nothing of a connection that is being closed is looked at, nor kept.
        guard connections.contains(id), !connections[Int(id.slot)].session.isClosing else { return bytes.count }
        let slot = Int(id.slot)
        var used = 0
        do throws(WireError) {
            while let frame = try decoder(for: slot).next(in: bytes.slice(from: used)) {
                used += frame.size
                frameReceived(frame, from: slot, now: now)
                guard !connections[slot].session.isClosing else { return bytes.count }
            }
            try chargePartial(bytes.count - used, to: slot)
        } catch {
            fail(slot, error, now: now)
            return bytes.count
        }
        return used
    }

    private func decoder(for slot: Int) -> FrameDecoder {
        if case .greeting = connections[slot].session.state {
            return FrameDecoder(maximumBodyBytes: Limits.greetingBytes)
        }
        return FrameDecoder(maximumBodyBytes: configuration.maximumPayloadBytes + Limits.frameOverheadBytes)
    }

    private mutating func chargePartial(_ bytes: Int, to slot: Int) throws(WireError) {
        let change = bytes - connections[slot].partialBytes
        guard change != 0 else { return }
        connections[slot].partialBytes = bytes
        let uid = connections[slot].peer.uid
        accounts[uid].partialBytes += change
        guard accounts[uid].partialBytes <= configuration.partialBytesPerUser else {
            throw WireError(
                .limitReached,
                "user \(uid) has reached the limit of \(configuration.partialBytesPerUser) bytes of unfinished frames")
        }
    }

    private mutating func frameReceived(_ frame: FrameDecoder.Frame, from slot: Int, now: Moment) {
        switch connections[slot].session.frameReceived(kind: frame.kind) {
        case .handle(.post): postReceived(frame, from: slot, now: now)
        case .handle(let kind): requestReceived(kind, frame, from: slot, now: now)
        case .greet: greet(frame, slot, now: now)
        case .refuse(let error): refuse(slot, request: 0, error, detail: UInt64(frame.kind))
        case .fail(let error): fail(slot, error, now: now)
        case .ignore: break
        }
    }

    private mutating func greet(_ frame: FrameDecoder.Frame, _ slot: Int, now: Moment) {
        do throws(WireError) {
            let hello = try Hello(frame)
            guard (hello.lowestVersion...max(hello.lowestVersion, hello.highestVersion)).contains(Hello.currentVersion)
            else {
                throw WireError(
                    .unsupportedVersion,
                    "this daemon speaks version \(Hello.currentVersion), "
                        + "the client \(hello.lowestVersion) to \(hello.highestVersion)")
            }
            connections[slot].session.greeted()
            timedConnections.remove(slot)
            connections[slot].instance = hello.instance
            connections[slot].overflow = hello.overflow
            answer(slot, welcome(to: connections[slot]))
        } catch {
            fail(slot, error, now: now)
        }
    }

    private func welcome(to connection: Connection) -> Welcome {
        Welcome(
            version: Hello.currentVersion, uid: connection.peer.uid, gid: connection.peer.gid,
            pid: connection.peer.pid, maximumPayloadBytes: UInt32(configuration.maximumPayloadBytes),
            postWindow: UInt32(configuration.postWindow), maximumWindow: Limits.maximumWindow,
            maximumSubscriptions: UInt32(configuration.subscriptionsPerConnection), daemonInstance: daemonInstance,
            clientInstance: connection.instance, daemonVersion: daemonVersion)
    }

    // MARK: Answers

    mutating func touch(_ slot: Int) {
        guard !outboxes[slot].isTouched else { return }
        outboxes[slot].isTouched = true
        touchedConnections.append(Int32(slot))
    }

    /// After the error that ends a connection nothing follows, also no outcome that is decided only then.
    mutating func answer(_ slot: Int, _ frame: some ControlFrame) {
        guard !connections[slot].session.isClosing else { return }
        outboxes[slot].appendOwn { frame.write(to: &$0) }
        touch(slot)
    }

    mutating func answer(_ slot: Int, receipt: Receipt) {
        guard !connections[slot].session.isClosing else { return }
        outboxes[slot].appendOwn { receipt.append(to: &$0) }
        touch(slot)
    }

    /// Answers an error that leaves the connection as it is.
    mutating func refuse(
        _ slot: Int, request: UInt64, _ error: WireError, subscription: UInt32 = 0, detail: UInt64 = 0
    ) {
        answer(
            slot,
            ErrorFrame(
                request: request, code: error.code, subscription: subscription, detail: detail,
                message: error.message))
    }

    /// Answers a request that is wrong. After a broken frame there is no telling what else is, so that one closes.
    mutating func reject(_ slot: Int, request: UInt64, _ error: WireError, now: Moment) {
        if error.code == .malformedFrame {
            fail(slot, error, now: now)
        } else {
            refuse(slot, request: request, error)
        }
    }

    /// Answers an error and closes: at once when it is written, or when the time for that is over.
    mutating func fail(_ slot: Int, _ error: WireError, detail: UInt64 = 0, now: Moment) {
        guard !connections[slot].session.isClosing else { return }
        release(slot)
        answer(slot, ErrorFrame(code: error.code, detail: detail, message: error.message, isFatal: true))
        connections[slot].session.failed(closingDeadline: now.monotonic + configuration.closingTimeout)
        watchDeadline(of: slot)
    }

    /// Whether the connection is to be closed once everything taken from its outbox is written.
    package func isClosing(_ id: ConnectionID) -> Bool {
        connections.contains(id) && connections[Int(id.slot)].session.isClosing
    }

    // MARK: Endings

    mutating func close(_ slot: Int) {
        actions.append(.close(connections[slot].id))
        forget(slot)
    }

    private mutating func forget(_ slot: Int) {
        release(slot)
        accounts[connections[slot].peer.uid].connections -= 1
        connections.remove(slot)
        timedConnections.remove(slot)
    }

    /// Gives back all that the connection holds.
    private mutating func release(_ slot: Int) {
        for subscription in connections[slot].subscriptions.values {
            switch subscription {
            case .volatile(let registration): endVolatile(registration, of: slot)
            case .durable(let reader): detach(reader)
            }
        }
        connections[slot].subscriptions = [:]
        let uid = connections[slot].peer.uid
        accounts[uid].partialBytes -= connections[slot].partialBytes
        accounts[uid].outboxBytes -= connections[slot].chargedOutboxBytes
        connections[slot].partialBytes = 0
        connections[slot].chargedOutboxBytes = 0
        outboxes[slot].removeAll()
        waitingForLog.remove(slot)
    }
}

extension WireError {
    fileprivate static func connectionLimit(_ who: String, _ limit: Int) -> WireError {
        WireError(.limitReached, "\(who) has reached the limit of \(limit) connections")
    }
}
