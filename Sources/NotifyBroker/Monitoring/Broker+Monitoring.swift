import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire

/// Records posts for operators: counts by name, and the posts that match a monitor's patterns.
extension Broker {
    // MARK: Requests

    mutating func monitor(_ monitor: MonitorRequest, _ slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        guard (1...MonitorRequest.maximumPatterns).contains(monitor.patterns.count) else {
            throw WireError(
                .invalidArgument,
                "\(monitor.patterns.count) patterns: a monitor takes 1 to \(MonitorRequest.maximumPatterns)")
        }
        let patterns = try monitor.patterns.map(NamePattern.init(requested:))
        scheduler.spend(FairScheduler.Cost.statistics)
        let (id, uid) = (connections[slot].id, connections[slot].uid)
        let isManager = access.mayManageEverything(connections[slot].identity)
        let count = recorder.monitors.extend(id, patterns, isManager: isManager, now: now.monotonic)
        if count == nil {
            endMonitor(of: slot)
            try ledger.checkRoom(for: Monitors.chargedBytes, uid: uid)
            try recorder.monitors.add(for: id, uid: uid, patterns, isManager: isManager, now: now.monotonic)
            ledger.change(.connectionBytes, by: Monitors.chargedBytes, uid: uid)
        }
        connections[slot].listing = Listing(request: monitor.request, source: .posts(count ?? 0))
        continueList(slot)
    }

    /// Ends the monitor of a connection, if there is one.
    mutating func endMonitor(of slot: ConnectionSlot) {
        guard recorder.monitors.remove(connections[slot].id) else { return }
        ledger.change(.connectionBytes, by: -Monitors.chargedBytes, uid: connections[slot].uid)
    }

    /// Stops counting names if their list has not been requested for the time of the lease. Ends monitors in the same
    /// way.
    mutating func expireMonitoring(now: Duration) {
        recorder.nameCounts.expire(now: now)
        for uid in recorder.monitors.expire(now: now) {
            ledger.change(.connectionBytes, by: -Monitors.chargedBytes, uid: uid)
        }
    }

    // MARK: Recording

    /// Records an accepted post.
    ///
    /// - Parameter slot: The poster's connection; nil for a post of the daemon.
    @inline(never)
    mutating func recordAccepted(
        _ parts: MessageParts, _ stamp: Stamp, _ receipt: Receipt, from slot: ConnectionSlot?, now: BrokerTime
    ) {
        scheduler.spend(FairScheduler.Cost.recording)
        if recorder.nameCounts.isCounting {
            recorder.nameCounts.posted(parts, subscribers: receipt.subscribers, durables: receipt.stored)
        }
        for index in recorder.monitors.all.indices
        where recorder.monitors.all[index].selects(parts.name, now: now.monotonic)
            && mayReceive(parts, recorder.monitors.all[index])
        {
            var entry = PostEntry(stamp: stamp, parts)
            entry.client = slot.map { connections[$0].number } ?? 0
            entry.subscribers = receipt.subscribers
            entry.stored = receipt.stored
            entry.durability = receipt.durability
            recorder.monitors.all[index].record(entry, isWaiting: receipt.durability != .volatile, now: now.monotonic)
        }
    }

    /// Records a refused post for the monitors of its user and of managers.
    mutating func recordRefused(
        _ post: Post, from slot: ConnectionSlot, _ error: WireError, now: BrokerTime
    ) {
        let connection = connections[slot]
        for index in recorder.monitors.all.indices {
            let monitor = recorder.monitors.all[index]
            guard monitor.isManager || monitor.uid == connection.uid,
                recorder.monitors.all[index].selects(post.parts.name, now: now.monotonic)
            else { continue }
            let stamp = Stamp(
                sequence: 0, timeMicroseconds: now.wallMicroseconds, uid: connection.uid, gid: connection.gid,
                pid: connection.pid)
            var entry = PostEntry(stamp: stamp, post.parts)
            entry.headers = Array(entry.headers.prefix(Limits.headerBytes))
            entry.client = connection.number
            entry.durability = post.durability
            entry.refused(monitor.isManager ? withRule(error, post.parts.name, connection.identity) : error)
            recorder.monitors.all[index].record(entry, isWaiting: false, now: now.monotonic)
        }
    }

