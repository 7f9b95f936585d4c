import NotifyCenter
import NotifyLog
import NotifyWire

/// Posts: checking, stamping, delivery to volatile subscribers, and adding to the log's next batch.
extension Broker {
    /// Processes a post. Volatile subscribers receive the message in this tick, durable subscribers after the commit.
    /// The receipt of a stored post is sent after the commit. A refused post is answered with an error.
    mutating func postReceived(_ frame: FrameDecoder.Frame, from slot: ConnectionSlot, now: BrokerTime) {
        do throws(WireError) {
            let post = try Post(frame)
            if logs(.trace) { logPost(post, from: slot) }
            try connections.requestReceived(post.request, from: slot)
            try check(post)
            let resolution = try resolve(post.parts, for: slot)
            try accept(post, from: slot, resolution, now: now)
        } catch {
            if !recorder.monitors.isEmpty { recordRefused(frame, from: slot, error, now: now) }
            reject(slot, request: Post.request(of: frame), error, now: now)
        }
    }

    @inline(__always)
    private func check(_ post: Post) throws(WireError) {
        let parts = post.parts
        guard parts.payload.count <= configuration.maximumPayloadBytes else {
            throw WireError(
                .payloadTooLarge,
                "a payload of \(parts.payload.count) bytes is over the limit of \(configuration.maximumPayloadBytes)")
        }
        guard parts.messageID.isEmpty else {
            throw WireError(.unsupported, "message ids are reserved: leave the id empty")
        }
        if !parts.headers.isEmpty { try HeaderList.validate(parts.headers) }
    }

    /// Checks a post's name, object and rights, and returns its subscribers. If the resolution is cached, the name and
    /// object need no validation.
    private mutating func resolve(_ parts: MessageParts, for slot: ConnectionSlot) throws(WireError) -> Resolution {
        let key = PostKey(parts)
        if let cached = subscriptions.cached(key) {
            if access.policy.isOpen(parts.name) { return cached.resolution }
            let identity = connections[slot].identity
            if access.isPermitted(cached.tag, identity) { return cached.resolution }
            subscriptions.setTag(try access.checkPost(parts.name, tagged: cached.tag, identity), of: cached)
            return cached.resolution
        }
        do {
            try NotificationName.validate(utf8: parts.name)
        } catch {
            throw WireError(.invalidName, error.message)
        }
        guard String(validating: parts.object, as: UTF8.self) != nil else {
            throw WireError(.invalidObject, "the object is not valid UTF-8")
        }
        _ = try access.checkPost(parts.name, connections[slot].identity)
        return resolve(key)
    }

    /// Resolves a valid name and object to the matching subscribers that may receive the name.
    mutating func resolve(_ key: PostKey) -> Resolution {
        let work = subscriptions.work
        defer { scheduler.spend(subscriptions.work - work) }
        if access.policy.isOpen(key.name) { return subscriptions.resolve(key) { _ in true } }
        return Self.resolve(key, &subscriptions, access, connections, durables)
    }

    /// Resolves a message that may be a dead letter. A dead letter reaches only subscribers that may also receive its
    /// original message.
    mutating func resolve(_ message: MessageParts) -> Resolution {
        let resolution = resolve(PostKey(message))
        guard DeadLetterHeaders.isDeadLetter(message.name), !resolution.isEmpty else { return resolution }
        let rules = DeadLetterHeaders.withOriginalName(of: message) { access.policy.nameRules(.subscribe, $0) }
        scheduler.spend(FairScheduler.Cost.trace)
        return resolution.filtered { registration in
            rules.map { Self.mayReceive($0, registration, access, connections, durables) } ?? false
        }
    }

    private static func resolve(
        _ key: PostKey, _ subscriptions: inout Subscriptions, _ access: AccessControl, _ connections: Connections,
        _ durables: DurableSubscriptions
    ) -> Resolution {
        let rules = access.policy.nameRules(.subscribe, key.name)
        return subscriptions.resolve(key) { mayReceive(rules, $0, access, connections, durables) }
    }

    private static func mayReceive(
        _ rules: AccessPolicy.NameRules, _ registration: Registration, _ access: AccessControl,
        _ connections: Connections, _ durables: DurableSubscriptions
    ) -> Bool {
        switch Subscriber(registration) {
        case .connection(let slot): access.permits(rules, connections[slot].identity)
        case .durable(let slot): durables[slot].identities.contains { access.permits(rules, $0) }
        }
    }

