import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire

extension Broker {
    /// A post came. Volatile subscribers get it with this tick; durable ones, and a receipt for storage, after the
    /// commit. What is wrong with it is answered, never passed over.
    mutating func postReceived(_ frame: FrameDecoder.Frame, from slot: Int, now: Moment) {
        do throws(WireError) {
            let post = try Post(frame)
            try connections[slot].session.requestReceived(post.request)
            let resolution = try resolve(post, from: connections[slot].peer)
            try accept(post, from: slot, resolution, now: now)
        } catch {
            reject(slot, request: Post.request(of: frame), error, now: now)
        }
    }

    /// What the post reaches, if it may be posted. A resolution found in the center's cache proves that its name and
    /// object were checked before.
    private mutating func resolve(_ post: Post, from peer: Peer) throws(WireError) -> Resolution {
        let parts = post.parts
        let object = parts.object.isEmpty ? nil : parts.object
        guard parts.payload.count <= configuration.maximumPayloadBytes else {
            throw WireError(
                .payloadTooLarge,
                "a payload of \(parts.payload.count) bytes is over the limit of \(configuration.maximumPayloadBytes)")
        }
        guard parts.messageID.isEmpty else {
            throw WireError(.unsupported, "message ids are reserved: leave the id empty")
        }
        if !parts.headers.isEmpty { try HeaderList.validate(parts.headers) }
        if let resolution = center.cachedResolution(name: parts.name, object: object) {
            try checkRights(parts.name, peer)
            return resolution
        }
        do {
            try NotificationName.validate(utf8: parts.name)
        } catch {
            throw WireError(.invalidName, error.message)
        }
        guard String(validating: parts.object, as: UTF8.self) != nil else {
            throw WireError(.invalidObject, "the object is not valid UTF-8")
        }
        try checkRights(parts.name, peer)
        return center.resolve(name: parts.name, object: object)
    }

    private func checkRights(_ name: UnsafeRawBufferPointer, _ peer: Peer) throws(WireError) {
        guard NameRights.mayPost(name, uid: peer.uid) else {
            let name = String(decoding: name, as: UTF8.self)
            throw WireError(.forbidden, "user \(peer.uid) may not post '\(name)': that part of the names is another's")
        }
    }

    private mutating func accept(
        _ post: Post, from slot: Int, _ resolution: Resolution, now: Moment
    ) throws(WireError) {
        let reach = reach(of: resolution, name: post.parts.name)
        let isStored =
            switch post.durability {
            case .volatile: false
            case .automatic: reach.durable > 0
            case .stored, .synced: true
            }
        if isStored { try checkStorage(of: post, from: slot) }
        guard let sequence = sequencer.take() else {
            throw WireError(.storageFailed, "no sequence can be reserved until the daemon's disk works again")
        }
        statistics.messagesIn += 1
        let peer = connections[slot].peer
        let stamp = Stamp(
            sequence: sequence, timeMicroseconds: now.wallMicroseconds, uid: peer.uid, gid: peer.gid, pid: peer.pid)
        if isStored {
            let place = pending.append(stamp, post.parts, resolution)
            isOpenBlockShared = isOpenBlockShared || reach.volatile > 0
            fanOut(resolution, reach, source: Span.logMessages, place, sequence, name: post.parts.name)
            awaitCommit(of: post, from: slot, sequence, reach)
        } else {
            if reach.volatile > 0 {
                let place = volatileWriter.append(stamp, post.parts)
                fanOut(resolution, reach, source: Span.volatileMessages, place, sequence, name: post.parts.name)
            }
            if post.wantsReceipt {
                answer(
                    slot,
                    receipt: Receipt(
                        request: post.request, sequence: sequence, subscribers: reach.volatile, stored: 0,
                        durability: .volatile))
            }
        }
    }

