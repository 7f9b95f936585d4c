/// The values: the last notifications of each name and object that were set as values.
struct KeptValues {
    /// A value and its position in the order of posts.
    struct Entry {
        let notification: LocalNotification
        fileprivate let serial: UInt64
    }

    /// The values of one name and object, the oldest first. Never empty.
    typealias Series = [Entry]

    /// The values by name and object. The key is the very object of the newest notification, not an
    /// equal one of an earlier notification. So removing a key never releases the last reference to its object: the
    /// newest notification holds it, in the series or at the caller. A release under the center's lock could run a
    /// deinitializer that calls the center.
    private var series: [NotificationName: [NotificationObject?: Series]] = [:]
    private var lastSerial: UInt64 = 0

    var isEmpty: Bool { series.isEmpty }

    func find(_ name: NotificationName, object: NotificationObject?) -> [LocalNotification] {
        series[name]?[object]?.map(\.notification) ?? []
    }

    func last(_ name: NotificationName, object: NotificationObject?) -> LocalNotification? {
        series[name]?[object]?.last?.notification
    }

    /// Keeps a notification, and removes the earliest ones of its name and object that exceed the limit.
    ///
    /// - Returns: The removed notifications.
    mutating func store(_ notification: LocalNotification, limit: Int) -> [LocalNotification] {
        lastSerial += 1
        // Replacing only the value would keep the old key, which is equal but belongs to another notification.
        var entries = series[notification.name]?.removeValue(forKey: notification.object) ?? []
        entries.append(Entry(notification: notification, serial: lastSerial))
        let dropped = entries.prefix(max(entries.count - limit, 0)).map(\.notification)
        entries.removeFirst(dropped.count)
        series[notification.name, default: [:]][notification.object] = entries
        return dropped
    }

    mutating func remove(_ name: NotificationName, object: NotificationObject?) -> [LocalNotification] {
        let old = series[name]?.removeValue(forKey: object)
        if series[name]?.isEmpty == true { series[name] = nil }
        return old?.map(\.notification) ?? []
    }

    /// Removes the values that match.
    ///
    /// - Returns: The removed notifications of each name and object, in the order of their latest posts.
    mutating func removeAll(matching names: ObservedNames, object: NotificationObject?) -> [[LocalNotification]] {
        var removed: [Series] = []
        for (name, all) in series where names.matches(name) {
            for (key, entries) in all where object == nil || object == key {
                removed.append(entries)
                series[name]?[key] = nil
            }
            if series[name]?.isEmpty == true { series[name] = nil }
        }
        removed.sort { ($0.last?.serial ?? 0) < ($1.last?.serial ?? 0) }
        return removed.map { $0.map(\.notification) }
    }
}

// MARK: - Matching

extension KeptValues {
    /// Returns the values that match, in the order of their posts. If more match than
    /// the limit, returns only the latest ones.
    func matching(_ names: ObservedNames, object: NotificationObject?, limit: Int) -> [Entry] {
        let found =
            switch names.kind {
            case .name(let name): series[name].map { Self.entries(in: $0, of: object) } ?? []
            case .patterns:
                series.filter { name, _ in names.matches(name) }.values.flatMap { Self.entries(in: $0, of: object) }
            }
        return found.sorted { $0.serial < $1.serial }.suffix(limit)
    }

    /// Checks whether an entry is still kept.
    func contains(_ entry: Entry) -> Bool {
        let entries = series[entry.notification.name]?[entry.notification.object]
        return entries?.contains { $0.serial == entry.serial } ?? false
    }

    private static func entries(in all: [NotificationObject?: Series], of object: NotificationObject?) -> [Entry] {
        guard let object else { return all.values.flatMap { $0 } }
        return all[object] ?? []
    }
}