    /// Records a request to a server for the monitors that may see it.
    ///
    /// - Parameter error: Why the request was refused; nil if it was accepted.
    mutating func recordAsk(_ ask: Ask, from slot: ConnectionSlot, _ error: WireError?, now: BrokerTime) {
        scheduler.spend(FairScheduler.Cost.recording)
        let connection = connections[slot]
        for index in recorder.monitors.all.indices {
            let monitor = recorder.monitors.all[index]
            guard recorder.monitors.all[index].selects(ask.parts.name, now: now.monotonic),
                monitor.isManager || monitor.uid == connection.uid || error == nil && mayReceive(ask.parts, monitor)
            else { continue }
            let stamp = Stamp(
                sequence: 0, timeMicroseconds: now.wallMicroseconds, uid: connection.uid, gid: connection.gid,
                pid: connection.pid)
            var entry = PostEntry(stamp: stamp, ask.parts)
            entry.isRequest = true
            entry.headers = Array(entry.headers.prefix(Limits.headerBytes))
            entry.client = connection.number
            if let error {
                entry.refused(monitor.isManager ? withRule(error, ask.parts.name, connection.identity) : error)
            }
            recorder.monitors.all[index].record(entry, isWaiting: false, now: now.monotonic)
        }
    }

    /// Adds the deciding rule to the error's message if a rule of the policy forbids the post.
    private func withRule(
        _ error: WireError, _ name: UnsafeRawBufferPointer, _ identity: IdentityID
    ) -> WireError {
        guard error.code == .forbidden else { return error }
        let decision = access.policy.decision(access.policy.nameRules(.post, name), access.identity(identity))
        guard case .denied(let rule) = decision else { return error }
        return WireError(error.code, "\(error.message); rule: \(rule.description)")
    }

    private func mayReceive(_ message: MessageParts, _ monitor: Monitor) -> Bool {
        if access.policy.isOpen(message.name) { return true }
        return access.readAccess(of: connections[monitor.connection.slot].identity).permits(message)
    }

    /// The maximum number of messages that are counted each time an outbox overflows.
    private static let maximumCountedDrops = 1_024

    /// Counts messages that were dropped from an outbox.
    mutating func recordDropped(_ buffers: [ByteBuffer]) {
        var left = Self.maximumCountedDrops
        for var frames in buffers {
            while left > 0, let frame = frames.readFrame() {
                left -= 1
                frame.withUnsafeReadableBytes { bytes in
                    // The broker encoded these frames, so decoding does not fail.
                    if let delivery = try? Delivery(reading: bytes.slice(from: FrameHeader.size)) {
                        recorder.nameCounts.dropped(delivery.parts.name)
                    }
                }
            }
        }
    }

    // MARK: Listing

    /// The entry of a counted name; nil if the identity may not receive the name.
    func nameEntry(_ index: Int, for identity: IdentityID, request: UInt64) -> NameEntry? {
        // Counting may have ended since the list began.
        guard index < recorder.nameCounts.entries.count else { return nil }
        let entry = recorder.nameCounts.entries[index]
        var name = entry.name
        let isReadable = name.withUTF8 { bytes in
            let bytes = UnsafeRawBufferPointer(bytes)
            return access.policy.isOpen(bytes)
                || access.permits(access.policy.nameRules(.subscribe, bytes), identity)
        }
        guard isReadable else { return nil }
        return NameEntry(
            request: request, posts: entry.posts, payloadBytes: entry.payloadBytes, dropped: entry.dropped,
            subscribers: entry.subscribers, durables: entry.durables, name: entry.name)
    }
}
