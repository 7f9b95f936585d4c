import NotifyLog
import NotifyWire

/// Connections and the frames received on them.
extension Broker {
    /// The memory of an idle connection, in the broker and in the host.
    private static let connectionBytes = 6 << 10
    private static let unchargedReceivedBytes = 1 << 10

    /// Opens a connection for a peer that has connected. If a limit is exceeded, the connection fails with an error.
    package mutating func connectionOpened(_ peer: Peer, now: BrokerTime) -> ConnectionID {
        let uid = peer.identity.uid
        let identity = retainIdentity(peer.identity)
        let id = connections.open(
            peer, identity: identity,
            greetingDeadline: now.monotonic + configuration.greetingTimeout,
            openedMicroseconds: now.wallMicroseconds,
            retainedBlocks: egress.retainedBlocks(of: uid))
        egress.open(id.slot)
        if logs(.debug) { log(.connected, on: id.slot) }
        warnings.schedule(now: now.monotonic)
        ledger.change(.connections, by: 1, uid: uid)
        ledger.change(.connectionBytes, by: Self.connectionBytes, uid: uid)
        do throws(WireError) {
            guard connections.count + connections.leftSockets <= configuration.connections else {
                throw WireError(
                    .limitReached,
                    "the daemon has reached the limit of \(configuration.connections) connections (limits.connections)")
            }
            if let limit = access.limits(of: identity).connectsPerSecond,
                !ledger.rates.takeConnect(of: uid, perSecond: limit, now: now.monotonic)
            {
                throw WireError(
                    .limitReached,
                    "\(uid.userTitle) connects more than \(limit) times per second "
                        + "(limits.per_user.connects_per_second)")
            }
            try ledger.check(.connections, uid: uid)
            try ledger.checkRoom(for: 0, uid: uid)
            guard connections.drain != .notBegun else { return id }
            connections.drainBegan(for: id.slot)
            // While commits are pending, `closing` is not sent here: `finishDrain` sends it to all connections.
            if connections.drain == .done { answer(id.slot, Closing(lastRequest: 0)) }
        } catch {
            fail(id.slot, error, now: now)
        }
        return id
    }

    /// Removes a connection that the peer or the host has closed. Ends its volatile subscriptions and detaches its
    /// durable ones.
    package mutating func connectionClosed(_ id: ConnectionID, now: BrokerTime) {
        guard connections.contains(id) else { return }
        removeConnection(id.slot, now: now)
    }

    /// Processes received bytes, on arrival or in the connection's turn. Does not keep `bytes`. Frames are processed
    /// only here.
    ///
    /// - Returns: The number of bytes used. The host passes the rest again in the next call for this connection.
    package mutating func bytesReceived(
        _ bytes: UnsafeRawBufferPointer, from id: ConnectionID, now: BrokerTime
    ) -> Int {
        let slot = id.slot
        // The input of a connection that is being closed is discarded.
        guard connections.contains(id), !connections[slot].session.isClosing else { return bytes.count }
        do throws(WireError) {
            let used = try process(bytes, from: slot, now: now)
            guard !connections[slot].session.isClosing else { return bytes.count }
            try chargeReceived(bytes.slice(from: used), to: slot)
            return used
        } catch {
            fail(slot, error, now: now)
            return bytes.count
        }
    }

