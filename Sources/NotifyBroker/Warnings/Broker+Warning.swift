import NotifyCenter
import NotifyLog
import NotifyWire

/// Warnings for operators, posted under `notifyd.limits` and `notifyd.storage`. By default only root and the daemon's
/// user may receive them.
extension Broker {
    /// The number of unacknowledged messages at which a durable subscription causes a warning.
    private static let farBehind: UInt64 = 100_000

    // MARK: Checking

    /// Checks the conditions for warnings: the totals, storage, and the next group of users and durable subscriptions.
    mutating func checkWarnings(now: BrokerTime) {
        let (users, slots) = (knownUsers, durables.slots)
        let range = warnings.position..<(warnings.position + Warnings.itemsPerCheck)
        for use in usesInTotal { check(use, of: nil, now: now) }
        for (uid, limits) in access.limits(of: users[range.clamped(to: users.indices)]) {
            for use in uses(of: uid, limits, now: now) { check(use, of: uid, now: now) }
        }
        for slot in slots[range.clamped(to: slots.indices)] {
            let durable = durables[slot]
            if let lag = lag(of: durable, now: now) { warnings.note(lag, uid: durable.uid) }
            if durable.redeliveryCount > 0 { checkRedeliveries(of: durable, now: now) }
        }
        let count = max(users.count, slots.count)
        if warnings.isLastCheck(of: count) {
            checkLags(now: now)
            checkBacklogs(now: now)
        }
        checkStorage(now: now)
        warnings.checked(of: count, now: now.monotonic)
    }

    /// Warns if 80% of the limit of a resource is in use.
    private mutating func check(_ use: ResourceUse, of uid: UInt32?, now: BrokerTime) {
        guard let limit = use.limit, limit > 0 else { return }
        let share = Double(use.used) / Double(limit)
        guard
            warnings.update(
                .limit(resource: use.resource, uid: uid), begins: share >= 0.8, holds: share >= 0.7,
                now: now.monotonic)
        else { return }
        let user = uid.map { "user \($0) uses" } ?? "all users together use"
        let figures: [(String, Warning.Figure)] = [
            ("resource", .text(use.resource)), ("used", .number(UInt64(use.used))), ("limit", .number(UInt64(limit))),
        ]
        post(
            Warning(
                name: "notifyd.limits.\(use.resource)", object: uid.map { "\($0)" } ?? "",
                figures: figures + (uid.map { [("uid", .number(UInt64($0)))] } ?? []),
                text: "\(share < 1 ? "80% of a limit" : "a limit is reached"): \(user) \(use.used) of \(limit) "
                    + use.resource), now: now)
    }

    /// How far a durable subscription is behind. The positions give an upper bound. If the bound is high, the store
    /// must count the messages, because most of the log may have other names. Nil if the bound is high and the store
    /// can't count, because the subscription filters by object.
    private mutating func lag(of durable: DurableSubscription, now: BrokerTime) -> Warnings.Lag? {
        let most =
            commits.persistedThrough.distance(above: durable.position) + UInt64(durable.redeliveryCount)
        guard most >= Self.farBehind / 2 else { return .init(name: durable.name, behind: most) }
        if warnings.needsCounts {
            if durables.backlogs.requested(now: now.monotonic) {
                actions.append(.store(.measureBacklogs(under: access.policy), .backlogs))
            }
            if durables.backlogs.started != nil { warnings.countsRequested() } else { warnings.countsPostponed() }
        }
        let pending = pending(of: durable)
        if let pending, pending.isUpperBound, pending.messages >= Self.farBehind / 2 {
            return durable.filter.object == nil ? .init(name: durable.name, behind: nil) : nil
        }
        return .init(name: durable.name, behind: pending?.messages)
    }

    /// Warns about the durable subscription of each user that is furthest behind, at the end of a cycle.
    private mutating func checkLags(now: BrokerTime) {
        for (uid, lag) in warnings.furthestBehind.sorted(by: { $0.key < $1.key }) {
            let (begins, holds) = lag.behind.map { ($0 >= Self.farBehind, $0 >= Self.farBehind / 2) } ?? (false, true)
            guard warnings.update(.behind(uid: uid), begins: begins, holds: holds, now: now.monotonic),
                let behind = lag.behind
            else { continue }
            post(
                Warning(
                    name: "notifyd.storage.behind", object: "\(uid).\(lag.name)",
                    figures: [
                        ("durable", .text(lag.name)), ("behind", .number(behind)), ("uid", .number(UInt64(uid))),
                    ],
                    text: "durable subscription '\(lag.name)' of \(uid.userTitle) is \(behind) messages behind: it has "
                        + "not acknowledged them"),
                now: now)
        }
    }