    private mutating func accept(
        _ post: Post, from slot: ConnectionSlot, _ resolution: Resolution, now: BrokerTime
    ) throws(WireError) {
        let volatileCount = resolution.volatileCount
        let durableCount = resolution.count - volatileCount
        let isStored =
            switch post.durability {
            case .volatile: false
            // Refused if an unknown subscription could match: accepting it would lose the message.
            case .automatic: durableCount > 0 || !durables.areComplete
            case .stored, .synced: true
            }
        if isStored { try checkStorage(of: post, from: slot) }
        let sequence = try commits.takeSequence()
        statistics.messagesIn += 1
        scheduler.spend((volatileCount &+ durableCount) &* FairScheduler.Cost.delivery)
        pace(slot, subscribers: volatileCount, bytes: post.parts.payload.count)
        let stamp = Stamp(
            sequence: sequence, timeMicroseconds: now.wallMicroseconds, uid: connections[slot].uid,
            gid: connections[slot].gid, pid: connections[slot].pid)
        var receipt = Receipt(
            request: post.request, sequence: sequence, subscribers: UInt32(volatileCount), stored: 0,
            durability: .volatile)
        if isStored {
            if commits.isOpenBlockFull { egress.openBlockEnded(commits.sealOpenBlock()) }
            let place = commits.append(stamp, post.parts, resolution)
            let account = storedAccount(of: slot)
            ledger.stored.add(place.end - place.start, to: account)
            if volatileCount > 0 {
                egress.fanOut(resolution, count: volatileCount, egress.rangeInOpenBlock(place), sequence: sequence)
            }
            receipt.stored = UInt32(durableCount)
            receipt.durability = post.durability == .synced ? .synced : .stored
            awaitCommit(receipt, of: post, from: slot)
        } else {
            if volatileCount > 0 {
                let place = egress.encode(stamp, post.parts)
                egress.fanOut(resolution, count: volatileCount, place, sequence: sequence)
            }
            if post.wantsReceipt { answer(slot, receipt: receipt) }
        }
        if recorder.isRecording {
            recordAccepted(post.parts, stamp, receipt, isStored: isStored, from: slot, now: now)
        }
    }

    /// Checks whether a post can be stored, and counts the post's name toward the limit of names.
    ///
    /// - Throws: `postWindowExceeded`, `storageFailed`, `logFull`, `logDamaged`, or `limitReached` (memory, stored
    ///   bytes or names).
    private mutating func checkStorage(of post: Post, from slot: ConnectionSlot) throws(WireError) {
        guard !post.wantsReceipt || connections[slot].postsAwaitingReceipts < configuration.postWindow else {
            throw WireError(
                .postWindowExceeded,
                "more than \(configuration.postWindow) posts wait for their receipts: wait for some of them first")
        }
        try commits.checkRoom()
        try ledger.checkRoom(for: 0, uid: connections[slot].uid)
        let account = storedAccount(of: slot)
        try ledger.stored.check(
            adding: StoredUsage.bytes(of: post.parts), to: account, of: connections[slot].uid,
            limit: access.limits(of: connections[slot].identity).storedBytes)
        try ledger.noteStored(post.parts.name, uid: connections[slot].uid, in: commits.nextBatchID)
    }

    @inline(__always)
    private mutating func storedAccount(of slot: ConnectionSlot) -> StoredUsages.Account {
        if let account = connections[slot].storedAccount { return account }
        let account = ledger.stored.account(of: connections[slot].uid)
        connections[slot].storedAccount = account
        return account
    }

    private mutating func awaitCommit(_ receipt: Receipt, of post: Post, from slot: ConnectionSlot) {
        if post.wantsReceipt { connections[slot].receiptRequested() }
        let waiter = PendingLog.Waiter(
            connection: connections[slot].id, wantsReceipt: post.wantsReceipt, receipt: receipt)
        commits.awaitCommit(of: waiter, isSynced: receipt.durability == .synced)
        pauseIfLogBehind(slot)
    }

    /// Pauses a connection until the next outcome of a batch, if too many bytes wait for the store.
    @inline(__always)
    mutating func pauseIfLogBehind(_ slot: ConnectionSlot) {
        if commits.isBehind, commits.pauseUntilOutcome(slot) { pause(slot, .logBehind) }
    }
}