    /// Whether there is room for a post that is to be stored: in its connection's window, in memory, in the log.
    private mutating func checkStorage(of post: Post, from slot: Int) throws(WireError) {
        guard !post.wantsReceipt || connections[slot].unreceiptedPosts < configuration.postWindow else {
            throw WireError(
                .postWindowExceeded,
                "more than \(configuration.postWindow) posts wait for their receipts: await some first")
        }
        // Each connection is held back only after one more read, and there may be many of them.
        guard pending.bytes < configuration.pendingLogBytes * Self.pendingLogOverrun else {
            throw WireError(.storageFailed, "not stored: too much waits for the disk already; post it again later")
        }
        try storedNames.note(post.parts.name, by: connections[slot].peer.uid, limit: configuration.namesPerUser)
    }

    /// How many times the bytes at which posters are held back may wait for the log.
    private static var pendingLogOverrun: Int { 8 }

    // MARK: Who is reached

    /// How many subscriptions a message reaches. Volatile registrations come first in a resolution.
    private struct Reach {
        var volatile: UInt32
        var durable: UInt32
        /// Where the durable registrations begin.
        var boundary: Int
        /// The name belongs to one user, so that each subscriber's right to it is asked.
        var isPrivate: Bool
    }

    private func reach(of resolution: Resolution, name: UnsafeRawBufferPointer) -> Reach {
        let registrations = resolution.registrations
        let boundary = registrations.partitioningIndex { $0.slot < 0 }
        guard NameRights.isPrivate(name) else {
            return Reach(
                volatile: UInt32(boundary), durable: UInt32(registrations.count - boundary), boundary: boundary,
                isPrivate: false)
        }
        let permitted = registrations.map { mayReceive(name, $0) }
        return Reach(
            volatile: UInt32(permitted[..<boundary].count { $0 }), durable: UInt32(permitted[boundary...].count { $0 }),
            boundary: boundary, isPrivate: true)
    }

    func mayReceive(_ name: UnsafeRawBufferPointer, _ registration: Registration) -> Bool {
        let slot = Int(registration.slot)
        return NameRights.mayReceive(name, uid: slot >= 0 ? connections[slot].peer.uid : readers[~slot].filter.uid)
    }

    /// Puts the encoded message into the outbox of every volatile subscriber.
    private mutating func fanOut(
        _ resolution: Resolution, _ reach: Reach, source: UInt32, _ place: (start: Int, end: Int), _ sequence: UInt64,
        name: UnsafeRawBufferPointer
    ) {
        guard reach.volatile > 0 else { return }
        for index in 0..<reach.boundary {
            let registration = resolution.registrations[index]
            if reach.isPrivate, !mayReceive(name, registration) { continue }
            let slot = Int(registration.slot)
            if outboxes[slot].appendVolatile(source: source, start: place.start, end: place.end, sequence: sequence) {
                touch(slot)
            }
        }
    }

    private mutating func awaitCommit(of post: Post, from slot: Int, _ sequence: UInt64, _ reach: Reach) {
        let isSynced = post.durability == .synced
        pending.isSynced = pending.isSynced || isSynced
        pending.waiters.append(
            PendingLog.Waiter(
                connection: connections[slot].id, wantsReceipt: post.wantsReceipt,
                receipt: Receipt(
                    request: post.request, sequence: sequence, subscribers: reach.volatile, stored: reach.durable,
                    durability: isSynced ? .synced : .stored)))
        if post.wantsReceipt { connections[slot].unreceiptedPosts += 1 }
        if pending.bytes > configuration.pendingLogBytes, waitingForLog.insert(slot).inserted {
            pause(slot, .logBehind)
        }
    }

    // MARK: Holding back a fast poster

    mutating func pause(_ slot: Int, _ reason: Connection.Pause) {
        if connections[slot].pauses.isEmpty { actions.append(.pauseReading(connections[slot].id)) }
        connections[slot].pauses.insert(reason)
    }

    mutating func resume(_ slot: Int, _ reason: Connection.Pause) {
        guard connections[slot].pauses.remove(reason) != nil, connections[slot].pauses.isEmpty else { return }
        actions.append(.resumeReading(connections[slot].id))
    }
}