    /// Warns if the redeliveries of a durable subscription reach 80% of a limit. At the limit, the subscription gets no
    /// other messages.
    private mutating func checkRedeliveries(of durable: DurableSubscription, now: BrokerTime) {
        let (count, bytes) = (durable.redeliveryCount, durable.copyBytes)
        let maximumBytes = durable.maximumCopyBytes
        let share = max(Double(count) / Double(Redelivery.maximumCount), Double(bytes) / Double(maximumBytes))
        let reason = maximumBytes < Redelivery.maximumBytes ? " while its owner or the log has no room for more" : ""
        guard
            warnings.update(.redeliveries(durable.id), begins: share >= 0.8, holds: share >= 0.7, now: now.monotonic)
        else { return }
        post(
            Warning(
                name: "notifyd.storage.redeliveries", object: "\(durable.uid).\(durable.name)",
                figures: [
                    ("durable", .text(durable.name)), ("messages", .number(UInt64(count))),
                    ("bytes", .number(UInt64(bytes))), ("uid", .number(UInt64(durable.uid))),
                ],
                text: "80% of a limit: \(count) messages (\(bytes) bytes) wait for their next delivery to durable "
                    + "subscription '\(durable.name)' of \(durable.uid.userTitle); at \(Redelivery.maximumCount) messages or "
                    + "\(maximumBytes >> 20) MiB it gets no others\(reason): see its settings in 'notifyctl durable show'"
            ),
            now: now)
    }

    /// Warns if the durable subscriptions of a user hold back 80% of the limit.
    private mutating func checkBacklogs(now: BrokerTime) {
        guard let limit = statistics.store.backlogLimit, limit > 0 else { return }
        for (uid, bytes) in statistics.store.backlogs.sorted(by: { $0.key < $1.key }) {
            let share = Double(bytes) / Double(limit)
            guard
                warnings.update(.backlog(uid: uid), begins: share >= 0.8, holds: share >= 0.7, now: now.monotonic)
            else { continue }
            post(
                Warning(
                    name: "notifyd.storage.backlog", object: "\(uid)",
                    figures: [("used", .number(bytes)), ("limit", .number(limit)), ("uid", .number(UInt64(uid)))],
                    text: "80% of a limit: messages that the durable subscriptions of \(uid.userTitle) have not "
                        + "acknowledged take \(bytes) of \(limit) bytes (log.max_backlog); above it, the subscription "
                        + "furthest behind loses messages"),
                now: now)
        }
    }

    private mutating func checkRetention(now: BrokerTime) {
        let failure = statistics.retentionFailure
        guard warnings.update(.retention, begins: failure != nil, holds: failure != nil, now: now.monotonic),
            let failure
        else { return }
        post(
            Warning(
                name: "notifyd.storage.retention", figures: [("reason", .text(failure.message))],
                text: "messages that the retention rules no longer keep are not deleted: \(failure.message)"),
            now: now)
    }

    private mutating func checkStorage(now: BrokerTime) {
        checkRetention(now: now)
        let store = statistics.store
        if let disk = store.disk,
            warnings.update(.disk, begins: disk.isNearlyFull, holds: disk.isNearlyFull, now: now.monotonic)
        {
            post(
                Warning(
                    name: "notifyd.storage.disk",
                    figures: [("free_bytes", .number(disk.freeBytes)), ("bytes", .number(disk.totalBytes))],
                    text: "the disk of the database is nearly full: \(disk.freeBytes >> 20) MiB are free"),
                now: now)
        }
        let failure = commits.health.failure
        if warnings.update(.failure, begins: failure != nil, holds: failure != nil, now: now.monotonic), let failure {
            post(
                Warning(
                    name: "notifyd.storage.failed", figures: [("reason", .text(failure.message))],
                    text: "stored posts are refused: \(failure.message)"),
                now: now)
        }
        if let limit = store.logByteLimit, limit > 0 {
            let share = Double(store.usedBytes) / Double(limit)
            if warnings.update(.log, begins: share >= 0.8, holds: share >= 0.7, now: now.monotonic) {
                post(
                    Warning(
                        name: "notifyd.storage.log",
                        figures: [("used", .number(store.usedBytes)), ("limit", .number(limit))],
                        text: "80% of a limit: the log takes \(store.usedBytes) of \(limit) bytes (log.max_bytes)"),
                    now: now)
            }
        }
    }

    // MARK: Posting

    /// Logs a warning and posts it. It is stored if a durable subscription matches it and storage works.
    private mutating func post(_ warning: Warning, now: BrokerTime) {
        actions.append(.warn(warning.text))
        let (name, object, payload) = (Array(warning.name.utf8), Array(warning.object.utf8), warning.payload)
        name.withUnsafeBytes { name in
            object.withUnsafeBytes { object in
                payload.withUnsafeBytes { payload in
                    let empty = UnsafeRawBufferPointer(start: nil, count: 0)
                    publish(
                        MessageParts(name: name, object: object, messageID: empty, headers: empty, payload: payload),
                        now: now)
                }
            }
        }
    }
}

extension Warning {
    /// The figures as a JSON object.
    fileprivate var payload: [UInt8] {
        let members = figures.map { key, value in
            switch value {
            case .number(let number): "\"\(key)\":\(number)"
            case .text(let text): "\"\(key)\":\"\(text.escapedForJSON)\""
            }
        }
        return Array("{\(members.joined(separator: ","))}".utf8)
    }
}

extension String {
    /// The text escaped for a JSON string, with U+FFFD in place of control characters.
    fileprivate var escapedForJSON: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.flatMap { scalar -> [Unicode.Scalar] in
                    switch scalar {
                    case "\"", "\\": ["\\", scalar]
                    case _ where scalar.value < 0x20: ["\u{FFFD}"]
                    default: [scalar]
                    }
                }))
    }
}