    /// Processes frames until the scheduler's slice is used up, and queues the connection if frames remain.
    private mutating func process(
        _ bytes: UnsafeRawBufferPointer, from slot: ConnectionSlot, now: BrokerTime
    ) throws(WireError) -> Int {
        beginTurn(of: slot)
        warnings.schedule(now: now.monotonic)
        let (pendingBytes, posts) = (commits.pending.bytes, statistics.messagesIn)
        defer {
            scheduler.endSlice(of: connections[slot].uid)
            if commits.pending.bytes != pendingBytes { chargePending(since: pendingBytes, to: slot) }
            connections[slot].counters.posts &+= statistics.messagesIn &- posts
        }
        var used = 0
        var count = 0
        continueList(slot)
        var decoder = decoder(for: slot)
        var mayProcess = connections.mayProcess(slot)
        let rate = access.limits(of: connections[slot].identity).postsPerSecond
        while mayProcess, scheduler.hasBudgetLeft {
            guard let frame = try decoder.next(in: bytes.slice(from: used)) else {
                endTurn(of: slot, hasMore: false)
                return used
            }
            if areAnswersUnread(slot), frame.needsAnswer {
                pause(slot, .answersUnread)
                break
            }
            if frame.isPost {
                if egress.isBehind, pauseIfOutputBehind(slot) { break }
                if let rate, pauseIfExceeded(rate, slot, now: now) { break }
            } else if pauseIfChanging(frame, slot) {
                break
            }
            used += frame.size
            scheduler.spend(FairScheduler.Cost.frame + frame.size >> FairScheduler.Cost.bytesShift)
            frameReceived(frame, from: slot, now: now)
            // A hello raises the maximum size of frames. Only the first frame can be a hello.
            if count == 0 { decoder = self.decoder(for: slot) }
            count &+= 1
            mayProcess = connections.mayProcess(slot)
        }
        guard !connections[slot].session.isClosing else { return bytes.count }
        let next = try decoder.next(in: bytes.slice(from: used))
        // If the scheduler granted no budget, the connection is queued even without a complete frame: reading is paused
        // until its turn, because each read has a cost, too.
        endTurn(of: slot, hasMore: next != nil || connections[slot].listing != nil || scheduler.isSliceEmpty)
        return used
    }

    /// Takes a token for a post. If no token is available, pauses the connection until there is one.
    ///
    /// - Returns: Whether the connection was paused.
    private mutating func pauseIfExceeded(_ rate: Int, _ slot: ConnectionSlot, now: BrokerTime) -> Bool {
        let (uid, id) = (connections[slot].uid, connections[slot].id)
        guard !ledger.rates.takePost(of: uid, perSecond: rate, from: id, now: now.monotonic) else { return false }
        pause(slot, .rateExceeded)
        return true
    }

    /// Charges the connection's user for pending bytes that its requests have added.
    mutating func chargePending(since earlier: Int, to slot: ConnectionSlot) {
        chargePending(since: earlier, to: connections[slot].uid)
    }

    /// Charges a user for pending bytes that were added in its name.
    mutating func chargePending(since earlier: Int, to uid: UInt32) {
        ledger.change(.pendingBytes, by: commits.charge(since: earlier, to: uid), uid: uid)
    }

    @inline(__always)
    private func decoder(for slot: ConnectionSlot) -> FrameDecoder {
        if case .greeting = connections[slot].session.state {
            return FrameDecoder(maximumBodyBytes: Limits.greetingBytes)
        }
        return FrameDecoder(maximumBodyBytes: configuration.maximumPayloadBytes + Limits.frameOverheadBytes)
    }

    private mutating func chargeReceived(_ rest: UnsafeRawBufferPointer, to slot: ConnectionSlot) throws(WireError) {
        // Short incomplete frames are covered by `connectionBytes`.
        let change = connections[slot].charge(receivedBytes: rest.count > Self.unchargedReceivedBytes ? rest.count : 0)
        guard change != 0 else { return }
        let uid = connections[slot].uid
        ledger.change(.receivedBytes, by: change, uid: uid)
        guard change > 0 else { return }
        // If complete frames wait for the connection's turn, reading is paused, so the limits need no check.
        if connections[slot].turn != .none, try decoder(for: slot).next(in: rest) != nil { return }
        try ledger.check(.receivedBytes, uid: uid)
        try ledger.checkRoom(for: 0, uid: uid)
    }

    private mutating func frameReceived(_ frame: FrameDecoder.Frame, from slot: ConnectionSlot, now: BrokerTime) {
        switch connections[slot].session.frameReceived(kind: frame.kind) {
        case .handle(.post): postReceived(frame, from: slot, now: now)
        case .handle(.setValue): setValueReceived(frame, from: slot, now: now)
        case .handle(let kind): requestReceived(kind, frame, from: slot, now: now)
        case .greet: greet(frame, slot, now: now)
        case .refuse(let error): refuse(slot, request: 0, error, detail: UInt64(frame.kind))
        case .fail(let error): fail(slot, error, now: now)
        case .ignore: break
        }
    }

    private mutating func greet(_ frame: FrameDecoder.Frame, _ slot: ConnectionSlot, now: BrokerTime) {
        do throws(WireError) {
            let hello = try Hello(frame)
            guard (hello.lowestVersion...max(hello.lowestVersion, hello.highestVersion)).contains(Hello.currentVersion)
            else {
                throw WireError(
                    .unsupportedVersion,
                    "the daemon supports protocol version \(Hello.currentVersion), "
                        + "and the client supports \(hello.lowestVersion) to \(hello.highestVersion)")
            }
            connections.greeted(slot, by: hello)
            answer(slot, welcome(to: slot))
            noteConnected(slot, now: now)
        } catch {
            fail(slot, error, now: now)
        }
    }

    private func welcome(to slot: ConnectionSlot) -> Welcome {
        Welcome(
            version: Hello.currentVersion, uid: connections[slot].uid, gid: connections[slot].gid,
            pid: connections[slot].pid, maximumPayloadBytes: UInt32(configuration.maximumPayloadBytes),
            postWindow: UInt32(configuration.postWindow), maximumWindow: Limits.maximumWindow,
            maximumSubscriptions: UInt32(configuration.subscriptionsPerConnection), daemonInstance: daemon.instance,
            clientInstance: connections[slot].instance, daemonVersion: daemon.version,
            epoch: commits.epoch)
    }

    // MARK: Closing

    mutating func close(_ slot: ConnectionSlot, now: BrokerTime) {
        actions.append(.close(connections[slot].id))
        removeConnection(slot, now: now)
    }

    private mutating func removeConnection(_ slot: ConnectionSlot, now: BrokerTime) {
        if logs(.debug) { log(.disconnected, on: slot) }
        noteDisconnected(slot)
        release(slot, now: now)
        if connections[slot].pauses.contains(.rateExceeded) {
            ledger.rates.remove(connections[slot].id, uid: connections[slot].uid)
        }
        ledger.change(.connections, by: -1, uid: connections[slot].uid)
        ledger.change(.connectionBytes, by: -Self.connectionBytes, uid: connections[slot].uid)
        releaseIdentity(connections[slot].identity)
        if ledger.amount(of: .connections, uid: connections[slot].uid) == 0 {
            egress.removeRetainedBlocks(of: connections[slot].uid)
        }
        releaseSocket(slot)
        egress.closed(slot)
        connections.remove(slot)
    }

    /// Releases the connection's subscriptions, requests, input and output.
    mutating func release(_ slot: ConnectionSlot, now: BrokerTime) {
        endSubscriptions(of: slot, now: now)
        endAsks(of: slot)
        endServers(of: slot, now: now)
        endAnnouncements(of: slot, now: now)
        endMonitor(of: slot)
        endPageRequests(of: slot)
        endStoreRequests(of: slot)
        commits.connectionEnded(slot)
        endInput(of: slot)
        endOutput(of: slot)
    }

    /// Releases the received bytes, and the list that is being answered.
    private mutating func endInput(of slot: ConnectionSlot) {
        endListing(slot)
        ledger.change(.receivedBytes, by: connections[slot].charge(receivedBytes: 0), uid: connections[slot].uid)
    }

    // MARK: Pausing and resuming

    mutating func pause(_ slot: ConnectionSlot, _ reason: Connection.Pauses) {
        if connections.pause(slot, reason) { actions.append(.pauseReading(connections[slot].id)) }
    }

    mutating func resume(_ slot: ConnectionSlot, _ reason: Connection.Pauses) {
        if connections.resume(slot, reason) { actions.append(.resumeReading(connections[slot].id)) }
        if connections[slot].turn == .deferred, connections[slot].pauses == .backlog { enqueue(slot) }
    }
}

extension FrameDecoder.Frame {
    /// Whether the frame posts a message of its own, so that the limits of posts apply.
    fileprivate var isPost: Bool {
        kind == FrameKind.post.rawValue || kind == FrameKind.setValue.rawValue || kind == FrameKind.announce.rawValue
    }

    /// Whether a valid frame of this kind is answered.
    fileprivate var needsAnswer: Bool {
        switch FrameKind(rawValue: kind) {
        case .post, .setValue: flags & Post.receiptFlag != 0
        case .acknowledge, .credit, .reject, .extend, .dropped, .endRead, .respond, .cancelAsk: false
        default: true
        }
    }
}
